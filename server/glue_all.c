/* Glue all: every repair of a document that can be proved, as one edit; or timed.  Drives a repair session (repair/fix.c) against the worker: its steps run
 * in jobs, what they ask for is asked from the loop.  Loop thread only, but for `step`.
 *
 * Invariant: `fix` is the job's while one is running, and else the loop's. */
#include "server/glue_all.h"

enum { BENCH_DEADLINES = 5 }; /* of an entry, for one figure: it compiles for real */

gg_document *gg__glued_document(gg_glue_all *all) {
    gg_document *d = gg_document_find(all->session, gg_str_from(all->uri));
    return d && d->revision == all->revision ? d : NULL;
}

/* Empty where it was said already. */
static gg_str summary_of(const gg_fix *fix, const gg__asked *asked, gg_arena *arena) {
    size_t tried, proved = 0, count, before_breaks = 0, after_breaks = 0;
    const gg_fix_repair *repairs = gg_fix_repairs(fix, &tried);
    const gg_verdict *refused = NULL;
    for (size_t i = 0; i < tried; i++) {
        const gg_verdict *verdict = repairs[i].verdict;
        proved += verdict && verdict->accepted;
        if (refused == NULL && verdict && !verdict->accepted) refused = verdict;
    }
    const gg_entry *entries = gg_fix_before(fix, &count);
    for (size_t i = 0; i < count; i++) before_breaks += entries[i].break_count;
    entries = gg_fix_after(fix, &count);
    for (size_t i = 0; i < count; i++) after_breaks += entries[i].break_count;
    gg_str why = GG_STR("");
    if (refused && (proved == 0 || after_breaks)) {
        gg_str said = gg_verdict_summary(refused, arena);
        why = gg_arena_printf(arena, ". %.*s", GG_STR_ARG(said));
    }
    if (proved == 0 && tried)
        return gg_arena_printf(arena, "none of %zu candidate%s was proved%.*s", tried, tried == 1 ? "" : "s",
                               GG_STR_ARG(why));
    if (proved == 0 && asked->unanswered) return GG_STR("");
    if (proved == 0 && asked->was_asked && before_breaks)
        return GG_STR(
            "the model wrote nothing that could be tried (graphglue.showRepairLog tells what was wrong with it)");
    if (proved == 0)
        return before_breaks ? GG_STR("no rule of the allowed safety mends a break of this file")
                             : GG_STR("there is no graph break to mend");
    return gg_arena_printf(arena, "%zu repair%s proved: %zu break%s → %zu%.*s", proved, proved == 1 ? "" : "s",
                           before_breaks, before_breaks == 1 ? "" : "s", after_breaks, GG_STR_ARG(why));
}

void gg__glue_finish(gg_glue_all *all, int error, const char *message) {
    gg_arena *arena = gg_arena_new();
    gg_glue_result result = {.error = error,
                             .message = message,
                             .document = gg__glued_document(all),
                             .edits = &all->edits,
                             .summary = GG_STR(""),
                             .bench = all->bench,
                             .shown = gg_buf_str(&all->asked.text)};
    if (error == 0) result.summary = summary_of(all->fix, &all->asked, arena);
    if (all->canceled) {
        result.error = GG_ECANCELED;
        result.message = "canceled";
    } else if (result.document == NULL) {
        result.error = GG_ESTALE;
        result.message = "the document changed while its edits were being verified; nothing was applied";
    }
    gg_progress_end(all->progress);
    gg__model_end(all, false);
    if (all->asked.wanted && !all->asked.only_shown) gg_session_keep_log(all->session, &all->asked.text);
    all->done(all->data, &result);
    all->session->glues--;
    gg_arena_free(arena);
    gg_edits_clear(&all->edits);
    gg_fix_free(all->fix);
    gg__model_clear(all);
    gg_text_unref(&all->text);
    gg_options_free(all->options);
    json_decref(all->entries);
    json_decref(all->verdict);
    json_decref(all->bench);
    gg_free(all->failure);
    gg_free(all->uri);
    gg_free(all->path);
    gg_free(all);
}

/* What the worker said goes to the session; what is to be done next comes from it. */
static void step(void *data) {
    gg_glue_all *all = data;
    int error = 0;
    gg__model_begin(all);
    if (all->asked.awaited) {
        error = gg__model_answered(all);
    } else if (all->asked_capture) {
        size_t count = json_array_size(all->entries);
        json_t **entries = gg_calloc(count, sizeof(json_t *));
        for (size_t i = 0; i < count; i++) entries[i] = json_array_get(all->entries, i);
        error = gg_fix_captured(all->fix, entries, count, &all->error);
        gg_free(entries);
    } else if (all->asked_verdict) {
        gg_str failure = gg_str_from(all->failure ? all->failure : "");
        error = gg_fix_verified(all->fix, all->failure ? NULL : all->verdict, failure, &all->error);
    }
    if (error == 0) error = gg_fix_next(all->fix, &all->action, &all->error);
    if (error || all->action.step != GG_FIX_DONE) return;
    gg_edits_between(&all->edits, all->text, gg_fix_text(all->fix));
    gg__model_end(all, true);
}

static void ask(gg_glue_all *all);
static void ask_bench(gg_glue_all *all);

static void on_step(void *data) {
    gg_glue_all *all = data;
    if (all->canceled || gg__glued_document(all) == NULL)
        gg__glue_finish(all, GG_ESTALE, NULL);
    else if (all->error.code)
        gg__glue_finish(all, all->error.code, all->error.message);
    else if (all->action.step != GG_FIX_DONE)
        ask(all);
    else if (all->bench)
        ask_bench(all);
    else if (gg_edits_move_unknown(&all->edits))
        gg__glue_finish(all, GG_ENOMATCH, "the edit would move a character that is no text");
    else
        gg__glue_finish(all, 0, NULL);
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    gg_glue_all *all = data;
    if (strcmp(op, "entry") == 0) json_array_append_new(all->entries, json_deep_copy(json_object_get(frame, "entry")));
    if (strcmp(op, "bench") == 0) json_array_append_new(all->bench, json_deep_copy(json_object_get(frame, "bench")));
    if (strcmp(op, "verdict") == 0) {
        json_decref(all->verdict);
        all->verdict = json_deep_copy(json_object_get(frame, "verdict"));
    }
    gg_progress_hear(all->progress, op, frame);
    if (strcmp(op, "done") != 0) return;
    all->waiting = false;
    const char *status = json_string_value(json_object_get(frame, "status")),
               *message = json_string_value(json_object_get(frame, "message"));
    bool ok = status && strcmp(status, "ok") == 0;
    if (status && strcmp(status, "canceled") == 0) all->canceled = true;
    if (!ok) gg_free(all->failure);
    if (!ok) all->failure = gg_str_dup(gg_str_from(message ? message : status ? status : "the worker gave no answer"));
    if (all->canceled || (!ok && !all->asked_verdict)) {
        gg__glue_finish(all, GG_EFAILED, all->failure);
        return;
    }
    if (all->asked_bench) {
        gg__glue_finish(all, 0, NULL);
        return;
    }
    gg__glue_go_on(all);
}

void gg__glue_go_on(gg_glue_all *all) {
    gg_job_start(all->session, step, on_step, all);
}

/* The open texts, with `text` for the one being mended; the caller frees. */
static gg_overlay_file *texts_of(const gg_glue_all *all, const gg_text *text, size_t *out_count) {
    gg_overlay_file *files;
    *out_count = gg_overlay_of(all->session, &files);
    for (size_t i = 0; i < *out_count; i++)
        if (gg_str_is(files[i].file, all->path)) files[i].text = gg_text_bytes(text);
    return files;
}

static void submit(gg_glue_all *all, json_t *request_take) {
    gg_workspace *workspace = gg_workspace_of(all->session, all->path);
    all->worker = gg_workspace_worker(workspace);
    if (all->worker == NULL) {
        json_decref(request_take);
        gg__glue_finish(all, GG_EFAILED, workspace->error);
        return;
    }
    all->waiting = true;
    all->job = gg_worker_submit(all->worker, request_take, on_frame, all);
    if (all->job != 0) return;
    all->waiting = false; /* it is being closed */
    all->canceled = true;
    gg__glue_finish(all, GG_ECANCELED, NULL);
}

static json_t *compare_request(const gg_glue_all *all, const gg_text *before, const gg_text *after,
                               const gg_fix_action *action) {
    gg_verify_request verify = {.file = gg_str_from(all->path),
                                .deadline_ms = all->options->timeout_ms * (action ? 1 : BENCH_DEADLINES)};
    if (action) {
        verify.safety = gg_safety_name(action->safety);
        verify.also = action->also;
        verify.also_count = action->also_count;
        verify.copies = action->copies;
        verify.sandbox = action->foreign;
        verify.more_inputs = action->inputs;
        verify.more_input_count = action->input_count;
    }
    gg_overlay_file *files = texts_of(all, before, &verify.original_count),
                    edited = {verify.file, gg_text_bytes(after)};
    verify.original = files;
    verify.edited = &edited;
    verify.edited_count = 1;
    json_t *request = action ? gg_verify_request_encode(&verify) : gg_bench_request_encode(&verify);
    gg_free(files);
    return request;
}

static void ask_bench(gg_glue_all *all) {
    all->asked_capture = all->asked_verdict = false;
    all->asked_bench = true;
    gg_progress_say(all->progress, "timing");
    submit(all, compare_request(all, all->text, gg_fix_text(all->fix), NULL));
}

static void ask(gg_glue_all *all) {
    json_decref(all->entries);
    json_decref(all->verdict);
    gg_free(all->failure);
    all->entries = json_array();
    all->verdict = NULL;
    all->failure = NULL;
    all->asked_capture = all->action.step == GG_FIX_CAPTURE;
    all->asked_verdict = all->action.step == GG_FIX_VERIFY;
    if (all->action.step == GG_FIX_ASK) {
        gg__model_ask(all);
        return;
    }
    if (all->asked_capture) {
        gg_capture_request capture = {.file = gg_str_from(all->path), .deadline_ms = all->options->timeout_ms};
        gg_overlay_file *files = texts_of(all, all->action.original, &capture.overlay_count);
        capture.overlay = files;
        json_t *request = gg_capture_request_encode(&capture);
        gg_free(files);
        submit(all, request);
        return;
    }
    gg_arena *arena = gg_arena_new();
    bool wider = all->action.input_count > 0; /* the one before, on more inputs */
    gg_str words = gg_arena_printf(arena, "candidate %zu: %s%s", all->candidates += !wider,
                                   all->action.rule ? all->action.rule->name : all->asked.who.name,
                                   wider ? ", on inputs that the model proposed" : "");
    gg_progress_say(all->progress, gg_arena_z(arena, words));
    gg_arena_free(arena);
    submit(all, compare_request(all, all->action.original, all->action.edited, &all->action));
}

static bool wants(const void *data, const gg_site *site) {
    const gg_glue_all *all = data;
    const char *name = all->asked.enclosing;
    size_t len = name ? strlen(name) : 0;
    if (name && !(gg_str_starts_with(site->enclosing, (gg_str){name, len}) &&
                  (site->enclosing.len == len || site->enclosing.ptr[len] == '.')))
        return false;
    return !site->ignored && gg_options_level(all->options, site->id, site->rule) != GG_LEVEL_OFF;
}

static void on_progress_cancel(void *data) {
    gg_glue_all_cancel(data);
}

/* `unasked`: as an editor does on save. */
gg_glue_all *gg__glue_start(gg_document *document, bool unasked, gg_glue_done done, void *data, gg_error *err) {
    gg_session *session = document->session;
    if (gg_session_check_trust(session, err) != 0) return NULL;
    if (!gg_document_can_run(document)) {
        gg_fail(err, GG_ESTALE, "the document is no file that can be run");
        return NULL;
    }
    const gg_options *options = gg_options_of(document);
    json_t *values = json_deep_copy(options->values); /* no value is shared between threads */
    gg_glue_all *all = gg_calloc(1, sizeof(gg_glue_all));
    *all = (gg_glue_all){.session = session,
                         .uri = gg_str_dup(gg_str_from(document->uri)),
                         .path = gg_str_dup(gg_str_from(document->path)),
                         .revision = document->revision,
                         .options = gg_options_new(values, NULL, options->folder),
                         .text = gg_text_ref(document->text),
                         .done = done,
                         .data = data};
    json_decref(values);
    gg_safety max_safety = unasked && !options->safety_given ? GG_SAFETY_EXACT : options->max_safety;
    all->fix = gg_fix_new(gg_str_from(all->path), all->text, max_safety, NULL);
    if (unasked) gg_fix_keep_deliberate(all->fix);
    gg_fix_only(all->fix, wants, all);
    session->glues++;
    all->progress = gg_progress_start(session, "graphglue: mending the file", on_progress_cancel, all);
    return all;
}

gg_glue_all *gg_bench_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data, gg_error *err) {
    gg_glue_all *all = gg_glue_all_start(session, argument, done, data, err);
    if (all) all->bench = json_array(); /* nothing is asked before a turn of the loop */
    return all;
}

json_t *gg_fix_all_offer(const gg_document *document) {
    return json_pack("{s:b, s:s, s:I}", "fixAll", 1, "uri", document->uri, "revision", (json_int_t)document->revision);
}

gg_glue_all *gg_glue_all_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data,
                               gg_error *err) {
    const char *uri = json_string_value(json_is_string(argument) ? argument : json_object_get(argument, "uri"));
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    const json_t *revision = json_object_get(argument, "revision");
    if (document == NULL) {
        gg_fail(err, GG_EPARAMS, "params.arguments[0] wants the URI of an open document");
        return NULL;
    }
    if (json_is_integer(revision) && document->revision != (uint64_t)json_integer_value(revision)) {
        gg_fail(err, GG_ESTALE, "the document changed since the action was offered");
        return NULL;
    }
    gg_glue_all *all = gg__glue_start(document, json_is_true(json_object_get(argument, "fixAll")), done, data, err);
    if (all) gg__glue_go_on(all);
    return all;
}

void gg_glue_all_cancel(gg_glue_all *all) {
    all->canceled = true;
    if (all->waiting) gg_worker_cancel(all->worker, all->job);
    if (all->asked.asking) gg_model_cancel(all->asked.asking);
}
