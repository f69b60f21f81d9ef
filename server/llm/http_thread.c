/* See http.h: libcurl's side.  The thread takes orders, lets libcurl work, looks at the clock, and sleeps until one of the three has something. */
#include <stdio.h>

#include "server/llm/http_parts.h"

enum { IDLE_MS = 60 * 1000, LEAVE_MS = 1000, NO_LIBCURL_MS = 20 };

static uint64_t now_ms(void) {
    return uv_hrtime() / 1000000;
}

/* ---- what the loop is told ------------------------------------------------------------------------------------------------- */

/* Under the mutex. */
static void tell(gg_http_exchange *e) {
    gg_http *http = e->http;
    if (!e->ready) gg_list_push(&http->ready, e);
    e->ready = true;
    uv_async_send(&http->news);
}

static void end(gg_http_exchange *e, gg_http_failure failure, const char *words) {
    gg_http *http = e->http;
    gg_http_end told = {.failure = failure, .began = e->received > 0, .wait_s = -1};
    long status = 0;
    curl_off_t wait = 0;
    char *location = NULL;
    const gg__curl *curl = http->curl;
    if (e->easy) {
        curl->curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
        curl->curl_easy_getinfo(e->easy, CURLINFO_RETRY_AFTER, &wait);
        curl->curl_easy_getinfo(e->easy, CURLINFO_REDIRECT_URL, &location);
        if (location) snprintf(told.location, sizeof(told.location), "%s", location);
    }
    told.status = (int)status;
    if (wait > 0) told.wait_s = (int64_t)wait;
    if (failure != GG_HTTP_FINE) snprintf(told.words, sizeof(told.words), "%s", words);
    if (e->easy) {
        curl->curl_multi_remove_handle(http->multi, e->easy);
        curl->curl_easy_cleanup(e->easy);
        e->easy = NULL;
    }
    for (struct curl_slist *h = e->list; h; h = h->next) explicit_bzero(h->data, strlen(h->data));
    if (e->list) curl->curl_slist_free_all(e->list);
    e->list = NULL;
    for (size_t i = 0; i < http->running.len; i++) {
        if (http->running.items[i] != e) continue;
        gg_list_remove(&http->running, i);
        break;
    }
    uv_mutex_lock(&http->mutex);
    e->status = told.status;
    e->end = told;
    e->ended = true;
    tell(e);
    uv_mutex_unlock(&http->mutex);
}

static size_t on_write(char *bytes, size_t size, size_t count, void *data) {
    gg_http_exchange *e = data;
    size_t n = size * count;
    long status = 0;
    e->heard_ms = now_ms();
    e->received += n;
    if (e->received > e->asked.max_bytes) return n + 1; /* an error of writing */
    e->http->curl->curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
    uv_mutex_lock(&e->http->mutex);
    e->status = (int)status;
    int error = gg_buf_append(&e->inbox, (gg_str){bytes, n});
    tell(e);
    uv_mutex_unlock(&e->http->mutex);
    return error ? n + 1 : n;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *data) {
    (void)bytes;
    ((gg_http_exchange *)data)->heard_ms = now_ms();
    return size * count;
}

/* ---- transfers ------------------------------------------------------------------------------------------------------------- */

static void set(const gg__curl *curl, CURL *easy, gg_http_exchange *e) {
    const gg_http_request *r = &e->asked;
    for (char **h = e->headers; *h; h++) e->list = curl->curl_slist_append(e->list, *h);
    e->list = curl->curl_slist_append(e->list, "Expect:"); /* the body goes at once */
    curl->curl_easy_setopt(easy, CURLOPT_URL, r->url);
    curl->curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
    curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body.ptr);
    curl->curl_easy_setopt(easy, CURLOPT_HTTPHEADER, e->list);
    curl->curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* a proxy does not see them */
    curl->curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);                   /* the key is for one host only */
    curl->curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (r->ca_file) curl->curl_easy_setopt(easy, CURLOPT_CAINFO, r->ca_file);
    if (r->ca_file) curl->curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (r->proxy) curl->curl_easy_setopt(easy, CURLOPT_PROXY, r->proxy);
    if (r->direct) curl->curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl->curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)r->connect_ms);
    curl->curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* no waiting for a name server on the way out */
    curl->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl->curl_easy_setopt(easy, CURLOPT_WRITEDATA, e);
    curl->curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->curl_easy_setopt(easy, CURLOPT_HEADERDATA, e);
    curl->curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, e->error);
    curl->curl_easy_setopt(easy, CURLOPT_PRIVATE, e);
}

static void start(gg_http_exchange *e) {
    gg_http *http = e->http;
    e->started_ms = e->heard_ms = now_ms();
    gg_list_push(&http->running, e);
    if (http->multi) e->easy = http->curl->curl_easy_init();
    if (e->easy == NULL) {
        end(e, GG_HTTP_OTHER, "libcurl (libcurl.so.4) is not installed, or could not be set up");
        return;
    }
    set(http->curl, e->easy, e);
    http->curl->curl_multi_add_handle(http->multi, e->easy);
}

static gg_http_failure failure_of(CURLcode code, const gg_http_exchange *e) {
    switch (code) {
    case CURLE_OK:
        return GG_HTTP_FINE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return GG_HTTP_NO_HOST;
    case CURLE_COULDNT_CONNECT:
        return GG_HTTP_NO_CONNECTION;
    case CURLE_OPERATION_TIMEDOUT: /* of connecting: the other deadlines are ours */
        return GG_HTTP_CONNECT_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return GG_HTTP_NOT_TRUSTED;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return GG_HTTP_BROKEN;
    case CURLE_WRITE_ERROR:
        return e->received > e->asked.max_bytes ? GG_HTTP_TOO_BIG : GG_HTTP_BROKEN;
    default:
        return GG_HTTP_OTHER;
    }
}

static void take_done(gg_http *http) {
    const gg__curl *curl = http->curl;
    int left = 0;
    for (CURLMsg *m; (m = curl->curl_multi_info_read(http->multi, &left)) != NULL;) {
        char *data = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        CURLcode code = m->data.result;
        curl->curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &data);
        gg_http_exchange *e = (gg_http_exchange *)(void *)data;
        end(e, failure_of(code, e), e->error[0] ? e->error : curl->curl_easy_strerror(code));
    }
}

/* Ends those that are late.  In how many ms the next one may be. */
static int check_deadlines(gg_http *http) {
    uint64_t now = now_ms(), soonest = now + IDLE_MS;
    for (size_t i = http->running.len; i-- > 0;) {
        gg_http_exchange *e = http->running.items[i];
        uint64_t total = e->started_ms + e->asked.total_ms, idle = e->heard_ms + e->asked.idle_ms;
        if (e->leave_ms && e->leave_ms < total) total = e->leave_ms;
        if (now >= total || now >= idle) {
            end(e, now >= total ? GG_HTTP_TOTAL : GG_HTTP_IDLE, "");
            continue;
        }
        if (total < soonest) soonest = total;
        if (idle < soonest) soonest = idle;
    }
    return (int)(soonest - now);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------- */

/* False: it is to end. */
static bool take_orders(gg_http *http) {
    for (;;) {
        gg__http_ordered ordered = {NULL, GG__HTTP_START};
        uv_mutex_lock(&http->mutex);
        bool quit = http->quit;
        if (!quit && http->orders.len) {
            ordered = http->orders.items[0];
            gg_list_remove(&http->orders, 0);
        }
        bool gone = ordered.exchange && ordered.exchange->ended;
        uv_mutex_unlock(&http->mutex);
        if (quit || ordered.exchange == NULL) return !quit;
        if (ordered.order == GG__HTTP_START)
            start(ordered.exchange);
        else if (!gone && ordered.order == GG__HTTP_CANCEL)
            end(ordered.exchange, GG_HTTP_OTHER, "canceled");
        else if (!gone)
            ordered.exchange->leave_ms = now_ms() + LEAVE_MS;
    }
}

void gg__http_thread(void *data) {
    gg_http *http = data;
    int running = 0;
    const gg__curl *curl = gg__curl_load();
    CURLM *multi = curl ? curl->curl_multi_init() : NULL;
    uv_mutex_lock(&http->mutex);
    http->curl = curl;
    http->multi = multi;
    uv_mutex_unlock(&http->mutex);
    while (take_orders(http)) {
        if (multi) curl->curl_multi_perform(multi, &running);
        if (multi) take_done(http);
        int wait_ms = check_deadlines(http);
        if (multi)
            curl->curl_multi_poll(multi, NULL, 0, wait_ms, NULL);
        else
            uv_sleep(NO_LIBCURL_MS);
    }
    while (http->running.len) end(http->running.items[0], GG_HTTP_OTHER, "canceled");
    uv_mutex_lock(&http->mutex);
    http->multi = NULL;
    uv_mutex_unlock(&http->mutex);
    if (multi) curl->curl_multi_cleanup(multi);
    uv_mutex_lock(&http->mutex);
    http->over = true;
    uv_async_send(&http->news);
    uv_mutex_unlock(&http->mutex);
}
