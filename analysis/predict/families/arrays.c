/* NumPy: what torch's own NumPy cannot stand for. */
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

static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    if (call->callee.kind == GG__DOTTED && gg_str_is(call->callee.path, "numpy.prod") && call->count &&
        call->arguments[0].value.kind == GG__SHAPE)
        gg__found(w, GG__RULE_NUMPY, NULL, call->node, NULL);
    const gg__argument *dtype = gg__argument_at(call, 0, "dtype");
    if (call->callee.kind == GG__METHOD && call->callee.of->kind == GG__ARRAY &&
        gg_str_is(call->callee.path, "astype") && dtype && dtype->value.kind == GG__DOTTED &&
        gg_str_is(dtype->value.path, "builtins.object"))
        gg__found(w, GG__RULE_NUMPY, "GB0250", call->node, NULL);
}

static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    if (!store && object->kind == GG__ARRAY && index->kind == GG__ARRAY && index->dtype == GG__BOOL)
        gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, node, NULL);
}

const gg__family gg__family_arrays = {.on_call = on_call, .on_subscript = on_subscript};
