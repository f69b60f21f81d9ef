/* Numbers by which something is divided, and whether another call or instance may have zero.  See built.h.
 *
 * Where an arm is not taken, its quotient is not wanted; but zero times the gradient of a division by zero is not a number.  A capture sees one number.
 * That it is never zero is said by what the class gives the attribute, by a default that is no zero, and by who asks for it before. */
#include "repair/built.h"

#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/scalar.h"

enum { MAX_DEPTH = 8 };

typedef struct number {
    const gg_rule_input *in;
    TSNode scope; /* the function that the expression stands in */
    uint32_t depth;
} number;

static bool may_be_zero(const number *n, TSNode node);

static bool is_zero_literal(const gg_tree *tree, TSNode node) {
    double value;
    return gg__literal_value(tree, node, &value) && value == 0;
}

static bool is_other_literal(const gg_tree *tree, TSNode node) {
    double value;
    return gg__literal_value(tree, node, &value) && value != 0;
}

/* ---- parameters ----------------------------------------------------------------------------------------------------------- */

/* A default that is no zero says what the parameter is for; an integer that has to be given is a size, mostly. */
static bool parameter_may_be_zero(const gg_tree *tree, TSNode parameter, bool whole) {
    TSNode value = gg__field(parameter, "value");
    whole = whole || gg_str_is(gg__text(tree, gg__field(parameter, "type")), "int");
    return ts_node_is_null(value) ? !whole : !is_other_literal(tree, value);
}

/* ---- attributes -------------------------------------------------------------------------------------------------------------- */

typedef struct attribute {
    const number *of;
    bool whole; /* the number is an int */
} attribute;

static bool is_not_zero(TSNode value, void *data) {
    const attribute *a = data;
    gg_site nowhere;
    gg_rule_input blind = gg__blind(a->of->in, &nowhere);
    number inner = {&blind, gg__function(value), a->of->depth + 1};
    if (ts_node_is_null(value)) return false;
    if (gg_node_is(value, "identifier")) {
        gg_str name = gg__text(blind.tree, value);
        TSNode parameter = gg__parameter(blind.tree, inner.scope, name);
        if (!ts_node_is_null(parameter)) return !parameter_may_be_zero(blind.tree, parameter, a->whole);
    }
    return !may_be_zero(&inner, value);
}

typedef struct field {
    const gg_tree *tree;
    gg_str name;
    uint32_t others, zeros;
} field;

/* `cap: float = 30.0` in a class, `cap=30.0` among parameters */
static bool count_default(TSNode node, void *data) {
    field *f = data;
    TSNode parent = gg__parent(node), value = {0};
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(f->tree, node), f->name)) return true;
    bool given = gg_node_is(parent, "default_parameter") || gg_node_is(parent, "typed_default_parameter");
    if (given && ts_node_eq(gg__field(parent, "name"), node)) value = gg__field(parent, "value");
    TSNode block = gg__parent(gg__parent(parent));
    bool assigned = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    if (assigned && gg_node_is(gg__parent(block), "class_definition")) value = gg__field(parent, "right");
    if (ts_node_is_null(value)) return true;
    is_other_literal(f->tree, value) ? f->others++ : f->zeros++;
    return true;
}

static bool attribute_may_be_zero(const number *n, TSNode node) {
    const gg_tree *tree = n->in->tree;
    attribute a = {.of = n, .whole = gg__infer(n->in, node).sort == GG__SCALAR_INT};
    field f = {.tree = tree, .name = gg__text(tree, gg__field(node, "attribute"))};
    if (gg__each_attribute_value(tree, node, is_not_zero, &a)) return false;
    bool own = gg_str_is(gg__text(tree, gg__field(node, "object")), "self");
    if (own && !gg__is_of_its_class(tree, node)) return true;
    gg__visit(gg_tree_root(tree), count_default, &f);
    return f.others == 0 || f.zeros > 0;
}

/* ---- who asks ------------------------------------------------------------------------------------------------------------------ */

typedef struct asking {
    const gg_tree *tree;
    gg_str path;
} asking;

/* Does `cap > 0`, `cap != 0`, `0 < cap`, or its truth hold where the condition does? */
static bool asks(const asking *a, TSNode condition) {
    TSNode node = gg__strip_parentheses(condition), left = gg__field(node, "left"), right = gg__field(node, "right");
    if (gg_node_is(node, "boolean_operator") && gg_str_is(gg__text(a->tree, gg__field(node, "operator")), "and"))
        return asks(a, left) || asks(a, right);
    if (!gg_node_is(node, "comparison_operator")) return gg_str_equal(gg__text(a->tree, node), a->path);
    if (gg__child_count(node) != 2) return false;
    gg_str op = gg__text(a->tree, ts_node_child(node, 1));
    TSNode first = gg__child(node, 0), second = gg__child(node, 1);
    bool above = gg_str_is(op, ">") && is_zero_literal(a->tree, second);
    bool below = gg_str_is(op, "<") && is_zero_literal(a->tree, first);
    bool other = gg_str_is(op, "!=") && (is_zero_literal(a->tree, first) || is_zero_literal(a->tree, second));
    return ((above || other) && gg_str_equal(gg__text(a->tree, first), a->path)) ||
           ((below || other) && gg_str_equal(gg__text(a->tree, second), a->path));
}

static bool is_asked_before(const gg_tree *tree, TSNode node) {
    asking a = {tree, gg__text(tree, node)};
    for (TSNode child = node, at = gg__parent(node); !ts_node_is_null(at); child = at, at = gg__parent(at)) {
        if (gg_node_is(at, "function_definition")) return false;
        bool branch = (gg_node_is(at, "if_statement") || gg_node_is(at, "elif_clause")) &&
                      ts_node_eq(gg__field(at, "consequence"), child);
        if (branch && asks(&a, gg__field(at, "condition")) && !gg__binds_path(tree, child, a.path)) return true;
        if (gg_node_is(at, "conditional_expression") && ts_node_eq(gg__child(at, 0), child) &&
            asks(&a, gg__child(at, 1)))
            return true;
    }
    return false;
}

/* `dim ** 0.5`, `math.sqrt(dim)` of what has to be given: of a size. */
static bool is_given(const number *n, TSNode node) {
    const gg_tree *tree = n->in->tree;
    node = gg__strip_parentheses(node);
    TSNode parameter = gg__parameter(tree, n->scope, gg__text(tree, node));
    return gg_node_is(node, "identifier") && !ts_node_is_null(parameter) &&
           ts_node_is_null(gg__field(parameter, "value")) &&
           ts_node_is_null(gg__value_at(tree, node, gg__text(tree, node)));
}

/* ---- expressions ----------------------------------------------------------------------------------------------------------------- */

static bool call_may_be_zero(const number *n, TSNode node) {
    static const char *const keeping[] = {"float", "abs", "sqrt", "fabs", "exp"};
    const gg_tree *tree = n->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    gg_str name = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
    uint32_t count = gg__child_count(arguments);
    if (gg_str_is(name, "exp")) return false;
    if (gg_str_is(name, "sqrt") && count == 1 && is_given(n, gg__child(arguments, 0))) return false;
    if (gg_str_is(name, "max") && count == 2) {
        double a = 0, b = 0;
        bool above = (gg__literal_value(tree, gg__child(arguments, 0), &a) && a > 0) ||
                     (gg__literal_value(tree, gg__child(arguments, 1), &b) && b > 0);
        return !above;
    }
    return !gg__is_one_of(name, keeping, GG_COUNT(keeping)) || count != 1 || may_be_zero(n, gg__child(arguments, 0));
}

static bool operation_may_be_zero(const number *n, TSNode node) {
    const gg_tree *tree = n->in->tree;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(tree, gg__field(node, "operator"));
    if (gg_str_is(op, "*")) return may_be_zero(n, left) || may_be_zero(n, right);
    if (gg_str_is(op, "/")) return may_be_zero(n, left);
    if (gg_str_is(op, "+")) return !is_other_literal(tree, left) && !is_other_literal(tree, right);
    if (!gg_str_is(op, "**")) return true;
    if (is_given(n, left)) return false;
    double power;
    return !(gg__literal_value(tree, right, &power) && power < 0) && may_be_zero(n, left); /* of zero it is an error */
}

static bool name_may_be_zero(const number *n, TSNode node) {
    const gg_tree *tree = n->in->tree;
    gg_str name = gg__text(tree, node);
    TSNode value = gg__value_at(tree, node, name), parameter = gg__parameter(tree, n->scope, name);
    number inner = {n->in, n->scope, n->depth + 1};
    if (!ts_node_is_null(value)) return gg__reads(tree, value, name) || may_be_zero(&inner, value);
    if (ts_node_is_null(parameter)) return true;
    return parameter_may_be_zero(tree, parameter, gg__infer(n->in, node).sort == GG__SCALAR_INT);
}

static bool may_be_zero(const number *n, TSNode node) {
    const gg_tree *tree = n->in->tree;
    node = gg__strip_parentheses(node);
    if (n->depth > MAX_DEPTH || ts_node_is_null(node)) return true;
    gg__meta m = gg__infer(n->in, node);
    if (m.constant) return m.value == 0;
    if (m.filled || is_asked_before(tree, node)) return false;
    number inner = {n->in, n->scope, n->depth + 1};
    if (gg_node_is(node, "attribute")) return attribute_may_be_zero(&inner, node);
    if (gg_node_is(node, "identifier")) return name_may_be_zero(n, node);
    if (gg_node_is(node, "unary_operator")) return may_be_zero(&inner, gg__field(node, "argument"));
    if (gg_node_is(node, "call")) return call_may_be_zero(&inner, node);
    if (gg_node_is(node, "binary_operator")) return operation_may_be_zero(&inner, node);
    if (gg_node_is(node, "boolean_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "or"))
        return may_be_zero(&inner, gg__field(node, "right")); /* the left one, where it is not */
    if (gg_node_is(node, "conditional_expression") && gg__child_count(node) == 3)
        return may_be_zero(&inner, gg__child(node, 0)) || may_be_zero(&inner, gg__child(node, 2));
    return true;
}

bool gg__may_be_zero(const gg_rule_input *in, TSNode node) {
    number n = {in, gg__function(node), 0};
    return may_be_zero(&n, node);
}
