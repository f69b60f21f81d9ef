/* GG108 scripted-module: `self.act = torch.jit.script(nn.SiLU())` is a program for TorchScript's interpreter, into which Dynamo does not look.
 * Offers: the module itself.  Refuses: unless it is one operation on each element that TorchScript does as Python does, and nothing but a call names it.
 * Safety: effects (what is no tensor, or of a dtype that the operation does not take, raises in other words).  Page: docs/rules/GG108.md
 *
 * DESIGN  TorchScript is no second Python: under autocast it casts by lists of its own (`x * 2` of bfloat16 is float32 there, and so is GELU), it
 * differentiates what has several operations by formulas of its own, whose last bit is another, and fuses them on a GPU.  None of it happens to one
 * operation that neither list names. */
#include "repair/built.h"
#include "repair/hindrance.h"

typedef struct scripted {
    const gg_tree *tree;
    TSNode name;             /* `self.act`, or `act` of the module */
    TSNode call, made;       /* torch.jit.script(…), and its argument */
    TSNode owner;            /* the class; null for a name of the module */
    gg_str last, owner_name; /* "act", "Net" */
} scripted;

/* ---- what is scripted ------------------------------------------------------------------------------------------------------ */

static bool is_layer(const gg_tree *tree, TSNode call) {
    static const char *const paths[] = {
        "torch.nn.CELU",      "torch.nn.ELU",      "torch.nn.Hardshrink", "torch.nn.Hardsigmoid",
        "torch.nn.Hardswish", "torch.nn.Hardtanh", "torch.nn.LeakyReLU",  "torch.nn.LogSigmoid",
        "torch.nn.Mish",      "torch.nn.ReLU",     "torch.nn.ReLU6",      "torch.nn.SELU",
        "torch.nn.SiLU",      "torch.nn.Sigmoid",  "torch.nn.Softshrink", "torch.nn.Tanh"};
    for (size_t i = 0; i < GG_COUNT(paths); i++)
        if (gg__refers_to(tree, gg__field(call, "function"), paths[i])) return true;
    return false;
}

/* Beside the tensor, numbers and flags that are written out. */
static bool is_setting(TSNode argument) {
    static const char *const types[] = {"integer", "float", "true", "false"};
    TSNode value = gg_node_is(argument, "keyword_argument") ? gg__field(argument, "value") : argument;
    if (gg_node_is(value, "unary_operator")) value = gg__field(value, "argument");
    return gg__is_one_of(gg_str_from(ts_node_type(value)), types, GG_COUNT(types));
}

/* `torch.relu(x)`, `F.elu(x, 0.5)`, `x.tanh()` */
static bool is_operation_on(const gg_tree *tree, TSNode call, gg_str x) {
    static const char *const paths[] = {
        "torch.relu",
        "torch.sigmoid",
        "torch.tanh",
        "torch.nn.functional.celu",
        "torch.nn.functional.elu",
        "torch.nn.functional.hardshrink",
        "torch.nn.functional.hardsigmoid",
        "torch.nn.functional.hardswish",
        "torch.nn.functional.hardtanh",
        "torch.nn.functional.leaky_relu",
        "torch.nn.functional.logsigmoid",
        "torch.nn.functional.mish",
        "torch.nn.functional.relu",
        "torch.nn.functional.relu6",
        "torch.nn.functional.selu",
        "torch.nn.functional.silu",
        "torch.nn.functional.softshrink",
    };
    static const char *const methods[] = {"relu", "sigmoid", "tanh"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    TSNode object = gg__field(function, "object"), first = gg__child(arguments, 0);
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return false;
    if (gg_node_is(object, "identifier") && gg_str_equal(gg__text(tree, object), x))
        return gg__child_count(arguments) == 0 &&
               gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), methods, GG_COUNT(methods));
    if (!gg_node_is(first, "identifier") || !gg_str_equal(gg__text(tree, first), x)) return false;
    for (uint32_t i = 1; i < gg__child_count(arguments); i++)
        if (!is_setting(gg__child(arguments, i))) return false;
    for (size_t i = 0; i < GG_COUNT(paths); i++)
        if (gg__refers_to(tree, function, paths[i])) return true;
    return false;
}

/* The only statement of a block, but for a string in front of it. */
static TSNode statement_behind_text(TSNode block) {
    TSNode first = gg__child(block, 0);
    bool text = gg_node_is(first, "expression_statement") && gg_node_is(gg__child(first, 0), "string");
    uint32_t count = gg__child_count(block);
    if (count == (text ? 2U : 1U)) return gg__child(block, count - 1);
    return (TSNode){0};
}

static bool is_module(const gg_tree *tree, TSNode class) {
    TSNode bases = gg__field(class, "superclasses");
    return gg_node_is(class, "class_definition") && gg_node_is(gg__parent(class), "module") &&
           gg__child_count(bases) == 1 && gg__refers_to(tree, gg__child(bases, 0), "torch.nn.Module");
}

typedef struct class_uses {
    const gg_tree *tree;
    gg_str name;
    uint32_t bindings;
} class_uses;

/* Is the class only defined, and called? */
static bool is_only_called(TSNode node, void *data) {
    class_uses *u = data;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || !gg_str_equal(gg__text(u->tree, node), u->name))
        return true;
    if (gg__is_binding(node)) return ++u->bindings == 1;
    return gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), node);
}

/* `def forward(self, x): return torch.relu(x)` */
static bool is_forward_of_one(const gg_tree *tree, TSNode forward) {
    TSNode parameters = gg__field(forward, "parameters"), x = gg__child(parameters, 1);
    TSNode last = statement_behind_text(gg__field(forward, "body"));
    if (gg_node_is(x, "typed_parameter")) x = gg__child(x, 0);
    return gg_node_is(forward, "function_definition") && gg__child_count(parameters) == 2 &&
           gg_str_is(gg__text(tree, gg__field(forward, "name")), "forward") &&
           !gg_str_starts_with(gg__text(tree, forward), GG_STR("async")) &&
           gg_node_is(gg__child(parameters, 0), "identifier") && gg_node_is(x, "identifier") &&
           gg_node_is(last, "return_statement") && gg__child_count(last) == 1 &&
           is_operation_on(tree, gg__strip_parentheses(gg__child(last, 0)), gg__text(tree, x));
}

/* A class of the file that has nothing but a forward of one operation. */
static bool is_operation_class(const gg_tree *tree, TSNode call) {
    TSNode name = gg__field(call, "function");
    class_uses u = {.tree = tree, .name = gg__text(tree, name)};
    bool only = false;
    if (!gg_node_is(name, "identifier") || gg__child_count(gg__field(call, "arguments"))) return false;
    TSNode class = gg__class_named(tree, u.name, &only);
    return only && is_module(tree, class) && gg__visit(gg_tree_root(tree), is_only_called, &u) &&
           is_forward_of_one(tree, statement_behind_text(gg__field(class, "body")));
}

/* ---- where it is kept ------------------------------------------------------------------------------------------------------ */

/* Nobody asks what kind of module it is, or reaches it but by its name. */
static bool is_not_looked_at(const gg_tree *tree) {
    static const char *const words[] = {"setattr",
                                        "getattr",
                                        "vars",
                                        "__dict__",
                                        "_modules",
                                        "add_module",
                                        "__setattr__",
                                        "__getattr__",
                                        "apply",
                                        "modules",
                                        "children",
                                        "named_modules",
                                        "get_submodule",
                                        "is_scripting",
                                        "globals",
                                        "register_module",
                                        "ScriptModule",
                                        "named_children",
                                        "__getattribute__",
                                        "RecursiveScriptModule"};
    return !gg__has_star_import(tree) && !gg__has_word(tree, gg_tree_root(tree), words, GG_COUNT(words));
}

static bool is_function_of_call(TSNode node) {
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "call") && ts_node_eq(gg__field(parent, "function"), node);
}

/* Every `….act` is called, or given a module; and `act`, where it is a name of the module. */
static bool is_called_or_bound(TSNode node, void *data) {
    const scripted *s = data;
    bool attribute = gg_node_is(s->name, "attribute");
    if (attribute
            ? !gg_node_is(node, "attribute") || !gg_str_equal(gg__text(s->tree, gg__field(node, "attribute")), s->last)
            : !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(s->tree, node), s->last))
        return true;
    TSNode parent = gg__parent(node);
    bool bound = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    return bound || is_function_of_call(node);
}

/* The object is not handed on, and no class of the file is derived from its. */
static bool is_kept(TSNode node, void *data) {
    const scripted *s = data;
    TSNode parent = gg__parent(node);
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(s->tree, node);
    if (gg_str_equal(text, s->owner_name) && gg_node_is(gg__parent(parent), "class_definition")) return false;
    if (!gg_str_is(text, "self") || !ts_node_eq(gg__class_around(node), s->owner)) return true;
    if (gg_node_is(parent, "attribute")) return ts_node_eq(gg__field(parent, "object"), node);
    return gg_node_is(parent, "parameters") ||
           (gg_node_is(parent, "argument_list") &&
            gg_str_is(gg__text(s->tree, gg__field(gg__parent(parent), "function")), "super"));
}

/* ---- the rule -------------------------------------------------------------------------------------------------------------- */

static bool note_script(TSNode value, void *data) {
    scripted *s = data;
    TSNode arguments = gg__field(value, "arguments");
    bool again = !ts_node_is_null(s->call);
    s->call = value;
    s->made = gg__child(arguments, 0);
    return !again && gg_node_is(value, "call") && gg__child_count(arguments) == 1 && gg_node_is(s->made, "call") &&
           gg__refers_to(s->tree, gg__field(value, "function"), "torch.jit.script");
}

static bool note_module_script(TSNode name, void *data) {
    scripted *s = data;
    TSNode assignment = gg__parent(name);
    bool plain = gg_node_is(assignment, "assignment") && ts_node_eq(gg__field(assignment, "left"), name);
    return note_script(plain ? gg__strip_parentheses(gg__field(assignment, "right")) : (TSNode){0}, s);
}

/* `self` of a method of the class itself. */
static bool is_of_method(const gg_tree *tree, TSNode node, TSNode class) {
    TSNode function = gg__function(node), block = gg__parent(function);
    if (gg_node_is(block, "decorated_definition")) block = gg__parent(block);
    TSNode first = gg__child(gg__field(function, "parameters"), 0);
    return gg_node_is(function, "function_definition") && !ts_node_is_null(class) &&
           ts_node_eq(gg__parent(block), class) && gg_node_is(first, "identifier") &&
           gg_str_is(gg__text(tree, first), "self");
}

/* Where the called name gets its module. */
static bool find(const gg_rule_input *in, TSNode name, scripted *s) {
    *s = (scripted){.tree = in->tree, .name = name, .last = gg__text(in->tree, name)};
    if (gg_node_is(name, "identifier"))
        return !gg__is_local(in->tree, name, s->last) &&
               gg__each_module_binding(in->tree, s->last, note_module_script, s) && !ts_node_is_null(s->call);
    if (!gg_node_is(name, "attribute") || !gg_str_is(gg__text(in->tree, gg__field(name, "object")), "self"))
        return false;
    s->last = gg__text(in->tree, gg__field(name, "attribute"));
    s->owner = gg__class_around(name);
    s->owner_name = gg__text(in->tree, gg__field(s->owner, "name"));
    return is_of_method(in->tree, name, s->owner) && gg__each_attribute_value(in->tree, name, note_script, s) &&
           is_of_method(in->tree, s->call, s->owner) &&
           gg_str_is(gg__text(in->tree, gg__field(gg__function(s->call), "name")), "__init__");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), root = gg_tree_root(in->tree);
    scripted s;
    if (!gg_str_is(in->site->id, "GB4695") || !gg_node_is(call, "call") || !find(in, gg__field(call, "function"), &s) ||
        gg__has_comment(in->tree, gg_node_span(s.call)))
        return false;
    out->node = s.call;
    if (!is_layer(in->tree, s.made) && !is_operation_class(in->tree, s.made))
        return gg__hinder(in, s.made, "is more than one operation that TorchScript does as Python does");
    if (!is_not_looked_at(in->tree) || !gg__visit(root, is_called_or_bound, &s)) return false;
    if (!ts_node_is_null(s.owner) && (!is_module(in->tree, s.owner) || !gg__visit(root, is_kept, &s))) return false;
    return !gg__is_watched(in->tree, gg__statement(call));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode made = gg__child(gg__field(match->node, "arguments"), 0);
    (void)err;
    gg_edits_add(out, gg_node_span(match->node), gg_arena_str(arena, gg__text(in->tree, made)));
    return 0;
}

const gg_rule gg_rule_scripted_module = {
    .code = "GG108",
    .name = "scripted-module",
    .title = "Let Dynamo see this module",
    .safety = GG_SAFETY_EFFECTS,
    .deliberate = true,
    .check = check,
    .edit = edit,
};
