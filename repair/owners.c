/* Names whose tensors nobody else holds.  See alias.h. */
#include "repair/alias.h"
#include "repair/infer.h"

bool gg__changes_itself(TSNode changed) {
    TSNode target = gg__parent(changed), outer = gg__parent(target);
    if (gg_node_is(target, "augmented_assignment")) return ts_node_eq(gg__field(target, "left"), changed);
    if (!gg_node_is(target, "subscript") || !ts_node_eq(gg__field(target, "value"), changed)) return false;
    while (gg_node_is(outer, "pattern_list") || gg_node_is(outer, "tuple_pattern")) {
        target = outer;
        outer = gg__parent(outer);
    }
    bool binds = gg_node_is(outer, "assignment") || gg_node_is(outer, "augmented_assignment") ||
                 gg_node_is(outer, "for_statement");
    return binds && ts_node_eq(gg__field(outer, "left"), target);
}

/* `v.add_(1)` as a statement: nobody gets what it returns. */
static bool is_changed_alone(const gg_tree *tree, TSNode node) {
    TSNode attribute = gg__parent(node), call = gg__parent(attribute);
    bool shares = gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), "set_");
    return !shares && gg_node_is(attribute, "attribute") && gg_node_is(call, "call") &&
           ts_node_eq(gg__field(call, "function"), attribute) && gg_node_is(gg__parent(call), "expression_statement");
}

/* `out[t] = v` of a tensor that the function made: v is copied. */
static bool is_copied_there(const gg_rule_input *in, TSNode node) {
    TSNode assignment = gg__parent(node), left = gg__field(assignment, "left"), made = gg__field(left, "value");
    if (!gg_node_is(assignment, "assignment") || !ts_node_eq(gg__field(assignment, "right"), node) ||
        !gg_node_is(gg__parent(assignment), "expression_statement") || !gg_node_is(left, "subscript") ||
        !gg_node_is(made, "identifier"))
        return false;
    TSNode value = gg__only_value(in->tree, made);
    return !ts_node_is_null(value) && gg__infer(in, value).sort == GG__TENSOR;
}

typedef struct holder {
    const gg_rule_input *in;
    TSNode function;
    gg_str name;
    gg_span inside, but; /* where it is looked at */
    bool returned;       /* a `return` is fine */
} holder;

static bool is_display(TSNode node) {
    static const char *const kinds[] = {"expression_list", "tuple", "list", "dictionary", "pair"};
    for (size_t i = 0; i < GG_COUNT(kinds); i++)
        if (gg_node_is(node, kinds[i])) return true;
    return false;
}

/* Is the name only read here, by what makes a new tensor of it? */
static bool keeps_to_itself(TSNode node, void *data) {
    const holder *h = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(h->in->tree, node), h->name)) return true;
    uint32_t at = ts_node_start_byte(node);
    if (gg__is_in_inner_function(node, h->function)) return false; /* held by a function inside */
    if (at < h->inside.start || at >= h->inside.end || (at >= h->but.start && at < h->but.end)) return true;
    TSNode parent = gg__parent(node);
    while (h->returned && is_display(parent)) parent = gg__parent(parent);
    if (h->returned && gg_node_is(parent, "return_statement")) return true;
    return gg__is_member_name(node) || gg__is_binding(node) || gg__changes_itself(node) ||
           is_changed_alone(h->in->tree, node) || gg__is_consumed(h->in, node) || is_copied_there(h->in, node);
}

bool gg__owns(const gg_rule_input *in, TSNode statement, gg_str name) {
    TSNode value = gg__value_among(in->tree, statement, name), function = gg__function(statement);
    if (ts_node_is_null(value) || !gg__makes_new(in, value) || !gg_node_is(function, "function_definition"))
        return false;
    holder h = {.in = in,
                .function = function,
                .name = name,
                .inside = {ts_node_end_byte(value), ts_node_start_byte(statement)}};
    return gg__visit(function, keeps_to_itself, &h);
}

bool gg__is_never_shared(const gg_rule_input *in, TSNode function, gg_str name, gg_span but, bool returned) {
    holder h = {in, function, name, gg_node_span(function), but, returned};
    return gg__visit(function, keeps_to_itself, &h);
}

bool gg__is_unshared_in(const gg_rule_input *in, TSNode node, gg_str name) {
    holder h = {.in = in, .function = gg__function(node), .name = name, .inside = gg_node_span(node)};
    return gg__visit(node, keeps_to_itself, &h);
}
