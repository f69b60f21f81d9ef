/* What an expression is, proven from the facts of a capture and an allow-list of pure operations.
 *
 * Facts are concrete: dtype and shape of the local names when Dynamo stopped.  An operation that is not listed makes the result unknown, and
 * rules refuse what is unknown.  So everything inferred here is also pure: evaluating it one time more or less changes nothing. */
#include "repair/syntax.h"

typedef enum effect { SAME, REDUCE, REDUCE_BOOL, TO_BOOL } effect;

/* Where it can be called, of what dtypes, and what it does to gradients. */
enum {
    METHOD = 1, /* x.name() */
    TORCH = 2,  /* torch.name(x) */
    FUNCTIONAL = 4,
    INTEGERS = 8, /* keeps an integer dtype; without it, it is known for floating tensors alone */
    WIDENS = 16,  /* under autocast the result is float32 */
    LINEAR = 32,  /* the gradient does not depend on the values */
    ROUGH = 64,   /* the gradient may be infinite or NaN where the values are finite */
    ALIAS = 128,  /* may return its operand itself */
    ANY = 256,    /* of any dtype */
};

static const struct {
    const char *name;
    effect effect;
    unsigned flags;
    uint32_t min_arguments, max_arguments; /* beside the tensor; all of them scalars */
} operations[] = {
    {"abs", SAME, METHOD | TORCH | INTEGERS, 0, 0},
    {"neg", SAME, METHOD | TORCH | INTEGERS | LINEAR, 0, 0},
    {"relu", SAME, METHOD | TORCH | FUNCTIONAL | INTEGERS | LINEAR, 0, 0},
    {"sigmoid", SAME, METHOD | TORCH | FUNCTIONAL, 0, 0},
    {"tanh", SAME, METHOD | TORCH | FUNCTIONAL, 0, 0},
    {"clone", SAME, METHOD | TORCH | INTEGERS | ANY | LINEAR, 0, 0},
    {"clamp", SAME, METHOD | TORCH | LINEAR, 1, 2},
    {"clamp_min", SAME, METHOD | TORCH | LINEAR, 1, 1},
    {"clamp_max", SAME, METHOD | TORCH | LINEAR, 1, 1},
    {"detach", SAME, METHOD | TORCH | INTEGERS | ANY | LINEAR | ALIAS, 0, 0},
    {"contiguous", SAME, METHOD | INTEGERS | ANY | LINEAR | ALIAS, 0, 0},
    {"square", SAME, METHOD | TORCH | INTEGERS, 0, 0},
    {"sin", SAME, METHOD | TORCH, 0, 0},
    {"cos", SAME, METHOD | TORCH, 0, 0},
    {"exp", SAME, METHOD | TORCH | WIDENS | ROUGH, 0, 0},
    {"log", SAME, METHOD | TORCH | WIDENS | ROUGH, 0, 0},
    {"sqrt", SAME, METHOD | TORCH | ROUGH, 0, 0},
    {"rsqrt", SAME, METHOD | TORCH | WIDENS | ROUGH, 0, 0},
    {"floor", SAME, METHOD | TORCH | LINEAR, 0, 0},
    {"ceil", SAME, METHOD | TORCH | LINEAR, 0, 0},
    {"round", SAME, METHOD | TORCH | LINEAR, 0, 0},
    {"sign", SAME, METHOD | TORCH | LINEAR, 0, 0},
    {"nan_to_num", SAME, METHOD | TORCH | LINEAR, 0, 3},
    {"gelu", SAME, FUNCTIONAL, 0, 0},
    {"silu", SAME, FUNCTIONAL, 0, 0},
    {"softplus", SAME, FUNCTIONAL | WIDENS, 0, 0},
    {"sum", REDUCE, METHOD | TORCH | WIDENS | LINEAR, 0, 0},
    {"mean", REDUCE, METHOD | TORCH | LINEAR, 0, 0},
    {"max", REDUCE, METHOD | TORCH, 0, 0},
    {"min", REDUCE, METHOD | TORCH, 0, 0},
    {"amax", REDUCE, METHOD | TORCH, 0, 0},
    {"amin", REDUCE, METHOD | TORCH, 0, 0},
    {"norm", REDUCE, METHOD | TORCH | WIDENS | ROUGH, 0, 0},
    {"std", REDUCE, METHOD | TORCH | ROUGH, 0, 0},
    {"var", REDUCE, METHOD | TORCH | ROUGH, 0, 0},
    {"any", REDUCE_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
    {"all", REDUCE_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
    {"isnan", TO_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
    {"isinf", TO_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
    {"isfinite", TO_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
    {"logical_not", TO_BOOL, METHOD | TORCH | INTEGERS, 0, 0},
};

bool gg__is_floating(gg_str dtype) {
    return gg_str_is(dtype, "torch.float32") || gg_str_is(dtype, "torch.float64") || gg__is_half(dtype);
}

bool gg__is_half(gg_str dtype) {
    return gg_str_is(dtype, "torch.float16") || gg_str_is(dtype, "torch.bfloat16");
}

static bool is_bool(gg_str dtype) {
    return gg_str_is(dtype, "torch.bool");
}

static bool same_shape(gg__meta a, gg__meta b) {
    if (a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i] || a.shape[i] < 0) return false;
    return true;
}

bool gg__same_tensor(gg__meta a, gg__meta b) {
    return a.sort == GG__TENSOR && b.sort == GG__TENSOR && gg_str_equal(a.dtype, b.dtype) && !a.vague && !b.vague &&
           same_shape(a, b);
}

bool gg__is_condition(gg__meta m) {
    return m.sort == GG__TENSOR && m.rank == 0 && is_bool(m.dtype);
}

static const gg__meta unknown = {.sort = GG__UNKNOWN};

static gg__meta scalar(gg__sort sort) {
    return (gg__meta){.sort = sort, .smooth = true, .linear = true, .fresh = true};
}

static gg__meta from_fact(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; record && i < record->fact_count; i++) {
        const gg_fact *fact = &record->facts[i];
        if (!gg_str_equal(fact->name, name)) continue;
        switch (fact->kind) {
        case GG_VALUE_TENSOR:
            if (fact->rank < 0) return unknown;
            return (gg__meta){.sort = GG__TENSOR,
                              .dtype = fact->dtype,
                              .rank = fact->rank,
                              .shape = fact->shape,
                              .smooth = true,
                              .linear = true};
        case GG_VALUE_INT:
            return scalar(GG__SCALAR_INT);
        case GG_VALUE_FLOAT:
            return scalar(GG__SCALAR_FLOAT);
        case GG_VALUE_BOOL:
            return scalar(GG__SCALAR_BOOL);
        default:
            return unknown;
        }
    }
    return unknown;
}

/* Dtype and shape of an elementwise operation of two values; only what needs no promotion. */
static gg__meta broadcast(gg__meta a, gg__meta b) {
    if (a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN) return unknown;
    gg__meta out = a;
    if (a.sort != GG__TENSOR && b.sort != GG__TENSOR) {
        out.sort = a.sort > b.sort ? a.sort : b.sort;
        if (out.sort == GG__SCALAR_BOOL) out.sort = GG__SCALAR_INT;
    } else if (a.sort == GG__TENSOR && b.sort == GG__TENSOR) {
        if (!gg_str_equal(a.dtype, b.dtype) || (a.rank && b.rank && !same_shape(a, b))) return unknown;
        if (a.rank == 0) out = b;
        /* what has no dimension takes no part in promotion */
        out.vague = (a.vague && (a.rank || !b.rank)) || (b.vague && (b.rank || !a.rank));
    } else {
        gg__meta tensor = a.sort == GG__TENSOR ? a : b, number = a.sort == GG__TENSOR ? b : a;
        bool fits = gg__is_floating(tensor.dtype) || (number.sort == GG__SCALAR_INT && !is_bool(tensor.dtype));
        if (!fits) return unknown;
        out = tensor;
    }
    out.smooth = a.smooth && b.smooth;
    out.linear = a.linear && b.linear;
    out.fresh = true;
    return out;
}

static gg__meta binary(const gg_rule_input *in, TSNode node) {
    gg__meta a = gg__infer(in, gg__field(node, "left")), b = gg__infer(in, gg__field(node, "right"));
    TSNode op_node = gg__field(node, "operator");
    gg_str op = gg__text(in->tree, op_node);
    bool logical = gg_str_is(op, "&") || gg_str_is(op, "|") || gg_str_is(op, "^");
    if (logical) {
        if (a.sort != GG__TENSOR || b.sort != GG__TENSOR || !is_bool(a.dtype)) return unknown;
        return broadcast(a, b);
    }
    if (!gg_str_is(op, "+") && !gg_str_is(op, "-") && !gg_str_is(op, "*") && !gg_str_is(op, "/")) return unknown;
    if ((a.sort == GG__TENSOR && is_bool(a.dtype)) || (b.sort == GG__TENSOR && is_bool(b.dtype))) return unknown;
    if (a.sort != GG__TENSOR && b.sort != GG__TENSOR && gg_str_is(op, "/")) return unknown; /* may raise */
    gg__meta out = broadcast(a, b);
    if (gg_str_is(op, "/")) {
        if (out.sort == GG__TENSOR && !gg__is_floating(out.dtype)) return unknown; /* promotes */
        if (b.sort == GG__TENSOR) out.smooth = false;
    }
    bool product = gg_str_is(op, "*") || gg_str_is(op, "/");
    if (product && a.sort == GG__TENSOR && b.sort == GG__TENSOR) out.linear = false;
    if (gg_str_is(op, "/") && a.sort != GG__TENSOR && gg__is_half(out.dtype)) out.vague = true;
    return out;
}

static gg__meta comparison(const gg_rule_input *in, TSNode node) {
    if (gg__child_count(node) != 2) return unknown; /* chained */
    gg_str op = gg__text(in->tree, ts_node_child(node, 1));
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(ops); i++) known = known || gg_str_is(op, ops[i]);
    gg__meta a = gg__infer(in, gg__child(node, 0)), b = gg__infer(in, gg__child(node, 1));
    if (!known || a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN || (a.sort != GG__TENSOR && b.sort != GG__TENSOR))
        return unknown;
    gg__meta tensor = a.sort == GG__TENSOR ? a : b, other = a.sort == GG__TENSOR ? b : a;
    if (other.sort == GG__TENSOR) { /* values are promoted for the comparison alone: shapes decide */
        if (tensor.rank == 0)
            tensor = other;
        else if (other.rank != 0 && !same_shape(tensor, other))
            return unknown;
    }
    tensor.dtype = GG_STR("torch.bool");
    tensor.smooth = tensor.linear = tensor.fresh = true;
    tensor.vague = false;
    return tensor;
}

static gg__meta apply(effect e, unsigned flags, gg__meta x) {
    if (x.sort != GG__TENSOR || (!gg__is_floating(x.dtype) && !(flags & INTEGERS))) return unknown;
    bool number = gg__is_floating(x.dtype) || gg_str_starts_with(x.dtype, GG_STR("torch.int"));
    if (e == SAME && !number && !(flags & ANY)) return unknown; /* complex numbers and bools change */
    x.smooth = x.smooth && !(flags & ROUGH);
    x.linear = x.linear && (flags & LINEAR);
    x.fresh = (flags & ALIAS) ? x.fresh : true;
    x.vague = x.vague || ((flags & WIDENS) && gg__is_half(x.dtype));
    if (e == REDUCE_BOOL || e == TO_BOOL) {
        x.dtype = GG_STR("torch.bool");
        x.vague = false;
    }
    if (e == REDUCE || e == REDUCE_BOOL) {
        x.rank = 0;
        x.shape = NULL;
    }
    return x;
}

static bool only_scalars(const gg_rule_input *in, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        gg__sort sort = gg__infer(in, argument).sort;
        if (sort == GG__UNKNOWN || sort == GG__TENSOR) return false;
    }
    return true;
}

static gg__meta call(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return unknown;
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    gg_str object = gg__text(in->tree, gg__field(function, "object"));
    uint32_t count = gg__child_count(arguments);
    for (size_t i = 0; i < GG_COUNT(operations); i++) {
        if (!gg_str_is(name, operations[i].name)) continue;
        unsigned flags = operations[i].flags, form = METHOD;
        if (gg_str_equal(object, gg__module_alias(in->tree, node, "torch")))
            form = TORCH;
        else if (gg_str_equal(object, gg__module_alias(in->tree, node, "torch.nn.functional")))
            form = FUNCTIONAL;
        uint32_t from = form == METHOD ? 0 : 1;
        if (!(flags & form) || count < from || count - from < operations[i].min_arguments ||
            count - from > operations[i].max_arguments || !only_scalars(in, arguments, from))
            return unknown;
        TSNode x = from ? gg__child(arguments, 0) : gg__field(function, "object");
        return apply(operations[i].effect, flags, gg__infer(in, x));
    }
    return unknown;
}

bool gg__is_operation(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function");
    gg_str name =
        gg_node_is(function, "attribute") ? gg__text(in->tree, gg__field(function, "attribute")) : GG_STR_NULL;
    for (size_t i = 0; i < GG_COUNT(operations); i++)
        if (gg_str_is(name, operations[i].name)) return !(operations[i].flags & ALIAS);
    return false;
}

gg__meta gg__infer(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "identifier")) return from_fact(in, gg__text(in->tree, node));
    if (gg_node_is(node, "integer")) return scalar(GG__SCALAR_INT);
    if (gg_node_is(node, "float")) return scalar(GG__SCALAR_FLOAT);
    if (gg_node_is(node, "true") || gg_node_is(node, "false")) return scalar(GG__SCALAR_BOOL);
    if (gg_node_is(node, "binary_operator")) return binary(in, node);
    if (gg_node_is(node, "comparison_operator")) return comparison(in, node);
    if (gg_node_is(node, "call")) return call(in, node);
    if (gg_node_is(node, "unary_operator")) {
        gg__meta x = gg__infer(in, gg__field(node, "argument"));
        gg_str op = gg__text(in->tree, gg__field(node, "operator"));
        bool invert = gg_str_is(op, "~");
        if (x.sort == GG__UNKNOWN || (x.sort == GG__TENSOR && is_bool(x.dtype) != invert)) return unknown;
        if (!gg_str_is(op, "+")) x.fresh = true; /* `+x` is x itself */
        return x;
    }
    return unknown;
}
