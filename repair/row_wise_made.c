/* How modules that treat each row alike are made.  See row_wise.h. */
#include "repair/built.h"
#include "repair/row_wise.h"
#include "repair/scalar.h"

enum { MAX_DEPTH = 4 };

static bool makes(const gg_tree *tree, TSNode node, int depth);

/* ---- classes of the file -------------------------------------------------------------------------------------------------------------- */

/* `super().__init__()`, and attributes of its own, one by one. */
static bool only_sets_up(const gg_tree *tree, TSNode method) {
    TSNode body = gg__field(method, "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i), inner = gg__child(statement, 0), left = gg__field(inner, "left");
        gg_str name = gg__text(tree, gg__field(left, "attribute")),
               called = gg__text(tree, gg__field(inner, "function"));
        if (gg_node_is(statement, "comment") || gg_node_is(inner, "string")) continue;
        if (!gg_node_is(statement, "expression_statement")) return false;
        if (gg_node_is(inner, "call") && gg_str_starts_with(called, GG_STR("super(")) &&
            gg_str_ends_with(called, GG_STR(".__init__")))
            continue;
        bool own = gg_node_is(inner, "assignment") && gg_node_is(left, "attribute") &&
                   gg_str_is(gg__text(tree, gg__field(left, "object")), "self");
        if (!own || gg_str_is(name, "forward") || gg_str_starts_with(name, GG_STR("_"))) return false;
    }
    return true;
}

static bool count_binding(TSNode node, void *data) {
    (void)node;
    return ++*(int *)data < 2;
}

static bool is_row_wise_class(const gg_tree *tree, TSNode name, int depth) {
    bool only = false;
    int bindings = 0;
    gg_str text = gg__text(tree, name);
    TSNode class = gg__class_named(tree, text, &only), bases = gg__field(class, "superclasses"), forward = {0};
    if (!only || depth > MAX_DEPTH || gg__is_local(tree, name, text) || !gg_node_is(gg__parent(class), "module") ||
        !gg__each_module_binding(tree, text, count_binding, &bindings) || gg__child_count(bases) != 1 ||
        !gg__refers_to(tree, gg__child(bases, 0), "torch.nn.Module"))
        return false;
    TSNode body = gg__field(class, "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode method = gg__child(body, i);
        gg_str called = gg__text(tree, gg__field(method, "name"));
        if (gg_node_is(method, "comment") || gg_node_is(gg__child(method, 0), "string")) continue;
        bool sets_up = gg_str_is(called, "__init__") && only_sets_up(tree, method), runs = gg_str_is(called, "forward");
        if (!gg_node_is(method, "function_definition") || (!sets_up && !runs)) return false;
        if (runs) forward = method;
    }
    return !ts_node_is_null(forward) && gg__is_row_wise_forward(tree, class, forward, depth);
}

/* ---- calls that make modules ------------------------------------------------------------------------------------------------------------ */

static bool make_all(const gg_tree *tree, TSNode node, int depth) {
    bool comprehends = gg_node_is(node, "list_comprehension") || gg_node_is(node, "generator_expression");
    if (comprehends) return makes(tree, gg__field(node, "body"), depth);
    if (!gg_node_is(node, "list")) return makes(tree, node, depth);
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (!makes(tree, gg__child(node, i), depth)) return false;
    return gg__child_count(node) > 0;
}

/* The smallest variance counts as much: of a row of zeros, the gradient is finite in half precision too. */
static bool has_sound_epsilon(const gg_tree *tree, TSNode arguments) {
    TSNode shape = gg__child(arguments, 0), epsilon = gg__child(arguments, 1);
    if (gg_node_is(shape, "tuple") || gg_node_is(shape, "list") || gg_node_is(shape, "call"))
        return false; /* the last dimension alone */
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_str_is(gg__text(tree, gg__field(argument, "name")), "eps")) epsilon = gg__field(argument, "value");
    }
    double value = 1;
    if (ts_node_is_null(epsilon) || gg_node_is(epsilon, "keyword_argument")) return true;
    return gg__literal_value(tree, epsilon, &value) && value >= 1e-6;
}

/* `ACT2FN[config.hidden_act]`: any of the table in transformers treats each element alike. */
static bool is_of_a_table(const gg_tree *tree, TSNode node) {
    TSNode table = gg__field(node, "value");
    return gg_node_is(node, "subscript") && (gg__refers_to(tree, table, "transformers.activations.ACT2FN") ||
                                             gg__refers_to(tree, table, "...activations.ACT2FN"));
}

static bool makes(const gg_tree *tree, TSNode node, int depth) {
    static const char *const makers[] = {"Linear", "LayerNorm", "RMSNorm",   "Identity",  "ReLU",     "GELU",
                                         "SiLU",   "Tanh",      "Sigmoid",   "Softplus",  "ELU",      "SELU",
                                         "ReLU6",  "Mish",      "Hardswish", "LeakyReLU", "Softsign", "LogSigmoid"};
    static const char *const holders[] = {"Sequential", "ModuleList"};
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"),
           attribute = gg__field(function, "attribute");
    gg_str name = gg__text(tree, attribute);
    if (!gg_node_is(node, "call")) return gg_node_is(node, "comment") || is_of_a_table(tree, node);
    if (gg_node_is(function, "identifier")) return is_row_wise_class(tree, function, depth + 1);
    if (ts_node_is_null(attribute) || !gg__refers_to(tree, gg__field(function, "object"), "torch.nn")) return false;
    bool holds = gg__is_one_of(name, holders, GG_COUNT(holders));
    bool normalises = gg_str_is(name, "LayerNorm") || gg_str_is(name, "RMSNorm");
    if (!gg_node_is(arguments, "argument_list"))
        return holds && make_all(tree, arguments, depth); /* ModuleList(… for …) */
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (holds && !make_all(tree, argument, depth)) return false;
        if (gg_str_is(gg__text(tree, gg__field(argument, "name")), "inplace") || gg_node_is(argument, "list_splat") ||
            gg_node_is(argument, "dictionary_splat"))
            return false;
    }
    if (normalises && !has_sound_epsilon(tree, arguments)) return false;
    return holds ? gg__child_count(arguments) > 0 : gg__is_one_of(name, makers, GG_COUNT(makers));
}

typedef struct making {
    const gg_tree *tree;
    gg_str path; /* `self.experts` */
    int depth;
    uint32_t count;
} making;

static bool is_made(TSNode node, void *data) {
    making *m = data;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(m->tree, node), m->path)) return true;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(parent, "assignment") || !ts_node_eq(gg__field(parent, "left"), node))
        return !gg_node_is(parent, "augmented_assignment") && !gg_node_is(parent, "pattern_list") &&
               !gg_node_is(parent, "tuple_pattern") && !gg_node_is(parent, "list_pattern");
    m->count++;
    return makes(m->tree, gg__field(parent, "right"), m->depth);
}

bool gg__is_made_row_wise(const gg_tree *tree, TSNode scope, gg_str path, int depth) {
    making m = {.tree = tree, .path = path, .depth = depth};
    return depth <= MAX_DEPTH && gg__visit(scope, is_made, &m) && m.count > 0;
}
