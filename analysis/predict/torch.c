/* What a tensor's methods and attributes give, as far as prediction needs it. */
#include "analysis/predict/results.h"

static bool names_dimension(const gg__call *call, uint32_t first) {
    if (call->splat) return true;
    for (uint32_t i = 0, at = 0; i < call->count; i++) {
        gg_str name = call->arguments[i].name;
        if (gg_str_is(name, "dim") || gg_str_is(name, "axis") || gg_str_is(name, "keepdim")) return true;
        if (name.len == 0 && at++ >= first) return true;
    }
    return false;
}

static gg__dtype dtype_named(gg_str path) {
    if (gg_str_ends_with(path, GG_STR(".bool"))) return GG__BOOL;
    if (gg_str_ends_with(path, GG_STR(".long")) || gg_str_contains(path, GG_STR("int"))) return GG__INT;
    if (gg_str_contains(path, GG_STR("float")) || gg_str_ends_with(path, GG_STR(".half")) ||
        gg_str_ends_with(path, GG_STR(".double")))
        return GG__FLOAT;
    return GG__DTYPE_UNKNOWN;
}

bool gg__given_dtype(const gg__call *call, gg__dtype *out) {
    for (uint32_t i = 0; i < call->count; i++) {
        const gg__value *value = &call->arguments[i].value;
        bool named = gg_str_is(call->arguments[i].name, "dtype");
        if (value->kind != GG__DOTTED || !gg_str_starts_with(value->path, GG_STR("torch."))) {
            if (named) {
                *out = GG__DTYPE_UNKNOWN;
                return true;
            }
            continue;
        }
        gg__dtype dtype = dtype_named(value->path);
        if (!named && dtype == GG__DTYPE_UNKNOWN) continue;
        *out = dtype;
        return true;
    }
    return false;
}

/* What is no tensor; false: it is one, or several. */
static bool make_other(gg__walk *w, const gg__call *call, gg__result kind, const gg__value *operand, gg__value *out) {
    switch (kind) {
    case GG__GIVES_PYTHON:
        *out = gg__number(operand ? operand->dtype : GG__DTYPE_UNKNOWN);
        return true;
    case GG__GIVES_TRUTH:
        *out = gg__number(GG__BOOL);
        return true;
    case GG__GIVES_FALSE_NOW:
        *out = gg__truth_value(GG__FALSE);
        return true;
    case GG__GIVES_SIZE:
        *out = call->count ? gg__number(GG__INT) : gg__of_kind(GG__SHAPE);
        return true;
    case GG__GIVES_LIST:
        *out = gg__sequence_of(w, gg__number(GG__DTYPE_UNKNOWN));
        return true;
    case GG__GIVES_ELSE:
        *out = gg__of_kind(GG__OTHER);
        return true;
    case GG__GIVES_NDARRAY:
        *out = gg__of_kind(GG__ARRAY);
        return true;
    default:
        return false;
    }
}

static gg__dtype dtype_given_by(gg__result kind, const gg__value *operand) {
    switch (kind) {
    case GG__GIVES_BOOLEAN:
    case GG__GIVES_REDUCED_BOOLEAN:
        return GG__BOOL;
    case GG__GIVES_INDICES:
    case GG__GIVES_INTEGER:
    case GG__GIVES_REDUCED_INTEGER:
        return GG__INT;
    case GG__GIVES_FLOATING:
        return GG__FLOAT;
    case GG__GIVES_ANY:
        return GG__DTYPE_UNKNOWN;
    default:
        return operand ? operand->dtype : GG__DTYPE_UNKNOWN;
    }
}

bool gg__is_of_numbers(const gg__call *call) {
    for (uint32_t i = 0; i < call->count; i++)
        if (gg__is_tensor(&call->arguments[i].value) && !call->arguments[i].value.folded) return false;
    return !call->splat;
}

gg__value gg__result_value(gg__walk *w, const gg__call *call, gg__result kind, const gg__value *operand,
                           uint32_t first) {
    gg__value out = gg__tensor(dtype_given_by(kind, operand));
    if (make_other(w, call, kind, operand, &out)) return out;
    out.confirmed = operand && call->callee.kind == GG__METHOD ? operand->confirmed : NULL;
    out.folded = operand && operand->folded && gg__is_of_numbers(call);
    out.constant = out.folded && operand->constant;
    bool whole = !names_dimension(call, first);
    if (kind == GG__GIVES_REDUCED || kind == GG__GIVES_REDUCED_BOOLEAN || kind == GG__GIVES_REDUCED_INTEGER ||
        kind == GG__GIVES_EXTREME)
        out.zero_dim = whole;
    if (kind == GG__GIVES_EXTREME && !whole) {
        const gg__argument *other = gg__argument_at(call, first, "other");
        if (other == NULL || !gg__is_tensor(&other->value)) return gg__sequence_of(w, out);
    }
    const gg__argument *as_tuple = gg__argument_at(call, UINT32_MAX, "as_tuple");
    if (kind == GG__GIVES_TENSORS || (kind == GG__GIVES_INDICES && as_tuple)) {
        gg__value sequence = gg__sequence_of(w, out);
        sequence.truth = GG__TRUE;
        return sequence;
    }
    gg__dtype dtype;
    if (gg__given_dtype(call, &dtype)) out.dtype = dtype;
    return out;
}

/* Methods that keep the dtype of what they are called on. */
static bool keeps_dtype(gg_str name) {
    static const char *const names[] = {"clone",       "contiguous", "cpu",       "cuda",           "detach",
                                        "expand",      "expand_as",  "flatten",   "flip",           "index_select",
                                        "masked_fill", "permute",    "repeat",    "requires_grad_", "reshape",
                                        "roll",        "squeeze",    "t",         "transpose",      "type_as",
                                        "unflatten",   "unfold",     "unsqueeze", "view",           "view_as"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

bool gg__is_tensors_own(gg_str name) {
    static const char *const names[] = {
        "shape",  "size",         "dim",       "ndim",     "numel",   "dtype",         "device",  "to",      "mean",
        "sum",    "abs",          "exp",       "log",      "sqrt",    "chunk",         "matmul",  "softmax", "sigmoid",
        "tanh",   "relu",         "clamp",     "argmax",   "norm",    "gather",        "scatter", "cumsum",  "type_as",
        "unbind", "masked_fill_", "new_zeros", "new_ones", "is_cuda", "requires_grad", "T",       "std",     "var",
        "amax",   "amin",         "any",       "all",      "item",    "tolist"};
    if (keeps_dtype(name) && !gg_str_is(name, "t")) return true;
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

gg__value gg__tensor_method(gg__walk *w, const gg__call *call) {
    gg_str name = call->callee.path;
    const gg__value *self = call->callee.of;
    gg__result kind = gg__result_of_method(name);
    if (kind == GG__GIVES_ANY && (keeps_dtype(name) || gg_str_ends_with(name, GG_STR("_")))) kind = GG__GIVES_PLAIN;
    if (gg_str_is(name, "to")) kind = GG__GIVES_PLAIN;
    gg__value out = gg__result_value(w, call, kind, self, 0);
    if (gg_str_is(name, "data_ptr")) out.path = name; /* see families/builtins.c */
    if (kind == GG__GIVES_PLAIN && gg__is_tensor(&out)) out.zero_dim = false;
    return out;
}

gg__value gg__tensor_attribute(gg__walk *w, const gg__value *tensor, gg_str name) {
    gg__result kind = gg__result_of_attribute(name);
    if (kind == GG__GIVES_ANY) return (gg__value){.kind = GG__METHOD, .path = name, .of = gg__keep(w, *tensor)};
    gg__call none = {.count = 0};
    gg__value out = gg__result_value(w, &none, kind, tensor, 0);
    if (kind == GG__GIVES_PLAIN) out.maybe_none = gg_str_is(name, "grad");
    return out;
}
