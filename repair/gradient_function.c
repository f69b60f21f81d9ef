/* `torch.autograd.grad(s, x)` as the gradient of a function of x.  See gradient_function.h.
 *
 * DESIGN  torch.func.grad runs the function with a tensor that only lives in it.  So nothing may get out of it but what it returns: the statements bind names,
 * and nothing in the file sets attributes but __init__. */
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

/* ---- the statements --------------------------------------------------------------------------------------------------------------------- */

static bool binds_names(TSNode target) {
    if (gg_node_is(target, "identifier")) return true;
    if (!gg_node_is(target, "pattern_list") && !gg_node_is(target, "tuple_pattern")) return false;
    for (uint32_t i = 0; i < gg__child_count(target); i++)
        if (!binds_names(gg__child(target, i))) return false;
    return true;
}

/* Does the statement bind names, and nothing else?  What it calls is looked at elsewhere. */
static bool only_binds(TSNode statement) {
    TSNode inner = gg__child(statement, 0), body = gg__field(statement, "body");
    if (gg_node_is(statement, "comment")) return true;
    if (gg_node_is(statement, "expression_statement"))
        return gg__child_count(statement) == 1 &&
               (gg_node_is(inner, "assignment") || gg_node_is(inner, "augmented_assignment")) &&
               binds_names(gg__field(inner, "left"));
    bool loops = gg_node_is(statement, "for_statement") && binds_names(gg__field(statement, "left")) &&
                 ts_node_is_null(gg__field(statement, "alternative"));
    for (uint32_t i = 0; i < gg__child_count(body); i++)
        if (!only_binds(gg__child(body, i))) return false;
    return loops || gg_node_is(statement, "with_statement");
}

static bool has_no_walrus(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "named_expression") && !gg_node_is(node, "await") && !gg_node_is(node, "yield");
}

/* Is it a name that the function around binds itself: of what nobody else has, but for what it gives back? */
static bool is_of_its_function(const gg_tree *tree, TSNode node) {
    return gg_node_is(node, "identifier") &&
           gg__binds(tree, gg__field(gg__function(node), "body"), gg__text(tree, node));
}

/* What a function may leave behind in an object: then a tensor of the gradient's own would get out. */
static bool leaves_nothing(TSNode node, void *data) {
    static const char *const keeping[] = {"append",     "extend", "insert",  "update", "setdefault",
                                          "appendleft", "add",    "setattr", "put",    "register_forward_hook"};
    const gg_tree *tree = data;
    TSNode left = gg__field(node, "left"), around = gg__function(node), called = gg__field(node, "function");
    if (gg_str_is(gg__text(tree, gg__field(around, "name")), "__init__") || !gg_node_is(around, "function_definition"))
        return true;
    if (gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement")) return false;
    if (gg_node_is(node, "call")) {
        TSNode method = gg__field(called, "attribute");
        bool keeps =
            gg__is_one_of(gg__text(tree, ts_node_is_null(method) ? called : method), keeping, GG_COUNT(keeping));
        return !keeps || is_of_its_function(tree, gg__field(called, "object"));
    }
    bool assigns = gg_node_is(node, "assignment") || gg_node_is(node, "augmented_assignment");
    bool grad = gg_str_is(gg__text(tree, gg__field(left, "attribute")), "requires_grad");
    if (!assigns || grad || gg_node_is(left, "identifier")) return true;
    if (gg_node_is(left, "subscript")) return is_of_its_function(tree, gg__root_of(left));
    return binds_names(left);
}

static bool is_left_nowhere(const gg_rule_input *in, TSNode call) {
    return gg__visit(gg_tree_root(in->tree), leaves_nothing, (void *)in->tree) ||
           gg__hinder(in, call,
                      "is in a file whose functions set attributes: a tensor of torch.func's might be kept there");
}

typedef struct gradient_use {
    const gg_tree *tree;
    const gg__gradient *g;
} gradient_use;

typedef struct use_search {
    const gg_tree *tree;
    gg_span body;
    gg_str name;
} use_search;

static bool is_inside(TSNode node, void *data) {
    const use_search *s = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || gg__is_binding(node) ||
        !gg_str_equal(gg__text(s->tree, node), s->name))
        return true;
    return ts_node_start_byte(node) >= s->body.start && ts_node_end_byte(node) <= s->body.end;
}

/* Does a statement of the block itself, or of a `with` in it, bind the name? */
static bool is_bound_for_certain(const gg_tree *tree, TSNode block, uint32_t from, uint32_t to, gg_str name) {
    for (uint32_t i = from; i < to; i++) {
        TSNode statement = gg__child(block, i), body = gg__field(statement, "body");
        if (gg_node_is(statement, "expression_statement") && gg__binds(tree, statement, name)) return true;
        if (gg_node_is(statement, "with_statement") && is_bound_for_certain(tree, body, 0, gg__child_count(body), name))
            return true;
    }
    return false;
}

/* May the statements read what the name held in front of them?  Those of a `with` run as if they stood there. */
typedef enum first_use { UNUSED, READ, BOUND } first_use;

static first_use first_use_of(const gg_tree *tree, TSNode block, uint32_t from, uint32_t to, gg_str name) {
    for (uint32_t i = from; i < to; i++) {
        TSNode statement = gg__child(block, i), body = gg__field(statement, "body");
        first_use use = UNUSED;
        if (gg_node_is(statement, "with_statement")) {
            if (gg__reads(tree, gg__child(statement, 0), name)) return READ;
            use = first_use_of(tree, body, 0, gg__child_count(body), name);
        } else {
            gg__stretch one = {block, i, i + 1};
            if (gg__reads(tree, statement, name)) use = gg__reads_first(tree, one, name) ? READ : BOUND;
        }
        if (use != UNUSED) return use;
    }
    return UNUSED;
}

/* The names that are read behind the statements; false where that cannot be given back. */
static bool read_names(const gg_rule_input *in, gg__gradient *g) {
    const gg_tree *tree = in->tree;
    gg__names bound = {0};
    gg__stretch body = g->body;
    gg__names_bound(tree, body, &bound);
    if (bound.full) return false;
    use_search s = {
        tree, {ts_node_start_byte(gg__child(body.block, body.from)), ts_node_end_byte(g->call)}, GG_STR_NULL};
    for (size_t i = 0; i < bound.count; i++) {
        s.name = bound.items[i];
        if (first_use_of(tree, body.block, body.from, body.to, s.name) == READ)
            return gg__hinder(in, gg__child(body.block, body.from), "needs what `%.*s` was before", GG_STR_ARG(s.name));
        if (gg__visit(gg__field(gg__function(g->statement), "body"), is_inside, &s)) continue;
        if (!is_bound_for_certain(tree, body.block, body.from, body.to, s.name)) return false;
        gg__names_add(&g->also, s.name);
    }
    return !g->also.full;
}

/* Nothing else in the function asks for gradients, or whether a tensor has one. */
static bool asks_no_more(TSNode node, void *data) {
    static const char *const asking[] = {"backward",    "grad",    "requires_grad", "requires_grad_",
                                         "retain_grad", "is_leaf", "grad_fn",       "register_hook"};
    const gradient_use *u = data;
    if (!gg_node_is(node, "identifier") || !gg__is_one_of(gg__text(u->tree, node), asking, GG_COUNT(asking)))
        return true;
    return gg__covers(u->g->mark, gg_node_span(node)) || gg__covers(u->g->call, gg_node_span(node));
}

/* In front of the block of the gradient the inputs are bound, and not read: what is made of them there would be a constant of the function. */
static bool is_read_behind(TSNode node, void *data) {
    const gradient_use *u = data;
    TSNode statement = gg__statement(node);
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || gg__is_binding(node) ||
        ts_node_start_byte(node) >= ts_node_start_byte(u->g->body.block) ||
        !gg__names_have(&u->g->inputs, gg__text(u->tree, node)))
        return true;
    for (size_t k = 0; k < u->g->inputs.count; k++)
        if (gg__binds(u->tree, statement, u->g->inputs.items[k])) return true; /* w = w + 1 */
    return false;
}

static bool read_body(const gg_rule_input *in, gg__gradient *g, uint32_t at) {
    const gg_tree *tree = in->tree;
    uint32_t from;
    if (!read_marks(in, g, at, &from)) return false;
    bool reads = false;
    for (; from < at && !reads; from++)
        for (size_t k = 0; k < g->inputs.count; k++)
            if (gg__reads(tree, gg__child(g->body.block, from), g->inputs.items[k])) reads = true;
    g->body.from = reads ? from - 1 : at;
    g->body.to = at;
    while (g->body.to > g->body.from && gg_node_is(gg__child(g->body.block, g->body.to - 1), "comment")) g->body.to--;
    for (uint32_t i = g->body.from; i < g->body.to; i++) {
        TSNode statement = gg__child(g->body.block, i);
        if (!only_binds(statement) || !gg__visit(statement, has_no_walrus, NULL) ||
            !gg__visit(statement, gg__is_no_long_text, NULL))
            return gg__hinder(in, statement, "does more than bind names, in front of the gradient");
    }
    gradient_use use = {tree, g};
    TSNode body = gg__field(gg__function(g->statement), "body");
    if (!is_left_nowhere(in, g->call)) return false;
    if (!ts_node_is_null(g->mark) && !gg__visit(body, asks_no_more, &use))
        return gg__hinder(in, g->mark, "is what more gradients in the function depend on");
    if (!gg__visit(body, is_read_behind, &use))
        return gg__hinder(in, g->call, "is of what was made in front of the loop or branch around it, too");
    return g->body.from == g->body.to || read_names(in, g);
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
    uint32_t at = 0;
    while (!ts_node_eq(gg__child(block, at), statement)) at++;
    return !gg__has_comment(in->tree, gg_node_span(s.found)) && read_arguments(in, out) && read_result(in, out) &&
           read_body(in, out, at);
}
