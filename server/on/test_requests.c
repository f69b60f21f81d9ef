/* gg/sync, gg/status and gg/text: for tests only (--test).  gg/sync is answered when no job, capture, verification or publish is
 * outstanding; gg/text shows what is held of an open document.
 * Loop thread only. */
#include "server/on/on.h"

static void count_handle(uv_handle_t *handle, void *data) {
    (void)handle;
    ++*(int *)data;
}

json_t *gg_status_json(gg_session *session) {
    size_t count;
    const gg_method *rows = gg_methods(&count);
    json_t *methods = json_object();
    for (size_t i = 0; i < count; i++)
        if (rows[i].calls)
            json_object_set_new(methods, rows[i].name,
                                json_pack("{s:I, s:I, s:I, s:I, s:I}", "calls", (json_int_t)rows[i].calls, "errors",
                                          (json_int_t)rows[i].errors, "canceled", (json_int_t)rows[i].canceled,
                                          "total_us", (json_int_t)rows[i].total_us, "max_us",
                                          (json_int_t)rows[i].max_us));
    int handles = 0;
    uv_walk(&session->loop, count_handle, &handles);
    return json_pack("{s:o, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "methods", methods, "stalls",
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
