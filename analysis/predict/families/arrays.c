/* NumPy: what torch's own NumPy cannot stand for.  A function of Python numbers alone is computed while compiling. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"numpy.random.random", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.uniform", NULL, GG__RULE_NUMPY, 0},
    {"numpy.random.rand", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.randn", NULL, GG__RULE_NUMPY, GG__BARE},
    {"numpy.random.randint", NULL, GG__RULE_NUMPY, 0},
    {"numpy.random.choice", NULL, GG__RULE_NUMPY, 0},
    {"numpy.interp", "GB0294", GG__RULE_NUMPY, 0},
    {"numpy.nditer", "GB0294", GG__RULE_NUMPY, 0},
    {"item", NULL, GG__RULE_NUMPY, GG__OF_ARRAY},
    {"tolist", "GB0109", GG__RULE_NUMPY, GG__OF_ARRAY},
    {"tobytes", "GB0158", GG__RULE_NUMPY, GG__OF_ARRAY},
};

/* int(array), float(array) */
static bool is_conversion(gg_str path) {
    return gg_str_is(path, "builtins.int") || gg_str_is(path, "builtins.float") || gg_str_is(path, "builtins.bool");
}

static void on_call(gg__walk *w, const gg__call *call) {
    bool method = call->callee.kind == GG__METHOD && call->callee.of->kind == GG__ARRAY;
    if (method && call->callee.of->folded) {
        if (gg_str_is(call->callee.path, "astype")) gg__found(w, GG__RULE_NUMPY, "GB0208", call->node, NULL);
        return;
    }
    gg__find_row(w, call, rows, GG_COUNT(rows));
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (call->callee.kind == GG__DOTTED && is_conversion(call->callee.path) && first &&
        first->value.kind == GG__ARRAY && !first->value.folded)
        gg__found(w, GG__RULE_NUMPY, NULL, call->node, NULL);
    const gg__argument *dtype = gg__argument_at(call, 0, "dtype");
    if (method && gg_str_is(call->callee.path, "astype") && dtype && dtype->value.kind == GG__DOTTED &&
        gg_str_is(dtype->value.path, "builtins.object"))
        gg__found(w, GG__RULE_NUMPY, "GB0250", call->node, NULL);
}

static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    if (!store && object->kind == GG__ARRAY && index->kind == GG__ARRAY && index->dtype == GG__BOOL)
        gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, node, NULL);
}

static void on_truth(gg__walk *w, TSNode node, const gg__value *value) {
    if (value->kind == GG__ARRAY && !value->folded) gg__found(w, GG__RULE_CONDITION, NULL, node, NULL);
}

const gg__family gg__family_arrays = {.on_call = on_call, .on_subscript = on_subscript, .on_truth = on_truth};
