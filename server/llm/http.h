/* HTTP posts whose answers come as they are made, by libcurl.  Private to server/.  Loop thread only.
 *
 * DESIGN  One thread has libcurl's multi handle and everybody's transfers; the loop hands it orders and is handed bytes.  It is no loop's own work, since
 * libcurl does not keep a loop's time: reading the system's certificates alone takes OpenSSL 100 ms, for each connection, and giving up
 * a transfer may wait for a name server (docs/adr/0005).  The thread begins with the first request; connections are kept for the next. */
#ifndef GG_HTTP_H
#define GG_HTTP_H

#include <uv.h>

#include "base/gg_base.h"

typedef struct gg_http gg_http;
typedef struct gg_http_exchange gg_http_exchange;

typedef enum gg_http_failure {
    GG_HTTP_FINE,            /* an answer came to its end, whatever its status */
    GG_HTTP_NO_HOST,         /* the name is not known */
    GG_HTTP_NO_CONNECTION,   /* refused, unreachable */
    GG_HTTP_CONNECT_TIMEOUT, /* connect_ms */
    GG_HTTP_NOT_TRUSTED,     /* the certificate, or TLS itself */
    GG_HTTP_BROKEN,          /* the connection ended before the answer did */
    GG_HTTP_IDLE,            /* idle_ms without a byte */
    GG_HTTP_TOTAL,           /* total_ms */
    GG_HTTP_TOO_BIG,         /* max_bytes */
    GG_HTTP_OTHER
} gg_http_failure;

typedef struct gg_http_end {
    gg_http_failure failure;
    int status;         /* 0: none came */
    bool began;         /* some of the answer's body came */
    int64_t wait_s;     /* Retry-After, in seconds from now; -1: it says nothing */
    char location[256]; /* of a redirect, which is never followed: "" for none */
    char words[256];    /* libcurl's, of a failure */
} gg_http_end;

typedef struct gg_http_request { /* all of it is copied; what of it is secret is wiped with the exchange */
    const char *url;
    const char *const *headers; /* "Name: value" */
    size_t header_count;
    gg_str body;
    const char *ca_file; /* NULL: the system's */
    const char *proxy;   /* NULL: what the environment says */
    bool direct;         /* no proxy at all */
    uint32_t connect_ms, idle_ms, total_ms;
    size_t max_bytes;
    void *data;
    void (*on_bytes)(void *data, int status, gg_str bytes);
    void (*on_end)(void *data, const gg_http_end *end); /* once, last */
} gg_http_request;

gg_http *gg_http_new(uv_loop_t *loop);
/* Nothing calls back any more; the loop has something to wait for until the thread has ended.  NULL is fine. */
void gg_http_free(gg_http *http);
/* No callback comes from within. */
gg_http_exchange *gg_http_post(gg_http *http, const gg_http_request *request);
/* Nothing is told of it any more.  Cancel closes its connection; leave is for an answer that was understood before its end came: that is
 * waited for, for a moment, so that the connection may serve again. */
void gg_http_cancel(gg_http_exchange *exchange);
void gg_http_leave(gg_http_exchange *exchange);

#endif
