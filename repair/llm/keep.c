/* Models write code anew, and with it comments, quotes and spaces of lines they had no reason to touch.  Here those lines get back what the author wrote.
 * Any thread.
 *
 * DESIGN  Lines are paired by their tokens; a paired line is the author's, and so are comments and blank lines that went missing between paired ones.  What
 * comes out must say the same as what the model wrote (gg__canonical), else the model's text is taken as it is. */
#include "repair/llm/exchange.h"

enum { MAX_CELLS = 4 * 1024 * 1024 };

typedef struct line {
    uint64_t key;
    bool empty, stuck; /* without a token; inside a token of several lines */
} line;

static uint64_t mix(uint64_t h, const char *ptr, size_t len) {
    for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)ptr[i]) * 1099511628211u;
    return h;
}

static void add_token(line *lines, const gg_tree *tree, TSNode node) {
    uint32_t first = ts_node_start_point(node).row, last = ts_node_end_point(node).row;
    gg_str prefix = GG_STR_NULL, body = gg__text(tree, node);
    if (body.len == 0) return;
    gg__string_body(tree, node, &prefix, &body);
    line *l = &lines[first];
    l->empty = false;
    l->key = mix(mix(mix(l->key, ts_node_type(node), 1), prefix.ptr, prefix.len), body.ptr, body.len) + 1;
    for (uint32_t i = first; i <= last && first != last; i++) lines[i].stuck = true, lines[i].empty = false;
}

static line *lines_of(const gg_tree *tree) {
    const gg_text *text = gg_tree_text(tree);
    uint32_t count = gg_text_line_count(text);
    line *lines = gg_calloc((size_t)count + 1, sizeof(line));
    for (uint32_t i = 0; i < count; i++) lines[i].empty = true;
    TSTreeCursor cursor = ts_tree_cursor_new(gg_tree_root(tree));
    for (bool more = true; more;) {
        TSNode at = ts_tree_cursor_current_node(&cursor);
        bool leaf = gg_node_is(at, "string") || ts_node_child_count(at) == 0;
        if (leaf && !gg_node_is(at, "comment")) add_token(lines, tree, at);
        if (!leaf && ts_tree_cursor_goto_first_child(&cursor)) continue;
        while (!ts_tree_cursor_goto_next_sibling(&cursor))
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                more = false;
                break;
            }
    }
    ts_tree_cursor_delete(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        gg_str all = gg_text_line(text, i);
        size_t indent = 0;
        while (indent < all.len && (all.ptr[indent] == ' ' || all.ptr[indent] == '\t')) indent++;
        if (lines[i].stuck) lines[i].key = mix(1, all.ptr, all.len);
        if (!lines[i].empty && !lines[i].stuck) lines[i].key = mix(lines[i].key, all.ptr, indent);
    }
    return lines;
}

typedef struct sides {
    const gg_text *before, *after;
    const line *old, *fresh;
    gg_buf out;
} sides;

static void append_lines(sides *s, const gg_text *text, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) gg_buf_append(&s->out, gg_line_with_end(text, i));
}

static bool all_empty(const line *lines, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        if (!lines[i].empty) return false;
    return true;
}

/* What lies between two paired lines. */
static void gap(sides *s, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
    if (all_empty(s->old, a0, a1) && all_empty(s->fresh, b0, b1))
        append_lines(s, s->before, a0, a1);
    else
        append_lines(s, s->after, b0, b1);
}

static bool pairs(const sides *s, uint32_t i, uint32_t j) {
    return !s->old[i].empty && !s->fresh[j].empty && s->old[i].stuck == s->fresh[j].stuck &&
           s->old[i].key == s->fresh[j].key;
}

/* Lines a0..a1 of before became b0..b1 of after. */
static void hunk(sides *s, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
    size_t n = a1 - a0, m = b1 - b0, width = m + 1;
    if ((n + 1) * width > MAX_CELLS) {
        gap(s, a0, a1, b0, b1);
        return;
    }
    uint32_t *length =
        gg_calloc((n + 1) * width, sizeof(uint32_t)); /* of the longest common subsequence of the rests */
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            uint32_t down = length[(i + 1) * width + j], right = length[i * width + j + 1];
            uint32_t best = down > right ? down : right;
            if (pairs(s, a0 + (uint32_t)i, b0 + (uint32_t)j)) best = length[(i + 1) * width + j + 1] + 1;
            length[i * width + j] = best;
        }
    uint32_t a = a0, b = b0; /* behind the last pair */
    for (size_t i = 0, j = 0; i < n && j < m;) {
        uint32_t x = a0 + (uint32_t)i, y = b0 + (uint32_t)j;
        if (pairs(s, x, y)) {
            gap(s, a, x, b, y);
            append_lines(s, s->before, x, x + 1);
            a = x + 1;
            b = y + 1;
            i++, j++;
        } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    gap(s, a, a1, b, b1);
    gg_free(length);
}

int gg__keep_lines(gg_text **out, const gg_tree *before, const gg_tree *after, gg_error *err) {
    line *old = lines_of(before), *fresh = lines_of(after);
    sides s = {gg_tree_text(before), gg_tree_text(after), old, fresh, {0}};
    gg_buf_init(&s.out, GG_MAX_DOCUMENT_BYTES);
    gg_line_ops ops = {0};
    gg_lines_compare(&ops, s.before, s.after);
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < ops.len;) {
        uint32_t a1 = a, b1 = b;
        for (; i < ops.len && ops.items[i].kind != ' '; i++) ops.items[i].kind == '-' ? a1++ : b1++;
        hunk(&s, a, a1, b, b1);
        for (a = a1, b = b1; i < ops.len && ops.items[i].kind == ' '; i++, a++, b++)
            append_lines(&s, s.before, a, a + 1);
    }
    gg_tree *tree = NULL;
    int error = gg_text_new(out, gg_buf_str(&s.out), err);
    if (error == 0) error = gg_tree_parse(&tree, *out, NULL, NULL, 0, NULL, err);
    if (error == 0 && !gg__same_code(tree, gg_tree_root(tree), after, gg_tree_root(after))) {
        gg_text_unref(out);
        *out = gg_text_ref(s.after);
    }
    if (error) gg_text_unref(out);
    gg_tree_unref(&tree);
    gg_list_clear(&ops);
    gg_buf_clear(&s.out);
    gg_free(old);
    gg_free(fresh);
    return error;
}
