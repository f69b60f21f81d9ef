/* What a forward graph cannot do to autograd. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"backward", NULL, GG__RULE_BACKWARD, GG__OF_TENSOR},
    {"torch.autograd.backward", "GB0007", GG__RULE_BACKWARD, 0},
    {"torch.autograd.grad", "GB9186", GG__RULE_BACKWARD, 0},
    {"retain_grad", "GB0108", GG__RULE_REQUIRES_GRAD, GG__OF_TENSOR},
    {"requires_grad_", NULL, GG__RULE_REQUIRES_GRAD, GG__OF_TENSOR | GG__ON_INPUT},
    {"requires_grad_", NULL, GG__RULE_REQUIRES_GRAD, GG__OF_MODULE},
};

/* torch.zeros(2, requires_grad=True): a leaf made inside the graph. */
static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    const gg__argument *wanted = gg__argument_at(call, UINT32_MAX, "requires_grad");
    if (call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("torch.")) &&
        !gg_str_starts_with(call->callee.path, GG_STR("torch.nn.")) && wanted &&
        gg__truth_of(&wanted->value) == GG__TRUE)
        gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0225", call->node, NULL);
}

static void on_attribute(gg__walk *w, TSNode node, const gg__value *object, gg_str name) {
    if (gg__is_tensor(object) && gg_str_is(name, "grad_fn"))
        gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0104", node, object);
}

static void on_store(gg__walk *w, TSNode target, const gg__value *object, gg_str attribute) {
    if (gg__is_tensor(object) && gg_str_is(attribute, "requires_grad"))
        gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0206", target, object);
}

const gg__family gg__family_autograd = {.on_call = on_call, .on_attribute = on_attribute, .on_store = on_store};
