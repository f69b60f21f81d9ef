/* Between which values the elements of a tensor lie.  See ranges.h.
 *
 * DESIGN  Interval arithmetic over what gg__infer knows.  An integer that may leave its dtype wraps around, so it gets the range of the dtype; a floating value
 * that may come near the largest of its dtype is unknown, so infinity and NaN never arise.  Floating bounds are taken a little wider, for rounding. */
#include "repair/ranges.h"

#include "repair/alias.h"
#include "repair/infer.h"

#include <math.h>

enum { MAX_DEPTH = 24 };
static const double slack = 1.01; /* what rounding adds, in half precision too */

typedef struct ranging {
    const gg_rule_input *in;
    uint32_t depth;
} ranging;

static bool range_of(ranging *r, TSNode node, gg__range *out);

/* ---- dtypes ------------------------------------------------------------------------------------------------------------- */

static bool range_of_dtype(gg_str dtype, gg__range *out) {
    static const struct {
        const char *name;
        gg__range range;
    } rows[] = {{"torch.bool", {0, 1}},
                {"torch.uint8", {0, 255}},
                {"torch.int8", {-0x1p7, 0x1p7 - 1}},
                {"torch.int16", {-0x1p15, 0x1p15 - 1}},
                {"torch.int32", {-0x1p31, 0x1p31 - 1}},
                {"torch.int64", {-0x1p63, 0x1p63}}};
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        if (!gg_str_is(dtype, rows[i].name)) continue;
        *out = rows[i].range;
        return true;
    }
    return false;
}

/* What was computed as one of a dtype. */
static bool fit(gg_str dtype, gg__range range, gg__range *out) {
    gg__range whole;
    if (range_of_dtype(dtype, &whole)) {
        range = (gg__range){floor(range.low), ceil(range.high)}; /* it may have been a floating one */
        bool rounded = whole.high == 0x1p63; /* a double holds neither the last int64 nor what is behind it */
        bool inside = rounded ? range.low > whole.low && range.high < whole.high
                              : range.low >= whole.low && range.high <= whole.high && !gg__is_bool(dtype);
        *out = inside ? range : whole;
        return true;
    }
    range.low *= range.low < 0 ? slack : 1 / slack;
    range.high *= range.high < 0 ? 1 / slack : slack;
    *out = range;
    return gg__is_floating(dtype) && fmax(-range.low, range.high) < gg__largest(dtype) / 2;
}

/* ---- operations ----------------------------------------------------------------------------------------------------------- */

static gg__range spanned(double a, double b, double c, double d) {
    return (gg__range){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

static bool of_operator(ranging *r, TSNode node, gg__range *out) {
    gg_str op = gg__text(r->in->tree, gg__field(node, "operator"));
    gg__range a, b;
    TSNode right = gg__field(node, "right");
    gg__meta k = gg__infer(r->in, right);
    if (gg_str_is(op, "%")) { /* of the sign of the divisor, whatever is divided, where that is an integer */
        bool whole = gg__is_integer(gg__infer(r->in, gg__field(node, "left")).dtype);
        if (!whole || !k.constant || k.sort != GG__SCALAR_INT || k.value < 1) return false;
        *out = (gg__range){0, k.value - 1};
        return true;
    }
    if (!range_of(r, gg__field(node, "left"), &a)) return false;
    if (gg_str_is(op, "/")) {
        if (!k.constant || k.value == 0 || !isfinite(k.value)) return false;
        *out = spanned(a.low / k.value, a.high / k.value, a.low / k.value, a.high / k.value);
        return true;
    }
    if (!range_of(r, right, &b)) return false;
    if (gg_str_is(op, "+"))
        *out = (gg__range){a.low + b.low, a.high + b.high};
    else if (gg_str_is(op, "-"))
        *out = (gg__range){a.low - b.high, a.high - b.low};
    else if (gg_str_is(op, "*"))
        *out = spanned(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
    else
        return false;
    return true;
}

/* clamp(x, low, high), also by name */
static bool of_clamp(const gg_rule_input *in, TSNode arguments, uint32_t from, gg__range *range) {
    static const char *const names[] = {"min", "max"};
    uint32_t position = 0;
    double bounds[2] = {-INFINITY, INFINITY};
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        uint32_t at = position;
        if (gg_node_is(argument, "keyword_argument")) {
            gg_str name = gg__text(in->tree, gg__field(argument, "name"));
            for (at = 0; at < 2 && !gg_str_is(name, names[at]); at++) {}
            argument = gg__field(argument, "value");
        } else {
            position++;
        }
        if (at >= 2) return false;
        if (gg_node_is(argument, "none")) continue;
        gg__meta bound = gg__infer(in, argument);
        if (!bound.constant || isnan(bound.value)) return false;
        bounds[at] = bound.value;
    }
    /* where they contradict each other, the upper one holds */
    *range = (gg__range){fmin(fmax(range->low, bounds[0]), bounds[1]), fmin(fmax(range->high, bounds[0]), bounds[1])};
    return true;
}

/* The largest of a tensor's, or of two tensors' elements; no other form is inferred. */
static bool of_extremes(ranging *r, TSNode arguments, uint32_t from, TSNode x, gg__range *out) {
    gg__range other;
    if (!range_of(r, x, out)) return false;
    if (gg__child_count(arguments) == from) return true;
    if (gg__child_count(arguments) != from + 1 || !range_of(r, gg__child(arguments, from), &other)) return false;
    *out = (gg__range){fmin(out->low, other.low), fmax(out->high, other.high)};
    return true;
}

static bool of_call(ranging *r, TSNode node, gg__range *out) {
    static const char
        *const same[] = {"amax",    "amin",      "clone",     "detach",  "contiguous", "view",  "reshape", "flatten",
                         "squeeze", "unsqueeze", "transpose", "permute", "expand",     "float", "double",  "long",
                         "int",     "half",      "bfloat16",  "to",      "type",       "t"},
               *const rounded[] = {"floor", "ceil", "round", "trunc"},
               *const counted[] = {"argmax", "argmin", "count_nonzero"},
               *const extremes[] = {"max", "min", "maximum", "minimum"}, *const one[] = {"sigmoid", "softmax"};
    const gg_tree *tree = r->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute")), text = gg__text(tree, object);
    if (!gg_node_is(function, "attribute")) return false;
    bool module = gg_str_equal(text, gg__module_alias(tree, node, "torch")) ||
                  gg_str_equal(text, gg__module_alias(tree, node, "torch.nn.functional"));
    uint32_t from = module ? 1 : 0;
    if (gg__child_count(arguments) < from) return false;
    TSNode x = module ? gg__child(arguments, 0) : object;
    gg__range a;
    if (gg__is_one_of(name, extremes, GG_COUNT(extremes))) return of_extremes(r, arguments, from, x, out);
    if (gg__infer(r->in, x).sort != GG__TENSOR) return false; /* a function or a module by that name */
    if (gg__is_one_of(name, counted, GG_COUNT(counted))) {
        *out = (gg__range){0, GG__MOST_ELEMENTS};
        return true;
    }
    if (!range_of(r, x, &a)) return false;
    *out = a;
    if (gg__is_one_of(name, same, GG_COUNT(same))) return true;
    if (gg__is_one_of(name, rounded, GG_COUNT(rounded)))
        *out = (gg__range){floor(a.low), ceil(a.high)};
    else if (gg__is_one_of(name, one, GG_COUNT(one)))
        *out = (gg__range){0, 1};
    else if (gg_str_is(name, "tanh"))
        *out = (gg__range){-1, 1};
    else if (gg_str_is(name, "relu"))
        *out = (gg__range){fmax(a.low, 0), fmax(a.high, 0)};
    else if (gg_str_is(name, "abs"))
        *out = (gg__range){a.low <= 0 && a.high >= 0 ? 0 : fmin(fabs(a.low), fabs(a.high)), fmax(-a.low, a.high)};
    else if (gg_str_is(name,
                       "sum")) /* each addition rounds; a sum that is 2 ** 25 times its terms gets no larger by one */
        *out = (gg__range){fmin(0, a.low * GG__MOST_ELEMENTS * 4), fmax(0, a.high * GG__MOST_ELEMENTS * 4)};
    else
        return (gg_str_is(name, "clamp") || gg_str_is(name, "clip")) && of_clamp(r->in, arguments, from, out);
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

typedef struct binding {
    const gg_rule_input *in;
    const gg_tree *tree;
    TSNode function;
    gg_str name;
    TSNode value;   /* right side of its only binding */
    uint32_t count; /* of its bindings */
    gg_span after;  /* from there to its use */
    bool
        disturbed; /* in which it is used otherwise than by what makes something new of it, or what the value is made of is bound */
} binding;

static bool find_binding(TSNode node, void *data) {
    binding *b = data;
    if (!gg_node_is(node, "identifier") || gg__text(b->tree, node).len == 0 || !gg__is_binding(node) ||
        !gg_str_equal(gg__text(b->tree, node), b->name))
        return true;
    TSNode parent = gg__parent(node);
    b->count++;
    b->value = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node)
                   ? gg__field(parent, "right")
                   : (TSNode){0};
    return true;
}

static bool find_disturbance(TSNode node, void *data) {
    binding *b = data;
    uint32_t at = ts_node_start_byte(node);
    if (gg_node_is(node, "identifier") && gg_str_equal(gg__text(b->tree, node), b->name) &&
        gg__is_in_inner_function(node, b->function))
        b->disturbed = true;
    if (!gg_node_is(node, "identifier") || at < b->after.start || at >= b->after.end) return true;
    bool own = gg_str_equal(gg__text(b->tree, node), b->name);
    if (own ? !gg__is_consumed(b->in, node)
            : gg__is_binding(node) && gg__reads(b->tree, b->value, gg__text(b->tree, node)))
        b->disturbed = true;
    return !b->disturbed;
}

/* What an earlier statement of a block around it gave it, and nothing changed since. */
TSNode gg__undisturbed_value(const gg_rule_input *in, TSNode node) {
    const gg_tree *tree = in->tree;
    const TSNode none = {0};
    TSNode function = gg__function(node);
    binding b = {.in = in, .tree = tree, .function = function, .name = gg__text(tree, node)};
    if (!gg_node_is(function, "function_definition")) return none;
    gg__visit(function, find_binding, &b);
    if (b.count != 1 || ts_node_is_null(b.value)) return none;
    TSNode block = gg__parent(gg__statement(b.value));
    b.after = (gg_span){ts_node_end_byte(b.value), ts_node_start_byte(node)};
    if (b.after.start > b.after.end || ts_node_end_byte(block) < ts_node_end_byte(node) ||
        !ts_node_eq(gg__function(b.value), function))
        return none;
    for (TSNode at = gg__parent(node); !ts_node_is_null(at) && !ts_node_eq(at, block); at = gg__parent(at)) {
        if (gg_node_is(at, "lambda")) return none;
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement"))
            b.after.end = ts_node_end_byte(at); /* what stands behind it may have run before */
    }
    gg__visit(function, find_disturbance, &b);
    gg__meta value = gg__infer_loosely(in, b.value), now = gg__infer(in, node);
    bool same = value.fresh && value.sort == now.sort && gg_str_equal(value.dtype, now.dtype);
    return same && !b.disturbed ? b.value : none;
}

static bool of_name(ranging *r, TSNode node, gg__range *out) {
    TSNode value = gg__undisturbed_value(r->in, node);
    return !ts_node_is_null(value) && range_of(r, value, out);
}

static bool of_node(ranging *r, TSNode node, gg__range *out) {
    if (gg_node_is(node, "binary_operator")) return of_operator(r, node, out);
    if (gg_node_is(node, "call")) return of_call(r, node, out);
    if (gg_node_is(node, "identifier")) return of_name(r, node, out);
    if (gg_node_is(node, "subscript")) return range_of(r, gg__field(node, "value"), out); /* some of its elements */
    if (!gg_node_is(node, "unary_operator") || !gg_str_is(gg__text(r->in->tree, gg__field(node, "operator")), "-") ||
        !range_of(r, gg__field(node, "argument"), out))
        return false;
    *out = (gg__range){-out->high, -out->low};
    return true;
}

static bool range_of(ranging *r, TSNode node, gg__range *out) {
    node = gg__strip_parentheses(node);
    gg__meta m = gg__infer(r->in, node);
    if (m.constant) {
        *out = (gg__range){m.value, m.value};
        return isfinite(m.value);
    }
    if (m.sort != GG__TENSOR || r->depth >= MAX_DEPTH) return false; /* a number of Python's may be any */
    gg__range found;
    r->depth++;
    bool known = of_node(r, node, &found);
    r->depth--;
    return known ? fit(m.dtype, found, out) : range_of_dtype(m.dtype, out);
}

bool gg__range_of(const gg_rule_input *in, TSNode node, gg__range *out) {
    ranging r = {in, 0};
    return range_of(&r, node, out);
}
