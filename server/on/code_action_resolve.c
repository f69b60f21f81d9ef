/* codeAction/resolve: proves the edit, then returns it.  Loop thread only. */
#include "server/on/on.h"

typedef struct resolving {
    gg_call *call; /* NULL once canceled */
    gg_glue *glue;
    gg_glue_all *all; /* one of the two */
} resolving;

static void on_glued(void *data, const gg_glue_result *result) {
    resolving *r = data;
    gg_call *call = r->call;
    bool unasked = r->all != NULL; /* an editor does it on save */
    gg_free(r);
    if (call == NULL) return;
    if (result->error) {
        gg_glue_refuse(call, result->error, result->message);
        return;
    }
    json_t *action = json_deep_copy(call->message.params);
    if (result->edits->list.len)
        json_object_set_new(action, "edit",
                            gg_glue_edit_json(result, "Glue this graph", unasked ? GG_LOOK_NEVER : GG_LOOK_AS_SET));
    gg_log(GG_LOG_INFO, "%.*s", GG_STR_ARG(result->summary));
    gg_call_reply_take(call, action);
}

static void on_cancel(gg_call *call) {
    resolving *r = call->work;
    r->call = NULL;
    if (r->all)
        gg_glue_all_cancel(r->all);
    else
        gg_glue_cancel(r->glue);
}

GG_HANDLER(gg_on_code_action_resolve) {
    const gg_lsp_code_action *action = params;
    gg_error err = {0};
    if (action->data == NULL) { /* some clients resolve actions that need none */
        gg_call_reply_take(call, json_deep_copy(call->message.params));
        return;
    }
    resolving *r = gg_calloc(1, sizeof(resolving));
    r->call = call;
    call->work = r;
    if (json_is_true(json_object_get(action->data, "fixAll")))
        r->all = gg_glue_all_start(session, action->data, on_glued, r, &err);
    else
        r->glue = gg_glue_start_from(session, action->data, on_glued, r, &err);
    if (r->glue || r->all) {
        call->on_cancel = on_cancel;
        return;
    }
    gg_free(r);
    gg_glue_refuse(call, err.code, err.message);
}
