/* Python's own numbers: literals, sizes of tensors, constants of math and of dtypes.  What may raise is unknown.  See infer.h. */
#include "repair/infer.h"
#include "repair/select.h"

#include <math.h>

enum { MAX_LITERAL = 40 };

gg__meta gg__literal(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "true") || gg_node_is(node, "false"))
        return gg__constant(GG__SCALAR_BOOL, gg_node_is(node, "true"));
    bool whole = gg_node_is(node, "integer");
    if (!whole && !gg_node_is(node, "float")) return gg__unknown;
    gg_str text = gg__text(tree, node);
    char digits[MAX_LITERAL + 1];
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < MAX_LITERAL; i++)
        if (text.ptr[i] != '_') digits[len++] = text.ptr[i];
    digits[len] = '\0';
    if (len && (digits[len - 1] == 'j' || digits[len - 1] == 'J')) return gg__unknown;
    bool plain = len < MAX_LITERAL && !(len > 1 && digits[0] == '0' &&
                                        (digits[1] == 'b' || digits[1] == 'B' || digits[1] == 'o' || digits[1] == 'O'));
    gg__sort sort = whole ? GG__SCALAR_INT : GG__SCALAR_FLOAT;
    return plain ? gg__constant(sort, strtod(digits, NULL)) : gg__any_number(sort);
}

/* The right side of the first `name = …` among the module's statements; null when there is none. */
static TSNode module_value(const gg_tree *tree, gg_str name) {
    TSNode value = {0};
    TSTreeCursor cursor = ts_tree_cursor_new(gg_tree_root(tree));
    for (bool more = ts_tree_cursor_goto_first_child(&cursor); more && ts_node_is_null(value);
         more = ts_tree_cursor_goto_next_sibling(&cursor)) {
        TSNode assignment = gg__assignment(ts_tree_cursor_current_node(&cursor));
        if (!ts_node_is_null(assignment) && gg_str_equal(gg__text(tree, gg__field(assignment, "left")), name))
            value = gg__field(assignment, "right");
    }
    ts_tree_cursor_delete(&cursor);
    return value;
}

static bool is_first(TSNode node, void *data) {
    bool *seen = data, again = *seen;
    (void)node;
    *seen = true;
    return !again;
}

gg__meta gg__module_number(const gg_rule_input *in, TSNode node) {
    gg_str name = gg__text(in->tree, node);
    TSNode value = module_value(in->tree, name), digits = value;
    if (gg_node_is(value, "unary_operator")) digits = gg__field(value, "argument");
    gg__meta m = ts_node_is_null(value) ? gg__unknown : gg__literal(in->tree, digits);
    bool seen = false;
    if (!gg__is_number(m) || gg__is_local(in->tree, node, name) ||
        !gg__each_module_binding(in->tree, name, is_first, &seen))
        return gg__unknown;
    m = gg__infer(in, value);
    if (!m.seen) return m;
    gg__meta out = gg__seen(m.sort, m.value); /* another module may set it: it is what it was in the capture */
    out.steady = true;
    out.filled = m.value > 0;
    return out;
}

static gg__meta of_both(gg__sort sort, gg__meta a, gg__meta b, double value) {
    gg__meta out = gg__any_number(sort);
    bool exact = sort == GG__SCALAR_FLOAT || fabs(value) < 9e15; /* what a double holds */
    out.seen = a.seen && b.seen && exact && !isnan(value);
    out.constant = out.seen && a.constant && b.constant;
    out.steady = out.seen && a.steady && b.steady;
    out.value = out.seen ? value : 0;
    out.natural = (a.natural && b.natural) || (out.constant && value >= 0);
    out.filled = out.constant && value > 0;
    return out;
}

/* … that gives zero of nothing but zero, where neither is negative */
static gg__meta keeping_filled(gg__sort sort, gg__meta a, gg__meta b, double value) {
    gg__meta out = of_both(sort, a, b, value);
    out.filled = a.filled && b.filled;
    return out;
}

gg__meta gg__number_operation(gg_str op, gg__meta a, gg__meta b) {
    bool floats = a.sort == GG__SCALAR_FLOAT || b.sort == GG__SCALAR_FLOAT;
    gg__sort sort = floats ? GG__SCALAR_FLOAT : GG__SCALAR_INT;
    bool divides = b.constant && b.value != 0;
    if (gg_str_is(op, "+")) return keeping_filled(sort, a, b, a.value + b.value);
    if (gg_str_is(op, "*")) return keeping_filled(sort, a, b, a.value * b.value);
    if (gg_str_is(op, "-")) {
        gg__meta out = of_both(sort, a, b, a.value - b.value);
        out.natural = out.constant && out.value >= 0;
        return out;
    }
    if (gg_str_is(op, "/") && divides) return of_both(GG__SCALAR_FLOAT, a, b, a.value / b.value);
    if (gg_str_is(op, "//") && divides) return of_both(sort, a, b, floor(a.value / b.value));
    if (gg_str_is(op, "%") && divides) {
        double rest = fmod(a.value, b.value);
        return of_both(sort, a, b, rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest);
    }
    if (gg_str_is(op, "**") && a.constant && b.constant) {
        double value = pow(a.value, b.value);
        if (!isfinite(value)) return gg__unknown; /* an error */
        return of_both(b.value < 0 ? GG__SCALAR_FLOAT : sort, a, b, value);
    }
    return gg__unknown;
}

/* `math.pi`, `torch.inf` */
static gg__meta named_constant(gg__inference *s, TSNode node, gg_str object, gg_str name) {
    static const struct {
        const char *name;
        double value;
        bool of_torch;
    } constants[] = {
        {"pi", 3.14159265358979323846, true},
        {"e", 2.71828182845904523536, true},
        {"inf", INFINITY, true},
        {"nan", NAN, true},
        {"tau", 6.28318530717958647692, false},
    };
    bool of_math = gg_str_equal(object, gg__module_alias(s->in->tree, node, "math"));
    bool of_torch = gg_str_equal(object, gg__module_alias(s->in->tree, node, "torch"));
    for (size_t i = 0; i < GG_COUNT(constants); i++)
        if (gg_str_is(name, constants[i].name) && (of_math || (of_torch && constants[i].of_torch)))
            return gg__constant(GG__SCALAR_FLOAT, constants[i].value);
    return gg__unknown;
}

/* `torch.finfo(x.dtype).max` */
static gg__meta of_dtype(gg__inference *s, TSNode call, gg_str name) {
    static const struct {
        const char *dtype;
        double max, eps, tiny;
    } limits[] = {
        {"torch.float16", 65504.0, 0x1p-10, 0x1p-14},
        {"torch.bfloat16", 0x1.fep+127, 0x1p-7, 0x1p-126},
        {"torch.float32", 0x1.fffffep+127, 0x1p-23, 0x1p-126},
        {"torch.float64", 0x1.fffffffffffffp+1023, 0x1p-52, 0x1p-1022},
    };
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    if (!gg_node_is(function, "attribute") || gg__child_count(arguments) != 1) return gg__unknown;
    gg_str object = gg__text(s->in->tree, gg__field(function, "object"));
    if (!gg_str_is(gg__text(s->in->tree, gg__field(function, "attribute")), "finfo") ||
        !gg_str_equal(object, gg__module_alias(s->in->tree, call, "torch")))
        return gg__unknown;
    gg__vagueness vague;
    gg_str dtype = gg__dtype_named(s, gg__child(arguments, 0), &vague);
    for (size_t i = 0; i < GG_COUNT(limits); i++) {
        if (!gg_str_is(dtype, limits[i].dtype) || vague) continue;
        if (gg_str_is(name, "max")) return gg__constant(GG__SCALAR_FLOAT, limits[i].max);
        if (gg_str_is(name, "min")) return gg__constant(GG__SCALAR_FLOAT, -limits[i].max);
        if (gg_str_is(name, "eps")) return gg__constant(GG__SCALAR_FLOAT, limits[i].eps);
        if (gg_str_is(name, "tiny") || gg_str_is(name, "smallest_normal"))
            return gg__constant(GG__SCALAR_FLOAT, limits[i].tiny);
    }
    return gg__unknown;
}

static gg__meta size(int64_t items) {
    gg__meta out = items >= 0 ? gg__seen(GG__SCALAR_INT, (double)items) : gg__any_number(GG__SCALAR_INT);
    out.natural = true;
    out.filled = items > 0;
    return out;
}

gg__meta gg__number_attribute(gg__inference *s, TSNode node) {
    const gg_tree *tree = s->in->tree;
    TSNode object = gg__field(node, "object");
    gg_str name = gg__text(tree, gg__field(node, "attribute"));
    if (gg_node_is(object, "call") && !gg_str_is(name, "ndim")) return of_dtype(s, object, name);
    if (gg_node_is(object, "identifier")) {
        gg__meta out = named_constant(s, node, gg__text(tree, object), name);
        if (out.sort != GG__UNKNOWN) return out;
    }
    if (!gg_str_is(name, "ndim")) return gg__unknown;
    gg__meta x = gg__infer_node(s, object);
    return x.sort == GG__TENSOR ? size(x.rank) : gg__unknown;
}

static bool is_builtin(const gg_tree *tree, TSNode function, gg_str name) {
    return gg_node_is(function, "identifier") && !gg__is_local(tree, function, name) &&
           !gg__is_bound_in_module(tree, name);
}

/* `math.sqrt(n)` where it cannot fail */
static gg__meta of_math(gg_str name, gg__meta a) {
    static const char *const total[] = {"sin", "cos", "tanh", "atan", "fabs"};
    if (gg_str_is(name, "sqrt") && a.natural) return keeping_filled(GG__SCALAR_FLOAT, a, a, sqrt(a.value));
    bool positive = a.constant && a.value > 0;
    if (gg_str_is(name, "log") && positive) return of_both(GG__SCALAR_FLOAT, a, a, log(a.value));
    if (gg_str_is(name, "log2") && positive) return of_both(GG__SCALAR_FLOAT, a, a, log2(a.value));
    if (gg_str_is(name, "exp") && a.constant && a.value < 700) return of_both(GG__SCALAR_FLOAT, a, a, exp(a.value));
    bool whole = gg_str_is(name, "floor") || gg_str_is(name, "ceil");
    if (whole && (a.sort != GG__SCALAR_FLOAT || a.constant))
        return isfinite(a.value)
                   ? of_both(GG__SCALAR_INT, a, a, gg_str_is(name, "floor") ? floor(a.value) : ceil(a.value))
                   : gg__unknown;
    for (size_t i = 0; i < GG_COUNT(total); i++)
        if (gg_str_is(name, total[i]) && (a.sort != GG__SCALAR_FLOAT || a.constant || i > 1))
            return isfinite(a.value) ? gg__any_number(GG__SCALAR_FLOAT) : gg__unknown;
    return gg__unknown;
}

static gg__meta of_builtin(gg_str name, gg__meta a, gg__meta b, uint32_t count) {
    if (gg_str_is(name, "len") && count == 1 && a.sort == GG__TENSOR && a.rank) return size(a.shape[0]);
    if (!gg__is_number(a) || (count == 2 && !gg__is_number(b))) return gg__unknown;
    if (count == 2 && a.sort == b.sort && gg_str_is(name, "max"))
        return keeping_filled(a.sort, a, b, fmax(a.value, b.value));
    if (count == 2 && a.sort == b.sort && gg_str_is(name, "min"))
        return keeping_filled(a.sort, a, b, fmin(a.value, b.value));
    if (count != 1) return gg__unknown;
    gg__sort whole = a.sort == GG__SCALAR_BOOL ? GG__SCALAR_INT : a.sort;
    if (gg_str_is(name, "abs")) {
        gg__meta out = of_both(whole, a, a, fabs(a.value));
        out.natural = true;
        return out;
    }
    if (gg_str_is(name, "float")) return keeping_filled(GG__SCALAR_FLOAT, a, a, a.value);
    if (gg_str_is(name, "bool")) return gg__any_number(GG__SCALAR_BOOL);
    if (gg_str_is(name, "int") && (a.sort != GG__SCALAR_FLOAT || (a.constant && isfinite(a.value))))
        return of_both(GG__SCALAR_INT, a, a, trunc(a.value));
    return gg__unknown;
}

/* float("-inf") */
static gg__meta of_text(gg_str text) {
    static const struct {
        const char *text;
        double value;
    } values[] = {{"inf", INFINITY}, {"-inf", -INFINITY}, {"+inf", INFINITY},
                  {"nan", NAN},      {"Inf", INFINITY},   {"-Inf", -INFINITY}};
    gg_str inner = text.len > 2 ? gg_str_slice(text, 1, text.len - 1) : text;
    for (size_t i = 0; i < GG_COUNT(values); i++)
        if (gg_str_is(inner, values[i].text)) return gg__constant(GG__SCALAR_FLOAT, values[i].value);
    return gg__unknown;
}

gg__meta gg__number_call(gg__inference *s, TSNode node, bool *known) {
    const gg_tree *tree = s->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    uint32_t count = gg__child_count(arguments);
    *known = true;
    if (count > 2) count = 0;
    if (gg_node_is(function, "identifier")) {
        static const char *const builtins[] = {"len", "max", "min", "abs", "float", "bool", "int"};
        gg_str name = gg__text(tree, function);
        bool listed = false;
        for (size_t i = 0; i < GG_COUNT(builtins); i++) listed = listed || gg_str_is(name, builtins[i]);
        *known = listed;
        if (!listed || count == 0 || !is_builtin(tree, function, name)) return gg__unknown;
        TSNode first = gg__child(arguments, 0);
        if (gg_str_is(name, "float") && count == 1 && gg_node_is(first, "string"))
            return of_text(gg__text(tree, first));
        gg__meta a = gg__infer_node(s, first);
        gg__meta b = count == 2 ? gg__infer_node(s, gg__child(arguments, 1)) : a;
        if (gg_str_is(name, "abs") && a.sort == GG__TENSOR && count == 1 &&
            (gg__is_floating(a.dtype) || gg__is_integer(a.dtype))) {
            a.linear = false;
            a.fresh = true;
            return a;
        }
        return of_builtin(name, a, b, count);
    }
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (gg_node_is(object, "identifier") &&
        gg_str_equal(gg__text(tree, object), gg__module_alias(tree, node, "math"))) {
        gg__meta a = count == 1 ? gg__infer_node(s, gg__child(arguments, 0)) : gg__unknown;
        return gg__is_number(a) ? of_math(name, a) : gg__unknown;
    }
    bool sized = gg_str_is(name, "size") && count == 1, dims = gg_str_is(name, "dim") || gg_str_is(name, "ndimension");
    bool elements = gg_str_is(name, "numel") || gg_str_is(name, "nelement");
    if (sized || ((dims || elements) && count == 0)) {
        gg__meta x = gg__infer_node(s, object);
        int32_t dim;
        if (x.sort != GG__TENSOR) return gg__unknown;
        if (!sized) return size(dims ? x.rank : gg__elements(x));
        return x.rank && gg__dim(gg__infer_node(s, gg__child(arguments, 0)), x.rank, &dim) ? size(x.shape[dim])
                                                                                           : gg__unknown;
    }
    *known = false;
    return gg__unknown;
}
