/* Layers, parameters and buffers: what a class makes stays what it is, under the names it has, and stays in use.  See integrity.h. */
#include "repair/llm/integrity.h"

typedef struct attribute {
    gg_str name, value; /* canonical */
    bool layer;
} attribute;

typedef struct census {
    gg__look *look;
    GG_LIST(gg_str) made;          /* canonical: calls that make layers, or register something */
    GG_LIST(attribute) attributes; /* self.name = value, in __init__ */
    bool begun;                    /* in __init__ */
} census;

/* Does it make a module or a parameter, or a part of the state dict? */
static bool makes(const gg__look *look, TSNode call) {
    static const char *const registers[] = {"register_buffer", "register_parameter", "register_module", "add_module",
                                            "parametrize",     "weight_norm",        "spectral_norm"};
    if (!gg_node_is(call, "call")) return false;
    TSNode function = gg__field(call, "function");
    gg_str path = gg__path_of(look, function), last = gg__text(look->tree, function);
    if (gg_node_is(function, "attribute")) last = gg__text(look->tree, gg__field(function, "attribute"));
    if (gg__is_one_of(last, registers, GG_COUNT(registers))) return true;
    if (gg_str_starts_with(path, GG_STR("torch.nn.functional")) || gg_str_starts_with(path, GG_STR("torch.nn.init")))
        return false;
    bool capital = last.len && last.ptr[0] >= 'A' && last.ptr[0] <= 'Z';
    return capital && gg_str_starts_with(path, GG_STR("torch.nn."));
}

static bool is_capital_call(const gg__look *look, TSNode value) {
    TSNode function = gg__field(value, "function");
    if (gg_node_is(function, "attribute")) function = gg__field(function, "attribute");
    gg_str name = gg__text(look->tree, function);
    return gg_node_is(value, "call") && name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z';
}

static bool visit(TSNode node, void *data) {
    census *c = data;
    const gg__look *look = c->look;
    if (makes(look, node)) gg_list_push(&c->made, gg__canonical(look->tree, node, look->arena));
    if (!gg_node_is(node, "assignment")) return true;
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    TSNode function = gg_node_ancestor(node, "function_definition");
    if (!gg_node_is(left, "attribute") || !gg__is_self(look, gg__field(left, "object")) ||
        !gg_str_is(gg__definition_name(look->tree, function), "__init__"))
        return true;
    TSNode owner = gg_node_ancestor(function, "class_definition");
    attribute a = {gg_arena_printf(look->arena, "%.*s.%.*s", GG_STR_ARG(gg__definition_name(look->tree, owner)),
                                   GG_STR_ARG(gg__text(look->tree, gg__field(left, "attribute")))),
                   gg__canonical(look->tree, right, look->arena), makes(look, right) || is_capital_call(look, right)};
    gg_list_push(&c->attributes, a);
    return true;
}

static size_t count_of(const census *c, gg_str text) {
    size_t n = 0;
    for (size_t i = 0; i < c->made.len; i++) n += gg_str_equal(c->made.items[i], text);
    return n;
}

static size_t bindings_of(const census *c, gg_str name, gg_str value, bool any) {
    size_t n = 0;
    for (size_t i = 0; i < c->attributes.len; i++)
        n += gg_str_equal(c->attributes.items[i].name, name) &&
             (any || gg_str_equal(c->attributes.items[i].value, value));
    return n;
}

typedef struct reads {
    const gg__look *look;
    gg_str name;
    size_t count;
} reads;

/* `self.name` where it is not assigned to; any object's, as a name may be had through another one. */
static bool count_read(TSNode node, void *data) {
    reads *r = data;
    if (!gg_node_is(node, "attribute") || !gg_str_equal(gg__text(r->look->tree, gg__field(node, "attribute")), r->name))
        return true;
    TSNode parent = gg__parent(node);
    bool assigned = gg_node_is(parent, "assignment") && ts_node_eq(gg__field(parent, "left"), node);
    r->count += !assigned;
    return true;
}

static size_t reads_of(const gg__look *look, gg_str name) {
    reads r = {look, name, 0};
    gg__visit(look->definition, count_read, &r);
    return r.count;
}

typedef struct method_search {
    const gg__look *look;
    gg_str name;
} method_search;

static bool is_other(TSNode node, void *data) {
    const method_search *s = data;
    return !gg_node_is(node, "function_definition") || !gg_str_equal(gg__definition_name(s->look->tree, node), s->name);
}

bool gg__is_modules_own(gg_str name) {
    static const char *const own[] = {"forward",
                                      "training",
                                      "train",
                                      "eval",
                                      "parameters",
                                      "named_parameters",
                                      "buffers",
                                      "named_buffers",
                                      "state_dict",
                                      "load_state_dict",
                                      "modules",
                                      "named_modules",
                                      "children",
                                      "named_children",
                                      "apply",
                                      "to",
                                      "requires_grad_",
                                      "zero_grad",
                                      "get_extra_state",
                                      "set_extra_state",
                                      "_apply",
                                      "_modules",
                                      "_parameters",
                                      "_buffers",
                                      "_named_members",
                                      "_slow_forward",
                                      "_save_to_state_dict",
                                      "_load_from_state_dict",
                                      "_call_impl",
                                      "_wrapped_call_impl",
                                      "_compiled_call_impl"};
    return gg__is_one_of(name, own, GG_COUNT(own)) || gg_str_contains(name, GG_STR("_hooks"));
}

/* An attribute of this name would stand in for what the class, or torch.nn.Module, does. */
static bool hides(const gg__look *look, gg_str name) {
    method_search search = {look, name};
    return gg__is_modules_own(name) || !gg__visit(look->definition, is_other, &search);
}

static gg_str last_of(gg_str name) {
    return gg_str_slice(name, gg_str_find(name, GG_STR("."), 0) + 1, name.len);
}

static gg__cheat compare(const census *a, const census *b, gg_str *shown) {
    for (size_t i = 0; i < a->attributes.len; i++) {
        const attribute *x = &a->attributes.items[i];
        *shown = x->name;
        if (bindings_of(b, x->name, GG_STR_NULL, true) == 0) return GG__CHEAT_LAYERS;
        if (x->layer && bindings_of(b, x->name, x->value, false) < bindings_of(a, x->name, x->value, false))
            return GG__CHEAT_LAYERS;
        gg_str last = last_of(x->name);
        if (x->layer && reads_of(a->look, last) && reads_of(b->look, last) == 0) return GG__CHEAT_UNUSED;
    }
    for (size_t i = 0; i < b->attributes.len; i++) {
        const attribute *y = &b->attributes.items[i];
        *shown = y->name;
        if (bindings_of(a, y->name, GG_STR_NULL, true) == 0 && hides(b->look, last_of(y->name)))
            return GG__CHEAT_PATCHES;
        if (y->layer && bindings_of(a, y->name, y->value, false) < bindings_of(b, y->name, y->value, false))
            return GG__CHEAT_LAYERS;
    }
    *shown = GG_STR("what makes layers, parameters and buffers");
    for (size_t i = 0; i < a->made.len; i++)
        if (count_of(a, a->made.items[i]) != count_of(b, a->made.items[i])) return GG__CHEAT_LAYERS;
    return a->made.len == b->made.len ? GG__CHEAT_OK : GG__CHEAT_LAYERS;
}

gg__cheat gg__compare_layers(gg__look *before, gg__look *after, gg_str *shown) {
    census a = {.look = before}, b = {.look = after};
    gg__visit(before->definition, visit, &a);
    gg__visit(after->definition, visit, &b);
    gg__cheat cheat = compare(&a, &b, shown);
    gg_list_clear(&a.made);
    gg_list_clear(&a.attributes);
    gg_list_clear(&b.made);
    gg_list_clear(&b.attributes);
    return cheat;
}
