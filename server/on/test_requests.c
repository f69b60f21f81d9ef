/* gg/sync, gg/status, gg/text and gg/model: for tests only (--test).  gg/sync is answered when no job, capture, verification or publish is
 * outstanding; gg/text shows what is held of an open document; gg/model asks the language model what it is told to.
 * Loop thread only. */
#include "server/llm/model.h"
#include "server/on/on.h"

static void count_handle(uv_handle_t *handle, void *data) {
    (void)handle;
    ++*(int *)data;
}

static json_t *workers_json(const gg_session *session) {
    static const char *const states[] = {[GG_WORKER_OFF] = "off",
                                         [GG_WORKER_STARTING] = "starting",
                                         [GG_WORKER_READY] = "ready",
                                         [GG_WORKER_FAILED] = "failed"};
    json_t *out = json_array();
    for (size_t i = 0; i < session->workspaces.len; i++) {
        const gg_workspace *w = session->workspaces.items[i];
        if (w->removed) continue;
        const gg_worker_info *info = w->worker ? gg_worker_get_info(w->worker) : NULL;
        gg_worker_state state = info ? info->state : w->error ? GG_WORKER_FAILED : GG_WORKER_OFF;
        const char *error = w->error || info == NULL ? w->error : info->error;
        json_array_append_new(out,
                              json_pack("{s:s, s:s, s:s?, s:s?, s:s?}", "folder", w->folder, "state", states[state],
                                        "python", w->python, "torch", info ? info->torch : NULL, "error", error));
    }
    return out;
}

json_t *gg_status_json(gg_session *session) {
    size_t count;
    const gg_method *rows = gg_methods(&count);
    json_t *methods = json_object();
    for (size_t i = 0; i < count; i++)
        if (rows[i].calls || rows[i].errors)
            json_object_set_new(methods, rows[i].name,
                                json_pack("{s:I, s:I, s:I, s:I, s:I}", "calls", (json_int_t)rows[i].calls, "errors",
                                          (json_int_t)rows[i].errors, "canceled", (json_int_t)rows[i].canceled,
                                          "total_us", (json_int_t)rows[i].total_us, "max_us",
                                          (json_int_t)rows[i].max_us));
    int handles = 0;
    uv_walk(&session->loop, count_handle, &handles);
    return json_pack("{s:b, s:o, s:o, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "trusted",
                     session->settings.trusted, "workers", workers_json(session), "methods", methods, "stalls",
                     (json_int_t)session->stalls, "longest_turn_us", (json_int_t)session->longest_turn_us, "documents",
                     (int)session->documents.len, "jobs", (int)session->jobs, "captures", (int)session->captures,
                     "verifications", (int)session->glues, "writings", (int)session->writings, "pending",
                     (int)session->calls.len, "handles", handles);
}

GG_HANDLER(gg_on_status) {
    (void)params;
    gg_call_reply_take(call, gg_status_json(session));
}

GG_HANDLER(gg_on_sync) {
    (void)params;
    gg_list_push(&session->syncs, call);
}

GG_HANDLER(gg_on_text) {
    (void)params;
    const char *uri = json_string_value(json_object_get(call->message.params, "uri"));
    const gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    if (document == NULL) {
        gg_call_fail(call, GG_EPARAMS, "params.uri wants the URI of an open document");
        return;
    }
    gg_str text = gg_text_bytes(document->text);
    gg_call_reply_take(call, json_pack("{s:s%, s:I}", "text", text.len ? text.ptr : "", text.len, "version",
                                       (json_int_t)document->version));
}

/* ---- gg/model ------------------------------------------------------------------------------------------------------------------ */

typedef struct model_test {
    gg_call *call; /* NULL: it was canceled */
    gg_asking *asking;
    gg_llm_message message;
    char *question;
} model_test;

static void on_model_done(void *data, const gg_exchange_end *end) {
    model_test *t = data;
    gg_str text = end->reply.text;
    if (t->call && end->error.code)
        gg_call_fail(t->call, end->error.code, "%s: %s", gg_model_failure_id(end->failure), end->error.message);
    else if (t->call)
        gg_call_reply_take(t->call, json_pack("{s:s%, s:I, s:I, s:i}", "text", text.len ? text.ptr : "", text.len,
                                              "inputTokens", (json_int_t)end->reply.input_tokens, "outputTokens",
                                              (json_int_t)end->reply.output_tokens, "stop", (int)end->reply.stop));
    gg_free(t->question);
    gg_free(t);
}

static void on_model_cancel(gg_call *call) {
    model_test *t = call->work;
    t->call = NULL;
    gg_model_cancel(t->asking);
}

GG_HANDLER(gg_on_model) {
    (void)params;
    const char *question = json_string_value(json_object_get(call->message.params, "question"));
    model_test *t = gg_calloc(1, sizeof(model_test));
    gg_error err = {0};
    t->call = call;
    t->question = gg_str_dup(gg_str_from(question));
    t->message = (gg_llm_message){GG_LLM_USER, gg_str_from(t->question)};
    const gg_llm_request request = {.system = GG_STR("a test"),
                                    .messages = &t->message,
                                    .message_count = 1,
                                    .schema = GG_STR("{\"type\":\"object\"}"),
                                    .max_tokens = GG_LLM_MAX_TOKENS,
                                    .temperature = GG_LLM_TEMPERATURE,
                                    .top_p = GG_LLM_TOP_P};
    const gg_exchange_options options = {.data = t, .on_done = on_model_done, .first_wait_ms = 20};
    const gg_options *settings = session->workspaces.len ? gg_options_at(session, session->workspaces.items[0]->folder)
                                                         : session->settings.options;
    call->work = t;
    call->on_cancel = on_model_cancel;
    t->asking = gg_model_ask(session, settings, &request, &options, &err);
    if (t->asking) return;
    gg_call_fail(call, err.code, "%s", err.message);
    gg_free(t->question);
    gg_free(t);
}
