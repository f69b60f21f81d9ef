/* workspace/executeCommand: a row for each command.  Loop thread only. */
#include "server/on/on.h"

enum { APPLY_DEADLINE_MS = 30000 };

typedef struct gluing {
    gg_call *call; /* NULL once canceled */
    gg_glue *glue;
} gluing;

typedef struct gluing_all {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    gg_glue_all *glue;
    bool quiet; /* a fix-all: that nothing can be mended is no news */
    bool model; /* some of it is a model's: it is looked at before it is applied, where the client can show it */
} gluing_all;

typedef struct writing {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    gg_writing *writing;
} writing;

static void on_applied(void *data, const json_t *result, const json_t *error) {
    gg_session *session = data;
    if (error || !json_is_true(json_object_get(result, "applied")))
        if (session->state == GG_STATE_INITIALIZED)
            gg_show_message(session, 2, "graphglue: the editor did not apply the edit");
}

typedef struct proposal { /* an edit that a client is asked to apply which never said that it can */
    gg_call *call;        /* NULL once canceled */
    json_t *edit;
} proposal;

static void on_proposal_cancel(gg_call *call) {
    ((proposal *)call->work)->call = NULL;
}

static void on_proposed(void *data, const json_t *result, const json_t *error) {
    proposal *p = data;
    bool applied = error == NULL && json_is_true(json_object_get(result, "applied"));
    if (p->call) gg_call_reply_take(p->call, applied ? json_null() : json_incref(p->edit));
    json_decref(p->edit);
    gg_free(p);
}

/* Some clients apply edits without announcing it (Kate), and look at no command's result: so each is asked, and one that does not apply it
 * gets the edit as the result. */
static void propose(gg_call *call, const char *label, json_t *edit_take) {
    gg_session *session = call->session;
    json_t *params = json_pack("{s:s, s:O}", "label", label, "edit", edit_take);
    if (GG_HAS(session, APPLY_EDIT)) {
        json_decref(edit_take);
        gg_request_take(session, "workspace/applyEdit", params, on_applied, session);
        gg_call_reply_take(call, json_null());
        return;
    }
    proposal *p = gg_calloc(1, sizeof(proposal));
    *p = (proposal){.call = call, .edit = edit_take};
    call->work = p;
    call->on_cancel = on_proposal_cancel;
    if (gg_request_until_take(session, "workspace/applyEdit", params, APPLY_DEADLINE_MS, on_proposed, p) == 0)
        on_proposed(p, NULL, NULL);
}

static void on_glued(void *data, const gg_glue_result *result) {
    gluing *g = data;
    gg_call *call = g->call;
    gg_free(g);
    if (call == NULL) return;
    if (result->error) {
        gg_glue_refuse(call, result->error, result->message);
        return;
    }
    gg_log(GG_LOG_INFO, "%.*s", GG_STR_ARG(result->summary));
    propose(call, "Glue this graph", gg_glue_edit_json(result, "Glue this graph", GG_LOOK_AS_SET));
}

static void on_cancel(gg_call *call) {
    gluing *g = call->work;
    g->call = NULL;
    gg_glue_cancel(g->glue);
}

static void glue(gg_session *session, gg_call *call, const json_t *data) {
    gg_error err = {0};
    gluing *g = gg_calloc(1, sizeof(gluing));
    g->call = call;
    call->work = g;
    g->glue = gg_glue_start_from(session, data, on_glued, g, &err);
    if (g->glue) {
        call->on_cancel = on_cancel;
        return;
    }
    gg_free(g);
    gg_glue_refuse(call, err.code, err.message);
}

static void on_glued_all(void *data, const gg_glue_result *result) {
    gluing_all *g = data;
    gg_session *session = g->session;
    gg_call *call = g->call;
    bool quiet = g->quiet, model = g->model;
    gg_free(g);
    if (call == NULL) return;
    if (result->error) {
        gg_glue_refuse(call, result->error, result->message);
        return;
    }
    bool some = result->edits->list.len > 0;
    if (result->summary.len && (some || !quiet))
        gg_show_message(session, 3, "graphglue: %.*s", GG_STR_ARG(result->summary));
    const char *label = model ? "Glue with a model" : "Glue all";
    if (some)
        propose(call, label,
                gg_glue_edit_json(result, label,
                                  model   ? GG_LOOK_ALWAYS
                                  : quiet ? GG_LOOK_NEVER
                                          : GG_LOOK_AS_SET));
    else
        gg_call_reply_take(call, json_null());
}

/* The reply is the figures; the summary says what was proved, and nothing is applied. */
static void on_timed(void *data, const gg_glue_result *result) {
    gluing_all *g = data;
    gg_call *call = g->call;
    gg_free(g);
    if (call == NULL) return;
    if (result->error)
        gg_glue_refuse(call, result->error, result->message);
    else
        gg_call_reply_take(call, json_pack("{s:s%, s:o}", "summary", result->summary.ptr, result->summary.len, "bench",
                                           json_deep_copy(result->bench)));
}

static void on_all_cancel(gg_call *call) {
    gluing_all *g = call->work;
    g->call = NULL;
    gg_glue_all_cancel(g->glue);
}

static void on_shown(void *data, const gg_glue_result *result) {
    gluing_all *g = data;
    gg_call *call = g->call;
    gg_free(g);
    if (call == NULL) return;
    if (result->error)
        gg_glue_refuse(call, result->error, result->message);
    else
        gg_call_reply_take(call,
                           json_pack("{s:s%}", "text", result->shown.len ? result->shown.ptr : "", result->shown.len));
}

typedef gg_glue_all *starter(gg_session *session, const json_t *argument, gg_glue_done done, void *data, gg_error *err);

static void start_all(gg_session *session, gg_call *call, const json_t *argument, starter *start, gg_glue_done done,
                      bool quiet, bool model) {
    gg_error err = {0};
    gluing_all *g = gg_calloc(1, sizeof(gluing_all));
    *g = (gluing_all){.session = session, .call = call, .quiet = quiet, .model = model};
    call->work = g;
    g->glue = start(session, argument, done, g, &err);
    if (g->glue) {
        call->on_cancel = on_all_cancel;
        return;
    }
    gg_free(g);
    if (err.code == GG_EPARAMS || err.code == GG_ENOTFOUND)
        gg_call_fail(call, err.code, "%s", err.message);
    else
        gg_glue_refuse(call, err.code, err.message);
}

static void glue_all(gg_session *session, gg_call *call, const json_t *argument) {
    start_all(session, call, argument, gg_glue_all_start, on_glued_all, json_is_object(argument), false);
}

static void bench(gg_session *session, gg_call *call, const json_t *argument) {
    start_all(session, call, argument, gg_bench_start, on_timed, false, false);
}

static void ask_model(gg_session *session, gg_call *call, const json_t *argument) {
    start_all(session, call, argument, gg_glue_model_start, on_glued_all, false, true);
}

static void show_prompt(gg_session *session, gg_call *call, const json_t *argument) {
    start_all(session, call, argument, gg_prompt_start, on_shown, false, true);
}

static void on_written(void *data, const gg_written_inputs *result) {
    writing *w = data;
    gg_session *session = w->session;
    gg_call *call = w->call;
    gg_free(w);
    if (call == NULL) return;
    if (result->error) {
        gg_glue_refuse(call, result->error, result->message);
        return;
    }
    if (result->words.len) gg_show_message(session, 3, "graphglue: %.*s", GG_STR_ARG(result->words));
    propose(call, "Write example inputs", gg_workspace_edit_json(session, result->document, result->edits));
}

static void on_writing_cancel(gg_call *call) {
    writing *w = call->work;
    w->call = NULL;
    gg_writing_cancel(w->writing);
}

static void write_inputs(gg_session *session, gg_call *call, const json_t *argument) {
    const char *uri = json_string_value(argument);
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    gg_error err = {0};
    if (document == NULL) {
        gg_call_fail(call, GG_EPARAMS, "params.arguments[0] wants the URI of an open document");
        return;
    }
    writing *w = gg_calloc(1, sizeof(writing));
    w->session = session;
    w->call = call;
    call->work = w;
    w->writing = gg_writing_start(document, on_written, w, &err);
    if (w->writing) {
        call->on_cancel = on_writing_cancel;
        return;
    }
    gg_free(w);
    gg_glue_refuse(call, err.code, err.message);
}

static void capture(gg_session *session, gg_call *call, const json_t *argument) {
    const char *uri = json_string_value(argument);
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    gg_error err = {0};
    if (document == NULL) {
        gg_call_fail(call, GG_EPARAMS, "params.arguments[0] wants the URI of an open document");
    } else if (gg_session_check_trust(session, &err) != 0) {
        gg_call_fail(call, err.code, "%s", err.message);
    } else {
        gg_worker *worker = document->path ? gg_workspace_worker(gg_workspace_of(session, document->path)) : NULL;
        if (worker && gg_worker_get_info(worker)->state == GG_WORKER_FAILED)
            gg_worker_start(worker); /* a person asks: also one that was given up */
        document->fresh = true;
        gg_capture_start(document);
        gg_call_reply_take(call, json_null());
    }
}

static void show_repair_log(gg_session *session, gg_call *call, const json_t *argument) {
    (void)argument;
    gg_call_reply_take(
        call, json_pack("{s:s}", "text", session->repair_log ? session->repair_log : "No model was asked yet.\n"));
}

static void status(gg_session *session, gg_call *call, const json_t *argument) {
    (void)argument;
    gg_call_reply_take(call, gg_status_json(session));
}

static const struct command {
    const char *name;
    void (*run)(gg_session *session, gg_call *call, const json_t *argument); /* the first one; NULL: there is none */
} commands[] = {
    {"graphglue.bench", bench},
    {"graphglue.capture", capture},
    {"graphglue.explain", gg_explain_with_model},
    {"graphglue.glue", glue},
    {"graphglue.glueAll", glue_all},
    {"graphglue.glueWithModel", ask_model},
    {"graphglue.showGraph", gg_show_graphs},
    {"graphglue.showPrompt", show_prompt},
    {"graphglue.showRepairLog", show_repair_log},
    {"graphglue.status", status},
    {"graphglue.writeInputs", write_inputs},
};

json_t *gg_command_names(void) {
    json_t *names = json_array();
    for (size_t i = 0; i < GG_COUNT(commands); i++) json_array_append_new(names, json_string(commands[i].name));
    return names;
}

GG_HANDLER(gg_on_execute_command) {
    const gg_lsp_execute_command_params *p = params;
    for (size_t i = 0; i < GG_COUNT(commands); i++)
        if (gg_str_is(p->command, commands[i].name)) {
            commands[i].run(session, call, p->arguments.len ? p->arguments.items[0] : NULL);
            return;
        }
    gg_call_fail(call, GG_EPARAMS, "params.command: there is no command '%.*s'", GG_STR_ARG(p->command));
}
