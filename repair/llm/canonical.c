/* What code says, whatever its layout: node types and tokens in order, without comments, and strings without the kind of their quotes.  Any thread. */
#include "repair/llm/exchange.h"

bool gg__string_body(const gg_tree *tree, TSNode node, gg_str *prefix, gg_str *body) {
    gg_str all = gg__text(tree, node);
    size_t from = gg_str_find(all, GG_STR("\""), 0), single = gg_str_find(all, GG_STR("'"), 0);
    if (single < from) from = single;
    if (!gg_node_is(node, "string") || from == SIZE_MAX) return false;
    char quote = all.ptr[from];
    size_t n = all.len >= from + 6 && all.ptr[from + 1] == quote && all.ptr[from + 2] == quote ? 3 : 1;
    if (all.len < from + 2 * n) return false;
    *prefix = gg_str_slice(all, 0, from);
    *body = gg_str_slice(all, from + n, all.len - n);
    for (size_t i = 0; i < body->len; i++) /* what must be escaped depends on the quotes */
        if (strchr("\"'\\", body->ptr[i]) || !body->ptr[i]) return false;
    return true;
}

static void append_string(gg_buf *out, const gg_tree *tree, TSNode node) {
    gg_str prefix = GG_STR_NULL, body = gg__text(tree, node);
    gg__string_body(tree, node, &prefix, &body);
    gg_buf_printf(out, "%.*s\"", GG_STR_ARG(prefix));
    bool indents = gg_node_is(gg__parent(node), "expression_statement"); /* a docstring goes with the code around it */
    for (size_t i = 0, start = 0; i < body.len; i++) {
        bool space = body.ptr[i] == ' ' || body.ptr[i] == '\t' || body.ptr[i] == '\r';
        if (body.ptr[i] == '\n')
            start = i + 1;
        else if (indents && space && start == i) {
            start++;
            continue;
        }
        if (body.ptr[i] != '\r') gg_buf_append_char(out, body.ptr[i]);
    }
    gg_buf_append_char(out, '"');
}

gg_str gg__canonical(const gg_tree *tree, TSNode node, gg_arena *arena) {
    if (ts_node_is_null(node)) return GG_STR_NULL;
    gg_buf out;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    for (bool more = true; more;) {
        TSNode at = ts_tree_cursor_current_node(&cursor);
        bool skip = gg_node_is(at, "comment") || gg_node_is(at, "line_continuation"), leaf = false;
        if (!skip) {
            leaf = gg_node_is(at, "string") || ts_node_child_count(at) == 0;
            gg_buf_printf(&out, "%s(", ts_node_type(at));
            if (gg_node_is(at, "string"))
                append_string(&out, tree, at);
            else if (leaf)
                gg_buf_append(&out, gg__text(tree, at));
            if (leaf) gg_buf_append_char(&out, ')');
        }
        if (!skip && !leaf && ts_tree_cursor_goto_first_child(&cursor)) continue;
        while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                more = false;
                break;
            }
            gg_buf_append_char(&out, ')');
        }
    }
    ts_tree_cursor_delete(&cursor);
    gg_str text = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return text;
}

bool gg__same_code(const gg_tree *a, TSNode x, const gg_tree *b, TSNode y) {
    gg_arena *arena = gg_arena_new();
    bool same = gg_str_equal(gg__canonical(a, x, arena), gg__canonical(b, y, arena));
    gg_arena_free(arena);
    return same;
}
