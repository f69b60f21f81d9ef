/* What the server sends of itself: notifications, and requests with the wait for their answer.  Loop thread only. */
#include <stdio.h>

#include "server/session.h"

enum { REQUEST_DEADLINE_MS = 30000 };

struct gg_outgoing {
    gg_session *session;
    json_int_t id;
    gg_on_response done;
    void *data;
    uv_timer_t timer;
};

void gg_send_take(gg_session *session, json_t *message_take) {
    gg_send_with_take(session, message_take, NULL);
}

void gg_send_with_take(gg_session *session, json_t *message_take, const gg_parts *array) {
    gg_parts *parts = &session->sent;
    size_t bytes = 0;
    gg_buf head, tail;
    gg_error err = {0};
    for (size_t i = 0; array && i < array->len; i++) bytes += array->items[i].len;
    gg_buf_init(&head, GG_MAX_MESSAGE_BYTES);
    gg_buf_init(&tail, GG_MAX_MESSAGE_BYTES);
    int error = session->transport == NULL
                    ? GG_ECANCELED /* the session ended; what still finishes has nobody to tell */
                : bytes == 0 ? gg_frame_write(&head, message_take, &err)
                             : gg_frame_write_around(&head, &tail, message_take, bytes, &err);
    parts->len = 0;
    gg_list_push(parts, gg_buf_str(&head));
    for (size_t i = 0; array && i < array->len; i++) gg_list_push(parts, array->items[i]);
    gg_list_push(parts, gg_buf_str(&tail));
    if (error == 0)
        gg_transport_write(session->transport, parts);
    else if (session->transport)
        gg_log(GG_LOG_ERROR, "%s", err.message);
    gg_buf_clear(&head);
    gg_buf_clear(&tail);
    json_decref(message_take);
}

/* Once it has answered shutdown the server says nothing more of itself. */
static bool may_speak(const gg_session *session) {
    return session->transport && session->state != GG_STATE_SHUTDOWN;
}

void gg_notify_take(gg_session *session, const char *method, json_t *params_take) {
    gg_notify_with_take(session, method, params_take, NULL);
}

void gg_notify_with_take(gg_session *session, const char *method, json_t *params_take, const gg_parts *array) {
    if (!may_speak(session)) {
        json_decref(params_take);
        return;
    }
    gg_send_with_take(session, gg_message_notification_take(method, params_take), array);
}

static void on_closed(uv_handle_t *handle) {
    gg_free(handle->data);
}

static void forget(struct gg_outgoing *o) {
    gg_session *session = o->session;
    for (size_t i = 0; i < session->outgoing.len; i++) {
        if (session->outgoing.items[i] != o) continue;
        gg_list_remove(&session->outgoing, i);
        break;
    }
    uv_close((uv_handle_t *)&o->timer, on_closed);
}

static void finish(struct gg_outgoing *o, const json_t *result, const json_t *error) {
    forget(o);
    if (o->done) o->done(o->data, result, error);
}

static void on_deadline(uv_timer_t *timer) {
    struct gg_outgoing *o = timer->data;
    json_t *error =
        json_pack("{s:i, s:s}", "code", gg_error_rpc_code(GG_ETIMEOUT), "message", "the client did not answer in time");
    finish(o, NULL, error);
    json_decref(error);
}

void gg_request_take(gg_session *session, const char *method, json_t *params_take, gg_on_response done, void *data) {
    gg_request_until_take(session, method, params_take, REQUEST_DEADLINE_MS, done, data);
}

json_int_t gg_request_until_take(gg_session *session, const char *method, json_t *params_take, uint64_t deadline_ms,
                                 gg_on_response done, void *data) {
    if (!may_speak(session)) {
        json_decref(params_take);
        return 0;
    }
    struct gg_outgoing *o = gg_calloc(1, sizeof(struct gg_outgoing));
    *o = (struct gg_outgoing){.session = session, .id = ++session->next_id, .done = done, .data = data};
    uv_timer_init(&session->loop, &o->timer);
    o->timer.data = o;
    uv_timer_start(&o->timer, on_deadline, deadline_ms, 0);
    gg_list_push(&session->outgoing, o);
    gg_send_take(session, gg_message_request_take(o->id, method, params_take));
    return o->id;
}

void gg_request_cancel(gg_session *session, json_int_t id) {
    for (size_t i = 0; i < session->outgoing.len; i++) {
        if (session->outgoing.items[i]->id != id) continue;
        forget(session->outgoing.items[i]);
        gg_notify_take(session, "$/cancelRequest", json_pack("{s:I}", "id", id));
        return;
    }
}

void gg_outgoing_answer(gg_session *session, const gg_message *message) {
    for (size_t i = 0; i < session->outgoing.len; i++) {
        if (session->outgoing.items[i]->id != json_integer_value(message->id) || !json_is_integer(message->id))
            continue;
        finish(session->outgoing.items[i], message->result, message->error);
        return;
    }
    gg_log(GG_LOG_INFO, "a response came to no request of ours");
}

void gg_outgoing_end(gg_session *session) {
    json_t *error = json_pack("{s:i, s:s}", "code", gg_error_rpc_code(GG_ECANCELED), "message", "the session ended");
    while (session->outgoing.len) finish(session->outgoing.items[0], NULL, error);
    json_decref(error);
}

void gg_show_message(gg_session *session, int type, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    text[gg_utf8_valid_prefix(gg_str_from(text))] = '\0';
    gg_notify_take(session, "window/showMessage", json_pack("{s:i, s:s}", "type", type, "message", text));
}
