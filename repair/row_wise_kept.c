/* That nobody in a file makes others of modules that treat each row alike, and that each is called.  See row_wise.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/infer.h"
#include "repair/loops.h"
#include "repair/row_wise.h"
#include "repair/scalar.h"

/* ---- who else has them ------------------------------------------------------------------------------------------------------------------- */

typedef struct holding {
    const gg_tree *tree;
    gg_str name; /* of the attribute, or of a name */
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

/* `net[0] = nn.Softmax(0)`, `net.append(module)` of what is no list of the function's own: it may be one of the modules, and another is put in. */
static bool may_put_module(const gg_tree *tree, TSNode into, TSNode value) {
    TSNode function = gg__field(value, "function"), owner = gg__field(into, "object");
    gg_str called = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    bool makes_one = gg_node_is(value, "call") && (called.len == 0 || (called.ptr[0] >= 'A' && called.ptr[0] <= 'Z') ||
                                                   gg_node_is(function, "identifier"));
    bool class = !ts_node_is_null(gg__class_named(tree, gg__text(tree, value), NULL)); /* it is no module */
    if (!makes_one && (class || !gg_node_is(value, "identifier"))) return false;
    if (gg_node_is(into, "attribute")) return !gg_str_is(gg__text(tree, owner), "self");
    if (!gg_node_is(into, "identifier")) return true;
    return !gg_node_is(gg__parent(gg__only_binding(tree, into)), "assignment");
}

static bool puts_module(const gg_tree *tree, TSNode node) {
    static const char *const methods[] = {"append", "insert", "extend", "__setitem__"};
    TSNode left = gg__field(node, "left"), function = gg__field(node, "function");
    if (gg_node_is(node, "assignment") && gg_node_is(left, "subscript"))
        return may_put_module(tree, gg__field(left, "value"), gg__field(node, "right"));
    TSNode arguments = gg__field(node, "arguments"), last = gg__child(arguments, gg__child_count(arguments) - 1);
    if (!gg_node_is(node, "call") || gg__child_count(arguments) == 0) return false;
    if (gg__names_builtin(tree, function, "getattr")) return !gg_node_is(gg__child(arguments, 1), "string");
    return gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), methods, GG_COUNT(methods)) &&
           may_put_module(tree, gg__field(function, "object"), last);
}

static bool is_not_of_self(TSNode node, void *data) {
    const holding *s = data;
    return !gg_node_is(node, "attribute") || !gg_str_is(gg__text(s->tree, gg__field(node, "object")), "self") ||
           !gg_str_equal(gg__text(s->tree, gg__field(node, "attribute")), s->name);
}

/* Has a class with __init__ and forward() alone, as those have that treat each row alike, an attribute of that name? */
static bool has_no_such_attribute(TSNode node, void *data) {
    holding *s = data;
    if (!gg_node_is(node, "class_definition")) return true;
    TSNode body = gg__field(node, "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        gg_str method = gg__text(s->tree, gg__field(gg__child(body, i), "name"));
        if (method.len && !gg_str_is(method, "__init__") && !gg_str_is(method, "forward")) return true;
    }
    return gg__visit(body, is_not_of_self, s);
}

/* May an attribute of that name be one of a module that treats each row alike? */
static bool may_be_of_module(const gg_tree *tree, gg_str name) {
    static const char *const torchs[] = {
        "forward",        "weight", "bias", "eps",       "normalized_shape", "training",           "inplace",
        "negative_slope", "alpha",  "beta", "threshold", "approximate",      "elementwise_affine", "in_features",
        "out_features"};
    holding s = {tree, name};
    return gg__is_one_of(name, torchs, GG_COUNT(torchs)) || gg_str_starts_with(name, GG_STR("_")) ||
           !gg__visit(gg_tree_root(tree), has_no_such_attribute, &s);
}

/* No module is set from outside of its class, and none gets another forward(). */
static bool is_left_alone(TSNode node, void *data) {
    const holding *h = data;
    gg_str definition =
        gg_node_is(node, "function_definition") ? gg__text(h->tree, gg__field(node, "name")) : GG_STR_NULL;
    if (definition.len && gg_str_equal(definition, h->name)) return false; /* a property of that name */
    if (!gg_node_is(node, "attribute")) return !puts_module(h->tree, node);
    gg_str name = gg__text(h->tree, gg__field(node, "attribute"));
    bool own = gg_str_is(gg__text(h->tree, gg__field(node, "object")), "self");
    if (is_target(node) && (gg_str_is(name, "forward") || gg_str_is(name, "__class__"))) return false;
    if (is_target(node) && !own && (gg_str_equal(name, h->name) || may_be_of_module(h->tree, name))) return false;
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

bool gg__calls_module(const gg_tree *tree, TSNode function) {
    return !ts_node_is_null(path_of(tree, function));
}

bool gg__is_row_wise(const gg_tree *tree, TSNode function) {
    static const char *const reaching[] = {"setattr",
                                           "_modules",
                                           "add_module",
                                           "register_module",
                                           "__dict__",
                                           "_call_impl",
                                           "vars",
                                           "set_submodule",
                                           "get_submodule",
                                           "_forward_hooks",
                                           "_forward_pre_hooks",
                                           "_backward_hooks",
                                           "register_backward_hook",
                                           "register_full_backward_hook",
                                           "register_full_backward_pre_hook",
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

/* ---- whether each is called, where no row is chosen, too ------------------------------------------------------------------------------ */

typedef struct listing {
    const gg_tree *tree;
    gg_str path;   /* `self.experts` */
    TSNode called; /* n of `range(n)`, which counts the modules that are called; null: as many as there are */
} listing;

static bool is_set_to(TSNode value, void *data) {
    const listing *l = data;
    return !ts_node_is_null(value) && gg_str_equal(gg__text(l->tree, value), l->path);
}

/* `n` and `self.n`, which is set to it; the same text twice. */
static bool is_same_count(const gg_tree *tree, TSNode made, TSNode called) {
    listing l = {.tree = tree, .path = gg__text(tree, made)};
    bool attribute = gg_node_is(called, "attribute"), fixed = gg_node_is(called, "integer");
    if (!fixed && !(attribute && gg__is_set_up_once(tree, called))) return false;
    return gg_str_equal(gg__text(tree, called), l.path) ||
           (attribute && gg__each_attribute_value(tree, called, is_set_to, &l));
}

static bool is_no_such_name(TSNode node, void *data) {
    const holding *n = data;
    return !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(n->tree, node), n->name);
}

/* `[Expert(d) for _ in range(n)]`, `[nn.Linear(d, d), nn.Linear(d, d)]`: of one kind and size, and not fewer than are called. */
static bool are_alike(const listing *l, TSNode list) {
    TSNode clause = gg__child(list, 1), items = gg__field(clause, "right"), left = gg__field(clause, "left"),
           count = gg__child(gg__field(items, "arguments"), 0);
    double called = 0;
    bool known = gg__literal_value(l->tree, l->called, &called);
    if (gg_node_is(list, "list")) {
        for (uint32_t i = 1; i < gg__child_count(list); i++)
            if (!gg_str_equal(gg__text(l->tree, gg__child(list, i)), gg__text(l->tree, gg__child(list, 0))))
                return false;
        return ts_node_is_null(l->called) || (known && called <= gg__child_count(list));
    }
    holding n = {l->tree, gg__text(l->tree, left)};
    if (!gg__is_comprehension(list) || gg__child_count(list) != 2 || !gg_node_is(left, "identifier") ||
        !gg__visit(gg__field(list, "body"), is_no_such_name, &n))
        return false;
    bool counts = gg__names_builtin(l->tree, gg__field(items, "function"), "range") &&
                  gg__child_count(gg__field(items, "arguments")) == 1;
    return ts_node_is_null(l->called) || (counts && is_same_count(l->tree, count, l->called));
}

static bool is_listed_alike(TSNode node, void *data) {
    const listing *l = data;
    TSNode arguments = gg__field(gg__field(node, "right"), "arguments"), list = arguments;
    if (!gg_node_is(node, "assignment") || !gg_str_equal(gg__text(l->tree, gg__field(node, "left")), l->path))
        return true;
    if (gg_node_is(arguments, "argument_list") && gg__child_count(arguments) == 1) list = gg__child(arguments, 0);
    return are_alike(l, list);
}

bool gg__is_called_anyway(const gg_tree *tree, TSNode function) {
    TSNode path = path_of(tree, function), binding = gg__only_binding(tree, function), called = function;
    if (gg_node_is(gg__parent(binding), "assignment")) called = gg__field(gg__parent(binding), "right");
    if (gg_node_is(called, "attribute")) return true; /* one module */
    listing l = {.tree = tree, .path = gg__text(tree, path)};
    TSNode index = gg__field(called, "subscript"), loop = gg__parent(gg__only_binding(tree, index)),
           range = gg__field(loop, "right"), arguments = gg__field(range, "arguments"), end = gg__child(arguments, 0);
    if (gg_node_is(called, "subscript") && !gg_node_is(index, "integer")) {
        if (!gg_node_is(loop, "for_statement") || !gg__names_builtin(tree, gg__field(range, "function"), "range") ||
            gg__child_count(arguments) != 1)
            return false;
        TSNode counted = gg__child(gg__field(end, "arguments"), 0);
        bool all =
            gg__names_builtin(tree, gg__field(end, "function"), "len") && gg_str_equal(gg__text(tree, counted), l.path);
        if (!all) l.called = end;
    }
    return gg__visit(gg__class_around(function), is_listed_alike, &l);
}
