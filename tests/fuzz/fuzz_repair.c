/* links: gg_repair */
/* Every rule at every site that is told or predicted: its edits lie in the text, in order and over none of each other, begin and end between characters,
 * change something, leave no syntax error where there was none, and are the same when they are made again; a site that they left as it was is not mended
 * by the same rule for ever.
 *
 * Input: a program, which may begin as a fixture of a rule does (tests/rule_fixture.h).  With $GG_RESULTS each result is also written to that folder,
 * beside what it was made of, for Python to judge (tests/tools/test_fuzzed_repairs.py). */
#include <string.h>

#include "tests/fuzz/check.h"
#include "tests/rule_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT_BYTES = 16 * 1024, MAX_SITES = 40, MAX_TIMES = 4 };

static void write_result(const gg_rule *rule, const gg_text *before, const gg_text *after) {
    static unsigned count;
    const char *folder = getenv("GG_RESULTS");
    if (folder == NULL) return;
    const gg_text *const texts[] = {before, after};
    static const char *const names[] = {"before", "after"};
    for (size_t i = 0; i < GG_COUNT(texts); i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s-%u.%s.py", folder, rule->code, count, names[i]);
        FILE *file = fopen(path, "wb");
        CHECK(file != NULL);
        gg_str bytes = gg_text_bytes(texts[i]);
        CHECK(fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len && fclose(file) == 0);
    }
    count++;
}

static bool between_characters(const gg_text *text, uint32_t offset) {
    return gg_text_offset(text, gg_text_position(text, offset, GG_UTF8), GG_UTF8) == offset;
}

static void check_edits(const gg_text *text, const gg_edits *edits) {
    gg_str bytes = gg_text_bytes(text);
    uint32_t at = 0;
    CHECK(edits->list.len > 0);
    for (size_t i = 0; i < edits->list.len; i++) {
        const gg_edit *e = &edits->list.items[i];
        CHECK(at <= e->span.start && e->span.start <= e->span.end && e->span.end <= bytes.len);
        CHECK(between_characters(text, e->span.start) && between_characters(text, e->span.end));
        CHECK(gg_utf8_valid_prefix(e->text) == e->text.len);
        at = e->span.end;
    }
}

static void check_same(const gg_edits *a, const gg_edits *b) {
    CHECK(a->list.len == b->list.len && a->copies == b->copies);
    for (size_t i = 0; i < a->list.len; i++) {
        const gg_edit *x = &a->list.items[i], *y = &b->list.items[i];
        CHECK(x->span.start == y->span.start && x->span.end == y->span.end && gg_str_equal(x->text, y->text));
    }
}

/* Where the site is in the edited text; false: the edits touched it. */
static bool carry(gg_span *span, const gg_edits *edits) {
    for (size_t i = edits->list.len; i > 0; i--) {
        const gg_edit *e = &edits->list.items[i - 1];
        if (!gg_span_carry(span, (gg_change){e->span, (uint32_t)e->text.len})) return false;
    }
    return true;
}

/* Makes the rule's edits: the edited text, and *span where the site is in it then (empty: they touched it).  NULL when it offers nothing. */
static gg_text *apply(const gg_rule *rule, const gg_rule_input *in, gg_span *span) {
    gg_arena *arena = gg_arena_new();
    gg_edits edits = {0}, again = {0};
    gg_error err = {0};
    gg_rule_match match;
    gg_text *out = NULL;
    gg_tree *tree = NULL;
    const gg_text *text = gg_tree_text(in->tree);
    if (!rule->check(in, &match)) goto cleanup;
    int error = gg_repair_edits(rule, in, arena, &edits, &err);
    CHECK(error == 0 || (error == GG_ENOMATCH && err.message[0]));
    if (error) goto cleanup;
    check_edits(text, &edits);
    CHECK(gg_repair_edits(rule, in, arena, &again, &err) == 0);
    check_same(&edits, &again);
    CHECK(gg_edits_apply(&out, text, &edits, &err) == 0);
    CHECK(!gg_str_equal(gg_text_bytes(out), gg_text_bytes(text)));
    CHECK(gg_tree_parse(&tree, out, NULL, NULL, 0, NULL, NULL) == 0);
    CHECK(gg_tree_has_error(in->tree) || !gg_tree_has_error(tree));
    *span = in->span;
    if (!carry(span, &edits)) *span = (gg_span){0, 0};
    if (!gg_tree_has_error(in->tree)) write_result(rule, text, out);

cleanup:
    gg_edits_clear(&again);
    gg_edits_clear(&edits);
    gg_tree_unref(&tree);
    gg_arena_free(arena);
    return out;
}

/* Again and again while it leaves the site where it is: there must be an end. */
static void try(const gg_rule *rule, const gg_tree *tree, const gg_site *site, gg_span span) {
    gg_rule_input in = {.tree = tree, .site = site, .span = span};
    gg_text *text = apply(rule, &in, &span);
    for (int times = 1; text && span.end > 0; times++) {
        gg_tree *edited = NULL;
        CHECK(times < MAX_TIMES);
        CHECK(gg_tree_parse(&edited, text, NULL, NULL, 0, NULL, NULL) == 0);
        gg_text_unref(&text);
        if (gg_tree_has_error(edited))
            span.end = 0; /* then so had the program; what holds of Python need not hold of that */
        in = (gg_rule_input){.tree = edited, .site = site, .span = span};
        if (span.end) text = apply(rule, &in, &span);
        gg_tree_unref(&edited);
    }
    gg_text_unref(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > MAX_INPUT_BYTES) return 0;
    gg_text *text;
    gg_tree *tree;
    gg_arena *arena = gg_arena_new();
    rule_fixture said;
    size_t count;
    const gg_rule *const *rules = gg_rules(&count);
    CHECK(gg_text_new(&text, valid(data, size), NULL) == 0);
    CHECK(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL) == 0);
    rule_fixture_read(&said, arena, text);
    gg_prediction_list list = gg_predict(tree, arena);
    for (size_t i = 0; i <= list.len && i < MAX_SITES; i++) { /* the one that is told comes first */
        gg_site site = said.site;
        gg_break record = said.record;
        site.first = &record;
        if (i > 0) {
            site.span = list.items[i - 1].span;
            record.id = site.id = list.items[i - 1].id;
        }
        for (size_t j = 0; j < count && site.span.end > 0; j++) try(rules[j], tree, &site, site.span);
    }
    gg_arena_free(arena);
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    return 0;
}
