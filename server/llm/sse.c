/* See sse.h: lines end in \n, \r or \r\n; an empty one ends an event. */
#include "server/llm/sse.h"

void gg_sse_init(gg_sse *sse, size_t max_bytes) {
    *sse = (gg_sse){.has_data = false};
    gg_buf_init(&sse->line, max_bytes);
    gg_buf_init(&sse->name, max_bytes);
    gg_buf_init(&sse->data, max_bytes);
}

void gg_sse_clear(gg_sse *sse) {
    gg_buf_clear(&sse->line);
    gg_buf_clear(&sse->name);
    gg_buf_clear(&sse->data);
}

static void forget_event(gg_sse *sse) {
    gg_buf_reset(&sse->name);
    gg_buf_reset(&sse->data);
    sse->has_data = false;
}

void gg_sse_reset(gg_sse *sse) {
    gg_buf_reset(&sse->line);
    forget_event(sse);
    sse->after_cr = sse->past_mark = false;
}

static int too_big(const gg_sse *sse, gg_error *err) {
    return gg_fail(err, GG_ETOOBIG, "an event of the answer is over %zu bytes", sse->line.max);
}

static int end_event(gg_sse *sse, gg_sse_on_event on_event, void *data, gg_error *err) {
    gg_sse_event event = {gg_buf_str(&sse->name), gg_buf_str(&sse->data)};
    int error = 0;
    if (sse->has_data && (gg_utf8_valid_prefix(event.data) != event.data.len || //
                          gg_utf8_valid_prefix(event.name) != event.name.len))
        error = gg_fail(err, GG_EPARSE, "the answer is not UTF-8");
    else if (sse->has_data)
        error = on_event(data, &event, err);
    forget_event(sse);
    return error;
}

/* A field of the event: `data` adds a line, `event` names it; others (id, retry, and comments, whose name is empty) are not for us. */
static int take_field(gg_sse *sse, gg_str line, gg_error *err) {
    size_t colon = gg_str_find(line, GG_STR(":"), 0);
    gg_str name = colon == SIZE_MAX ? line : gg_str_slice(line, 0, colon);
    gg_str value = colon == SIZE_MAX ? GG_STR_NULL : gg_str_slice(line, colon + 1, line.len);
    if (value.len && value.ptr[0] == ' ') value = gg_str_slice(value, 1, value.len);
    int error = 0;
    if (gg_str_is(name, "data")) {
        if (sse->has_data) error = gg_buf_append_char(&sse->data, '\n');
        if (error == 0) error = gg_buf_append(&sse->data, value);
        sse->has_data = true;
    } else if (gg_str_is(name, "event")) {
        gg_buf_reset(&sse->name);
        error = gg_buf_append(&sse->name, value);
    }
    return error ? too_big(sse, err) : 0;
}

static int end_line(gg_sse *sse, gg_sse_on_event on_event, void *data, gg_error *err) {
    gg_str line = gg_buf_str(&sse->line), mark = GG_STR("\xef\xbb\xbf");
    if (!sse->past_mark && gg_str_starts_with(line, mark)) line = gg_str_slice(line, mark.len, line.len);
    sse->past_mark = true;
    int error = line.len ? take_field(sse, line, err) : end_event(sse, on_event, data, err);
    gg_buf_reset(&sse->line);
    return error;
}

int gg_sse_push(gg_sse *sse, gg_str bytes, gg_sse_on_event on_event, void *data, gg_error *err) {
    for (size_t at = 0; at < bytes.len;) {
        if (sse->after_cr && bytes.ptr[at] == '\n') {
            sse->after_cr = false;
            at++;
            continue;
        }
        size_t end = at;
        while (end < bytes.len && bytes.ptr[end] != '\n' && bytes.ptr[end] != '\r') end++;
        sse->after_cr = false;
        if (gg_buf_append(&sse->line, gg_str_slice(bytes, at, end)) != 0) return too_big(sse, err);
        at = end;
        if (end == bytes.len) break;
        sse->after_cr = bytes.ptr[at++] == '\r';
        int error = end_line(sse, on_event, data, err);
        if (error) return error;
    }
    return 0;
}
