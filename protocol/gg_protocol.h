/* protocol/ — bytes → frames → JSON-RPC messages → typed LSP values, and back.
 * Knows bytes, JSON (jansson) and LSP types; no event loop, no files, no Python.
 *
 *   frame.c      Content-Length framing: push bytes in, take message bodies out
 *   message.c    request / notification / response envelopes
 *   codec.c      one interpreter over the generated field tables (lsp_types.h)
 */
#ifndef GG_PROTOCOL_H
#define GG_PROTOCOL_H

#include <jansson.h>

#include "base/gg_base.h"
#include "protocol/codec.h"
#include "protocol/lsp_types.h"

/* ---- framing ------------------------------------------------------------------------------------------------- */
#define GG_MAX_MESSAGE_BYTES (64u * 1024 * 1024)
#define GG_MAX_HEADER_BYTES  (8u * 1024)

typedef struct gg_frame_reader gg_frame_reader;

gg_frame_reader *gg_frame_reader_new(size_t max_message_bytes);
void gg_frame_reader_free(gg_frame_reader *reader);
/* Appends bytes as they arrive.  0 or GG_ETOOBIG. */
int gg_frame_reader_push(gg_frame_reader *reader, gg_str bytes, gg_error *err) GG_MUST_USE;
/* 1: *out is the next body, borrowed until the next push or next; 0: more bytes are needed; GG_EFRAME / GG_ETOOBIG: the
 * header was malformed or too big; the reader has skipped to where the next header may begin and can go on. */
int gg_frame_reader_next(gg_frame_reader *reader, gg_str *out, gg_error *err) GG_MUST_USE;
/* Appends "Content-Length: n\r\n\r\n" and the compact JSON. */
int gg_frame_write(gg_buf *out, const json_t *message, gg_error *err) GG_MUST_USE;
/* The same of a message whose last value is an empty array, in whose place so many bytes of JSON are to go out: what comes before them, and behind
 * them. */
int gg_frame_write_around(gg_buf *head, gg_buf *tail, const json_t *message, size_t array_bytes,
                          gg_error *err) GG_MUST_USE;

/* ---- envelopes ------------------------------------------------------------------------------------------------ */
typedef enum gg_message_kind { GG_MESSAGE_REQUEST, GG_MESSAGE_NOTIFICATION, GG_MESSAGE_RESPONSE } gg_message_kind;

typedef struct gg_message {
    gg_message_kind kind;
    json_t *root;       /* owned; everything below borrows from it */
    json_t *id;         /* integer or string; NULL for a notification, json null possible in an error response */
    const char *method; /* NULL for a response */
    json_t *params;     /* object or array, or NULL */
    json_t *result;     /* response only, NULL when it is an error */
    json_t *error;      /* response only */
} gg_message;

/* GG_EPARSE for text that is not JSON (NUL escapes are allowed, and half a surrogate pair becomes U+FFFD), GG_EREQUEST for JSON that is no JSON-RPC 2.0 message; then
 * out->root and out->id still hold what could be read, so that an error can be answered to the right id. */
int gg_message_parse(gg_message *out, gg_str body, gg_error *err) GG_MUST_USE;
void gg_message_clear(gg_message *message);

/* New references, the caller's.  `_take` arguments are consumed; id is borrowed (NULL writes null). */
json_t *gg_message_response_take(json_t *id, json_t *result_take);
json_t *gg_message_error_take(json_t *id, int rpc_code, const char *text, json_t *data_take);
json_t *gg_message_request_take(json_int_t id, const char *method, json_t *params_take);
json_t *gg_message_notification_take(const char *method, json_t *params_take);

#endif
