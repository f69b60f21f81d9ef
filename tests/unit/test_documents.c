/* links: gg_server */
/* Open documents against a naive model: text in both encodings, findings carried through edits, what cannot be followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "server/session.h"

/* ---- chance: GG_SEED=n repeats a run --------------------------------------------------------------------------------- */
static uint64_t chance;

static void seed(void) {
    const char *given = getenv("GG_SEED");
    chance = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("GG_SEED=%llu\n", (unsigned long long)chance);
}

static uint32_t below(uint32_t n) {
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance >> 33) % n;
}

/* ---- a session without a client ---------------------------------------------------------------------------------------- */
static const gg_server_settings options = {.test = true};

static void on_flush(uv_timer_t *timer) {
    (void)timer;
}

static void open_session(gg_session *session, gg_encoding encoding) {
    *session = (gg_session){.options = &options, .encoding = encoding, .state = GG_STATE_INITIALIZED};
    uv_loop_init(&session->loop);
    uv_timer_init(&session->loop, &session->flush);
    session->flush.timer_cb = on_flush;
}

static void close_session(gg_session *session) {
    while (session->documents.len) gg_document_close(session->documents.items[0]);
    gg_list_clear(&session->documents);
    uv_close((uv_handle_t *)&session->flush, NULL);
    uv_run(&session->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&session->loop), 0);
}

static const gg_str URI = {"file:///w/a.py", 14};

static gg_document *open_text(gg_session *session, gg_str text) {
    return gg_document_open(session, URI, GG_STR("python"), 1, text);
}

static void edit(gg_document *d, gg_lsp_position start, gg_lsp_position end, gg_str with) {
    gg_lsp_range range = {start, end};
    gg_lsp_text_document_content_change change = {.range = &range, .text = with};
    gg_document_edit(d, &change, 1, d->version + 1);
}

static void replace_all(gg_document *d, gg_str with) {
    gg_lsp_text_document_content_change change = {.text = with};
    gg_document_edit(d, &change, 1, d->version + 1);
}

static void assert_bytes(gg_str got, gg_str want) {
    if (!gg_str_equal(got, want))
        fail_msg("got %zu bytes \"%.*s\", want %zu \"%.*s\"", got.len, GG_STR_ARG(got), want.len, GG_STR_ARG(want));
}

static void assert_text(gg_document *d, const char *want) {
    assert_bytes(gg_text_bytes(gg_document_text(d)), gg_str_from(want));
}

/* ---- the model: one string, positions found by walking from its begin ---------------------------------------------- */
typedef struct model {
    char bytes[1 << 16];
    uint32_t len;
} model;

static uint32_t step_bytes(char c) {
    unsigned char lead = (unsigned char)c;
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

static uint32_t model_offset(const model *m, gg_lsp_position p, gg_encoding encoding) {
    uint32_t at = 0;
    for (int64_t line = 0; line < p.line; line++) {
        while (at < m->len && m->bytes[at] != '\n' && m->bytes[at] != '\r') at++;
        if (at == m->len) return at;
        at += m->bytes[at] == '\r' && at + 1 < m->len && m->bytes[at + 1] == '\n' ? 2 : 1;
    }
    for (int64_t left = p.character; at < m->len && m->bytes[at] != '\n' && m->bytes[at] != '\r';) {
        uint32_t bytes = step_bytes(m->bytes[at]), units = encoding == GG_UTF8 ? bytes : bytes == 4 ? 2 : 1;
        if (left < units) break;
        left -= units;
        at += bytes;
    }
    return at;
}

static void model_change(model *m, const gg_lsp_text_document_content_change *c, gg_encoding encoding) {
    uint32_t start = c->range ? model_offset(m, c->range->start, encoding) : 0,
             end = c->range ? model_offset(m, c->range->end, encoding) : m->len;
    if (end < start) {
        uint32_t swap = start;
        start = end;
        end = swap;
    }
    char tail[sizeof(m->bytes)];
    uint32_t rest = m->len - end;
    memcpy(tail, m->bytes + end, rest);
    memcpy(m->bytes + start, c->text.ptr, c->text.len);
    memcpy(m->bytes + start + c->text.len, tail, rest);
    m->len = start + (uint32_t)c->text.len + rest;
}

#define BOM  "\xEF\xBB\xBF"
#define FIRE "\xF0\x9F\x94\xA5"                 /* 2 units of UTF-16 */
#define LAST "\xF4\x8F\xBF\xBF"                 /* U+10FFFF */
#define FLAG "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA" /* two astral characters, one emoji */

static gg_str piece(void) {
    static const gg_str pieces[] = {
        {"", 0},         {"a", 1},         {"\n", 1},           {"\r\n", 2},
        {"\r", 1},       {"\t", 1},        {"    ", 4},         {"\0", 1},
        {BOM, 3},        {FIRE, 4},        {LAST, 4},           {FLAG, 8},
        {"\xC3\xA9", 2}, {"e\xCC\x81", 3}, {"\xE2\x80\xA8", 3}, {"if x:\n\ty = 1\r\n", 14},
        {"\n\r", 2},     {"\r\r\n\n", 4},  {"\xEF\xBF\xBF", 3}, {"(" FIRE "\n" FIRE ")", 11}};
    return pieces[below(GG_COUNT(pieces))];
}

static gg_lsp_position anywhere(const model *m) {
    uint32_t lines = 1;
    for (uint32_t i = 0; i < m->len; i++) lines += m->bytes[i] == '\n' || m->bytes[i] == '\r';
    switch (below(12)) {
    case 0:
        return (gg_lsp_position){INT32_MAX, INT32_MAX};
    case 1:
        return (gg_lsp_position){below(lines + 3), INT32_MAX};
    case 2:
        return (gg_lsp_position){lines + below(5), below(5)};
    default:
        return (gg_lsp_position){below(lines), below(below(2) ? 4 : 40)};
    }
}

static void assert_lines(const gg_text *text) {
    gg_text *fresh = NULL;
    assert_int_equal(gg_text_new(&fresh, gg_text_bytes(text), NULL), 0);
    assert_int_equal(gg_text_line_count(text), gg_text_line_count(fresh));
    for (uint32_t i = 0; i < gg_text_line_count(text); i++)
        assert_int_equal(gg_text_line_start(text, i), gg_text_line_start(fresh, i));
    gg_text_unref(&fresh);
}

static void random_edits(gg_encoding encoding) {
    gg_session session;
    open_session(&session, encoding);
    model *m = gg_calloc(1, sizeof(model));
    gg_document *d = open_text(&session, GG_STR_NULL);
    for (int i = 0; i < 6000; i++) {
        gg_lsp_text_document_content_change changes[5];
        gg_lsp_range ranges[5];
        char whole[4096];
        uint32_t count = 1 + below(5);
        for (uint32_t j = 0; j < count; j++) {
            ranges[j] = (gg_lsp_range){anywhere(m), anywhere(m)};
            if (below(4)) ranges[j].end = ranges[j].start;
            changes[j] = (gg_lsp_text_document_content_change){.range = &ranges[j], .text = piece()};
            if (m->len > 3000 || below(60) == 0) { /* the whole text; now and then the one that is there, or nearly */
                uint32_t kept = m->len > 3000 ? 0 : below(3) ? m->len : m->len - m->len % 7;
                memcpy(whole, m->bytes, kept);
                kept = (uint32_t)gg_utf8_valid_prefix((gg_str){whole, kept});
                changes[j] = (gg_lsp_text_document_content_change){.text = {whole, kept}};
                count = j + 1;
            }
            model_change(m, &changes[j], encoding);
        }
        gg_document_edit(d, changes, count, d->version + 1);
        assert_false(d->lost);
        if (below(3)) continue; /* a burst: nobody looks */
        assert_bytes(gg_text_bytes(gg_document_text(d)), (gg_str){m->bytes, m->len});
        assert_lines(d->text);
    }
    assert_bytes(gg_text_bytes(gg_document_text(d)), (gg_str){m->bytes, m->len});
    gg_free(m);
    close_session(&session);
}

static void test_random_edits_in_utf16(void **state) {
    (void)state;
    random_edits(GG_UTF16);
}

static void test_random_edits_in_utf8(void **state) {
    (void)state;
    random_edits(GG_UTF8);
}

/* ---- single edits ------------------------------------------------------------------------------------------------------ */

static void test_odd_positions(void **state) {
    (void)state;
    static const struct {
        const char *text;
        gg_lsp_position start, end;
        const char *with, *want;
    } rows[] = {
        {"a" FIRE "b", {0, 2}, {0, 3}, "x", "axb"},         /* begins inside the pair: at its begin */
        {"a" FIRE "b", {0, 1}, {0, 2}, "x", "ax" FIRE "b"}, /* ends inside it: there too */
        {"abc\n", {0, 3}, {0, 1}, "x", "ax\n"},             /* reversed */
        {"a\nb\nc", {2, 1}, {0, 0}, "x", "x"},              /* reversed, over lines */
        {"a\nb\n", {0, 99}, {0, 99}, "!", "a!\nb\n"},       /* past the line */
        {"a\r\nb", {0, 99}, {1, 0}, "", "ab"},              /* from before the \r */
        {"a\r\nb", {0, 1}, {0, 1}, "\n", "a\n\r\nb"},       /* between a and \r\n */
        {"a\rb", {1, 0}, {1, 0}, "\n", "a\r\nb"},           /* a lone \r becomes \r\n */
        {"a\nb", {77, 3}, {99, 9}, "\nend", "a\nb\nend"},   /* past the text */
        {"", {0, 0}, {5, 5}, BOM "x", BOM "x"},             /* into nothing */
        {BOM "x\n", {0, 1}, {0, 2}, "y", BOM "y\n"},        /* a byte order mark is one unit */
        {"\tx", {0, 1}, {0, 1}, "\t", "\t\tx"},             /* so is a tab */
        {"e\xCC\x81x", {0, 1}, {0, 2}, "", "ex"},           /* and a combining accent */
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_session session;
        open_session(&session, GG_UTF16);
        gg_document *d = open_text(&session, gg_str_from(rows[i].text));
        edit(d, rows[i].start, rows[i].end, gg_str_from(rows[i].with));
        assert_text(d, rows[i].want);
        close_session(&session);
    }
}

static void test_an_edit_that_changes_nothing(void **state) {
    (void)state;
    gg_session session;
    open_session(&session, GG_UTF8);
    gg_document *d = open_text(&session, GG_STR("a\nb\n"));
    uint64_t revision = d->revision;
    replace_all(d, GG_STR("a\nb\n"));
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 1}, GG_STR("a"));
    assert_int_equal(d->revision, revision);
    assert_int_equal(d->version, 3);
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 1}, GG_STR("b"));
    assert_int_not_equal(d->revision, revision);
    close_session(&session);
}

static void test_versions_are_the_clients(void **state) {
    (void)state;
    gg_session session;
    open_session(&session, GG_UTF8);
    gg_document *d = open_text(&session, GG_STR("a"));
    gg_lsp_text_document_content_change change = {.text = GG_STR("b")};
    gg_document_edit(d, &change, 1, 7);
    uint64_t seventh = d->revision;
    change.text = GG_STR("c");
    gg_document_edit(d, &change, 1, 3); /* backwards: the client's error, and yet its text */
    assert_int_equal(d->version, 3);
    assert_text(d, "c");
    change.text = GG_STR("d");
    gg_document_edit(d, &change, 1, 7); /* the same again is another text */
    assert_int_not_equal(d->revision, seventh);
    close_session(&session);
}

static void test_opened_twice(void **state) {
    (void)state;
    gg_session session;
    open_session(&session, GG_UTF8);
    uint64_t first = open_text(&session, GG_STR("a"))->revision;
    gg_document *again = open_text(&session, GG_STR("b"));
    assert_int_equal(session.documents.len, 1);
    assert_int_not_equal(again->revision, first);
    assert_text(gg_document_find(&session, URI), "b");
    gg_document_close(again);
    assert_null(gg_document_find(&session, URI));
    assert_null(gg_document_peek(&session, URI));
    again = open_text(&session, GG_STR("a")); /* as it was at first, version and all */
    assert_int_not_equal(again->revision, first);
    close_session(&session);
}

/* ---- findings ---------------------------------------------------------------------------------------------------------- */

/* Every line of text that says `mark` has a site on that word; each line is unlike the others. */
static gg_findings *findings_in(gg_str text) {
    gg_arena *arena = gg_arena_new();
    gg_findings *f = GG_ARENA_NEW(arena, gg_findings);
    *f = (gg_findings){.refs = 1, .arena = arena};
    assert_int_equal(gg_text_new(&f->text, text, NULL), 0);
    uint32_t lines = gg_text_line_count(f->text);
    f->sites.items = GG_ARENA_ARRAY(arena, gg_site, lines);
    f->site_spans = GG_ARENA_ARRAY(arena, gg_span, lines);
    f->local = GG_ARENA_ARRAY(arena, bool, lines);
    for (size_t at = 0; (at = gg_str_find(text, GG_STR("mark"), at)) != SIZE_MAX; at++) {
        size_t i = f->sites.len++;
        f->sites.items[i] = (gg_site){.id = GG_STR("GB0170")};
        f->site_spans[i] = (gg_span){(uint32_t)at, (uint32_t)at + 4};
        f->local[i] = true;
    }
    return f;
}

static const char PROGRAM[] = "import torch\n"
                              "if mark0 > 0:\n"
                              "    x = 1\r\n"
                              "\ty = " FIRE ", mark1\n"
                              "\n"
                              "def f(): mark2\r"
                              "z = mark3\n"
                              "mark4";

static gg_document *open_program(gg_session *session, gg_encoding encoding) {
    open_session(session, encoding);
    gg_document *d = open_text(session, GG_STR(PROGRAM));
    gg_document_set_findings(d, findings_in(GG_STR(PROGRAM)), NULL, 0);
    return d;
}

static void assert_marks(gg_document *d, const char *want) { /* o as captured, f faded, - gone */
    char got[16] = "";
    gg_document_text(d);
    for (size_t i = 0; i < d->findings->sites.len; i++) {
        gg_mark mark = d->marks[i];
        got[i] = mark.gone ? '-' : mark.faded ? 'f' : 'o';
        assert_true(mark.span.start <= mark.span.end && mark.span.end <= gg_text_bytes(d->text).len);
        if (got[i] != 'o') continue;
        char name[8];
        snprintf(name, sizeof(name), "mark%zu", i);
        assert_bytes(gg_text_slice(d->text, (gg_span){mark.span.start, mark.span.end + 1}), gg_str_from(name));
    }
    assert_string_equal(got, want);
}

/* Where a line is edited its mark fades; beside it, never. */
static void test_marks_fade_with_their_lines(void **state) {
    (void)state;
    static const struct {
        gg_lsp_position start, end;
        const char *with, *want;
    } rows[] = {
        {{0, 0}, {0, 0}, "# new\n", "ooooo"},       /* a line above */
        {{0, 12}, {0, 12}, "\n\n", "ooooo"},        /* the same, from the end of a line */
        {{1, 0}, {1, 0}, "# new\n", "ooooo"},       /* a line pushed down */
        {{1, 0}, {1, 0}, "# ", "foooo"},            /* commented out */
        {{1, 0}, {1, 0}, "    ", "foooo"},          /* indented */
        {{1, 13}, {1, 13}, "\n    a = 1", "ooooo"}, /* a line below, from the end of this one */
        {{1, 13}, {1, 13}, "  # why", "foooo"},     /* a comment behind */
        {{1, 3}, {1, 8}, "h", "foooo"},             /* the expression itself */
        {{1, 5}, {1, 6}, "xx", "foooo"},            /* within */
        {{0, 0}, {1, 0}, "", "ooooo"},              /* the line above deleted */
        {{0, 12}, {1, 0}, " ", "foooo"},            /* the line above joined */
        {{1, 13}, {2, 0}, " ", "foooo"},            /* the line below joined */
        {{1, 0}, {2, 0}, "", "-oooo"},              /* deleted */
        {{0, 3}, {3, 4}, "?", "-fooo"},             /* deleted with what is around, up to the next one's line */
        {{3, 5}, {3, 7}, "", "ofooo"},              /* an astral character before it on the line */
        {{5, 14}, {6, 0}, "\n", "ooooo"},           /* another line end */
        {{6, 5}, {7, 9}, "", "ooof-"},              /* over two of them, from the middle of a line */
        {{7, 5}, {7, 5}, "\n", "ooooo"},            /* at the end of the text */
        {{7, 5}, {7, 5}, "\r\nmark4", "ooooo"},     /* its like below */
        {{0, 0}, {9, 9}, "", "-----"},              /* all deleted */
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_session session;
        gg_document *d = open_program(&session, GG_UTF16);
        edit(d, rows[i].start, rows[i].end, gg_str_from(rows[i].with));
        print_message("row %zu\n", i);
        assert_marks(d, rows[i].want);
        /* Undone as editors do it: the text there before, put back. */
        replace_all(d, GG_STR(PROGRAM));
        assert_marks(d, "ooooo");
        for (size_t j = 0; j < d->findings->sites.len; j++)
            assert_memory_equal(&d->marks[j].span, &d->findings->site_spans[j], sizeof(gg_span));
        close_session(&session);
    }
}

/* A line that reads as before has its mark back, whatever else was edited meanwhile. */
static void test_marks_return_with_their_lines(void **state) {
    (void)state;
    gg_session session;
    gg_document *d = open_program(&session, GG_UTF16);
    edit(d, (gg_lsp_position){1, 3}, (gg_lsp_position){1, 8}, GG_STR("something_else"));
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 0}, GG_STR("# above\n"));
    edit(d, (gg_lsp_position){4, 1}, (gg_lsp_position){4, 1}, GG_STR("\n"));
    assert_marks(d, "ffooo");
    edit(d, (gg_lsp_position){2, 3}, (gg_lsp_position){2, 17}, GG_STR("mark0"));
    assert_marks(d, "ofooo");
    edit(d, (gg_lsp_position){4, 1}, (gg_lsp_position){5, 0}, GG_STR(""));
    assert_marks(d, "ooooo");
    close_session(&session);
}

static void test_a_whole_text_that_differs_in_a_word(void **state) {
    (void)state;
    gg_session session;
    gg_document *d = open_program(&session, GG_UTF16);
    char text[sizeof(PROGRAM)];
    memcpy(text, PROGRAM, sizeof(PROGRAM));
    memcpy(strstr(text, "mark1"), "spot1", 5);
    replace_all(d, gg_str_from(text));
    assert_marks(d, "ofooo");
    close_session(&session);
}

/* Random edits: a mark whose line is still there, as it was, is on it. */
static void check_against_lines(gg_document *d) {
    const gg_text *text = gg_document_text(d), *before = d->findings->text;
    for (size_t i = 0; i < d->findings->sites.len; i++) {
        gg_mark mark = d->marks[i];
        assert_true(mark.span.start <= mark.span.end && mark.span.end <= gg_text_bytes(text).len);
        uint32_t line = gg_text_position(before, d->findings->site_spans[i].start, GG_UTF8).line;
        gg_str content = gg_text_line(before, line);
        for (uint32_t now = 0; now < gg_text_line_count(text); now++) {
            if (!gg_str_equal(gg_text_line(text, now), content)) continue;
            uint32_t column = d->findings->site_spans[i].start - gg_text_line_start(before, line);
            assert_false(mark.gone || mark.faded);
            assert_int_equal(mark.span.start, gg_text_line_start(text, now) + column);
            assert_int_equal(mark.span.end, mark.span.start + 4);
        }
    }
}

static void test_marks_follow_random_edits(void **state) {
    (void)state;
    for (int round = 0; round < 400; round++) {
        gg_session session;
        gg_encoding encoding = round % 2 ? GG_UTF16 : GG_UTF8;
        gg_document *d = open_program(&session, encoding);
        model *m = gg_calloc(1, sizeof(model));
        memcpy(m->bytes, PROGRAM, m->len = sizeof(PROGRAM) - 1);
        gg_noted_list noted = {0};
        struct {
            char bytes[512];
            uint32_t len;
        } undo[12];
        int edits = 1 + (int)below(12);
        for (int i = 0; i < edits; i++) {
            memcpy(undo[i].bytes, m->bytes, undo[i].len = m->len);
            gg_lsp_range range = {anywhere(m), anywhere(m)};
            if (below(3)) range.end = range.start;
            gg_lsp_text_document_content_change change = {.range = &range, .text = piece()};
            uint32_t a = model_offset(m, range.start, encoding), b = model_offset(m, range.end, encoding);
            gg_change there = {{a < b ? a : b, a < b ? b : a}, (uint32_t)change.text.len};
            bool over = there.span.end > there.span.start &&
                        memchr(m->bytes + there.span.start, '\n', there.span.end - there.span.start);
            gg_noted_add(&noted, (gg_noted){there, over});
            model_change(m, &change, encoding);
            gg_document_edit(d, &change, 1, i + 2);
            if (below(2)) check_against_lines(d);
        }
        check_against_lines(d);
        gg_document_set_findings(d, findings_in(GG_STR(PROGRAM)), noted.items,
                                 noted.len); /* found while it was edited */
        check_against_lines(d);
        for (int i = edits; i-- > 0;) replace_all(d, (gg_str){undo[i].bytes, undo[i].len});
        assert_marks(d, "ooooo");
        gg_list_clear(&noted);
        gg_free(m);
        close_session(&session);
    }
}

/* Noted changes, merged or not, say of every byte that outlived them where it is. */
static void test_noted_changes(void **state) {
    (void)state;
    enum { BYTES = 200 };
    for (int round = 0; round < 300; round++) {
        int now[BYTES + 64 * 8], len = BYTES;
        for (int i = 0; i < len; i++) now[i] = i;
        gg_noted_list list = {0};
        uint32_t at = 0;
        for (int i = 0; i < 64; i++) {
            if (below(3) == 0) at = below((uint32_t)len + 1);
            at = at > (uint32_t)len ? (uint32_t)len : at;
            uint32_t end = at + below((uint32_t)len - at + 1 > 4 ? 4 : (uint32_t)len - at + 1), put = below(8);
            gg_noted_add(&list, (gg_noted){{{at, end}, put}, false});
            memmove(now + at + put, now + end, ((size_t)len - end) * sizeof(int));
            for (uint32_t j = 0; j < put; j++) now[at + j] = -1;
            len += (int)put - (int)(end - at);
            at += put;
        }
        assert_true(list.len <= 64);
        for (int i = 0; i < len; i++) {
            if (now[i] < 0) continue;
            gg_span span = {(uint32_t)now[i], (uint32_t)now[i] + 1};
            bool outlived = true;
            for (size_t j = 0; j < list.len; j++) outlived = outlived && gg_span_carry(&span, list.items[j].change);
            if (outlived) assert_int_equal(span.start, i);
        }
        gg_list_clear(&list);
    }
    gg_noted_list typed = {0};
    for (uint32_t i = 0; i < 1000; i++) gg_noted_add(&typed, (gg_noted){{{10 + i, 10 + i}, 1}, false});
    assert_int_equal(typed.len, 1);
    for (uint32_t i = 0; i < 100000; i++) gg_noted_add(&typed, (gg_noted){{{i * 3, i * 3 + 1}, 0}, false});
    assert_true(typed.len < 10000);
    gg_list_clear(&typed);
}

/* ---- what cannot be followed ------------------------------------------------------------------------------------------- */

static void test_a_change_that_cannot_be_applied(void **state) {
    (void)state;
    gg_session session;
    gg_document *d = open_program(&session, GG_UTF16);
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 0}, GG_STR("# kept\n"));
    gg_str big = {gg_calloc(1, GG_MAX_DOCUMENT_BYTES), GG_MAX_DOCUMENT_BYTES};
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 0}, big);
    assert_true(d->lost);
    assert_null(d->findings);
    edit(d, (gg_lsp_position){0, 0}, (gg_lsp_position){0, 0}, GG_STR("x")); /* of a text that is not known */
    assert_true(d->lost);
    assert_true(gg_str_starts_with(gg_text_bytes(gg_document_text(d)), GG_STR("# kept\nimport")));
    replace_all(d, GG_STR("y"));
    assert_false(d->lost);
    assert_text(d, "y");
    gg_free((char *)(uintptr_t)big.ptr);
    close_session(&session);
}

static void test_a_text_that_cannot_be_held(void **state) {
    (void)state;
    gg_session session;
    open_session(&session, GG_UTF16);
    gg_str big = {gg_calloc(1, GG_MAX_DOCUMENT_BYTES + 1), GG_MAX_DOCUMENT_BYTES + 1};
    open_text(&session, GG_STR("old"));
    gg_document *d = open_text(&session, big); /* the old text is not the client's any more */
    assert_true(d->lost);
    assert_ptr_equal(gg_document_find(&session, URI), d);
    assert_text(d, "");
    replace_all(d, big);
    assert_true(d->lost);
    replace_all(d, GG_STR("small"));
    assert_false(d->lost);
    assert_text(d, "small");
    gg_free((char *)(uintptr_t)big.ptr);
    close_session(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_edits_in_utf16),
        cmocka_unit_test(test_random_edits_in_utf8),
        cmocka_unit_test(test_odd_positions),
        cmocka_unit_test(test_an_edit_that_changes_nothing),
        cmocka_unit_test(test_versions_are_the_clients),
        cmocka_unit_test(test_opened_twice),
        cmocka_unit_test(test_marks_fade_with_their_lines),
        cmocka_unit_test(test_marks_return_with_their_lines),
        cmocka_unit_test(test_a_whole_text_that_differs_in_a_word),
        cmocka_unit_test(test_marks_follow_random_edits),
        cmocka_unit_test(test_noted_changes),
        cmocka_unit_test(test_a_change_that_cannot_be_applied),
        cmocka_unit_test(test_a_text_that_cannot_be_held),
    };
    seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
