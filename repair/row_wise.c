/* Modules that treat each row alike.  See row_wise.h. */
#include "repair/row_wise.h"

#include "repair/alias.h"
#include "repair/built.h"

enum { MAX_DEPTH = 4, MAX_LOCALS = 16 };

static bool is_row_wise_path(const gg_tree *tree, TSNode class, gg_str path, int depth);

/* ---- activations ----------------------------------------------------------------------------------------------------------------- */

static const char *const activations[] = {"relu",   "gelu",     "silu",  "tanh",      "sigmoid",   "softplus",
                                          "elu",    "selu",     "relu6", "mish",      "hardswish", "leaky_relu",
                                          "square", "softsign", "exp",   "logsigmoid"};

bool gg__is_activation_method(gg_str name) {
    static const char *const methods[] = {"relu", "tanh", "sigmoid", "square", "exp"};
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
    return own && count == 1 && is_row_wise_path(r->tree, r->class, gg__text(r->tree, function), r->depth + 1);
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

static bool is_row_wise_forward(const gg_tree *tree, TSNode class, TSNode forward, int depth) {
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

static bool is_row_wise_class(const gg_tree *tree, TSNode name, int depth) {
    bool only = false;
    TSNode class = gg__class_named(tree, gg__text(tree, name), &only), bases = gg__field(class, "superclasses"),
           forward = {0};
    if (!only || depth > MAX_DEPTH || gg__child_count(bases) != 1 ||
        !gg__refers_to(tree, gg__child(bases, 0), "torch.nn.Module"))
        return false;
    TSNode body = gg__field(class, "body");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode method = gg__child(body, i);
        gg_str called = gg__text(tree, gg__field(method, "name"));
        if (gg_node_is(method, "comment") || gg_node_is(gg__child(method, 0), "string")) continue;
        if (!gg_node_is(method, "function_definition") || gg_str_is(called, "__call__")) return false;
        if (gg_str_is(called, "forward")) forward = method;
    }
    return !ts_node_is_null(forward) && is_row_wise_forward(tree, class, forward, depth);
}

/* ---- how modules are made ----------------------------------------------------------------------------------------------------------- */

typedef struct making {
    const gg_tree *tree;
    gg_str path; /* `self.experts` */
    int depth;
    uint32_t count;
} making;

static bool is_row_wise_maker(TSNode node, void *data) {
    static const char *const makers[] = {"Linear",    "LayerNorm", "RMSNorm",    "Identity",   "ReLU",
                                         "GELU",      "SiLU",      "Tanh",       "Sigmoid",    "Softplus",
                                         "ELU",       "SELU",      "ReLU6",      "Mish",       "Hardswish",
                                         "LeakyReLU", "Softsign",  "LogSigmoid", "Sequential", "ModuleList"};
    const making *m = data;
    if (!gg_node_is(node, "call")) return true;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (gg_node_is(gg__parent(node), "for_in_clause"))
        return gg__names_builtin(m->tree, function, "range") || gg__names_builtin(m->tree, function, "zip");
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        gg_str name =
            gg_node_is(argument, "keyword_argument") ? gg__text(m->tree, gg__field(argument, "name")) : GG_STR_NULL;
        if (gg_str_is(name, "inplace") || gg_node_is(argument, "list_splat") ||
            gg_node_is(argument, "dictionary_splat"))
            return false;
    }
    if (gg_node_is(function, "identifier") && is_row_wise_class(m->tree, function, m->depth + 1)) return true;
    TSNode attribute = gg__field(function, "attribute");
    gg_str name = gg__text(m->tree, ts_node_is_null(attribute) ? function : attribute);
    if (!gg__is_one_of(name, makers, GG_COUNT(makers))) return false;
    if (gg_str_is(name, "LayerNorm") || gg_str_is(name, "RMSNorm")) { /* over the last dimension alone */
        TSNode shape = gg__child(arguments, 0);
        if (gg_node_is(shape, "tuple") || gg_node_is(shape, "list") || gg_node_is(shape, "call")) return false;
    }
    return !ts_node_is_null(attribute) && gg__refers_to(m->tree, gg__field(function, "object"), "torch.nn");
}

static bool is_made_row_wise(TSNode node, void *data) {
    making *m = data;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right"), function = gg__field(node, "function");
    if (gg_node_is(node, "call") && gg_str_equal(gg__text(m->tree, gg__field(function, "object")), m->path))
        return false; /* self.experts.append(…) */
    if (!gg_node_is(node, "assignment")) return true;
    if (gg_node_is(left, "subscript") && gg_str_equal(gg__text(m->tree, gg__field(left, "value")), m->path))
        return false;
    bool several = gg_node_is(left, "pattern_list") || gg_node_is(left, "tuple_pattern");
    for (uint32_t i = 0; several && i < gg__child_count(left); i++) /* self.up, self.down = … */
        if (gg_str_equal(gg__text(m->tree, gg__child(left, i)), m->path)) return false;
    if (!gg_str_equal(gg__text(m->tree, left), m->path)) return true;
    m->count++;
    return gg_node_is(right, "call") && gg__visit(right, is_row_wise_maker, m);
}

static bool is_row_wise_path(const gg_tree *tree, TSNode class, gg_str path, int depth) {
    making m = {.tree = tree, .path = path, .depth = depth};
    return depth <= MAX_DEPTH && gg__visit(class, is_made_row_wise, &m) && m.count > 0;
}

bool gg__is_row_wise(const gg_tree *tree, TSNode function) {
    TSNode path = gg__modules_called(tree, function), class = gg__class_around(function);
    /* every class of the file that has such an attribute: one may be derived from another */
    return !ts_node_is_null(path) && !ts_node_is_null(class) &&
           is_row_wise_path(tree, gg_tree_root(tree), gg__text(tree, path), 0);
}
