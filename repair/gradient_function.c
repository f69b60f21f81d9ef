/* `torch.autograd.grad(s, x)` as the gradient of a function of x.  See gradient_function.h. */
#include "repair/gradient_function.h"

#include "repair/alias.h"
#include "repair/hindrance.h"

/* ---- the call ----------------------------------------------------------------------------------------------------------------------- */

typedef struct call_search {
    const gg_tree *tree;
    TSNode found;
} call_search;

static bool is_no_gradient(TSNode node, void *data) {
    call_search *s = data;
    if (gg_node_is(node, "function_definition") || gg_node_is(node, "lambda")) return true;
    if (!gg_node_is(node, "call") || !gg__refers_to(s->tree, gg__field(node, "function"), "torch.autograd.grad"))
        return true;
    s->found = node;
    return false;
}

static bool is_true(TSNode node) {
    return gg_node_is(node, "true");
}

/* The only item of `[x]` and `(x,)`; else the node. */
static TSNode only_item(TSNode node) {
    node = gg__strip_parentheses(node);
    bool display = gg_node_is(node, "list") || gg_node_is(node, "tuple");
    return display && gg__child_count(node) == 1 ? gg__child(node, 0) : node;
}

/* `torch.ones_like(s)` of the same s */
static bool is_ones(const gg_rule_input *in, TSNode node, TSNode of) {
    TSNode call = only_item(node), first = gg__child(gg__field(call, "arguments"), 0);
    gg_str text = gg__text(in->tree, of);
    if (!gg_node_is(call, "call")) return false;
    if (gg__refers_to(in->tree, gg__field(call, "function"), "torch.ones_like"))
        return gg_str_equal(gg__text(in->tree, first), text);
    TSNode object = gg__field(first, "object"), method = gg__field(first, "function");
    gg_str size = gg__text(in->tree, gg__field(first, "attribute"));
    bool shape = gg_str_is(size, "shape") && gg_str_equal(gg__text(in->tree, object), text);
    shape = shape || (gg_str_is(gg__text(in->tree, gg__field(method, "attribute")), "size") &&
                      gg__child_count(gg__field(first, "arguments")) == 0 &&
                      gg_str_equal(gg__text(in->tree, gg__field(method, "object")), text));
    return shape && gg__refers_to(in->tree, gg__field(call, "function"), "torch.ones");
}

static bool read_inputs(const gg_rule_input *in, TSNode node, gg__gradient *g) {
    TSNode all = gg__strip_parentheses(node);
    bool several = gg_node_is(all, "list") || gg_node_is(all, "tuple");
    for (uint32_t i = 0; i < (several ? gg__child_count(all) : 1); i++) {
        TSNode name = several ? gg__child(all, i) : all;
        if (!gg_node_is(name, "identifier")) return gg__hinder(in, name, "is no name of a tensor");
        gg__names_add(&g->inputs, gg__text(in->tree, name));
    }
    return g->inputs.count > 0 && g->inputs.count == (several ? gg__child_count(all) : 1) && !g->inputs.full;
}

static bool read_arguments(const gg_rule_input *in, gg__gradient *g) {
    TSNode arguments = gg__field(g->call, "arguments"), ones = {0}, inputs = {0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = argument;
        gg_str name = i == 0   ? GG_STR("outputs")
                      : i == 1 ? GG_STR("inputs")
                      : i == 2 ? GG_STR("grad_outputs")
                               : GG_STR("?");
        if (gg_node_is(argument, "comment")) return false;
        if (gg_node_is(argument, "keyword_argument")) {
            name = gg__text(in->tree, gg__field(argument, "name"));
            value = gg__field(argument, "value");
        }
        if (gg_str_is(name, "outputs"))
            g->output = only_item(value);
        else if (gg_str_is(name, "inputs"))
            inputs = value;
        else if (gg_str_is(name, "grad_outputs"))
            ones = gg_node_is(value, "none") ? ones : value;
        else if (gg_str_is(name, "create_graph") && (is_true(value) || gg_node_is(value, "false")))
            g->attached = is_true(value);
        else if (!gg_str_is(name, "retain_graph") && !gg_str_is(name, "only_inputs"))
            return gg__hinder(in, argument, "asks for what torch.func.grad does not give");
    }
    g->summed = !ts_node_is_null(ones);
    if (ts_node_is_null(g->output) || ts_node_is_null(inputs) || gg_node_is(g->output, "list") ||
        gg_node_is(g->output, "tuple"))
        return false;
    if (g->summed && !is_ones(in, ones, g->output)) return gg__hinder(in, ones, "is not known to be ones");
    return read_inputs(in, inputs, g);
}

typedef struct use_of_a_list {
    const gg_rule_input *in;
    gg_str name;
} use_of_a_list;

/* Is the list only gone through, as the tuple was? */
static bool is_gone_through(TSNode use, void *data) {
    const use_of_a_list *u = data;
    const gg_tree *tree = u->in->tree;
    TSNode parent = gg__parent(use), function = gg__field(gg__parent(parent), "function");
    if (!gg_node_is(use, "identifier") || gg__is_member_name(use) || gg__is_binding(use) ||
        !gg_str_equal(gg__text(tree, use), u->name))
        return true;
    bool zipped = gg_node_is(parent, "argument_list") &&
                  (gg__names_builtin(tree, function, "zip") || gg__names_builtin(tree, function, "enumerate") ||
                   gg__names_builtin(tree, function, "len"));
    bool looped = (gg_node_is(parent, "for_statement") || gg_node_is(parent, "for_in_clause")) &&
                  ts_node_eq(gg__field(parent, "right"), use);
    return zipped || looped || (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), use));
}

static bool is_list_value(TSNode node, void *data) {
    use_of_a_list *u = data;
    const gg_tree *tree = u->in->tree;
    if (!gg_node_is(node, "assignment") || !gg_str_equal(gg__text(tree, gg__field(node, "left")), u->name)) return true;
    TSNode right = gg__field(node, "right");
    return gg_node_is(right, "list") || gg_node_is(right, "list_comprehension") ||
           gg__names_builtin(tree, gg__field(right, "function"), "list");
}

/* `grads = torch.autograd.grad(loss, weights, create_graph=True)`, of a list of the function's own: they are a list then. */
static bool is_of_a_list(const gg_rule_input *in, const gg__gradient *g) {
    TSNode function = gg__function(g->statement), body = gg__field(function, "body");
    use_of_a_list list = {in, g->inputs.items[0]}, result = {in, gg__text(in->tree, g->target)};
    bool own =
        gg__binds(in->tree, body, list.name) && !gg__binds(in->tree, gg__field(function, "parameters"), list.name);
    return g->attached && own && gg__visit(body, is_list_value, &list) && gg__visit(body, is_gone_through, &result);
}

/* `g = ….grad(…)[0]`, `(g,) = ….grad(…)`, `gw, gb = ….grad(…)`, `-….grad(…)[0]` */
static bool read_result(const gg_rule_input *in, gg__gradient *g) {
    TSNode around = gg__parent(g->call), assignment = gg__child(g->statement, 0), left = gg__field(assignment, "left");
    bool assigned = gg_node_is(assignment, "assignment");
    g->taken = g->call;
    if (gg_node_is(around, "subscript") && ts_node_eq(gg__field(around, "value"), g->call)) {
        g->taken = around;
        bool first = gg_str_is(gg__text(in->tree, gg__field(around, "subscript")), "0") && gg__child_count(around) == 2;
        bool whole = assigned && gg_node_is(left, "identifier") && ts_node_eq(gg__field(assignment, "right"), around);
        if (whole) g->target = left;
        g->plain = whole && g->attached;
        return first && g->inputs.count == 1;
    }
    if (!assigned || !ts_node_eq(gg__field(assignment, "right"), g->call)) return false;
    if (gg_node_is(left, "identifier") && g->inputs.count == 1) {
        g->target = left;
        g->plain = true;
        return is_of_a_list(in, g);
    }
    if (gg__child_count(left) != g->inputs.count) return false;
    if (!gg_node_is(left, "pattern_list") && !gg_node_is(left, "tuple_pattern") && !gg_node_is(left, "list_pattern"))
        return false;
    if (g->inputs.count > 1) return g->attached || gg__hinder(in, g->call, "gives several gradients that are detached");
    g->target = gg__child(left, 0);
    g->unpacked = left;
    return gg_node_is(g->target, "identifier");
}

/* ---- what is marked ------------------------------------------------------------------------------------------------------------------- */

/* `E.requires_grad_(True)`: E; null. */
static TSNode marked_by(const gg_tree *tree, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           argument = gg__child(arguments, 0);
    bool marks =
        gg_node_is(call, "call") && gg_str_is(gg__text(tree, gg__field(function, "attribute")), "requires_grad_");
    if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
    bool on = gg__child_count(arguments) == 0 || (gg__child_count(arguments) == 1 && is_true(argument));
    return marks && on ? gg__field(function, "object") : (TSNode){0};
}

/* A tensor of the function's own: nobody else sees whether it requires a gradient. */
static bool is_own(const gg_rule_input *in, TSNode value) {
    value = gg__strip_parentheses(value);
    gg_str name = gg__text(in->tree, gg__field(gg__field(value, "function"), "attribute"));
    return gg_str_is(name, "detach") || gg__makes_new(in, value);
}

/* `x.requires_grad_(True)`, `x.requires_grad = True` */
static bool is_mark(const gg_tree *tree, TSNode statement, gg_str name) {
    TSNode inner = gg__child(statement, 0), left = gg__field(inner, "left");
    if (!gg_node_is(statement, "expression_statement")) return false;
    if (gg_node_is(inner, "call")) return gg_str_equal(gg__text(tree, marked_by(tree, inner)), name);
    return gg_node_is(inner, "assignment") && is_true(gg__field(inner, "right")) &&
           gg_str_is(gg__text(tree, gg__field(left, "attribute")), "requires_grad") &&
           gg_str_equal(gg__text(tree, gg__field(left, "object")), name);
}

/* Where the inputs are made, in front of the call, and what marks the only one of them.  `*from`: the statement behind. */
static bool read_marks(const gg_rule_input *in, gg__gradient *g, uint32_t at, uint32_t *from) {
    const gg_tree *tree = in->tree;
    TSNode block = g->body.block, binding = {0};
    *from = 0;
    for (uint32_t i = 0; i < at; i++) {
        TSNode statement = gg__child(block, i);
        for (size_t k = 0; k < g->inputs.count; k++) {
            gg_str name = g->inputs.items[k];
            bool marks = is_mark(tree, statement, name);
            if (marks && (!ts_node_is_null(g->mark) || g->inputs.count > 1)) return false;
            if (marks) g->mark = statement;
            bool binds = gg__binds(tree, statement, name);
            if (binds) binding = statement;
            if (marks || binds) *from = i + 1;
        }
    }
    TSNode assignment = gg__child(binding, 0), value = gg__field(assignment, "right"), of = marked_by(tree, value);
    bool plain = gg_node_is(assignment, "assignment") && gg_node_is(gg__field(assignment, "left"), "identifier");
    if (!ts_node_is_null(g->mark))
        return (plain && ts_node_end_byte(binding) <= ts_node_start_byte(g->mark) && is_own(in, value)) ||
               gg__hinder(in, g->mark, "is seen by who holds the tensor");
    if (!plain || ts_node_is_null(of)) return true;
    g->mark = value;
    g->marked = of;
    return g->inputs.count == 1 &&
           (is_own(in, of) || gg__hinder(in, of, "is somebody else's, who sees that it requires a gradient"));
}

bool gg__find_gradient(const gg_rule_input *in, gg__gradient *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), none = {0};
    call_search s = {in->tree, none};
    *out = (gg__gradient){0};
    while (!ts_node_is_null(statement) && gg__visit(statement, is_no_gradient, &s))
        statement = ts_node_next_named_sibling(statement);
    TSNode block = gg__parent(statement);
    if (ts_node_is_null(statement) || !gg_node_is(block, "block") || !ts_node_eq(gg__statement(s.found), statement))
        return false;
    out->call = s.found;
    out->statement = statement;
    out->body.block = block;
    uint32_t at = 0, from = 0;
    while (!ts_node_eq(gg__child(block, at), statement)) at++;
    return !gg__has_comment(in->tree, gg_node_span(s.found)) && read_arguments(in, out) && read_result(in, out) &&
           read_marks(in, out, at, &from) && gg__read_gradient_body(in, out, from, at);
}
