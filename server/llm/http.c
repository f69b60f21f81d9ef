/* See http.h: the loop's side. */
#include <strings.h>

#include "server/llm/http_parts.h"

enum { TURN_BYTES = 64 * 1024, SLICE_BYTES = 16 * 1024 }; /* what is handed on in one turn of the loop, and at once */

/* ---- exchanges ----------------------------------------------------------------------------------------------------------- */

static const char *copy(const char *text) {
    return text ? gg_str_dup(gg_str_from(text)) : NULL;
}

static void free_text(const char *text) {
    gg_free((void *)(uintptr_t)text);
}

/* The key is in one of the headers. */
static void free_headers(char **headers) {
    for (char **h = headers; *h; h++) {
        explicit_bzero(*h, strlen(*h));
        gg_free(*h);
    }
    gg_free(headers);
}

static void free_exchange(gg_http_exchange *e) {
    free_headers(e->headers);
    free_text(e->asked.url);
    free_text(e->asked.body.ptr);
    free_text(e->asked.ca_file);
    free_text(e->asked.proxy);
    gg_buf_clear(&e->inbox);
    gg_free(e);
}

/* It has ended: an order that came too late is nobody's. */
static void forget(gg_http_exchange *e) {
    gg_http *http = e->http;
    uv_mutex_lock(&http->mutex);
    for (size_t i = http->orders.len; i-- > 0;)
        if (http->orders.items[i].exchange == e) gg_list_remove(&http->orders, i);
    uv_mutex_unlock(&http->mutex);
    for (size_t i = 0; i < http->exchanges.len; i++) {
        if (http->exchanges.items[i] != e) continue;
        gg_list_remove(&http->exchanges, i);
        break;
    }
    free_exchange(e);
}

/* ---- orders -------------------------------------------------------------------------------------------------------------- */

/* Under the mutex. */
static void wake(gg_http *http) {
    if (http->multi) http->curl->curl_multi_wakeup(http->multi);
}

static void order(gg_http_exchange *e, gg__http_order what) {
    gg_http *http = e->http;
    gg__http_ordered ordered = {e, what};
    uv_mutex_lock(&http->mutex);
    if (!e->ended) gg_list_push(&http->orders, ordered);
    wake(http);
    uv_mutex_unlock(&http->mutex);
}

gg_http_exchange *gg_http_post(gg_http *http, const gg_http_request *request) {
    gg_http_exchange *e = gg_calloc(1, sizeof(gg_http_exchange));
    e->http = http;
    e->asked = *request;
    e->asked.url = copy(request->url);
    e->asked.body.ptr = gg_str_dup(request->body);
    e->asked.ca_file = copy(request->ca_file);
    e->asked.proxy = copy(request->proxy);
    e->asked.headers = NULL;
    e->headers = gg_calloc(request->header_count + 1, sizeof(char *));
    for (size_t i = 0; i < request->header_count; i++) e->headers[i] = gg_str_dup(gg_str_from(request->headers[i]));
    gg_buf_init(&e->inbox, request->max_bytes);
    gg_list_push(&http->exchanges, e);
    uv_ref((uv_handle_t *)&http->news);
    if (!http->started) {
        http->started = uv_thread_create(&http->thread, gg__http_thread, http) == 0;
        if (!http->started) { /* as if the host could not be reached: told from a later turn */
            e->ended = e->ready = true;
            e->end = (gg_http_end){.failure = GG_HTTP_OTHER, .wait_s = -1, .words = "there is no thread to be had"};
            gg_list_push(&http->ready, e);
            uv_async_send(&http->news);
            return e;
        }
    }
    order(e, GG__HTTP_START);
    return e;
}

void gg_http_cancel(gg_http_exchange *e) {
    e->dropped = true;
    order(e, GG__HTTP_CANCEL);
}

void gg_http_leave(gg_http_exchange *e) {
    e->dropped = true;
    order(e, GG__HTTP_LEAVE);
}

/* ---- news ---------------------------------------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle) {
    gg_http *http = handle->data;
    uv_mutex_destroy(&http->mutex);
    gg_list_clear(&http->exchanges);
    gg_list_clear(&http->running);
    gg_list_clear(&http->orders);
    gg_list_clear(&http->ready);
    gg_free(http);
}

static void close_down(gg_http *http) {
    if (http->started) uv_thread_join(&http->thread); /* it has nothing left to do */
    while (http->exchanges.len) forget(http->exchanges.items[0]);
    uv_close((uv_handle_t *)&http->news, on_closed);
}

/* One that has something to tell, and the next part of it.  NULL: nobody has. */
static gg_http_exchange *next(gg_http *http, char *slice, size_t *length, int *status, bool *ended) {
    gg_http_exchange *e = NULL;
    uv_mutex_lock(&http->mutex);
    if (http->ready.len) {
        e = http->ready.items[0];
        size_t left = e->dropped ? 0 : e->inbox.len - e->taken;
        *length = left < SLICE_BYTES ? left : SLICE_BYTES;
        if (*length) memcpy(slice, e->inbox.ptr + e->taken, *length);
        e->taken += *length;
        *status = e->status;
        *ended = e->ended && left == *length;
        gg_list_remove(&http->ready, 0);
        e->ready = left > *length;
        if (e->ready) {
            gg_list_push(&http->ready, e); /* behind the others */
        } else {
            gg_buf_reset(&e->inbox);
            e->taken = 0;
        }
    }
    uv_mutex_unlock(&http->mutex);
    return e;
}

static void on_news(uv_async_t *async) {
    gg_http *http = async->data;
    char slice[SLICE_BYTES];
    size_t length = 0, told = 0;
    int status = 0;
    bool ended = false;
    for (;;) {
        if (told >= TURN_BYTES) {
            uv_async_send(async); /* the rest has a turn of its own */
            break;
        }
        gg_http_exchange *e = next(http, slice, &length, &status, &ended);
        if (e == NULL) break;
        told += length;
        if (length && !e->dropped) e->asked.on_bytes(e->asked.data, status, (gg_str){slice, length});
        if (!ended) continue;
        if (!e->dropped) e->asked.on_end(e->asked.data, &e->end);
        forget(e);
    }
    if (http->exchanges.len == 0 && !http->freed) uv_unref((uv_handle_t *)async);
    uv_mutex_lock(&http->mutex);
    bool over = http->over;
    uv_mutex_unlock(&http->mutex);
    if (over && !uv_is_closing((uv_handle_t *)async)) close_down(http);
}

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

gg_http *gg_http_new(uv_loop_t *loop) {
    gg_http *http = gg_calloc(1, sizeof(gg_http));
    http->loop = loop;
    uv_mutex_init(&http->mutex);
    uv_async_init(loop, &http->news, on_news);
    http->news.data = http;
    uv_unref((uv_handle_t *)&http->news);
    return http;
}

void gg_http_free(gg_http *http) {
    if (http == NULL) return;
    http->freed = true;
    for (size_t i = 0; i < http->exchanges.len; i++) http->exchanges.items[i]->dropped = true;
    uv_ref((uv_handle_t *)&http->news);
    if (!http->started) {
        close_down(http);
        return;
    }
    uv_mutex_lock(&http->mutex);
    http->quit = true;
    wake(http);
    uv_mutex_unlock(&http->mutex);
}
