/* `# graphglue: ignore[GB0170]`: what a file's author does not want to hear of.
 *
 * A comment behind code is about its line, and about the whole of a statement (of a compound one its head) that begins or ends there: brackets
 * and long texts leave no room elsewhere.  Alone on a line it is about the statement below.  Comments are found by their words first and asked
 * of the tree after, so that a file without any costs one search.
 * Threads: any. */
#include <string.h>

#include "analysis/private.h"

#define OURS GG_STR("graphglue")

bool gg_is_rule(gg_str name) {
    static const char *const rules[] = {
#define RULE(ordinal, name, ...) name,
#include "analysis/predict/rules.def"
#undef RULE
    };
    for (size_t i = 0; i < GG_COUNT(rules); i++)
        if (gg_str_is(name, rules[i])) return true;
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* ---- statements ------------------------------------------------------------------------------------------------------------ */

static bool is_any(TSNode node, const char *const *types) {
    for (; *types; types++)
        if (gg_node_is(node, *types)) return true;
    return false;
}

/* A statement, or a part of a compound one that has a head of its own. */
static bool stands_alone(TSNode node) {
    static const char *const heads[] = {
        "function_definition", "class_definition", "decorator",           "elif_clause",    "else_clause",
        "except_clause",       "case_clause",      "except_group_clause", "finally_clause", NULL};
    static const char *const bodies[] = {"module", "block", NULL};
    TSNode parent = ts_node_parent(node);
    return is_any(node, heads) || ts_node_is_null(parent) || is_any(parent, bodies);
}

/* Of a compound statement what comes before its body. */
static gg_span head_of(TSNode node) {
    gg_span span = gg_node_span(node);
    uint32_t end = span.end;
    for (uint32_t i = 0, n = ts_node_child_count(node); i < n; i++) {
        TSNode child = ts_node_child(node, i);
        if (gg_node_is(child, "block")) return (gg_span){span.start, end};
        if (!gg_node_is(child, "comment")) end = ts_node_end_byte(child);
    }
    return span;
}

static gg_span statement_at(const gg_tree *tree, uint32_t offset) {
    TSNode node = gg_node_at(tree, (gg_span){offset, offset + 1});
    while (!ts_node_is_null(node) && !stands_alone(node)) node = ts_node_parent(node);
    bool none = ts_node_is_null(node) || ts_node_is_null(ts_node_parent(node)); /* the module itself */
    return none ? (gg_span){offset, offset + 1} : head_of(node);
}

static uint32_t line_of(const gg_text *text, uint32_t offset) {
    return gg_text_position(text, offset, GG_UTF8).line;
}

/* What a comment about a line's code is about; `code` is not empty and lies in one line. */
static gg_span about(const gg_tree *tree, gg_span code) {
    const gg_text *text = gg_tree_text(tree);
    uint32_t line = line_of(text, code.start);
    gg_span first = statement_at(tree, code.start), last = statement_at(tree, code.end - 1), out = code;
    if (line_of(text, first.start) == line || line_of(text, first.end) == line) {
        if (first.start < out.start) out.start = first.start;
        if (first.end > out.end) out.end = first.end;
    }
    if (line_of(text, last.start) == line && last.end > out.end) out.end = last.end;
    return out;
}

/* ---- comments -------------------------------------------------------------------------------------------------------------- */

static gg_span trimmed(const gg_text *text, gg_span span) {
    const char *bytes = gg_text_bytes(text).ptr;
    while (span.start < span.end && is_blank(bytes[span.start])) span.start++;
    while (span.end > span.start && is_blank(bytes[span.end - 1])) span.end--;
    return span;
}

static gg_span line_span(const gg_text *text, uint32_t line) {
    uint32_t start = gg_text_line_start(text, line);
    return (gg_span){start, start + (uint32_t)gg_text_line(text, line).len};
}

/* The code that a comment, which begins at `start`, stands behind; alone on its line, that of the next line that has any.  Empty: none. */
static gg_span code_of(const gg_text *text, uint32_t start) {
    uint32_t line = line_of(text, start), count = gg_text_line_count(text);
    gg_span code = trimmed(text, (gg_span){gg_text_line_start(text, line), start});
    const char *bytes = gg_text_bytes(text).ptr;
    while (code.start == code.end && ++line < count) {
        code = trimmed(text, line_span(text, line));
        if (code.start < code.end && bytes[code.start] == '#') code.end = code.start;
    }
    return code;
}

static void read_names(gg_ignore *out, gg_str list, gg_arena *arena) {
    out->names = GG_ARENA_ARRAY(arena, gg_str, list.len / 2 + 1);
    for (size_t i = 0; i < list.len;) {
        size_t end = i;
        while (end < list.len && is_word(list.ptr[end])) end++;
        if (end > i) out->names[out->count++] = gg_id_normal(gg_arena_str(arena, gg_str_slice(list, i, end)), arena);
        i = end + 1;
    }
}

/* Reads the words of a comment from `graphglue` on; false when they are none of ours. */
static bool read_words(gg_ignore *out, bool *whole_file, gg_str words, uint32_t offset, gg_arena *arena) {
    static const gg_str ignore = {"ignore", 6}, file = {"-file", 5};
    size_t at = OURS.len;
    while (at < words.len && is_blank(words.ptr[at])) at++;
    if (at == words.len || words.ptr[at++] != ':') return false;
    while (at < words.len && is_blank(words.ptr[at])) at++;
    if (!gg_str_starts_with(gg_str_slice(words, at, words.len), ignore)) return false;
    at += ignore.len;
    *whole_file = gg_str_starts_with(gg_str_slice(words, at, words.len), file);
    if (*whole_file) at += file.len;
    if (at < words.len && is_word(words.ptr[at])) return false;
    size_t open = at;
    while (open < words.len && is_blank(words.ptr[open])) open++;
    out->all = open == words.len || words.ptr[open] != '[';
    if (out->all) return true;
    size_t close = gg_str_find(words, GG_STR("]"), open);
    if (close == SIZE_MAX) return false;
    read_names(out, gg_str_slice(words, open + 1, close), arena);
    out->list_end = offset + (uint32_t)close;
    return true;
}

/* The comment that holds the offset, from its first byte on; empty when it lies in none. */
static gg_span comment_at(const gg_tree *tree, uint32_t offset) {
    TSNode node = gg_node_at(tree, (gg_span){offset, offset + 1});
    return gg_node_is(node, "comment") ? gg_node_span(node) : (gg_span){offset, offset};
}

gg_ignore_list gg_ignores_of(const gg_tree *tree, gg_arena *arena) {
    const gg_text *text = gg_tree_text(tree);
    gg_str bytes = gg_text_bytes(text);
    GG_LIST(gg_ignore) found = {0};
    for (size_t at = 0; (at = gg_str_find(bytes, OURS, at)) != SIZE_MAX; at += OURS.len) {
        size_t mark = at;
        while (mark > 0 && is_blank(bytes.ptr[mark - 1])) mark--;
        if (mark == 0 || bytes.ptr[mark - 1] != '#') continue;
        gg_span comment = comment_at(tree, (uint32_t)at);
        gg_ignore one = {0};
        bool whole_file = false;
        if (comment.start == comment.end ||
            !read_words(&one, &whole_file, gg_str_slice(bytes, at, comment.end), (uint32_t)at, arena))
            continue;
        gg_span code = code_of(text, comment.start);
        if (whole_file)
            one.span = (gg_span){0, UINT32_MAX};
        else if (code.start < code.end)
            one.span = about(tree, code);
        else
            continue;
        gg_list_push(&found, one);
    }
    gg_ignore_list out = {NULL, found.len};
    out.items = GG_ARENA_ARRAY(arena, gg_ignore, found.len);
    if (found.len) memcpy(out.items, found.items, found.len * sizeof(gg_ignore));
    gg_list_clear(&found);
    return out;
}

static bool names(const gg_ignore *ignore, gg_str id, gg_str rule) {
    for (size_t i = 0; i < ignore->count; i++)
        if (gg_str_equal(ignore->names[i], id) || (rule.len && gg_str_equal(ignore->names[i], rule))) return true;
    return ignore->all;
}

static bool touches(const gg_ignore *ignore, gg_span span) {
    return span.start < ignore->span.end && span.end > ignore->span.start;
}

bool gg_is_ignored(const gg_ignore_list *list, gg_span span, gg_str id, gg_str rule) {
    for (size_t i = 0; i < list->len; i++)
        if (touches(&list->items[i], span) && names(&list->items[i], id, rule)) return true;
    return false;
}

/* ---- a new one --------------------------------------------------------------------------------------------------------------- */

/* Can a comment stand at the end of the line? */
static bool takes_comment(const gg_tree *tree, uint32_t line) {
    const gg_text *text = gg_tree_text(tree);
    gg_span code = trimmed(text, line_span(text, line));
    if (code.start == code.end) return false;
    TSNode node = gg_node_at(tree, (gg_span){code.end - 1, code.end});
    if (gg_node_is(node, "comment")) return true;
    if (gg_text_bytes(text).ptr[code.end - 1] == '\\') return false;
    for (; !ts_node_is_null(node) && !stands_alone(node); node = ts_node_parent(node))
        if (gg_node_is(node, "string") && ts_node_end_byte(node) > code.end) return false;
    return true;
}

gg_str gg_ignore_comment(const gg_tree *tree, gg_span span, gg_str id, gg_arena *arena, uint32_t *at) {
    const gg_text *text = gg_tree_text(tree);
    gg_ignore_list list = gg_ignores_of(tree, arena);
    for (size_t i = 0; i < list.len; i++) {
        const gg_ignore *one = &list.items[i];
        if (one->list_end == 0 || one->span.end == UINT32_MAX || !touches(one, span)) continue;
        *at = one->list_end;
        return gg_arena_printf(arena, "%s%.*s", one->count ? ", " : "", GG_STR_ARG(id));
    }
    uint32_t line = line_of(text, span.start);
    if (!takes_comment(tree, line)) line = line_of(text, statement_at(tree, span.start).end);
    if (!takes_comment(tree, line)) return GG_STR_NULL;
    *at = trimmed(text, line_span(text, line)).end;
    return gg_arena_printf(arena, "  # graphglue: ignore[%.*s]", GG_STR_ARG(id));
}
