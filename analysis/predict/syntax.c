/* See syntax.h. */
#include "analysis/predict/syntax.h"

#include <pthread.h>
#include <string.h>

const TSLanguage *tree_sitter_python(void);

enum { MAX_SYMBOLS = 1024 };

static uint8_t node_of_symbol[MAX_SYMBOLS];
static TSFieldId field_ids[GG__FIELD_COUNT];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void) {
    static const char *const names[] = {
        "",
#define NODE(name) #name,
#include "analysis/predict/nodes.def"
#undef NODE
    };
    static const char *const fields[] = {
#define FIELD(name) #name,
#include "analysis/predict/fields.def"
#undef FIELD
    };
    const TSLanguage *language = tree_sitter_python();
    uint32_t count = ts_language_symbol_count(language);
    for (uint32_t s = 0; s < count && s < MAX_SYMBOLS; s++) {
        if (ts_language_symbol_type(language, (TSSymbol)s) != TSSymbolTypeRegular) continue;
        const char *name = ts_language_symbol_name(language, (TSSymbol)s);
        for (size_t i = 1; i < GG_COUNT(names); i++)
            if (strcmp(name, names[i]) == 0) node_of_symbol[s] = (uint8_t)i;
    }
    for (size_t i = 0; i < GG_COUNT(fields); i++)
        field_ids[i] = ts_language_field_id_for_name(language, fields[i], (uint32_t)strlen(fields[i]));
}

gg__node gg__node_of(TSNode node) {
    pthread_once(&made, make);
    if (ts_node_is_null(node)) return GG__NODE_OTHER;
    TSSymbol symbol = ts_node_symbol(node);
    return symbol < MAX_SYMBOLS ? (gg__node)node_of_symbol[symbol] : GG__NODE_OTHER;
}

TSNode gg__field_of(TSNode node, gg__field_name field) {
    pthread_once(&made, make);
    return ts_node_is_null(node) ? node : ts_node_child_by_field_id(node, field_ids[field]);
}

TSNode gg__undecorated(TSNode node) {
    return gg__node_of(node) == GG__NODE_decorated_definition ? GG__FIELD(node, definition) : node;
}

gg__nodes gg__children(TSNode parent, gg_arena *arena) {
    enum { FEW = 8 }; /* to ask for the n-th child is to walk past the others */
    uint32_t count = ts_node_is_null(parent) ? 0 : ts_node_named_child_count(parent);
    gg__nodes out = {.items = count ? GG_ARENA_ARRAY(arena, TSNode, count) : NULL};
    if (count <= FEW) {
        for (uint32_t i = 0; i < count; i++) {
            TSNode child = ts_node_named_child(parent, i);
            if (gg__node_of(child) != GG__NODE_comment) out.items[out.len++] = child;
        }
        return out;
    }
    TSTreeCursor cursor = ts_tree_cursor_new(parent);
    bool more = ts_tree_cursor_goto_first_child(&cursor);
    for (; more && out.len < count; more = ts_tree_cursor_goto_next_sibling(&cursor)) {
        TSNode child = ts_tree_cursor_current_node(&cursor);
        if (ts_node_is_named(child) && gg__node_of(child) != GG__NODE_comment) out.items[out.len++] = child;
    }
    ts_tree_cursor_delete(&cursor);
    return out;
}
