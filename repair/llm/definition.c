/* The definition an exchange is about, before and after.  Any thread. */
#include "repair/llm/exchange.h"

bool gg_llm_definition(const gg_tree *tree, gg_span site, gg_span *out) {
    gg_span found = {0}, function = {0};
    for (TSNode at = gg_node_at(tree, site); !ts_node_is_null(at); at = gg__parent(at)) {
        bool is_class = gg_node_is(at, "class_definition");
        if (!is_class && !gg_node_is(at, "function_definition")) continue;
        TSNode holder = gg_node_is(gg__parent(at), "decorated_definition") ? gg__parent(at) : at;
        gg_span span = gg_node_span(holder);
        if (!gg__starts_line(tree, span.start) || span.end - span.start > GG__MAX_DEFINITION_BYTES) continue;
        if (is_class)
            found = span;
        else
            function = span;
    }
    *out = found.end ? found : function;
    return out->end > 0;
}

TSNode gg__inner(TSNode node) {
    return gg_node_is(node, "decorated_definition") ? gg__field(node, "definition") : node;
}

bool gg__is_definition(TSNode node) {
    return gg_node_is(node, "class_definition") || gg_node_is(node, "function_definition");
}

gg_str gg__definition_name(const gg_tree *tree, TSNode node) {
    return gg__text(tree, gg__field(gg__inner(node), "name"));
}

typedef struct search {
    const gg_tree *tree;
    gg_arena *arena;
    const char *type;
    gg_str name, enclosing;
    gg_span stop;     /* count those before it … */
    uint32_t ordinal; /* … or look for the one with this many before it */
    TSNode found;
} search;

static gg_str enclosing_of(const gg_tree *tree, TSNode definition, gg_arena *arena) {
    TSNode name = gg__field(definition, "name");
    return gg_enclosing_name(tree, ts_node_is_null(name) ? 0 : ts_node_start_byte(name), arena);
}

static bool is_alike(const search *s, TSNode node) {
    return gg_node_is(node, s->type) && gg_str_equal(gg__definition_name(s->tree, node), s->name) &&
           gg_str_equal(enclosing_of(s->tree, node, s->arena), s->enclosing);
}

static bool count_alike(TSNode node, void *data) {
    search *s = data;
    if (gg__is_definition(node) && ts_node_start_byte(node) >= s->stop.start) return false;
    s->ordinal += is_alike(s, node);
    return true;
}

static bool find_alike(TSNode node, void *data) {
    search *s = data;
    if (!is_alike(s, node) || s->ordinal-- > 0) return true;
    s->found = node;
    return false;
}

TSNode gg__definition_after(const gg_tree *after, const gg_tree *before, gg_span definition) {
    TSNode own = gg__inner(gg_node_at(before, definition));
    if (!gg__is_definition(own)) return (TSNode){0};
    gg_arena *arena = gg_arena_new();
    search s = {.tree = before, .arena = arena, .type = ts_node_type(own), .name = gg__definition_name(before, own)};
    s.enclosing = enclosing_of(before, own, arena);
    s.stop = gg_node_span(own);
    gg__visit(gg_tree_root(before), count_alike, &s);
    s.tree = after;
    gg__visit(gg_tree_root(after), find_alike, &s);
    gg_arena_free(arena);
    TSNode parent = gg__parent(s.found);
    return gg_node_is(parent, "decorated_definition") ? parent : s.found;
}
