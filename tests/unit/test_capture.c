/* links: gg_analysis */
/* The worker's frames: framing, entries and breaks decoded, requests encoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static const char entry_json[] = "{\"name\":\"Net#1\",\"inputs\":\"graphglue_inputs\",\"status\":\"breaks\","
                                 "\"message\":null,\"graphs\":2,\"ops\":[3,1],"
                                 "\"class\":\"Net\",\"line\":4,\"file\":\"/w/"
                                 "net.py\",\"unheard_of\":{},\"breaks\":[{\"id\":\"GB0170\",\"type\":\"Data-dependent "
                                 "branching\",\"reason\":\"words\",\"context\":\"c\",\"explanation\":\"e\",\"hints\":["
                                 "\"h1\",\"h2\"],\"kind\":\"skip\",\"in_loop\":true,"
                                 "\"eager\":{\"function\":\"Net.forward\",\"rest\":true},"
                                 "\"aggravations\":[\"GB7000\"],\"stack\":[{\"file\":\"/w/"
                                 "net.py\",\"function\":\"forward\",\"line\":7,\"end_line\":7,\"col\":3,"
                                 "\"end_col\":14,\"origin\":\"workspace\"},{\"file\":\"/"
                                 "t.py\",\"function\":null,\"line\":1,\"end_line\":null,\"col\":null,"
                                 "\"end_col\":null,\"origin\":\"torch\"}],\"facts\":{\"h\":{\"kind\":\"tensor\","
                                 "\"dtype\":\"torch.float32\",\"shape\":[4,\"s0\"],"
                                 "\"requires_grad\":true,\"device\":\"cpu\"},\"n\":{\"kind\":\"int\"},\"o\":{\"kind\":"
                                 "\"a_new_kind\"}},\"value\":null}]}";

static json_t *json_of(const char *z) {
    json_t *json = json_loads(z, 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_entry(void **state) {
    (void)state;
    json_t *json = json_of(entry_json);
    gg_arena *arena = gg_arena_new();
    gg_entry entry;
    assert_int_equal(gg_entry_decode(&entry, json, arena, NULL), 0);
    json_decref(json); /* everything was copied */
    assert_true(gg_str_is(entry.name, "Net#1"));
    assert_int_equal(entry.status, GG_ENTRY_BREAKS);
    assert_string_equal(gg_entry_status_name(entry.status), "breaks");
    assert_int_equal(entry.message.len, 0);
    assert_int_equal(entry.line, 4);
    assert_int_equal(entry.graphs, 2);
    assert_int_equal(entry.op_count, 2);
    assert_int_equal(entry.ops[0], 3);
    assert_int_equal(entry.break_count, 1);
    const gg_break *b = &entry.breaks[0];
    assert_true(gg_str_is(b->id, "GB0170"));
    assert_int_equal(b->hint_count, 2);
    assert_true(b->skip && b->in_loop && b->eager_rest);
    assert_true(gg_str_is(b->eager_function, "Net.forward"));
    assert_int_equal(b->aggravation_count, 1);
    assert_int_equal(b->stack_len, 2);
    assert_int_equal(b->stack[0].origin, GG_ORIGIN_WORKSPACE);
    assert_int_equal(b->stack[0].end_col, 14);
    assert_int_equal(b->stack[1].col, -1);
    assert_int_equal(b->stack[1].end_line, 0);
    assert_int_equal(b->fact_count, 3);
    assert_int_equal(b->facts[0].kind, GG_VALUE_TENSOR);
    assert_int_equal(b->facts[0].rank, 2);
    assert_int_equal(b->facts[0].shape[0], 4);
    assert_int_equal(b->facts[0].shape[1], -1);
    assert_true(b->facts[0].requires_grad);
    assert_int_equal(b->facts[1].rank, -1);
    assert_int_equal(b->facts[2].kind, GG_VALUE_OTHER);
    assert_int_equal(b->value.kind, GG_VALUE_UNKNOWN);
    gg_arena_free(arena);
}

static void test_wrong(void **state) {
    (void)state;
    static const struct {
        const char *json, *says;
    } rows[] = {
        {"[]", "entry"},
        {"{\"name\":3}", "entry.name"},
        {"{\"graphs\":\"2\"}", "entry.graphs"},
        {"{\"graphs\":-1}", "entry.graphs"},
        {"{\"graphs\":99999999999}", "entry.graphs"},
        {"{\"breaks\":{}}", "entry.breaks"},
        {"{\"breaks\":[3]}", "entry.breaks"},
        {"{\"breaks\":[{\"stack\":[null]}]}", "entry.stack"},
        {"{\"breaks\":[{\"stack\":[{\"line\":-3}]}]}", "entry.line"},
        {"{\"breaks\":[{\"hints\":[1]}]}", "entry.hints"},
        {"{\"breaks\":[{\"facts\":{\"x\":[]}}]}", "entry.facts"},
        {"{\"breaks\":[{\"in_loop\":1}]}", "entry.in_loop"},
        {"{\"breaks\":[{\"eager\":\"f\"}]}", "entry.eager"},
        {"{\"cuda\":\"cuda:0\"}", "entry.cuda"},
        {"{\"cuda\":{\"free_bytes\":-1}}", "entry.free_bytes"},
        {"{\"cuda\":{\"elapsed_ms\":\"1\"}}", "entry.elapsed_ms"},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_arena *arena = gg_arena_new();
        json_t *json = json_of(rows[i].json);
        gg_entry entry;
        gg_error err;
        assert_int_equal(gg_entry_decode(&entry, json, arena, &err), GG_EPARAMS);
        if (strstr(err.message, rows[i].says) == NULL) fail_msg("%s: %s", rows[i].json, err.message);
        json_decref(json);
        gg_arena_free(arena);
    }
}

static void test_what_was_taken_of_a_device(void **state) {
    (void)state;
    gg_arena *arena = gg_arena_new();
    gg_entry entry;
    json_t *json =
        json_of("{\"cuda\":{\"device\":\"cuda:1\",\"name\":\"GPU\",\"total_bytes\":9000000000,\"free_bytes\":7,"
                "\"peak_bytes\":8,\"tensor_bytes\":null,\"elapsed_ms\":2}}");
    assert_int_equal(gg_entry_decode(&entry, json, arena, NULL), 0);
    json_decref(json);
    assert_true(entry.cuda.asked && !gg_entry_lacks_device(&entry));
    assert_true(gg_str_is(entry.cuda.device, "cuda:1") && gg_str_is(entry.cuda.name, "GPU"));
    assert_int_equal(entry.cuda.total_bytes, 9000000000);
    assert_int_equal(entry.cuda.free_bytes, 7);
    assert_int_equal(entry.cuda.peak_bytes, 8);
    assert_int_equal(entry.cuda.tensor_bytes, -1);
    assert_true(entry.cuda.elapsed_ms == 2.0);
    json = json_of("{\"cuda\":{\"device\":null}}");
    assert_int_equal(gg_entry_decode(&entry, json, arena, NULL), 0);
    json_decref(json);
    assert_true(gg_entry_lacks_device(&entry) && entry.cuda.elapsed_ms < 0);
    json = json_of("{\"cuda\":null}");
    assert_int_equal(gg_entry_decode(&entry, json, arena, NULL), 0);
    json_decref(json);
    assert_false(entry.cuda.asked || gg_entry_lacks_device(&entry));
    gg_arena_free(arena);
}

static void test_unknown_is_fine(void **state) {
    (void)state;
    gg_arena *arena = gg_arena_new();
    json_t *json = json_of("{}");
    gg_break b;
    assert_int_equal(gg_break_decode(&b, json, arena, NULL), 0);
    assert_int_equal(b.stack_len, 0);
    assert_false(b.skip);
    gg_entry entry;
    assert_int_equal(gg_entry_decode(&entry, json, arena, NULL), 0);
    assert_int_equal(entry.status, GG_ENTRY_CAPTURE_ERROR);
    json_decref(json);
    gg_arena_free(arena);
}

static void test_frames(void **state) {
    (void)state;
    gg_buf wire, part;
    gg_buf_init(&wire, 1 << 20);
    gg_buf_init(&part, 1 << 20);
    json_t *frame = json_pack("{s:s, s:i}", "op", "caf\xC3\xA9", "id", 7), *got;
    assert_int_equal(gg_worker_frame_write(&wire, frame, NULL), 0);
    assert_int_equal(gg_worker_frame_write(&wire, frame, NULL), 0);
    size_t frames = 0;
    for (size_t i = 0; i < wire.len; i++) { /* byte by byte, as a slow pipe */
        assert_int_equal(gg_buf_append_char(&part, wire.ptr[i]), 0);
        int rc = gg_worker_frame_next(&part, &got, NULL);
        assert_true(rc == 0 || rc == 1);
        if (rc == 0) continue;
        assert_true(json_equal(got, frame));
        json_decref(got);
        frames++;
    }
    assert_int_equal(frames, 2);
    assert_int_equal(part.len, 0);

    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"\xFF\xFF\xFF\xFF{}", 6}, {"\0\0\0\2[]", 6}, {"\0\0\0\1{", 5}, {"\0\0\0\0", 4}, {"\0\0\0\4\"\xFF\xFE\"", 8}};
    for (size_t i = 0; i < GG_COUNT(bad); i++) {
        gg_error err;
        gg_buf_reset(&part);
        assert_int_equal(gg_buf_append(&part, (gg_str){bad[i].bytes, bad[i].len}), 0);
        assert_int_equal(gg_worker_frame_next(&part, &got, &err), GG_EFRAME);
        assert_null(got);
        assert_true(strlen(err.message) > 0);
    }
    json_decref(frame);
    gg_buf_clear(&wire);
    gg_buf_init(&wire, 8);
    frame = json_pack("{s:s}", "op", "too long for the buffer");
    assert_int_equal(gg_worker_frame_write(&wire, frame, NULL), GG_ETOOBIG);
    assert_int_equal(wire.len, 0);
    json_decref(frame);
    gg_buf_clear(&wire);
    gg_buf_clear(&part);
}

static void test_requests(void **state) {
    (void)state;
    gg_overlay_file overlay[] = {{GG_STR("/w/a.py"), GG_STR("x = '\0'\n")}};
    gg_str names[] = {GG_STR("Net")};
    gg_capture_request capture = {
        .id = 3, .file = GG_STR("/w/\xFF.py"), .overlay = overlay, .overlay_count = 1, .deadline_ms = 9};
    json_t *json = gg_capture_request_encode(&capture);
    assert_string_equal(json_string_value(json_object_get(json, "op")), "capture");
    assert_string_equal(json_string_value(json_object_get(json, "file")), "/w/\xEF\xBF\xBD.py");
    assert_true(json_is_null(json_object_get(json, "entries")));
    const json_t *file = json_array_get(json_object_get(json, "overlay"), 0);
    assert_int_equal(json_string_length(json_object_get(file, "text")), 8);
    json_decref(json);

    const gg_str also = GG_STR("effects");
    gg_verify_request verify = {.id = 4,
                                .file = GG_STR("/w/a.py"),
                                .edited = overlay,
                                .edited_count = 1,
                                .entries = names,
                                .entry_count = 1,
                                .safety = "numeric",
                                .also = &also,
                                .also_count = 1,
                                .train = true,
                                .sandbox = true};
    json = gg_verify_request_encode(&verify);
    assert_string_equal(json_string_value(json_object_get(json, "safety")), "numeric");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "also"), 0)), "effects");
    assert_int_equal(json_array_size(json_object_get(json, "original")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "edited")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "entries"), 0)), "Net");
    assert_true(json_is_true(json_object_get(json, "train")));
    assert_true(json_is_true(json_object_get(json, "sandbox")));
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_what_was_taken_of_a_device),
        cmocka_unit_test(test_unknown_is_fine),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
