/* The shape of a result depends on data. */
#include "analysis/predict/predict.h"

static const char *const names[] = {"nonzero",  "argwhere",    "masked_select", "unique", "unique_consecutive",
                                    "bincount", "combinations"};

static bool is_listed(gg_str name) {
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

static void on_call(gg__walk *w, const gg__call *call) {
    gg_str name = call->callee.path;
    const gg__value *self = NULL;
    uint32_t first = 0;
    if (call->callee.kind == GG__METHOD && gg__is_tensor(call->callee.of)) {
        self = call->callee.of;
    } else if (call->callee.kind == GG__DOTTED && gg_str_starts_with(name, GG_STR("torch."))) {
        name = gg_str_slice(name, 6, name.len);
        if (gg_str_starts_with(name, GG_STR("nn.functional."))) name = gg_str_slice(name, 14, name.len);
        const gg__argument *operand = gg__argument_at(call, 0, "input");
        self = operand ? &operand->value : NULL;
        first = 1;
    } else {
        return;
    }
    if (self == NULL) return;
    bool found = is_listed(name) || gg_str_is(name, "ctc_loss");
    if (gg_str_is(name, "where")) found = first == 1 && call->count == 1 && !call->splat;
    if (gg_str_is(name, "lstsq") || gg_str_is(name, "linalg.lstsq")) found = true;
    if (gg_str_is(name, "repeat_interleave")) {
        const gg__argument *repeats = gg__argument_at(call, first, "repeats");
        const gg__argument *size = gg__argument_at(call, 99, "output_size");
        found = size == NULL && (repeats ? gg__is_tensor(&repeats->value) : first == 1);
    }
    if (gg_str_is(name, "one_hot")) {
        const gg__argument *classes = gg__argument_at(call, first, "num_classes");
        bool asked = classes && classes->value.constant && classes->value.integer == -1;
        found = first == 1 && (classes == NULL || asked) && !call->splat;
    }
    if (found) gg__found(w, GG__RULE_DYNAMIC_SHAPE, gg_str_is(name, "one_hot") ? "GB0246" : NULL, call->node, self);
}

/* x[[True, False]] */
static bool is_mask(const gg__value *index) {
    return index->kind == GG__SEQUENCE && index->of && index->of->kind == GG__NUMBER && index->of->dtype == GG__BOOL;
}

/* x[mask] that is read, or written with a tensor of as many elements. */
static void on_subscript(gg__walk *w, TSNode node, const gg__value *object, const gg__value *index, bool store) {
    if (!store && gg__is_tensor(object) && is_mask(index)) {
        gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, node, object);
        return;
    }
    bool indexed = gg__is_tensor(object) || object->kind == GG__UNKNOWN; /* what else takes a mask as index? */
    if (store || !indexed || !gg__is_tensor(index) || index->dtype != GG__BOOL || index->zero_dim) return;
    gg__found(w, GG__RULE_DYNAMIC_SHAPE, NULL, node, index);
}

const gg__family gg__family_shapes = {.on_call = on_call, .on_subscript = on_subscript};
