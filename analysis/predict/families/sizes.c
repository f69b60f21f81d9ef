/* A tensor where an operation takes a Python number: a size, a dimension, a count, an index.  A graph input may be one, and so may a
 * tensor of one constant; what the graph computes may not.  And a torch.Size where Dynamo takes it for data. */
#include "analysis/predict/predict.h"

/* Functions that make a tensor of a given size: all arguments by place are numbers, up to `numbers`. */
static const struct {
    const char *name;
    uint32_t numbers;
} makers[] = {{"arange", 4},   {"empty", 9},        {"eye", 2},   {"full", 1},        {"linspace", 3},
              {"logspace", 3}, {"ones", 9},         {"rand", 9},  {"randn", 9},       {"randint", 3},
              {"randperm", 1}, {"tril_indices", 3}, {"zeros", 9}, {"triu_indices", 3}};

/* Methods, and functions whose first argument is the tensor: how many arguments are numbers. */
static const struct {
    const char *name;
    uint32_t numbers;
} operations[] = {
    {"chunk", 2},   {"cumprod", 1},   {"cumsum", 1},   {"expand", 9},    {"flatten", 2},      {"movedim", 2},
    {"narrow", 3},  {"new_empty", 9}, {"new_full", 1}, {"new_ones", 9},  {"new_zeros", 9},    {"one_hot", 1},
    {"pad", 1},     {"permute", 9},   {"repeat", 9},   {"reshape", 9},   {"roll", 2},         {"select", 1},
    {"split", 2},   {"squeeze", 1},   {"topk", 2},     {"transpose", 2}, {"tensor_split", 1}, {"tril", 1},
    {"triu", 1},    {"unflatten", 2}, {"unfold", 3},   {"unsqueeze", 1}, {"view", 9},         {"interpolate", 2},
    {"dropout", 1},
};

static bool is_computed(const gg__value *value) {
    if (value->kind == GG__ARRAY) return !value->folded;
    return gg__is_tensor(value) && !value->input && !(value->folded && value->zero_dim && value->constant);
}

/* The tensor that is, or lies in, a number's place. */
static const gg__value *tensor_in(const gg__value *value) {
    if (is_computed(value)) return value;
    if (value->kind != GG__SEQUENCE) return NULL;
    if (value->items == NULL) return value->of && is_computed(value->of) ? value->of : NULL;
    for (uint32_t i = 0; i < value->item_count; i++)
        if (is_computed(&value->items[i])) return &value->items[i];
    return NULL;
}

static void find(gg__walk *w, TSNode node, const gg__value *tensor) {
    const gg__guard *outer = w->guard;
    bool maybe_known = tensor->folded || tensor->kind == GG__ARRAY;
    gg__guard guard = {.text = tensor->handed_on ? GG_STR("what breaks in front of it is mended")
                                                 : GG_STR("it is made of more than one number"),
                       .unlikely = outer && outer->unlikely};
    gg__value because = *tensor; /* gg__found() hands on what is at hand */
    if ((tensor->handed_on || maybe_known) && outer == NULL) w->guard = &guard;
    gg__found(w, GG__RULE_MATH, NULL, node, gg__is_tensor(tensor) ? &because : NULL);
    w->guard = outer;
}

static bool names_number(gg_str name) {
    static const char *const names[] = {"size", "dim",    "k",      "start",    "end", "step", "steps", "length",
                                        "low",  "shifts", "chunks", "diagonal", "pad", "n",    "high",  "num_classes"};
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

static void find_number(gg__walk *w, const gg__call *call, uint32_t first, uint32_t numbers) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        const gg__argument *argument = &call->arguments[i];
        bool number = argument->name.len ? names_number(argument->name) : at >= first && at < first + numbers;
        if (argument->name.len == 0) at++;
        const gg__value *tensor = number ? tensor_in(&argument->value) : NULL;
        if (tensor == NULL) continue;
        find(w, call->node, tensor);
        return;
    }
}

/* torch.Tensor, torch.FloatTensor, torch.cuda.LongTensor, …: they tell a torch.Size from a tuple, which a graph does not. */
static bool is_tensor_class(gg_str path) {
    gg_str cuda = GG_STR("torch.cuda.");
    if (!gg_str_starts_with(path, cuda)) return gg__is_tensor_type(path);
    path = gg_str_slice(path, cuda.len, path.len);
    return !gg_str_is(path, "Tensor") && gg__is_tensor_type(path);
}

static void on_call(gg__walk *w, const gg__call *call) {
    const gg__argument *only = call->count == 1 && !call->splat ? gg__argument_at(call, 0, NULL) : NULL;
    if (call->callee.kind == GG__DOTTED && only && only->value.kind == GG__SHAPE && is_tensor_class(call->callee.path))
        gg__found_beyond(w, GG__RULE_SIZE_AS_DATA, call->node);
    gg_str name = call->callee.path, functional = GG_STR("torch.nn.functional."), torch = GG_STR("torch.");
    bool method = call->callee.kind == GG__METHOD && gg__is_tensor(call->callee.of);
    if (!method && call->callee.kind != GG__DOTTED) return;
    if (!method && gg_str_starts_with(name, functional))
        name = gg_str_slice(name, functional.len, name.len);
    else if (!method && gg_str_starts_with(name, torch))
        name = gg_str_slice(name, torch.len, name.len);
    else if (!method)
        return;
    for (size_t i = 0; !method && i < GG_COUNT(makers); i++)
        if (gg_str_is(name, makers[i].name)) find_number(w, call, 0, makers[i].numbers);
    for (size_t i = 0; i < GG_COUNT(operations); i++)
        if (gg_str_is(name, operations[i].name)) find_number(w, call, method ? 0 : 1, operations[i].numbers);
}

/* [0] * n */
static void on_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    const gg__value *count = gg__is_tensor(right) ? right : left, *repeated = count == right ? left : right;
    if (gg_str_is(op, "*") && gg__is_tensor(count) &&
        (repeated->kind == GG__SEQUENCE || repeated->kind == GG__STRING)) {
        find(w, node, count);
        gg__note_eager(w);
    }
}

/* x[n] with an `n` that has no dimension */
static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    (void)store;
    if (gg__is_tensor(object) && gg__is_tensor(index) && is_computed(index) && index->zero_dim) find(w, node, index);
}

const gg__family gg__family_sizes = {.on_call = on_call, .on_operator = on_operator, .on_subscript = on_subscript};
