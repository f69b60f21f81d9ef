/* What the tests of the repair session share: a session, captures and verdicts written by hand. */
#ifndef FIX_FIXTURE_H
#define FIX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "repair/gg_repair.h"

#define PATH     "/workspace/net.py"
#define MAX_STEP 600 /* far over what a session may take: MAX_REPAIRS is 256 */

typedef struct session {
    gg_fix *fix;
    gg_fix_action action;
    gg_error err;
} session;

static session start(const char *program, gg_safety max_safety) {
    session s = {0};
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, gg_str_from(program), NULL), 0);
    s.fix = gg_fix_new(GG_STR(PATH), text, max_safety, NULL);
    gg_text_unref(&text);
    assert_int_equal(gg_fix_next(s.fix, &s.action, &s.err), 0);
    assert_int_equal(s.action.step, GG_FIX_CAPTURE);
    return s;
}

static void finish(session *s) {
    gg_fix_free(s->fix);
}

static json_t *frame_at(const gg_text *text, gg_str code, const char *file) {
    size_t skip = 0, at = 0;
    if (gg_str_starts_with(code, GG_STR("@"))) {
        skip = (size_t)(code.ptr[1] - '1');
        code = gg_str_slice(code, 2, code.len);
    }
    gg_str bytes = gg_text_bytes(text);
    at = gg_str_find(bytes, code, 0);
    while (skip-- > 0) at = gg_str_find(bytes, code, at + 1);
    if (at == SIZE_MAX) fail_msg("no %.*s in:\n%s", GG_STR_ARG(code), bytes.ptr);
    gg_range r = gg_text_range(text, (gg_span){(uint32_t)at, (uint32_t)(at + code.len)}, GG_UTF8);
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s}", "file", file, "function", "f", "line",
                     (int)r.start.line + 1, "end_line", (int)r.end.line + 1, "col", (int)r.start.character, "end_col",
                     (int)r.end.character, "origin", "workspace");
}

/* An entry of `text` with these breaks ("id|code", NULL ends them). */
static json_t *entry(const gg_text *text, const char *const *breaks) {
    json_t *records = json_array();
    for (; breaks && *breaks; breaks++) {
        gg_str row = gg_str_from(*breaks);
        size_t bar = gg_str_find(row, GG_STR("|"), 0);
        json_t *fact = json_pack("{s:s, s:s, s:[i], s:s}", "kind", "tensor", "dtype", "torch.float32", "shape", 4,
                                 "device", "cpu");
        json_array_append_new(records,
                              json_pack("{s:s%, s:s, s:[o], s:{s:o}}", "id", row.ptr, bar, "kind", "split", "stack",
                                        frame_at(text, gg_str_slice(row, bar + 1, row.len), PATH), "facts", "h", fact));
    }
    size_t count = json_array_size(records);
    return json_pack("{s:s, s:s, s:i, s:o}", "name", "e", "status", count ? "breaks" : "captured", "graphs",
                     (int)count + 1, "breaks", records);
}

static void captured(session *s, const char *const *breaks) {
    json_t *e = entry(s->action.original, breaks);
    assert_int_equal(gg_fix_captured(s->fix, &e, 1, &s->err), 0);
    json_decref(e);
}

static void next(session *s) {
    assert_int_equal(gg_fix_next(s->fix, &s->action, &s->err), 0);
}

/* The next step is a candidate of this rule. */
static void expect(session *s, const char *rule) {
    next(s);
    assert_int_equal(s->action.step, GG_FIX_VERIFY);
    assert_string_equal(s->action.rule->code, rule);
    assert_true(s->action.safety == s->action.rule->safety);
    assert_false(gg_str_equal(gg_text_bytes(s->action.original), gg_text_bytes(s->action.edited)));
}

static void expect_in(session *s, const char *rule, const char *file) {
    expect(s, rule);
    assert_true(gg_str_is(s->action.file, file));
}

static void expect_done(session *s) {
    next(s);
    assert_int_equal(s->action.step, GG_FIX_DONE);
}

static json_t *verdict(const session *s, bool accepted, const char *outputs, const char *const *left) {
    return json_pack("{s:b, s:b, s:s, s:i, s:i, s:i, s:i, s:[s], s:[s], s:[{s:s, s:o, s:o, s:b}]}", "accepted",
                     accepted, "glued", accepted, "outputs", outputs, "graphs_before", 3, "graphs_after", 2,
                     "breaks_before", 2, "breaks_after", 1, "compared", "on 4 input sets", "reasons", "no", "entries",
                     "name", "e", "before", entry(s->action.original, NULL), "after", entry(s->action.edited, left),
                     "glued", accepted);
}

static void accept_of(session *s, int breaks_before, const char *const *left) {
    json_t *v = verdict(s, true, "identical", left);
    json_object_set_new(v, "breaks_before", json_integer(breaks_before));
    assert_int_equal(gg_fix_verified(s->fix, v, GG_STR_NULL, &s->err), 0);
    json_decref(v);
}

static void accept(session *s, const char *const *left) {
    accept_of(s, 2, left);
}

static void refuse(session *s, const char *outputs) {
    json_t *v = verdict(s, false, outputs, NULL);
    assert_int_equal(gg_fix_verified(s->fix, v, GG_STR_NULL, &s->err), 0);
    json_decref(v);
}

static void expect_text(const session *s, const char *part, bool there) {
    gg_str text = gg_text_bytes(gg_fix_text(s->fix));
    if (gg_str_contains(text, gg_str_from(part)) != there)
        fail_msg("%s: %s\n%s", there ? "not there" : "there", part, text.ptr);
}

static const gg_verdict *last_verdict(const session *s, size_t count) {
    size_t n;
    const gg_fix_repair *repairs = gg_fix_repairs(s->fix, &n);
    assert_int_equal(n, count);
    assert_non_null(repairs[n - 1].verdict);
    return repairs[n - 1].verdict;
}

#define BREAKS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
