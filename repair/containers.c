/* Elements of local containers: `d['loss']` of `d = {'loss': x.sum()}`.  See infer.h.
 *
 * DESIGN  Facts are of names, and of the moment Dynamo stopped.  So the container's display is looked for in front of the node, in its block and in
 * those of the if statements around it, and everything that ran between is known to change nothing: assignments to names, whose right sides read
 * no more of the container than its elements, and stores to it.  Nobody else can have got hold of it then. */
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/select.h"

enum { MAX_NESTED = 8 };

typedef struct container {
    const gg_rule_input *in;
    TSNode node, index; /* what is inferred; its key */
    gg_str name;
} container;

/* Text of a string without anything in it that needs reading; empty when it is none. */
static gg_str plain_key(const gg_tree *tree, TSNode node) {
    gg_str text = gg__text(tree, node);
    bool quoted = gg_node_is(node, "string") && text.len > 2 && (text.ptr[0] == '"' || text.ptr[0] == '\'');
    if (!quoted || text.ptr[1] == text.ptr[0] || gg_str_contains(text, GG_STR("\\"))) return GG_STR_NULL;
    return gg_str_slice(text, 1, text.len - 1);
}

/* Nothing but an element of the container is read. */
static bool only_loads(TSNode node, void *data) {
    const container *c = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) ||
        !gg_str_equal(gg__text(c->in->tree, node), c->name))
        return true;
    TSNode parent = gg__parent(node);
    return (gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), node)) ||
           ts_node_start_byte(node) >= ts_node_start_byte(c->node);
}

/* Harmless by its words, or a call of a module that the capture saw to be pure, alone or in a display. */
static bool is_harmless(const container *c, TSNode node, uint32_t depth) {
    bool display = gg_node_is(node, "list") || gg_node_is(node, "tuple") || gg_node_is(node, "expression_list");
    bool call = gg_node_is(node, "call") && gg__is_pure_module(c->in, gg__field(node, "function"));
    if (gg__is_harmless(c->in->tree, node)) return true;
    if (depth == MAX_NESTED || !(display || call)) return false;
    TSNode items = call ? gg__field(node, "arguments") : node;
    for (uint32_t i = 0; i < gg__child_count(items); i++)
        if (!is_harmless(c, gg__child(items, i), depth + 1)) return false;
    return true;
}

static bool is_quiet(const container *c, TSNode expression) {
    return is_harmless(c, expression, 0) && gg__visit(expression, only_loads, (void *)c);
}

/* What ran just before: the statement in front, or the if statement around, of which only conditions did.  Null when that is not plain to see. */
static TSNode before(TSNode at) {
    TSNode next = ts_node_prev_named_sibling(at);
    while (gg_node_is(next, "comment")) next = ts_node_prev_named_sibling(next);
    if (!ts_node_is_null(next)) return next;
    TSNode around = gg__parent(gg__parent(at));
    if (gg_node_is(around, "else_clause") || gg_node_is(around, "elif_clause")) around = gg__parent(around);
    return gg_node_is(around, "if_statement") ? around : (TSNode){0};
}

static bool are_quiet_conditions(const container *c, TSNode node) {
    if (!is_quiet(c, gg__field(node, "condition"))) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode clause = gg__child(node, i);
        if (gg_node_is(clause, "elif_clause") && !is_quiet(c, gg__field(clause, "condition"))) return false;
    }
    return true;
}

/* The value that `d['loss'] = v` stores; null when the statement is another. */
static TSNode stored(const container *c, TSNode statement, gg_str *key) {
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    if (!gg_node_is(statement, "expression_statement") || !gg_node_is(assignment, "assignment") ||
        !gg_node_is(left, "subscript") || gg__child_count(left) != 2 ||
        !gg_node_is(gg__field(left, "value"), "identifier") ||
        !gg_str_equal(gg__text(c->in->tree, gg__field(left, "value")), c->name))
        return (TSNode){0};
    *key = plain_key(c->in->tree, gg__field(left, "subscript"));
    return key->len ? gg__field(assignment, "right") : (TSNode){0};
}

static bool is_quiet_statement(const container *c, TSNode at) {
    gg_str key;
    if (gg__covers(at, gg_node_span(c->node))) return are_quiet_conditions(c, at);
    TSNode value = stored(c, at, &key), assignment = gg__assignment(at);
    if (!ts_node_is_null(value)) return is_quiet(c, value);
    if (!ts_node_is_null(assignment)) return is_quiet(c, gg__field(assignment, "right"));
    if (gg_node_is(at, "pass_statement") || gg_node_is(gg__child(at, 0), "string")) return true;
    return gg__is_diagnostic(c->in, at) && !gg__reads(c->in->tree, at, c->name);
}

static TSNode of_dictionary(const container *c, TSNode display, gg_str wanted) {
    TSNode found = {0}, none = {0};
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode pair = gg__child(display, i);
        if (gg_node_is(pair, "comment")) continue;
        gg_str key = plain_key(c->in->tree, gg__field(pair, "key"));
        if (!gg_node_is(pair, "pair") || key.len == 0) return none;
        if (gg_str_equal(key, wanted)) found = gg__field(pair, "value"); /* the last one stays */
    }
    return found;
}

static TSNode of_list(gg__inference *s, const container *c, TSNode display) {
    TSNode items[GG__MAX_BINDINGS], none = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < gg__child_count(display); i++) {
        TSNode item = gg__child(display, i);
        if (gg_node_is(item, "comment")) continue;
        if (gg_node_is(item, "list_splat") || count == GG__MAX_BINDINGS) return none;
        items[count++] = item;
    }
    gg__meta at = gg__infer_node(s, c->index);
    int32_t place;
    if (at.sort != GG__SCALAR_INT || !at.constant || count == 0 || !gg__dim(at, (int32_t)count, &place)) return none;
    return items[place];
}

typedef struct kept {
    const container *c;
    TSNode from; /* where the value was put in */
} kept;

/* Is every name that the value is made of what it was then? */
static bool is_unbound_since(TSNode node, void *data) {
    const kept *k = data;
    const gg_tree *tree = k->c->in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(tree, node);
    if (gg_str_equal(name, k->c->name)) return false;
    for (TSNode at = before(gg__statement(k->c->node)); !ts_node_eq(at, k->from); at = before(at))
        if (!gg__covers(at, gg_node_span(k->c->node)) && gg__binds(tree, at, name)) return false;
    return true;
}

/* What is around the node in its own statement runs once, here, and binds nothing before. */
static bool is_plain_place(const container *c, TSNode own) {
    static const char *const statements[] = {"expression_statement", "return_statement", "if_statement",
                                             "assert_statement"};
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(statements); i++) known = known || gg_node_is(own, statements[i]);
    for (TSNode at = c->node; known && !ts_node_eq(at, own); at = gg__parent(at))
        known = !ts_node_is_null(at) && !gg__is_comprehension(at) && !gg_node_is(at, "lambda");
    return known;
}

/* No function inside, and nothing that sees all names, has the container. */
static bool is_plain_scope(TSNode node, void *data) {
    const container *c = data;
    if (gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement"))
        return !gg__reads(c->in->tree, node, c->name);
    if (gg_node_is(node, "named_expression")) return !gg__covers(gg__statement(c->node), gg_node_span(node));
    if (!gg_node_is(node, "identifier")) return true;
    bool own = gg_str_equal(gg__text(c->in->tree, node), c->name) && !gg__is_member_name(node);
    return !gg__watches_names(c->in->tree, node) && (!own || ts_node_eq(gg__function(node), gg__function(c->node)));
}

static bool is_plain_local(const container *c) {
    TSNode own = gg__statement(c->node), function = gg__function(c->node);
    return !ts_node_is_null(own) && gg_node_is(function, "function_definition") && is_plain_place(c, own) &&
           gg__visit(own, only_loads, (void *)c) && gg__visit(function, is_plain_scope, (void *)c);
}

/* The expression whose value the element still is, and the container's display; null where that is not plain to see. */
static TSNode element_value(gg__inference *s, TSNode node, TSNode *out_display) {
    TSNode holder = gg__field(node, "value"), own = gg__statement(node), value = {0}, put = {0}, none = {0}, at;
    container c = {s->in, node, gg__field(node, "subscript"), gg__text(s->in->tree, holder)};
    if (!gg_node_is(holder, "identifier") || gg__child_count(node) != 2 || !is_plain_local(&c)) return none;
    gg_str wanted = plain_key(s->in->tree, c.index);
    for (at = before(own); !ts_node_is_null(at); at = before(at)) {
        gg_str key = GG_STR_NULL;
        if (!is_quiet_statement(&c, at)) return none;
        TSNode assignment = gg__assignment(at), right = stored(&c, at, &key);
        if (!ts_node_is_null(right) && ts_node_is_null(put) && gg_str_equal(key, wanted)) {
            value = right;
            put = at;
        }
        if (gg_str_equal(gg__text(s->in->tree, gg__field(assignment, "left")), c.name)) break;
    }
    TSNode display = gg__strip_parentheses(gg__field(gg__assignment(at), "right"));
    bool dictionary = gg_node_is(display, "dictionary");
    if (dictionary ? wanted.len == 0 : !ts_node_is_null(put)) return none;
    if (dictionary && ts_node_is_null(put)) value = of_dictionary(&c, display, wanted);
    if (gg_node_is(display, "list") || gg_node_is(display, "tuple") || gg_node_is(display, "expression_list"))
        value = of_list(s, &c, display);
    kept k = {&c, ts_node_is_null(put) ? at : put};
    *out_display = display;
    return !ts_node_is_null(value) && gg__visit(value, is_unbound_since, &k) ? value : none;
}

TSNode gg__element_value(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in};
    TSNode display;
    return element_value(&s, node, &display);
}

TSNode gg__held_display(const gg_rule_input *in, TSNode name) {
    TSNode at = gg__statement(name), none = {0};
    container c = {in, name, none, gg__text(in->tree, name)};
    if (!gg_node_is(name, "identifier") || !is_plain_local(&c)) return none;
    for (at = before(at); !ts_node_is_null(at); at = before(at)) {
        gg_str key;
        if (gg_str_equal(gg__text(in->tree, gg__field(gg__assignment(at), "left")), c.name)) break;
        if (!is_quiet_statement(&c, at) || !ts_node_is_null(stored(&c, at, &key))) return none;
    }
    TSNode display = gg__strip_parentheses(gg__field(gg__assignment(at), "right"));
    kept k = {&c, at};
    return !ts_node_is_null(display) && gg__visit(display, is_unbound_since, &k) ? display : none;
}

gg__meta gg__element(gg__inference *s, TSNode node) {
    TSNode display = {0}, value = element_value(s, node, &display);
    gg__meta out = gg__infer_node(s, value);
    if (out.sort != GG__TENSOR) return gg__unknown;
    out.smooth = out.linear = true; /* it is there already */
    out.fresh = false;
    out.source = display; /* whoever has the container has it */
    return out;
}
