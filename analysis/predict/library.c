/* What functions and modules of libraries give: torch, NumPy, Python's own. */
#include "analysis/predict/results.h"

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

/* torch.div(7, 2): computed while compiling. */
static bool is_arithmetic(gg_str name) {
    static const char *const names[] = {"add", "ceil", "div", "floor", "floor_divide", "mul", "round", "sqrt", "sub"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

static gg__value functional(const gg__call *call, gg_str name) {
    const gg__argument *first = gg__argument_at(call, 0, "input");
    gg__value out = gg__tensor(GG__FLOAT);
    if (first) gg__confirm(&first->value);
    if (gg_str_ends_with(name, GG_STR("one_hot"))) out.dtype = GG__INT;
    if (gg_str_ends_with(name, GG_STR("pad"))) out.dtype = first ? first->value.dtype : GG__DTYPE_UNKNOWN;
    return out;
}

/* torch.tensor(data), torch.full(size, value), torch.arange(end) */
static gg__value made_of_data(const gg__call *call, gg_str name) {
    bool converted = gg_str_is(name, "tensor") || gg_str_is(name, "as_tensor");
    gg__value out = gg__tensor(GG__DTYPE_UNKNOWN);
    const gg__argument *data = gg__argument_at(call, gg_str_is(name, "full") ? 1 : 0, NULL);
    if (data) {
        gg__value element = data->value;
        for (int depth = 0; element.kind == GG__SEQUENCE && depth < 8; depth++) element = gg__element_of(&element);
        out.dtype = element.dtype;
        out.zero_dim = out.constant = data->value.kind == GG__NUMBER && converted;
        out.folded = converted && (!gg__is_tensor(&element) || element.folded);
    }
    (void)gg__given_dtype(call, &out.dtype);
    return out;
}

static gg__value joined(const gg__call *call) {
    const gg__argument *first = gg__argument_at(call, 0, "tensors");
    gg__value element = first ? gg__element_of(&first->value) : gg__of_kind(GG__UNKNOWN);
    gg__value out = gg__tensor(gg__is_tensor(&element) ? element.dtype : GG__DTYPE_UNKNOWN);
    out.folded = gg__is_tensor(&element) && element.folded;
    return out;
}

/* torch.get_default_dtype() and the like, of the library's state */
static bool is_of_state(gg_str name) {
    static const char *const prefixes[] = {"get_", "set_", "is_", "use_", "has_", "can_", "are_", "_"};
    for (size_t i = 0; i < GG_COUNT(prefixes); i++)
        if (gg_str_starts_with(name, gg_str_from(prefixes[i]))) return true;
    return false;
}

static gg__value operation(gg__walk *w, const gg__call *call, gg_str name, gg__result kind) {
    const gg__argument *first = gg__argument_at(call, 0, "input");
    const gg__value *operand = first && gg__is_tensor(&first->value) ? &first->value : NULL;
    if (operand && !gg_str_is(name, "is_tensor")) gg__confirm(operand);
    if (gg_str_is(name, "where") && call->count < 3) return gg__sequence_of(w, gg__tensor(GG__INT));
    if (gg_str_is(name, "cat") || gg_str_is(name, "stack")) return joined(call);
    if (gg_str_ends_with(name, GG_STR("_like"))) kind = GG__GIVES_PLAIN;
    gg__value out = gg__result_value(w, call, kind, operand, 1);
    if (gg__is_tensor(&out) && is_arithmetic(name) && gg__is_of_numbers(call))
        out.folded = out.zero_dim = out.constant = true;
    return out;
}

static gg__value torch_function(gg__walk *w, const gg__call *call, gg_str path) {
    gg_str name = gg_str_slice(path, 6, path.len);
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (gg_str_starts_with(name, GG_STR("nn.functional."))) return functional(call, name);
    if (gg_str_starts_with(name, GG_STR("nn.")) && is_class_name(path)) return new_module(w, call, path);
    if (gg_str_ends_with(name, GG_STR("is_compiling")) || gg_str_ends_with(name, GG_STR("is_dynamo_compiling")) ||
        gg_str_ends_with(name, GG_STR("is_torchdynamo_compiling")))
        return gg__truth_value(GG__TRUE);
    if (gg_str_is(name, "compile")) return first ? first->value : gg__of_kind(GG__UNKNOWN);
    if (gg_str_is(name, "jit.script") || gg_str_is(name, "jit.trace"))
        return first && first->value.kind == GG__FUNCTION ? first->value
                                                          : (gg__value){.kind = GG__MODULE, .path = path};
    bool deep = gg_str_contains(name, GG_STR(".")) && !gg_str_starts_with(name, GG_STR("special.")) &&
                !gg_str_starts_with(name, GG_STR("linalg.")) && !gg_str_starts_with(name, GG_STR("fft."));
    gg__result kind = gg__result_of_function(name);
    if (is_class_name(path) && !gg_str_ends_with(name, GG_STR("Tensor")) && !gg_str_is(name, "Size"))
        return (gg__value){.kind = GG__OBJECT, .path = path};
    if (deep && kind == GG__GIVES_ANY) return gg__of_kind(GG__UNKNOWN);
    if (gg_str_is(name, "tensor") || gg_str_is(name, "as_tensor") || gg_str_is(name, "full") ||
        gg_str_is(name, "arange"))
        return made_of_data(call, name);
    if (kind == GG__GIVES_ANY && is_of_state(name)) return gg__of_kind(GG__UNKNOWN);
    return operation(w, call, name, kind);
}

/* What gives neither an array nor a number of one. */
static bool is_about_types(gg_str name) {
    return gg_str_is(name, "dtype") || gg_str_is(name, "finfo") || gg_str_is(name, "iinfo") ||
           gg_str_is(name, "errstate") || gg_str_is(name, "ndim") || gg_str_is(name, "shape");
}

/* np.linspace(0, 1, 4), whatever it is given */
static bool makes_array(gg_str name) {
    static const char *const names[] = {"arange",    "array",    "empty",    "eye",      "full",
                                        "geomspace", "identity", "linspace", "logspace", "ones",
                                        "repeat",    "tile",     "tri",      "zeros",    "asarray"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return gg_str_starts_with(name, GG_STR("random."));
}

/* np.array(1.5), np.array([1.5]): Dynamo may know what is in it while compiling. */
static bool is_of_one_number(const gg__call *call, gg_str name) {
    const gg__argument *data = gg__argument_at(call, 0, "object");
    if (data == NULL || !(gg_str_is(name, "array") || gg_str_is(name, "asarray"))) return false;
    const gg__value *value = &data->value;
    return value->kind == GG__NUMBER ||
           (value->kind == GG__SEQUENCE && value->item_count == 1 && value->items[0].kind == GG__NUMBER);
}

static gg__value call_numpy(const gg__call *call, gg_str path) {
    gg_str name = gg_str_slice(path, 6, path.len);
    if (is_about_types(name)) return gg__of_kind(GG__UNKNOWN);
    gg__value out = gg__of_kind(GG__ARRAY);
    out.folded = call->count > 0 && !call->splat && !makes_array(name);
    out.constant = !gg_str_starts_with(name, GG_STR("random."));
    out.zero_dim = is_of_one_number(call, name);
    for (uint32_t i = 0; i < call->count; i++) {
        const gg__value *given = &call->arguments[i].value;
        if (given->kind != GG__NUMBER && !(given->kind == GG__ARRAY && given->folded)) out.folded = false;
        if (given->kind == GG__UNKNOWN) return gg__of_kind(GG__UNKNOWN);
        if (gg__is_tensor(given) || (given->kind == GG__ARRAY && !given->constant)) out.constant = false;
    }
    return out;
}

static gg__value call_dotted(gg__walk *w, const gg__call *call) {
    gg_str path = call->callee.path;
    if (gg_str_starts_with(path, GG_STR("builtins.")))
        return gg__builtin_call(w, call, gg_str_slice(path, 9, path.len));
    if (gg_str_starts_with(path, GG_STR("torch."))) return torch_function(w, call, path);
    if (gg_str_starts_with(path, GG_STR("math."))) return gg__number(GG__FLOAT);
    if (gg_str_starts_with(path, GG_STR("numpy."))) return call_numpy(call, path);
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

/* self.layer.register_forward_hook(function), while `self` is made: it runs when `self` is called. */
static void note_hook(gg__walk *w, const gg__call *call) {
    const gg__argument *function = gg__argument_at(call, 0, "hook");
    gg__frame *f = w->frame;
    while (f && f->self == NULL) f = f->caller;
    bool forward = gg_str_is(call->callee.path, "register_forward_hook") ||
                   gg_str_is(call->callee.path, "register_forward_pre_hook");
    if (!forward || f == NULL || f->self->attributes->born != w->round || function == NULL ||
        function->value.kind != GG__FUNCTION)
        return;
    gg__note_telling(w);
    gg__spoil_below(w, f);
    gg__spoil_outside(w, f->self->attributes);
    if (w->quiet == 0) return;
    gg__hook *hook = GG_ARENA_NEW(w->arena, gg__hook);
    *hook = (gg__hook){.function = function->value, .next = f->self->hooks};
    f->self->hooks = hook;
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
        if (gg_str_is(callee->path, "item")) return gg__number(GG__DTYPE_UNKNOWN);
        return (gg__value){.kind = GG__ARRAY,
                           .constant = callee->of->folded || callee->of->constant,
                           .zero_dim = callee->of->zero_dim};
    case GG__LOGGER:
        return gg__of_kind(GG__NONE);
    case GG__MODULE:
        note_hook(w, call);
        if (gg_str_is(callee->path, "to") || gg_str_is(callee->path, "eval") || gg_str_is(callee->path, "cuda") ||
            gg_str_is(callee->path, "train") || gg_str_is(callee->path, "float"))
            return *callee->of;
        return gg__of_kind(GG__UNKNOWN);
    case GG__INSTANCE:
        if (gg_str_is(callee->path, "register_buffer") || gg_str_is(callee->path, "register_parameter"))
            note_buffer(w, call);
        note_hook(w, call);
        if (gg_str_is(callee->path, "to") || gg_str_is(callee->path, "eval") || gg_str_is(callee->path, "train"))
            return *callee->of;
        return gg__of_kind(GG__UNKNOWN);
    default:
        return gg__of_kind(GG__UNKNOWN);
    }
}
