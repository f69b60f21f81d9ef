/* See client.h. */
#include "server/llm/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "server/llm/key.h"

enum {
    TRIES = 5,
    FIRST_WAIT_MS = 500,
    LONGEST_WAIT_MS = 60 * 1000, /* also of what an endpoint may ask for */
    MAX_ANSWER_BYTES = 8 * 1024 * 1024,
    MAX_TEXT_BYTES = 1024 * 1024,
    MAX_EVENT_BYTES = 1024 * 1024,
    MAX_ERROR_BYTES = 64 * 1024,
    MAX_HEADER_BYTES = 16 * 1024,
    TOKEN_BYTES = 4 /* about, until the endpoint counts */
};

struct gg_exchange {
    gg_http *http;
    const gg_endpoint *endpoint;
    const gg_llm_request *request;
    gg_exchange_options options;
    uint64_t started_ms; /* uv_now's */
    uv_timer_t timer;    /* between tries, before the end is told, and the deadline of a post */
    gg_key_reading *reading;
    gg_http_exchange *post;
    char *key; /* while a post is under way; to be kept out of what the endpoint's words say */
    gg_sse sse;
    gg_answer answer;
    gg_buf body; /* of an error, or of an answer that is no stream */
    gg_error stream;
    bool events;
    bool begun, whole; /* it has begun to answer; with a JSON object, where a stream was asked for */
    unsigned without;  /* members that the endpoint would not take */
    uint64_t progress;
    gg_exchange_end end;
};

static void try_now(gg_exchange *x);

static uv_loop_t *loop_of(const gg_exchange *x) {
    return x->timer.loop;
}

static uint64_t left_ms(const gg_exchange *x) {
    uint64_t passed = uv_now(loop_of(x)) - x->started_ms;
    return passed < x->endpoint->total_ms ? x->endpoint->total_ms - passed : 0;
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------- */

static void wipe_key(gg_exchange *x) {
    if (x->key) explicit_bzero(x->key, strlen(x->key));
    gg_free(x->key);
    x->key = NULL;
}

static void on_closed(uv_handle_t *handle) {
    gg_exchange *x = handle->data;
    gg_sse_clear(&x->sse);
    gg_answer_clear(&x->answer);
    gg_buf_clear(&x->body);
    gg_free(x);
}

static void on_finish(uv_timer_t *timer) {
    gg_exchange *x = timer->data;
    x->end.took_ms = uv_now(loop_of(x)) - x->started_ms;
    x->options.on_done(x->options.data, &x->end);
    uv_close((uv_handle_t *)timer, on_closed);
}

static void finish(gg_exchange *x, gg_model_failure failure, const char *words) {
    if (x->reading) gg_key_cancel(x->reading);
    if (x->post) gg_http_cancel(x->post);
    x->reading = NULL;
    x->post = NULL;
    x->end.failure = failure;
    x->end.error.code = gg_model_failure_code(failure);
    snprintf(x->end.error.message, sizeof(x->end.error.message), "%s", words);
    if (x->key) gg_key_redact(x->end.error.message, x->key);
    wipe_key(x);
    uv_timer_start(&x->timer, on_finish, 0, 0);
}

static void succeed(gg_exchange *x) {
    const gg_answer *a = &x->answer;
    x->end.reply = (gg_llm_reply){gg_answer_text(a), a->input_tokens, a->output_tokens, a->stop};
    x->end.cost = gg_endpoint_cost(x->endpoint, a->input_tokens, a->output_tokens);
    finish(x, GG_MODEL_NONE, "");
}

void gg_exchange_cancel(gg_exchange *x) {
    finish(x, GG_MODEL_CANCELED, "the exchange with the model was canceled");
}

/* ---- again --------------------------------------------------------------------------------------------------------------------- */

static void on_wait_over(uv_timer_t *timer) {
    try_now(timer->data);
}

/* Doubled with each try, and up to half as much again, so that many clients do not come back at the same moment. */
static uint64_t back_off_ms(const gg_exchange *x) {
    uint64_t wait = x->options.first_wait_ms ? x->options.first_wait_ms : FIRST_WAIT_MS;
    uint32_t random = 0;
    for (unsigned i = 1; i < x->end.tries && wait < LONGEST_WAIT_MS; i++) wait *= 2;
    if (wait > LONGEST_WAIT_MS) wait = LONGEST_WAIT_MS;
    (void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
    return wait + random % (wait / 2 + 1);
}

static void try_again(gg_exchange *x, gg_model_failure failure, const char *words, int64_t asked_s) {
    char said[1024];
    uint64_t wait = asked_s >= 0 ? (uint64_t)asked_s * 1000 : back_off_ms(x);
    if (x->end.tries >= TRIES)
        snprintf(said, sizeof(said), "%s (tried %u times)", words, x->end.tries);
    else if (asked_s > LONGEST_WAIT_MS / 1000)
        snprintf(said, sizeof(said), "%s; it asks to be left alone for %" PRId64 " s", words, asked_s);
    else if (wait >= left_ms(x))
        snprintf(said, sizeof(said), "%s; no time is left to try again (model.timeout)", words);
    else {
        gg_log(GG_LOG_INFO, "model: try %u failed (%s); again in %" PRIu64 " ms", x->end.tries,
               gg_model_failure_id(failure), wait);
        wipe_key(x);
        uv_timer_start(&x->timer, on_wait_over, wait, 0);
        return;
    }
    finish(x, failure, said);
}

/* ---- an answer --------------------------------------------------------------------------------------------------------------------- */

static int on_event(void *data, const gg_sse_event *event, gg_error *err) {
    gg_exchange *x = data;
    x->events = true;
    return x->answer.over ? 0 : x->endpoint->api->event(&x->answer, event, err);
}

/* Some endpoints answer with one JSON object whatever they are asked, and call a stream by another type: what it begins with tells. */
static int take_bytes(gg_exchange *x, gg_str bytes) {
    if (!x->begun) {
        gg_str rest = gg_str_trim(bytes);
        x->begun = rest.len > 0;
        x->whole = gg_str_starts_with(rest, GG_STR("{"));
    }
    if (!x->whole) return gg_sse_push(&x->sse, bytes, on_event, x, &x->stream);
    if (x->body.len + bytes.len <= MAX_EVENT_BYTES && gg_buf_append(&x->body, bytes) == 0) return 0;
    return gg_fail(&x->stream, GG_ETOOBIG, "the answer is over %d bytes", MAX_EVENT_BYTES);
}

static void end_whole(gg_exchange *x) {
    const gg_sse_event event = {.data = gg_buf_str(&x->body)};
    if (on_event(x, &event, &x->stream) == 0 && !x->answer.over)
        gg_fail(&x->stream, GG_EPARSE, "what it answered with is a JSON object, but no answer");
    gg_buf_reset(&x->body);
}

static void judge(gg_exchange *x, const gg_http_end *http) {
    char words[900];
    bool passing;
    gg_key_redact(x->stream.message, x->key); /* before any of it is cut: half a key is found no more */
    if (x->body.ptr) gg_key_redact(x->body.ptr, x->key);
    if (x->body.ptr) x->body.len = strlen(x->body.ptr);
    gg__attempt attempt = {x->endpoint, http, &x->answer, &x->stream, gg_buf_str(&x->body), x->events};
    gg_model_failure failure = gg__attempt_judge(&attempt, &passing, words, sizeof(words));
    unsigned refused = failure == GG_MODEL_REFUSED ? gg_api_refused(words) & ~x->without : 0;
    if (failure == GG_MODEL_NONE) {
        succeed(x);
    } else if (refused && left_ms(x) && x->end.tries < TRIES) { /* not a fault: it is asked in another way */
        x->without |= refused;
        wipe_key(x);
        uv_timer_start(&x->timer, on_wait_over, 0, 0);
    } else if (passing) {
        try_again(x, failure, words, http->wait_s);
    } else {
        finish(x, failure, words);
    }
}

/* Also where the answer is here, but has not been read for all that came before. */
static void on_deadline(uv_timer_t *timer) {
    gg_exchange *x = timer->data;
    gg_http_end http = {.failure = GG_HTTP_TOTAL, .wait_s = -1};
    gg_http_cancel(x->post);
    x->post = NULL;
    judge(x, &http);
}

static void on_bytes(void *data, int status, gg_str bytes) {
    gg_exchange *x = data;
    if (status >= 300) {
        (void)gg_buf_append(&x->body, gg_str_slice(bytes, 0, MAX_ERROR_BYTES - x->body.len));
        return;
    }
    int error = take_bytes(x, bytes);
    if (error || x->answer.over) {
        gg_http_end http = {.status = status, .began = true, .wait_s = -1};
        if (error)
            gg_http_cancel(x->post);
        else
            gg_http_leave(x->post);
        x->post = NULL;
        judge(x, &http);
        return;
    }
    uint64_t tokens = (x->answer.text.len + x->answer.thought) / TOKEN_BYTES;
    if (tokens <= x->progress) return;
    x->progress = tokens;
    if (x->options.on_progress) x->options.on_progress(x->options.data, tokens);
}

static void on_end(void *data, const gg_http_end *end) {
    gg_exchange *x = data;
    x->post = NULL;
    if (x->whole && end->failure == GG_HTTP_FINE) end_whole(x);
    judge(x, end);
}

/* ---- a try --------------------------------------------------------------------------------------------------------------------------- */

static void post(gg_exchange *x, char *body) {
    const gg_endpoint *e = x->endpoint;
    char key_header[MAX_HEADER_BYTES], *target = gg_endpoint_target(e);
    const char *headers[4] = {"Content-Type: application/json", "Accept: text/event-stream"};
    size_t count = 2;
    if (e->api->header) headers[count++] = e->api->header;
    if (*x->key) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the API's own row */
        snprintf(key_header, sizeof(key_header), e->api->key_header, x->key);
#pragma GCC diagnostic pop
        headers[count++] = key_header;
    }
    gg_http_request request = {.url = target,
                               .headers = headers,
                               .header_count = count,
                               .body = gg_str_from(body),
                               .ca_file = e->ca_file,
                               .proxy = e->proxy,
                               .direct = e->loopback,
                               .connect_ms = e->connect_ms,
                               .idle_ms = e->idle_ms,
                               .total_ms = (uint32_t)left_ms(x),
                               .max_bytes = MAX_ANSWER_BYTES,
                               .data = x,
                               .on_bytes = on_bytes,
                               .on_end = on_end};
    gg_log(GG_LOG_DEBUG, "model: %zu bytes to %s", request.body.len, e->shown);
    x->end.tries++;
    x->post = gg_http_post(x->http, &request);
    uv_timer_start(&x->timer, on_deadline, left_ms(x), 0);
    explicit_bzero(key_header, sizeof(key_header));
    gg_free(target);
}

static void on_key(void *data, char *key, const gg_error *err) {
    gg_exchange *x = data;
    char words[512];
    x->reading = NULL;
    if (key == NULL) {
        finish(x, GG_MODEL_NO_KEY, err->message);
        return;
    }
    x->key = gg_str_dup(gg_str_from(key));
    if (*key && x->endpoint->plain && !x->endpoint->loopback) {
        snprintf(words, sizeof(words),
                 "%s is not asked with a key: over http:// everybody on the way reads it; use https://",
                 x->endpoint->shown);
        finish(x, GG_MODEL_PLAIN_HTTP, words);
        return;
    }
    json_t *json = x->endpoint->api->body(x->request, x->endpoint->model, x->without);
    char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (body)
        post(x, body);
    else
        finish(x, GG_MODEL_REQUEST, "what is to be sent to the model cannot be written as JSON");
    free(body);
    json_decref(json);
}

static void try_now(gg_exchange *x) {
    gg_sse_reset(&x->sse);
    gg_answer_reset(&x->answer);
    gg_buf_reset(&x->body);
    x->stream = (gg_error){0};
    x->events = x->begun = x->whole = false;
    x->progress = 0;
    x->reading = gg_key_read(loop_of(x), x->endpoint, on_key, x);
}

gg_exchange *gg_exchange_start(gg_http *http, uv_loop_t *loop, const gg_endpoint *endpoint,
                               const gg_llm_request *request, const gg_exchange_options *options) {
    gg_exchange *x = gg_calloc(1, sizeof(gg_exchange));
    gg_error err = {0};
    x->http = http;
    x->endpoint = endpoint;
    x->request = request;
    x->options = *options;
    x->end.cost = -1;
    uv_timer_init(loop, &x->timer);
    x->timer.data = x;
    uv_update_time(loop);
    x->started_ms = uv_now(loop);
    gg_sse_init(&x->sse, MAX_EVENT_BYTES);
    gg_answer_init(&x->answer, MAX_TEXT_BYTES);
    gg_buf_init(&x->body, MAX_EVENT_BYTES);
    if (gg__request_check(request, &err) != 0)
        finish(x, GG_MODEL_REQUEST, err.message);
    else
        try_now(x);
    return x;
}
