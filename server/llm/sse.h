/* Server-sent events (the WHATWG's text/event-stream), from bytes that come in any pieces.  Private to server/.  No I/O; any thread, one at a time. */
#ifndef GG_SSE_H
#define GG_SSE_H

#include "base/gg_base.h"

typedef struct gg_sse_event {
    gg_str name; /* empty: it has none */
    gg_str data; /* its lines joined by \n; valid UTF-8 */
} gg_sse_event;

/* Borrowed until it returns; other than 0 stops. */
typedef int (*gg_sse_on_event)(void *data, const gg_sse_event *event, gg_error *err);

typedef struct gg_sse {
    gg_buf line, name, data;
    bool has_data;  /* the event has a data line, maybe an empty one */
    bool after_cr;  /* a \n that comes next belongs to the \r before it */
    bool past_mark; /* the place of a byte order mark is behind */
} gg_sse;

/* No line and no event may be larger. */
void gg_sse_init(gg_sse *sse, size_t max_bytes);
void gg_sse_clear(gg_sse *sse);
void gg_sse_reset(gg_sse *sse); /* for another stream */
/* Every event that these bytes complete; one that the stream's end cuts off is never told.  GG_ETOOBIG, GG_EPARSE for what is no UTF-8, or what
 * on_event returned: then the stream is of no more use. */
int gg_sse_push(gg_sse *sse, gg_str bytes, gg_sse_on_event on_event, void *data, gg_error *err) GG_MUST_USE;

#endif
