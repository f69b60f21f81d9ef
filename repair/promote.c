/* What operations of two values give: dtype promotion where it is certain.  See infer.h. */
#include "repair/infer.h"

#include <math.h>

typedef enum dtype { NONE, BOOL, UINT8, INT8, INT16, INT32, INT64, HALF, BFLOAT, FLOAT, DOUBLE } dtype;

static const struct {
    const char *name, *alias, *method;
    double largest;
} dtypes[] = {
    [NONE] = {"", "", "", 0},
    [BOOL] = {"torch.bool", "", "bool", 1},
    [UINT8] = {"torch.uint8", "", "byte", 255},
    [INT8] = {"torch.int8", "", "char", 127},
    [INT16] = {"torch.int16", "torch.short", "short", 32767},
    [INT32] = {"torch.int32", "torch.int", "int", 2147483647},
    [INT64] = {"torch.int64", "torch.long", "long", 9.2e18},
    [HALF] = {"torch.float16", "torch.half", "half", 65504},
    [BFLOAT] = {"torch.bfloat16", "", "bfloat16", 3.3895e38},
    [FLOAT] = {"torch.float32", "torch.float", "float", 3.4028e38},
    [DOUBLE] = {"torch.float64", "torch.double", "double", INFINITY},
};

static dtype dtype_of(gg_str name) {
    for (size_t i = BOOL; i < GG_COUNT(dtypes); i++)
        if (gg_str_is(name, dtypes[i].name)) return (dtype)i;
    return NONE; /* complex, quantized: unknown */
}

static bool floating(dtype d) {
    return d >= HALF;
}

static dtype promote(dtype a, dtype b) {
    dtype low = a < b ? a : b, high = a < b ? b : a;
    if (low == HALF && high == BFLOAT) return FLOAT;
    if (low == UINT8 && high == INT8) return INT16;
    return high;
}

/* As torch's combine_categories: `higher` decides, unless `lower` is of a higher category. */
static dtype combine(dtype higher, dtype lower) {
    if (floating(higher)) return higher;
    if (higher == BOOL || floating(lower)) return promote(higher, lower);
    return higher != NONE ? higher : lower;
}

/* The vagueness of two tensors of which both decide. */
static gg__vagueness join(dtype a, gg__vagueness va, dtype b, gg__vagueness vb, dtype result) {
    if (va == vb) return va == GG__CERTAIN || a == b ? va : GG__VAGUE;
    dtype certain = va == GG__CERTAIN ? a : vb == GG__CERTAIN ? b : NONE;
    gg__vagueness other = va == GG__CERTAIN ? vb : va;
    if (certain == DOUBLE) return GG__CERTAIN;
    /* what autocast lowers or widens is at most single */
    bool at_most_single = other == GG__LOWERED || other == GG__WIDENED;
    return certain == FLOAT && result == FLOAT && at_most_single ? GG__CERTAIN : GG__VAGUE;
}

typedef struct typed {
    dtype type;
    gg__vagueness vague;
} typed;

static typed result_type(gg__meta a, gg__meta b) {
    static const dtype wrapped[] = {[GG__SCALAR_BOOL] = BOOL, [GG__SCALAR_INT] = INT64, [GG__SCALAR_FLOAT] = FLOAT};
    if (a.sort == GG__TENSOR && b.sort == GG__TENSOR) {
        dtype x = dtype_of(a.dtype), y = dtype_of(b.dtype);
        if (x == NONE || y == NONE) return (typed){NONE, GG__VAGUE};
        if ((a.rank == 0) == (b.rank == 0)) {
            dtype both = promote(x, y);
            return (typed){both, join(x, a.vague, y, b.vague, both)};
        }
        dtype dims = a.rank ? x : y, zero = a.rank ? y : x, both = combine(dims, zero);
        gg__vagueness of_dims = a.rank ? a.vague : b.vague, of_zero = a.rank ? b.vague : a.vague;
        bool zero_decides = !floating(dims) && (floating(zero) || dims == BOOL);
        if (zero_decides) return (typed){both, of_zero};
        return (typed){both, of_dims};
    }
    gg__meta tensor = a.sort == GG__TENSOR ? a : b, number = a.sort == GG__TENSOR ? b : a;
    dtype x = dtype_of(tensor.dtype);
    if (x == NONE) return (typed){NONE, GG__VAGUE};
    bool by_default = number.sort == GG__SCALAR_FLOAT && !floating(x);
    return (typed){combine(x, wrapped[number.sort]), by_default ? GG__DEFAULT : tensor.vague};
}

gg__meta gg__as_dtype(gg__meta x, gg_str name, gg__vagueness vague) {
    x.dtype = name;
    x.vague = vague;
    return x;
}

static gg__meta with_type(gg__meta x, typed t) {
    return gg__as_dtype(x, gg_str_from(dtypes[t.type].name), t.vague);
}

static bool same_sizes(gg__meta a, gg__meta b) {
    return a.rank == b.rank && memcmp(a.shape, b.shape, (size_t)a.rank * sizeof(a.shape[0])) == 0;
}

/* Sizes, device, strides and gradients of an elementwise operation; the dtype is the caller's. */
static gg__meta meet(gg__meta a, gg__meta b) {
    gg__meta out = a.sort == GG__TENSOR ? a : b;
    if (a.sort == GG__TENSOR && b.sort == GG__TENSOR) {
        gg__sizes sizes;
        if (!gg__broadcast(&sizes, a, b)) return gg__unknown;
        bool elsewhere = a.device.len && b.device.len && !gg_str_equal(a.device, b.device);
        if (elsewhere && a.rank && b.rank) return gg__unknown;
        if (elsewhere && a.rank == b.rank) return gg__unknown;
        if (b.rank > a.rank || out.device.len == 0) out.device = b.device;
        if (a.device.len == 0 || b.device.len == 0) { /* the default device may be another than CPU, but for them */
            gg_str known = a.device.len ? a.device : b.device;
            if (known.len && !gg_str_is(known, "cpu") && a.rank && b.rank) return gg__unknown;
        }
        bool alike = same_sizes(a, b) && gg_str_equal(a.layout, b.layout), plain = !a.layout.len && !b.layout.len;
        gg_str layout = alike || b.rank == 0 ? a.layout : a.rank == 0 ? b.layout : plain ? GG_STR("") : GG_STR("?");
        out = gg__with_sizes(out, &sizes);
        out.layout = sizes.rank <= 1 ? GG_STR("") : layout; /* a row lies without gaps, whatever it is made of */
    }
    out.smooth = a.smooth && b.smooth;
    out.linear = a.linear && b.linear;
    out.fresh = true;
    return out;
}

gg__meta gg__elementwise(gg__meta a, gg__meta b) {
    if (a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN || (a.sort != GG__TENSOR && b.sort != GG__TENSOR))
        return gg__unknown;
    typed t = result_type(a, b);
    gg__meta out = meet(a, b);
    return t.type == NONE || out.sort != GG__TENSOR ? gg__unknown : with_type(out, t);
}

/* Numbers as big as an element of an integer tensor may be, not bigger: else there is an error. */
static bool integers_fit(gg__meta a, gg__meta b) {
    gg__meta number = a.sort == GG__TENSOR ? b : a;
    return number.sort != GG__SCALAR_INT || !number.seen || fabs(number.value) < dtypes[INT64].largest;
}

static bool is_zero_safe(gg__meta divisor) {
    return gg__is_number(divisor) && divisor.constant && divisor.value != 0;
}

/* Of a number that is zero in another call the gradient is infinite.  Where a size is zero, there is nothing to divide. */
static bool divides_smoothly(gg__meta divisor) {
    return gg__is_number(divisor) && ((divisor.seen && divisor.value != 0) || divisor.filled);
}

static gg__meta power(gg__meta a, gg__meta b, gg__meta out) {
    bool whole = gg__is_integer(out.dtype);
    if (gg__is_bool(out.dtype) || (whole && !(gg__is_number(b) && b.constant && b.value >= 0))) return gg__unknown;
    bool whole_power = gg__is_number(b) && b.constant && floor(b.value) == b.value; /* else it has none below zero */
    bool steady = (whole_power && b.value >= 0) || (gg__is_number(a) && a.constant && a.value > 0);
    out.smooth = out.smooth && steady;
    out.linear = false;
    if (gg__is_half(out.dtype)) out.vague = out.vague ? GG__VAGUE : GG__WIDENED;
    return out;
}

static gg__meta divided(gg__meta a, gg__meta b, gg__meta out) {
    if (!gg__is_floating(out.dtype)) out = gg__as_dtype(out, gg_str_from(dtypes[FLOAT].name), GG__DEFAULT);
    if (b.sort == GG__TENSOR) out.linear = false;
    if (!divides_smoothly(b)) out.smooth = false;
    /* 1 / x is x.reciprocal() */
    if (a.sort != GG__TENSOR && gg__is_half(out.dtype)) out.vague = out.vague ? GG__VAGUE : GG__WIDENED;
    return out;
}

static bool is_truth(gg__meta x) {
    return x.sort == GG__SCALAR_BOOL || (x.sort == GG__TENSOR && gg__is_bool(x.dtype));
}

gg__meta gg__arithmetic(gg_str op, gg__meta a, gg__meta b) {
    if (gg__is_number(a) && gg__is_number(b)) return gg__number_operation(op, a, b);
    if (gg_str_is(op, "@")) return gg__matmul(a, b);
    gg__meta out = gg__elementwise(a, b);
    if (out.sort == GG__UNKNOWN || !integers_fit(a, b)) return gg__unknown;
    bool bools = is_truth(a) || is_truth(b);
    if (gg_str_is(op, "+") || gg_str_is(op, "*")) {
        if (gg_str_is(op, "*") && a.sort == b.sort) out.linear = false;
        return out;
    }
    if (gg_str_is(op, "-")) return bools ? gg__unknown : out;
    if (gg_str_is(op, "/")) return divided(a, b, out);
    if (gg_str_is(op, "**")) return power(a, b, out);
    if (gg_str_is(op, "%") || gg_str_is(op, "//")) {
        if (bools || (!gg__is_floating(out.dtype) && !is_zero_safe(b))) return gg__unknown;
        /* there is no gradient of `//`: asking for one fails */
        if (gg__is_floating(out.dtype) && (gg_str_is(op, "//") || b.sort == GG__TENSOR)) out.smooth = false;
        return out;
    }
    bool bits = gg_str_is(op, "&") || gg_str_is(op, "|") || gg_str_is(op, "^");
    return bits && !gg__is_floating(out.dtype) ? out : gg__unknown;
}

gg__meta gg__compare(gg__meta a, gg__meta b) {
    if (a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN) return gg__unknown;
    if (gg__is_number(a) && gg__is_number(b)) return gg__any_number(GG__SCALAR_BOOL);
    if (!integers_fit(a, b)) return gg__unknown;
    gg__meta out = meet(a, b); /* values are promoted for the comparison alone */
    if (out.sort == GG__UNKNOWN) return out;
    out.smooth = out.linear = true;
    return gg__as_dtype(out, gg_str_from(dtypes[BOOL].name), GG__CERTAIN);
}

gg__meta gg__widened(gg__meta x, bool widens) {
    if (widens && gg__is_half(x.dtype))
        x.vague = x.vague == GG__CERTAIN || x.vague == GG__WIDENED ? GG__WIDENED : GG__VAGUE;
    else if (widens && x.vague == GG__LOWERED)
        x.vague = GG__VAGUE;
    return x;
}

gg__meta gg__lowered(gg__meta x) {
    if (gg__is_floating(x.dtype) && dtype_of(x.dtype) != DOUBLE) x.vague = GG__LOWERED;
    return x;
}

gg__meta gg__matmul(gg__meta a, gg__meta b) {
    if (a.sort != GG__TENSOR || b.sort != GG__TENSOR || a.rank == 0 || b.rank == 0) return gg__unknown;
    if (!gg_str_equal(a.dtype, b.dtype) || dtype_of(a.dtype) <= BOOL) return gg__unknown;
    bool vague = a.vague > GG__LOWERED && b.vague > GG__LOWERED; /* else the one has the other's, or it fails */
    if (a.device.len && b.device.len && !gg_str_equal(a.device, b.device)) return gg__unknown;
    int64_t inner = a.shape[a.rank - 1], other = b.shape[b.rank > 1 ? b.rank - 2 : 0];
    if (inner < 0 || inner != other) return gg__unknown;
    gg__meta left = a, right = b; /* what is before the last two dimensions broadcasts */
    left.rank = a.rank > 2 ? a.rank - 2 : 0;
    right.rank = b.rank > 2 ? b.rank - 2 : 0;
    gg__sizes sizes;
    if (!gg__broadcast(&sizes, left, right) || sizes.rank + 2 > GG__MAX_RANK) return gg__unknown;
    if (a.rank > 1) sizes.items[sizes.rank++] = a.shape[a.rank - 2];
    if (b.rank > 1) sizes.items[sizes.rank++] = b.shape[b.rank - 1];
    gg__meta out = a;
    if (out.device.len == 0) out.device = b.device;
    out.smooth = a.smooth && b.smooth;
    out.linear = false;
    out.fresh = true;
    out = gg__with_sizes(out, &sizes);
    bool folded = b.rank > 2 && a.rank < b.rank; /* computed transposed */
    out.layout = folded ? GG_STR("?") : GG_STR("");
    out = gg__lowered(out);
    if (vague) out.vague = GG__VAGUE;
    return out;
}

gg_str gg__dtype_named(gg__inference *s, TSNode node, gg__vagueness *vague) {
    *vague = GG__CERTAIN;
    if (!gg_node_is(node, "attribute")) return GG_STR_NULL;
    const gg_tree *tree = s->in->tree;
    gg_str object = gg__text(tree, gg__field(node, "object")), name = gg__text(tree, gg__field(node, "attribute"));
    if (gg_str_is(name, "dtype")) {
        gg__meta x = gg__infer_node(s, gg__field(node, "object"));
        *vague = x.vague;
        return x.sort == GG__TENSOR ? x.dtype : GG_STR_NULL;
    }
    if (!gg_str_equal(object, gg__module_alias(tree, node, "torch"))) return GG_STR_NULL;
    for (size_t i = BOOL; i < GG_COUNT(dtypes); i++)
        if (gg_str_is(name, dtypes[i].name + sizeof("torch.") - 1) ||
            (*dtypes[i].alias && gg_str_is(name, dtypes[i].alias + sizeof("torch.") - 1)))
            return gg_str_from(dtypes[i].name);
    return GG_STR_NULL;
}

gg_str gg__dtype_of_method(gg_str name) {
    for (size_t i = BOOL; i < GG_COUNT(dtypes); i++)
        if (gg_str_is(name, dtypes[i].method)) return gg_str_from(dtypes[i].name);
    return GG_STR_NULL;
}

double gg__largest(gg_str name) {
    return dtypes[dtype_of(name)].largest;
}

bool gg__holds(gg_str name, gg__meta number) {
    dtype d = dtype_of(name);
    if (d == NONE || !gg__is_number(number)) return false;
    if (d == BOOL) return number.sort == GG__SCALAR_BOOL;
    if (!floating(d))
        return number.sort != GG__SCALAR_FLOAT &&
               (number.sort == GG__SCALAR_BOOL || (d == INT64 && !number.steady) ||
                (number.steady && fabs(number.value) <= dtypes[d].largest && (d != UINT8 || number.value >= 0)));
    if (d == DOUBLE || number.sort == GG__SCALAR_BOOL) return true;
    if (!number.seen) return d != HALF;
    if (!number.steady) return d != HALF; /* in another call it may be larger, but not than what float holds */
    return !isfinite(number.value) || fabs(number.value) <= dtypes[d].largest * 1.0001;
}
