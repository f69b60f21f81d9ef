/* Names, and the tensors they may hold: what is new, what is only read, what two names may have in common.  See alias.h. */
#include "repair/alias.h"
#include "repair/infer.h"

enum { MAX_TIED = 32 };

/* The if statement whose body the statement lies in; null when it is another kind of block, or a condition binds the name. */
static TSNode if_around(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode at = gg__parent(gg__parent(statement));
    if (gg_node_is(at, "else_clause") || gg_node_is(at, "elif_clause")) at = gg__parent(at);
    if (!gg_node_is(at, "if_statement")) return (TSNode){0};
    for (uint32_t i = 0; i < gg__child_count(at); i++) {
        TSNode child = gg__child(at, i);
        TSNode condition = gg__field(gg_node_is(child, "elif_clause") ? child : at, "condition");
        if (gg__binds(tree, condition, name)) return (TSNode){0};
    }
    return at;
}

/* The nearest statement before the node that binds the name, in the same block or one around what is inside if statements. */
static TSNode binding_before(const gg_tree *tree, TSNode node, gg_str name) {
    for (TSNode in = gg__statement(node); !ts_node_is_null(in); in = if_around(tree, in, name))
        for (TSNode at = ts_node_prev_named_sibling(in); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at))
            if (gg__binds(tree, at, name)) return at;
    return (TSNode){0};
}

TSNode gg__value_at(const gg_tree *tree, TSNode node, gg_str name) {
    TSNode at = binding_before(tree, node, name), assignment = gg__child(at, 0);
    bool plain = gg_node_is(at, "expression_statement") && gg_node_is(assignment, "assignment") &&
                 gg_node_is(gg__field(assignment, "left"), "identifier");
    return plain ? gg__field(assignment, "right") : (TSNode){0};
}

TSNode gg__value_among(const gg_tree *tree, TSNode node, gg_str name) {
    TSNode assignment = gg__child(binding_before(tree, node, name), 0), found = {0};
    TSNode left = gg__field(assignment, "left"), right = gg__field(assignment, "right");
    if (!gg_node_is(left, "pattern_list") || !gg_node_is(right, "expression_list"))
        return gg__value_at(tree, node, name);
    uint32_t count = gg__child_count(left);
    for (uint32_t i = 0; i < count; i++) {
        TSNode target = gg__child(left, i), value = gg__child(right, i);
        if (!gg_node_is(target, "identifier") || gg_node_is(value, "list_splat")) return (TSNode){0};
        if (gg_str_equal(gg__text(tree, target), name)) found = value;
    }
    return gg__child_count(right) == count ? found : (TSNode){0};
}

TSNode gg__root_of(TSNode node) {
    for (;;) {
        node = gg__strip_parentheses(node);
        if (gg_node_is(node, "attribute"))
            node = gg__field(node, "object");
        else if (gg_node_is(node, "subscript"))
            node = gg__field(node, "value");
        else if (gg_node_is(node, "call")) /* x.view(-1).add_(1) */
            node = gg__field(node, "function");
        else
            return node;
    }
}

/* ---- new values ---------------------------------------------------------------------------------------------------------- */

/* An operation of torch, or of a tensor, that gives a new tensor whatever it is given. */
static bool calls_a_maker(const gg_rule_input *in, TSNode call) {
    static const char *const makers[] = {"zeros",     "ones",       "full",   "empty", "zeros_like", "ones_like",
                                         "full_like", "empty_like", "where",  "cat",   "stack",      "matmul",
                                         "rand",      "randn",      "tensor", "bmm",   "arange",     "rand_like"};
    static const char *const functions[] = {"softmax", "log_softmax",   "layer_norm", "linear",
                                            "gelu",    "silu",          "conv1d",     "conv2d",
                                            "one_hot", "cross_entropy", "mse_loss",   "softplus"};
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    if (gg__makes_by_own(in, call)) return true;
    if (gg_node_is(call, "call") && gg__is_pure_module(in, function)) return gg__infer(in, call).fresh;
    if (!gg_node_is(call, "call") || ts_node_is_null(object) || gg__is_in_place_by_position(tree, call) ||
        gg__is_in_place_by_keyword(tree, call))
        return false;
    gg_str text = gg__text(tree, object), name = gg__called_name(tree, call);
    bool torchs = gg_str_equal(text, gg__module_alias(tree, call, "torch"));
    bool functional = gg_str_equal(text, gg__module_alias(tree, call, "torch.nn.functional"));
    for (size_t i = 0; torchs && i < GG_COUNT(makers); i++)
        if (gg_str_is(name, makers[i])) return true;
    for (size_t i = 0; functional && i < GG_COUNT(functions); i++)
        if (gg_str_is(name, functions[i])) return true;
    return gg__is_operation(in, call) && (torchs || functional || gg__infer(in, object).sort == GG__TENSOR);
}

bool gg__makes_new(const gg_rule_input *in, TSNode value) {
    static const char *const types[] = {"binary_operator",
                                        "comparison_operator",
                                        "integer",
                                        "float",
                                        "string",
                                        "list",
                                        "dictionary",
                                        "set",
                                        "true",
                                        "false",
                                        "none",
                                        "tuple",
                                        "list_comprehension"};
    value = gg__strip_parentheses(value);
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_node_is(value, types[i])) return true;
    return calls_a_maker(in, value);
}

/* ---- what is only read ------------------------------------------------------------------------------------------------------- */

static bool is_size(gg_str name) {
    static const char *const names[] = {"shape", "dtype", "device", "ndim", "is_cuda"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

/* Methods that give numbers, or new tensors, and are no operations of one tensor. */
static bool asks(gg_str name) {
    static const char *const names[] = {
        "size",    "dim",       "numel",       "item",    "tolist", "stride", "is_floating_point",
        "softmax", "cumsum",    "log_softmax", "topk",    "argmax", "argmin", "masked_fill",
        "matmul",  "logsumexp", "cumprod",     "argsort", "flip",   "roll",   "fliplr",
        "flipud",  "lerp",      "addcmul",     "fmod"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

bool gg__is_consumed(const gg_rule_input *in, TSNode node) {
    const gg_tree *tree = in->tree;
    TSNode parent = gg__parent(node);
    while (gg_node_is(parent, "parenthesized_expression")) {
        node = parent;
        parent = gg__parent(parent);
    }
    if (gg_node_is(parent, "binary_operator")) return true;
    if (gg_node_is(parent, "unary_operator")) /* `+t` is t */
        return !gg_str_is(gg__text(tree, gg__field(parent, "operator")), "+");
    if (gg_node_is(parent, "augmented_assignment")) /* `l += t` puts its rows into a list */
        return ts_node_eq(gg__field(parent, "right"), node) &&
               gg__infer(in, gg__field(parent, "left")).sort != GG__UNKNOWN;
    if (gg_node_is(parent, "comparison_operator")) {
        gg_str op = gg__text(tree, ts_node_child(parent, 1));
        return !gg_str_is(op, "is") && !gg_str_is(op, "is not");
    }
    if (gg_node_is(parent, "subscript"))
        return ts_node_eq(gg__field(parent, "value"), node) ? gg__is_consumed(in, parent) : true;
    if (gg_node_is(parent, "attribute")) {
        gg_str name = gg__text(tree, gg__field(parent, "attribute"));
        TSNode call = gg__parent(parent);
        bool called = gg_node_is(call, "call") && ts_node_eq(gg__field(call, "function"), parent);
        return called ? asks(name) || gg__is_operation(in, call) : is_size(name);
    }
    return gg_node_is(parent, "argument_list") && calls_a_maker(in, gg__parent(parent));
}

/* ---- what is gathered ------------------------------------------------------------------------------------------------------- */

static bool ends_in_a_maker(const gg_rule_input *in, TSNode list) {
    TSNode arguments = gg__parent(list), call = gg__parent(arguments);
    return gg_node_is(arguments, "argument_list") && ts_node_eq(gg__child(arguments, 0), list) &&
           calls_a_maker(in, call);
}

/* `l.append(…)`, `len(l)`, `torch.stack(l)` */
static bool is_gathering(TSNode use, void *data) {
    const gg_rule_input *in = data;
    TSNode parent = gg__parent(use), call = gg__parent(parent);
    if (gg_node_is(parent, "attribute") && gg_node_is(call, "call") &&
        gg_node_is(gg__parent(call), "expression_statement"))
        return gg_str_is(gg__text(in->tree, gg__field(parent, "attribute")), "append");
    return ends_in_a_maker(in, use) ||
           (gg_node_is(parent, "argument_list") && gg__names_builtin(in->tree, gg__field(call, "function"), "len"));
}

/* Does the local list only ever go to what makes a new tensor of its elements, as torch.stack does? */
static bool gathers(const gg_rule_input *in, TSNode list) {
    TSNode value = gg__only_value(in->tree, list);
    return gg_node_is(list, "identifier") && (gg_node_is(value, "list") || gg_node_is(value, "list_comprehension")) &&
           gg__each_use(in->tree, list, is_gathering, (void *)in);
}

bool gg__is_gathered(const gg_rule_input *in, TSNode node) {
    TSNode parent = gg__parent(node), around = gg__parent(parent);
    while (gg_node_is(parent, "parenthesized_expression")) {
        node = parent;
        parent = around;
        around = gg__parent(around);
    }
    bool comprehends = gg_node_is(parent, "list_comprehension") && ts_node_eq(gg__field(parent, "body"), node);
    TSNode function = gg__field(around, "function"), left = gg__field(around, "left");
    bool appends = gg_node_is(parent, "argument_list") && gg__child_count(parent) == 1 &&
                   gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "append");
    if (!gg__each_change(in, gg__function(node), 0, gg__stop, NULL)) return false;
    if (appends) return gathers(in, gg__field(function, "object"));
    if (!comprehends) return false;
    return ends_in_a_maker(in, parent) || (gg_node_is(around, "assignment") && gathers(in, left));
}

/* ---- names that belong together ------------------------------------------------------------------------------------------------ */

typedef struct ties {
    const gg_rule_input *in;
    gg_str names[MAX_TIED];
    size_t count;
    bool adding, met; /* of one side: are its names added, or looked up? */
} ties;

static bool is_tied(const ties *t, gg_str name) {
    for (size_t i = 0; i < t->count; i++)
        if (gg_str_equal(t->names[i], name)) return true;
    return false;
}

/* `self` of self.linear(x), a module that is no function of the file: what it gives is new, or what it was given. */
static bool is_of_a_module(const gg_tree *tree, TSNode self) {
    TSNode attribute = gg__parent(self), call = gg__parent(attribute);
    return gg_node_is(attribute, "attribute") && gg_node_is(call, "call") &&
           ts_node_eq(gg__field(call, "function"), attribute) &&
           gg__each_definition(tree, gg__called_name(tree, call), gg__stop, NULL);
}

static bool note_name(TSNode node, void *data) {
    ties *t = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(t->in->tree, node);
    bool whole = gg_str_is(name, "self") && gg_node_is(gg__parent(node), "attribute");
    if (whole && is_of_a_module(t->in->tree, node)) return true;
    if (whole && gg__makes_by_own(t->in, gg__parent(gg__parent(node)))) return true;
    if (gg__is_consumed(t->in, whole ? gg__parent(node) : node)) return true;
    if (is_tied(t, name)) {
        t->met = true;
    } else if (t->adding && t->count < MAX_TIED) {
        t->names[t->count++] = name;
    }
    return true;
}

static bool tie(TSNode node, void *data) {
    static const char *const types[] = {"assignment", "augmented_assignment", "for_statement", "for_in_clause",
                                        "named_expression"};
    ties *t = data;
    TSNode parts[2];
    memset(parts, 0, sizeof(parts));
    for (size_t i = 0; i < GG_COUNT(types); i++) {
        if (!gg_node_is(node, types[i])) continue;
        bool named = gg_node_is(node, "named_expression");
        parts[0] = gg__field(node, named ? "name" : "left");
        parts[1] = gg__field(node, named ? "value" : "right");
    }
    if (gg_node_is(node, "expression_statement") && gg_node_is(gg__child(node, 0), "call")) parts[0] = node;
    if (ts_node_is_null(parts[0])) return true;
    t->met = t->adding = false;
    for (size_t i = 0; i < GG_COUNT(parts) && !ts_node_is_null(parts[i]); i++) gg__visit(parts[i], note_name, t);
    t->adding = t->met;
    for (size_t i = 0; t->met && i < GG_COUNT(parts) && !ts_node_is_null(parts[i]); i++)
        gg__visit(parts[i], note_name, t);
    return true;
}

static bool is_no_call_of(TSNode node, void *data) {
    const ties *t = data; /* the first name is the function's */
    return !gg_node_is(node, "call") || !gg_str_equal(gg__called_name(t->in->tree, node), t->names[0]);
}

bool gg__may_be_selfs(const gg_rule_input *in, TSNode function, const gg_str *names, size_t count) {
    ties t = {.in = in};
    for (size_t i = 0; i < count; i++)
        if (names[i].len) t.names[t.count++] = names[i];
    for (size_t before = 0; before != t.count;) {
        before = t.count;
        gg__visit(gg__field(function, "body"), tie, &t);
    }
    if (t.count == MAX_TIED || is_tied(&t, GG_STR("self"))) return true;
    ties own = {.in = in, .names = {gg__text(in->tree, gg__field(function, "name"))}, .count = 1};
    if (own.names[0].len == 0 || gg_str_is(own.names[0], "forward")) return false; /* others call that */
    bool given = false;
    for (size_t i = 0; i < t.count; i++)
        given = given || gg__binds(in->tree, gg__field(function, "parameters"), t.names[i]);
    return given && !gg__visit(gg_tree_root(in->tree), is_no_call_of, &own);
}
