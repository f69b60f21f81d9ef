/* Whether an exception may be caught on its way out of a function, by those of its file that call it.  See syntax.h.  Any thread.
 *
 * Calls are followed by name.  What is called in another way (handed on as a value, by a decorator, by its name in a text, later as a generator) may
 * be called wherever the file catches exceptions. */
#include "repair/alias.h"

enum { MAX_REACHING = 64 };

typedef struct reached { /* what a name is, of all definitions that the file has of it */
    gg_str name;
    bool is_class, method, property, plain, nested; /* plain: a function of the module; nested: of another function */
} reached;

typedef struct reaching { /* functions of the file that a call of which may raise what the statement raises */
    const gg_tree *tree;
    reached names[MAX_REACHING];
    size_t count;
    bool modules; /* one of them is what a module's call runs */
    bool classes; /* one of them is run when an instance is made */
    bool named;   /* the file asks for attributes by texts */
    bool caught, grown;
} reaching;

static const reached *find(const reaching *r, gg_str name) {
    for (size_t i = 0; i < r->count; i++)
        if (gg_str_equal(r->names[i].name, name)) return &r->names[i];
    return NULL;
}

static TSNode class_of(TSNode function) {
    TSNode at = gg__parent(function);
    if (gg_node_is(at, "decorated_definition")) at = gg__parent(at);
    at = gg__parent(at);
    return gg_node_is(at, "class_definition") ? at : (TSNode){0};
}

/* ---- how it is defined ----------------------------------------------------------------------------------------------------- */

/* A decorator that catches nothing, and calls what it is given where its own value is called. */
static bool is_harmless_decorator(const gg_tree *tree, TSNode decorator) {
    static const char *const paths[] = {
        "torch.no_grad",          "torch.inference_mode",   "torch.enable_grad",     "torch.compile",
        "torch.compiler.disable", "torch.jit.ignore",       "torch.jit.unused",      "torch.jit.export",
        "torch.autocast",         "torch.amp.autocast",     "torch.amp.custom_fwd",  "torch.amp.custom_bwd",
        "functools.wraps",        "functools.lru_cache",    "functools.cache",       "abc.abstractmethod",
        "typing.overload",        "typing.override",        "torch._dynamo.disable", "dataclasses.dataclass",
        "torch.jit.script",       "torch.jit.script_method"};
    static const char *const builtins[] = {"staticmethod", "classmethod"};
    TSNode name = gg__child(decorator, 0);
    if (gg_node_is(name, "call")) name = gg__field(name, "function");
    for (size_t i = 0; i < GG_COUNT(paths); i++)
        if (gg__refers_to(tree, name, paths[i])) return true;
    for (size_t i = 0; i < GG_COUNT(builtins); i++)
        if (gg__names_builtin(tree, name, builtins[i])) return true;
    return false;
}

static bool is_property(const gg_tree *tree, TSNode decorator) {
    TSNode name = gg__child(decorator, 0);
    gg_str last = gg__text(tree, gg__field(name, "attribute"));
    return gg__names_builtin(tree, name, "property") || gg__refers_to(tree, name, "functools.cached_property") ||
           gg_str_is(last, "setter") || gg_str_is(last, "deleter");
}

static bool is_no_yield(TSNode node, void *data) {
    const TSNode *function = data;
    return !gg_node_is(node, "yield") || !ts_node_eq(gg__function(node), *function);
}

/* Is the definition one whose calls are not told by its name? */
static bool look_at(const reaching *r, TSNode definition, reached *out) {
    TSNode around = gg__parent(definition);
    bool hidden = gg_str_starts_with(gg__text(r->tree, definition), GG_STR("async"));
    for (uint32_t i = 0; gg_node_is(around, "decorated_definition") && i < gg__child_count(around); i++) {
        TSNode decorator = gg__child(around, i);
        if (!gg_node_is(decorator, "decorator") || is_harmless_decorator(r->tree, decorator)) continue;
        bool property = is_property(r->tree, decorator);
        out->property = out->property || property;
        hidden = hidden || !property;
    }
    return !hidden && gg__visit(gg__field(definition, "body"), is_no_yield, &definition);
}

static void add(reaching *r, gg_str name, bool is_class);

/* `__getitem__` and its like are called by operators. */
static bool is_dunder(gg_str name) {
    return gg_str_starts_with(name, GG_STR("__")) && gg_str_ends_with(name, GG_STR("__")) &&
           !gg_str_is(name, "__call__");
}

typedef struct definition {
    reaching *r;
    reached *out;
} definition;

static bool note_definition(TSNode node, void *data) {
    definition *d = data;
    reaching *r = d->r;
    if (!gg_node_is(node, d->out->is_class ? "class_definition" : "function_definition") ||
        !gg_str_equal(gg__text(r->tree, gg__field(node, "name")), d->out->name))
        return true;
    TSNode owner = class_of(node);
    bool inside = gg_node_is(gg__function(gg__parent(node)), "function_definition");
    r->caught = r->caught || !look_at(r, node, d->out);
    d->out->method = d->out->method || !ts_node_is_null(owner);
    d->out->nested = d->out->nested || (ts_node_is_null(owner) && inside);
    d->out->plain = d->out->plain || (ts_node_is_null(owner) && !inside);
    return true;
}

static void add(reaching *r, gg_str name, bool is_class) {
    if (name.len == 0 || find(r, name)) return;
    if (r->count == MAX_REACHING || is_dunder(name)) {
        r->caught = true; /* as far as is known */
        return;
    }
    reached *out = &r->names[r->count++];
    *out = (reached){.name = name, .is_class = is_class};
    r->modules = r->modules || gg_str_is(name, "forward") || gg_str_is(name, "__call__");
    r->classes = r->classes || is_class;
    r->grown = true;
    definition d = {r, out};
    gg__visit(gg_tree_root(r->tree), note_definition, &d);
}

static void add_function(reaching *r, TSNode function) {
    if (gg_node_is(function, "lambda")) r->caught = true; /* called by who gets it */
    if (!gg_node_is(function, "function_definition") || gg__lists_inputs(r->tree, function)) return;
    gg_str name = gg__text(r->tree, gg__field(function, "name"));
    TSNode owner = class_of(function);
    if (gg_str_is(name, "__init__") && !ts_node_is_null(owner))
        add(r, gg__text(r->tree, gg__field(owner, "name")), true);
    else
        add(r, name, false);
}

/* ---- calls ----------------------------------------------------------------------------------------------------------------- */

static bool is_no_assignment(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(gg__parent(node), "assignment");
}

/* `self.backbone(x)`, `layer(x)` of a local name, `self.layers[i](x)`: it may be a module's. */
static bool may_be_modules(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    if (gg_node_is(function, "identifier"))
        return gg__is_local(tree, call, gg__text(tree, function)) ||
               !gg__each_module_binding(tree, gg__text(tree, function), is_no_assignment, NULL);
    return gg_node_is(function, "subscript") || gg_node_is(function, "call") ||
           gg_str_is(gg__text(tree, gg__root_of(function)), "self");
}

/* `cls(x)`, `type(self)(x)`, `self.__class__(x)` */
static bool may_be_of_a_class(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    return gg_str_is(gg__text(tree, function), "cls") ||
           gg__names_builtin(tree, gg__field(function, "function"), "type") ||
           gg_str_is(gg__text(tree, gg__field(function, "attribute")), "__class__");
}

/* `getattr(self, name)(x)` */
static bool is_by_text(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function");
    return gg_node_is(function, "call") && gg__names_builtin(tree, gg__field(function, "function"), "getattr");
}

static bool is_drained(const gg_tree *tree, TSNode generator) {
    static const char *const drains[] = {"sum", "list", "tuple", "any", "all", "max", "min", "sorted", "set", "dict"};
    TSNode function = gg__field(gg__parent(generator), "function");
    for (size_t i = 0; i < GG_COUNT(drains); i++)
        if (gg__names_builtin(tree, function, drains[i])) return true;
    return false;
}

/* It is called there: who catches what it raises, and who may raise that now? */
static void on_call(reaching *r, TSNode node) {
    r->caught = r->caught || gg__is_watched(r->tree, gg__statement(node));
    TSNode function = gg__function(node);
    for (TSNode at = node; !r->caught && !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        r->caught = gg_node_is(at, "generator_expression") && !is_drained(r->tree, at);
    add_function(r, function);
}

/* ---- values ---------------------------------------------------------------------------------------------------------------- */

static bool is_called(TSNode node) {
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), node);
}

/* `g = torch.compile(f)`: the name stands for it; `torch.compile(f)(x)` calls it. */
static bool is_compiled(reaching *r, TSNode node) {
    TSNode call = gg__parent(gg__parent(node)), parent = gg__parent(call), left = gg__field(parent, "left");
    if (!gg_node_is(gg__parent(node), "argument_list") ||
        !gg__refers_to(r->tree, gg__field(call, "function"), "torch.compile"))
        return false;
    if (is_called(call)) {
        on_call(r, parent);
        return true;
    }
    if (gg_node_is(left, "attribute")) left = gg__field(left, "attribute");
    if (!gg_node_is(parent, "assignment") || !gg_node_is(left, "identifier")) return false;
    add(r, gg__text(r->tree, left), false);
    return true;
}

/* The value goes somewhere, from where it may be called. */
static void on_value(reaching *r, const reached *name, TSNode node) {
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    TSNode asked = gg__field(around, "function");
    if (gg__lists_inputs(r->tree, gg__function(node)) || is_compiled(r, node)) return;
    if (gg_node_is(parent, "type") || gg_node_is(parent, "comparison_operator")) return;
    if (gg_node_is(parent, "attribute")) return; /* `g.calls`, `Box.make(x)` */
    if (name->is_class && gg_node_is(around, "class_definition") &&
        ts_node_eq(gg__field(around, "superclasses"), parent)) {
        add(r, gg__text(r->tree, gg__field(around, "name")), true);
        return;
    }
    if (name->is_class &&
        (gg__names_builtin(r->tree, asked, "isinstance") || gg__names_builtin(r->tree, asked, "super")))
        return;
    r->caught = true;
}

static void on_identifier(reaching *r, const reached *name, TSNode node) {
    if (gg__is_member_name(node) || gg__is_binding(node) || is_called(node)) return;
    bool local = gg__is_local(r->tree, node, name->name);
    bool in_function = !ts_node_is_null(gg__field(gg__function(node), "parameters"));
    bool another = name->nested ? false : local || (!name->plain && in_function && (name->method || name->property));
    if (!another) on_value(r, name, node);
}

static void on_attribute(reaching *r, const reached *name, TSNode node) {
    TSNode parent = gg__parent(node);
    bool stored = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    if (name->property)
        on_call(r, node);
    else if (name->method && !is_called(node) && !stored)
        on_value(r, name, node);
}

static bool follow(TSNode node, void *data) {
    reaching *r = data;
    if (gg_node_is(node, "call")) {
        bool called = find(r, gg__called_name(r->tree, node)) || (r->modules && may_be_modules(r->tree, node)) ||
                      (r->classes && may_be_of_a_class(r->tree, node)) || is_by_text(r->tree, node);
        if (called) on_call(r, node);
    } else if (gg_node_is(node, "identifier")) {
        const reached *name = find(r, gg__text(r->tree, node));
        if (name) on_identifier(r, name, node);
    } else if (gg_node_is(node, "attribute")) {
        const reached *name = find(r, gg__text(r->tree, gg__field(node, "attribute")));
        if (name) on_attribute(r, name, node);
    } else if (gg_node_is(node, "string_content") && r->named) {
        r->caught = r->caught || (find(r, gg__text(r->tree, node)) && !gg__lists_inputs(r->tree, gg__function(node)));
    }
    return !r->caught;
}

/* ---- the question ---------------------------------------------------------------------------------------------------------- */

bool gg__may_be_caught(const gg_tree *tree, TSNode statement) {
    return gg__may_be_caught_as(tree, statement, GG_STR_NULL);
}

bool gg__may_be_caught_as(const gg_tree *tree, TSNode statement, gg_str type) {
    static const char *const catchers[] = {"suppress", "__exit__"};
    static const char *const by_text[] = {"getattr", "methodcaller", "globals()", "locals()", "vars(", "__dict__"};
    if (gg__is_watched(tree, statement)) return true;
    TSNode function = gg__function(statement);
    gg_str all = gg_text_bytes(gg_tree_text(tree));
    bool any = gg_str_contains(all, GG_STR("except")) && gg__has_handler(tree, statement, type);
    for (size_t i = 0; i < GG_COUNT(catchers); i++) any = any || gg_str_contains(all, gg_str_from(catchers[i]));
    if (!any || gg_node_is(function, "module")) return false;
    reaching r = {.tree = tree};
    for (size_t i = 0; i < GG_COUNT(by_text); i++) r.named = r.named || gg_str_contains(all, gg_str_from(by_text[i]));
    add_function(&r, function);
    while (r.grown && !r.caught) {
        r.grown = false;
        gg__visit(gg_tree_root(tree), follow, &r);
    }
    return r.caught;
}
