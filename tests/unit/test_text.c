/* links: gg_analysis */
/* gg_text: lines, positions in three encodings, replacement, reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static gg_text *text_of(const char *z) {
    gg_text *text;
    assert_int_equal(gg_text_new(&text, gg_str_from(z), NULL), 0);
    return text;
}

static void assert_str(gg_str got, const char *want) {
    if (!gg_str_is(got, want)) fail_msg("got \"%.*s\", want \"%s\"", GG_STR_ARG(got), want);
}

static void test_lines(void **state) {
    (void)state;
    gg_text *text = text_of("a\nbb\r\nccc\r\rd\n");
    const char *want[] = {"a", "bb", "ccc", "", "d", ""};
    assert_int_equal(gg_text_line_count(text), GG_COUNT(want));
    for (uint32_t i = 0; i < GG_COUNT(want); i++) assert_str(gg_text_line(text, i), want[i]);
    assert_str(gg_text_line(text, 99), "");
    assert_int_equal(gg_text_line_start(text, 2), 6);
    assert_int_equal(gg_text_line_start(text, 99), gg_text_bytes(text).len);
    gg_text_unref(&text);
    assert_null(text);
    text = text_of("");
    assert_int_equal(gg_text_line_count(text), 1);
    assert_str(gg_text_line(text, 0), "");
    gg_text_unref(&text);
}

static void test_positions(void **state) {
    (void)state;
    /* a = é(2 bytes, 1 unit) 😀(4 bytes, 2 units) z */
    gg_text *text = text_of("x\r\n\xC3\xA9\xF0\x9F\x98\x80z\r\n\ty");
    static const struct {
        uint32_t offset, utf8, utf16, utf32;
    } rows[] = {{3, 0, 0, 0}, {5, 2, 1, 1}, {9, 6, 3, 2}, {10, 7, 4, 3}};
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        uint32_t units[] = {[GG_UTF8] = rows[i].utf8, [GG_UTF16] = rows[i].utf16, [GG_UTF32] = rows[i].utf32};
        for (gg_encoding e = GG_UTF16; e <= GG_UTF32; e++) {
            gg_position at = gg_text_position(text, rows[i].offset, e);
            assert_int_equal(at.line, 1);
            assert_int_equal(at.character, units[e]);
            assert_int_equal(gg_text_offset(text, at, e), rows[i].offset);
        }
    }
    gg_text_unref(&text);
}

static bool same(gg_position a, gg_position b) {
    return a.line == b.line && a.character == b.character;
}

/* A guess, right or wrong, changes nothing. */
static void test_guesses(void **state) {
    (void)state;
    static const char *const codes[] = {"a\nbb\n\nccc", "a\r\nbb\r\n", "a\rb\n", "\xC3\xA9\nx\xC3\xA9\n", ""};
    for (size_t k = 0; k < GG_COUNT(codes); k++) {
        gg_text *text = text_of(codes[k]);
        uint32_t len = (uint32_t)gg_text_bytes(text).len;
        for (uint32_t offset = 0; offset <= len; offset++)
            for (uint32_t line = 0; line < 6; line++)
                for (uint32_t character = 0; character < 5; character++) {
                    gg_span span = {offset, offset < len ? offset + 1 : len};
                    gg_range want = gg_text_range(text, span, GG_UTF16);
                    gg_range guess = {{line, character}, {line, character + 1}};
                    uint32_t at = 0;
                    gg_range got = gg_text_range_near(text, span, GG_UTF16, guess, &at);
                    assert_true(same(got.start, want.start) && same(got.end, want.end));
                    assert_int_equal(at, want.start.line);
                    got = gg_text_range_near(text, span, GG_UTF16, want, &at);
                    assert_true(same(got.start, want.start) && same(got.end, want.end));
                }
        gg_text_unref(&text);
    }
}

static void test_clamping(void **state) {
    (void)state;
    gg_text *text = text_of("a\xF0\x9F\x98\x80\r\nb");
    /* inside the surrogate pair: its start */
    assert_int_equal(gg_text_offset(text, (gg_position){0, 2}, GG_UTF16), 1);
    assert_int_equal(gg_text_offset(text, (gg_position){0, 3}, GG_UTF8), 1);
    /* past the line: before its terminator; past the text: its end */
    assert_int_equal(gg_text_offset(text, (gg_position){0, UINT32_MAX}, GG_UTF16), 5);
    assert_int_equal(gg_text_offset(text, (gg_position){7, 0}, GG_UTF16), 8);
    assert_int_equal(gg_text_offset(text, (gg_position){UINT32_MAX, UINT32_MAX}, GG_UTF32), 8);
    /* an offset inside a code point, between \r and \n, past the end */
    assert_int_equal(gg_text_position(text, 3, GG_UTF16).character, 1);
    assert_int_equal(gg_text_position(text, 6, GG_UTF16).character, 3);
    assert_int_equal(gg_text_position(text, 6, GG_UTF16).line, 0);
    assert_int_equal(gg_text_position(text, 1000, GG_UTF16).line, 1);
    gg_text_unref(&text);
}

static void test_nul_bom_tabs(void **state) {
    (void)state;
    gg_text *text;
    assert_int_equal(gg_text_new(&text, GG_STR("\xEF\xBB\xBF\tx = '\0'\n"), NULL), 0);
    assert_int_equal(gg_text_line_count(text), 2);
    assert_int_equal(gg_text_line(text, 0).len, 11);
    assert_int_equal(gg_text_position(text, 4, GG_UTF16).character, 2);
    gg_text_unref(&text);
}

static void test_refuses(void **state) {
    (void)state;
    gg_text *text;
    gg_error err;
    assert_int_equal(gg_text_new(&text, GG_STR("ok\nno\xFF"), &err), GG_EPARAMS);
    assert_non_null(strstr(err.message, "offset 5"));
    assert_non_null(strstr(err.message, "line 2"));
    assert_null(text);
    char *big = gg_malloc(GG_MAX_DOCUMENT_BYTES + 1);
    memset(big, 'a', GG_MAX_DOCUMENT_BYTES + 1);
    assert_int_equal(gg_text_new(&text, (gg_str){big, GG_MAX_DOCUMENT_BYTES + 1}, NULL), GG_ETOOBIG);
    gg_free(big);
    assert_int_equal(gg_text_read(&text, "/nonexistent/file.py", &err), GG_ENOTFOUND);
    assert_int_equal(gg_text_read(&text, "/", &err), GG_EIO);

    gg_text *from = text_of("a\xC3\xA9");
    assert_int_equal(gg_text_replace(&text, from, (gg_span){2, 3}, GG_STR("x"), &err), GG_EPARAMS);
    assert_int_equal(gg_text_replace(&text, from, (gg_span){0, 9}, GG_STR("x"), &err), GG_EPARAMS);
    assert_int_equal(gg_text_replace(&text, from, (gg_span){1, 1}, GG_STR("\x80"), &err), GG_EPARAMS);
    gg_text_unref(&from);
}

static void test_read(void **state) {
    (void)state;
    gg_text *text;
    assert_int_equal(gg_text_read(&text, GG_SOURCE_DIR "/tests/unit/test_text.c", NULL), 0);
    assert_str(gg_text_line(text, 0), "/* links: gg_analysis */");
    gg_text_unref(&text);
}

/* A replacement's line index must be the one of the same bytes read anew. */
static void assert_same_as_new(const gg_text *text) {
    gg_text *fresh;
    assert_int_equal(gg_text_new(&fresh, gg_text_bytes(text), NULL), 0);
    assert_int_equal(gg_text_line_count(text), gg_text_line_count(fresh));
    for (uint32_t i = 0; i < gg_text_line_count(text); i++)
        assert_int_equal(gg_text_line_start(text, i), gg_text_line_start(fresh, i));
    gg_text_unref(&fresh);
}

static void test_replace(void **state) {
    (void)state;
    static const char *const pieces[] = {"", "\n", "\r", "\r\n", "a", "\n\r", "x\ny", "\r\r"};
    gg_text *base = text_of("a\r\nb\rc\n\n\r\nd");
    uint32_t len = (uint32_t)gg_text_bytes(base).len;
    for (uint32_t start = 0; start <= len; start++)
        for (uint32_t end = start; end <= len; end++)
            for (size_t i = 0; i < GG_COUNT(pieces); i++) {
                gg_text *text;
                assert_int_equal(gg_text_replace(&text, base, (gg_span){start, end}, gg_str_from(pieces[i]), NULL), 0);
                assert_int_equal(gg_text_bytes(text).len, len - (end - start) + strlen(pieces[i]));
                assert_same_as_new(text);
                gg_text_unref(&text);
            }
    assert_str(gg_text_bytes(base), "a\r\nb\rc\n\n\r\nd");
    gg_text_unref(&base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),   cmocka_unit_test(test_positions), cmocka_unit_test(test_clamping),
        cmocka_unit_test(test_refuses), cmocka_unit_test(test_read),      cmocka_unit_test(test_nul_bom_tabs),
        cmocka_unit_test(test_replace), cmocka_unit_test(test_guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
