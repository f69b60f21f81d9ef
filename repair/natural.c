/* Whether a value is never below zero, as far as its operations tell.  See scalar.h. */
#include "repair/infer.h"
#include "repair/ranges.h"
#include "repair/scalar.h"

/* Whatever their operand is. */
static bool makes_natural(gg_str name) {
    static const char *const names[] = {"abs",   "square", "norm",      "exp",           "sigmoid",  "softmax",
                                        "relu",  "std",    "var",       "count_nonzero", "argmax",   "argmin",
                                        "isnan", "isinf",  "ones",      "zeros",         "softplus", "isfinite",
                                        "rand",  "eye",    "ones_like", "zeros_like",    "cdist"};
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
    if (gg_str_starts_with(name, GG_STR("full")) || gg_str_is(name, "new_full")) /* full(size, v), full_like(x, v) */
        return count == 2 && gg__is_natural(in, gg__child(arguments, 1));
    if (gg_str_is(name, "pow"))
        return count == from + 1 && gg_str_is(gg__text(in->tree, gg__child(arguments, from)), "2");
    bool alone = count == from || gg_str_is(name, "view") || gg_str_is(name, "reshape");
    return alone && keeps_natural(name) && gg__is_natural(in, x);
}

static bool operation_is_natural(const gg_rule_input *in, TSNode node) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    if (gg_str_is(op, "**")) return gg_str_is(gg__text(in->tree, right), "2");
    if (gg_str_is(op, "/") && gg__is_number(gg__infer_loosely(in, right))) /* by zero it raises */
        return gg__is_natural(in, left) && gg__is_natural(in, right);
    if (gg_str_is(op, "*") && gg_str_equal(gg__text(in->tree, left), gg__text(in->tree, right))) return true;
    return (gg_str_is(op, "+") || gg_str_is(op, "*")) && gg__is_natural(in, left) && gg__is_natural(in, right);
}

bool gg__is_natural(const gg_rule_input *in, TSNode node) {
    double value = 0;
    node = gg__strip_parentheses(node);
    if (gg__literal_value(in->tree, node, &value)) return value >= 0;
    gg__meta m = gg__infer_loosely(in, node); /* where it fails, there is no number */
    if (m.sort == GG__UNKNOWN) return false;  /* what is not known may be anything by that name */
    if (gg__is_number(m) && m.natural) return true;
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

static bool is_no_quotient(TSNode node, void *data) {
    const gg_tree *tree = data;
    return !gg_node_is(node, "binary_operator") || !gg_str_is(gg__text(tree, gg__field(node, "operator")), "/");
}

/* `x.clamp(min=1e-6)`, `x.clamp_min(1e-6)` */
static bool is_clamped(const gg_tree *tree, TSNode node) {
    TSNode function = gg__field(node, "function"), least = gg__child(gg__field(node, "arguments"), 0);
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    double value = 0;
    bool named = gg_node_is(least, "keyword_argument");
    if (!gg_node_is(node, "call") || gg__child_count(gg__field(node, "arguments")) != 1 ||
        !(gg_str_is(name, "clamp") || gg_str_is(name, "clamp_min") || gg_str_is(name, "clip")))
        return false;
    if (named && !gg_str_is(gg__text(tree, gg__field(least, "name")), "min")) return false;
    return gg__literal_value(tree, named ? gg__field(least, "value") : least, &value) && value >= GG__AWAY;
}

bool gg__is_away_from_zero(const gg_rule_input *in, TSNode node, gg__meta m) {
    bool wide = gg_str_is(m.dtype, "torch.float32") || gg_str_is(m.dtype, "torch.float64");
    double value = 0;
    node = gg__strip_parentheses(node);
    if (m.sort != GG__TENSOR || !wide || m.vague == GG__LOWERED || m.vague == GG__VAGUE) return false;
    if (gg_node_is(node, "identifier")) node = gg__strip_parentheses(gg__undisturbed_value(in, node));
    if (ts_node_is_null(node)) return false;
    if (is_clamped(in->tree, node)) return true;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    if (!gg_node_is(node, "binary_operator") || !gg_str_is(gg__text(in->tree, gg__field(node, "operator")), "+") ||
        !gg__visit(node, is_no_quotient, (void *)in->tree)) /* each would be asked again */
        return false;
    return (gg__literal_value(in->tree, right, &value) && value >= GG__AWAY && gg__is_natural(in, left)) ||
           (gg__literal_value(in->tree, left, &value) && value >= GG__AWAY && gg__is_natural(in, right));
}
