/* What expressions of masked elements are, element by element.  See masks.h. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"

#include <math.h>

typedef struct value {
    enum { NOTHING, NUMBER, ALONE, ITEMS } kind; /* ALONE: a 0-d tensor */
    gg__sort sort;                               /* of a number */
    gg_str dtype;
    bool affine;
    double one; /* its value where each item is 1; NaN where that is not known */
    bool sure;  /* … for any numbers of the program's */
} value;

static const value nothing = {.kind = NOTHING};

/* Is the value where each item is 1 far enough from zero, in half precision too? */
static bool is_sound(gg__masked *e, value v, bool positive) {
    bool sound = (positive ? v.one : fabs(v.one)) >= 0.01 && fabs(v.one) <= 100;
    e->relies = e->relies || (sound && !v.sure);
    return sound;
}

enum { MAX_DEPTH = 4 }; /* names of names */

/* Of floating numbers each. */
enum {
    EXACT = 1,    /* rounds as IEEE 754 says, wherever an element lies */
    INTEGERS = 2, /* of integers too */
    ABOVE = 4,    /* its gradient is infinite somewhere: of what is above zero where each item is 1 */
    AFFINE = 8    /* its gradient does not depend on the values */
};
static const struct {
    const char *name;
    unsigned flags;
    uint32_t max_numbers;
} functions[] = {
    {"abs", EXACT | INTEGERS, 0},
    {"neg", EXACT | INTEGERS | AFFINE, 0},
    {"relu", EXACT, 0},
    {"square", EXACT, 0},
    {"clamp", EXACT, 2},
    {"clamp_min", EXACT, 1},
    {"clamp_max", EXACT, 1},
    {"sqrt", EXACT | ABOVE, 0},
    {"floor", EXACT | AFFINE, 0},
    {"ceil", EXACT | AFFINE, 0},
    {"round", EXACT | AFFINE, 0},
    {"sign", EXACT | AFFINE, 0},
    {"exp", 0, 0},
    {"expm1", 0, 0},
    {"log", ABOVE, 0},
    {"log2", ABOVE, 0},
    {"log10", ABOVE, 0},
    {"log1p", ABOVE, 0},
    {"rsqrt", ABOVE, 0},
    {"erf", 0, 0},
    {"sigmoid", 0, 0},
    {"tanh", 0, 0},
    {"sin", 0, 0},
    {"cos", 0, 0},
    {"gelu", 0, 0},
    {"silu", 0, 0},
    {"softplus", 0, 0},
};

static value look(gg__masked *e, TSNode node);

/* ---- items ------------------------------------------------------------------------------------------------------------------ */

/* `x[m].argmax(-1)`, `x[m].sum(1)`, and x[m].max(1) of `x[m].max(1)[0]` and `x[m].max(1).values`: the call. */
static bool reduces_rows(const gg__masked *e, TSNode node, bool pair, TSNode *inner, int32_t *dim) {
    static const char *const alone[] = {"argmax", "argmin"}, *const pairs[] = {"max", "min"},
                             *const summed[] = {"sum", "mean"};
    const gg_tree *tree = e->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    TSNode argument = gg__child(arguments, 0);
    gg_str name = gg__text(tree, gg__field(function, "attribute"));
    if (!gg_node_is(node, "call") || gg__child_count(arguments) != 1) return false;
    bool known = pair ? gg__is_one_of(name, pairs, GG_COUNT(pairs))
                      : gg__is_one_of(name, alone, GG_COUNT(alone)) ||
                            (e->rounded && gg__is_one_of(name, summed, GG_COUNT(summed)));
    if (gg_node_is(argument, "keyword_argument")) {
        known = known && gg_str_is(gg__text(tree, gg__field(argument, "name")), "dim");
        argument = gg__field(argument, "value");
    }
    gg__meta m = gg__infer(e->in, argument);
    *inner = gg__field(function, "object");
    *dim = (int32_t)m.value;
    return known && m.sort == GG__SCALAR_INT && m.constant && fabs(m.value) < GG__MAX_RANK;
}

/* `…[0]`, `….values`: of x[m].max(1) */
static TSNode pair_of(const gg_tree *tree, TSNode node) {
    if (gg_node_is(node, "subscript") && gg__child_count(node) == 2 &&
        gg_str_is(gg__text(tree, gg__field(node, "subscript")), "0"))
        return gg__field(node, "value");
    bool values = gg_node_is(node, "attribute") && gg_str_is(gg__text(tree, gg__field(node, "attribute")), "values");
    return values ? gg__field(node, "object") : (TSNode){0};
}

/* A reduction of each row that gives no row's gradient to another, and is the same for a row whatever the others are. */
static bool is_of_rows(const gg__masked *e, TSNode node, gg__item *out) {
    TSNode pair = pair_of(e->in->tree, node), inner;
    int32_t dim;
    gg__item row;
    TSNode named;
    if (!reduces_rows(e, ts_node_is_null(pair) ? node : pair, !ts_node_is_null(pair), &inner, &dim) ||
        (!gg__masked_item(e->in, inner, &row) &&
         !(e->names && gg__masked_name(e->in, inner, &named) && gg__masked_item(e->in, named, &row))))
        return false;
    gg__meta x = row.of;
    int32_t behind = x.rank - row.by.rank, at = dim < 0 ? x.rank + dim : dim;
    gg_str name =
        gg__text(e->in->tree, gg__field(gg__field(ts_node_is_null(pair) ? node : pair, "function"), "attribute"));
    bool whole = gg__is_integer(x.dtype), index = gg_str_starts_with(name, GG_STR("arg"));
    if (behind < 1 || (dim >= 0 && row.by.rank != 1) || at < row.by.rank || at >= x.rank || x.shape[at] < 1)
        return false;
    if (!gg__is_floating(x.dtype) && !(whole && (index || !ts_node_is_null(pair)))) return false;
    if (index) x.dtype = GG_STR("torch.int64");
    for (int32_t i = at; i + 1 < x.rank; i++) x.shape[i] = x.shape[i + 1];
    x.rank--;
    *out = (gg__item){.base = node, .mask = row.mask, .of = x, .by = row.by, .inner = inner, .row = row.base};
    return true;
}

bool gg__item_of(const gg__masked *e, TSNode node, gg__item *out) {
    if (e->draws ? gg__masked_item_drawn(e->in, node, out) : gg__masked_item(e->in, node, out)) return true;
    return is_of_rows(e, node, out);
}

static value of_item(gg__masked *e, const gg__item *item) {
    const gg_tree *tree = e->in->tree;
    if (ts_node_is_null(e->item.mask)) e->item = *item;
    bool alike = gg_str_equal(gg__text(tree, item->mask), gg__text(tree, e->item.mask)) &&
                 gg__same_shape(item->of, e->item.of) && item->by.rank == e->item.by.rank;
    if (!alike) {
        gg__hinder(e->in, item->base, "is not of one shape and under one mask with the other operands");
        return nothing;
    }
    return (value){.kind = ITEMS, .dtype = item->of.dtype, .affine = true, .one = 1, .sure = true};
}

static bool is_counted(gg_str dtype) {
    return gg__is_bool(dtype) || gg__is_integer(dtype);
}

/* The dtype of a and b together, where it is that of the items among them. */
static value together(value a, value b) {
    value items = a.kind == ITEMS ? a : b, other = a.kind == ITEMS ? b : a;
    if (items.kind != ITEMS || other.kind == NOTHING) return nothing;
    if (other.kind == NUMBER) {
        bool fits = gg__is_floating(items.dtype) || (other.sort == GG__SCALAR_INT && !gg__is_bool(items.dtype));
        return fits ? items : nothing;
    }
    items.affine = items.affine && other.affine;
    if (gg_str_equal(items.dtype, other.dtype)) return items;
    if (gg__is_floating(items.dtype) && is_counted(other.dtype)) return items;
    bool wider = other.kind == ITEMS && is_counted(items.dtype) && gg__is_floating(other.dtype);
    items.dtype = other.dtype;
    return wider ? items : nothing;
}

static double calculate(gg_str op, double a, double b) {
    if (gg_str_is(op, "+")) return a + b;
    if (gg_str_is(op, "-")) return a - b;
    if (gg_str_is(op, "*")) return a * b;
    return gg_str_is(op, "/") ? a / b : gg_str_is(op, "**") ? pow(a, b) : (double)NAN;
}

static value divided(gg__masked *e, value a, value b, value out, TSNode right) {
    if (!gg__is_floating(out.dtype)) return nothing;
    if (b.kind == NUMBER) return out;
    if (b.kind == ALONE || !is_sound(e, b, false)) {
        gg__hinder(e->in, right,
                   b.kind == ALONE ? "may be zero" : "may be zero where elements that are not chosen count as 1");
        return nothing;
    }
    out.affine = false;
    /* of a half, autocast makes `1 / x` another dtype */
    return a.kind != NUMBER || !gg__is_half(out.dtype) ? out : nothing;
}

static value arithmetic(gg__masked *e, gg_str op, value a, value b, TSNode right) {
    value out = together(a, b);
    if (out.kind != ITEMS || gg__is_bool(out.dtype)) return nothing;
    out.one = calculate(op, a.one, b.one);
    out.sure = a.sure && b.sure;
    if (gg_str_is(op, "+") || gg_str_is(op, "-")) return out;
    if (gg_str_is(op, "**")) {
        gg_str exponent = gg__text(e->in->tree, right);
        out.affine = false;
        if (a.kind != ITEMS) return nothing;
        if (gg_str_is(exponent, "2") || gg_str_is(exponent, "3")) return out;
        bool moderate = b.kind == NUMBER && isfinite(b.one) && fabs(b.one) <= 8;
        return e->rounded && moderate && gg__is_floating(out.dtype) && is_sound(e, a, true) ? out : nothing;
    }
    if (a.kind != NUMBER && b.kind != NUMBER) out.affine = false;
    if (gg_str_is(op, "*")) return out;
    return gg_str_is(op, "/") ? divided(e, a, b, out, right) : nothing;
}

static value logical(gg_str op, value a, value b) {
    value out = together(a, b);
    bool known = gg_str_is(op, "&") || gg_str_is(op, "|") || gg_str_is(op, "^");
    return known && out.kind == ITEMS && gg__is_bool(out.dtype) ? out : nothing;
}

/* Whether, of each item. */
static value truth_of(value compared) {
    if (compared.kind != ITEMS) return nothing;
    return (value){.kind = ITEMS, .dtype = GG_STR("torch.bool"), .affine = true, .one = NAN};
}

static value comparison(gg__masked *e, TSNode node) {
    if (gg__child_count(node) != 2) return nothing; /* chained */
    gg_str op = gg__text(e->in->tree, ts_node_child(node, 1));
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(ops); i++) known = known || gg_str_is(op, ops[i]);
    return known ? truth_of(together(look(e, gg__child(node, 0)), look(e, gg__child(node, 1)))) : nothing;
}

static bool only_numbers(gg__masked *e, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        gg__sort sort = gg__infer(e->in, argument).sort;
        if (sort == GG__UNKNOWN || sort == GG__TENSOR) return false;
    }
    return true;
}

/* What the function makes of the value where each item is 1. */
static double applied(gg__masked *e, gg_str name, double x, TSNode arguments, uint32_t from) {
    if (gg_str_is(name, "abs")) return fabs(x);
    if (gg_str_is(name, "neg")) return -x;
    if (gg_str_is(name, "square")) return x * x;
    if (gg_str_is(name, "sqrt")) return sqrt(x);
    if (gg_str_is(name, "exp")) return exp(x);
    if (gg_str_is(name, "log")) return log(x);
    if (gg_str_is(name, "relu")) return x > 0 ? x : 0;
    if (!gg_str_starts_with(name, GG_STR("clamp"))) return (double)NAN;
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode bound = gg__child(arguments, i);
        bool least = i == from && !gg_str_is(name, "clamp_max");
        if (gg_node_is(bound, "keyword_argument")) {
            least = gg_str_is(gg__text(e->in->tree, gg__field(bound, "name")), "min");
            bound = gg__field(bound, "value");
        }
        gg__meta m = gg__infer(e->in, bound);
        if (!m.seen) return (double)NAN;
        x = least ? fmax(x, m.value) : fmin(x, m.value);
    }
    return x;
}

/* `x[m].add(y[m])`, `torch.eq(x[m], y[m])`: the operator; empty where it is none. */
static gg_str operator_of(gg_str name) {
    static const struct {
        const char *name, *op;
    } rows[] = {{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"pow", "**"}, {"eq", "=="},
                {"ne", "!="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},  {"ge", ">="}};
    for (size_t i = 0; i < GG_COUNT(rows); i++)
        if (gg_str_is(name, rows[i].name)) return gg_str_from(rows[i].op);
    return GG_STR_NULL;
}

static value of_two(gg__masked *e, gg_str op, TSNode left, TSNode right) {
    if (gg_node_is(right, "keyword_argument")) return nothing;
    value a = look(e, left), b = look(e, right);
    bool compares = op.ptr[0] == '<' || op.ptr[0] == '>' || op.ptr[op.len - 1] == '=';
    return compares ? truth_of(together(a, b)) : arithmetic(e, op, a, b, right);
}

static value of_one(gg__masked *e, size_t row, TSNode x, TSNode arguments, uint32_t from) {
    unsigned flags = functions[row].flags;
    uint32_t numbers = gg__child_count(arguments) - from;
    bool known = numbers <= functions[row].max_numbers && (numbers > 0) == (functions[row].max_numbers > 0) &&
                 only_numbers(e, arguments, from);
    if (!known || (!(flags & EXACT) && !e->rounded)) return nothing;
    value out = look(e, x);
    bool whole = (flags & INTEGERS) && gg_str_starts_with(out.dtype, GG_STR("torch.int"));
    if (out.kind != ITEMS || !(gg__is_floating(out.dtype) || whole)) return nothing;
    if ((flags & ABOVE) && !is_sound(e, out, true)) {
        gg__hinder(e->in, x, "may not be above zero where elements that are not chosen count as 1");
        return nothing;
    }
    out.affine = out.affine && (flags & AFFINE);
    out.one = applied(e, gg_str_from(functions[row].name), out.one, arguments, from);
    out.sure = out.sure && numbers == 0;
    return out;
}

static value call(gg__masked *e, TSNode node) {
    const gg_tree *tree = e->in->tree;
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return nothing;
    TSNode object = gg__field(function, "object");
    gg_str name = gg__text(tree, gg__field(function, "attribute")), holder = gg__text(tree, object);
    uint32_t count = gg__child_count(arguments);
    bool functional = gg_str_equal(holder, gg__module_alias(tree, node, "torch.nn.functional"));
    bool method = !functional && !gg_str_equal(holder, gg__module_alias(tree, node, "torch"));
    uint32_t from = method ? 0 : 1;
    TSNode x = method ? object : gg__child(arguments, 0);
    if (count < from || gg_node_is(x, "keyword_argument")) return nothing;
    if (method && count == 0 && (gg_str_is(name, "float") || gg_str_is(name, "double"))) {
        value out = look(e, x);
        out.dtype = gg_str_is(name, "float") ? GG_STR("torch.float32") : GG_STR("torch.float64");
        return out.kind == ITEMS ? out : nothing;
    }
    gg_str op = operator_of(name);
    if (op.len && !functional && count == from + 1) return of_two(e, op, x, gg__child(arguments, from));
    for (size_t i = 0; i < GG_COUNT(functions); i++)
        if (gg_str_is(name, functions[i].name)) return of_one(e, i, x, arguments, from);
    return nothing;
}

bool gg__is_name_of_items(const gg__masked *e, TSNode node, TSNode *out_value) {
    gg__masked inner = {.in = e->in, .names = true, .rounded = true};
    return e->names && e->depth < MAX_DEPTH && gg__masked_name(e->in, node, out_value) &&
           (inner.depth = e->depth + 1, look(&inner, *out_value).kind == ITEMS);
}

static bool is_no_name_of_items(TSNode node, void *data) {
    TSNode named;
    return !gg__is_name_of_items(data, node, &named);
}

/* What an operation makes of its operands. */
static value of_parts(gg__masked *e, TSNode node) {
    if (gg_node_is(node, "binary_operator")) {
        TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
        gg_str op = gg__text(e->in->tree, gg__field(node, "operator"));
        value a = look(e, left), b = look(e, right), out = arithmetic(e, op, a, b, right);
        return out.kind == NOTHING ? logical(op, a, b) : out;
    }
    if (gg_node_is(node, "unary_operator")) {
        value out = look(e, gg__field(node, "argument"));
        gg_str op = gg__text(e->in->tree, gg__field(node, "operator"));
        out.one = gg_str_is(op, "-") ? -out.one : gg_str_is(op, "+") ? out.one : NAN;
        return gg__is_bool(out.dtype) == gg_str_is(op, "~") ? out : nothing;
    }
    if (gg_node_is(node, "comparison_operator")) return comparison(e, node);
    return gg_node_is(node, "call") ? call(e, node) : nothing;
}

static value look(gg__masked *e, TSNode node) {
    gg__item item;
    TSNode named;
    node = gg__strip_parentheses(node);
    if (gg__item_of(e, node, &item)) return of_item(e, &item);
    if (gg__is_name_of_items(e, node, &named)) return look(e, named);
    gg__meta m = gg__infer(e->in, node);
    bool named_inside = m.sort != GG__UNKNOWN && !gg__visit(node, is_no_name_of_items, e), whole = m.sort == GG__TENSOR;
    if (whole && m.rank > 0 && named_inside) return of_parts(e, node); /* what is known is of the name before */
    if (named_inside || (whole && (m.rank > 0 || m.vague))) return nothing;
    if (m.sort == GG__TENSOR) {
        e->alone = true;
        return (value){.kind = ALONE, .dtype = m.dtype, .affine = true, .one = NAN};
    }
    if (m.sort != GG__UNKNOWN)
        return (value){
            .kind = NUMBER, .sort = m.sort, .affine = true, .one = m.seen ? m.value : NAN, .sure = m.constant};
    return of_parts(e, node);
}

static bool keep(gg__masked *e, value v) {
    e->dtype = v.dtype;
    e->affine = v.affine;
    /* a gradient that is not finite would reach what is no element, and so is not left out */
    return v.kind == ITEMS && !(e->alone && e->relies);
}

bool gg__is_elementwise(gg__masked *e, TSNode node) {
    return keep(e, look(e, node));
}

bool gg__is_elementwise_with(gg__masked *e, gg_str op, TSNode node) {
    value item = of_item(e, &e->item);
    return keep(e, arithmetic(e, op, item, look(e, node), node));
}
