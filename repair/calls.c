/* Calls of functions and methods of torch: an allow-list, operations.def, and what takes more than one tensor.  See infer.h. */
#include "repair/infer.h"

typedef enum effect { SAME, REDUCE, TOTAL, COUNT, TO_BOOL } effect;

/* Where it can be called, of what dtypes, and what it does to gradients. */
enum {
    METHOD = GG__METHOD,         /* x.name() */
    TORCH = GG__TORCH,           /* torch.name(x) */
    FUNCTIONAL = GG__FUNCTIONAL, /* F.name(x) */
    INTEGERS = 8,                /* keeps an integer dtype; without it, it is known for floating tensors alone */
    WIDENS = 16,                 /* under autocast the result is float32 */
    LINEAR = 32,                 /* the gradient does not depend on the values */
    ROUGH = 64,                  /* the gradient may be infinite or NaN where the values are finite */
    ALIAS = 128,                 /* may return its operand itself */
    ANY = 256,                   /* of any dtype */
    HELD = 512,                  /* the arguments become elements of its dtype */
    ROWS = 1024,                 /* the result lies row after row */
    MATRIX = 2048,               /* has two dimensions at least */
    DIMS = 4096,                 /* takes dim and keepdim */
    REDUCES = 8192,
    FILLED = 16384,  /* fails where there are no elements */
    GUARDED = 32768, /* rough, but for an operand that an edit can give it where it is not wanted */
};

static const struct {
    const char *name;
    effect effect;
    unsigned flags;
    uint32_t min_arguments, max_arguments; /* beside the tensor; all of them numbers */
} operations[] = {
#define OPERATION(name, effect, flags, min, max) {#name, effect, flags, min, max},
#include "repair/operations.def"
#undef OPERATION
};

bool gg__bind_arguments(gg__inference *s, const gg__call *call, const char *const *names, uint32_t count, TSNode *out) {
    uint32_t position = 0;
    for (uint32_t i = 0; i < count; i++) out[i] = (TSNode){0};
    for (uint32_t i = call->from; i < gg__child_count(call->arguments); i++) {
        TSNode argument = gg__child(call->arguments, i), value = argument;
        uint32_t at = position;
        if (gg_node_is(argument, "list_splat") || gg_node_is(argument, "dictionary_splat")) return false;
        if (gg_node_is(argument, "comment")) continue;
        if (gg_node_is(argument, "keyword_argument")) {
            gg_str name = gg__text(s->in->tree, gg__field(argument, "name"));
            for (at = 0; at < count && !gg_str_is(name, names[at] + (names[at][0] == '*'));) at++;
            value = gg__field(argument, "value");
        } else {
            position++;
            if (at < count && names[at][0] == '*') return false; /* by name alone */
        }
        if (at >= count || !ts_node_is_null(out[at])) return false;
        out[at] = value;
    }
    return true;
}

static bool only_numbers(gg__inference *s, TSNode arguments, uint32_t from, gg_str held) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        if (held.len && gg_node_is(argument, "none")) continue; /* clamp(x, None, 1) */
        gg__meta number = gg__infer_node(s, argument);
        if (!gg__is_number(number) || (held.len && !gg__holds(held, number))) return false;
    }
    return true;
}

static gg__meta of_effect(effect e, unsigned flags, gg__meta x) {
    bool floating = gg__is_floating(x.dtype), integer = gg__is_integer(x.dtype), truth = gg__is_bool(x.dtype);
    if (!floating && !(flags & INTEGERS)) return gg__unknown;
    if (!floating && !integer && !truth && !(flags & ANY)) return gg__unknown; /* complex numbers */
    if (e == SAME && truth && !(flags & ANY)) return gg__unknown;
    if ((flags & MATRIX) && x.rank < 2) return gg__unknown;
    if ((flags & FILLED) && gg__elements(x) < 1) return gg__unknown;
    x.smooth = x.smooth && !(flags & ROUGH);
    x.linear = x.linear && (flags & LINEAR);
    x.fresh = (flags & ALIAS) ? x.fresh : true;
    x = gg__widened(x, flags & WIDENS);
    if (flags & ROWS) x.layout = GG_STR("");
    if (e == TO_BOOL && (flags & REDUCES) && gg_str_is(x.dtype, "torch.uint8")) return gg__unknown; /* stays uint8 */
    if (e == TO_BOOL) {
        x = gg__as_dtype(x, GG_STR("torch.bool"), GG__CERTAIN);
        x.smooth = x.linear = true;
    }
    if ((e == TOTAL && !floating) || e == COUNT) x = gg__as_dtype(x, GG_STR("torch.int64"), GG__CERTAIN);
    if (e == COUNT) x.smooth = x.linear = true;
    return x;
}

/* Roots and logarithms, whose gradients are finite where their operand is not near zero. */
static bool is_tame(gg__inference *s, const gg__call *call) {
    static const char *const names[] = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"};
    TSNode x = call->from ? gg__child(call->arguments, 0) : gg__field(gg__field(call->node, "function"), "object");
    return gg__is_one_of(call->name, names, GG_COUNT(names)) && gg__is_away_from_zero(s->in, x, call->x);
}

static gg__meta operation(gg__inference *s, const gg__call *call, size_t row) {
    unsigned flags = operations[row].flags;
    if ((flags & GUARDED) && (s->divides_safely || is_tame(s, call))) flags &= ~(unsigned)ROUGH;
    uint32_t count = gg__child_count(call->arguments) - call->from;
    if (!(flags & (unsigned)call->form) || call->x.sort != GG__TENSOR) return gg__unknown;
    gg__meta x = of_effect(operations[row].effect, flags, call->x);
    TSNode dims[2];
    if ((flags & DIMS) && count) {
        bool bound = gg__bind_arguments(s, call, (const char *const[]){"dim", "keepdim"}, 2, dims);
        if (!bound || ts_node_is_null(dims[0]) || x.sort == GG__UNKNOWN) return gg__unknown;
        return gg__reduced(s, x, dims[0], dims[1]);
    }
    gg_str held = (flags & HELD) ? call->x.dtype : GG_STR_NULL;
    if (count < operations[row].min_arguments || count > operations[row].max_arguments ||
        !only_numbers(s, call->arguments, call->from, held) || x.sort == GG__UNKNOWN)
        return gg__unknown;
    effect e = operations[row].effect;
    return e == REDUCE || e == TOTAL || e == COUNT || (flags & REDUCES) ? gg__reduced(s, x, (TSNode){0}, (TSNode){0})
                                                                        : x;
}

/* `x.argsort()`: the last dimension, unless another is given. */
static gg__meta ordered(gg__inference *s, gg__meta x, TSNode dim, TSNode descending) {
    int32_t at;
    if (x.rank < 1 || (!ts_node_is_null(dim) && !gg__dim(gg__infer_node(s, dim), x.rank, &at)) ||
        (!ts_node_is_null(descending) && gg__infer_node(s, descending).sort != GG__SCALAR_BOOL))
        return gg__unknown;
    x = gg__as_dtype(x, GG_STR("torch.int64"), GG__CERTAIN);
    x.smooth = x.linear = x.fresh = true;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

/* Along a dimension that stays, in another dtype if one is given. */
static gg__meta kept(gg__inference *s, gg__meta x, TSNode along, TSNode other, bool running) {
    int32_t dim;
    if (!gg__dim(gg__infer_node(s, along), x.rank, &dim)) return gg__unknown;
    if (running && !gg__is_floating(x.dtype)) x = gg__as_dtype(x, GG_STR("torch.int64"), GG__CERTAIN);
    if (!ts_node_is_null(other)) {
        gg__vagueness vague;
        gg_str dtype = gg__dtype_named(s, other, &vague);
        if (!gg__is_floating(dtype)) return gg__unknown;
        x = gg__widened(gg__as_dtype(x, dtype, vague), true);
    }
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

static bool is_false(TSNode node, gg__meta number) {
    return gg_node_is(node, "false") || (gg__is_number(number) && number.constant && number.value == 0);
}

/* std and var: dim, keepdim, unbiased, correction.  Of one element they are no number, and so is the gradient: there have to be more whatever the size of the
 * first dimension. */
static gg__meta deviation(gg__inference *s, gg__meta x, const TSNode *given) {
    TSNode dims = given[0], keepdim = given[1], corrected = ts_node_is_null(given[2]) ? given[3] : given[2];
    bool whole = ts_node_is_null(corrected), plain = !whole && is_false(corrected, gg__infer_node(s, corrected));
    bool twice = !ts_node_is_null(given[2]) && !ts_node_is_null(given[3]);
    if (twice || (!whole && !plain) || (ts_node_is_null(dims) && !ts_node_is_null(keepdim))) return gg__unknown;
    gg__meta later = x, out = gg__reduced(s, x, dims, keepdim);
    if (out.sort == GG__UNKNOWN || x.rank < 1) return gg__unknown;
    later.shape[0] = 1;
    int64_t all = gg__elements(later), left = gg__elements(gg__reduced(s, later, dims, keepdim));
    out.smooth = x.smooth && (plain || (left > 0 && all / left > 1));
    return out;
}

/* F.normalize: by a norm that is kept from zero; in half precision what keeps it so is zero. */
static gg__meta normalized(gg__inference *s, gg__meta x, TSNode p, TSNode dim) {
    gg__meta power = gg__infer_node(s, p), along = gg__infer_node(s, dim);
    int32_t at;
    if (ts_node_is_null(dim)) along = gg__constant(GG__SCALAR_INT, 1);
    bool plain = ts_node_is_null(p) || (gg__is_number(power) && power.constant && power.value == 2);
    if (!plain || gg__is_half(x.dtype) || x.rank < 1 || !gg__dim(along, x.rank, &at)) return gg__unknown;
    if (x.layout.len) x.layout = GG_STR("?");
    bool lowered =
        x.vague == GG__LOWERED && gg_str_starts_with(x.device, GG_STR("cpu")); /* elsewhere norms are single */
    if (x.vague && !lowered) x.vague = GG__VAGUE;
    return x;
}

/* F.layer_norm: over the last dimensions, which have to be as they are named; without weight and bias. */
static gg__meta layered(gg__inference *s, gg__meta x, TSNode tail) {
    gg__sizes sizes;
    if (ts_node_is_null(tail) || !gg__sizes_of(s, tail, &sizes) || sizes.rank < 1 || sizes.rank > x.rank)
        return gg__unknown;
    for (int32_t i = 0; i < sizes.rank; i++)
        if (sizes.items[i] < 1 || sizes.items[i] != x.shape[x.rank - sizes.rank + i]) return gg__unknown;
    if (x.layout.len) x.layout = GG_STR("?");
    return x;
}

/* Norms: the power, dim, keepdim. */
static gg__meta normed(gg__inference *s, gg__meta x, const TSNode *given, bool vector) {
    gg__meta p = gg__infer_node(s, given[0]);
    bool usual = ts_node_is_null(given[0]) || (p.constant && (p.value == 1 || p.value == 2));
    if ((!ts_node_is_null(given[0]) && !gg__is_number(p)) || (ts_node_is_null(given[1]) && !vector) ||
        (vector && gg__is_half(x.dtype)))
        return gg__unknown;
    x.smooth = x.smooth && usual; /* where it is zero, its gradient is */
    return gg__reduced(s, x, given[1], given[2]);
}

/* Places: dim, keepdim. */
static gg__meta placed(gg__inference *s, gg__meta x, const TSNode *given) {
    x = gg__as_dtype(x, GG_STR("torch.int64"), GG__CERTAIN);
    x.smooth = x.linear = true;
    return gg__reduced(s, x, given[0], given[1]);
}

/* softmax, norm(dim=…) and what else goes along a dimension. */
static gg__meta along(gg__inference *s, const gg__call *call, bool *known) {
    enum { DEVIATION, NORM, UNIT, LAYER, SOFT, RUNNING, ARG, LOGSUM, ORDER };
    static const struct {
        const char *name;
        int kind;
        const char *const names[4];
    } rows[] = {
        {"std", DEVIATION, {"dim", "*keepdim", "*unbiased", "*correction"}},
        {"var", DEVIATION, {"dim", "*keepdim", "*unbiased", "*correction"}},
        {"norm", NORM, {"p", "dim", "keepdim"}},
        {"vector_norm", NORM, {"ord", "dim", "keepdim"}},
        {"normalize", UNIT, {"p", "dim"}},
        {"layer_norm", LAYER, {"normalized_shape"}},
        {"softmax", SOFT, {"dim", "*dtype"}},
        {"log_softmax", SOFT, {"dim", "*dtype"}},
        {"cumsum", RUNNING, {"dim"}},
        {"argmax", ARG, {"dim", "keepdim"}},
        {"argmin", ARG, {"dim", "keepdim"}},
        {"logsumexp", LOGSUM, {"dim", "keepdim"}},
        {"cumprod", RUNNING, {"dim"}},
        {"argsort", ORDER, {"dim", "descending"}},
    };
    TSNode given[4];
    gg__meta x = call->x;
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        if (!gg_str_is(call->name, rows[i].name)) continue;
        uint32_t count = 0;
        while (count < 4 && rows[i].names[count]) count++;
        bool soft = rows[i].kind == SOFT, running = rows[i].kind == RUNNING, order = rows[i].kind == ORDER;
        bool whole = running || order || rows[i].kind == ARG, truth = gg__is_bool(x.dtype);
        bool deviates = rows[i].kind == DEVIATION, vector = gg_str_is(call->name, "vector_norm");
        bool unit = rows[i].kind == UNIT || rows[i].kind == LAYER;
        *known =
            gg__child_count(call->arguments) > call->from || order || rows[i].kind == ARG || deviates || unit || vector;
        if (!*known || x.sort != GG__TENSOR || !gg__bind_arguments(s, call, rows[i].names, count, given))
            return gg__unknown;
        if ((call->form == GG__FUNCTIONAL ? !soft && !unit : unit) || (vector && call->form != GG__TORCH))
            return gg__unknown;
        bool floating = gg__is_floating(x.dtype);
        if (!floating && !(whole && gg__is_integer(x.dtype)) && !(running && truth)) return gg__unknown;
        if (gg__elements(x) < 1) return gg__unknown;
        if (order) return ordered(s, x, given[0], given[1]);
        bool widens = soft || rows[i].kind == NORM || rows[i].kind == LAYER || rows[i].kind == LOGSUM || running;
        bool product = gg_str_is(call->name, "cumprod"); /* of the others: it may be too large where all are not */
        x = gg__widened(x, widens);
        x.fresh = true;
        x.linear = x.linear && running && !(product && floating);
        x.smooth = x.smooth && !(product && floating);
        if (deviates) return deviation(s, x, given);
        if (unit) return rows[i].kind == LAYER ? layered(s, x, given[0]) : normalized(s, x, given[0], given[1]);
        if (rows[i].kind == NORM) return normed(s, x, given, vector);
        if (rows[i].kind == ARG) return placed(s, x, given);
        if (rows[i].kind == LOGSUM && ts_node_is_null(given[0])) return gg__unknown;
        if (rows[i].kind == LOGSUM) return gg__reduced(s, x, given[0], given[1]);
        return kept(s, x, given[0], soft ? given[1] : (TSNode){0}, running);
    }
    return gg__unknown;
}

static bool is_name(TSNode object) {
    return gg_node_is(object, "identifier") || gg_node_is(object, "attribute");
}

gg__call gg__read_call(gg__inference *s, TSNode node) {
    TSNode function = gg__field(node, "function"), object = gg__field(function, "object");
    gg_str text = gg__text(s->in->tree, object);
    gg__call call = {.node = node, .arguments = gg__field(node, "arguments"), .form = GG__METHOD};
    call.name = gg__text(s->in->tree, gg__field(function, "attribute"));
    if (is_name(object) && gg_str_equal(text, gg__module_alias(s->in->tree, node, "torch")))
        call.form = GG__TORCH;
    else if (is_name(object) && (gg_str_equal(text, gg__module_alias(s->in->tree, node, "torch.nn.functional")) ||
                                 gg__refers_to(s->in->tree, object, "torch.nn.functional")))
        call.form = GG__FUNCTIONAL;
    else if (gg__refers_to(s->in->tree, function, "torch.linalg.vector_norm") ||
             gg__refers_to(s->in->tree, function, "torch.linalg.det"))
        call.form = GG__TORCH;
    call.from = call.form == GG__METHOD ? 0 : 1;
    if (s->in_place && call.form == GG__METHOD && gg_str_ends_with(call.name, GG_STR("_"))) call.name.len--;
    return call;
}

void gg__read_operand(gg__inference *s, gg__call *call) {
    TSNode object = gg__field(gg__field(call->node, "function"), "object");
    if (gg__child_count(call->arguments) < call->from) return;
    call->x = gg__infer_node(s, call->from ? gg__child(call->arguments, 0) : object);
}

gg__meta gg__infer_call(gg__inference *s, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    if (!gg_node_is(arguments, "argument_list")) return gg__unknown;
    bool known;
    gg__meta out = gg__number_call(s, node, &known);
    if (known) return out;
    bool attribute = gg_node_is(function, "attribute");
    out = gg__module_call(s, node, &known);
    if (known) return out;
    out = gg__inlined_call(s, node, &known);
    if (known || !attribute) return out;
    gg__call call = gg__read_call(s, node);
    out = gg__made(s, &call, &known); /* some take no tensor first */
    if (known) return out;
    gg__read_operand(s, &call);
    if (call.x.sort != GG__TENSOR) return gg__unknown;
    out = gg__of_two(s, &call, &known);
    if (known) return out;
    out = gg__view(s, &call, &known);
    if (known) return out;
    out = gg__moved(s, &call, &known);
    if (known) return out;
    out = along(s, &call, &known);
    if (known) return out;
    for (size_t i = 0; i < GG_COUNT(operations); i++)
        if (gg_str_is(call.name, operations[i].name)) return operation(s, &call, i);
    return gg__unknown;
}

TSNode gg__guardable(gg__inference *s, TSNode node, const char **fill) {
    if (!gg_node_is(node, "call") || !gg_node_is(gg__field(node, "function"), "attribute")) return (TSNode){0};
    gg__call call = gg__read_call(s, node);
    *fill = gg_str_is(call.name, "acos") || gg_str_is(call.name, "asin") ? "0" : "1";
    for (size_t i = 0; i < GG_COUNT(operations); i++) {
        unsigned flags = operations[i].flags;
        if (!(flags & GUARDED) || !(flags & (unsigned)call.form) || !gg_str_is(call.name, operations[i].name)) continue;
        bool method = call.form == GG__METHOD;
        return method ? gg__field(gg__field(node, "function"), "object") : gg__child(call.arguments, 0);
    }
    return (TSNode){0};
}

bool gg__is_operation(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function");
    gg_str name =
        gg_node_is(function, "attribute") ? gg__text(in->tree, gg__field(function, "attribute")) : GG_STR_NULL;
    for (size_t i = 0; i < GG_COUNT(operations); i++)
        if (gg_str_is(name, operations[i].name)) return !(operations[i].flags & ALIAS);
    return gg_str_is(name, "std") || gg_str_is(name, "var"); /* along() */
}
