/* What a program has read of a tensor, or asked of its sizes, by the time it comes to an expression.  See infer.h. */
#include "repair/infer.h"
#include "repair/scalar.h"

#include <math.h>

bool gg__whole_literal(const gg_tree *tree, TSNode node, int64_t *out) {
    double value;
    if (!gg__literal_value(tree, node, &value) || fabs(value) > 1e9 || gg_node_is(node, "float")) return false;
    *out = (int64_t)value;
    return true;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

typedef struct evidence {
    const gg_tree *tree;
    gg_span site; /* the break */
    gg_str name;
    int32_t rank, behind;
    int64_t found;
    bool holds; /* what is looked at is a condition that holds */
} evidence;

/* `x.shape[1]`, `x.size(1)`, `len(x)` */
static bool is_size(const evidence *e, TSNode node) {
    const gg_tree *tree = e->tree;
    TSNode function = gg__field(node, "function"), of, dim;
    int64_t at = -1;
    int32_t front = e->rank - 1 - e->behind;
    if (gg_node_is(node, "call") && gg__names_builtin(tree, function, "len"))
        return front == 0 && gg_str_equal(gg__text(tree, gg__child(gg__field(node, "arguments"), 0)), e->name);
    bool call = gg_node_is(node, "call");
    TSNode attribute = call ? function : gg__field(node, "value");
    of = gg__field(attribute, "object");
    dim = call ? gg__child(gg__field(node, "arguments"), 0) : gg__field(node, "subscript");
    bool sized = gg_str_is(gg__text(tree, gg__field(attribute, "attribute")), call ? "size" : "shape");
    if (!sized || !gg__whole_literal(tree, dim, &at) || !gg_str_equal(gg__text(tree, of), e->name)) return false;
    return at == front || at == -1 - e->behind;
}

/* `x.shape[0] > 3` */
static void note_comparison(evidence *e, TSNode node) {
    const gg_tree *tree = e->tree;
    gg_str op = gg__text(tree, ts_node_child(node, 1));
    int64_t value = 0;
    if (!e->holds || gg__child_count(node) != 2 || !is_size(e, gg__child(node, 0)) ||
        !gg__whole_literal(tree, gg__child(node, 1), &value))
        return;
    if (gg_str_is(op, ">")) e->found = larger(e->found, value + 1);
    if (gg_str_is(op, ">=") || gg_str_is(op, "==")) e->found = larger(e->found, value);
}

/* `x[:, 3]` */
static void note_subscript(evidence *e, TSNode node) {
    const gg_tree *tree = e->tree;
    TSNode indices[GG__MAX_RANK];
    uint32_t count = gg__indices_of(node, indices, GG__MAX_RANK);
    int32_t front = e->rank - 1 - e->behind;
    int64_t value = 0;
    if (!gg_str_equal(gg__text(tree, gg__field(node, "value")), e->name) || front >= (int32_t)count) return;
    for (int32_t i = 0; i < front; i++)
        if (gg_node_is(indices[i], "none") || gg_node_is(indices[i], "ellipsis")) return;
    if (gg__whole_literal(tree, indices[front], &value)) e->found = larger(e->found, value < 0 ? -value : value + 1);
}

static bool is_and(const evidence *e, TSNode node) {
    return gg_node_is(node, "boolean_operator") && gg_str_is(gg__text(e->tree, gg__field(node, "operator")), "and");
}

/* What is evaluated whenever the whole is. */
static bool note_reading(TSNode node, void *data) {
    static const char *const later[] = {"lambda", "function_definition", "block", "class_definition"};
    evidence *e = data;
    TSNode parent = gg__parent(node);
    if (gg__is_one_of(gg_str_from(ts_node_type(node)), later, GG_COUNT(later)) || gg__is_comprehension(node))
        return false;
    bool second = gg_node_is(parent, "boolean_operator") && ts_node_eq(gg__field(parent, "right"), node);
    if (second && !(is_and(e, parent) && e->holds)) return false;
    if (gg_node_is(parent, "conditional_expression") && !ts_node_eq(gg__child(parent, 1), node)) return false;
    bool first = gg_node_is(parent, "comparison_operator") &&
                 (ts_node_eq(gg__child(parent, 0), node) || ts_node_eq(gg__child(parent, 1), node));
    if (gg_node_is(parent, "comparison_operator") && !first) return false; /* `a < b < x[3]` */
    if (gg_node_is(node, "comparison_operator")) note_comparison(e, node);
    if (gg_node_is(node, "subscript")) note_subscript(e, node);
    return true;
}

/* Visits as far as each visit goes on, unlike gg__visit. */
static void look(evidence *e, TSNode node, uint32_t depth) {
    if (ts_node_is_null(node) || depth > 60 || !note_reading(node, e)) return;
    bool was = e->holds; /* of `a and b` both hold; of anything else nobody knows what its parts are */
    e->holds = was && (is_and(e, node) || gg_node_is(node, "parenthesized_expression"));
    for (uint32_t i = 0; i < gg__child_count(node); i++) look(e, gg__child(node, i), depth + 1);
    e->holds = was;
}

static void look_at_statement(evidence *e, TSNode statement) {
    bool branch = gg_node_is(statement, "if_statement") || gg_node_is(statement, "while_statement");
    TSNode looked_at = statement;
    if (branch) looked_at = gg__field(statement, "condition");
    if (gg_node_is(statement, "for_statement")) looked_at = gg__field(statement, "right");
    e->holds = gg_node_is(statement, "assert_statement");
    if (e->holds) looked_at = gg__child(statement, 0); /* its message is for when it does not hold */
    look(e, looked_at, 0);
}

/* Is it the statement whose conditions the break is in?  What is inside of it runs in any case, once an edit has made a selection of it. */
static bool is_replaced(const evidence *e, TSNode statement) {
    if (!gg_node_is(statement, "if_statement") && !gg_node_is(statement, "while_statement")) return false;
    if (gg__covers(gg__field(statement, "condition"), e->site)) return true;
    for (uint32_t i = 0; i < gg__child_count(statement); i++) {
        TSNode clause = gg__child(statement, i);
        if (gg_node_is(clause, "elif_clause") && gg__covers(gg__field(clause, "condition"), e->site)) return true;
    }
    return false;
}

/* Of `flag and t`: what is in front of the break stays a condition of Python's, and holds; the break itself is evaluated in any case. */
static bool look_in_front(evidence *e, TSNode condition, uint32_t until) {
    TSNode inner = gg__strip_parentheses(condition);
    if (is_and(e, inner))
        return look_in_front(e, gg__field(inner, "left"), until) && look_in_front(e, gg__field(inner, "right"), until);
    e->holds = ts_node_end_byte(inner) <= until;
    look(e, inner, 0);
    return e->holds;
}

/* The name's value where it is bound last, or null; and what was read of it since. */
static TSNode follow(evidence *e, TSNode node) {
    const gg_tree *tree = e->tree;
    TSNode function = gg__function(node), none = {0};
    for (TSNode at = node, up = gg__parent(at); !ts_node_is_null(up) && !ts_node_eq(at, function);
         at = up, up = gg__parent(up)) {
        bool loop = gg_node_is(up, "for_statement") || gg_node_is(up, "while_statement");
        if (loop && gg__binds(tree, up, e->name)) return none;
        bool branch = gg_node_is(up, "if_statement") || gg_node_is(up, "elif_clause");
        bool taken = branch && ts_node_eq(gg__field(up, "consequence"), at);
        bool inside = ts_node_eq(gg__field(up, "condition"), at);
        if (is_replaced(e, up)) {
            e->found = 0;
            look_in_front(e, gg__field(up, "condition"), taken || inside ? e->site.start : 0);
        } else if (branch && !inside) {
            e->holds = taken;
            look(e, gg__field(up, "condition"), 0);
        }
        if (gg_node_is(up, "lambda") || gg__is_comprehension(up)) return none;
        if (!gg_node_is(up, "block")) continue;
        for (TSNode before = ts_node_prev_named_sibling(at); !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            TSNode assignment = gg__child(before, 0);
            if (!gg__binds(tree, before, e->name)) {
                look_at_statement(e, before);
                continue;
            }
            bool plain = gg_node_is(before, "expression_statement") && gg_node_is(assignment, "assignment") &&
                         gg_str_equal(gg__text(tree, gg__field(assignment, "left")), e->name);
            return plain ? gg__field(assignment, "right") : none;
        }
    }
    return none;
}

TSNode gg__read_since(const gg_rule_input *in, TSNode node, gg_str name, int32_t rank, int32_t behind, int64_t *least) {
    evidence e = {.tree = in->tree, .site = in->span, .name = name, .rank = rank, .behind = behind};
    TSNode value = follow(&e, node);
    *least = e.found;
    return value;
}
