/* The command graphglue.showGraph: what the entries of a document are captured as, as Markdown and as a picture.  The worker runs them once more; its
 * frames are put in words in a job.  Loop thread only, but for `render`. */
#include "server/session.h"

enum { MAX_TEXT = 4 << 20, MAX_PICTURE = 1 << 20 };

typedef struct showing {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    char *path;
    gg_text *text;
    gg_registry_source *registry;
    gg_worker *worker;
    json_int_t job;
    json_t *frames;  /* `graphs` values */
    json_t *entries; /* the reply's */
    char *failure;
    gg_progress *progress;
    bool waiting;
} showing;

static void finish(showing *s) {
    gg_progress_end(s->progress);
    if (s->call == NULL)
        ;
    else if (s->failure)
        gg_call_fail(s->call, GG_EFAILED, "%s", s->failure);
    else
        gg_call_reply_take(s->call, json_pack("{s:O}", "entries", s->entries));
    s->session->writings--;
    gg_registry_source_unref(&s->registry);
    gg_text_unref(&s->text);
    json_decref(s->frames);
    json_decref(s->entries);
    gg_free(s->failure);
    gg_free(s->path);
    gg_free(s);
}

static json_t *rendered(const gg_graphs *graphs, gg_arena *arena) {
    gg_buf text, picture;
    gg_buf_init(&text, MAX_TEXT);
    gg_buf_init(&picture, MAX_PICTURE);
    gg_graphs_markdown(graphs, &text);
    gg_graphs_svg(graphs, &picture);
    gg_str title = gg_graphs_summary(graphs, arena), markdown = gg_buf_str(&text), svg = gg_buf_str(&picture);
    json_t *out =
        json_pack("{s:s%, s:s%, s:s%, s:s%}", "name", graphs->name.ptr ? graphs->name.ptr : "", graphs->name.len,
                  "title", title.ptr, title.len, "text", markdown.ptr, markdown.len, "svg", svg.ptr, svg.len);
    gg_buf_clear(&text);
    gg_buf_clear(&picture);
    return out;
}

static void render(void *data) {
    showing *s = data;
    gg_sources *sources = gg_sources_new();
    gg_sources_put(sources, gg_str_from(s->path), s->text, NULL);
    size_t i;
    const json_t *frame;
    json_array_foreach(s->frames, i, frame) {
        gg_arena *arena = gg_arena_new();
        gg_graphs graphs;
        gg_error err = {0};
        if (gg_graphs_decode(&graphs, frame, sources, gg_registry_source_get(s->registry), arena, &err) == 0)
            json_array_append_new(s->entries, rendered(&graphs, arena));
        else
            gg_log(GG_LOG_ERROR, "the worker sent graphs that cannot be read: %s", err.message);
        gg_arena_free(arena);
    }
    gg_sources_free(sources);
}

static void on_rendered(void *data) {
    showing *s = data;
    if (json_array_size(s->entries) == 0 && s->failure == NULL)
        s->failure = gg_str_dup(GG_STR("there is no entry of that name in the file"));
    finish(s);
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    showing *s = data;
    if (strcmp(op, "graphs") == 0) json_array_append_new(s->frames, json_deep_copy(json_object_get(frame, "graphs")));
    if (strcmp(op, "done") != 0) return;
    s->waiting = false;
    const char *status = json_string_value(json_object_get(frame, "status")),
               *message = json_string_value(json_object_get(frame, "message"));
    if (status && strcmp(status, "ok") == 0) {
        s->registry = gg_registry_source_ref(gg_workspace_of(s->session, s->path)->registry); /* known by now */
        gg_job_start(s->session, render, on_rendered, s);
        return;
    }
    s->failure = gg_str_dup(gg_str_from(message ? message : status ? status : "the worker gave no answer"));
    finish(s);
}

static void cancel(void *data) {
    showing *s = data;
    if (s->waiting) gg_worker_cancel(s->worker, s->job);
}

static void on_cancel(gg_call *call) {
    showing *s = call->work;
    s->call = NULL;
    cancel(s);
}

void gg_show_graphs(gg_session *session, gg_call *call, const json_t *argument) {
    const char *uri = json_string_value(json_is_string(argument) ? argument : json_object_get(argument, "uri")),
               *entry = json_string_value(json_object_get(argument, "entry"));
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    if (document == NULL) {
        gg_call_fail(call, GG_EPARAMS, "params.arguments[0] wants the URI of an open document, or {uri, entry}");
        return;
    }
    gg_error err = {0};
    if (gg_session_check_trust(session, &err) != 0) {
        gg_call_fail(call, err.code, "%s", err.message);
        return;
    }
    if (!gg_document_can_run(document)) {
        gg_call_fail(call, GG_EFAILED, "the document is no file that can be run");
        return;
    }
    gg_workspace *workspace = gg_workspace_of(session, document->path);
    gg_worker *worker = gg_workspace_worker(workspace);
    if (worker == NULL) {
        gg_call_fail(call, GG_EFAILED, "%s", workspace->error);
        return;
    }
    showing *s = gg_calloc(1, sizeof(showing));
    *s = (showing){.session = session,
                   .call = call,
                   .path = gg_str_dup(gg_str_from(document->path)),
                   .text = gg_text_ref(document->text),
                   .worker = worker,
                   .frames = json_array(),
                   .entries = json_array(),
                   .waiting = true};
    call->work = s;
    call->on_cancel = on_cancel;
    session->writings++;
    s->progress = gg_progress_start(session, "graphglue: capturing the graphs", cancel, s);
    gg_overlay_file *overlay;
    gg_str name = gg_str_from(entry ? entry : "");
    gg_capture_request request = {.file = gg_str_from(s->path),
                                  .entries = &name,
                                  .entry_count = entry ? 1 : 0,
                                  .deadline_ms = gg_options_of(document)->timeout_ms};
    request.overlay_count = gg_overlay_of(session, &overlay);
    request.overlay = overlay;
    s->job = gg_worker_submit(worker, gg_graphs_request_encode(&request), on_frame, s);
    gg_free(overlay);
    if (s->job) return;
    s->waiting = false;
    s->failure = gg_str_dup(GG_STR("the server is ending"));
    finish(s);
}
