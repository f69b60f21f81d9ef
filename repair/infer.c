/* What an expression is, proven from the facts of a capture and an allow-list of pure operations.
 *
 * Facts are concrete: dtype and shape of the local names when Dynamo stopped.  An operation that is not listed makes the result unknown, and
 * rules refuse what is unknown.  So everything inferred here is also pure: evaluating it one time more or less changes nothing. */
#include "repair/syntax.h"

typedef enum effect { SAME, SAME_ROUGH, REDUCE, REDUCE_FLOAT, REDUCE_BOOL, TO_BOOL } effect;

static const struct {
    const char *name;
    effect effect;
} methods[] = {
    {"abs", SAME},
    {"neg", SAME},
    {"relu", SAME},
    {"sigmoid", SAME},
    {"tanh", SAME},
    {"clone", SAME},
    {"clamp", SAME},
    {"clamp_min", SAME},
    {"clamp_max", SAME},
    {"detach", SAME},
    {"square", SAME},
    {"sin", SAME},
    {"cos", SAME},
    {"contiguous", SAME},
    {"exp", SAME_ROUGH},
    {"log", SAME_ROUGH},
    {"sqrt", SAME_ROUGH},
    {"rsqrt", SAME_ROUGH},
    {"floor", SAME},
    {"ceil", SAME},
    {"round", SAME},
    {"sign", SAME},
    {"gelu", SAME},
    {"silu", SAME},
    {"nan_to_num", SAME},
    {"softplus", SAME},
    {"sum", REDUCE},
    {"mean", REDUCE_FLOAT},
    {"max", REDUCE},
    {"min", REDUCE},
    {"amax", REDUCE},
    {"amin", REDUCE},
    {"norm", REDUCE_FLOAT},
    {"std", REDUCE_FLOAT},
    {"var", REDUCE_FLOAT},
    {"any", REDUCE_BOOL},
    {"all", REDUCE_BOOL},
    {"isnan", TO_BOOL},
    {"isinf", TO_BOOL},
    {"isfinite", TO_BOOL},
    {"logical_not", TO_BOOL},
};

bool gg__is_floating(gg_str dtype) {
    return gg_str_starts_with(dtype, GG_STR("torch.float")) || gg_str_is(dtype, "torch.bfloat16");
}

static bool is_bool(gg_str dtype) {
    return gg_str_is(dtype, "torch.bool");
}

bool gg__same_tensor(gg__meta a, gg__meta b) {
    if (a.sort != GG__TENSOR || b.sort != GG__TENSOR || !gg_str_equal(a.dtype, b.dtype) || a.rank != b.rank)
        return false;
    for (int32_t i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i] || a.shape[i] < 0) return false;
    return true;
}

bool gg__is_condition(gg__meta m) {
    return m.sort == GG__TENSOR && m.rank == 0 && is_bool(m.dtype);
}

static const gg__meta unknown = {.sort = GG__UNKNOWN};

static gg__meta from_fact(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; record && i < record->fact_count; i++) {
        const gg_fact *fact = &record->facts[i];
        if (!gg_str_equal(fact->name, name)) continue;
        switch (fact->kind) {
        case GG_VALUE_TENSOR:
            if (fact->rank < 0) return unknown;
            return (gg__meta){GG__TENSOR, fact->dtype, fact->rank, fact->shape, true, false};
        case GG_VALUE_INT:
            return (gg__meta){.sort = GG__SCALAR_INT, .smooth = true};
        case GG_VALUE_FLOAT:
            return (gg__meta){.sort = GG__SCALAR_FLOAT, .smooth = true};
        case GG_VALUE_BOOL:
            return (gg__meta){.sort = GG__SCALAR_BOOL, .smooth = true};
        default:
            return unknown;
        }
    }
    return unknown;
}

/* Dtype and shape of an elementwise operation of two values; only what needs no promotion. */
static gg__meta broadcast(gg__meta a, gg__meta b) {
    if (a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN) return unknown;
    bool smooth = a.smooth && b.smooth;
    gg__meta out = a;
    if (a.sort != GG__TENSOR && b.sort != GG__TENSOR) {
        out.sort = a.sort > b.sort ? a.sort : b.sort;
        if (out.sort == GG__SCALAR_BOOL) out.sort = GG__SCALAR_INT;
    } else if (a.sort == GG__TENSOR && b.sort == GG__TENSOR) {
        if (!gg_str_equal(a.dtype, b.dtype)) return unknown;
        if (a.rank == 0)
            out = b;
        else if (b.rank != 0 && !gg__same_tensor(a, b))
            return unknown;
    } else {
        gg__meta tensor = a.sort == GG__TENSOR ? a : b, scalar = a.sort == GG__TENSOR ? b : a;
        bool fits = gg__is_floating(tensor.dtype) || (scalar.sort == GG__SCALAR_INT && !is_bool(tensor.dtype));
        if (!fits) return unknown;
        out = tensor;
    }
    out.smooth = smooth;
    out.fresh = true;
    return out;
}

static gg__meta binary(const gg_rule_input *in, TSNode node) {
    gg__meta a = gg__infer(in, gg__field(node, "left")), b = gg__infer(in, gg__field(node, "right"));
    TSNode op_node = gg__field(node, "operator");
    gg_str op = gg_node_text(in->tree, op_node);
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
    return out;
}

static gg__meta comparison(const gg_rule_input *in, TSNode node) {
    if (ts_node_named_child_count(node) != 2) return unknown; /* chained */
    gg_str op = gg_node_text(in->tree, ts_node_child(node, 1));
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    bool known = false;
    for (size_t i = 0; i < GG_COUNT(ops); i++) known = known || gg_str_is(op, ops[i]);
    gg__meta a = gg__infer(in, ts_node_named_child(node, 0)), b = gg__infer(in, ts_node_named_child(node, 1));
    if (!known || a.sort == GG__UNKNOWN || b.sort == GG__UNKNOWN || (a.sort != GG__TENSOR && b.sort != GG__TENSOR))
        return unknown;
    gg__meta tensor = a.sort == GG__TENSOR ? a : b, other = a.sort == GG__TENSOR ? b : a;
    if (other.sort == GG__TENSOR) { /* values are promoted for the comparison alone: shapes decide */
        if (tensor.rank == 0)
            tensor = other;
        else if (other.rank != 0) {
            gg__meta same = other;
            same.dtype = tensor.dtype;
            if (!gg__same_tensor(tensor, same)) return unknown;
        }
    }
    tensor.dtype = GG_STR("torch.bool");
    tensor.smooth = tensor.fresh = true;
    return tensor;
}

static gg__meta apply(effect e, gg__meta x, bool has_arguments) {
    if (x.sort != GG__TENSOR) return unknown;
    x.fresh = true;
    switch (e) {
    case SAME_ROUGH:
        x.smooth = false;
        return gg__is_floating(x.dtype) ? x : unknown;
    case SAME:
        return x;
    case TO_BOOL:
        x.dtype = GG_STR("torch.bool");
        return x;
    default:
        break;
    }
    if (has_arguments) return unknown; /* a dimension, or a keyword that changes the dtype */
    if (e == REDUCE_FLOAT && !gg__is_floating(x.dtype)) return unknown;
    if (e == REDUCE && !gg__is_floating(x.dtype)) return unknown; /* sums of integers widen */
    if (e == REDUCE_BOOL) x.dtype = GG_STR("torch.bool");
    x.rank = 0;
    x.shape = NULL;
    return x;
}

static bool only_scalars(const gg_rule_input *in, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < ts_node_named_child_count(arguments); i++) {
        TSNode argument = ts_node_named_child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        gg__sort sort = gg__infer(in, argument).sort;
        if (sort == GG__UNKNOWN || sort == GG__TENSOR) return false;
    }
    return true;
}

static gg__meta call(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (!gg_node_is(function, "attribute") || !gg_node_is(arguments, "argument_list")) return unknown;
    gg_str name = gg_node_text(in->tree, gg__field(function, "attribute"));
    gg_str object = gg_node_text(in->tree, gg__field(function, "object"));
    uint32_t from = 0;
    gg_str torch = gg__module_alias(in->tree, "torch", NULL),
           functional = gg__module_alias(in->tree, "torch.nn.functional", NULL);
    bool is_function =
        (torch.len && gg_str_equal(object, torch)) || (functional.len && gg_str_equal(object, functional));
    if (is_function) {
        if (ts_node_named_child_count(arguments) == 0) return unknown;
        from = 1;
    }
    for (size_t i = 0; i < GG_COUNT(methods); i++) {
        if (!gg_str_is(name, methods[i].name)) continue;
        if (!only_scalars(in, arguments, from)) return unknown;
        gg__meta x = gg__infer(in, is_function ? ts_node_named_child(arguments, 0) : gg__field(function, "object"));
        gg__meta out = apply(methods[i].effect, x, ts_node_named_child_count(arguments) > from);
        if (gg_str_is(name, "detach") || gg_str_is(name, "contiguous")) out.fresh = x.fresh;
        return out;
    }
    return unknown;
}

gg__meta gg__infer(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "identifier")) return from_fact(in, gg_node_text(in->tree, node));
    if (gg_node_is(node, "integer")) return (gg__meta){.sort = GG__SCALAR_INT, .smooth = true};
    if (gg_node_is(node, "float")) return (gg__meta){.sort = GG__SCALAR_FLOAT, .smooth = true};
    if (gg_node_is(node, "true") || gg_node_is(node, "false"))
        return (gg__meta){.sort = GG__SCALAR_BOOL, .smooth = true};
    if (gg_node_is(node, "binary_operator")) return binary(in, node);
    if (gg_node_is(node, "comparison_operator")) return comparison(in, node);
    if (gg_node_is(node, "call")) return call(in, node);
    if (gg_node_is(node, "unary_operator")) {
        gg__meta x = gg__infer(in, gg__field(node, "argument"));
        bool invert = gg_str_is(gg_node_text(in->tree, gg__field(node, "operator")), "~");
        if (x.sort == GG__UNKNOWN || (x.sort == GG__TENSOR && is_bool(x.dtype) != invert)) return unknown;
        x.fresh = true;
        return x;
    }
    return unknown;
}
