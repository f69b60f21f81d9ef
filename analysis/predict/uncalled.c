/* Functions and methods that no entry of the file goes into: other files may call them from compiled code.  What is found there is
 * conditional, and rests on a tensor: on a parameter that is declared as one, or that some use shows to be one. */
#include "analysis/predict/predict.h"

enum { FEWEST = 64 };

/* ---- which functions were gone into ---------------------------------------------------------------------------------------- */

static uint32_t slot_of(const gg__reached *reached, const void *id) {
    uint32_t at = (uint32_t)(((uintptr_t)id >> 3) * 2654435761u) & (reached->cap - 1);
    while (reached->ids[at] && reached->ids[at] != id) at = (at + 1) & (reached->cap - 1);
    return at;
}

void gg__note_reached(gg__walk *w, TSNode function) {
    gg__reached *reached = &w->reached;
    if (reached->len * 2 >= reached->cap) {
        gg__reached larger = {.cap = reached->cap ? reached->cap * 2 : FEWEST, .len = reached->len};
        larger.ids = GG_ARENA_ARRAY(w->arena, const void *, larger.cap);
        for (uint32_t i = 0; i < reached->cap; i++)
            if (reached->ids[i]) larger.ids[slot_of(&larger, reached->ids[i])] = reached->ids[i];
        *reached = larger;
    }
    uint32_t at = slot_of(reached, function.id);
    if (reached->ids[at]) return;
    reached->ids[at] = function.id;
    reached->len++;
}

static bool is_reached(const gg__walk *w, TSNode function) {
    return w->reached.cap && w->reached.ids[slot_of(&w->reached, function.id)];
}

/* ---- those that were not ------------------------------------------------------------------------------------------------------ */

static bool declares_tensor(gg__walk *w, TSNode function) {
    gg__nodes parameters = gg__children(GG__FIELD(function, parameters), w->arena);
    for (uint32_t i = 0; i < parameters.len; i++)
        if (gg__is_tensor_type(gg__text_of(w, GG__FIELD(parameters.items[i], type)))) return true;
    return false;
}

/* `make`: it may be a decorator, or return a function otherwise: what it returns is called too. */
static void run(gg__walk *w, const gg__value *function, bool make) {
    static const gg__guard guard = {.text = {"compiled code calls it", 22}};
    w->guard = &guard;
    w->only_tensors = !declares_tensor(w, function->node);
    gg__call call = {.node = function->node, .callee = *function, .entry = true, .forward = true, .elsewhere = true};
    gg__value result = gg__call_function(w, function, &call);
    if (make && result.kind == GG__FUNCTION && !is_reached(w, result.node)) run(w, &result, false);
    w->only_tensors = false;
    w->guard = NULL;
}

static bool is_special(gg_str name) {
    return gg_str_starts_with(name, GG_STR("__")) && gg_str_ends_with(name, GG_STR("__"));
}

static void run_methods(gg__walk *w, const gg__value *class_value) {
    gg__nodes body = gg__children(GG__FIELD(class_value->node, body), w->arena);
    gg__value instance = {.kind = GG__UNKNOWN};
    for (uint32_t i = 0; i < body.len; i++) {
        TSNode node = body.items[i];
        if (gg__node_of(node) == GG__NODE_decorated_definition) node = GG__FIELD(node, definition);
        if (gg__node_of(node) != GG__NODE_function_definition || is_reached(w, node)) continue;
        gg_str name = gg__text_of(w, GG__FIELD(node, name));
        if (is_special(name) || !declares_tensor(w, node)) continue;
        if (instance.kind == GG__UNKNOWN) {
            gg__call make = {.node = class_value->node, .callee = *class_value, .entry = true};
            instance = gg__instance_of(w, *class_value, &make);
        }
        gg__value method = gg__attribute_of(w, &instance, name);
        if (method.kind == GG__FUNCTION && ts_node_eq(method.node, node)) run(w, &method, false);
    }
}

static bool knows_torch(const gg__scope *module) {
    for (uint32_t i = 0; i < module->len; i++) {
        const gg__value *value = &module->items[i].value;
        if (value->kind == GG__DOTTED && gg_str_starts_with(value->path, GG_STR("torch"))) return true;
    }
    return false;
}

void gg__run_uncalled(gg__walk *w) {
    uint32_t count = knows_torch(w->module) ? w->module->len : 0;
    for (uint32_t i = 0; i < count; i++) {
        gg__value value = w->module->items[i].value;
        if (value.kind == GG__CLASS) run_methods(w, &value);
        if (value.kind == GG__FUNCTION && gg__node_of(value.node) == GG__NODE_function_definition &&
            !is_reached(w, value.node))
            run(w, &value, true);
    }
}
