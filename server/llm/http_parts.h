/* What http.c (the loop's side) and http_thread.c (libcurl's) share.  Private to server/llm/. */
#ifndef GG_HTTP_PARTS_H
#define GG_HTTP_PARTS_H

#include "server/llm/http.h"
#include "server/llm/libcurl.h"

typedef enum gg__http_order { GG__HTTP_START, GG__HTTP_CANCEL, GG__HTTP_LEAVE } gg__http_order;

typedef struct gg__http_ordered {
    gg_http_exchange *exchange;
    gg__http_order order;
} gg__http_ordered;

/* Belongs to the thread from its order to start until `ended`; then to the loop, which frees it. */
struct gg_http_exchange {
    gg_http *http;
    gg_http_request asked; /* its texts are copies, or NULL; the headers are below */
    char **headers;        /* NULL-ended */
    /* the loop's */
    bool dropped;
    /* the thread's */
    CURL *easy;
    struct curl_slist *list; /* of the headers */
    char error[CURL_ERROR_SIZE];
    size_t received;
    uint64_t started_ms, heard_ms;
    uint64_t leave_ms; /* not to be waited for any longer than that; 0: it was not left */
    /* under the mutex */
    gg_buf inbox;
    size_t taken; /* of the inbox */
    int status;
    bool ready; /* it is in the list */
    bool ended;
    gg_http_end end;
};

struct gg_http {
    uv_loop_t *loop;
    uv_async_t news;
    uv_thread_t thread;
    bool started, freed;
    GG_LIST(gg_http_exchange *) exchanges; /* the loop's */
    GG_LIST(gg_http_exchange *) running;   /* the thread's */
    uv_mutex_t mutex;                      /* over what follows */
    const gg__curl *curl;                  /* NULL: it is not loaded yet, or cannot be */
    CURLM *multi;                          /* to be woken; NULL: it is not there yet, or any more */
    GG_LIST(gg__http_ordered) orders;
    GG_LIST(gg_http_exchange *) ready;
    bool quit, over;
};

void gg__http_thread(void *http);

#endif
