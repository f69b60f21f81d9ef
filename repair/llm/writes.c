/* What is changed beside local names: other objects, and what outlives the call.  See integrity.h. */
#include "repair/llm/integrity.h"

static TSNode root_of(TSNode node) {
    for (;;) {
        if (gg_node_is(node, "attribute"))
            node = gg__field(node, "object");
        else if (gg_node_is(node, "subscript"))
            node = gg__field(node, "value");
        else if (gg_node_is(node, "parenthesized_expression"))
            node = gg__strip_parentheses(node);
        else
            return node;
        if (gg_node_is(node, "parenthesized_expression") && gg__child_count(node) != 1) return node;
    }
}

static bool is_in_init(const gg__look *look, TSNode node) {
    TSNode function = gg_node_ancestor(node, "function_definition");
    return gg_str_is(gg__definition_name(look->tree, function), "__init__");
}

/* A name of __init__ that a function in it uses: it lives as long as that function. */
static bool is_closed_over(const gg__look *look, TSNode node, gg_str name) {
    TSNode function = gg_node_ancestor(node, "function_definition"),
           outer = gg__around(function, "function_definition");
    if (gg__binds(look->tree, function, name)) return false;
    for (; !ts_node_is_null(outer); outer = gg__around(outer, "function_definition"))
        if (gg_str_is(gg__definition_name(look->tree, outer), "__init__")) return true;
    return false;
}

/* `self.cache[k]`, `CACHE`: the part of it that outlives the call, as a key; empty when it is a local thing, or self's in __init__. */
static gg_str kept(gg__look *look, TSNode target) {
    TSNode root = root_of(target);
    if (!gg_node_is(root, "identifier")) return GG_STR_NULL;
    gg_str name = gg__text(look->tree, root);
    if (gg__is_self(look, root)) {
        TSNode at = target;
        while (!ts_node_is_null(at) && !(gg_node_is(at, "attribute") && ts_node_eq(gg__field(at, "object"), root)))
            at = gg_node_is(at, "attribute")   ? gg__field(at, "object")
                 : gg_node_is(at, "subscript") ? gg__field(at, "value")
                                               : (TSNode){0};
        if (ts_node_is_null(at) || is_in_init(look, target)) return GG_STR_NULL;
        return gg_arena_printf(look->arena, "self.%.*s", GG_STR_ARG(gg__text(look->tree, gg__field(at, "attribute"))));
    }
    return gg__is_bound_around(look, root, name) && !is_closed_over(look, root, name) ? GG_STR_NULL : name;
}

static void scan_target(gg__look *look, TSNode target) {
    if (gg_node_is(target, "attribute")) {
        TSNode object = gg__field(target, "object");
        if (!gg__is_self(look, object))
            gg__find_node(look, GG__CHEAT_PATCHES, target);
        else if (kept(look, target).len)
            gg__find(look, GG__CHEAT_REMEMBERS, kept(look, target), 0);
    } else if (gg_node_is(target, "subscript")) {
        gg_str key = kept(look, target);
        if (key.len) gg__find(look, GG__CHEAT_REMEMBERS, key, 0);
        gg_str text = gg__text(look->tree, target);
        if (gg_str_contains(text, GG_STR("__dict__"))) gg__find_node(look, GG__CHEAT_PATCHES, target);
    } else {
        for (uint32_t i = 0; i < gg__child_count(target); i++) /* patterns */
            if (!gg_node_is(target, "identifier")) scan_target(look, gg__child(target, i));
    }
}

/* Methods that change their object. */
static bool changes_object(gg_str name) {
    static const char *const names[] = {"append",
                                        "extend",
                                        "insert",
                                        "add",
                                        "update",
                                        "setdefault",
                                        "pop",
                                        "popitem",
                                        "clear",
                                        "remove",
                                        "discard",
                                        "appendleft",
                                        "put",
                                        "sort",
                                        "reverse",
                                        "load_state_dict",
                                        "__setitem__",
                                        "add_module",
                                        "register_buffer",
                                        "register_parameter",
                                        "register_module",
                                        "popleft"};
    bool in_place = gg_str_ends_with(name, GG_STR("_")) && !gg_str_ends_with(name, GG_STR("__"));
    return in_place || gg__is_one_of(name, names, GG_COUNT(names));
}

/* Of modules' functions (`F.relu_(x)`) the arguments are changed: what a caller sees of that is measured. */
static void scan_method(gg__look *look, TSNode call) {
    TSNode function = gg__field(call, "function");
    if (!gg_node_is(function, "attribute") || !changes_object(gg__text(look->tree, gg__field(function, "attribute"))))
        return;
    TSNode object = gg__field(function, "object");
    if (gg__path_of(look, object).len) return;
    bool own = gg__is_self(look, object) && !is_in_init(look, call);
    gg_str key = own ? gg__text(look->tree, function) : kept(look, object);
    if (key.len) gg__find(look, GG__CHEAT_REMEMBERS, key, 0);
}

static bool is_constant(TSNode value) {
    for (uint32_t i = 0; gg_node_is(value, "tuple") && i < gg__child_count(value); i++)
        if (!is_constant(gg__child(value, i))) return false;
    return gg_node_is(value, "integer") || gg_node_is(value, "float") || gg_node_is(value, "string") ||
           gg_node_is(value, "true") || gg_node_is(value, "false") || gg_node_is(value, "none") ||
           gg_node_is(value, "unary_operator") || gg_node_is(value, "tuple");
}

void gg__scan_writes(gg__look *look, TSNode node) {
    if (gg_node_is(node, "assignment") || gg_node_is(node, "augmented_assignment")) {
        TSNode left = gg__field(node, "left"), block = gg__parent(gg__parent(node)), value = gg__field(node, "right");
        scan_target(look, left);
        if (gg_node_is(gg__parent(block), "class_definition") && !ts_node_is_null(value) && !is_constant(value))
            gg__find_node(look, GG__CHEAT_REMEMBERS, node);
    } else if (gg_node_is(node, "for_statement") || gg_node_is(node, "for_in_clause")) {
        scan_target(look, gg__field(node, "left"));
    } else if (gg_node_is(node, "as_pattern_target")) {
        scan_target(look, gg__child(node, 0));
    } else if (gg_node_is(node, "delete_statement")) {
        for (uint32_t i = 0; i < gg__child_count(node); i++)
            if (!gg_node_is(gg__child(node, i), "identifier") && kept(look, gg__child(node, i)).len)
                gg__find_node(look, GG__CHEAT_PATCHES, node);
    } else if (gg_node_is(node, "type_alias_statement")) { /* as which `type(self).limit = 4` is read */
        gg__find_node(look, GG__CHEAT_PATCHES, node);
    } else if (gg_node_is(node, "global_statement")) {
        gg__find_node(look, GG__CHEAT_REMEMBERS, node);
    } else if (gg_node_is(node, "call")) {
        scan_method(look, node);
    }
}
