/* An answered definition, put in the place of the file's own.  Any thread.
 *
 * DESIGN  The answer is parsed as it stands (under an `if`, where all of it is indented).  The definition of the same name is taken; imports go where the
 * file has its own; what only repeats the file is left out, and anything else is refused.  Lines that say what they said before are the author's again
 * (keep.c), so that an edit by lines shows the change and nothing else. */
#include "repair/llm/exchange.h"

enum { MAX_DEPTH = 250, SPARE_BYTES = 32 * 1024 }; /* beside four times the definition */

typedef struct answer {
    gg_str code; /* with one line in front, when `indented` */
    gg_tree *tree;
    TSNode holder; /* of the statements */
    bool indented;
} answer;

typedef struct error_search {
    TSNode found;
} error_search;

static bool is_fine(TSNode node, void *data) {
    error_search *search = data;
    if (!ts_node_is_error(node) && !ts_node_is_missing(node)) return true;
    search->found = node;
    return false;
}

/* Deeper than Python itself reads, and every look at a node's parents costs its depth. */
static bool is_too_deep(TSNode root) {
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    uint32_t depth = 0, deepest = 0;
    for (bool more = true; more && deepest <= MAX_DEPTH;) {
        if (ts_tree_cursor_goto_first_child(&cursor)) {
            if (++depth > deepest) deepest = depth;
            continue;
        }
        while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
            if (!ts_tree_cursor_goto_parent(&cursor)) {
                more = false;
                break;
            }
            depth--;
        }
    }
    ts_tree_cursor_delete(&cursor);
    return deepest > MAX_DEPTH;
}

static int parse(answer *out, gg_str code, gg_arena *arena, gg_error *err) {
    size_t start = 0, line = 0;
    for (; start < code.len && strchr(" \t\n", code.ptr[start]); start++)
        if (code.ptr[start] == '\n') line = start + 1;
    out->indented = start > line;
    out->code = out->indented ? gg_arena_printf(arena, "if 1:\n%.*s\n", GG_STR_ARG(code))
                              : gg_arena_printf(arena, "%.*s\n", GG_STR_ARG(code));
    gg_text *text = NULL;
    int error = gg_text_new(&text, out->code, err);
    if (error == 0) error = gg_tree_parse(&out->tree, text, NULL, NULL, 0, NULL, err);
    if (error == 0 && is_too_deep(gg_tree_root(out->tree)))
        error = gg_fail(err, GG_EPARAMS, "the code in the answer nests too deeply");
    if (error == 0 && gg_tree_has_error(out->tree)) {
        error_search search = {0};
        gg__visit(gg_tree_root(out->tree), is_fine, &search);
        uint32_t row = ts_node_is_null(search.found) ? 0 : ts_node_start_point(search.found).row;
        gg_str near = gg_str_slice(gg_str_trim(gg_text_line(text, row)), 0, 200);
        near.len = gg_utf8_valid_prefix(near); /* half a code point could not be sent */
        error = gg_fail(err, GG_EPARAMS, "the code in the answer does not parse, near: %.*s", GG_STR_ARG(near));
    }
    if (error == 0) {
        out->holder = gg_tree_root(out->tree);
        if (out->indented) out->holder = gg__field(gg__child(out->holder, 0), "consequence");
    }
    gg_text_unref(&text);
    return error;
}

/* ---- from the answer's margin to the file's ---------------------------------------------------------------------------------- */

typedef struct string_rows {
    bool *inside; /* does the line begin inside a string? */
} string_rows;

static bool note_string(TSNode node, void *data) {
    string_rows *rows = data;
    if (gg_node_is(node, "string"))
        for (uint32_t i = ts_node_start_point(node).row + 1; i <= ts_node_end_point(node).row; i++)
            rows->inside[i] = true;
    return true;
}

/* The node's lines as they would stand with `indent` in front, its first line without; strings stay as they are. */
static gg_str rebased(const answer *a, TSNode node, gg_str indent, gg_str newline, gg_arena *arena) {
    const gg_text *text = gg_tree_text(a->tree);
    gg_span span = gg_node_span(node);
    gg_str own = gg__indent(a->tree, span.start);
    string_rows rows = {gg_calloc((size_t)gg_text_line_count(text) + 2, sizeof(bool))};
    gg__visit(node, note_string, &rows);
    gg_buf out;
    gg_buf_init(&out, GG_MAX_DOCUMENT_BYTES);
    for (uint32_t at = span.start, row = ts_node_start_point(node).row; at < span.end; row++) {
        uint32_t next = gg_text_line_start(text, row + 1), end = next < span.end ? next : span.end;
        gg_str line = gg_text_slice(text, (gg_span){at, end});
        bool first = at == span.start, ended = gg_str_ends_with(line, GG_STR("\n"));
        if (ended) line.len--;
        if (!first && !rows.inside[row] && gg_str_trim(line).len) {
            gg_buf_append(&out, indent);
            if (gg_str_starts_with(line, own)) line = gg_str_slice(line, own.len, line.len);
        }
        gg_buf_append(&out, line);
        if (ended) gg_buf_append(&out, newline);
        at = end;
        if (next >= span.end) break;
    }
    gg_free(rows.inside);
    gg_str result = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return result;
}

/* ---- what the answer's statements are -------------------------------------------------------------------------------------------- */

static bool is_import(TSNode node) {
    return gg_node_is(node, "import_statement") || gg_node_is(node, "import_from_statement") ||
           gg_node_is(node, "future_import_statement");
}

typedef GG_LIST(gg_str) texts; /* canonical: what the module's statements say */

static void statements_of(texts *out, const gg_tree *tree, gg_arena *arena) {
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++)
        gg_list_push(out, gg__canonical(tree, gg__child(root, i), arena));
}

static bool is_in_file(const texts *file, const answer *a, TSNode node, gg_arena *arena) {
    gg_str text = gg__canonical(a->tree, node, arena);
    for (size_t i = 0; i < file->len; i++)
        if (gg_str_equal(file->items[i], text)) return true;
    return false;
}

static TSNode body_of(TSNode definition) {
    return gg__field(gg__inner(definition), "body");
}

static TSNode method_of(const gg_tree *tree, TSNode owner, gg_str name) {
    TSNode body = body_of(owner), found = {0};
    for (uint32_t i = 0; i < gg__child_count(body); i++)
        if (gg_node_is(gg__inner(gg__child(body, i)), "function_definition") &&
            gg_str_equal(gg__definition_name(tree, gg__child(body, i)), name))
            found = gg__child(body, i);
    return found;
}

/* In place of `target` of the file; decorators the answer leaves out stay. */
static void replace(const gg_tree *tree, TSNode target, const answer *a, TSNode node, gg_arena *arena,
                    gg_edits *edits) {
    if (!gg_node_is(node, "decorated_definition")) target = gg__inner(target);
    gg_span span = gg_node_span(target);
    gg_edits_add(edits, span, rebased(a, node, gg__indent(tree, span.start), gg__newline(tree), arena));
}

typedef struct found {
    TSNode definition; /* the last of its name */
    GG_LIST(TSNode) methods;
    gg_buf imports;
    texts file;
} found;

static int sort_out(found *out, const gg_tree *tree, TSNode target, const answer *a, gg_arena *arena, gg_error *err) {
    statements_of(&out->file, tree, arena);
    gg_str name = gg__definition_name(tree, target);
    for (uint32_t i = 0; i < gg__child_count(a->holder); i++) {
        TSNode node = gg__child(a->holder, i), inner = gg__inner(node);
        bool is_text = gg_node_is(node, "expression_statement") && gg_node_is(gg__child(node, 0), "string");
        if (gg_node_is(node, "comment") || is_text) continue;
        if (gg__is_definition(gg__inner(node)) && gg_str_equal(gg__definition_name(a->tree, node), name)) {
            out->definition = node;
        } else if (is_in_file(&out->file, a, node, arena)) {
            continue;
        } else if (is_import(node)) {
            if (out->imports.len) gg_buf_append(&out->imports, gg__newline(tree));
            gg_buf_append(&out->imports, gg__text(a->tree, node));
        } else if (gg_node_is(inner, "function_definition") &&
                   !ts_node_is_null(method_of(tree, target, gg__definition_name(a->tree, node)))) {
            gg_list_push(&out->methods, node);
        } else {
            gg_str text = gg__text(a->tree, node);
            return gg_fail(err, GG_EPARAMS, "only `%.*s` may change, and the answer has more: %.*s", GG_STR_ARG(name),
                           GG_STR_ARG(gg_str_slice(text, 0, gg_str_find(text, GG_STR("\n"), 0))));
        }
    }
    if (ts_node_is_null(out->definition) && out->methods.len == 0)
        return gg_fail(err, GG_EPARAMS, "the answer has no definition of `%.*s`: all of it is wanted, changed",
                       GG_STR_ARG(name));
    if (!ts_node_is_null(out->definition) && out->methods.len)
        return gg_fail(err, GG_EPARAMS, "the answer has methods outside `%.*s`", GG_STR_ARG(name));
    if (!ts_node_is_null(out->definition) && !gg_node_is(gg__inner(out->definition), ts_node_type(gg__inner(target))))
        return gg_fail(err, GG_EPARAMS, "`%.*s` is another kind of definition now", GG_STR_ARG(name));
    return 0;
}

int gg__map(gg_text **out, const gg_tree *tree, gg_span definition, gg_str code, gg_error *err) {
    gg_arena *arena = gg_arena_new();
    answer a = {0};
    found f = {0};
    gg_edits edits = {0};
    gg_text *raw = NULL;
    gg_tree *edited = NULL;
    gg_buf_init(&f.imports, GG__MAX_CONTEXT_BYTES);
    TSNode target = gg_node_at(tree, definition);
    uint32_t own = definition.end - definition.start;
    int error = code.len <= 4 * (size_t)own + SPARE_BYTES
                    ? parse(&a, code, arena, err)
                    : gg_fail(err, GG_EPARAMS, "the code in the answer is many times as long as what it replaces");
    if (error == 0) error = sort_out(&f, tree, target, &a, arena, err);
    if (error) goto cleanup;
    if (f.imports.len) gg__add_import(tree, gg_buf_str(&f.imports), arena, &edits);
    if (!ts_node_is_null(f.definition)) replace(tree, target, &a, f.definition, arena, &edits);
    for (size_t i = 0; i < f.methods.len; i++)
        replace(tree, method_of(tree, target, gg__definition_name(a.tree, f.methods.items[i])), &a, f.methods.items[i],
                arena, &edits);
    error = gg_edits_sort(&edits, err);
    if (error == 0) error = gg_edits_apply(&raw, gg_tree_text(tree), &edits, err);
    if (error == 0) error = gg_tree_parse(&edited, raw, NULL, NULL, 0, NULL, err);
    if (error == 0 && gg_tree_has_error(edited) && !gg_tree_has_error(tree))
        error = gg_fail(err, GG_EPARAMS, "the file does not parse with the answer in its place");
    if (error == 0) error = gg__keep_lines(out, tree, edited, err);
    if (error == 0 && gg_str_equal(gg_text_bytes(*out), gg_text_bytes(gg_tree_text(tree)))) {
        gg_text_unref(out);
        error = gg_fail(err, GG_EPARAMS, "the code in the answer is what it was: nothing is changed");
    }

cleanup:
    gg_tree_unref(&edited);
    gg_tree_unref(&a.tree);
    gg_text_unref(&raw);
    gg_edits_clear(&edits);
    gg_list_clear(&f.methods);
    gg_list_clear(&f.file);
    gg_buf_clear(&f.imports);
    gg_arena_free(arena);
    return error;
}
