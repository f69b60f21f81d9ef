/* Whether a value is never below zero, as far as its operations tell.  See scalar.h. */
#include "repair/ranges.h"
#include "repair/scalar.h"

/* Whatever their operand is. */
static bool makes_natural(gg_str name) {
    static const char *const names[] = {"abs",    "square", "norm",  "exp",      "sigmoid",       "softmax",
                                        "relu",   "std",    "var",   "softplus", "count_nonzero", "argmax",
                                        "argmin", "isnan",  "isinf", "isfinite"};
    return gg__is_one_of(name, names, GG_COUNT(names));
}

/* Not below zero when their operand is not. */
static bool keeps_natural(gg_str name) {
    static const char *const names[] = {"sum",   "mean",   "max",        "min",  "amax",    "amin",   "sqrt", "clone",
                                        "float", "double", "contiguous", "view", "reshape", "detach", "round"};
    return gg__is_one_of(name, names, GG_COUNT(names));
}

static bool call_is_natural(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute")), text = gg__text(in->tree, object);
    bool module = gg_str_equal(text, gg__module_alias(in->tree, node, "torch")) ||
                  gg_str_equal(text, gg__module_alias(in->tree, node, "torch.nn.functional"));
    uint32_t count = gg__child_count(arguments), from = module ? 1 : 0;
    if (!gg_node_is(function, "attribute") || count < from) return false;
    TSNode x = module ? gg__child(arguments, 0) : object;
    if (makes_natural(name)) return true;
    if (gg_str_is(name, "pow"))
        return count == from + 1 && gg_str_is(gg__text(in->tree, gg__child(arguments, from)), "2");
    bool alone = count == from || gg_str_is(name, "view") || gg_str_is(name, "reshape");
    return alone && keeps_natural(name) && gg__is_natural(in, x);
}

static bool operation_is_natural(const gg_rule_input *in, TSNode node) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    double value = 0;
    if (gg_str_is(op, "**")) return gg_str_is(gg__text(in->tree, right), "2");
    if (gg_str_is(op, "/")) return gg__is_natural(in, left) && gg__literal_value(in->tree, right, &value) && value > 0;
    if (gg_str_is(op, "*") && gg_str_equal(gg__text(in->tree, left), gg__text(in->tree, right))) return true;
    return (gg_str_is(op, "+") || gg_str_is(op, "*")) && gg__is_natural(in, left) && gg__is_natural(in, right);
}

bool gg__is_natural(const gg_rule_input *in, TSNode node) {
    double value = 0;
    node = gg__strip_parentheses(node);
    if (gg__literal_value(in->tree, node, &value)) return value >= 0;
    gg__meta m = gg__infer(in, node);
    if (m.sort == GG__UNKNOWN) return false; /* what is not known may be anything by that name */
    if (m.sort == GG__TENSOR && (gg_str_is(m.dtype, "torch.bool") || gg_str_is(m.dtype, "torch.uint8"))) return true;
    /* the sum of squares of integers may be beyond them */
    if (m.sort == GG__TENSOR && !gg__is_floating(m.dtype)) return false;
    if (gg_node_is(node, "call")) return call_is_natural(in, node);
    if (gg_node_is(node, "identifier")) {
        TSNode held = gg__undisturbed_value(in, node);
        return !ts_node_is_null(held) && gg__is_natural(in, held);
    }
    return gg_node_is(node, "binary_operator") && operation_is_natural(in, node);
}

bool gg__is_positive(const gg_rule_input *in, TSNode node) {
    static const double least = 1e-6; /* half precision has it */
    double value = 0;
    node = gg__strip_parentheses(node);
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    if (gg__literal_value(in->tree, node, &value)) return value >= least;
    if (!gg_node_is(node, "binary_operator") || !gg_str_is(gg__text(in->tree, gg__field(node, "operator")), "+"))
        return false;
    return (gg__is_natural(in, left) && gg__is_positive(in, right)) ||
           (gg__is_positive(in, left) && gg__is_natural(in, right));
}
