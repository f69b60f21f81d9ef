/* Text of a tensor's values. */
#include "analysis/predict/predict.h"

static void on_call(gg__walk *w, const gg__call *call) {
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    if (call->callee.kind != GG__DOTTED || first == NULL) return;
    gg_str path = call->callee.path;
    bool tensor = gg__is_tensor(&first->value);
    if (tensor && (gg_str_is(path, "builtins.str") || gg_str_is(path, "builtins.repr")))
        gg__found(w, GG__RULE_STRING, NULL, call->node, &first->value);
    if (first->value.kind == GG__STRING && first->value.from_data && gg_str_is(path, "builtins.len"))
        gg__found(w, GG__RULE_STRING, "GB0088", call->node, NULL);
}

static void on_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    if (gg_str_is(op, "%") && left->kind == GG__STRING && gg__is_tensor(right))
        gg__found(w, GG__RULE_STRING, "GB0208", node, right);
}

const gg__family gg__family_text = {.on_call = on_call, .on_operator = on_operator};
