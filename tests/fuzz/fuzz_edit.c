/* links: gg_analysis */
/* Edits: the line index of an edited text is that of the same bytes read anew, the incremental tree covers the text and, where the
 * full parse finds no error, is the full parse's tree; everything that takes an offset survives any.
 *
 * Input: a program, a NUL byte, then edits of 4 bytes each (start, deleted length, inserted length, offset of the inserted text in
 * the input), applied one batch of up to three at a time. */
#include <stdlib.h>
#include <string.h>

#include "analysis/gg_analysis.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const gg_text *text) {
    gg_text *fresh;
    CHECK(gg_text_new(&fresh, gg_text_bytes(text), NULL) == 0);
    CHECK(gg_text_line_count(text) == gg_text_line_count(fresh));
    for (uint32_t i = 0; i < gg_text_line_count(text); i++)
        CHECK(gg_text_line_start(text, i) == gg_text_line_start(fresh, i));
    gg_text_unref(&fresh);
}

static void check_same_trees(const gg_tree *a, const gg_tree *b) {
    char *x = ts_node_string(gg_tree_root(a)), *y = ts_node_string(gg_tree_root(b));
    CHECK(strcmp(x, y) == 0);
    free(x);
    free(y);
}

static void check_tree(const gg_tree *tree, uint32_t offset) {
    gg_tree *whole;
    CHECK(gg_tree_parse(&whole, gg_tree_text(tree), NULL, NULL, 0, NULL, NULL) == 0);
    if (!gg_tree_has_error(whole) && !gg_tree_has_error(tree)) check_same_trees(tree, whole); /* recovery may differ */
    gg_tree_unref(&whole);

    gg_arena *arena = gg_arena_new();
    gg_span span;
    uint32_t len = (uint32_t)gg_text_bytes(gg_tree_text(tree)).len;
    CHECK(gg_enclosing_name(tree, offset, arena).len > 0);
    if (gg_enclosing_definition(tree, offset, &span)) CHECK(span.start <= span.end && span.end <= len);
    gg_position at = gg_text_position(gg_tree_text(tree), offset, GG_UTF8);
    span =
        gg_refine_range(tree, at.line + 1, at.line + 1 + offset % 3, (int32_t)at.character - 1, (int32_t)(offset % 40));
    CHECK(span.start <= span.end && span.end <= len);
    CHECK(gg_text_offset(gg_tree_text(tree), gg_text_position(gg_tree_text(tree), offset, GG_UTF16), GG_UTF16) <= len);
    gg_arena_free(arena);
}

static gg_change edit(gg_text **text, const uint8_t *e, const uint8_t *data, size_t size) {
    gg_str bytes = gg_text_bytes(*text);
    gg_span span;
    span.start = gg_text_offset(
        *text, gg_text_position(*text, bytes.len ? e[0] * 7u % (uint32_t)(bytes.len + 1) : 0, GG_UTF8), GG_UTF8);
    span.end = gg_text_offset(*text, gg_text_position(*text, span.start + e[1] % 32u, GG_UTF8), GG_UTF8);
    if (span.end < span.start) span.end = span.start;
    size_t from = e[3] % size, count = e[2] % 32u;
    gg_str with = valid(data + from, from + count <= size ? count : size - from);
    gg_text *edited;
    CHECK(gg_text_replace(&edited, *text, span, with, NULL) == 0);
    check_text(edited);
    gg_text_unref(text);
    *text = edited;
    return (gg_change){span, (uint32_t)with.len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    if (nul == NULL || size > 4096) return 0;
    gg_text *text;
    gg_tree *tree, *next;
    CHECK(gg_text_new(&text, valid(data, (size_t)(nul - data)), NULL) == 0);
    CHECK(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) == 0);
    gg_change batch[3];
    size_t count = 0;
    for (const uint8_t *e = nul + 1; e + 4 <= data + size; e += 4) {
        batch[count++] = edit(&text, e, data, size);
        if (count < GG_COUNT(batch) && e + 8 <= data + size) continue;
        CHECK(gg_tree_parse(&next, text, tree, batch, count, NULL, NULL) == 0);
        gg_tree_unref(&tree);
        tree = next;
        check_tree(tree, e[0]);
        count = 0;
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return 0;
}
