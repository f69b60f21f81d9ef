/* See editor_model.h. */
#include "server/llm/editor_model.h"

#include <stdio.h>

enum { DEADLINE_MS = 10 * 60 * 1000, MAX_TEXT_BYTES = 1024 * 1024 };

struct gg_editor_exchange {
    gg_session *session;
    gg_exchange_options options;
    json_int_t id; /* 0: the request is not under way */
    uv_timer_t timer;
    uint64_t started_ms;
    json_t *result; /* the reply's text lives there */
    gg_exchange_end end;
};

static void on_closed(uv_handle_t *handle) {
    gg_editor_exchange *x = handle->data;
    json_decref(x->result);
    gg_free(x);
}

static void on_finish(uv_timer_t *timer) {
    gg_editor_exchange *x = timer->data;
    x->end.took_ms = uv_now(timer->loop) - x->started_ms;
    x->options.on_done(x->options.data, &x->end);
    uv_close((uv_handle_t *)timer, on_closed);
}

static void finish(gg_editor_exchange *x, gg_model_failure failure, const char *words) {
    x->id = 0;
    x->end.failure = failure;
    gg_fail(&x->end.error, gg_model_failure_code(failure), "%s", words);
    uv_timer_start(&x->timer, on_finish, 0, 0);
}

/* ---- what goes and comes ----------------------------------------------------------------------------------------------------- */

static json_t *params_of(const gg_llm_request *request) {
    json_t *messages = json_array();
    for (size_t i = 0; i < request->message_count; i++) {
        const gg_llm_message *m = &request->messages[i];
        json_array_append_new(messages,
                              json_pack("{s:s, s:s%}", "role", m->role == GG_LLM_ASSISTANT ? "assistant" : "user",
                                        "content", m->content.len ? m->content.ptr : "", m->content.len));
    }
    json_t *out = json_pack("{s:o, s:I, s:f, s:f}", "messages", messages, "maxTokens", (json_int_t)request->max_tokens,
                            "temperature", request->temperature, "topP", request->top_p);
    json_t *schema = request->schema.len ? json_loadb(request->schema.ptr, request->schema.len, 0, NULL) : NULL;
    if (request->system.len) json_object_set_new(out, "system", json_stringn(request->system.ptr, request->system.len));
    if (schema) json_object_set_new(out, "schema", schema);
    return out;
}

static uint64_t count_of(const json_t *result, const char *name) {
    json_int_t count = json_integer_value(json_object_get(result, name));
    return count > 0 ? (uint64_t)count : 0;
}

static gg_llm_stop stop_of(const json_t *result) {
    const char *stop = json_string_value(json_object_get(result, "stop"));
    if (stop && strcmp(stop, "length") == 0) return GG_LLM_STOP_LENGTH;
    return stop && strcmp(stop, "refused") == 0 ? GG_LLM_STOP_REFUSED : GG_LLM_STOP_END;
}

static void on_response(void *data, const json_t *result, const json_t *error) {
    gg_editor_exchange *x = data;
    const json_t *text = json_object_get(result, "text");
    char words[900];
    if (error) {
        const char *message = json_string_value(json_object_get(error, "message"));
        json_int_t code = json_integer_value(json_object_get(error, "code"));
        bool canceled = code == gg_error_rpc_code(GG_ECANCELED) || code == gg_error_rpc_code(GG_ESERVERCANCELED);
        snprintf(words, sizeof(words), "the editor's model: %s",
                 message ? message : "the editor does not say what failed");
        finish(x, canceled ? GG_MODEL_CANCELED : GG_MODEL_EDITOR, words);
    } else if (!json_is_string(text)) {
        finish(x, GG_MODEL_MALFORMED, "the editor's answer to graphglue/model has no text");
    } else if (json_string_length(text) > MAX_TEXT_BYTES) {
        finish(x, GG_MODEL_ANSWER_TOO_BIG, "the answer of the editor's model is larger than any answer may be");
    } else {
        x->result = json_incref((json_t *)result);
        x->end.reply = (gg_llm_reply){{json_string_value(text), json_string_length(text)},
                                      count_of(result, "inputTokens"),
                                      count_of(result, "outputTokens"),
                                      stop_of(result)};
        finish(x, GG_MODEL_NONE, "");
    }
}

/* ---- life ---------------------------------------------------------------------------------------------------------------------- */

gg_editor_exchange *gg_editor_model_ask(gg_session *session, const gg_llm_request *request,
                                        const gg_exchange_options *options) {
    gg_editor_exchange *x = gg_calloc(1, sizeof(gg_editor_exchange));
    x->session = session;
    x->options = *options;
    x->end.cost = -1;
    x->end.tries = 1;
    x->started_ms = uv_now(&session->loop);
    uv_timer_init(&session->loop, &x->timer);
    x->timer.data = x;
    gg_error err = {0};
    if (gg__request_check(request, &err) != 0) {
        finish(x, GG_MODEL_REQUEST, err.message);
        return x;
    }
    x->id = gg_request_until_take(session, "graphglue/model", params_of(request), DEADLINE_MS, on_response, x);
    if (x->id == 0) finish(x, GG_MODEL_CANCELED, "the session ended");
    return x;
}

void gg_editor_model_cancel(gg_editor_exchange *x) {
    if (x->id) gg_request_cancel(x->session, x->id);
    finish(x, GG_MODEL_CANCELED, "the exchange with the model was canceled");
}
