/* A tensor in another dtype, and calls with a second operand: `x.half()`, `torch.maximum(x, y)`.  See infer.h. */
#include "repair/built.h"
#include "repair/infer.h"

/* Where it is of that dtype already it is x itself: so in another call it may be, unless its dtype is certain. */
static gg__meta cast(gg__inference *s, const gg__call *call, gg_str dtype, gg__vagueness vague) {
    gg__meta x = call->x;
    TSNode operand = gg__field(gg__field(call->node, "function"), "object");
    if (dtype.len == 0 || !(gg__is_floating(x.dtype) || gg__is_integer(x.dtype) || gg__is_bool(x.dtype)))
        return gg__unknown;
    x.fresh = x.fresh || (!gg_str_equal(x.dtype, dtype) && gg__has_certain_dtype(s->in, operand));
    if (!gg__is_floating(dtype)) x.smooth = x.linear = true; /* what it was made of gets no gradient */
    return gg__as_dtype(x, dtype, vague);
}

/* `x.to(torch.float16)`, `x.to(y.dtype)`, `x.to(dtype=…)` */
static gg__meta converted(gg__inference *s, const gg__call *call) {
    TSNode given;
    gg__vagueness vague;
    if (gg_str_is(call->name, "to")) {
        bool bound = gg__bind_arguments(s, call, (const char *const[]){"dtype"}, 1, &given);
        gg_str dtype = bound ? gg__dtype_named(s, given, &vague) : GG_STR_NULL;
        return cast(s, call, dtype, vague = dtype.len ? vague : GG__CERTAIN);
    }
    if (gg_str_is(call->name, "type_as")) {
        gg__meta other = gg__bind_arguments(s, call, (const char *const[]){"other"}, 1, &given)
                             ? gg__infer_node(s, given)
                             : gg__unknown;
        bool same = other.sort == GG__TENSOR && gg_str_equal(other.device, call->x.device);
        return same ? cast(s, call, other.dtype, other.vague) : gg__unknown;
    }
    gg_str dtype = gg__dtype_of_method(call->name);
    return gg__bind_arguments(s, call, NULL, 0, NULL) ? cast(s, call, dtype, GG__CERTAIN) : gg__unknown;
}

static gg__meta masked_fill(gg__inference *s, const gg__call *call) {
    TSNode given[2];
    if (!gg__bind_arguments(s, call, (const char *const[]){"mask", "value"}, 2, given)) return gg__unknown;
    gg__meta mask = gg__infer_node(s, given[0]), value = gg__infer_node(s, given[1]), x = call->x;
    if (mask.sort != GG__TENSOR || !gg__is_bool(mask.dtype) || !gg__holds(x.dtype, value)) return gg__unknown;
    gg__meta out = gg__chosen(mask, x, x);
    if (out.layout.len) out.layout = GG_STR("?");
    return out;
}

static bool are_alike(gg__meta a, gg__meta b) {
    return a.sort == GG__TENSOR && b.sort == GG__TENSOR && gg_str_equal(a.dtype, b.dtype) && !a.vague && !b.vague;
}

/* `x.lerp(y, 0.5)`: of one dtype, or it fails. */
static gg__meta lerp(gg__inference *s, const gg__call *call) {
    TSNode given[2];
    if (!gg__bind_arguments(s, call, (const char *const[]){"end", "weight"}, 2, given)) return gg__unknown;
    gg__meta end = gg__infer_node(s, given[0]), weight = gg__infer_node(s, given[1]), x = call->x;
    bool number = gg__is_number(weight);
    if (!are_alike(x, end) || !gg__is_floating(x.dtype) || (!number && !are_alike(x, weight))) return gg__unknown;
    gg__meta out = gg__elementwise(x, end);
    if (!number) out = gg__elementwise(out, weight);
    out.linear = out.linear && number;
    return out;
}

/* `x.addcmul(a, b, value=2)`: of float32, which autocast leaves. */
static gg__meta addcmul(gg__inference *s, const gg__call *call) {
    TSNode given[3];
    if (!gg__bind_arguments(s, call, (const char *const[]){"tensor1", "tensor2", "*value"}, 3, given))
        return gg__unknown;
    gg__meta a = gg__infer_node(s, given[0]), b = gg__infer_node(s, given[1]), x = call->x;
    bool single = gg_str_is(x.dtype, "torch.float32") && are_alike(x, a) && are_alike(x, b);
    if (!single || (!ts_node_is_null(given[2]) && !gg__holds(x.dtype, gg__infer_node(s, given[2])))) return gg__unknown;
    gg__meta out = gg__elementwise(x, gg__elementwise(a, b));
    out.linear = false;
    return out;
}

/* `F.mse_loss(x, y, reduction="none")`: of one shape, or it warns; gradients are finite where the values are. */
static gg__meta loss(gg__inference *s, const gg__call *call) {
    TSNode given[2];
    if (!gg__bind_arguments(s, call, (const char *const[]){"target", "*reduction"}, 2, given)) return gg__unknown;
    gg__meta x = call->x, y = gg__infer_node(s, given[0]);
    gg_str reduction = gg__text(s->in->tree, given[1]);
    if (reduction.len > 2) reduction = gg_str_slice(reduction, 1, reduction.len - 1);
    bool none = gg_str_is(reduction, "none"),
         known = none || ts_node_is_null(given[1]) || gg_str_is(reduction, "sum") || gg_str_is(reduction, "mean");
    if (!known || !are_alike(x, y) || !gg__is_floating(x.dtype) || !gg__same_shape(x, y) || gg__elements(x) < 1 ||
        !gg_str_equal(x.device, y.device) || (x.layout.len && !none))
        return gg__unknown;
    gg__meta out = gg__widened(gg__elementwise(x, y), true);
    out.linear = false;
    return none ? out : gg__reduced(s, out, (TSNode){0}, (TSNode){0});
}

static gg__meta functional(gg__inference *s, const gg__call *call, bool *known) {
    static const char *const losses[] = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
                                         "binary_cross_entropy_with_logits"};
    bool classes = gg_str_is(call->name, "cross_entropy"), pairs = gg__is_one_of(call->name, losses, GG_COUNT(losses));
    *known = classes || pairs;
    return classes ? gg__class_loss(s, call) : pairs ? loss(s, call) : gg__unknown;
}

gg__meta gg__of_two(gg__inference *s, const gg__call *call, bool *known) {
    static const struct {
        const char *name, *op;
    } same[] = {{"add", "+"},         {"sub", "-"},         {"mul", "*"},        {"div", "/"},
                {"true_divide", "/"}, {"pow", "**"},        {"remainder", "%"},  {"fmod", "%"},
                {"matmul", "@"},      {"mm", "@"},          {"bmm", "@"},        {"mv", "@"},
                {"dot", "@"},         {"bitwise_and", "&"}, {"bitwise_or", "|"}, {"bitwise_xor", "^"}};
    static const char *const compared[] = {"eq",       "ne",      "lt",   "le",         "gt",
                                           "ge",       "greater", "less", "less_equal", "greater_equal",
                                           "not_equal"},
                             *const logical[] = {"logical_and", "logical_or", "logical_xor"},
                             *const extremes[] = {"maximum", "minimum", "max", "min"};
    bool conversion =
        gg_str_is(call->name, "to") || gg_str_is(call->name, "type_as") || gg__dtype_of_method(call->name).len;
    if (call->form == GG__FUNCTIONAL) return functional(s, call, known);
    *known = true;
    if (conversion && call->form == GG__METHOD) return converted(s, call);
    if (gg_str_is(call->name, "masked_fill")) return masked_fill(s, call);
    if (gg_str_is(call->name, "lerp")) return lerp(s, call);
    if (gg_str_is(call->name, "addcmul")) return addcmul(s, call);
    TSNode given;
    gg__call strict = *call;
    if (!gg__bind_arguments(s, &strict, (const char *const[]){"other"}, 1, &given) || ts_node_is_null(given)) {
        *known = false;
        return gg__unknown;
    }
    for (size_t i = 0; i < GG_COUNT(same); i++) {
        if (!gg_str_is(call->name, same[i].name)) continue;
        gg__meta b = gg__infer_node(s, given);
        int32_t rank = gg_str_is(call->name, "mm") ? 2 : gg_str_is(call->name, "bmm") ? 3 : 0;
        bool vector = gg_str_is(call->name, "mv") || gg_str_is(call->name, "dot");
        if (rank && (call->x.rank != rank || b.rank != rank || (rank == 3 && call->x.shape[0] != b.shape[0])))
            return gg__unknown;
        if (vector && (b.rank != 1 || call->x.rank != (gg_str_is(call->name, "mv") ? 2 : 1))) return gg__unknown;
        gg__meta out = gg__arithmetic(gg_str_from(same[i].op), call->x, b);
        if (same[i].op[0] == '/' && gg__is_number(b)) out.smooth = out.smooth && !gg__may_be_zero(s->in, given);
        return out;
    }
    for (size_t i = 0; i < GG_COUNT(compared); i++)
        if (gg_str_is(call->name, compared[i])) return gg__compare(call->x, gg__infer_node(s, given));
    for (size_t i = 0; i < GG_COUNT(logical); i++) {
        if (!gg_str_is(call->name, logical[i])) continue;
        gg__meta b = gg__infer_node(s, given);
        return b.sort == GG__TENSOR ? gg__compare(call->x, b) : gg__unknown;
    }
    for (size_t i = 0; i < GG_COUNT(extremes); i++) {
        if (!gg_str_is(call->name, extremes[i])) continue;
        gg__meta b = gg__infer_node(s, given);
        if (b.sort != GG__TENSOR) { /* `x.max(1)`: values and where they are; `x.max(dim)` likewise */
            return gg__unknown;
        }
        gg__meta out = gg__elementwise(call->x, b);
        return out;
    }
    *known = false;
    return gg__unknown;
}
