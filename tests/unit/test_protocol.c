/* links: gg_protocol */
/* Framing, envelopes and the codec: what well-behaved clients send, and what others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/gg_protocol.h"

static int next(gg_frame_reader *reader, gg_str *body) {
    gg_error err = {0};
    return gg_frame_reader_next(reader, body, &err);
}

static void push(gg_frame_reader *reader, gg_str bytes) {
    gg_error err = {0};
    assert_int_equal(gg_frame_reader_push(reader, bytes, &err), 0);
}

static void test_frames_arrive_byte_by_byte(void **state) {
    (void)state;
    gg_frame_reader *reader = gg_frame_reader_new(1000);
    gg_str wire = GG_STR("Content-Length: 2\r\nContent-Type: x\r\n\r\n{}content-length:3\r\n\r\n[1]"), body;
    size_t found = 0;
    for (size_t i = 0; i < wire.len; i++) {
        push(reader, gg_str_slice(wire, i, i + 1));
        if (next(reader, &body) == 1) assert_true(gg_str_is(body, found++ == 0 ? "{}" : "[1]"));
    }
    assert_int_equal(found, 2);
    gg_frame_reader_free(reader);
}

static void test_a_bad_header_does_not_end_the_session(void **state) {
    (void)state;
    gg_frame_reader *reader = gg_frame_reader_new(1000);
    gg_str body;
    push(reader, GG_STR("Content-Length: x\r\n\r\n{}{}Content-Length: 2\r\n\r\n{}"));
    assert_int_equal(next(reader, &body), GG_EFRAME);
    assert_int_equal(next(reader, &body), 1);
    assert_true(gg_str_is(body, "{}"));
    gg_frame_reader_free(reader);
}

static void test_an_oversized_message_is_skipped(void **state) {
    (void)state;
    gg_frame_reader *reader = gg_frame_reader_new(10);
    gg_str body;
    push(reader, GG_STR("Content-Length: 20\r\n\r\n0123456789"));
    assert_int_equal(next(reader, &body), GG_ETOOBIG);
    push(reader, GG_STR("0123456789Content-Length: 2\r\n\r\n{}"));
    assert_int_equal(next(reader, &body), 1);
    assert_true(gg_str_is(body, "{}"));
    gg_frame_reader_free(reader);
}

static int parse(const char *text, gg_message *message) {
    gg_error err = {0};
    return gg_message_parse(message, gg_str_from(text), &err);
}

static void test_envelopes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int result;
        gg_message_kind kind;
        bool id;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", 0, GG_MESSAGE_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":[]}", 0, GG_MESSAGE_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":null}", 0, GG_MESSAGE_NOTIFICATION, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}", 0, GG_MESSAGE_RESPONSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1,\"message\":\"x\"}}", 0, GG_MESSAGE_RESPONSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", GG_EREQUEST, GG_MESSAGE_NOTIFICATION, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"m\"}", GG_EREQUEST, GG_MESSAGE_NOTIFICATION, false},
        {"{\"id\":3,\"method\":\"m\"}", GG_EREQUEST, GG_MESSAGE_NOTIFICATION, true},
        {"[]", GG_EREQUEST, GG_MESSAGE_NOTIFICATION, false},
        {"{", GG_EPARSE, GG_MESSAGE_NOTIFICATION, false},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"\\ud8zz\"}", GG_EPARSE, GG_MESSAGE_NOTIFICATION, false},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_message message;
        assert_int_equal(parse(rows[i].text, &message), rows[i].result);
        if (rows[i].result == 0) assert_int_equal(message.kind, rows[i].kind);
        assert_int_equal(message.id != NULL, rows[i].id);
        gg_message_clear(&message);
    }
    char deep[8192];
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    gg_message message;
    assert_int_equal(parse(deep, &message), GG_EPARSE);
}

/* JSON.stringify writes half a pair as it is; what is text stays what it was. */
static void test_half_surrogate_pairs(void **state) {
    (void)state;
    static const struct {
        const char *sent, *read;
    } rows[] = {
        {"a\\ud83db", "a\xEF\xBF\xBD"
                      "b"},
        {"\\uDD25", "\xEF\xBF\xBD"},
        {"\\ud83d", "\xEF\xBF\xBD"},
        {"\\ud83d\\ud83d\\udd25", "\xEF\xBF\xBD\xF0\x9F\x94\xA5"},
        {"\\udd25\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\\\\ud83d\\udd25", "\\ud83d\xEF\xBF\xBD"}, /* an escaped backslash, then four harmless digits */
        {"\\ud83d\\n\\\"", "\xEF\xBF\xBD\n\""},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        char body[256];
        snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\"%s\"]}", rows[i].sent);
        gg_message message;
        assert_int_equal(parse(body, &message), 0);
        assert_string_equal(json_string_value(json_array_get(message.params, 0)), rows[i].read);
        gg_message_clear(&message);
    }
}

static void test_large_numbers_are_the_end(void **state) {
    (void)state;
    gg_arena *arena = gg_arena_new();
    json_t *json = json_loads("{\"line\":4294967296,\"character\":9007199254740991}", 0, NULL);
    gg_lsp_position position;
    assert_int_equal(gg_decode(&gg_type_position, json, "p", &position, arena, NULL), 0);
    assert_int_equal(position.line, INT32_MAX);
    assert_int_equal(position.character, INT32_MAX);
    json_decref(json);
    gg_arena_free(arena);
}

static void wants(const gg_type *type, const char *text, const char *said) {
    gg_arena *arena = gg_arena_new();
    gg_error err = {0};
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    void *out = gg_arena_alloc(arena, gg_type_size(type));
    assert_int_equal(gg_decode(type, json, "params", out, arena, &err), GG_EPARAMS);
    assert_string_equal(err.message, said);
    json_decref(json);
    gg_arena_free(arena);
}

static void test_errors_name_the_path(void **state) {
    (void)state;
    const gg_type *type = &gg_type_code_action_params;
    wants(type, "[]", "params wants object");
    wants(type, "{}", "params.textDocument wants object");
    wants(type, "{\"textDocument\":{\"uri\":3}}", "params.textDocument.uri wants string");
    wants(type, "{\"textDocument\":{\"uri\":\"u\"},\"range\":{\"start\":{\"line\":\"x\",\"character\":0}}}",
          "params.range.start.line wants uinteger");
    wants(type, "{\"textDocument\":{\"uri\":\"u\"},\"range\":{\"start\":{\"line\":-1,\"character\":0}}}",
          "params.range.start.line wants uinteger");
    wants(type,
          "{\"textDocument\":{\"uri\":\"u\"},\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":0,"
          "\"character\":0}},"
          "\"context\":{\"diagnostics\":[{}]}}",
          "params.context.diagnostics[0].range wants object");
    wants(&gg_type_initialize_params, "{\"capabilities\":3}", "params.capabilities wants object");
    wants(&gg_type_initialize_params, "{\"capabilities\":null}", "params.capabilities wants object");
}

/* What is decoded and encoded again is what was there, but for what we do not know. */
static void round_trip(const gg_type *type, const char *text, const char *expected) {
    gg_arena *arena = gg_arena_new();
    gg_error err = {0};
    json_t *json = json_loads(text, 0, NULL), *want = json_loads(expected, 0, NULL);
    assert_true(json && want);
    void *value = gg_arena_alloc(arena, gg_type_size(type));
    if (gg_decode(type, json, "value", value, arena, &err) != 0) fail_msg("%s", err.message);
    json_t *again = gg_encode(type, value);
    assert_true(json_equal(again, want));
    json_decref(again);
    json_decref(want);
    json_decref(json);
    gg_arena_free(arena);
}

static void test_round_trips(void **state) {
    (void)state;
    static const char diagnostic[] = "{\"range\":{\"start\":{\"line\":1,\"character\":2},\"end\":{\"line\":3,"
                                     "\"character\":4}},\"message\":\"m\",\"severity\":99,"
                                     "\"code\":\"GB0170\",\"codeDescription\":{\"href\":\"h\"},\"source\":\"s\","
                                     "\"tags\":[1],\"relatedInformation\":[],"
                                     "\"data\":{\"x\":[1,2.5,null]}}";
    round_trip(&gg_type_diagnostic, diagnostic, diagnostic);
    static const char change[] =
        "{\"textDocument\":{\"uri\":\"u\",\"version\":-3},\"contentChanges\":[{\"text\":\"all\"},{\"range\":{\"start\":"
        "{\"line\":0,\"character\":0},\"end\":{\"line\":0,\"character\":1}},\"text\":\"\\u0000\"}]}";
    json_error_t why;
    json_t *json = json_loads(change, JSON_ALLOW_NUL, &why);
    gg_arena *arena = gg_arena_new();
    gg_error err = {0};
    gg_lsp_did_change_text_document_params params;
    assert_int_equal(gg_decode(&gg_type_did_change_text_document_params, json, "params", &params, arena, &err), 0);
    assert_int_equal(params.text_document.version, -3);
    assert_int_equal(params.content_changes.len, 2);
    assert_null(params.content_changes.items[0].range);
    assert_int_equal(params.content_changes.items[1].text.len, 1);
    json_decref(json);
    gg_arena_free(arena);
    round_trip(&gg_type_hover_params,
               "{\"textDocument\":{\"uri\":\"u\"},\"position\":{\"line\":1,\"character\":0},\"unknown\":1,"
               "\"workDoneToken\":\"t\"}",
               "{\"textDocument\":{\"uri\":\"u\"},\"position\":{\"line\":1,\"character\":0},\"workDoneToken\":\"t\"}");
    round_trip(&gg_type_cancel_params, "{\"id\":7}", "{\"id\":7}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_arrive_byte_by_byte),
        cmocka_unit_test(test_a_bad_header_does_not_end_the_session),
        cmocka_unit_test(test_an_oversized_message_is_skipped),
        cmocka_unit_test(test_envelopes),
        cmocka_unit_test(test_half_surrogate_pairs),
        cmocka_unit_test(test_large_numbers_are_the_end),
        cmocka_unit_test(test_errors_name_the_path),
        cmocka_unit_test(test_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
