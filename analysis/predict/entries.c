/* See entries.h. */
#include "analysis/predict/entries.h"

static void run_entry(gg__walk *w, gg__call *call) {
    w->guard = NULL;
    (void)gg__call_value(w, call);
}

/* The arguments that a sequence of values makes; more may come by name. */
static void take_arguments(gg__walk *w, gg__call *call, const gg__value *values, const gg__value *named) {
    gg__argument *arguments = GG_ARENA_ARRAY(w->arena, gg__argument, values->item_count + 1);
    for (uint32_t i = 0; i < values->item_count; i++) {
        arguments[i].value = values->items[i];
        gg__value *value = &arguments[i].value;
        if (!gg__is_tensor(value)) continue;
        value->input = true;
        value->folded = value->constant = false;
    }
    call->arguments = arguments;
    call->count = values->item_count;
    call->splat = named && gg__truth_of(named) != GG__FALSE;
}

static void note_class(gg__definitions *covered, const gg__value *callable) {
    TSNode node = callable->node;
    if (callable->kind == GG__INSTANCE) node = callable->object->definition;
    if (callable->kind == GG__FUNCTION && callable->self) node = callable->self->object->definition;
    if (!ts_node_is_null(node)) gg_list_push(covered, node);
}

/* yield name, callable, args, kwargs */
void gg__walk_yielded(gg__walk *w, gg__definitions *covered) {
    const gg__value *inputs = gg__scope_own(w, w->module, GG_STR("graphglue_inputs"));
    if (inputs == NULL || inputs->kind != GG__FUNCTION) return;
    gg__call none = {.node = inputs->node, .callee = *inputs};
    gg__values yielded = {0};
    w->yields = &yielded;
    w->quiet++;
    (void)gg__call_function(w, inputs, &none);
    w->quiet--;
    w->yields = NULL;
    for (size_t i = 0; i < yielded.len; i++) {
        const gg__value *row = &yielded.items[i];
        if (row->kind != GG__SEQUENCE || row->item_count < 3 || row->items[2].kind != GG__SEQUENCE ||
            row->items[2].items == NULL)
            continue;
        gg__call call = {.node = inputs->node, .callee = row->items[1]};
        take_arguments(w, &call, &row->items[2], row->item_count > 3 ? &row->items[3] : NULL);
        note_class(covered, &row->items[1]);
        run_entry(w, &call);
    }
    gg_list_clear(&yielded);
}

/* What a function without parameters returns. */
static gg__value returned_by(gg__walk *w, const gg__value *function) {
    gg__call none = {.node = function->node, .callee = *function};
    w->quiet++;
    gg__value out = function->kind == GG__FUNCTION ? gg__call_function(w, function, &none) : gg__of_kind(GG__UNKNOWN);
    w->quiet--;
    return out;
}

/* class Model, get_init_inputs(), get_inputs() */
void gg__walk_get_inputs(gg__walk *w, gg__definitions *covered) {
    const gg__value *get = gg__scope_own(w, w->module, GG_STR("get_inputs")),
                    *model = gg__scope_own(w, w->module, GG_STR("Model")),
                    *get_init = gg__scope_own(w, w->module, GG_STR("get_init_inputs"));
    if (get == NULL || get->kind != GG__FUNCTION || model == NULL || model->kind != GG__CLASS) return;
    gg__value inputs = returned_by(w, get), init = get_init ? returned_by(w, get_init) : gg__of_kind(GG__SEQUENCE);
    gg__call make = {.node = model->node, .callee = *model, .entry = true};
    w->quiet++;
    if (init.kind == GG__SEQUENCE && init.items) take_arguments(w, &make, &init, NULL);
    gg__value instance = gg__instance_of(w, *model, &make);
    w->quiet--;
    if (inputs.kind != GG__SEQUENCE || inputs.items == NULL) return;
    gg__call call = {.node = model->node, .callee = instance};
    take_arguments(w, &call, &inputs, NULL);
    note_class(covered, &instance);
    run_entry(w, &call);
}

/* (args, kwargs) */
static bool is_call(const gg__value *value) {
    return value->kind == GG__SEQUENCE && value->item_count == 2 && value->items[0].kind == GG__SEQUENCE &&
           value->items[0].items;
}

/* TESTCASES = [(class, init, forward), …] */
void gg__walk_testcases(gg__walk *w, gg__definitions *covered) {
    const gg__value *cases = gg__scope_own(w, w->module, GG_STR("TESTCASES"));
    for (uint32_t i = 0; cases && cases->kind == GG__SEQUENCE && i < cases->item_count; i++) {
        const gg__value *row = &cases->items[i];
        if (row->kind != GG__SEQUENCE || row->item_count < 3 || row->items[0].kind != GG__CLASS) continue;
        gg__value init = returned_by(w, &row->items[1]), forward = returned_by(w, &row->items[2]);
        if (!is_call(&init) || !is_call(&forward)) continue;
        gg__call make = {.node = row->items[0].node, .callee = row->items[0]};
        take_arguments(w, &make, &init.items[0], &init.items[1]);
        w->quiet++;
        gg__value instance = gg__instance_of(w, row->items[0], &make);
        w->quiet--;
        gg__call call = {.node = row->items[0].node, .callee = instance};
        take_arguments(w, &call, &forward.items[0], &forward.items[1]);
        note_class(covered, &instance);
        run_entry(w, &call);
    }
}

/* A module. */
static void walk_class(gg__walk *w, const gg__value *value) {
    if (!gg__is_module_class(w, value->node, value->scope)) return;
    gg__call make = {.node = value->node, .callee = *value, .entry = true};
    gg__value instance = gg__instance_of(w, *value, &make);
    gg__call call = {.node = value->node, .callee = instance, .entry = true, .forward = true};
    run_entry(w, &call);
}

/* A function that is compiled where it is defined. */
static void walk_function(gg__walk *w, const gg__value *value) {
    TSNode parent = ts_node_parent(value->node);
    gg__touch(w, parent);
    if (gg__node_of(parent) != GG__NODE_decorated_definition) return;
    gg__nodes parts = gg__children(w->syntax, parent);
    bool compiled = false;
    for (uint32_t k = 0; k < parts.len; k++)
        compiled = compiled || gg_str_starts_with(gg__text_of(w, parts.items[k]), GG_STR("@torch.compile"));
    gg__call call = {.node = value->node, .callee = *value, .entry = true, .forward = true};
    if (compiled && !gg_str_contains(gg__text_of(w, parts.items[0]), GG_STR("compiler.disable"))) run_entry(w, &call);
}

void gg__walk_undeclared(gg__walk *w, gg_str name, const gg__value *value) {
    gg__note_read(w, name);
    if (value->kind == GG__CLASS)
        walk_class(w, value);
    else
        walk_function(w, value);
}
