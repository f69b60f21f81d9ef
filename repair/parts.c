/* Reductions of a part of a tensor whose bound is a tensor's value.  See parts.h. */
#include "repair/parts.h"

#include "repair/infer.h"

static bool is_bound(const gg_rule_input *in, TSNode node, gg__part *out) {
    gg__extraction e;
    out->n = node;
    if (gg__match_extraction(in, node, &e)) {
        if (e.scalar.sort != GG__SCALAR_INT || e.widening) return false;
        out->n = e.value;
    }
    gg__meta m = gg__infer(in, out->n);
    bool integer = gg_str_starts_with(m.dtype, GG_STR("torch.int"));
    if (m.sort != GG__TENSOR || m.rank != 0 || m.vague || !integer) return false;
    out->natural = gg__scalar_of(in, m, out->n).natural;
    bool wide =
        gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"); /* n + a size is one of its dtype */
    return out->natural || (wide && gg_node_is(out->n, "identifier"));
}

/* `:`, and `:n` or `n:` once; `...` in front. */
static bool read_indices(const gg_rule_input *in, gg__part *s) {
    uint32_t count = gg__child_count(s->subscript), bounds = 0;
    bool from_end = false;
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(s->subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
            continue;
        }
        if (!gg_node_is(index, "slice")) return false;
        if (gg__child_count(index) == 0 && ts_node_child_count(index) == 1) continue; /* `:` */
        if (gg__child_count(index) != 1 || ts_node_child_count(index) != 2 || !is_bound(in, gg__child(index, 0), s))
            return false;
        s->lower = ts_node_eq(ts_node_child(index, 0), gg__child(index, 0));
        s->dim = from_end ? s->rank - (int32_t)(count - i) : (int32_t)i - 1;
        bounds++;
    }
    return bounds == 1 && s->dim >= 0 && s->dim < s->rank;
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
    if (ts_node_is_null(dims)) return gg__child_count(arguments) == 0;
    bool several = gg_node_is(dims, "tuple") || gg_node_is(dims, "list"), found = false;
    for (uint32_t i = 0; i < (several ? gg__child_count(dims) : 1); i++) {
        double value = 0;
        if (!gg__literal_value(in->tree, several ? gg__child(dims, i) : dims, &value)) return false;
        found = found || (int32_t)(value < 0 ? value + s->rank : value) == s->dim;
    }
    return found;
}

/* What counts as nothing to the reduction; NULL where it is none of the kind that is asked for. */
static const char *nothing_to(gg_str name, gg_str dtype, bool exact) {
    bool truth = gg__is_bool(dtype), floating = gg__is_floating(dtype), whole = gg__is_integer(dtype);
    bool sum = gg_str_is(name, "sum"), product = gg_str_is(name, "prod");
    if (!truth && !floating && !whole) return NULL;
    if (floating && (sum || product)) return sum && !exact ? "0" : NULL;
    if (!exact) return NULL;
    if (sum || gg_str_is(name, "any") || gg_str_is(name, "count_nonzero")) return truth ? "False" : "0";
    return product || gg_str_is(name, "all") ? truth ? "True" : "1" : NULL;
}

bool gg__part_reduction(const gg_rule_input *in, bool exact, gg__part *out) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "subscript") && !gg_node_is(at, "block")) at = gg__parent(at);
    TSNode attribute = gg__parent(at);
    *out = (gg__part){.subscript = at, .x = gg__field(at, "value"), .call = gg__parent(attribute)};
    if (!gg_str_is(in->site->id, "GB0124") || !gg_node_is(at, "subscript") || in->site->first == NULL ||
        !gg_node_is(attribute, "attribute") || !gg_node_is(out->call, "call") ||
        !ts_node_eq(gg__field(out->call, "function"), attribute))
        return false;
    gg__meta x = gg__infer(in, out->x);
    out->rank = x.rank;
    out->nothing = nothing_to(gg__text(in->tree, gg__field(attribute, "attribute")), x.dtype, exact);
    bool named = gg_node_is(out->x, "identifier") || gg_node_is(out->x, "attribute");
    return x.sort == GG__TENSOR && named && out->nothing && read_indices(in, out) && goes_over_it(in, out) &&
           !gg__has_comment(in->tree, gg_node_span(at)) && gg__can_name(in->tree, at, "torch");
}

void gg__edit_part(const gg_rule_input *in, const gg__part *s, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, s->subscript, "torch", arena, edits);
    gg_str x = gg__text(in->tree, s->x), n = gg__text(in->tree, gg__strip_parentheses(s->n));
    /* a negative bound counts from the end */
    gg_str bound = s->natural
                       ? n
                       : gg_arena_printf(arena, "%.*s.where(%.*s < 0, %.*s + %.*s.shape[%d], %.*s)", GG_STR_ARG(torch),
                                         GG_STR_ARG(n), GG_STR_ARG(n), GG_STR_ARG(x), s->dim, GG_STR_ARG(n));
    gg_str shape = GG_STR_NULL; /* `[:, None]`: along its own dimension */
    for (int32_t i = s->dim + 1; i < s->rank; i++) shape = gg_arena_printf(arena, "%.*s, None", GG_STR_ARG(shape));
    if (shape.len) shape = gg_arena_printf(arena, "[:%.*s]", GG_STR_ARG(shape));
    gg_edits_add(
        edits, gg_node_span(s->subscript),
        gg_arena_printf(arena, "%.*s.where(%.*s.arange(%.*s.shape[%d], device=%.*s.device)%.*s %s %.*s, %.*s, %s)",
                        GG_STR_ARG(torch), GG_STR_ARG(torch), GG_STR_ARG(x), s->dim, GG_STR_ARG(x), GG_STR_ARG(shape),
                        s->lower ? ">=" : "<", GG_STR_ARG(bound), GG_STR_ARG(x), s->nothing));
}
