/* In-place changes, and who may see them.  See syntax.h.
 *
 * A rewrite that makes a copy where the program had the tensor itself shows when either is changed in place later.  Whether two names share
 * memory is not known from syntax, so a change counts unless the changed name certainly holds a tensor of its own. */
#include "repair/syntax.h"

typedef struct changes {
    const gg_tree *tree;
    uint32_t from;
    gg__visitor found; /* gets what is changed: a name, an attribute or a subscript */
    void *data;
} changes;

static bool ends_in_underscore(const gg_tree *tree, TSNode function) {
    TSNode name = gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function;
    gg_str text = gg__text(tree, name);
    return gg_str_ends_with(text, GG_STR("_")) && !gg_str_ends_with(text, GG_STR("__"));
}

/* `f(x, out=y)`, `f(x, inplace=True)`, `torch.relu_(x)`, `x.add_(1)` */
static bool visit_call(TSNode call, const changes *c) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    bool method = gg_node_is(function, "attribute"), in_place = ends_in_underscore(c->tree, function);
    if (in_place && method && !c->found(gg__field(function, "object"), c->data)) return false;
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (!gg_node_is(argument, "keyword_argument")) continue;
        gg_str name = gg__text(c->tree, gg__field(argument, "name"));
        if (gg_str_is(name, "out") && !c->found(gg__field(argument, "value"), c->data)) return false;
        in_place = in_place || (gg_str_is(name, "inplace") && !gg_node_is(gg__field(argument, "value"), "false"));
    }
    for (uint32_t i = 0; in_place && i < gg__child_count(arguments); i++)
        if (!c->found(gg__child(arguments, i), c->data)) return false;
    return true;
}

/* `x[i] = v`, `x.data = v`, and both below a pattern */
static bool visit_target(TSNode target, const changes *c) {
    if (gg_node_is(target, "subscript")) return c->found(gg__field(target, "value"), c->data);
    if (gg_node_is(target, "attribute"))
        return !gg_str_is(gg__text(c->tree, gg__field(target, "attribute")), "data") ||
               c->found(gg__field(target, "object"), c->data);
    for (uint32_t i = 0; i < gg__child_count(target); i++)
        if (!visit_target(gg__child(target, i), c)) return false;
    return true;
}

static bool on_node(TSNode node, void *data) {
    const changes *c = data;
    if (ts_node_end_byte(node) < c->from) return true;
    if (gg_node_is(node, "call")) return visit_call(node, c);
    if (gg_node_is(node, "augmented_assignment")) return c->found(gg__field(node, "left"), c->data);
    bool binds =
        gg_node_is(node, "assignment") || gg_node_is(node, "for_statement") || gg_node_is(node, "for_in_clause");
    return !binds || visit_target(gg__field(node, "left"), c);
}

/* Calls found for what is changed in place from a byte on; false when it returned false. */
static bool each_change(const gg_tree *tree, TSNode scope, uint32_t from, gg__visitor found, void *data) {
    changes c = {tree, from, found, data};
    return gg__visit(scope, on_node, &c);
}

/* What runs after the statement may be above it, in a loop. */
static uint32_t seen_from(TSNode statement) {
    uint32_t from = ts_node_start_byte(statement);
    for (TSNode at = statement; !ts_node_is_null(at) && !gg_node_is(at, "function_definition"); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) from = ts_node_start_byte(at);
    return from;
}

typedef struct sharing {
    const gg_rule_input *in;
    TSNode function;
    gg_str names[2]; /* those that are an alias now and would not be after the edit */
} sharing;

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

/* The value that the name holds at a node: the right side of the nearest assignment before it in the same block, or in a block around
 * what is inside if statements; null when that is not plain to see. */
static TSNode value_at(const gg_tree *tree, TSNode node, gg_str name) {
    for (TSNode in = gg__statement(node); !ts_node_is_null(in); in = if_around(tree, in, name))
        for (TSNode at = ts_node_prev_named_sibling(in); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
            if (!gg__binds(tree, at, name)) continue;
            TSNode assignment = gg__child(at, 0);
            bool plain = gg_node_is(at, "expression_statement") && gg_node_is(assignment, "assignment") &&
                         gg_node_is(gg__field(assignment, "left"), "identifier");
            return plain ? gg__field(assignment, "right") : (TSNode){0};
        }
    return (TSNode){0};
}

static bool is_any(TSNode node, const char *const *types, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (gg_node_is(node, types[i])) return true;
    return false;
}

/* Arithmetic and comparison make new tensors, whatever their operands are; a literal is none. */
static bool is_new(TSNode value) {
    static const char *const types[] = {"binary_operator", "comparison_operator", "integer", "float", "string"};
    return is_any(gg__strip_parentheses(value), types, GG_COUNT(types));
}

/* A container of its own; what it holds may be another name's. */
static bool is_container(TSNode value) {
    static const char *const types[] = {"list", "tuple", "dictionary", "set", "list_comprehension"};
    return is_any(gg__strip_parentheses(value), types, GG_COUNT(types));
}

static TSNode root_of(TSNode node) {
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

typedef struct mention {
    const sharing *s;
    gg_str part; /* text of an attribute */
} mention;

/* Is the attribute given to, or taken from, one of the names? */
static bool does_not_tie(TSNode node, void *data) {
    const mention *m = data;
    const gg_tree *tree = m->s->in->tree;
    if (!gg_node_is(node, "assignment")) return true;
    gg_str left = gg__text(tree, gg__field(node, "left")), right = gg__text(tree, gg__field(node, "right"));
    for (size_t i = 0; i < GG_COUNT(m->s->names); i++) {
        gg_str name = m->s->names[i];
        if (name.len && ((gg_str_equal(left, name) && gg_str_contains(right, m->part)) ||
                         (gg_str_contains(left, m->part) && gg__reads(tree, gg__field(node, "right"), name))))
            return false;
    }
    return true;
}

static bool does_not_show(TSNode changed, void *data) {
    const sharing *s = data;
    const gg_tree *tree = s->in->tree;
    TSNode root = root_of(changed);
    if (!gg_node_is(root, "identifier")) return true; /* a value of its own */
    gg_str name = gg__text(tree, root);
    for (size_t i = 0; i < GG_COUNT(s->names); i++)
        if (s->names[i].len && gg__reads(tree, changed, s->names[i])) return false;
    if (gg_str_is(name, "self")) {
        mention m = {s, gg__text(tree, changed)};
        return gg__visit(s->function, does_not_tie, &m);
    }
    /* `n += 1` on a number, `v[i] = x` on a dict: only tensors share what is selected */
    gg__meta fact = gg__infer(s->in, root);
    if (fact.sort != GG__UNKNOWN && fact.sort != GG__TENSOR) return true;
    TSNode value = value_at(tree, changed, name);
    return is_new(value) || (gg_node_is(changed, "identifier") && is_container(value));
}

bool gg__alias_shows(const gg_rule_input *in, TSNode statement, TSNode arm, gg_str target) {
    gg__meta m = gg__infer(in, arm);
    if (m.fresh) return false;
    TSNode source = root_of(ts_node_is_null(m.source) ? arm : m.source);
    sharing s = {in, gg__function(statement), {target, gg__text(in->tree, source)}};
    return !each_change(in->tree, s.function, seen_from(statement), does_not_show, &s);
}

typedef struct holder {
    const gg_rule_input *in;
    gg_str name;
    uint32_t from, to;
} holder;

/* Is the name only read here, by what makes a new tensor of it? */
static bool keeps_to_itself(TSNode node, void *data) {
    const holder *h = data;
    const gg_tree *tree = h->in->tree;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(tree, node), h->name)) return true;
    if (ts_node_start_byte(node) < h->from || ts_node_start_byte(node) >= h->to) return true;
    TSNode parent = gg__parent(node);
    while (gg_node_is(parent, "parenthesized_expression")) parent = gg__parent(parent);
    if (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), node)) return true;
    if (gg_node_is(parent, "attribute"))
        return ts_node_eq(gg__field(parent, "attribute"), node) ||
               (gg_node_is(gg__parent(parent), "call") && gg__is_operation(h->in, gg__parent(parent)));
    return gg_node_is(parent, "binary_operator") || gg_node_is(parent, "comparison_operator");
}

bool gg__owns(const gg_rule_input *in, TSNode statement, gg_str name) {
    TSNode value = value_at(in->tree, statement, name), function = gg__function(statement);
    if (!(is_new(value) || is_container(value)) || !gg_node_is(function, "function_definition")) return false;
    holder h = {in, name, ts_node_end_byte(value), ts_node_start_byte(statement)};
    return gg__visit(function, keeps_to_itself, &h);
}
