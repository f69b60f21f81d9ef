/* Reductions of a part of a tensor whose bound is a tensor's value.  See parts.h. */
#include "repair/parts.h"

#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/select.h"

/* One window, with one end; beside it `:`, and in front `...`, or numbers. */
static bool read_indices(const gg_rule_input *in, gg__part *s) {
    gg__windows windows;
    const gg__window *w = &windows.items[0];
    if (!gg__read_windows(in, s->subscript, s->rank, &s->bound, &windows) || !gg__has_one_end(&windows)) return false;
    for (uint32_t i = 1; i < gg__child_count(s->subscript); i++) {
        TSNode index = gg__child(s->subscript, i);
        if (gg_node_is(index, "ellipsis") || ts_node_eq(index, w->index) || gg__is_colon(index)) continue;
        if (gg_node_is(index, "slice") || (int32_t)i != s->first + 1) return false;
        s->first++;
    }
    s->bound = w->has_low ? w->low : w->high;
    s->lower = w->has_low;
    s->dim = w->dim;
    return true;
}

/* Of all elements, or over literal dimensions of which that of the part is one. */
static bool goes_over_it(const gg_rule_input *in, const gg__part *s) {
    TSNode arguments = gg__field(s->call, "arguments");
    TSNode dims = {0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        gg_str keyword = gg__text(in->tree, gg__field(argument, "name"));
        bool named = gg_node_is(argument, "keyword_argument");
        if (named && gg_str_is(keyword, "keepdim")) continue;
        if ((named && !gg_str_is(keyword, "dim")) || !ts_node_is_null(dims)) return false;
        dims = named ? gg__field(argument, "value") : argument;
    }
    int32_t rank = s->rank - s->first;
    if (ts_node_is_null(dims)) return gg__child_count(arguments) == 0 && (!s->mean || rank == 1);
    bool several = gg_node_is(dims, "tuple") || gg_node_is(dims, "list"), found = false;
    for (uint32_t i = 0; i < (several ? gg__child_count(dims) : 1); i++) {
        double value = 0;
        if (!gg__literal_value(in->tree, several ? gg__child(dims, i) : dims, &value)) return false;
        found = found || (int32_t)(value < 0 ? value + rank : value) == s->dim - s->first;
    }
    return found && !(s->mean && several);
}

/* What counts as nothing to the reduction; NULL where it is none of the kind that is asked for. */
static const char *nothing_to(gg_str name, gg_str dtype, bool exact) {
    bool truth = gg__is_bool(dtype), floating = gg__is_floating(dtype), whole = gg__is_integer(dtype);
    if (gg_str_is(name, "mean")) return floating && !exact && !gg__is_half(dtype) ? "0" : NULL;
    bool sum = gg_str_is(name, "sum"), product = gg_str_is(name, "prod");
    if (!truth && !floating && !whole) return NULL;
    if (floating && (sum || product)) return sum && !exact ? "0" : NULL;
    if (!exact) return NULL;
    if (sum || gg_str_is(name, "any") || gg_str_is(name, "count_nonzero")) return truth ? "False" : "0";
    return product || gg_str_is(name, "all") ? truth ? "True" : "1" : NULL;
}

bool gg__read_part_reduction(const gg_rule_input *in, TSNode at, bool exact, gg__part *out) {
    TSNode attribute = gg__parent(at);
    out->subscript = at;
    out->x = gg__field(at, "value");
    out->call = gg__parent(attribute);
    if (!gg_node_is(at, "subscript") || !gg_node_is(attribute, "attribute") || !gg_node_is(out->call, "call") ||
        !ts_node_eq(gg__field(out->call, "function"), attribute))
        return false;
    gg__meta x = gg__infer(in, out->x);
    gg_str name = gg__text(in->tree, gg__field(attribute, "attribute"));
    out->rank = x.rank;
    out->mean = gg_str_is(name, "mean");
    out->nothing = nothing_to(name, x.dtype, exact);
    bool named = gg_node_is(out->x, "identifier") || gg_node_is(out->x, "attribute");
    return x.sort == GG__TENSOR && named && out->nothing && !(out->mean && x.vague) && read_indices(in, out) &&
           goes_over_it(in, out) && !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch");
}

bool gg__part_reduction(const gg_rule_input *in, bool exact, gg__part *out) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    *out = (gg__part){.alone = true};
    return gg_str_is(in->site->id, "GB0124") && in->site->first && gg__read_part_reduction(in, at, exact, out);
}

/* `[:, None]`: along its own dimension, with so many behind it */
static gg_str along(int32_t behind, gg_arena *arena) {
    gg_str shape = GG_STR_NULL;
    for (int32_t i = 0; i < behind; i++) shape = gg_arena_printf(arena, "%.*s, None", GG_STR_ARG(shape));
    return shape.len ? gg_arena_printf(arena, "[:%.*s]", GG_STR_ARG(shape)) : shape;
}

gg_str gg__part_mask(const gg_rule_input *in, TSNode tensor, int32_t dim, const gg__part_bound *bound, bool lower,
                     int32_t behind, gg_str torch, gg_arena *arena) {
    gg_str x = gg__text(in->tree, tensor), n = gg__text(in->tree, gg__strip_parentheses(bound->n));
    if (bound->cuts) n = gg_arena_printf(arena, "%.*s.long()", GG_STR_ARG(gg__operand_text(in, bound->n, arena)));
    /* a negative bound counts from the end, which a narrow one may not reach */
    gg_str text = bound->natural ? n
                                 : gg_arena_printf(arena, "%.*s.where(%.*s < 0, %.*s%s + %.*s.shape[%d], %.*s)",
                                                   GG_STR_ARG(torch), GG_STR_ARG(n), GG_STR_ARG(n),
                                                   bound->wide ? "" : ".long()", GG_STR_ARG(x), dim, GG_STR_ARG(n));
    gg_str shape = along(behind, arena);
    return gg_arena_printf(arena, "%.*s.arange(%.*s.shape[%d], device=%.*s.device)%.*s %s %.*s", GG_STR_ARG(torch),
                           GG_STR_ARG(x), dim, GG_STR_ARG(x), GG_STR_ARG(shape), lower ? ">=" : "<", GG_STR_ARG(text));
}

static gg_str mask_text(const gg_rule_input *in, const gg__part *s, int32_t behind, gg_str torch, gg_arena *arena) {
    return gg__part_mask(in, s->x, s->dim, &s->bound, s->lower, behind, torch, arena);
}

/* A mask that is read twice gets a name, on a line in front, where there is a place for it; else it is written twice: then this is empty. */
static gg_str named_mask(const gg_rule_input *in, const gg__part *s, gg_str torch, gg_arena *arena, gg_edits *edits) {
    gg_str name = GG_STR("inside");
    uint32_t start = ts_node_start_byte(gg__statement(s->call));
    if (!s->alone || !gg__is_always_evaluated(in, s->call) || gg__mentions(gg_text_bytes(gg_tree_text(in->tree)), name))
        return GG_STR_NULL;
    gg_edits_add(edits, (gg_span){start, start},
                 gg_arena_printf(arena, "%.*s = %.*s%.*s%.*s", GG_STR_ARG(name),
                                 GG_STR_ARG(mask_text(in, s, 0, torch, arena)), GG_STR_ARG(gg__newline(in->tree)),
                                 GG_STR_ARG(gg__indent(in->tree, start))));
    return name;
}

/* Does what stands around the node bind tighter than a division, or as tight? */
static bool binds_tighter(const gg_tree *tree, TSNode node) {
    static const char *const sums[] = {"+", "-"}, *const tighter[] = {"binary_operator", "unary_operator", "attribute",
                                                                      "subscript", "await"};
    TSNode parent = gg__parent(node);
    bool summed = gg_node_is(parent, "binary_operator") &&
                  gg__is_one_of(gg__text(tree, gg__field(parent, "operator")), sums, GG_COUNT(sums));
    return !summed && gg__is_one_of(gg_str_from(ts_node_type(parent)), tighter, GG_COUNT(tighter));
}

void gg__edit_part(const gg_rule_input *in, const gg__part *s, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, s->subscript, "torch", arena, edits);
    int32_t behind = s->rank - 1 - s->dim;
    gg_str name = s->mean ? named_mask(in, s, torch, arena, edits) : GG_STR_NULL;
    gg_str mask = mask_text(in, s, behind, torch, arena), once = name;
    if (name.len) mask = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(name), GG_STR_ARG(along(behind, arena)));
    if (!name.len) once = gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(mask_text(in, s, 0, torch, arena)));
    gg_str view = gg__window_view(in, s->x, s->subscript, (uint32_t)s->first, NULL, arena);
    gg_edits_add(edits, gg_node_span(s->subscript),
                 gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %s)", GG_STR_ARG(torch), GG_STR_ARG(mask),
                                 GG_STR_ARG(view), s->nothing));
    if (!s->mean) return;
    gg_edits_add(edits, gg_node_span(gg__field(gg__field(s->call, "function"), "attribute")), GG_STR("sum"));
    gg_str count = gg_arena_printf(arena, "%.*s.sum()", GG_STR_ARG(once));
    gg__divide_call(s->call, count, binds_tighter(in->tree, s->call), arena, edits);
}
