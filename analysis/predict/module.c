/* The module's own names, its classes, and the attributes of their instances. */
#include "analysis/predict/predict.h"

enum { MAX_BASES = 8 };

/* ---- imports ------------------------------------------------------------------------------------------------------------ */

static void import_name(gg__walk *w, gg_str prefix, TSNode node) {
    TSNode name = node;
    gg_str alias = GG_STR_NULL;
    if (gg__node_of(node) == GG__NODE_aliased_import) {
        name = GG__FIELD(w, node, name);
        alias = gg__text_of(w, GG__FIELD(w, node, alias));
    }
    gg_str path = gg__text_of(w, name);
    if (prefix.len) {
        gg_str whole = gg_arena_printf(w->arena, "%.*s.%.*s", GG_STR_ARG(prefix), GG_STR_ARG(path));
        gg__scope_set(w, w->frame->scope, alias.len ? alias : path, gg__dotted(whole));
        return;
    }
    size_t dot = gg_str_find(path, GG_STR("."), 0);
    gg_str first = gg_str_slice(path, 0, dot);
    gg__scope_set(w, w->frame->scope, alias.len ? alias : first, gg__dotted(alias.len ? path : first));
}

void gg__walk_import(gg__walk *w, TSNode statement) {
    gg_str prefix = GG_STR_NULL;
    TSNode from = GG__FIELD(w, statement, module_name);
    if (!ts_node_is_null(from)) prefix = gg__text_of(w, from);
    gg__nodes parts = gg__children(w->syntax, statement);
    for (uint32_t i = 0; i < parts.len; i++) {
        gg__node type = gg__node_of(parts.items[i]);
        if (!ts_node_is_null(from) && ts_node_eq(parts.items[i], from)) continue;
        if (type == GG__NODE_dotted_name || type == GG__NODE_aliased_import) import_name(w, prefix, parts.items[i]);
    }
}

/* ---- classes ------------------------------------------------------------------------------------------------------------ */

/* The bases of a class, evaluated where it is defined. */
static uint32_t bases_of(gg__walk *w, TSNode definition, gg__scope *scope, gg__value *out) {
    gg__touch(w, definition);
    gg__nodes parts = gg__children(w->syntax, GG__FIELD(w, definition, superclasses));
    gg__scope *before = w->frame->scope;
    uint32_t count = 0;
    w->frame->scope = scope;
    w->quiet++;
    for (uint32_t i = 0; i < parts.len && count < MAX_BASES; i++)
        if (gg__node_of(parts.items[i]) != GG__NODE_keyword_argument) out[count++] = gg__eval(w, parts.items[i]);
    w->quiet--;
    w->frame->scope = before;
    return count;
}

static bool names_module_class(gg_str path) {
    return gg_str_starts_with(path, GG_STR("torch.nn.")) || gg_str_is(path, "transformers.PreTrainedModel") ||
           gg_str_ends_with(path, GG_STR(".PreTrainedModel")) || gg_str_ends_with(path, GG_STR(".LightningModule"));
}

static TSNode own_method(gg__walk *w, TSNode definition, gg_str name) {
    gg__touch(w, definition);
    gg__nodes body = gg__children(w->syntax, GG__FIELD(w, definition, body));
    for (uint32_t i = 0; i < body.len; i++) {
        TSNode node = gg__undecorated(body.items[i]);
        if (gg__node_of(node) == GG__NODE_function_definition &&
            gg_str_equal(gg__text_of(w, GG__FIELD(w, node, name)), name))
            return node;
    }
    return (TSNode){0};
}

static bool is_elsewhere(gg_str path) {
    return !gg_str_starts_with(path, GG_STR("torch.")) && !gg_str_starts_with(path, GG_STR("builtins."));
}

/* def forward(self, …) in a class of a base that some other file defines: a module; what else has one takes a `ctx`. */
static bool has_forward(gg__walk *w, TSNode definition) {
    gg__nodes parameters =
        gg__children(w->syntax, GG__FIELD(w, own_method(w, definition, GG_STR("forward")), parameters));
    return parameters.len > 1 && gg_str_is(gg__text_of(w, parameters.items[0]), "self");
}

static bool is_module_class(gg__walk *w, TSNode definition, gg__scope *scope, unsigned depth) {
    gg__value bases[MAX_BASES];
    uint32_t count = depth < MAX_BASES && gg__may_go_on(w) ? bases_of(w, definition, scope, bases) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (bases[i].kind == GG__DOTTED &&
            (names_module_class(bases[i].path) || (is_elsewhere(bases[i].path) && has_forward(w, definition))))
            return true;
        if (bases[i].kind == GG__CLASS && is_module_class(w, bases[i].node, bases[i].scope, depth + 1)) return true;
    }
    return false;
}

bool gg__is_module_class(gg__walk *w, TSNode definition, gg__scope *scope) {
    return is_module_class(w, definition, scope, 0);
}

TSNode gg__method_in(gg__walk *w, TSNode definition, gg__scope *scope, gg_str name, unsigned depth) {
    TSNode none = {0};
    if (!gg__may_go_on(w)) return none;
    TSNode own = own_method(w, definition, name);
    if (!ts_node_is_null(own)) return own;
    gg__value bases[MAX_BASES];
    uint32_t count = depth < MAX_BASES ? bases_of(w, definition, scope, bases) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (bases[i].kind != GG__CLASS) continue;
        TSNode found = gg__method_in(w, bases[i].node, bases[i].scope, name, depth + 1);
        if (!ts_node_is_null(found)) return found;
    }
    return none;
}

/* Class attributes: `scale = 2`. */
static void walk_class_body(gg__walk *w, gg__object *object) {
    gg__touch(w, object->definition);
    gg__nodes body = gg__children(w->syntax, GG__FIELD(w, object->definition, body));
    for (uint32_t i = 0; i < body.len; i++) {
        TSNode assignment = ts_node_named_child(body.items[i], 0);
        if (gg__node_of(body.items[i]) != GG__NODE_expression_statement ||
            gg__node_of(assignment) != GG__NODE_assignment || ts_node_is_null(GG__FIELD(w, assignment, right)))
            continue;
        TSNode left = GG__FIELD(w, assignment, left);
        if (gg__node_of(left) == GG__NODE_identifier)
            gg__scope_set(w, object->attributes, gg__text_of(w, left), gg__eval(w, GG__FIELD(w, assignment, right)));
    }
}

gg__value gg__instance_of(gg__walk *w, gg__value class_value, const gg__call *call) {
    gg__object *object = GG_ARENA_NEW(w->arena, gg__object);
    object->definition = class_value.node;
    object->scope = class_value.scope;
    object->attributes = gg__scope_new(w, NULL);
    object->is_module = gg__is_module_class(w, class_value.node, class_value.scope);
    gg__value out = {.kind = GG__INSTANCE, .object = object, .node = class_value.node};
    w->quiet++;
    walk_class_body(w, object);
    TSNode init = gg__method_in(w, object->definition, object->scope, GG_STR("__init__"), 0);
    if (!ts_node_is_null(init)) {
        gg__value method = {.kind = GG__FUNCTION, .node = init, .scope = object->scope, .self = gg__keep(w, out)};
        (void)gg__call_function(w, &method, call);
    }
    w->quiet--;
    return out;
}

/* ---- attributes ---------------------------------------------------------------------------------------------------------- */

static gg__value method_of(gg__walk *w, const gg__value *object, gg_str name) {
    return (gg__value){.kind = GG__METHOD, .path = name, .of = gg__keep(w, *object)};
}

static bool has_decorator(gg__walk *w, TSNode function, const char *name) {
    TSNode parent = ts_node_parent(function);
    gg__touch(w, parent);
    if (gg__node_of(parent) != GG__NODE_decorated_definition) return false;
    gg__nodes parts = gg__children(w->syntax, parent);
    for (uint32_t i = 0; i < parts.len; i++)
        if (gg__node_of(parts.items[i]) == GG__NODE_decorator &&
            gg_str_ends_with(gg__text_of(w, ts_node_named_child(parts.items[i], 0)), gg_str_from(name)))
            return true;
    return false;
}

/* Methods that every nn.Module has. */
static bool is_modules_own(gg_str name) {
    static const char *const names[] = {"add_module",
                                        "apply",
                                        "buffers",
                                        "children",
                                        "cpu",
                                        "cuda",
                                        "double",
                                        "eval",
                                        "float",
                                        "get_submodule",
                                        "half",
                                        "load_state_dict",
                                        "modules",
                                        "named_buffers",
                                        "named_children",
                                        "named_modules",
                                        "named_parameters",
                                        "parameters",
                                        "requires_grad_",
                                        "state_dict",
                                        "to",
                                        "train",
                                        "zero_grad"};
    if (gg_str_starts_with(name, GG_STR("register_"))) return true;
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (gg_str_is(name, names[i])) return true;
    return false;
}

static gg__value attribute_of_instance(gg__walk *w, const gg__value *object, gg_str name) {
    const gg__value *own = gg__scope_own(w, object->object->attributes, name);
    if (own) return *own;
    TSNode method = gg__method_in(w, object->object->definition, object->object->scope, name, 0);
    if (!ts_node_is_null(method)) {
        gg__value function = {.kind = GG__FUNCTION, .node = method, .scope = object->object->scope};
        if (!has_decorator(w, method, "staticmethod")) function.self = gg__keep(w, *object);
        if (has_decorator(w, method, "property")) {
            gg__call call = {.node = method, .callee = function};
            return gg__call_function(w, &function, &call);
        }
        return function;
    }
    if (object->object->is_module) {
        if (gg_str_is(name, "training")) return gg__number(GG__BOOL);
        if (is_modules_own(name)) return method_of(w, object, name);
    }
    return gg__of_kind(GG__UNKNOWN);
}

/* Net.method, Function.apply */
static gg__value attribute_of_class(gg__walk *w, const gg__value *object, gg_str name) {
    gg__value bases[MAX_BASES];
    uint32_t count = bases_of(w, object->node, object->scope, bases);
    bool apply = false;
    for (uint32_t i = 0; i < count && gg_str_is(name, "apply"); i++)
        apply = apply || (bases[i].kind == GG__DOTTED && gg_str_ends_with(bases[i].path, GG_STR("autograd.Function")));
    TSNode method = gg__method_in(w, object->node, object->scope, apply ? GG_STR("forward") : name, 0);
    if (ts_node_is_null(method)) return gg__of_kind(GG__UNKNOWN);
    gg__value function = {.kind = GG__FUNCTION, .node = method, .scope = object->scope};
    if (apply) function.self = gg__keep(w, gg__of_kind(GG__OTHER)); /* ctx */
    return function;
}

gg__value gg__attribute_of(gg__walk *w, const gg__value *object, gg_str name) {
    switch (object->kind) {
    case GG__CLASS:
        return attribute_of_class(w, object, name);
    case GG__DOTTED:
        return gg__dotted(gg_arena_printf(w->arena, "%.*s.%.*s", GG_STR_ARG(object->path), GG_STR_ARG(name)));
    case GG__INSTANCE:
        return attribute_of_instance(w, object, name);
    case GG__TENSOR:
        return gg__tensor_attribute(w, object, name);
    case GG__MODULE:
        if (gg_str_is(name, "weight") || gg_str_is(name, "bias")) {
            gg__value parameter = gg__tensor(GG__FLOAT);
            parameter.maybe_none = gg_str_is(name, "bias");
            return parameter;
        }
        if (gg_str_is(name, "training")) return gg__number(GG__BOOL);
        return method_of(w, object, name);
    case GG__ARRAY:
        if (gg_str_is(name, "shape")) return gg__of_kind(GG__SHAPE);
        return method_of(w, object, name);
    case GG__UNKNOWN:
    case GG__OTHER:
    case GG__NONE:
        return gg__of_kind(GG__UNKNOWN);
    default:
        return method_of(w, object, name);
    }
}
