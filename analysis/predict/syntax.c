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
    return gg__node_of(node) == GG__NODE_decorated_definition ? gg__field_of(node, GG__FIELD_definition) : node;
}

/* ---- what was looked up -------------------------------------------------------------------------------------------------------- */

typedef struct gg__field {
    gg__field_name name;
    TSNode node;
} gg__field;

void gg__syntax_clear(gg__syntax *syntax) {
    gg_map_clear(&syntax->by_node);
    gg_list_clear(&syntax->shapes);
    if (syntax->arena) ts_tree_cursor_delete(&syntax->cursor);
    gg_arena_free(syntax->arena);
}

static gg__field_name field_at(const TSTreeCursor *cursor) {
    TSFieldId id = ts_tree_cursor_current_field_id(cursor);
    for (int i = 0; id && i < GG__FIELD_COUNT; i++)
        if (field_ids[i] == id) return (gg__field_name)i;
    return GG__FIELD_COUNT;
}

static const TSNode *find(const gg__shape *shape, gg__field_name name) {
    for (uint32_t i = 0; i < shape->field_count; i++)
        if (shape->fields[i].name == name) return &shape->fields[i].node;
    return NULL;
}

static gg__shape read_shape(gg__syntax *syntax, TSNode parent) {
    TSTreeCursor *cursor = &syntax->cursor;
    if (syntax->arena) {
        ts_tree_cursor_reset(cursor, parent);
    } else {
        syntax->arena = gg_arena_new();
        *cursor = ts_tree_cursor_new(parent);
    }
    uint32_t count = ts_node_child_count(parent);
    gg__shape out = {.children.items = GG_ARENA_ARRAY(syntax->arena, TSNode, count + 1),
                     .fields = GG_ARENA_ARRAY(syntax->arena, gg__field, count + 1)};
    for (bool more = ts_tree_cursor_goto_first_child(cursor); more; more = ts_tree_cursor_goto_next_sibling(cursor)) {
        TSNode child = ts_tree_cursor_current_node(cursor);
        if (ts_node_is_named(child) && gg__node_of(child) != GG__NODE_comment)
            out.children.items[out.children.len++] = child;
        gg__field_name name = field_at(cursor);
        if (name != GG__FIELD_COUNT && find(&out, name) == NULL)
            out.fields[out.field_count++] = (gg__field){name, child};
    }
    return out;
}

/* Borrowed until the next one is asked for. */
static const gg__shape *shape_of(gg__syntax *syntax, TSNode node) {
    pthread_once(&made, make);
    uint32_t *at = gg_map_at(&syntax->by_node, (uint64_t)(uintptr_t)node.id / sizeof(void *)); /* 1 + which */
    if (*at == 0) {
        gg__shape shape = read_shape(syntax, node);
        gg_list_push(&syntax->shapes, shape);
        *at = (uint32_t)syntax->shapes.len;
    }
    return &syntax->shapes.items[*at - 1];
}

TSNode gg__field_in(gg__syntax *syntax, TSNode node, gg__field_name name) {
    if (ts_node_is_null(node)) return node;
    const TSNode *found = find(shape_of(syntax, node), name);
    return found ? *found : (TSNode){0};
}

gg__nodes gg__children(gg__syntax *syntax, TSNode parent) {
    return ts_node_is_null(parent) ? (gg__nodes){0} : shape_of(syntax, parent)->children;
}
