/* Functions and methods that no entry of the file goes into: other files may call them from compiled code.  What is found there is
 * conditional, and rests on a tensor: on a parameter that is declared as one, or that some use shows to be one. */
#include "analysis/predict/entries.h"
#include "analysis/predict/uses.h"

static bool declares_tensor(gg__walk *w, TSNode function) {
    gg__nodes parameters = gg__children(w->syntax, GG__FIELD(w, function, parameters));
    for (uint32_t i = 0; i < parameters.len; i++)
        if (gg__is_tensor_type(gg__text_of(w, GG__FIELD(w, parameters.items[i], type)))) return true;
    return false;
}

static bool is_inside(TSNode node, TSNode outer) {
    return ts_node_start_byte(node) > ts_node_start_byte(outer) && ts_node_end_byte(node) <= ts_node_end_byte(outer);
}

/* A decorator, or what makes a function otherwise: what it returns is called too. */
static void run(gg__walk *w, const gg__value *function) {
    static const gg__guard guard = {.text = {"compiled code calls it", 22}};
    w->guard = &guard;
    w->only_tensors = !declares_tensor(w, function->node);
    gg__call call = {.node = function->node, .callee = *function, .entry = true, .forward = true, .elsewhere = true};
    gg__value result = gg__call_function(w, function, &call);
    if (result.kind == GG__FUNCTION && is_inside(result.node, function->node)) run(w, &result);
    w->only_tensors = false;
    w->guard = NULL;
}

static bool is_special(gg_str name) {
    return gg_str_starts_with(name, GG_STR("__")) && gg_str_ends_with(name, GG_STR("__"));
}

static void run_methods(gg__walk *w, const gg__value *class_value) {
    gg__nodes body = gg__children(w->syntax, GG__FIELD(w, class_value->node, body));
    gg__value instance = {.kind = GG__UNKNOWN};
    for (uint32_t i = 0; i < body.len; i++) {
        TSNode node = gg__undecorated(body.items[i]);
        if (gg__node_of(node) != GG__NODE_function_definition || gg__is_reached(w->uses, node)) continue;
        gg_str name = gg__text_of(w, GG__FIELD(w, node, name));
        if (is_special(name) || !declares_tensor(w, node)) continue;
        if (instance.kind == GG__UNKNOWN) {
            gg__call make = {.node = class_value->node, .callee = *class_value, .entry = true};
            instance = gg__instance_of(w, *class_value, &make);
        }
        gg__value method = gg__attribute_of(w, &instance, name);
        if (method.kind == GG__FUNCTION && ts_node_eq(method.node, node)) run(w, &method);
    }
}

void gg__walk_uncalled(gg__walk *w, gg_str name, const gg__value *value) {
    gg__note_read(w, name);
    if (value->kind == GG__CLASS)
        run_methods(w, value);
    else
        run(w, value);
}
