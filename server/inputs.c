/* Writing example inputs: the worker proposes lines for a document, from what it recorded or deduced; they become an edit of the text that it
 * was asked about, and of no other.  Loop thread only. */
#include "server/session.h"

enum { MAX_INSERTIONS = 256, MAX_TOLD = 4, MAX_REASON_BYTES = 200 };

struct gg_writing {
    gg_session *session;
    char *uri;
    uint64_t revision; /* of the text that was asked about */
    gg_written_inputs_done done;
    void *data;
    gg_worker *worker;
    json_int_t job;
    json_t *answer; /* the worker's `inputs` frame; NULL: none came */
    gg_progress *progress;
    bool canceled, waiting;
};

/* ---- the worker's answer ---------------------------------------------------------------------------------------------- */

int gg_inputs_edits(gg_edits *out, const gg_text *text, const json_t *answer, gg_error *err) {
    const json_t *edits = json_object_get(answer, "edits"), *edit;
    gg_str bytes = gg_text_bytes(text);
    size_t index;
    if (!json_is_array(edits) || json_array_size(edits) > MAX_INSERTIONS)
        return gg_fail(err, GG_EFRAME, "inputs.edits wants a list of edits");
    json_array_foreach(edits, index, edit) {
        const json_t *at = json_object_get(edit, "line"), *inserted = json_object_get(edit, "text");
        json_int_t line = json_integer_value(at);
        if (!json_is_integer(at) || line < 0 || !json_is_string(inserted))
            return gg_fail(err, GG_EFRAME, "inputs.edits[%zu] wants a line and a text", index);
        bool beyond = line >= (json_int_t)gg_text_line_count(text);
        uint32_t offset = beyond ? (uint32_t)bytes.len : gg_text_line_start(text, (uint32_t)line);
        if (line == 0 && gg_str_starts_with(bytes, GG_STR("\xEF\xBB\xBF")))
            offset = 3; /* it is no part of the program */
        gg_edits_add(out, (gg_span){offset, offset},
                     (gg_str){json_string_value(inserted), json_string_length(inserted)});
    }
    return gg_edits_sort(out, err);
}

/* "Net: why; Head: why": what the user must know of a list of {"name", "reason"}; "" for none. */
static gg_str told(const json_t *list, gg_arena *arena) {
    gg_str out = GG_STR("");
    size_t index;
    const json_t *item;
    json_array_foreach(list, index, item) {
        const char *name = json_string_value(json_object_get(item, "name")),
                   *reason = json_string_value(json_object_get(item, "reason"));
        if (index == MAX_TOLD) {
            size_t more = json_array_size(list) - MAX_TOLD;
            return gg_arena_printf(arena, "%.*s; and %zu more", GG_STR_ARG(out), more);
        }
        gg_str said = gg_str_from(reason ? reason : "");
        said = gg_str_slice(said, 0, gg_utf8_valid_prefix(gg_str_slice(said, 0, MAX_REASON_BYTES)));
        out = gg_arena_printf(arena, "%.*s%s%s: %.*s", GG_STR_ARG(out), index ? "; " : "", name ? name : "?",
                              GG_STR_ARG(said));
    }
    return out;
}

gg_str gg_inputs_words(const json_t *answer, gg_arena *arena) {
    gg_str missing = told(json_object_get(answer, "left_out"), arena),
           notes = told(json_object_get(answer, "notes"), arena);
    if (json_is_true(json_object_get(answer, "form")))
        return gg_arena_printf(arena, "What was written is a form to fill in. %.*s", GG_STR_ARG(missing));
    if (missing.len) missing = gg_arena_printf(arena, "Not written for %.*s.", GG_STR_ARG(missing));
    return gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(missing), missing.len && notes.len ? " " : "",
                           GG_STR_ARG(notes));
}

/* ---- the job ------------------------------------------------------------------------------------------------------------ */

static void finish(gg_writing *w, int error, const char *message) {
    gg_document *document = gg_document_find(w->session, gg_str_from(w->uri));
    gg_arena *arena = gg_arena_new();
    gg_edits edits = {0};
    gg_error err = {0};
    gg_written_inputs result = {.error = error, .message = message, .edits = &edits};
    if (document && document->revision == w->revision) result.document = document;
    if (w->canceled) {
        result.error = GG_ECANCELED;
        result.message = "canceled";
    } else if (result.document == NULL) {
        result.error = GG_ESTALE;
        result.message = "the document changed while its inputs were being written; nothing was applied";
    } else if (result.error == 0 && gg_inputs_edits(&edits, document->text, w->answer, &err) != 0) {
        result.error = GG_EFAILED;
        result.message = err.message;
    }
    if (result.error == 0) result.words = gg_inputs_words(w->answer, arena);
    gg_progress_end(w->progress);
    w->done(w->data, &result);
    w->session->writings--;
    gg_edits_clear(&edits);
    gg_arena_free(arena);
    json_decref(w->answer);
    gg_free(w->uri);
    gg_free(w);
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    gg_writing *w = data;
    if (strcmp(op, "inputs") == 0) {
        json_decref(w->answer);
        w->answer = json_deep_copy(frame);
    }
    if (strcmp(op, "done") != 0) return;
    w->waiting = false;
    const char *status = json_string_value(json_object_get(frame, "status")),
               *message = json_string_value(json_object_get(frame, "message")),
               *refusal = json_string_value(json_object_get(w->answer, "refusal"));
    if (status && strcmp(status, "canceled") == 0) w->canceled = true;
    if (w->answer && refusal == NULL)
        finish(w, 0, NULL);
    else
        finish(w, GG_EFAILED, refusal ? refusal : message ? message : "the worker gave no answer");
}

static void on_progress_cancel(void *data) {
    gg_writing_cancel(data);
}

gg_writing *gg_writing_start(gg_document *document, gg_written_inputs_done done, void *data, gg_error *err) {
    gg_session *session = document->session;
    if (gg_session_check_trust(session, err) != 0) return NULL;
    if (!gg_document_can_run(document)) {
        gg_fail(err, GG_EFAILED, "example inputs are written for Python files only, whose text is known");
        return NULL;
    }
    gg_workspace *workspace = gg_workspace_of(session, document->path);
    gg_worker *worker = gg_workspace_worker(workspace);
    if (worker == NULL) {
        gg_fail(err, GG_EFAILED, "%s", workspace->error);
        return NULL;
    }
    gg_writing *w = gg_calloc(1, sizeof(gg_writing));
    *w = (gg_writing){.session = session,
                      .uri = gg_str_dup(gg_str_from(document->uri)),
                      .revision = document->revision,
                      .done = done,
                      .data = data,
                      .worker = worker,
                      .waiting = true};
    session->writings++;
    w->progress = gg_progress_start(session, "graphglue: writing example inputs", on_progress_cancel, w);
    gg_overlay_file *overlay;
    gg_capture_request request = {.file = gg_str_from(document->path),
                                  .deadline_ms = gg_options_of(document)->timeout_ms};
    request.overlay_count = gg_overlay_of(session, &overlay);
    request.overlay = overlay;
    w->job = gg_worker_submit(worker, gg_write_inputs_request_encode(&request), on_frame, w);
    gg_free(overlay);
    if (w->job) return w;
    gg_fail(err, GG_EFAILED, "the server is ending");
    gg_progress_end(w->progress);
    session->writings--;
    gg_free(w->uri);
    gg_free(w);
    return NULL;
}

void gg_writing_cancel(gg_writing *writing) {
    writing->canceled = true;
    if (writing->waiting) gg_worker_cancel(writing->worker, writing->job);
}
