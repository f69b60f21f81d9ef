/* Numbers taken out of tensors: those that can only be one of a few constants.  See scalar.h. */
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

typedef struct choices {
    const gg_tree *tree;
    gg_str name;
    TSNode scope;
    gg__sort sort; /* of all; GG__UNKNOWN: of two kinds, or none yet */
    double values[GG__MAX_VALUES];
    size_t count;
} choices;

static bool add(choices *c, TSNode node) {
    if (c->count == GG__MAX_VALUES || !gg__literal_value(c->tree, node, &c->values[c->count])) return false;
    TSNode digits = gg__strip_parentheses(node);
    if (gg_node_is(digits, "unary_operator")) digits = gg__strip_parentheses(gg__field(digits, "argument"));
    gg__sort sort = gg_node_is(digits, "float") ? GG__SCALAR_FLOAT : GG__SCALAR_INT;
    c->sort = c->count++ == 0 || c->sort == sort ? sort : GG__UNKNOWN;
    return true;
}

static bool add_choice(TSNode node, void *data) {
    choices *c = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(c->tree, node), c->name) || !gg__is_binding(node))
        return true;
    TSNode assignment = gg__assigned(node);
    return !ts_node_is_null(assignment) && ts_node_eq(gg__function(node), c->scope) &&
           add(c, gg__field(assignment, "right"));
}

/* What a number is: a literal, or a name that is bound to literals only. */
static choices choices_of(const gg_tree *tree, TSNode node) {
    node = gg__strip_parentheses(node);
    choices c = {.tree = tree, .name = gg__text(tree, node), .scope = gg__function(node)};
    if (add(&c, node)) return c;
    bool known = gg_node_is(node, "identifier") && gg_node_is(c.scope, "function_definition") &&
                 gg__visit(c.scope, add_choice, &c);
    return known ? c : (choices){.count = 0};
}

double gg__number_bound(const gg_tree *tree, TSNode node) {
    choices c = choices_of(tree, node);
    double bound = c.count ? 0 : INFINITY;
    for (size_t i = 0; i < c.count; i++) bound = fmax(bound, fabs(c.values[i]));
    return bound;
}

gg__sort gg__number_sort(const gg_tree *tree, TSNode node) {
    return choices_of(tree, node).sort;
}

void gg__scalar_values(gg__scalar *s, const gg_tree *tree, TSNode other, char op, bool is_left) {
    if (s->value_count == 0) return;
    choices c = choices_of(tree, other);
    double results[GG__MAX_VALUES];
    size_t count = 0;
    bool fits = s->value_count * c.count <= GG__MAX_VALUES && op != '/';
    for (size_t i = 0; fits && i < s->value_count; i++)
        for (size_t k = 0; k < c.count; k++) {
            double a = is_left ? s->values[i] : c.values[k], b = is_left ? c.values[k] : s->values[i];
            results[count++] = op == '+' ? a + b : op == '-' ? a - b : a * b;
        }
    s->value_count = count;
    for (size_t i = 0; i < count; i++) s->values[i] = results[i];
}

bool gg__scalar_squares(gg__scalar *s) {
    volatile double two = 2; /* the library's function is asked, as Python does, not the compiler */
    bool alike = s->value_count > 0;
    for (size_t i = 0; i < s->value_count; i++) {
        double square = s->values[i] * s->values[i];
        alike = alike && pow(s->values[i], two) == square;
        s->values[i] = square;
    }
    return alike;
}
