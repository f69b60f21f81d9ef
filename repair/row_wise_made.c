/* How modules that treat each row alike are made, and that nobody makes others of them.  See row_wise.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/loops.h"
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

static bool makes(const gg_tree *tree, TSNode node, int depth) {
    static const char *const makers[] = {"Linear", "LayerNorm", "RMSNorm",   "Identity",  "ReLU",     "GELU",
                                         "SiLU",   "Tanh",      "Sigmoid",   "Softplus",  "ELU",      "SELU",
                                         "ReLU6",  "Mish",      "Hardswish", "LeakyReLU", "Softsign", "LogSigmoid"};
    static const char *const holders[] = {"Sequential", "ModuleList"};
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"),
           attribute = gg__field(function, "attribute");
    gg_str name = gg__text(tree, attribute);
    if (!gg_node_is(node, "call")) return gg_node_is(node, "comment");
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

/* ---- who else has them ------------------------------------------------------------------------------------------------------------------- */

typedef struct holding {
    const gg_tree *tree;
    gg_str name; /* of the attribute, or of a name that holds one of its modules */
} holding;

static bool is_only_called(TSNode node, void *data) {
    const holding *h = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(h->tree, node), h->name))
        return true;
    TSNode parent = gg__parent(node);
    return gg__is_binding(node) || (gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), node));
}

static bool are_only_called(const gg_tree *tree, TSNode names) {
    bool several = gg_node_is(names, "pattern_list") || gg_node_is(names, "tuple_pattern");
    TSNode last = several ? gg__child(names, gg__child_count(names) - 1) : names; /* of enumerate() the second */
    holding h = {tree, gg__text(tree, last)};
    TSNode body = gg__field(gg__function(names), "body");
    return gg_node_is(last, "identifier") && !ts_node_is_null(body) && gg__visit(body, is_only_called, &h);
}

/* `for expert in self.experts:`, `enumerate(self.experts)`, `self.experts[i](x)`, `expert = self.experts[i]`, `self.proj(x)`, `len(self.experts)` */
static bool is_harmless(const gg_tree *tree, TSNode attribute) {
    TSNode parent = gg__parent(attribute), around = gg__parent(parent);
    if (gg_node_is(parent, "assignment")) return ts_node_eq(gg__field(parent, "left"), attribute);
    if (gg_node_is(parent, "call")) return ts_node_eq(gg__field(parent, "function"), attribute);
    if (gg_node_is(parent, "for_statement"))
        return ts_node_eq(gg__field(parent, "right"), attribute) && are_only_called(tree, gg__field(parent, "left"));
    if (gg_node_is(parent, "argument_list")) {
        TSNode function = gg__field(around, "function"), loop = gg__parent(around);
        if (gg__names_builtin(tree, function, "len")) return true;
        return gg__names_builtin(tree, function, "enumerate") && gg_node_is(loop, "for_statement") &&
               are_only_called(tree, gg__field(loop, "left"));
    }
    if (!gg_node_is(parent, "subscript") || !ts_node_eq(gg__field(parent, "value"), attribute)) return false;
    if (gg_node_is(around, "call")) return ts_node_eq(gg__field(around, "function"), parent);
    return gg_node_is(around, "assignment") && ts_node_eq(gg__field(around, "right"), parent) &&
           are_only_called(tree, gg__field(around, "left"));
}

static bool is_target(TSNode node) {
    TSNode parent = gg__parent(node);
    bool assigns = gg_node_is(parent, "assignment") || gg_node_is(parent, "augmented_assignment");
    return (assigns && ts_node_eq(gg__field(parent, "left"), node)) || gg_node_is(parent, "pattern_list") ||
           gg_node_is(parent, "tuple_pattern") || gg_node_is(parent, "list_pattern");
}

/* No module is set from outside of its class, and none gets another forward(). */
static bool is_left_alone(TSNode node, void *data) {
    const holding *h = data;
    gg_str definition =
        gg_node_is(node, "function_definition") ? gg__text(h->tree, gg__field(node, "name")) : GG_STR_NULL;
    if (definition.len && gg_str_equal(definition, h->name)) return false; /* a property of that name */
    if (!gg_node_is(node, "attribute")) return true;
    gg_str name = gg__text(h->tree, gg__field(node, "attribute"));
    bool own = gg_str_is(gg__text(h->tree, gg__field(node, "object")), "self");
    if (is_target(node) && (!own || gg_str_is(name, "forward"))) return false;
    return !gg_str_equal(name, h->name) || is_harmless(h->tree, node);
}

/* What the function of the call is taken from: `self.experts`; null. */
static TSNode path_of(const gg_tree *tree, TSNode function) {
    if (gg_node_is(function, "identifier") && ts_node_is_null(gg__list_gone_through(tree, function))) {
        TSNode binding = gg__only_binding(tree, function), assignment = gg__parent(binding);
        if (gg_node_is(assignment, "assignment") && gg_node_is(gg__field(assignment, "right"), "subscript"))
            function = gg__field(assignment, "right");
    }
    return gg__modules_called(tree, function);
}

bool gg__is_row_wise(const gg_tree *tree, TSNode function) {
    static const char *const reaching[] = {"setattr",
                                           "_modules",
                                           "add_module",
                                           "register_module",
                                           "__dict__",
                                           "__class__",
                                           "_call_impl",
                                           "register_forward_hook",
                                           "register_forward_pre_hook",
                                           "__getattr__",
                                           "spectral_norm",
                                           "weight_norm",
                                           "parametrize",
                                           "parametrizations",
                                           "exec",
                                           "__setattr__",
                                           "named_modules",
                                           "named_children",
                                           "children",
                                           "modules"};
    TSNode path = path_of(tree, function), class = gg__class_around(function), root = gg_tree_root(tree);
    if (ts_node_is_null(path) || ts_node_is_null(class) || gg__has_word(tree, root, reaching, GG_COUNT(reaching)))
        return false;
    holding h = {tree, gg__text(tree, gg__field(path, "attribute"))};
    gg_str text = gg__text(tree, path);
    /* in the class itself, and wherever else a class of the file has such an attribute: one may be derived from the other */
    return gg__is_made_row_wise(tree, class, text, 0) && gg__is_made_row_wise(tree, root, text, 0) &&
           gg__visit(root, is_left_alone, &h);
}
