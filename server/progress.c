/* $/progress: only for clients that can show it, and only once the work has taken 300 ms.  Loop thread only. */
#include <stdio.h>

#include "server/session.h"

enum { SHOW_AFTER_MS = 300 };

struct gg_progress {
    gg_session *session;
    uv_timer_t timer;
    json_int_t token;
    char *title, *message;
    enum { WAITING, CREATING, SHOWN, ENDED } state;
    bool creating; /* the client's answer is awaited: the memory stays */
    void (*on_cancel)(void *data);
    void *data;
};

static void send_value(gg_progress *p, const char *kind, const char *title, const char *message) {
    json_t *value = json_pack("{s:s}", "kind", kind);
    if (title) json_object_set_new(value, "title", json_string(title));
    if (message) json_object_set_new(value, "message", json_string(message));
    if (title) json_object_set_new(value, "cancellable", json_boolean(p->on_cancel != NULL));
    gg_notify_take(p->session, "$/progress", json_pack("{s:I, s:o}", "token", p->token, "value", value));
}

static void on_closed(uv_handle_t *handle) {
    gg_progress *p = handle->data;
    gg_free(p->title);
    gg_free(p->message);
    gg_free(p);
}

static void release(gg_progress *p) {
    gg_session *session = p->session;
    for (size_t i = 0; i < session->progresses.len; i++) {
        if (session->progresses.items[i] != p) continue;
        gg_list_remove(&session->progresses, i);
        break;
    }
    if (!uv_is_closing((uv_handle_t *)&p->timer)) uv_close((uv_handle_t *)&p->timer, on_closed);
}

static void on_created(void *data, const json_t *result, const json_t *error) {
    gg_progress *p = data;
    (void)result;
    p->creating = false;
    const bool over = p->state == ENDED, shown = error == NULL && p->session->state == GG_STATE_INITIALIZED;
    if (shown) send_value(p, "begin", p->title, p->message);
    if (shown && over) send_value(p, "end", NULL, NULL); /* a client keeps what it made for the token until then */
    if (over)
        release(p);
    else if (shown)
        p->state = SHOWN;
}

static void on_time(uv_timer_t *timer) {
    gg_progress *p = timer->data;
    if (p->session->state != GG_STATE_INITIALIZED) return; /* nothing is asked any more, so no answer would come */
    p->state = CREATING;
    p->creating = true;
    gg_request_take(p->session, "window/workDoneProgress/create", json_pack("{s:I}", "token", p->token), on_created, p);
}

gg_progress *gg_progress_start(gg_session *session, const char *title, void (*on_cancel)(void *data), void *data) {
    gg_progress *p = gg_calloc(1, sizeof(gg_progress));
    *p = (gg_progress){.session = session,
                       .token = ++session->next_id,
                       .title = gg_str_dup(gg_str_from(title)),
                       .on_cancel = on_cancel,
                       .data = data};
    uv_timer_init(&session->loop, &p->timer);
    p->timer.data = p;
    if (GG_HAS(session, PROGRESS)) uv_timer_start(&p->timer, on_time, SHOW_AFTER_MS, 0);
    gg_list_push(&session->progresses, p);
    return p;
}

void gg_progress_say(gg_progress *p, const char *message) {
    if (p == NULL || (p->message && strcmp(p->message, message) == 0)) return;
    gg_free(p->message);
    p->message = gg_str_dup(gg_str_from(message));
    if (p->state == SHOWN) send_value(p, "report", NULL, message);
}

void gg_progress_hear(gg_progress *p, const char *op, const json_t *frame) {
    const char *message = json_string_value(json_object_get(frame, "message"));
    if (strcmp(op, "widening") == 0 && message) gg_progress_say(p, message);
}

void gg_progress_end(gg_progress *p) {
    if (p == NULL) return;
    if (p->state == SHOWN) send_value(p, "end", NULL, NULL);
    p->state = ENDED;
    p->on_cancel = NULL;
    uv_timer_stop(&p->timer);
    if (!p->creating) release(p);
}

void gg_progress_cancel(gg_session *session, gg_token token) {
    for (size_t i = 0; i < session->progresses.len; i++) {
        gg_progress *p = session->progresses.items[i];
        if (token.is_string || p->token != token.number || p->on_cancel == NULL) continue;
        p->on_cancel(p->data);
        return;
    }
}

void gg_progress_close_all(gg_session *session) { /* whoever began one ends it; none is shown any more */
    for (size_t i = 0; i < session->progresses.len; i++) {
        gg_progress *p = session->progresses.items[i];
        uv_timer_stop(&p->timer);
        if (p->state != SHOWN)
            continue; /* one that has ended, and waits for the client's answer, is released by that */
        send_value(p, "end", NULL, NULL);
        p->state = WAITING;
    }
}
