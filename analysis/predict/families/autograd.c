/* What a forward graph cannot do to autograd. */
#include "analysis/predict/families/table.h"

static const gg__call_row rows[] = {
    {"backward", NULL, GG__RULE_BACKWARD, GG__OF_TENSOR},
    {"torch.autograd.backward", "GB0007", GG__RULE_BACKWARD, 0},
    {"torch.autograd.grad", "GB9186", GG__RULE_BACKWARD, 0},
    {"retain_grad", "GB0108", GG__RULE_REQUIRES_GRAD, GG__OF_TENSOR},
};

/* It changes nothing where it is as it is asked for: parameters mostly require gradients. */
static void find_of_module(gg__walk *w, const gg__call *call) {
    const gg__value *of = call->callee.of;
    if (of->kind != GG__MODULE && !(of->kind == GG__INSTANCE && of->object->is_module)) return;
    const gg__argument *wanted = gg__argument_at(call, 0, "requires_grad");
    bool off = wanted && gg__truth_of(&wanted->value) == GG__FALSE;
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("it required none"), .unlikely = outer && outer->unlikely};
    if (outer == NULL && !off) w->guard = &guard;
    gg__found(w, GG__RULE_REQUIRES_GRAD, NULL, call->node, NULL);
    w->guard = outer;
}

/* x.requires_grad_() of an input; of what the graph computes it is fine as long as nothing that depends on it leaves the graph. */
static void on_requires_grad(gg__walk *w, const gg__call *call) {
    if (call->callee.kind != GG__METHOD || !gg_str_is(call->callee.path, "requires_grad_")) return;
    if (!gg__is_tensor(call->callee.of)) {
        find_of_module(w, call);
        return;
    }
    const gg__argument *wanted = gg__argument_at(call, 0, "requires_grad");
    bool off = wanted && gg__truth_of(&wanted->value) == GG__FALSE, input = call->callee.of->input;
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = off ? GG_STR("it required a gradient") : GG_STR("what is made of it is returned"),
                       .unlikely = outer && outer->unlikely};
    if (outer == NULL && (off || !input)) w->guard = &guard;
    gg__found(w, GG__RULE_REQUIRES_GRAD, input ? NULL : "GB8985", call->node, call->callee.of);
    w->guard = outer;
}

/* torch.zeros(2, requires_grad=True): a leaf made inside the graph. */
static void on_call(gg__walk *w, const gg__call *call) {
    gg__find_row(w, call, rows, GG_COUNT(rows));
    on_requires_grad(w, call);
    const gg__argument *wanted = gg__argument_at(call, UINT32_MAX, "requires_grad");
    if (call->callee.kind == GG__DOTTED && gg_str_starts_with(call->callee.path, GG_STR("torch.")) &&
        !gg_str_starts_with(call->callee.path, GG_STR("torch.nn.")) && wanted &&
        gg__truth_of(&wanted->value) == GG__TRUE)
        gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0225", call->node, NULL);
}

static void on_attribute(gg__walk *w, TSNode node, const gg__value *object, gg_str name) {
    if (!gg__is_tensor(object) || object->input || !gg_str_is(name, "grad_fn")) return;
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("it requires a gradient"), .unlikely = outer && outer->unlikely};
    if (outer == NULL) w->guard = &guard;
    gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0104", node, object);
    w->guard = outer;
}

static void on_store(gg__walk *w, TSNode target, const gg__value *object, gg_str attribute) {
    if (gg__is_tensor(object) && gg_str_is(attribute, "requires_grad"))
        gg__found(w, GG__RULE_REQUIRES_GRAD, "GB0206", target, object);
}

const gg__family gg__family_autograd = {.on_call = on_call, .on_attribute = on_attribute, .on_store = on_store};
