/* Reductions of a part of a tensor whose bound is a tensor's value.  See parts.h. */
#include "repair/parts.h"

#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/select.h"

static bool is_place(TSNode node) {
    return gg_node_is(node, "identifier") || gg_node_is(node, "integer");
}

/* `n`, `lengths[i]`, `lengths[i - 1]`: may be written twice */
static bool is_short(TSNode node) {
    if (gg_node_is(node, "identifier")) return true;
    if (!gg_node_is(node, "subscript") || gg__child_count(node) != 2 || !gg_node_is(gg__child(node, 0), "identifier"))
        return false;
    TSNode index = gg__child(node, 1);
    return is_place(index) || (gg_node_is(index, "binary_operator") && is_place(gg__field(index, "left")) &&
                               is_place(gg__field(index, "right")));
}

bool gg__part_bound(const gg_rule_input *in, TSNode node, gg__part *out) {
    gg__extraction e;
    out->n = node;
    if (out->named.len) return gg_node_is(node, "identifier") && gg_str_equal(gg__text(in->tree, node), out->named);
    if (gg__match_extraction_loosely(in, node, &e)) { /* it is evaluated as before */
        if (e.scalar.sort != GG__SCALAR_INT || e.widening || e.truncates) return false;
        out->n = e.value;
    }
    gg__meta m = gg__infer_loosely(in, out->n);
    bool integer = gg_str_starts_with(m.dtype, GG_STR("torch.int"));
    if (m.sort != GG__TENSOR || m.rank != 0 || m.vague || !integer) return false;
    out->bound = m;
    out->natural = gg__scalar_of(in, m, out->n).natural;
    bool wide =
        gg_str_is(m.dtype, "torch.int64") || gg_str_is(m.dtype, "torch.int32"); /* n + a size is one of its dtype */
    return out->natural || (wide && is_short(out->n));
}

/* `:n` or `n:`, in place of `s->dim`. */
static bool read_slice(const gg_rule_input *in, TSNode index, gg__part *s) {
    if (gg__child_count(index) != 1 || ts_node_child_count(index) != 2 || !gg__part_bound(in, gg__child(index, 0), s))
        return false;
    s->lower = ts_node_eq(ts_node_child(index, 0), gg__child(index, 0));
    return true;
}

bool gg__is_plain_index(const gg_rule_input *in, TSNode index) {
    if (!gg_node_is(index, "slice"))
        return gg__infer(in, index).sort == GG__SCALAR_INT || gg__is_counter(in->tree, index);
    for (uint32_t i = 0; i < gg__child_count(index); i++)
        if (gg__infer(in, gg__child(index, i)).sort != GG__SCALAR_INT) return false;
    return true;
}

static bool is_colon(TSNode index) {
    return gg_node_is(index, "slice") && gg__child_count(index) == 0 && ts_node_child_count(index) == 1;
}

/* `:`, and `:n` or `n:` once; in front `...`, or numbers. */
static bool read_indices(const gg_rule_input *in, gg__part *s) {
    uint32_t count = gg__child_count(s->subscript), bounds = 0;
    bool from_end = false;
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(s->subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
            continue;
        }
        if (!gg_node_is(index, "slice") && (int32_t)i == s->first + 1 && gg__is_plain_index(in, index)) {
            s->first++;
            continue;
        }
        if (!gg_node_is(index, "slice")) return false;
        if (is_colon(index)) continue;
        if (!read_slice(in, index, s)) return false;
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

gg_str gg__part_mask(const gg_rule_input *in, const gg__part *s, int32_t behind, gg_str torch, gg_arena *arena) {
    gg_str x = gg__text(in->tree, s->x), n = gg__text(in->tree, gg__strip_parentheses(s->n));
    /* a negative bound counts from the end */
    gg_str bound = s->natural
                       ? n
                       : gg_arena_printf(arena, "%.*s.where(%.*s < 0, %.*s + %.*s.shape[%d], %.*s)", GG_STR_ARG(torch),
                                         GG_STR_ARG(n), GG_STR_ARG(n), GG_STR_ARG(x), s->dim, GG_STR_ARG(n));
    gg_str shape = along(behind, arena);
    return gg_arena_printf(arena, "%.*s.arange(%.*s.shape[%d], device=%.*s.device)%.*s %s %.*s", GG_STR_ARG(torch),
                           GG_STR_ARG(x), s->dim, GG_STR_ARG(x), GG_STR_ARG(shape), s->lower ? ">=" : "<",
                           GG_STR_ARG(bound));
}

/* x with the subscript's first indices, of which `open`, if it is among them, is all of its dimension. */
static gg_str front(const gg_rule_input *in, TSNode x, TSNode subscript, uint32_t count, TSNode open, gg_arena *arena) {
    gg_str out = gg__text(in->tree, x);
    for (uint32_t i = 1; i <= count; i++) {
        TSNode index = gg__child(subscript, i);
        gg_str text = ts_node_eq(index, open) ? GG_STR(":") : gg__text(in->tree, index);
        out = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(out), i == 1 ? "[" : ", ", GG_STR_ARG(text));
    }
    return count ? gg_arena_printf(arena, "%.*s]", GG_STR_ARG(out)) : out;
}

/* A mask that is read twice gets a name, on a line in front, where there is a place for it; else it is written twice: then this is empty. */
static gg_str named_mask(const gg_rule_input *in, const gg__part *s, gg_str torch, gg_arena *arena, gg_edits *edits) {
    gg_str name = GG_STR("inside");
    uint32_t start = ts_node_start_byte(gg__statement(s->call));
    if (!s->alone || !gg__is_always_evaluated(in, s->call) || gg__mentions(gg_text_bytes(gg_tree_text(in->tree)), name))
        return GG_STR_NULL;
    gg_edits_add(edits, (gg_span){start, start},
                 gg_arena_printf(arena, "%.*s = %.*s%.*s%.*s", GG_STR_ARG(name),
                                 GG_STR_ARG(gg__part_mask(in, s, 0, torch, arena)), GG_STR_ARG(gg__newline(in->tree)),
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
    gg_str mask = gg__part_mask(in, s, behind, torch, arena), once = name;
    if (name.len) mask = gg_arena_printf(arena, "%.*s%.*s", GG_STR_ARG(name), GG_STR_ARG(along(behind, arena)));
    if (!name.len) once = gg_arena_printf(arena, "(%.*s)", GG_STR_ARG(gg__part_mask(in, s, 0, torch, arena)));
    gg_str view = front(in, s->x, s->subscript, (uint32_t)s->first, (TSNode){0}, arena);
    gg_edits_add(edits, gg_node_span(s->subscript),
                 gg_arena_printf(arena, "%.*s.where(%.*s, %.*s, %s)", GG_STR_ARG(torch), GG_STR_ARG(mask),
                                 GG_STR_ARG(view), s->nothing));
    if (!s->mean) return;
    gg_edits_add(edits, gg_node_span(gg__field(gg__field(s->call, "function"), "attribute")), GG_STR("sum"));
    gg_str count = gg_arena_printf(arena, "%.*s.sum()", GG_STR_ARG(once));
    gg__divide_call(s->call, count, binds_tighter(in->tree, s->call), arena, edits);
}

/* ---- stores ------------------------------------------------------------------------------------------------------------------ */

/* One index has the tensor's bound; the others make views.  `behind`: dimensions of the view behind that of the part. */
static bool read_store(const gg_rule_input *in, gg__part_store *s) {
    gg__part *part = &s->part;
    uint32_t count = gg__child_count(part->subscript);
    bool from_end = false, found = false;
    int32_t numbers = 0; /* behind the part */
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(part->subscript, i);
        if (gg_node_is(index, "ellipsis") && i == 1 && count > 2) {
            from_end = true;
        } else if (gg__is_plain_index(in, index)) {
            numbers += found && !gg_node_is(index, "slice");
        } else {
            if (found || !gg_node_is(index, "slice") || !read_slice(in, index, part)) return false;
            found = true;
            s->index = index;
            part->dim = from_end ? part->rank - (int32_t)(count - i) : (int32_t)i - 1;
        }
    }
    s->behind = part->rank - 1 - part->dim - numbers;
    return found && part->dim >= 0 && s->behind >= 0;
}

/* `x[i, :n] = y[i, :n]`, where x was made in the form of y: whatever else is stored into x is y's, or constant. */
typedef struct copying {
    const gg_rule_input *in;
    gg_str x, y;
} copying;

static bool is_of_y(TSNode node, void *data) {
    const copying *c = data;
    const gg_tree *tree = c->in->tree;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), c->x)) return true;
    TSNode subscript = gg__parent(node), parent = gg__parent(subscript), right = gg__field(parent, "right");
    if (!gg_node_is(subscript, "subscript") || !ts_node_eq(gg__field(parent, "left"), subscript)) return true;
    return gg_node_is(parent, "assignment") &&
           (gg__infer(c->in, right).constant || gg_str_equal(gg__text(tree, gg__field(right, "value")), c->y));
}

static bool is_made_like(const gg_rule_input *in, TSNode x, TSNode y) {
    const gg_tree *tree = in->tree;
    TSNode made = gg__only_value(tree, x), first = gg__child(gg__field(made, "arguments"), 0), block;
    TSNode function = gg__function(x), form = first;
    bool like = false;
    if (ts_node_is_null(made) || !gg__makes_anew(tree, made, &like)) return false;
    if (!like && gg_node_is(first, "attribute") && gg_str_is(gg__text(tree, gg__field(first, "attribute")), "shape"))
        form = gg__field(first, "object");
    else if (!like)
        return false;
    block = gg__parent(gg__statement(made));
    return gg_node_is(form, "identifier") && gg_str_equal(gg__text(tree, form), gg__text(tree, y)) &&
           ts_node_end_byte(made) < ts_node_start_byte(x) && ts_node_end_byte(block) >= ts_node_end_byte(x) &&
           ts_node_eq(gg__function(made), function) &&
           gg__stays_from(tree, function, gg__text(tree, x), ts_node_end_byte(made)) &&
           gg__stays_from(tree, function, gg__text(tree, y), ts_node_start_byte(made));
}

static bool copies(const gg_rule_input *in, const gg__part_store *s, gg__meta x) {
    const gg_tree *tree = in->tree;
    TSNode left = s->part.subscript, right = s->value, y = gg__field(right, "value");
    copying c = {in, gg__text(tree, s->part.x), gg__text(tree, y)};
    gg__meta m = gg__infer(in, y);
    if (!gg_node_is(right, "subscript") || !gg_node_is(s->part.x, "identifier") || !gg_node_is(y, "identifier") ||
        gg__child_count(left) != gg__child_count(right) || !gg__same_shape(x, m) || m.sort != GG__TENSOR || m.vague ||
        !gg_str_equal(x.dtype, m.dtype) || !gg_str_equal(x.device, m.device))
        return false;
    for (uint32_t i = 1; i < gg__child_count(left); i++)
        if (!gg_str_equal(gg__text(tree, gg__child(left, i)), gg__text(tree, gg__child(right, i)))) return false;
    return is_made_like(in, s->part.x, y) && gg__visit(gg__function(left), is_of_y, &c);
}

bool gg__read_part_store(const gg_rule_input *in, TSNode statement, gg__part_store *out) {
    gg__part *part = &out->part;
    out->assignment = gg__child(statement, 0);
    out->value = gg__field(out->assignment, "right");
    part->subscript = gg__field(out->assignment, "left");
    part->x = gg__field(part->subscript, "value");
    if (!gg_node_is(out->assignment, "assignment") || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(part->subscript, "subscript"))
        return false;
    gg__meta x = gg__infer(in, part->x), value = gg__infer(in, out->value);
    part->rank = x.rank;
    bool named = gg_node_is(part->x, "identifier") || gg_node_is(part->x, "attribute");
    if (x.sort != GG__TENSOR || !named || x.vague || gg_str_is(x.layout, "?"))
        return false; /* perhaps expanded: masked_fill_ raises then, a store does not */
    out->copies = !value.constant && copies(in, out, x);
    if (!value.constant && !out->copies) return false;
    if (!read_store(in, out))
        return gg__hinder(in, part->subscript, "is not a slice by one integer tensor that is known");
    if (!gg_str_equal(part->bound.device, x.device) && !gg_str_is(part->bound.device, "cpu"))
        return gg__hinder(in, part->n, "lies on another device than what it slices");
    return (out->copies || gg__holds(x.dtype, value)) && !gg__has_comment(in->tree, gg_node_span(out->assignment)) &&
           gg__can_name(in->tree, part->subscript, "torch");
}

bool gg__part_stored(const gg_rule_input *in, gg__part_store *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), assignment = gg__child(statement, 0);
    *out = (gg__part_store){0};
    if (!gg_str_is(in->site->id, "GB0124") || !in->site->first || !gg__covers(assignment, in->span)) return false;
    return gg__read_part_store(in, statement, out) &&
           (out->copies || gg__covers(gg__field(assignment, "left"), in->span));
}

/* The subscript with all of the dimension. */
static gg_str whole(const gg_rule_input *in, const gg__part_store *s, TSNode x, gg_arena *arena) {
    return front(in, x, s->part.subscript, gg__child_count(s->part.subscript) - 1, s->index, arena);
}

static void edit_copy(const gg_rule_input *in, const gg__part_store *s, gg_str torch, gg_arena *arena,
                      gg_edits *edits) {
    gg_str x = whole(in, s, s->part.x, arena), y = whole(in, s, gg__field(s->value, "value"), arena);
    gg_edits_add(edits, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s = %.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(x), GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__part_mask(in, &s->part, s->behind, torch, arena)), GG_STR_ARG(y),
                                 GG_STR_ARG(x)));
}

void gg__edit_part_store(const gg_rule_input *in, const gg__part_store *s, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, s->assignment, "torch", arena, edits);
    if (s->copies) {
        edit_copy(in, s, torch, arena, edits);
        return;
    }
    uint32_t last = 0, count = gg__child_count(s->part.subscript); /* the last index that is not all there is */
    for (uint32_t i = 1; i < count; i++) {
        TSNode index = gg__child(s->part.subscript, i);
        if (!ts_node_eq(index, s->index) && !is_colon(index) && !gg_node_is(index, "ellipsis")) last = i;
    }
    if (last && gg_node_is(gg__child(s->part.subscript, 1), "ellipsis")) last = count - 1; /* counted from the end */
    gg_str view = front(in, s->part.x, s->part.subscript, last, s->index, arena);
    gg_edits_add(edits, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s.masked_fill_(%.*s, %.*s)", GG_STR_ARG(view),
                                 GG_STR_ARG(gg__part_mask(in, &s->part, s->behind, torch, arena)),
                                 GG_STR_ARG(gg__text(in->tree, s->value))));
}
