/* A Python number is taken out of a tensor. */
#include "analysis/predict/predict.h"

static const gg__value *first_tensor(const gg__call *call) {
    const gg__argument *first = gg__argument_at(call, 0, NULL);
    return first && gg__is_tensor(&first->value) ? &first->value : NULL;
}

static void find_list(gg__walk *w, const gg__call *call, const gg__value *self) {
    const gg__guard *outer = w->guard;
    gg__guard guard = {.text = GG_STR("it is made of more than one number"), .unlikely = outer && outer->unlikely};
    bool integers = self->dtype == GG__INT || self->dtype == GG__BOOL;
    if (self->folded && self->dtype != GG__FLOAT && outer == NULL) w->guard = &guard;
    gg__found(w, integers ? GG__RULE_TOLIST_INT : GG__RULE_TOLIST_FLOAT, NULL, call->node, self);
    w->guard = outer;
}

static void on_method(gg__walk *w, const gg__call *call) {
    const gg__value *self = call->callee.of;
    if (gg_str_is(call->callee.path, "item"))
        gg__found(w, GG__RULE_ITEM, NULL, call->node, self);
    else if (gg_str_is(call->callee.path, "tolist"))
        find_list(w, call, self);
}

static void on_function(gg__walk *w, const gg__call *call, gg_str path) {
    const gg__value *value = first_tensor(call);
    if (gg_str_is(path, "builtins.int") || gg_str_is(path, "builtins.float") || gg_str_is(path, "builtins.bool")) {
        if (value) gg__found(w, GG__RULE_ITEM, NULL, call->node, value);
        return;
    }
    if (gg_str_is(path, "builtins.round") && value) gg__found(w, GG__RULE_ITEM, "GB6270", call->node, value);
    if (gg_str_is(path, "builtins.range") || gg_str_is(path, "builtins.complex")) {
        for (uint32_t i = 0; i < call->count; i++)
            if (gg__is_tensor(&call->arguments[i].value)) {
                gg__found(w, GG__RULE_RANGE, NULL, call->node, &call->arguments[i].value);
                return;
            }
        return;
    }
    if (gg_str_starts_with(path, GG_STR("math."))) {
        for (uint32_t i = 0; i < call->count; i++)
            if (gg__is_tensor(&call->arguments[i].value)) {
                gg__found(w, GG__RULE_MATH, NULL, call->node, &call->arguments[i].value);
                return;
            }
    }
}

static void on_call(gg__walk *w, const gg__call *call) {
    if (call->callee.kind == GG__METHOD && gg__is_tensor(call->callee.of)) on_method(w, call);
    if (call->callee.kind != GG__DOTTED) return;
    on_function(w, call, call->callee.path);
}

/* x[a:b] with a tensor as a bound; a list's index. */
static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    (void)store;
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 1; i < parts.len; i++) {
        if (gg__node_of(parts.items[i]) == GG__NODE_slice) {
            gg__nodes bounds = gg__children(w->syntax, parts.items[i]);
            for (uint32_t k = 0; k < bounds.len; k++) {
                w->quiet++;
                gg__value bound = gg__eval(w, bounds.items[k]);
                w->quiet--;
                if (!gg__is_tensor(&bound)) continue;
                gg__found(w, GG__RULE_ITEM, NULL, node, &bound);
                gg__note_eager(w);
            }
        } else if ((object->kind == GG__SEQUENCE || object->kind == GG__MODULE || object->kind == GG__SHAPE) &&
                   gg__is_tensor(index)) {
            gg__found(w, GG__RULE_ITEM, NULL, node, index);
        }
    }
}

const gg__family gg__family_scalars = {.on_call = on_call, .on_subscript = on_subscript};
