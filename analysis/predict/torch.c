/* What torch gives: the results of functions, methods and modules, as far as prediction needs them. */
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

/* dtype=torch.bool, x.to(torch.long) */
static bool given_dtype(const gg__call *call, gg__dtype *out) {
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

/* `first`: where the arguments beside the operand begin. */
static gg__value make(gg__walk *w, const gg__call *call, gg__result kind, const gg__value *operand, uint32_t first) {
    gg__value out = gg__tensor(dtype_given_by(kind, operand));
    if (make_other(w, call, kind, operand, &out)) return out;
    out.confirmed = operand && call->callee.kind == GG__METHOD ? operand->confirmed : NULL;
    bool whole = !names_dimension(call, first);
    if (kind == GG__GIVES_REDUCED || kind == GG__GIVES_REDUCED_BOOLEAN || kind == GG__GIVES_REDUCED_INTEGER ||
        kind == GG__GIVES_EXTREME)
        out.zero_dim = whole;
    if (kind == GG__GIVES_EXTREME && !whole) {
        const gg__argument *other = gg__argument_at(call, first, "other");
        if (other == NULL || !gg__is_tensor(&other->value)) return gg__sequence_of(w, out);
    }
    if (kind == GG__GIVES_TENSORS) {
        gg__value sequence = gg__sequence_of(w, out);
        sequence.truth = GG__TRUE;
        return sequence;
    }
    gg__dtype dtype;
    if (given_dtype(call, &dtype)) out.dtype = dtype;
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
    gg__value out = make(w, call, kind, self, 0);
    if (kind == GG__GIVES_PLAIN && gg__is_tensor(&out)) out.zero_dim = false;
    return out;
}

gg__value gg__tensor_attribute(gg__walk *w, const gg__value *tensor, gg_str name) {
    gg__result kind = gg__result_of_attribute(name);
    if (kind == GG__GIVES_ANY) return (gg__value){.kind = GG__METHOD, .path = name, .of = gg__keep(w, *tensor)};
    gg__call none = {.count = 0};
    gg__value out = make(w, &none, kind, tensor, 0);
    if (kind == GG__GIVES_PLAIN) out.maybe_none = gg_str_is(name, "grad");
    return out;
}

/* ---- library calls ------------------------------------------------------------------------------------------------------------ */

static bool is_class_name(gg_str path) {
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '.') at--;
    return at < path.len && path.ptr[at] >= 'A' && path.ptr[at] <= 'Z';
}

static gg__value new_module(gg__walk *w, const gg__call *call, gg_str path) {
    if (gg_str_is(path, "torch.nn.Parameter") || gg_str_is(path, "torch.nn.parameter.Parameter"))
        return gg__tensor(GG__FLOAT);
    gg__value out = {.kind = GG__MODULE, .path = path};
    const gg__argument *first = gg__argument_at(call, 0, "modules");
    if (gg_str_ends_with(path, GG_STR(".ModuleList")) && first) out.of = gg__keep(w, gg__element_of(&first->value));
    return out;
}

bool gg__is_recurrent(gg_str path) {
    return gg_str_is(path, "torch.nn.LSTM") || gg_str_is(path, "torch.nn.GRU") || gg_str_is(path, "torch.nn.RNN");
}

static gg__value call_module(gg__walk *w, const gg__call *call) {
    gg_str path = call->callee.path;
    gg__value tensor = gg__tensor(GG__FLOAT);
    if (call->count && gg_str_starts_with(path, GG_STR("torch.nn.")) && !gg_str_is(path, "torch.nn.Identity") &&
        !gg_str_is(path, "torch.nn.Sequential"))
        gg__confirm(&call->arguments[0].value);
    if (gg_str_is(path, "torch.nn.Identity") && call->count) return call->arguments[0].value;
    if (gg__is_recurrent(path) || gg_str_ends_with(path, GG_STR(".MultiheadAttention")) ||
        gg_str_ends_with(path, GG_STR("LSTMCell")))
        return gg__sequence_of(w, tensor);
    if (gg_str_is(path, "torch.nn.Sequential")) tensor.dtype = GG__DTYPE_UNKNOWN;
    return tensor;
}

static gg__value torch_function(gg__walk *w, const gg__call *call, gg_str path) {
    gg_str name = gg_str_slice(path, 6, path.len);
    if (gg_str_starts_with(name, GG_STR("nn.functional."))) {
        const gg__argument *first = gg__argument_at(call, 0, "input");
        gg__value out = gg__tensor(GG__FLOAT);
        if (first) gg__confirm(&first->value);
        if (gg_str_ends_with(name, GG_STR("one_hot"))) out.dtype = GG__INT;
        if (gg_str_ends_with(name, GG_STR("pad"))) out.dtype = first ? first->value.dtype : GG__DTYPE_UNKNOWN;
        return out;
    }
    if (gg_str_starts_with(name, GG_STR("nn.")) && is_class_name(path)) return new_module(w, call, path);
    if (gg_str_ends_with(name, GG_STR("is_compiling")) || gg_str_ends_with(name, GG_STR("is_dynamo_compiling")) ||
        gg_str_ends_with(name, GG_STR("is_torchdynamo_compiling")))
        return gg__truth_value(GG__TRUE);
    if (gg_str_is(name, "compile")) return call->count ? call->arguments[0].value : gg__of_kind(GG__UNKNOWN);
    if (gg_str_is(name, "jit.script") || gg_str_is(name, "jit.trace")) {
        bool function = call->count && call->arguments[0].value.kind == GG__FUNCTION;
        if (function) return call->arguments[0].value;
        return (gg__value){.kind = GG__MODULE, .path = path};
    }
    bool deep = gg_str_contains(name, GG_STR(".")) && !gg_str_starts_with(name, GG_STR("special.")) &&
                !gg_str_starts_with(name, GG_STR("linalg.")) && !gg_str_starts_with(name, GG_STR("fft."));
    gg__result kind = gg__result_of_function(name);
    if (deep && kind == GG__GIVES_ANY) return gg__of_kind(GG__UNKNOWN);
    if (is_class_name(path) && !gg_str_ends_with(name, GG_STR("Tensor")) && !gg_str_is(name, "Size"))
        return (gg__value){.kind = GG__OBJECT, .path = path};
    if (gg_str_is(name, "tensor") || gg_str_is(name, "as_tensor") || gg_str_is(name, "full") ||
        gg_str_is(name, "arange")) {
        uint32_t at = gg_str_is(name, "full") ? 1 : 0;
        gg__value out = gg__tensor(GG__DTYPE_UNKNOWN);
        const gg__argument *data = gg__argument_at(call, at, NULL);
        if (data) {
            gg__value element = data->value;
            for (int depth = 0; element.kind == GG__SEQUENCE && depth < 8; depth++) element = gg__element_of(&element);
            out.dtype = element.dtype;
            out.zero_dim = data->value.kind == GG__NUMBER && !gg_str_is(name, "full") && !gg_str_is(name, "arange");
        }
        (void)given_dtype(call, &out.dtype);
        return out;
    }
    static const char *const others[] = {"get_", "set_", "is_",  "use_",
                                         "has_", "can_", "are_", "_"}; /* … of the library's state */
    for (size_t i = 0; kind == GG__GIVES_ANY && i < GG_COUNT(others); i++)
        if (gg_str_starts_with(name, gg_str_from(others[i]))) return gg__of_kind(GG__UNKNOWN);
    const gg__argument *first = gg__argument_at(call, 0, "input");
    const gg__value *operand = first && gg__is_tensor(&first->value) ? &first->value : NULL;
    if (operand && !gg_str_is(name, "is_tensor")) gg__confirm(operand);
    if (gg_str_is(name, "where") && call->count < 3) return gg__sequence_of(w, gg__tensor(GG__INT));
    if (gg_str_is(name, "cat") || gg_str_is(name, "stack")) {
        gg__value element = first ? gg__element_of(&first->value) : gg__of_kind(GG__UNKNOWN);
        return gg__tensor(gg__is_tensor(&element) ? element.dtype : GG__DTYPE_UNKNOWN);
    }
    if (gg_str_ends_with(name, GG_STR("_like"))) kind = GG__GIVES_PLAIN;
    return make(w, call, kind, operand, 1);
}

static gg__value call_dotted(gg__walk *w, const gg__call *call) {
    gg_str path = call->callee.path;
    if (gg_str_starts_with(path, GG_STR("builtins.")))
        return gg__builtin_call(w, call, gg_str_slice(path, 9, path.len));
    if (gg_str_starts_with(path, GG_STR("torch."))) return torch_function(w, call, path);
    if (gg_str_starts_with(path, GG_STR("math."))) return gg__number(GG__FLOAT);
    if (gg_str_starts_with(path, GG_STR("numpy."))) return gg__of_kind(GG__ARRAY);
    if (gg_str_ends_with(path, GG_STR("getLogger")) || gg_str_ends_with(path, GG_STR("get_logger")))
        return gg__of_kind(GG__LOGGER);
    if (is_class_name(path) && !gg_str_ends_with(path, GG_STR("Config")))
        return (gg__value){.kind = GG__OBJECT, .path = path};
    if (gg_str_is(path, "random.randint") || gg_str_is(path, "random.randrange") || gg_str_is(path, "random.uniform")) {
        gg__value number = gg__number(GG__DTYPE_UNKNOWN);
        number.from_data = true;
        return number;
    }
    if (gg_str_starts_with(path, GG_STR("time.")) || gg_str_starts_with(path, GG_STR("random.")))
        return gg__number(GG__DTYPE_UNKNOWN);
    return gg__of_kind(GG__UNKNOWN);
}

/* self.register_buffer("mask", tensor) */
static void note_buffer(gg__walk *w, const gg__call *call) {
    const gg__argument *name = gg__argument_at(call, 0, "name"), *value = gg__argument_at(call, 1, "tensor");
    if (name == NULL || gg__node_of(name->node) != GG__NODE_string) return;
    gg_str text = gg__text_of(w, name->node);
    if (text.len < 3 || text.ptr[0] != text.ptr[text.len - 1]) return;
    gg__value held = value ? value->value : gg__of_kind(GG__UNKNOWN);
    gg__scope_set(w, call->callee.of->object->attributes, gg_str_slice(text, 1, text.len - 1), held);
}

gg__value gg__library_call(gg__walk *w, const gg__call *call) {
    const gg__value *callee = &call->callee;
    switch (callee->kind) {
    case GG__DOTTED:
        return call_dotted(w, call);
    case GG__MODULE:
        return call_module(w, call);
    case GG__METHOD:
        break;
    default:
        return gg__of_kind(GG__UNKNOWN);
    }
    switch (callee->of->kind) {
    case GG__STRING:
        if (gg_str_is(callee->path, "split")) return gg__sequence_of(w, gg__of_kind(GG__STRING));
        return gg_str_starts_with(callee->path, GG_STR("is")) || gg_str_ends_with(callee->path, GG_STR("swith"))
                   ? gg__number(GG__BOOL)
                   : gg__of_kind(GG__STRING);
    case GG__SHAPE:
        return gg__number(GG__INT);
    case GG__ARRAY:
        return gg_str_is(callee->path, "item") ? gg__number(GG__DTYPE_UNKNOWN) : gg__of_kind(GG__ARRAY);
    case GG__LOGGER:
        return gg__of_kind(GG__NONE);
    case GG__MODULE:
        if (gg_str_is(callee->path, "to") || gg_str_is(callee->path, "eval") || gg_str_is(callee->path, "cuda") ||
            gg_str_is(callee->path, "train") || gg_str_is(callee->path, "float"))
            return *callee->of;
        return gg__of_kind(GG__UNKNOWN);
    case GG__INSTANCE:
        if (gg_str_is(callee->path, "register_buffer") || gg_str_is(callee->path, "register_parameter"))
            note_buffer(w, call);
        if (gg_str_is(callee->path, "to") || gg_str_is(callee->path, "eval") || gg_str_is(callee->path, "train"))
            return *callee->of;
        return gg__of_kind(GG__UNKNOWN);
    default:
        return gg__of_kind(GG__UNKNOWN);
    }
}
