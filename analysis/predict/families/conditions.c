/* Python asks a tensor whether it is true. */
#include "analysis/predict/families/table.h"

static void on_truth(gg__walk *w, TSNode node, const gg__value *value) {
    if (gg__is_tensor(value)) gg__found(w, GG__RULE_CONDITION, NULL, node, value);
}

static bool has_interpolation(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 0; i < parts.len; i++)
        if (gg__node_of(parts.items[i]) == GG__NODE_interpolation) return true;
    return false;
}

/* Dynamo keeps `assert tensor` and `assert tensor, "constant"` in the graph. */
static void on_statement(gg__walk *w, TSNode statement, gg__node type) {
    if (type != GG__NODE_assert_statement) return;
    gg__nodes parts = gg__children(w->syntax, statement);
    TSNode condition = parts.items[0];
    while (gg__node_of(condition) == GG__NODE_parenthesized_expression) condition = ts_node_named_child(condition, 0);
    gg__node form = gg__node_of(condition);
    bool chained = form == GG__NODE_comparison_operator && ts_node_named_child_count(condition) > 2;
    if (form == GG__NODE_boolean_operator || form == GG__NODE_not_operator || chained) {
        (void)gg__eval_condition(w, condition);
        return;
    }
    gg__value value = gg__eval(w, condition);
    gg__node message = parts.len > 1 ? gg__node_of(parts.items[1]) : GG__NODE_string;
    bool plain = message == GG__NODE_string && !(parts.len > 1 && has_interpolation(w, parts.items[1]));
    if (gg__is_tensor(&value) && !plain) gg__found(w, GG__RULE_ASSERT, NULL, condition, &value);
}

static const gg__call_row rows[] = {
    {"torch.equal", NULL, GG__RULE_COMPARISON, GG__WITH_TENSOR},
    {"torch.allclose", NULL, GG__RULE_COMPARISON, GG__WITH_TENSOR},
    {"torch.is_nonzero", NULL, GG__RULE_COMPARISON, GG__WITH_TENSOR},
    {"torch._assert", NULL, GG__RULE_COMPARISON, GG__WITH_TENSOR},
    {"equal", NULL, GG__RULE_COMPARISON, GG__OF_TENSOR},
    {"allclose", NULL, GG__RULE_COMPARISON, GG__OF_TENSOR},
    {"is_nonzero", NULL, GG__RULE_COMPARISON, GG__OF_TENSOR},
    {"is_same_size", "GB0208", GG__RULE_COMPARISON, GG__OF_TENSOR},
    {"is_inference", "GB0045", GG__RULE_COMPARISON, GG__OF_TENSOR},
    {"__contains__", "GB0124", GG__RULE_ITEM, GG__OF_TENSOR},
};

/* `tensor in [tensor]`: the very same object is found without a comparison. */
static void find_in_sequence(gg__walk *w, TSNode node, const gg__value *left) {
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("it is not the first of them"), .unlikely = outer && outer->unlikely};
    if (gg__node_of(ts_node_named_child(node, 0)) != GG__NODE_identifier) return; /* its result is a tensor */
    if (outer == NULL) w->guard = &guard;
    gg__found(w, GG__RULE_ANY_ALL, NULL, node, left);
    w->guard = outer;
}

/* `1 in tensor`, `tensor in [tensor]` */
static void on_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    if (!gg_str_is(op, "in") && !gg_str_is(op, "not in")) return;
    gg__value element = gg__element_of(right);
    if (gg__is_tensor(right)) {
        gg__found(w, GG__RULE_ITEM, NULL, node, right);
        gg__note_eager(w);
    } else if (right->kind == GG__SEQUENCE && gg__is_tensor(&element) && gg__is_tensor(left))
        find_in_sequence(w, node, left);
}

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    if (call->callee.kind != GG__DOTTED || !gg_str_starts_with(call->callee.path, GG_STR("builtins."))) return;
    gg_str name = gg_str_slice(call->callee.path, 9, call->callee.path.len);
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (first == NULL) return;
    gg__value element = gg__element_of(&first->value);
    bool any = gg_str_is(name, "any") || gg_str_is(name, "all");
    for (uint32_t i = 0; any && !gg__is_tensor(&element) && first->value.items && i < first->value.item_count; i++)
        element = first->value.items[i];
    if (!gg__is_tensor(&element)) return;
    if (any)
        gg__found(w, GG__RULE_ANY_ALL, NULL, call->node, &element);
    else if (gg_str_is(name, "sorted"))
        gg__found(w, GG__RULE_ORDER, gg__is_tensor(&first->value) ? "GB0059" : NULL, call->node, &element);
    else if ((gg_str_is(name, "min") || gg_str_is(name, "max")) && gg__argument_at(call, UINT32_MAX, "key"))
        gg__found(w, GG__RULE_ORDER, "GB0193", call->node, &element);
}

const gg__family gg__family_conditions = {
    .on_truth = on_truth, .on_statement = on_statement, .on_call = on_call, .on_operator = on_operator};
