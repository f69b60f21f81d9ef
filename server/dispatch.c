/* Messages to handlers, and exactly one reply to each request.  Loop thread only.
 *
 * A gg_call is the duty to answer.  It sits in session->calls until it is answered; a cancel answers it at once (-32800) after telling its
 * work to stop, and whatever the work brings later finds no call. */
#include <stdio.h>

#include "server/session.h"

static void free_call(gg_call *call) {
    gg_session *session = call->session;
    for (size_t i = 0; i < session->calls.len; i++) {
        if (session->calls.items[i] != call) continue;
        gg_list_remove(&session->calls, i);
        break;
    }
    gg_message_clear(&call->message);
    gg_arena_free(call->arena);
    gg_free(call);
}

void gg_call_reply_take(gg_call *call, json_t *result_take) {
    gg_call_reply_with_take(call, result_take, NULL);
}

void gg_call_reply_with_take(gg_call *call, json_t *result_take, const gg_parts *array) {
    gg_send_with_take(call->session, gg_message_response_take(call->message.id, result_take), array);
    free_call(call);
}

void gg_call_fail(gg_call *call, int code, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    text[gg_utf8_valid_prefix(gg_str_from(text))] = '\0';
    if (call->method) (code == GG_ECANCELED ? call->method->canceled++ : call->method->errors++);
    gg_send_take(call->session, gg_message_error_take(call->message.id, gg_error_rpc_code(code), text, NULL));
    free_call(call);
}

static int admitted(const gg_session *session, const gg_method *method, bool is_request, gg_error *err) {
    if (session->state == GG_STATE_SHUTDOWN && (method == NULL || method->when != GG_ALWAYS))
        return gg_fail(err, GG_EREQUEST, "the server was shut down");
    if (session->state == GG_STATE_NEW && (method == NULL || method->when == GG_RUNNING))
        return gg_fail(err, GG_ENOTREADY, "the first request must be initialize");
    if (method == NULL) return gg_fail(err, GG_EMETHOD, "method not found");
    if (session->state != GG_STATE_NEW && method->when == GG_FIRST)
        return gg_fail(err, GG_EREQUEST, "initialize may be sent once only");
    if ((method->kind == GG_REQUEST) != is_request)
        return gg_fail(err, GG_EREQUEST, "%s is a %s", method->name, is_request ? "notification" : "request");
    return 0;
}

/* A didChange that cannot be read leaves us with another text than the client's, for good. */
static void lose_document(gg_session *session, gg_str uri, const char *why) {
    gg_document *document = gg_document_peek(session, uri);
    if (document) gg_document_lose(document, why);
}

static gg_str uri_in(const json_t *params) {
    return gg_str_from(json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri")));
}

static void run(gg_session *session, gg_call *call, gg_method *method, bool is_request) {
    gg_error err = {0};
    void *params = NULL;
    uint64_t start = uv_hrtime();
    if (method->params) {
        params = gg_arena_alloc(call->arena, gg_type_size(method->params));
        if (gg_decode(method->params, call->message.params, "params", params, call->arena, &err) != 0) {
            if (is_request)
                gg_call_fail(call, err.code, "%s", err.message);
            else {
                gg_log(GG_LOG_WARNING, "%s: %s", method->name, err.message);
                method->errors++;
                if (strcmp(method->name, "textDocument/didChange") == 0)
                    lose_document(session, uri_in(call->message.params), err.message);
                free_call(call);
            }
            return;
        }
    }
    session->last_method = method->name;
    method->calls++;
    method->handler(session, is_request ? call : NULL, params);
    if (!is_request) free_call(call);
    uint64_t us = (uv_hrtime() - start) / 1000;
    method->total_us += us;
    if (us > method->max_us) method->max_us = us;
}

/* Some editors send the bytes of a file that is no UTF-8 as they are, which is no JSON.  Read with a "?" for each such byte, the message still says
 * which document is out of reach.  Only the two notifications that carry text are read so: any other message has a reply to say that it is malformed,
 * or nothing to lose. */
static bool read_mended(gg_message *out, gg_str body) {
    size_t valid = gg_utf8_valid_prefix(body);
    if (valid == body.len) return false;
    char *copy = gg_str_dup(body);
    for (; valid < body.len; valid += gg_utf8_valid_prefix((gg_str){copy + valid, body.len - valid})) copy[valid] = '?';
    gg_message_clear(out);
    int error = gg_message_parse(out, (gg_str){copy, body.len}, NULL);
    gg_free(copy);
    if (error == 0 && out->kind == GG_MESSAGE_NOTIFICATION &&
        (strcmp(out->method, "textDocument/didOpen") == 0 || strcmp(out->method, "textDocument/didChange") == 0))
        return true;
    gg_message_clear(out);
    return false;
}

void gg_incoming_read(gg_incoming *out, gg_str body) {
    *out = (gg_incoming){.error = 0};
    out->error = gg_message_parse(&out->message, body, &out->why);
    out->mended = out->error == GG_EPARSE && read_mended(&out->message, body);
    if (out->mended) out->error = 0;
}

static void dispatch(gg_session *session, gg_call *call) {
    gg_error err = {0};
    bool is_request = call->message.kind == GG_MESSAGE_REQUEST;
    if (call->message.kind == GG_MESSAGE_RESPONSE) {
        gg_outgoing_answer(session, &call->message);
        free_call(call);
        return;
    }
    gg_method *method = gg_method_find(gg_str_from(call->message.method));
    if (method && method->test_only && !session->options->test) method = NULL;
    int error = admitted(session, method, is_request, &err);
    if (error && !is_request) { /* notifications are never answered */
        gg_log(GG_LOG_INFO, "%s: %s", call->message.method, err.message);
        free_call(call);
        return;
    }
    call->method = method;
    if (error || method == NULL) {
        if (error == GG_EMETHOD)
            gg_call_fail(call, error, "%s: method not found", call->message.method);
        else
            gg_call_fail(call, error, "%s", err.message);
        return;
    }
    if (is_request) gg_list_push(&session->calls, call);
    run(session, call, method, is_request);
}

void gg_dispatch_take(gg_session *session, gg_incoming *incoming) {
    gg_call *call = gg_calloc(1, sizeof(gg_call));
    call->session = session;
    call->arena = gg_arena_new();
    call->message = incoming->message;
    if (incoming->error) {
        gg_call_fail(call, incoming->error, "%s", incoming->why.message);
    } else if (incoming->mended) {
        char *uri = gg_str_dup(uri_in(call->message.params));
        dispatch(session, call);
        lose_document(session, gg_str_from(uri), "it is no UTF-8");
        gg_free(uri);
    } else {
        dispatch(session, call);
    }
}
