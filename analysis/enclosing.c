/* Which class and function an offset lies in, named as __qualname__ names them.
 * A default value, an annotation, a base class and a decorator are evaluated outside the definition they belong to, and are
 * named so.  Comprehensions are no scopes here: Python 3.12 inlines them, and nobody calls them by name.
 * Threads: any. */
#include <string.h>

#include "analysis/private.h"

typedef GG_LIST(TSNode) nodes;

static bool is_definition(TSNode node) {
    return gg_node_is(node, "function_definition") || gg_node_is(node, "class_definition");
}

static bool is_scope(TSNode node) {
    return is_definition(node) || gg_node_is(node, "lambda");
}

static bool is_field_of(TSNode parent, const char *field, TSNode child) {
    TSNode value = ts_node_child_by_field_name(parent, field, (uint32_t)strlen(field));
    return !ts_node_is_null(value) && ts_node_eq(value, child);
}

/* The scopes around a node, innermost first. */
static nodes scopes_around(TSNode node) {
    nodes scopes = {0};
    bool outside = false; /* coming from a part of the next definition that is evaluated before it exists */
    TSNode child = node;
    if (is_scope(node)) gg_list_push(&scopes, node);
    for (node = ts_node_parent(node); !ts_node_is_null(node); child = node, node = ts_node_parent(node)) {
        if (gg_node_is(node, "default_parameter") || gg_node_is(node, "typed_default_parameter"))
            outside = outside || is_field_of(node, "value", child) || is_field_of(node, "type", child);
        else if (gg_node_is(node, "typed_parameter"))
            outside = outside || is_field_of(node, "type", child);
        if (!is_scope(node)) continue;
        if (is_field_of(node, "superclasses", child) || is_field_of(node, "return_type", child)) outside = true;
        if (!outside) gg_list_push(&scopes, node);
        outside = false;
    }
    return scopes;
}

gg_str gg__enclosing_name_of(const gg_tree *tree, TSNode node, gg_arena *arena) {
    nodes scopes = scopes_around(node);
    gg_str name = GG_STR_NULL;
    for (size_t i = scopes.len; i-- > 0;) {
        TSNode scope = scopes.items[i];
        gg_str own = GG_STR("<lambda>");
        if (is_definition(scope)) own = gg_node_text(tree, ts_node_child_by_field_name(scope, "name", 4));
        bool in_function = i + 1 < scopes.len && !gg_node_is(scopes.items[i + 1], "class_definition");
        if (name.len == 0) {
            name = gg_arena_str(arena, own);
        } else {
            name = gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(name), in_function ? ".<locals>." : ".",
                                   GG_STR_ARG(own));
        }
    }
    gg_list_clear(&scopes);
    return name.len > 0 ? name : GG_STR("<module>");
}

gg_str gg_enclosing_name(const gg_tree *tree, uint32_t offset, gg_arena *arena) {
    return gg__enclosing_name_of(tree, gg_node_at(tree, (gg_span){offset, offset}), arena);
}

bool gg_enclosing_definition(const gg_tree *tree, uint32_t offset, gg_span *out) {
    TSNode class_node = {0}, function_node = {0};
    bool in_class = false, in_function = false;
    for (TSNode node = gg_node_at(tree, (gg_span){offset, offset}); !ts_node_is_null(node) && !in_class;
         node = ts_node_parent(node)) {
        TSNode definition = node;
        if (gg_node_is(node, "decorated_definition")) definition = ts_node_child_by_field_name(node, "definition", 10);
        if (gg_node_is(definition, "class_definition")) {
            class_node = node;
            in_class = true;
        } else if (gg_node_is(definition, "function_definition") && !in_function) {
            function_node = node;
            in_function = true;
        }
    }
    if (!in_class && !in_function) return false;
    TSNode found = in_class ? class_node : function_node;
    TSNode parent = ts_node_parent(found);
    if (gg_node_is(parent, "decorated_definition")) found = parent;
    *out = gg_node_span(found);
    return true;
}

TSNode gg__enclosing_function(TSNode node) {
    for (; !ts_node_is_null(node); node = ts_node_parent(node)) {
        if (gg_node_is(node, "function_definition") || gg_node_is(node, "lambda")) return node;
        if (gg_node_is(node, "class_definition")) return (TSNode){0};
    }
    return (TSNode){0};
}
