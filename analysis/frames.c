/* Frames of the worker's protocol (docs/worker-protocol.md): bytes in, JSON out, and the requests we send.  No I/O.
 * Threads: any. */
#include <string.h>

#include "analysis/private.h"

int gg_worker_frame_next(gg_buf *in, json_t **out, gg_error *err) {
    *out = NULL;
    if (in->len < 4) return 0;
    const unsigned char *head = (const unsigned char *)in->ptr;
    size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (len > GG_MAX_WORKER_FRAME_BYTES)
        return gg_fail(err, GG_EFRAME, "the worker announced a frame of %zu bytes, over the limit of %u", len,
                       GG_MAX_WORKER_FRAME_BYTES);
    if (in->len - 4 < len) return 0;
    json_error_t why;
    json_t *frame = json_loadb(in->ptr + 4, len, JSON_ALLOW_NUL, &why);
    gg_buf_consume(in, 4 + len);
    if (!json_is_object(frame)) {
        const char *text = frame ? "it is no object" : why.text;
        gg_fail(err, GG_EFRAME, "the worker sent a frame that cannot be read: %s", text);
        json_decref(frame);
        return GG_EFRAME;
    }
    *out = frame;
    return 1;
}

static int append_chunk(const char *bytes, size_t len, void *data) {
    return gg_buf_append(data, (gg_str){bytes, len}) == 0 ? 0 : -1;
}

int gg_worker_frame_write(gg_buf *out, const json_t *frame, gg_error *err) {
    gg_buf body;
    gg_buf_init(&body, GG_MAX_WORKER_FRAME_BYTES);
    int rc = 0;
    if (json_dump_callback(frame, append_chunk, &body, JSON_COMPACT) != 0) {
        rc =
            gg_fail(err, GG_ETOOBIG, "a frame for the worker is over the limit of %u bytes", GG_MAX_WORKER_FRAME_BYTES);
        goto cleanup;
    }
    char head[4] = {(char)(body.len >> 24), (char)(body.len >> 16), (char)(body.len >> 8), (char)body.len};
    if (out->max - out->len < sizeof(head) + body.len) {
        rc = gg_fail(err, GG_ETOOBIG, "too much is waiting to be sent to the worker");
        goto cleanup;
    }
    rc = gg_buf_append(out, (gg_str){head, sizeof(head)});
    if (rc == 0) rc = gg_buf_append(out, gg_buf_str(&body));

cleanup:
    gg_buf_clear(&body);
    return rc;
}

/* A JSON string; bytes that are no UTF-8 (a path may hold some) become U+FFFD. */
static json_t *string(gg_str s) {
    json_t *whole = json_stringn(s.ptr ? s.ptr : "", s.len);
    if (whole != NULL) return whole;
    gg_buf clean;
    gg_buf_init(&clean, s.len * 3 + 1);
    while (s.len > 0) {
        size_t valid = gg_utf8_valid_prefix(s);
        (void)gg_buf_append(&clean, gg_str_slice(s, 0, valid));
        if (valid < s.len) {
            (void)gg_buf_append(&clean, GG_STR("\xEF\xBF\xBD"));
            valid++;
        }
        s = gg_str_slice(s, valid, s.len);
    }
    json_t *out = json_stringn(clean.ptr, clean.len);
    gg_buf_clear(&clean);
    return out;
}

static json_t *overlay(const gg_overlay_file *files, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *file = json_object();
        json_object_set_new(file, "file", string(files[i].file));
        json_object_set_new(file, "text", string(files[i].text));
        json_array_append_new(list, file);
    }
    return list;
}

static json_t *names(const gg_str *items, size_t count) {
    if (count == 0) return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, string(items[i]));
    return list;
}

static json_t *run_request(const char *op, const gg_capture_request *request) {
    json_t *frame = json_object();
    json_object_set_new(frame, "op", json_string(op));
    json_object_set_new(frame, "id", json_integer(request->id));
    json_object_set_new(frame, "file", string(request->file));
    json_object_set_new(frame, "overlay", overlay(request->overlay, request->overlay_count));
    json_object_set_new(frame, "entries", names(request->entries, request->entry_count));
    json_object_set_new(frame, "packages", names(request->packages, request->package_count));
    json_object_set_new(frame, "train", json_boolean(request->train));
    json_object_set_new(frame, "deadline_ms", json_integer(request->deadline_ms));
    json_object_set_new(frame, "memory_bytes", json_integer(0));
    return frame;
}

json_t *gg_capture_request_encode(const gg_capture_request *request) {
    return run_request("capture", request);
}

json_t *gg_write_inputs_request_encode(const gg_capture_request *request) {
    return run_request("write_inputs", request);
}

json_t *gg_graphs_request_encode(const gg_capture_request *request) {
    return run_request("graphs", request);
}

json_t *gg_packages_request_encode(const gg_capture_request *request) {
    return run_request("packages", request);
}

static json_t *compare_request(const char *op, const gg_verify_request *request) {
    json_t *frame = json_object();
    json_object_set_new(frame, "op", json_string(op));
    json_object_set_new(frame, "id", json_integer(request->id));
    json_object_set_new(frame, "file", string(request->file));
    json_object_set_new(frame, "original", overlay(request->original, request->original_count));
    json_object_set_new(frame, "edited", overlay(request->edited, request->edited_count));
    json_object_set_new(frame, "entries", names(request->entries, request->entry_count));
    json_object_set_new(frame, "packages", names(request->packages, request->package_count));
    json_object_set_new(frame, "safety", json_string(request->safety ? request->safety : "exact"));
    json_object_set_new(frame, "also", names(request->also, request->also_count));
    json_object_set_new(frame, "copies", json_boolean(request->copies));
    json_object_set_new(frame, "sandbox", json_boolean(request->sandbox));
    json_object_set_new(frame, "train", json_boolean(request->train));
    if (request->more_input_count)
        json_object_set_new(frame, "more_inputs", names(request->more_inputs, request->more_input_count));
    json_object_set_new(frame, "deadline_ms", json_integer(request->deadline_ms));
    json_object_set_new(frame, "memory_bytes", json_integer(0));
    return frame;
}

json_t *gg_verify_request_encode(const gg_verify_request *request) {
    return compare_request("verify", request);
}

json_t *gg_bench_request_encode(const gg_verify_request *request) {
    return compare_request("bench", request);
}
