/* Stores between bounds that are tensors' values: `x[i, :n] = 0`, `x[..., a:b, a:b] = 0`, `x[i, :n] = y[i, :n]`.  See parts.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/parts.h"

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
    TSNode left = s->subscript, right = s->value, y = gg__field(right, "value");
    copying c = {in, gg__text(tree, s->x), gg__text(tree, y)};
    gg__meta m = gg__infer(in, y);
    if (!gg_node_is(right, "subscript") || !gg_node_is(s->x, "identifier") || !gg_node_is(y, "identifier") ||
        gg__child_count(left) != gg__child_count(right) || !gg__same_shape(x, m) || m.sort != GG__TENSOR || m.vague ||
        !gg_str_equal(x.dtype, m.dtype) || !gg_str_equal(x.device, m.device))
        return false;
    for (uint32_t i = 1; i < gg__child_count(left); i++)
        if (!gg_str_equal(gg__text(tree, gg__child(left, i)), gg__text(tree, gg__child(right, i)))) return false;
    return is_made_like(in, s->x, y) && gg__visit(gg__function(left), is_of_y, &c);
}

static bool is_near(const gg_rule_input *in, const gg__part_bound *bound, gg__meta x) {
    return gg_str_equal(bound->meta.device, x.device) || gg_str_is(bound->meta.device, "cpu") ||
           gg__hinder(in, bound->n, "lies on another device than what it slices");
}

bool gg__read_part_store(const gg_rule_input *in, TSNode statement, const gg__part_bound *known, gg__part_store *out) {
    TSNode assignment = gg__child(statement, 0);
    *out = (gg__part_store){
        .assignment = assignment, .subscript = gg__field(assignment, "left"), .value = gg__field(assignment, "right")};
    out->x = gg__field(out->subscript, "value");
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(out->subscript, "subscript"))
        return false;
    gg__meta x = gg__infer(in, out->x), value = gg__infer(in, out->value);
    bool named = gg_node_is(out->x, "identifier") || gg_node_is(out->x, "attribute");
    if (x.sort != GG__TENSOR || !named || x.vague || gg_str_is(x.layout, "?"))
        return false; /* perhaps expanded: masked_fill_ raises then, a store does not */
    out->copies = !value.constant && copies(in, out, x);
    if (!value.constant && !out->copies) return false;
    bool several = value.constant && known->named.len == 0; /* bounds, or slices */
    if (!gg__read_windows(in, out->subscript, x.rank, known, &out->windows) ||
        !(several || gg__has_one_end(&out->windows)))
        return gg__hinder(in, out->subscript, "is not a slice by one integer tensor that is known");
    for (uint32_t i = 0; i < out->windows.count; i++) {
        const gg__window *w = &out->windows.items[i];
        if ((w->has_low && !is_near(in, &w->low, x)) || (w->has_high && !is_near(in, &w->high, x))) return false;
    }
    return (out->copies || gg__holds(x.dtype, value)) && !gg__has_comment(in->tree, gg_node_span(assignment)) &&
           gg__can_name(in->tree, out->subscript, "torch");
}

bool gg__part_stored(const gg_rule_input *in, gg__part_store *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), assignment = gg__child(statement, 0);
    if (!gg_str_is(in->site->id, "GB0124") || !in->site->first || !gg__covers(assignment, in->span)) return false;
    return gg__read_part_store(in, statement, &(gg__part_bound){0}, out) &&
           (out->copies || gg__covers(out->subscript, in->span));
}

static void edit_copy(const gg_rule_input *in, const gg__part_store *s, gg_str mask, gg_str torch, gg_arena *arena,
                      gg_edits *edits) {
    uint32_t all = gg__child_count(s->subscript) - 1;
    gg_str x = gg__window_view(in, s->x, s->subscript, all, &s->windows, arena),
           y = gg__window_view(in, gg__field(s->value, "value"), s->subscript, all, &s->windows, arena);
    gg_edits_add(edits, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s = %.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(x), GG_STR_ARG(torch),
                                 GG_STR_ARG(mask), GG_STR_ARG(y), GG_STR_ARG(x)));
}

static bool is_all(const gg__part_store *s, TSNode index) { /* of its dimension, once the windows are */
    for (uint32_t i = 0; i < s->windows.count; i++)
        if (ts_node_eq(index, s->windows.items[i].index)) return true;
    return gg__is_colon(index) || gg_node_is(index, "ellipsis");
}

void gg__edit_part_store(const gg_rule_input *in, const gg__part_store *s, gg_arena *arena, gg_edits *edits) {
    gg_str torch = gg__require_module(in->tree, s->assignment, "torch", arena, edits),
           mask = gg__window_mask(in, s->x, &s->windows, torch, arena);
    if (s->copies) {
        edit_copy(in, s, mask, torch, arena, edits);
        return;
    }
    uint32_t last = 0, count = gg__child_count(s->subscript);
    for (uint32_t i = 1; i < count; i++)
        if (!is_all(s, gg__child(s->subscript, i))) last = i;
    if (last && gg_node_is(gg__child(s->subscript, 1), "ellipsis")) last = count - 1; /* counted from the end */
    gg_str view = gg__window_view(in, s->x, s->subscript, last, &s->windows, arena);
    gg_edits_add(edits, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s.masked_fill_(%.*s, %.*s)", GG_STR_ARG(view), GG_STR_ARG(mask),
                                 GG_STR_ARG(gg__text(in->tree, s->value))));
}
