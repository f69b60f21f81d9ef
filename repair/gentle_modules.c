/* Modules that leave alone what they are given, as the file makes them.  See alias.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/loops.h"

typedef struct modules {
    const gg_tree *tree;
    gg_str text; /* self.name */
    gg__visitor forward;
    void *data;
    uint32_t count;
    gg__habits habits;
} modules;

static bool contains_one(gg_str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_str_contains(text, gg_str_from(words[i]))) return true;
    return false;
}

static void note_habits(modules *m, gg_str text) {
    static const char *const keeping[] = {"BatchNorm", "InstanceNorm", "max_norm", "register_buffer"};
    static const char *const drawing[] = {"Dropout", "RReLU",       "LSTM",        "GRU",
                                          "RNN",     "Transformer", "MultiheadAt", "Fractional"};
    m->habits.keeps = m->habits.keeps || contains_one(text, keeping, GG_COUNT(keeping));
    m->habits.draws = m->habits.draws || contains_one(text, drawing, GG_COUNT(drawing));
}

static TSNode forward_of(const gg_tree *tree, TSNode class) {
    TSNode body = gg__field(class, "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode method = gg__child(body, i);
        if (gg_node_is(method, "function_definition") &&
            gg_str_is(gg__text(tree, gg__field(method, "name")), "forward"))
            return method;
    }
    return (TSNode){0};
}

/* `Block(8)`, of a class of the file that is an nn.Module and nothing else. */
static bool is_gentle_class(modules *m, TSNode name) {
    bool only = false;
    TSNode class = gg__class_named(m->tree, gg__text(m->tree, name), &only);
    TSNode bases = gg__field(class, "superclasses"), forward = forward_of(m->tree, class);
    if (!only || ts_node_is_null(forward) || gg__child_count(bases) != 1 ||
        !gg__refers_to(m->tree, gg__child(bases, 0), "torch.nn.Module"))
        return false;
    note_habits(m, gg__text(m->tree, class));
    return m->forward(forward, m->data);
}

/* torch's modules change no input unless `inplace` says so, which some take as an argument without a name. */
static bool is_gentle_constructor(TSNode node, void *data) {
    modules *m = data;
    const gg_tree *tree = m->tree;
    static const char *const may[] = {"ReLU",      "ReLU6",    "ELU",       "SELU", "CELU", "LeakyReLU",  "RReLU",
                                      "Threshold", "Hardtanh", "Hardswish", "SiLU", "Mish", "Hardsigmoid"};
    static const char *const holders[] = {"Sequential", "ModuleList", "ModuleDict"};
    if (!gg_node_is(node, "call")) return true;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (gg_node_is(gg__parent(node), "for_in_clause") &&
        (gg__names_builtin(tree, function, "range") || gg__names_builtin(tree, function, "zip")))
        return true; /* [nn.Linear(i, o) for i, o in zip(a, b)] */
    if (gg_node_is(function, "identifier") && is_gentle_class(m, function)) return true;
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    gg_str module = gg__text(tree, gg__field(function, "object")), alias = gg__module_alias(tree, node, "torch.nn");
    if (!gg_str_equal(module, alias) && !gg_str_is(module, "torch.nn")) return false;
    bool positional = gg__is_one_of(name, may, GG_COUNT(may)) || gg_str_contains(name, GG_STR("Dropout"));
    bool holds = gg__is_one_of(name, holders, GG_COUNT(holders));
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        bool keyword = gg_node_is(argument, "keyword_argument");
        bool list = gg_node_is(argument, "list") || gg__is_comprehension(argument);
        if (keyword && gg_str_is(gg__text(tree, gg__field(argument, "name")), "inplace")) return false;
        if (positional && !keyword && !gg_node_is(argument, "integer") && !gg_node_is(argument, "float")) return false;
        if (holds && !list && !gg_node_is(argument, "call")) return false;
        for (uint32_t j = 0; holds && list && j < gg__child_count(argument); j++) {
            TSNode element = gg__child(argument, j);
            if (!gg_node_is(element, "call") && !gg_node_is(element, "for_in_clause")) return false;
        }
    }
    return true;
}

/* `self.layers.append(nn.Linear(8, 8))` */
static bool is_added_gentle(modules *m, TSNode call) {
    static const char *const adding[] = {"append", "extend", "insert", "add_module", "register_module", "update"};
    TSNode function = gg__field(call, "function");
    if (!gg_str_equal(gg__text(m->tree, gg__field(function, "object")), m->text) ||
        !gg__is_one_of(gg__text(m->tree, gg__field(function, "attribute")), adding, GG_COUNT(adding)))
        return true;
    TSNode added = gg__child(gg__field(call, "arguments"), gg__child_count(gg__field(call, "arguments")) - 1);
    note_habits(m, gg__text(m->tree, added));
    return gg_node_is(added, "call") && gg__visit(added, is_gentle_constructor, m);
}

static bool is_made_gentle(TSNode node, void *data) {
    modules *m = data;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    if (gg_node_is(node, "call")) return is_added_gentle(m, node);
    if (!gg_node_is(node, "assignment")) return true;
    if (gg_node_is(left, "subscript") && gg_str_equal(gg__text(m->tree, gg__field(left, "value")), m->text))
        return false; /* self.layers[0] = … */
    if (!gg_str_equal(gg__text(m->tree, left), m->text)) return true;
    m->count++;
    note_habits(m, gg__text(m->tree, right));
    return gg_node_is(right, "call") && gg__visit(right, is_gentle_constructor, m);
}

TSNode gg__modules_called(const gg_tree *tree, TSNode function) {
    TSNode path = function;
    if (gg_node_is(function, "identifier")) path = gg__list_gone_through(tree, function);
    if (gg_node_is(function, "subscript")) path = gg__field(function, "value");
    bool own = gg_node_is(path, "attribute") && gg_str_is(gg__text(tree, gg__field(path, "object")), "self");
    return own ? path : (TSNode){0};
}

bool gg__are_gentle_modules(const gg_tree *tree, TSNode where, gg__visitor forward, void *data, gg__habits *habits) {
    modules m = {.tree = tree, .text = gg__text(tree, where), .forward = forward, .data = data};
    bool gentle = gg__visit(gg_tree_root(tree), is_made_gentle, &m) && m.count > 0;
    *habits = m.habits;
    return gentle;
}
