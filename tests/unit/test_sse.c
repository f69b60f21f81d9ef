/* links: gg_server */
/* Server-sent events: whatever the pieces, the same events; what is over a ceiling or no UTF-8 is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/llm/sse.h"

/* Events as name=data; one behind another. */
static int note(void *data, const gg_sse_event *event, gg_error *err) {
    (void)err;
    return gg_buf_printf(data, "%.*s=%.*s;", GG_STR_ARG(event->name), GG_STR_ARG(event->data));
}

static int read_in(gg_buf *out, gg_str stream, size_t step, size_t max, gg_error *err) {
    gg_sse sse;
    int error = 0;
    gg_sse_init(&sse, max);
    for (size_t at = 0; at < stream.len && error == 0; at += step)
        error = gg_sse_push(&sse, gg_str_slice(stream, at, at + step), note, out, err);
    gg_sse_clear(&sse);
    return error;
}

static void check(const char *stream, const char *wanted) {
    gg_buf out;
    gg_buf_init(&out, 65536);
    for (size_t step = 1; step <= strlen(stream) + 1; step++) {
        gg_buf_reset(&out);
        assert_int_equal(read_in(&out, gg_str_from(stream), step, 1024, NULL), 0);
        assert_string_equal(out.ptr ? out.ptr : "", wanted);
    }
    gg_buf_clear(&out);
}

static void test_events(void **state) {
    (void)state;
    check("data: a\n\n", "=a;");
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "=a;=b;=c;");
    check("event: ping\ndata: {}\n\ndata: x\n\n", "ping={};=x;");
    check("data: one\ndata:  two\ndata\ndata:three\n\n", "=one\n two\n\nthree;");
    check(": a comment\n\nid: 7\nretry: 10\nunknown\ndata:a:b\n\n", "=a:b;");
    check("\xef\xbb\xbf"
          "data: a\n\n",
          "=a;");
    check("event: lost\n\ndata\n\n", "=;"); /* without data, no event; with an empty line of it, one */
    check("data: a\n\ndata: cut off\n", "=a;");
    check("data: gr\xc3\xbc\xc3\x9f\xf0\x9f\x99\x82\n\n", "=gr\xc3\xbc\xc3\x9f\xf0\x9f\x99\x82;");
}

static void test_what_is_refused(void **state) {
    (void)state;
    gg_buf out;
    gg_error err = {0};
    gg_buf_init(&out, 65536);
    assert_int_equal(read_in(&out, gg_str_from("data: \xff\n\n"), 3, 64, &err), GG_EPARSE);
    assert_string_equal(err.message, "the answer is not UTF-8");
    assert_int_equal(read_in(&out, gg_str_from("data: \xed\xa0\x80\n\n"), 99, 64, NULL), GG_EPARSE);
    assert_int_equal(read_in(&out, gg_str_from("data: 12345678901234567890\n\n"), 2, 16, &err), GG_ETOOBIG);
    assert_string_equal(err.message, "an event of the answer is over 16 bytes");
    assert_int_equal(read_in(&out, gg_str_from("data: 1234567\ndata: 1234567\ndata: 1\n\n"), 2, 16, NULL), GG_ETOOBIG);
    assert_int_equal(out.len, 0);
    gg_buf_clear(&out);
}

static int stop(void *data, const gg_sse_event *event, gg_error *err) {
    (void)event;
    ++*(int *)data;
    return gg_fail(err, GG_EFAILED, "enough");
}

static void test_the_reader_may_stop_and_begin_anew(void **state) {
    (void)state;
    gg_sse sse;
    gg_buf out;
    int calls = 0;
    gg_buf_init(&out, 1024);
    gg_sse_init(&sse, 1024);
    assert_int_equal(gg_sse_push(&sse, GG_STR("data: a\n\ndata: b\n\n"), stop, &calls, NULL), GG_EFAILED);
    assert_int_equal(calls, 1);
    assert_int_equal(gg_sse_push(&sse, GG_STR("event: x\ndata: half"), note, &out, NULL), 0);
    gg_sse_reset(&sse);
    assert_int_equal(gg_sse_push(&sse, GG_STR("data: whole\n\n"), note, &out, NULL), 0);
    assert_string_equal(out.ptr, "=whole;");
    gg_sse_clear(&sse);
    gg_buf_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_reader_may_stop_and_begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
