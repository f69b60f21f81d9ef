/* Stores under a boolean mask, and the indices that stand for one.  See masks.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"

bool gg__masked_store(const gg_rule_input *in, TSNode statement, bool exact, gg__store *s) {
    *s = (gg__store){.e = {.in = in, .draws = true, .rounded = !exact}};
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    s->assignment = gg__child(statement, 0);
    bool augmented = gg_node_is(s->assignment, "augmented_assignment");
    if (!augmented && !gg_node_is(s->assignment, "assignment")) return false;
    TSNode left = gg__field(s->assignment, "left");
    s->right = gg__field(s->assignment, "right");
    if (!gg_node_is(left, "subscript") || ts_node_is_null(s->right) || !gg__masked_item(in, left, &s->e.item) ||
        gg__has_comment(in->tree, gg_node_span(s->assignment)))
        return false;
    gg__meta target = s->e.item.of;
    if (gg_str_is(target.layout, "?"))
        return false; /* perhaps expanded: copy_ raises then, a store under a mask does not */
    if (!exact && gg__is_half(target.dtype))
        return false; /* autocast makes a float32 of its exp(), which a store under a mask refuses and copy_ takes */
    if (augmented) {
        gg_str op = gg__text(in->tree, gg__field(s->assignment, "operator"));
        s->op = gg_str_slice(op, 0, op.len - 1);
        return !gg_str_is(s->op, "**") && gg__is_elementwise_with(&s->e, s->op, s->right);
    }
    if (!gg__is_elementwise(&s->e, s->right))
        return gg__hinder(in, s->right, "is not made of elements under that mask alone, each treated alike");
    return gg_str_equal(s->e.dtype, target.dtype) ||
           gg__hinder(in, s->right, "has another dtype than what it is stored into");
}

void gg__edit_masked_store(const gg__store *s, gg_str torch, gg_arena *arena, gg_edits *out) {
    const gg_rule_input *in = s->e.in;
    gg_str x = gg__operand_text(in, s->e.item.base, arena), value = gg__spread(&s->e, s->right, torch, arena);
    if (s->op.len) {
        bool simple = !gg_node_is(s->right, "binary_operator") && !gg_node_is(s->right, "unary_operator");
        value =
            gg_arena_printf(arena, "%.*s %.*s %s%.*s%s", GG_STR_ARG(gg__spread_item(&s->e, &s->e.item, torch, arena)),
                            GG_STR_ARG(s->op), simple ? "" : "(", GG_STR_ARG(value), simple ? "" : ")");
    }
    gg_edits_add(out, gg_node_span(s->assignment),
                 gg_arena_printf(arena, "%.*s.copy_(%.*s.where(%.*s, %.*s, %.*s))", GG_STR_ARG(x), GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__mask_text(in, &s->e.item, arena)), GG_STR_ARG(value), GG_STR_ARG(x)));
}

bool gg__is_masked_fill(const gg_rule_input *in, TSNode assignment) {
    gg__item item;
    if (!gg_node_is(assignment, "assignment") || !gg__masked_item(in, gg__field(assignment, "left"), &item))
        return false;
    gg__meta value = gg__infer(in, gg__field(assignment, "right"));
    if (value.sort == GG__TENSOR) return value.rank == 0 && gg_str_equal(value.dtype, item.of.dtype);
    return gg__is_number(value) && (gg__is_floating(item.of.dtype) || value.sort != GG__SCALAR_FLOAT);
}

bool gg__take_masked_store(const gg_rule_input *in, bool exact, TSNode *out_node, gg_arena *arena, gg_edits *edits) {
    gg__store s;
    if (!gg_str_is(in->site->id, "GB0036") ||
        !gg__masked_store(in, gg__statement(gg_node_at(in->tree, in->span)), exact, &s) ||
        !gg__can_name(in->tree, s.assignment, "torch"))
        return false;
    *out_node = s.assignment;
    if (edits)
        gg__edit_masked_store(&s, gg__require_module(in->tree, s.assignment, "torch", arena, edits), arena, edits);
    return true;
}

/* ---- indices --------------------------------------------------------------------------------------------------------------- */

static bool is_true(const gg_tree *tree, TSNode argument, const char *name) {
    return gg_node_is(argument, "keyword_argument") && gg_str_is(gg__text(tree, gg__field(argument, "name")), name) &&
           gg_node_is(gg__field(argument, "value"), "true");
}

TSNode gg__call_operand(const gg_rule_input *in, TSNode call, const char *name, uint32_t extra, bool method) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list") ||
        !gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), name))
        return (TSNode){0};
    TSNode object = gg__field(function, "object");
    bool torchs = gg_str_equal(gg__text(in->tree, object), gg__module_alias(in->tree, call, "torch"));
    if (gg__child_count(arguments) != extra + (torchs ? 1 : 0) || (!torchs && !method)) return (TSNode){0};
    TSNode operand = torchs ? gg__child(arguments, 0) : object;
    return gg_node_is(operand, "keyword_argument") ? (TSNode){0} : operand;
}

TSNode gg__nonzero_tuple_of(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    TSNode c = gg__call_operand(in, node, "nonzero", 1, true), arguments = gg__field(node, "arguments");
    if (ts_node_is_null(c)) return gg__call_operand(in, node, "where", 0, false);
    return is_true(in->tree, gg__child(arguments, gg__child_count(arguments) - 1), "as_tuple") ? c : (TSNode){0};
}

TSNode gg__nonzero_rows_of(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    TSNode c = gg__call_operand(in, node, "nonzero", 0, true);
    return ts_node_is_null(c) ? gg__call_operand(in, node, "argwhere", 0, true) : c;
}

bool gg__is_flattening(const gg_rule_input *in, TSNode call, TSNode *out) {
    static const char *const flat[] = {"squeeze", "flatten", "view", "reshape"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute")),
           argument = gg__text(in->tree, gg__child(arguments, 0));
    for (size_t i = 0; i < GG_COUNT(flat) && gg_node_is(call, "call"); i++) {
        if (!gg_str_is(name, flat[i])) continue;
        bool last =
            gg__child_count(arguments) == 1 && (gg_str_is(argument, "-1") || (i == 0 && gg_str_is(argument, "1")));
        *out = gg__field(function, "object");
        return last || (i == 1 && gg__child_count(arguments) == 0);
    }
    return false;
}

TSNode gg__chosen_by(const gg_rule_input *in, TSNode assignment, TSNode *which) {
    TSNode left = gg__field(assignment, "left"), right = gg__strip_parentheses(gg__field(assignment, "right"));
    TSNode rows = {0};
    if (which) *which = rows;
    if (gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern")) return gg__nonzero_tuple_of(in, right);
    if (gg_node_is(right, "subscript") && gg__child_count(right) == 2) {
        TSNode index = gg__field(right, "subscript");
        if (which) *which = index;
        return gg_node_is(index, "integer") ? gg__nonzero_tuple_of(in, gg__field(right, "value")) : rows;
    }
    return gg__is_flattening(in, right, &rows) ? gg__nonzero_rows_of(in, rows) : rows;
}
