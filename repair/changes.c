/* In-place changes, by the function itself and by what it calls.  See alias.h. */
#include "repair/alias.h"
#include "repair/infer.h"

enum { MAX_DEPTH = 4 }; /* of functions of the file that call each other */

typedef struct changes {
    const gg_rule_input *in;
    TSNode scope;
    uint32_t from, depth;
    gg__visitor found; /* gets what is changed: a name, an attribute, a subscript, an argument */
    void *data;
} changes;

gg_str gg__called_name(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    if (gg_node_is(function, "identifier")) return gg__text(tree, function);
    return gg__text(tree, gg__field(function, "attribute"));
}

typedef struct definitions {
    const gg_tree *tree;
    gg_str name;
    gg__visitor found;
    void *data;
} definitions;

static bool on_definition(TSNode node, void *data) {
    const definitions *d = data;
    bool named =
        gg_node_is(node, "function_definition") && gg_str_equal(gg__text(d->tree, gg__field(node, "name")), d->name);
    return !named || d->found(node, d->data);
}

bool gg__each_definition(const gg_tree *tree, gg_str name, gg__visitor found, void *data) {
    definitions d = {tree, name, found, data};
    return name.len == 0 || gg__visit(gg_tree_root(tree), on_definition, &d);
}

/* ---- who leaves its arguments alone ---------------------------------------------------------------------------------------- */

static bool scan(const changes *c);

/* A function that stores what it is given may have it changed later. */
static bool keeps_nothing(TSNode node, void *data) {
    (void)data;
    static const char *const keeping[] = {"global_statement", "nonlocal_statement", "yield"};
    for (size_t i = 0; i < GG_COUNT(keeping); i++)
        if (gg_node_is(node, keeping[i])) return false;
    TSNode left = gg__field(node, "left");
    return !gg_node_is(node, "assignment") || !(gg_node_is(left, "attribute") || gg_node_is(left, "subscript"));
}

bool gg__is_in_place_by_keyword(const gg_tree *tree, TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        gg_str name = gg__text(tree, gg__field(gg__child(arguments, i), "name"));
        if (gg_str_is(name, "out") || gg_str_is(name, "inplace")) return true;
    }
    return false;
}

bool gg__is_in_place_by_position(const gg_tree *tree, TSNode call) {
    static const struct {
        const char *name;
        uint32_t position;
    } rows[] = {{"relu", 1},
                {"relu6", 1},
                {"selu", 1},
                {"hardswish", 1},
                {"silu", 1},
                {"mish", 1},
                {"elu", 2},
                {"celu", 2},
                {"threshold", 3},
                {"hardtanh", 3},
                {"hardsigmoid", 1},
                {"rrelu", 4},
                {"dropout", 3},
                {"dropout1d", 3},
                {"dropout2d", 3},
                {"leaky_relu", 2},
                {"dropout3d", 3},
                {"alpha_dropout", 3},
                {"feature_alpha_dropout", 3}};
    TSNode arguments = gg__field(call, "arguments");
    gg_str name = gg__called_name(tree, call);
    for (size_t row = 0; row < GG_COUNT(rows); row++) {
        if (!gg_str_is(name, rows[row].name)) continue;
        uint32_t position = 0;
        for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
            TSNode argument = gg__child(arguments, i);
            if (gg_node_is(argument, "list_splat")) return true;
            if (gg_node_is(argument, "comment") || gg_node_is(argument, "keyword_argument")) continue;
            if (position++ == rows[row].position && !gg_node_is(argument, "false")) return true;
        }
    }
    return false;
}

typedef struct gentleness {
    const changes *caller;
    uint32_t count;
} gentleness;

static bool is_gentle_definition(TSNode definition, void *data) {
    gentleness *g = data;
    gg_site nowhere;
    gg_rule_input in = gg__blind(g->caller->in, &nowhere);
    changes inner = {&in, gg__field(definition, "body"), 0, g->caller->depth + 1, gg__stop, NULL};
    g->count++;
    return inner.depth < MAX_DEPTH && gg__visit(inner.scope, keeps_nothing, NULL) && scan(&inner);
}

/* `torch.relu`, `F.relu`, `torch.linalg.norm`: but those that take functions, or write statistics. */
bool gg__is_torchs(const gg_tree *tree, TSNode call) {
    static const char *const others[] = {"batch_norm", "instance_norm", "embedding",      "embedding_bag",
                                         "compile",    "disable",       "allow_in_graph", "vmap",
                                         "cond",       "while_loop",    "set_rng_state"};
    static const char *const writing[] = {"batch_norm", "fused_", "_foreach_"};
    static const char *const parts[] = {"torch",         "torch.nn.functional", "torch.linalg",
                                        "torch.special", "torch.fft",           "torch.compiler"};
    TSNode function = gg__field(call, "function");
    TSNode object = gg__field(function, "object");
    bool torchs = false;
    for (size_t i = 0; !ts_node_is_null(object) && i < GG_COUNT(parts); i++)
        torchs = torchs || gg__refers_to(tree, object, parts[i]);
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    for (size_t i = 0; i < GG_COUNT(writing); i++)
        if (gg_str_contains(name, gg_str_from(writing[i]))) return false;
    return torchs && !gg__is_one_of(name, others, GG_COUNT(others));
}

static bool is_gentle_builtin(const gg_tree *tree, TSNode function) {
    static const char *const names[] = {"print", "len",        "range",  "float",   "int",     "bool", "str",
                                        "repr",  "isinstance", "min",    "max",     "sum",     "abs",  "zip",
                                        "round", "enumerate",  "list",   "tuple",   "sorted",  "dict", "reversed",
                                        "any",   "all",        "format", "hasattr", "getattr", "type", "super"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg__names_builtin(tree, function, names[i])) return true;
    return false;
}

static bool is_of_a_parameter(const gg_rule_input *in, TSNode object) {
    TSNode root = gg__root_of(object);
    return gg_node_is(root, "identifier") && gg__is_local(in->tree, object, gg__text(in->tree, root)) &&
           ts_node_is_null(gg__value_at(in->tree, object, gg__text(in->tree, root)));
}

/* A method of what a local name holds: of a tensor it changes nothing, without an underscore.  Arrays and optimizers have others. */
static bool is_plain_method(const gg_rule_input *in, TSNode call) {
    static const char *const others[] = {"fill",     "put",      "partition", "sort",      "itemset", "resize",
                                         "setflags", "setfield", "byteswap",  "zero_grad", "step",    "update"};
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object"), root = gg__root_of(object);
    gg_str name = gg__text(in->tree, gg__field(function, "attribute")), from = gg__text(in->tree, root);
    if (gg__is_one_of(name, others, GG_COUNT(others)) || gg_str_contains(gg__text(in->tree, object), GG_STR("numpy")))
        return false;
    return gg_node_is(root, "identifier") && !gg_str_is(from, "self") && gg__is_local(in->tree, call, from) &&
           !is_of_a_parameter(in, object);
}

/* `l.append(x)` of a local list changes the list alone. */
static bool fills_a_list(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    if (!gg_str_is(gg__text(tree, gg__field(function, "attribute")), "append")) return false;
    TSNode value = gg_node_is(object, "identifier") ? gg__only_value(tree, object) : (TSNode){0};
    return gg_node_is(value, "list") || gg_node_is(value, "list_comprehension");
}

/* A display, a text or a number, or a name that holds one: their methods change no tensor. */
static bool is_of_known_form(const gg_rule_input *in, TSNode object) {
    static const char *const forms[] = {"list",   "tuple",   "dictionary", "set",
                                        "string", "integer", "float",      "list_comprehension"};
    TSNode value = gg__strip_parentheses(object);
    if (gg_node_is(value, "identifier"))
        value = gg__strip_parentheses(gg__value_at(in->tree, value, gg__text(in->tree, value)));
    for (size_t i = 0; i < GG_COUNT(forms); i++)
        if (gg_node_is(value, forms[i])) return true;
    return gg__makes_new(in, value) && !gg_node_is(value, "call");
}

/* Does the call leave alone what it is given?  Unknown is no. */
static bool is_gentle(const changes *c, TSNode call) {
    const gg_tree *tree = c->in->tree;
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    gentleness g = {c, 0};
    if (gg__is_diagnostic(c->in, gg__statement(call))) return true;
    if (gg__is_torchs(tree, call) || is_gentle_builtin(tree, function) || fills_a_list(tree, call)) return true;
    if (gg__makes_by_own(c->in, call)) return true;
    if (!gg__each_definition(tree, gg__called_name(tree, call), is_gentle_definition, &g)) return false;
    if (g.count || gg__is_pure_module(c->in, function)) return true;
    gg__habits habits;
    TSNode modules = gg__modules_called(tree, function);
    if (!ts_node_is_null(modules))
        return gg__are_gentle_modules(tree, modules, is_gentle_definition, &g, &habits) &&
               (!habits.keeps || c->found(gg__field(modules, "object"), c->data));
    if (!gg_node_is(function, "attribute")) return false;
    if (gg__infer(c->in, object).sort == GG__TENSOR) return true;
    if (gg__is_operation(c->in, call) || gg__reads_only(tree, call)) return true;
    return is_of_known_form(c->in, object) || is_plain_method(c->in, call);
}

/* ---- one node ---------------------------------------------------------------------------------------------------------------- */

static bool ends_in_underscore(gg_str text) {
    return gg_str_ends_with(text, GG_STR("_")) && !gg_str_ends_with(text, GG_STR("__"));
}

/* `x.__setitem__(0, 1)`, `x.__imul__(2)` */
static bool is_changing_dunder(gg_str name) {
    static const char *const others[] = {"__init__", "__int__", "__index__", "__iter__", "__invert__"};
    bool dunder = gg_str_starts_with(name, GG_STR("__")) && gg_str_ends_with(name, GG_STR("__"));
    bool stores = gg_str_starts_with(name, GG_STR("__set")) || gg_str_starts_with(name, GG_STR("__del"));
    return dunder &&
           (stores || (gg_str_starts_with(name, GG_STR("__i")) && !gg__is_one_of(name, others, GG_COUNT(others))));
}

static TSNode value_of(TSNode argument) {
    return gg_node_is(argument, "keyword_argument") ? gg__field(argument, "value") : argument;
}

/* `f(x, out=y)`, `f(x, inplace=True)`, `torch.relu_(x)`, `x.add_(1)`, and what is not known */
static bool visit_call(TSNode call, const changes *c) {
    const gg_tree *tree = c->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    bool method = gg_node_is(function, "attribute");
    bool in_place = ends_in_underscore(gg__called_name(tree, call)) || gg__is_in_place_by_position(tree, call) ||
                    is_changing_dunder(gg__called_name(tree, call));
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "dictionary_splat")) in_place = in_place || gg__is_torchs(tree, call); /* `out`? */
        if (!gg_node_is(argument, "keyword_argument")) continue;
        gg_str name = gg__text(tree, gg__field(argument, "name"));
        if (gg_str_is(name, "out") && !c->found(gg__field(argument, "value"), c->data)) return false;
        in_place = in_place || (gg_str_is(name, "inplace") && !gg_node_is(gg__field(argument, "value"), "false"));
    }
    if (!in_place && is_gentle(c, call)) return true;
    TSNode owner = method ? gg__field(function, "object") : function; /* getattr(x, name)(1) */
    bool named = gg_node_is(function, "identifier") || gg__is_torchs(tree, call);
    if (!named && !c->found(owner, c->data)) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++)
        if (!c->found(value_of(gg__child(arguments, i)), c->data)) return false;
    return true;
}

/* `x[i] = v`, `x.data = v`, and both below a pattern */
static bool visit_target(TSNode target, const changes *c) {
    static const char *const own[] = {"data", "grad", "requires_grad", "real", "imag"};
    if (gg_node_is(target, "subscript")) return c->found(gg__field(target, "value"), c->data);
    if (gg_node_is(target, "attribute"))
        return !gg__is_one_of(gg__text(c->in->tree, gg__field(target, "attribute")), own, GG_COUNT(own)) ||
               c->found(gg__field(target, "object"), c->data);
    for (uint32_t i = 0; i < gg__child_count(target); i++)
        if (!visit_target(gg__child(target, i), c)) return false;
    return true;
}

/* `change = x.add_` */
static bool is_changer(const gg_tree *tree, TSNode attribute) {
    TSNode parent = gg__parent(attribute);
    bool called = gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), attribute);
    return !called && ends_in_underscore(gg__text(tree, gg__field(attribute, "attribute")));
}

/* `a is b`, `a.data_ptr()`: tells which tensor it is. */
static bool visit_identity(TSNode node, const changes *c) {
    static const char *const telling[] = {"data_ptr", "storage", "untyped_storage", "_version",      "_base",
                                          "grad",     "is_leaf", "retain_grad",     "register_hook", "grad_fn"};
    if (gg_node_is(node, "attribute"))
        return !(gg__is_one_of(gg__text(c->in->tree, gg__field(node, "attribute")), telling, GG_COUNT(telling)) ||
                 is_changer(c->in->tree, node)) ||
               c->found(gg__field(node, "object"), c->data);
    gg_str op = gg__text(c->in->tree, ts_node_child(node, 1));
    TSNode left = gg__child(node, 0), right = gg__child(node, 1);
    bool asks = gg_str_is(op, "is") || gg_str_is(op, "is not");
    if (!asks || gg_node_is(left, "none") || gg_node_is(right, "none")) return true;
    return c->found(left, c->data) && c->found(right, c->data);
}

static bool on_node(TSNode node, void *data) {
    const changes *c = data;
    if (ts_node_end_byte(node) < c->from && !gg__is_in_inner_function(node, c->scope)) return true;
    if (gg_node_is(node, "call")) return visit_call(node, c);
    if (gg_node_is(node, "attribute") || gg_node_is(node, "comparison_operator")) return visit_identity(node, c);
    if (gg_node_is(node, "augmented_assignment")) return c->found(gg__field(node, "left"), c->data);
    bool binds =
        gg_node_is(node, "assignment") || gg_node_is(node, "for_statement") || gg_node_is(node, "for_in_clause");
    return !binds || visit_target(gg__field(node, "left"), c);
}

static bool scan(const changes *c) {
    return gg__visit(c->scope, on_node, (void *)c);
}

bool gg__each_change(const gg_rule_input *in, TSNode scope, uint32_t from, gg__visitor found, void *data) {
    changes c = {in, scope, from, 0, found, data};
    return scan(&c);
}

bool gg__changes_nothing(const gg_rule_input *in) {
    return gg__each_change(in, gg_tree_root(in->tree), 0, gg__stop, NULL);
}

gg_rule_input gg__blind(const gg_rule_input *in, gg_site *nowhere) {
    *nowhere = *in->site;
    nowhere->first = NULL;
    return (gg_rule_input){.tree = in->tree, .site = nowhere, .span = in->span};
}

bool gg__lists_inputs(const gg_tree *tree, TSNode function) {
    return gg_str_is(gg__text(tree, gg__field(function, "name")), "graphglue_inputs");
}

uint32_t gg__runs_from(TSNode statement) {
    uint32_t from = ts_node_start_byte(statement);
    for (TSNode at = statement; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) from = ts_node_start_byte(at);
    return from;
}
