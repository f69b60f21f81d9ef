/* links: gg_analysis */
/* Prediction while a text is edited: what a predictor finds after each edit is what a new one finds in the same tree and, where the parse
 * from nothing has no error, what one finds in that.
 *
 * Input: a program, a NUL byte, then edits of 8 bytes each, little endian (start, deleted length, offset of the inserted text in the input, its
 * length).  tests/fuzz/make_predict_edits.py makes such inputs of real programs. */
#include <string.h>

#include "analysis/gg_analysis.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT_BYTES = 64 * 1024, EDIT_BYTES = 8 };

static void check_same(gg_prediction_list a, gg_prediction_list b) {
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        const gg_prediction *x = &a.items[i], *y = &b.items[i];
        CHECK(x->span.start == y->span.start && x->span.end == y->span.end);
        CHECK(gg_str_equal(x->rule, y->rule) && gg_str_equal(x->id, y->id));
        CHECK(gg_str_equal(x->message, y->message) && gg_str_equal(x->guard, y->guard));
        CHECK(x->certain == y->certain && x->in_loop == y->in_loop);
    }
    CHECK(a.len == b.len);
}

static void check(gg_predictor *predictor, const gg_tree *tree) {
    gg_predictions *found = gg_predictor_run(predictor, tree);
    gg_arena *arena = gg_arena_new();
    check_same(gg_predictions_list(found), gg_predict(tree, arena));
    gg_tree *fresh;
    CHECK(gg_tree_parse(&fresh, gg_tree_text(tree), NULL, NULL, 0, NULL, NULL) == 0);
    if (!gg_tree_has_error(fresh) && !gg_tree_has_error(tree)) /* recovery from errors may differ */
        check_same(gg_predictions_list(found), gg_predict(fresh, arena));
    gg_tree_unref(&fresh);
    gg_arena_free(arena);
    gg_predictions_free(found);
}

static uint32_t number(const uint8_t *bytes) {
    return bytes[0] + 256u * bytes[1];
}

static uint32_t at_character(const gg_text *text, uint32_t offset) {
    return gg_text_offset(text, gg_text_position(text, offset, GG_UTF8), GG_UTF8);
}

static gg_change edit(gg_text **text, const uint8_t *e, const uint8_t *data, size_t size) {
    uint32_t len = (uint32_t)gg_text_bytes(*text).len, start = number(e) % (len + 1), left = len - start;
    uint32_t deleted = number(e + 2) < left ? number(e + 2) : left;
    gg_span span = {at_character(*text, start), at_character(*text, start + deleted)};
    if (span.end < span.start) span.end = span.start;
    size_t from = number(e + 4) % size, count = number(e + 6);
    gg_str with = valid(data + from, from + count <= size ? count : size - from);
    gg_text *edited;
    CHECK(gg_text_replace(&edited, *text, span, with, NULL) == 0);
    gg_text_unref(text);
    *text = edited;
    return (gg_change){span, (uint32_t)with.len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    if (nul == NULL || size > MAX_INPUT_BYTES) return 0;
    gg_text *text;
    gg_tree *tree, *next;
    gg_predictor *predictor = gg_predictor_new();
    CHECK(gg_text_new(&text, valid(data, (size_t)(nul - data)), NULL) == 0);
    CHECK(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) == 0);
    check(predictor, tree);
    for (const uint8_t *e = nul + 1; e + EDIT_BYTES <= data + size; e += EDIT_BYTES) {
        gg_change change = edit(&text, e, data, size);
        if (gg_text_bytes(text).len > MAX_INPUT_BYTES) break;
        CHECK(gg_tree_parse(&next, text, tree, &change, 1, NULL, NULL) == 0);
        gg_tree_unref(&tree);
        tree = next;
        check(predictor, tree);
    }
    gg_predictor_free(predictor);
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return 0;
}
