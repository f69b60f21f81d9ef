/* Local names that hold one display all along.  See syntax.h. */
#include "repair/syntax.h"

typedef struct name_uses {
    const gg_tree *tree;
    gg_str name;
    TSNode binding;
    uint32_t bindings;
    gg__visitor allowed; /* of a use that is no binding */
    void *data;
} name_uses;

static bool is_name(const name_uses *u, TSNode node) {
    return gg_node_is(node, "identifier") && !gg__is_member_name(node) &&
           gg_str_equal(gg__text(u->tree, node), u->name);
}

static bool on_binding(TSNode node, void *data) {
    name_uses *u = data;
    if (!is_name(u, node) || !gg__is_binding(node)) return true;
    u->binding = node;
    return ++u->bindings < 2;
}

static bool on_use(TSNode node, void *data) {
    const name_uses *u = data;
    return !is_name(u, node) || ts_node_eq(node, u->binding) || u->allowed(node, u->data);
}

TSNode gg__only_binding(const gg_tree *tree, TSNode name) {
    TSNode function = gg__function(name), none = {0};
    name_uses u = {.tree = tree, .name = gg__text(tree, name)};
    if (!gg_node_is(name, "identifier") || !gg_node_is(function, "function_definition")) return none;
    if (!gg__visit(function, on_binding, &u) || u.bindings != 1) return none;
    for (TSNode at = gg__parent(u.binding); !ts_node_eq(at, function); at = gg__parent(at))
        if (gg_node_is(at, "function_definition") || gg_node_is(at, "class_definition") || gg_node_is(at, "lambda") ||
            gg__is_comprehension(at))
            return none;
    return u.binding;
}

TSNode gg__only_value(const gg_tree *tree, TSNode name) {
    TSNode binding = gg__only_binding(tree, name), holder = gg__parent(binding);
    if (gg_node_is(holder, "dictionary_splat_pattern")) return holder;
    bool plain = gg_node_is(holder, "assignment") && ts_node_eq(gg__field(holder, "left"), binding);
    return plain ? gg__strip_parentheses(gg__field(holder, "right")) : (TSNode){0};
}

bool gg__each_use(const gg_tree *tree, TSNode name, gg__visitor allowed, void *data) {
    name_uses u = {tree, gg__text(tree, name), gg__only_binding(tree, name), 1, allowed, data};
    return gg__visit(gg__function(name), on_use, &u);
}

/* ---- lists of numbers ------------------------------------------------------------------------------------------------------ */

static bool is_literal(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "unary_operator")) node = gg__field(node, "argument");
    gg_str text = gg__text(tree, node);
    return (gg_node_is(node, "integer") || gg_node_is(node, "float")) && !gg_str_contains(text, GG_STR("j")) &&
           !gg_str_contains(text, GG_STR("J"));
}

/* The list is looked at, and nobody else gets hold of it. */
static bool is_look(TSNode node, void *data) {
    static const char *const functions[] = {"len", "sum", "min", "max", "sorted"};
    static const char *const others[] = {"heapq.nsmallest", "heapq.nlargest", "bisect.bisect", "bisect.bisect_left",
                                         "bisect.bisect_right"};
    static const char *const readers[] = {"binary_operator", "comparison_operator", "argument_list",
                                          "return_statement"};
    const gg_tree *tree = data;
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    if (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), node)) {
        for (size_t i = 0; i < GG_COUNT(readers); i++)
            if (gg_node_is(around, readers[i])) return true;
        return gg_node_is(around, "assignment") && ts_node_eq(gg__field(around, "right"), parent);
    }
    if (!gg_node_is(parent, "argument_list")) return false;
    for (size_t i = 0; i < GG_COUNT(functions); i++)
        if (gg__names_builtin(tree, gg__field(around, "function"), functions[i])) return true;
    for (size_t i = 0; i < GG_COUNT(others); i++)
        if (gg__refers_to(tree, gg__field(around, "function"), others[i])) return true;
    return false;
}

TSNode gg__number_display(const gg_rule_input *in, TSNode node) {
    const gg_tree *tree = in->tree;
    bool named = gg_node_is(node, "identifier");
    TSNode display = named ? gg__only_value(tree, node) : node, none = {0};
    if (!gg_node_is(display, "list") && !gg_node_is(display, "tuple")) return none;
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode item = gg__child(display, i);
        if (gg_node_is(item, "comment")) continue;
        gg__meta m = gg__infer(in, item);
        /* A size among them would be compared with the others, and the code compiled anew for each of its values. */
        bool number = m.sort == GG__SCALAR_INT || (m.sort == GG__SCALAR_FLOAT && is_literal(tree, item));
        if (!number || !m.constant || (named && !is_literal(tree, item)))
            return none; /* a name may be bound anew since */
    }
    if (!named) return display;
    TSNode assignment = gg__parent(display);
    while (gg_node_is(assignment, "parenthesized_expression")) assignment = gg__parent(assignment);
    bool alone = gg_node_is(gg__parent(assignment), "expression_statement"); /* no `a = l = […]` */
    return alone && gg__each_use(tree, node, is_look, (void *)tree) ? display : none;
}

TSNode gg__tensor_made_of(const gg_tree *tree, TSNode list) {
    TSNode arguments = gg__parent(list), call = gg__parent(arguments), function = gg__field(call, "function");
    bool first = gg_node_is(arguments, "argument_list") && ts_node_eq(gg__child(arguments, 0), list);
    bool made = gg__refers_to(tree, function, "torch.tensor") || gg__refers_to(tree, function, "torch.as_tensor");
    return first && made ? call : (TSNode){0};
}
