/* Modules that treat each row alike.  See row_wise.h. */
#include "repair/row_wise.h"

enum { MAX_LOCALS = 16 };

/* ---- activations ----------------------------------------------------------------------------------------------------------------- */

static const char *const activations[] = {"relu",      "gelu",       "silu",   "tanh",     "sigmoid",
                                          "softplus",  "elu",        "selu",   "relu6",    "mish",
                                          "hardswish", "leaky_relu", "square", "softsign", "logsigmoid"};

bool gg__is_activation_method(gg_str name) {
    static const char *const methods[] = {"relu", "tanh", "sigmoid", "square"};
    return gg__is_one_of(name, methods, GG_COUNT(methods));
}

bool gg__is_activation(const gg_tree *tree, TSNode function) {
    TSNode object = gg__field(function, "object");
    return gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), activations, GG_COUNT(activations)) &&
           (gg__refers_to(tree, object, "torch") || gg__refers_to(tree, object, "torch.nn.functional"));
}

/* ---- forward() of a class of the file --------------------------------------------------------------------------------------------- */

typedef struct rows {
    const gg_tree *tree;
    TSNode class;
    gg_str names[MAX_LOCALS]; /* that hold rows */
    size_t count;
    int depth;
} rows;

static bool is_of_rows(const rows *r, TSNode node);

static bool is_number(TSNode node) {
    if (gg_node_is(node, "unary_operator")) node = gg__field(node, "argument");
    return gg_node_is(node, "integer") || gg_node_is(node, "float");
}

static bool has_no_inplace(const gg_tree *tree, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i), value = gg__field(argument, "value");
        if (!gg_node_is(argument, "keyword_argument") ||
            gg_str_is(gg__text(tree, gg__field(argument, "name")), "inplace"))
            return false;
        if (!is_number(value) && !gg_node_is(value, "string")) return false; /* approximate="tanh" */
    }
    return true;
}

/* `h.chunk(2, dim=-1)`, `h.chunk(2, -1)` */
static bool is_chunk_of_rows(const rows *r, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           dim = gg__child(arguments, 1);
    if (!gg_node_is(call, "call") || gg__child_count(arguments) != 2) return false;
    if (gg_node_is(dim, "keyword_argument")) dim = gg__field(dim, "value");
    return gg_str_is(gg__text(r->tree, gg__field(function, "attribute")), "chunk") &&
           is_number(gg__child(arguments, 0)) && gg_str_is(gg__text(r->tree, dim), "-1") &&
           is_of_rows(r, gg__field(function, "object"));
}

static bool is_call_of_rows(const rows *r, TSNode call) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments"),
           object = gg__field(function, "object");
    uint32_t count = gg__child_count(arguments);
    if (gg__is_activation_method(gg__text(r->tree, gg__field(function, "attribute"))) && count == 0)
        return is_of_rows(r, object);
    if (count == 0 || !is_of_rows(r, gg__child(arguments, 0))) return false;
    if (gg__is_activation(r->tree, function)) return has_no_inplace(r->tree, arguments, 1);
    bool own = gg_node_is(function, "attribute") && gg_str_is(gg__text(r->tree, object), "self");
    return own && count == 1 && gg__is_made_row_wise(r->tree, r->class, gg__text(r->tree, function), r->depth + 1);
}

static bool is_of_rows(const rows *r, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "identifier")) {
        for (size_t i = 0; i < r->count; i++)
            if (gg_str_equal(gg__text(r->tree, node), r->names[i])) return true;
        return false;
    }
    if (gg_node_is(node, "call")) return is_call_of_rows(r, node);
    if (!gg_node_is(node, "binary_operator")) return false;
    static const char *const operators[] = {"+", "-", "*"};
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(r->tree, gg__field(node, "operator"));
    if (gg_str_is(op, "/") && is_number(right)) return is_of_rows(r, left); /* a row of zeros divides by none */
    bool a = is_number(left) || is_of_rows(r, left), b = is_number(right) || is_of_rows(r, right);
    return a && b && gg__is_one_of(op, operators, GG_COUNT(operators));
}

static bool hold(rows *r, TSNode name) {
    if (!gg_node_is(name, "identifier") || r->count == MAX_LOCALS) return false;
    r->names[r->count++] = gg__text(r->tree, name);
    return true;
}

bool gg__is_row_wise_forward(const gg_tree *tree, TSNode class, TSNode forward, int depth) {
    rows r = {.tree = tree, .class = class, .depth = depth};
    TSNode parameters = gg__field(forward, "parameters"), body = gg__field(forward, "body");
    TSNode given = gg__child(parameters, 1);
    if (gg__child_count(parameters) != 2) return false;
    if (gg_node_is(given, "typed_parameter")) given = gg__child(given, 0);
    if (!hold(&r, given)) return false;
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode statement = gg__child(body, i), inner = gg__child(statement, 0);
        if (gg_node_is(statement, "comment") || gg_node_is(inner, "string")) continue;
        if (gg_node_is(statement, "return_statement")) return gg__child_count(statement) == 1 && is_of_rows(&r, inner);
        TSNode left = gg__field(inner, "left"), right = gg__field(inner, "right");
        if (!gg_node_is(inner, "assignment")) return false;
        bool several = gg_node_is(left, "pattern_list");
        if (!(several ? is_chunk_of_rows(&r, right) : is_of_rows(&r, right))) return false;
        for (uint32_t k = 0; k < (several ? gg__child_count(left) : 1); k++)
            if (!hold(&r, several ? gg__child(left, k) : left)) return false;
    }
    return false;
}
