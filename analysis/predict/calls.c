/* Calls: arguments, parameters, the functions and classes of the file. */
#include "analysis/predict/memo.h"

static const gg__argument *argument_of(const gg__call *call, uint32_t position, gg_str name) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        if (call->arguments[i].name.len) {
            if (gg_str_equal(call->arguments[i].name, name)) return &call->arguments[i];
        } else if (at++ == position) {
            return &call->arguments[i];
        }
    }
    return NULL;
}

const gg__argument *gg__argument_at(const gg__call *call, uint32_t position, const char *name) {
    return argument_of(call, position, gg_str_from(name));
}

/* ---- parameters ------------------------------------------------------------------------------------------------------------- */

/* torch.Tensor, Tensor, torch.LongTensor, …; no container of them, no class that is merely named alike. */
static bool is_tensor_type(gg_str type) {
    static const char *const names[] = {"Tensor",     "FloatTensor", "HalfTensor", "BFloat16Tensor", "DoubleTensor",
                                        "LongTensor", "IntTensor",   "BoolTensor", "ByteTensor"};
    type = gg_str_trim(type);
    if (gg_str_starts_with(type, GG_STR("torch."))) type = gg_str_slice(type, 6, type.len);
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(type, names[i])) return true;
    return false;
}

/* Optional[T], T | None, None | T: T; else the type itself. */
static gg_str without_none(gg_str type) {
    gg_str optional = GG_STR("Optional["), typing = GG_STR("typing.");
    if (gg_str_starts_with(type, typing)) type = gg_str_slice(type, typing.len, type.len);
    if (gg_str_starts_with(type, optional) && gg_str_ends_with(type, GG_STR("]")))
        return gg_str_slice(type, optional.len, type.len - 1);
    size_t bar = gg_str_find(type, GG_STR("|"), 0);
    if (bar == SIZE_MAX) return type;
    gg_str left = gg_str_trim(gg_str_slice(type, 0, bar)), right = gg_str_trim(gg_str_slice(type, bar + 1, type.len));
    return gg_str_is(right, "None") ? left : gg_str_is(left, "None") ? right : type;
}

bool gg__is_tensor_type(gg_str annotation) {
    return is_tensor_type(without_none(annotation));
}

/* What an annotation and a default say of a parameter that nobody passes. */
static gg__value undeclared(gg_str type, const gg__value *given) {
    gg__value out = gg__of_kind(GG__UNKNOWN);
    if (type.len > 2 && (type.ptr[0] == '"' || type.ptr[0] == '\'')) type = gg_str_slice(type, 1, type.len - 1);
    if (is_tensor_type(without_none(type))) {
        out = gg__tensor(GG__DTYPE_UNKNOWN);
        out.input = true;
        out.maybe_none = !is_tensor_type(type);
    } else if (gg_str_is(type, "int")) {
        out = gg__number(GG__INT);
    } else if (gg_str_is(type, "float")) {
        out = gg__number(GG__FLOAT);
    } else if (gg_str_is(type, "bool")) {
        out = gg__number(GG__BOOL);
    } else if (gg_str_is(type, "str")) {
        out = gg__of_kind(GG__STRING);
    }
    if (given == NULL) return out;
    /* A default that is a Python value outweighs the annotation: `output_attentions: Optional[torch.Tensor] = False`. */
    if (given->kind == GG__NUMBER || given->kind == GG__STRING) {
        gg__value plain = gg__of_kind(given->kind);
        plain.dtype = given->dtype;
        plain.usual = gg__truth_of(given);
        return plain;
    }
    if (given->kind != GG__NONE) return out;
    if (gg__is_tensor(&out))
        out.maybe_none = true;
    else
        out = gg__of_kind(GG__UNKNOWN);
    out.absent = true;
    return out;
}

typedef struct parameter {
    TSNode name;
    gg_str type;
    TSNode given;           /* the default; null: none */
    bool star, double_star; /* *args, **kwargs */
} parameter;

static bool read_parameter(gg__walk *w, TSNode node, parameter *out) {
    *out = (parameter){.name = node};
    gg__node type = gg__node_of(node);
    out->type = GG_STR_NULL;
    if (type == GG__NODE_typed_parameter || type == GG__NODE_typed_default_parameter)
        out->type = gg__text_of(w, GG__FIELD(w, node, type));
    if (type == GG__NODE_default_parameter || type == GG__NODE_typed_default_parameter) {
        out->name = GG__FIELD(w, node, name);
        out->given = GG__FIELD(w, node, value);
    } else if (type == GG__NODE_typed_parameter) {
        out->name = ts_node_named_child(node, 0);
    }
    gg__node inner = gg__node_of(out->name);
    out->star = inner == GG__NODE_list_splat_pattern;
    out->double_star = inner == GG__NODE_dictionary_splat_pattern;
    if (out->star || out->double_star) out->name = ts_node_named_child(out->name, 0);
    return gg__node_of(out->name) == GG__NODE_identifier;
}

static gg__value default_of(gg__walk *w, const gg__value *function, TSNode node) {
    gg__scope *before = w->frame->scope;
    w->frame->scope = function->scope ? function->scope : w->module;
    w->quiet++;
    gg__value value = gg__eval(w, node);
    w->quiet--;
    w->frame->scope = before;
    return value;
}

static void bind_parameters(gg__walk *w, const gg__value *function, const gg__call *call, gg__scope *scope) {
    gg__nodes nodes = gg__children(w->syntax, GG__FIELD(w, function->node, parameters));
    uint32_t position = 0, own = 0;
    for (uint32_t i = 0; i < nodes.len; i++) {
        parameter p;
        if (!read_parameter(w, nodes.items[i], &p)) continue;
        gg_str name = gg__text_of(w, p.name);
        if (own++ == 0 && function->self) {
            gg__scope_set(w, scope, name, *function->self);
            continue;
        }
        if (p.star || p.double_star) {
            gg__scope_set(w, scope, name, gg__of_kind(p.star ? GG__SEQUENCE : GG__MAPPING));
            continue;
        }
        const gg__argument *given = argument_of(call, position++, name);
        if (given) {
            gg__value value = given->value;
            if (w->frame->eager && gg__is_tensor(&value)) value.input = true; /* of a graph of its own */
            gg__scope_set(w, scope, name, value);
            continue;
        }
        gg__value value = gg__of_kind(GG__UNKNOWN);
        bool has_default = !ts_node_is_null(p.given);
        if (has_default) value = default_of(w, function, p.given);
        if (!has_default || call->splat || call->entry) {
            value = undeclared(p.type, has_default ? &value : NULL);
            if (call->elsewhere) {
                value.absent = false;
                value.usual = GG__MAYBE;
            }
            bool plain = !has_default && p.type.len == 0 && !gg_str_is(name, "self") && !gg_str_is(name, "cls");
            if (value.kind == GG__UNKNOWN && call->forward && plain) {
                value = gg__tensor(GG__DTYPE_UNKNOWN);
                value.confirmed = GG_ARENA_NEW(w->arena, bool);
                value.input = true;
            }
        }
        gg__scope_set(w, scope, name, value);
    }
}

/* ---- functions ---------------------------------------------------------------------------------------------------------------- */

static bool is_running(gg__walk *w, TSNode definition) {
    unsigned same = 0;
    const gg__frame *outermost = NULL;
    for (const gg__frame *f = w->frame; f; f = f->caller) {
        if (ts_node_is_null(f->definition) || !ts_node_eq(f->definition, definition)) continue;
        same++;
        outermost = f;
    }
    if (same > 1) gg__spoil_below(w, outermost);
    return same > 1;
}

static bool is_generator(gg__walk *w, TSNode node, unsigned depth) {
    if (depth > 200) return false;
    gg__nodes parts = gg__children(w->syntax, node);
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__node type = gg__node_of(parts.items[i]);
        if (type == GG__NODE_yield) return true;
        if (type == GG__NODE_function_definition || type == GG__NODE_class_definition || type == GG__NODE_lambda)
            continue;
        if (is_generator(w, parts.items[i], depth + 1)) return true;
    }
    return false;
}

static gg__value walk_call(gg__walk *w, const gg__value *function, gg__frame *frame) {
    const gg__guard *outer = w->guard;
    w->frame = frame;
    w->depth++;
    if (w->depth > w->deepest_call) w->deepest_call = w->depth;
    gg__value result;
    if (gg__node_of(function->node) == GG__NODE_lambda) {
        result = gg__eval(w, GG__FIELD(w, function->node, body));
    } else {
        bool falls = gg__walk_block(w, GG__FIELD(w, function->node, body)) == GG__FALLS;
        result = frame->returned ? frame->result : gg__of_kind(GG__NONE);
        if (falls && frame->returned) result = gg__join(result, gg__of_kind(GG__NONE));
    }
    w->depth--;
    w->frame = frame->caller;
    w->guard = outer;
    if (gg__node_of(function->node) == GG__NODE_lambda) return result;
    TSNode body = GG__FIELD(w, function->node, body);
    bool generator = gg_str_contains(gg__text_of(w, body), GG_STR("yield")) && is_generator(w, body, 0);
    return generator ? gg__of_kind(GG__SEQUENCE) : result;
}

gg__value gg__call_function(gg__walk *w, const gg__value *function, const gg__call *call) {
    if (w->depth >= GG__MAX_DEPTH) w->deepest_call = GG__MAX_DEPTH + 1;
    if (w->depth >= GG__MAX_DEPTH || is_running(w, function->node)) return gg__of_kind(GG__UNKNOWN);
    gg__touch(w, function->node);
    gg__frame frame = {
        .caller = w->frame, .definition = function->node, .guard = w->guard, .depth = w->frame->depth + 1};
    frame.scope = gg__scope_new(w, function->scope ? function->scope : w->module);
    frame.unit = gg__unit_of(w, GG__FIELD(w, function->node, body));
    if (function->self && function->self->kind == GG__INSTANCE) frame.self = function->self->object;
    bind_parameters(w, function, call, frame.scope);
    gg__record record;
    gg__value result;
    if (gg__memo_replay(w, &frame, function, &record, &result)) return result;
    result = walk_call(w, function, &frame);
    if (record.runs) gg__memo_end(w, &record, &result);
    return result;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------------- */

static gg__value call_instance(gg__walk *w, gg__call *call) {
    const gg__value *object = &call->callee;
    gg_str name = object->object->is_module ? GG_STR("forward") : GG_STR("__call__");
    gg__value method = gg__attribute_of(w, object, name);
    gg__value out = method.kind == GG__FUNCTION ? gg__call_function(w, &method, call) : gg__of_kind(GG__UNKNOWN);
    for (const gg__hook *hook = object->object->hooks; hook; hook = hook->next) {
        gg__argument given[] = {{.value = *object}, {.value = gg__of_kind(GG__SEQUENCE)}, {.value = out}};
        gg__call run = {.node = call->node, .callee = hook->function, .arguments = given, .count = GG_COUNT(given)};
        (void)gg__call_value(w, &run);
    }
    return out;
}

/* super().forward(x): the method of a base class of this file. */
static gg__value super_method(gg__walk *w, gg_str name) {
    const gg__value *self = NULL;
    for (const gg__frame *f = w->frame; f && self == NULL; f = f->caller) {
        self = gg__scope_own(w, f->scope, GG_STR("self"));
        gg__spoil_below(w, f);
    }
    if (self == NULL || self->kind != GG__INSTANCE) return gg__of_kind(GG__UNKNOWN);
    TSNode here = gg_node_ancestor(w->frame->definition, "class_definition");
    if (ts_node_is_null(here)) return gg__of_kind(GG__UNKNOWN);
    gg__touch(w, here);
    TSNode bases = GG__FIELD(w, here, superclasses);
    gg__nodes parts = gg__children(w->syntax, bases);
    for (uint32_t i = 0; i < parts.len; i++) {
        w->quiet++;
        gg__value base = gg__eval(w, parts.items[i]);
        w->quiet--;
        if (base.kind != GG__CLASS) continue;
        TSNode method = gg__method_in(w, base.node, base.scope, name, 0);
        if (!ts_node_is_null(method))
            return (gg__value){.kind = GG__FUNCTION, .node = method, .scope = base.scope, .self = gg__keep(w, *self)};
    }
    return gg__of_kind(GG__UNKNOWN);
}

static gg__value eval_callee(gg__walk *w, TSNode node) {
    if (gg__node_of(node) == GG__NODE_attribute) {
        TSNode object = GG__FIELD(w, node, object);
        gg_str name = gg__text_of(w, GG__FIELD(w, node, attribute));
        if (gg__node_of(object) == GG__NODE_call && gg_str_is(gg__text_of(w, GG__FIELD(w, object, function)), "super"))
            return super_method(w, name);
        gg__value value = gg__eval(w, object);
        if (gg__is_tensors_own(name)) gg__confirm(&value);
        if (gg__is_tensor(&value)) return (gg__value){.kind = GG__METHOD, .path = name, .of = gg__keep(w, value)};
        return gg__attribute_of(w, &value, name);
    }
    return gg__eval(w, node);
}

/* list.append and the like change what the list is known to hold. */
static void note_growth(gg__walk *w, const gg__call *call) {
    TSNode object = GG__FIELD(w, GG__FIELD(w, call->node, function), object);
    if (gg__node_of(object) != GG__NODE_identifier) return;
    gg_str name = gg__text_of(w, object);
    const gg__value *known = gg__scope_find(w, w->frame->scope, name);
    if (known == NULL || known->kind != GG__SEQUENCE) return;
    gg__value *list = gg__scope_find_to_change(w, w->frame->scope, name);
    const gg__argument *added = gg__argument_at(call, 0, NULL);
    bool was_empty = list->items && list->item_count == 0;
    list->items = NULL;
    list->item_count = 0;
    list->truth = gg_str_is(call->callee.path, "append") && w->guard == NULL ? GG__TRUE : GG__MAYBE;
    if (!gg_str_is(call->callee.path, "append") || added == NULL)
        list->of = NULL;
    else
        list->of = gg__keep(w, was_empty || list->of == NULL ? added->value : gg__join(*list->of, added->value));
}

gg__value gg__call_value(gg__walk *w, gg__call *call) {
    const gg__value *callee = &call->callee;
    switch (callee->kind) {
    case GG__FUNCTION:
        return gg__call_function(w, callee, call);
    case GG__CLASS:
        return gg__instance_of(w, *callee, call);
    case GG__INSTANCE:
        return call_instance(w, call);
    case GG__METHOD:
        if (gg__is_tensor(callee->of)) return gg__tensor_method(w, call);
        if (callee->of->kind == GG__SEQUENCE) note_growth(w, call);
        return gg__library_call(w, call);
    default:
        return gg__library_call(w, call);
    }
}

gg__value gg__eval_call(gg__walk *w, TSNode node) {
    gg__call call = {.node = node, .callee = eval_callee(w, GG__FIELD(w, node, function))};
    TSNode list = GG__FIELD(w, node, arguments);
    if (gg__node_of(list) == GG__NODE_generator_expression) {
        gg__argument *only = GG_ARENA_NEW(w->arena, gg__argument);
        *only = (gg__argument){.node = list, .value = gg__eval(w, list)};
        call.arguments = only;
        call.count = 1;
    } else {
        gg__nodes parts = gg__children(w->syntax, list);
        gg__argument *arguments = GG_ARENA_ARRAY(w->arena, gg__argument, parts.len + 1);
        for (uint32_t i = 0; i < parts.len; i++) {
            gg__node type = gg__node_of(parts.items[i]);
            bool splat = type == GG__NODE_list_splat || type == GG__NODE_dictionary_splat,
                 named = type == GG__NODE_keyword_argument;
            TSNode value = splat   ? ts_node_named_child(parts.items[i], 0)
                           : named ? GG__FIELD(w, parts.items[i], value)
                                   : parts.items[i];
            gg__value known = gg__eval(w, value);
            call.splat = call.splat || splat;
            if (splat) continue;
            arguments[call.count++] =
                (gg__argument){.name = named ? gg__text_of(w, GG__FIELD(w, parts.items[i], name)) : GG_STR_NULL,
                               .node = value,
                               .value = known};
        }
        call.arguments = arguments;
    }
    GG__TELL(on_call, w, &call);
    return gg__call_value(w, &call);
}
