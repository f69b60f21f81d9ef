/* The statements that make of x what `torch.autograd.grad(s, x)` is taken of, as a function.  See gradient_function.h.
 *
 * DESIGN  torch.func.grad runs the function with a tensor that only lives in it.  So nothing may get out of it but what it returns: the statements bind names,
 * and nothing in the file sets attributes but __init__. */
#include "repair/alias.h"
#include "repair/gradient_function.h"
#include "repair/hindrance.h"

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

bool gg__read_gradient_body(const gg_rule_input *in, gg__gradient *g, uint32_t from, uint32_t at) {
    const gg_tree *tree = in->tree;
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
