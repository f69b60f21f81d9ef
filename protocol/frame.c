/* Content-Length framing.  Push bytes in, take message bodies out; no I/O.  One owner at a time.
 *
 * A header that cannot be understood is reported once; the reader then drops bytes up to the next "Content-Length:" and goes on, so that
 * one bad message does not end a session. */
#include <strings.h>

#include "protocol/gg_protocol.h"

enum { KEPT_BYTES = 256 * 1024 }; /* of memory, when nothing waits */

struct gg_frame_reader {
    gg_buf in;
    size_t taken; /* bytes at the front that were handed out */
    size_t max;
    size_t skip; /* bytes of an oversized body still to drop */
    bool lost;   /* looking for the next header */
};

gg_frame_reader *gg_frame_reader_new(size_t max_message_bytes) {
    gg_frame_reader *reader = gg_calloc(1, sizeof(gg_frame_reader));
    reader->max = max_message_bytes;
    gg_buf_init(&reader->in, max_message_bytes + GG_MAX_HEADER_BYTES + 1024 * 1024);
    return reader;
}

void gg_frame_reader_free(gg_frame_reader *reader) {
    if (reader == NULL) return;
    gg_buf_clear(&reader->in);
    gg_free(reader);
}

static void drop_taken(gg_frame_reader *reader) {
    if (reader->taken) gg_buf_consume(&reader->in, reader->taken);
    reader->taken = 0;
    if (reader->in.len == 0 && reader->in.cap > KEPT_BYTES) gg_buf_clear(&reader->in);
}

int gg_frame_reader_push(gg_frame_reader *reader, gg_str bytes, gg_error *err) {
    if (reader->skip) {
        size_t n = bytes.len < reader->skip ? bytes.len : reader->skip;
        reader->skip -= n;
        bytes = gg_str_slice(bytes, n, bytes.len);
    }
    drop_taken(reader);
    if (gg_buf_append(&reader->in, bytes) != 0)
        return gg_fail(err, GG_ETOOBIG, "more bytes arrived than any message may have");
    return 0;
}

/* The number after "Content-Length:", or -1. */
static int64_t content_length(gg_str header) {
    int64_t length = -1;
    for (size_t at = 0; at < header.len;) {
        size_t end = gg_str_find(header, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = header.len;
        gg_str line = gg_str_trim(gg_str_slice(header, at, end));
        at = end + 1;
        static const char name[] = "Content-Length:";
        if (line.len < sizeof(name) - 1 || strncasecmp(line.ptr, name, sizeof(name) - 1) != 0) continue;
        gg_str digits = gg_str_trim(gg_str_slice(line, sizeof(name) - 1, line.len));
        if (digits.len == 0 || digits.len > 15) return -1;
        length = 0;
        for (size_t i = 0; i < digits.len; i++) {
            if (digits.ptr[i] < '0' || digits.ptr[i] > '9') return -1;
            length = length * 10 + (digits.ptr[i] - '0');
        }
    }
    return length;
}

/* Drops bytes until one that may begin a header; false when more are needed. */
static bool resynchronise(gg_frame_reader *reader) {
    size_t at = gg_str_find(gg_buf_str(&reader->in), GG_STR("Content-Length:"), 0);
    if (at == SIZE_MAX) { /* keep a tail that may be the beginning of the word */
        if (reader->in.len > 16) gg_buf_consume(&reader->in, reader->in.len - 16);
        return false;
    }
    gg_buf_consume(&reader->in, at);
    reader->lost = false;
    return true;
}

static int bad_header(gg_frame_reader *reader, size_t drop, gg_error *err, const char *why) {
    gg_buf_consume(&reader->in, drop);
    reader->lost = true;
    return gg_fail(err, GG_EFRAME, "malformed header: %s", why);
}

int gg_frame_reader_next(gg_frame_reader *reader, gg_str *out, gg_error *err) {
    drop_taken(reader);
    if (reader->lost && !resynchronise(reader)) return 0;
    gg_str in = gg_buf_str(&reader->in);
    gg_str head = gg_str_slice(in, 0, GG_MAX_HEADER_BYTES + 4); /* a large body is not searched for each piece of it */
    size_t end = gg_str_find(head, GG_STR("\r\n\r\n"), 0), gap = 4;
    size_t bare = gg_str_find(head, GG_STR("\n\n"), 0); /* some clients leave the \r out */
    if (bare < end) {
        end = bare;
        gap = 2;
    }
    if (end == SIZE_MAX) {
        if (in.len > GG_MAX_HEADER_BYTES) return bad_header(reader, 1, err, "no empty line ends it");
        return 0;
    }
    int64_t length = content_length(gg_str_slice(in, 0, end));
    if (length < 0) return bad_header(reader, end + gap, err, "no usable Content-Length");
    if ((uint64_t)length > reader->max) {
        size_t here = in.len - end - gap;
        size_t drop = here < (size_t)length ? here : (size_t)length;
        gg_buf_consume(&reader->in, end + gap + drop);
        reader->skip = (size_t)length - drop;
        return gg_fail(err, GG_ETOOBIG, "a message of %lld bytes is over the limit of %zu", (long long)length,
                       reader->max);
    }
    if (in.len - end - gap < (size_t)length) return 0;
    *out = (gg_str){in.ptr + end + gap, (size_t)length};
    reader->taken = end + gap + (size_t)length;
    return 1;
}

int gg_frame_write(gg_buf *out, const json_t *message, gg_error *err) {
    char *body = json_dumps(message, JSON_COMPACT);
    if (body == NULL) return gg_fail(err, GG_EINTERNAL, "a message could not be written as JSON");
    int error = gg_buf_printf(out, "Content-Length: %zu\r\n\r\n", strlen(body));
    if (error == 0) error = gg_buf_append_z(out, body);
    free(body);
    return error ? gg_fail(err, error, "the output queue is over its limit") : 0;
}

int gg_frame_write_around(gg_buf *head, gg_buf *tail, const json_t *message, size_t array_bytes, gg_error *err) {
    char *body = json_dumps(message, JSON_COMPACT);
    if (body == NULL) return gg_fail(err, GG_EINTERNAL, "a message could not be written as JSON");
    gg_str whole = gg_str_from(body);
    size_t end = whole.len;
    while (end > 0 && body[end - 1] == '}') end--;
    if (end < 2 || body[end - 1] != ']' || body[end - 2] != '[') {
        free(body);
        return gg_fail(err, GG_EINTERNAL, "a message has no empty array at its end");
    }
    int error = gg_buf_printf(head, "Content-Length: %zu\r\n\r\n", whole.len - 2 + array_bytes);
    if (error == 0) error = gg_buf_append(head, gg_str_slice(whole, 0, end - 2));
    if (error == 0) error = gg_buf_append(tail, gg_str_slice(whole, end, whole.len));
    free(body);
    return error ? gg_fail(err, error, "the output queue is over its limit") : 0;
}
