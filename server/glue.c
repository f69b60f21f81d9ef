/* Glue: a rule's edits for a site, proved in the worker before anybody sees them.  Loop thread only, but for the edits' job. */
#include "server/session.h"

struct gg_glue {
    gg_session *session;
    char *uri;
    uint64_t revision; /* of the text that the edits are for */
    size_t site;
    const gg_rule *rule;
    gg_glue_done done;
    void *data;
    gg_parse_input parse;
    gg_findings *findings;
    gg_span span;
    gg_arena *arena;
    gg_edits edits;
    gg_text *edited;
    gg_tree *tree;
    gg_error error;
    gg_worker *worker;
    json_int_t job;
    json_t *verdict;
    gg_progress *progress;
    bool canceled, waiting;
    atomic_bool stop; /* for the job: canceled */
};

static gg_document *document_of(gg_glue *glue) {
    gg_document *d = gg_document_find(glue->session, gg_str_from(glue->uri));
    return d && d->revision == glue->revision ? d : NULL; /* another capture of the same text changes nothing */
}

static void finish(gg_glue *glue, int error, const char *message, gg_str summary) {
    gg_glue_result result = {
        .error = error, .message = message, .document = document_of(glue), .edits = &glue->edits, .summary = summary};
    if (glue->canceled) {
        result.error = GG_ECANCELED;
        result.message = "canceled";
    } else if (result.document == NULL) {
        result.error = GG_ESTALE;
        result.message = "the document changed while the edit was being verified; nothing was applied";
    }
    gg_progress_end(glue->progress);
    glue->done(glue->data, &result);
    glue->session->glues--;
    gg_parse_input_clear(glue->session, &glue->parse);
    gg_findings_unref(glue->session, &glue->findings);
    gg_edits_clear(&glue->edits);
    gg_text_unref(&glue->edited);
    gg_tree_drop(glue->session, &glue->tree);
    gg_arena_free(glue->arena);
    json_decref(glue->verdict);
    gg_free(glue->uri);
    gg_free(glue);
}

static void judge(gg_glue *glue, const char *failure) {
    gg_verdict verdict;
    gg_error err = {0};
    if (glue->verdict == NULL) {
        finish(glue, GG_EFAILED, failure ? failure : "the worker gave no verdict", GG_STR_NULL);
    } else if (gg_verdict_decode(&verdict, glue->verdict, glue->arena, &err) != 0) {
        finish(glue, GG_EFAILED, err.message, GG_STR_NULL);
    } else {
        gg_str summary = gg_verdict_summary(&verdict, glue->arena);
        if (verdict.accepted)
            finish(glue, 0, NULL, summary);
        else
            finish(glue, GG_EFAILED, gg_arena_z(glue->arena, summary), summary);
    }
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    gg_glue *glue = data;
    if (strcmp(op, "verdict") == 0) glue->verdict = json_deep_copy(json_object_get(frame, "verdict"));
    gg_progress_hear(glue->progress, op, frame);
    if (strcmp(op, "done") != 0) return;
    glue->waiting = false;
    const char *message = json_string_value(json_object_get(frame, "message")),
               *status = json_string_value(json_object_get(frame, "status"));
    if (status && strcmp(status, "canceled") == 0) glue->canceled = true;
    judge(glue, message ? message : status);
}

/* U+FFFD may stand for what no editor can send (protocol/message.c): it must not be put where the real thing is. */
bool gg_edits_move_unknown(const gg_edits *edits) {
    for (size_t i = 0; i < edits->list.len; i++)
        if (gg_str_contains(edits->list.items[i].text, GG_STR("\xEF\xBF\xBD"))) return true;
    return false;
}

static void make_edits(void *data) {
    gg_glue *glue = data;
    if (gg_parse_input_run(&glue->parse, &glue->tree, &glue->error) != 0) return;
    gg_rule_input in = {.tree = glue->tree, .site = &glue->findings->sites.items[glue->site], .span = glue->span};
    if (gg_repair_edits(glue->rule, &in, glue->arena, &glue->edits, &glue->error) != 0) return;
    if (gg_edits_move_unknown(&glue->edits)) {
        gg_fail(&glue->error, GG_ENOMATCH, "the edit would move a character that is no text");
        return;
    }
    if (gg_edits_apply(&glue->edited, glue->parse.text, &glue->edits, &glue->error) != 0) glue->edited = NULL;
}

static void on_edits(void *data) {
    gg_glue *glue = data;
    gg_document *document = document_of(glue);
    if (document) gg_document_offer_tree(document, glue->tree);
    if (document == NULL || glue->canceled || glue->edited == NULL) {
        finish(glue, glue->error.code ? glue->error.code : GG_ESTALE, glue->error.message, GG_STR_NULL);
        return;
    }
    gg_session *session = glue->session;
    gg_workspace *workspace = gg_workspace_of(session, document->path);
    glue->worker = gg_workspace_worker(workspace);
    if (glue->worker == NULL) {
        finish(glue, GG_EFAILED, workspace->error, GG_STR_NULL);
        return;
    }
    gg_overlay_file *original;
    size_t count = gg_overlay_of(session, &original);
    gg_overlay_file edited = {gg_str_from(document->path), gg_text_bytes(glue->edited)};
    gg_verify_request request = {.file = edited.file,
                                 .original = original,
                                 .original_count = count,
                                 .edited = &edited,
                                 .edited_count = 1,
                                 .safety = gg_safety_name(glue->rule->safety),
                                 .copies = glue->edits.copies,
                                 .deadline_ms = gg_options_of(document)->timeout_ms};
    glue->waiting = true;
    glue->job = gg_worker_submit(glue->worker, gg_verify_request_encode(&request), on_frame, glue);
    gg_free(original);
}

static void on_progress_cancel(void *data) {
    gg_glue_cancel(data);
}

gg_glue *gg_glue_start(gg_document *document, size_t site, const gg_rule *rule, gg_glue_done done, void *data,
                       gg_error *err) {
    gg_session *session = document->session;
    if (!session->settings.trusted || document->path == NULL || document->findings == NULL ||
        site >= document->findings->sites.len) {
        gg_fail(err, GG_ESTALE, "the finding is gone");
        return NULL;
    }
    gg_glue *glue = gg_calloc(1, sizeof(gg_glue));
    *glue = (gg_glue){.session = session,
                      .uri = gg_str_dup(gg_str_from(document->uri)),
                      .revision = document->revision,
                      .site = site,
                      .rule = rule,
                      .done = done,
                      .data = data,
                      .findings = gg_findings_ref(document->findings),
                      .span = document->marks[site].span,
                      .arena = gg_arena_new()};
    glue->parse = gg_parse_input_of(document, &glue->stop);
    session->glues++;
    glue->progress = gg_progress_start(session, "graphglue: verifying the edit", on_progress_cancel, glue);
    gg_job_start(session, make_edits, on_edits, glue);
    return glue;
}

json_t *gg_glue_offer(const gg_document *document, size_t site, const gg_rule *rule) {
    gg_span span = document->marks[site].span;
    gg_str id = document->findings->sites.items[site].id;
    return json_pack("{s:s, s:I, s:s%, s:i, s:i, s:s}", "uri", document->uri, "revision",
                     (json_int_t)document->revision, "site", id.ptr, id.len, "start", (int)span.start, "end",
                     (int)span.end, "rule", rule->code);
}

/* The site that was offered to be mended: the same break at the same place of the same text, whichever capture found it. */
static size_t site_offered(const gg_document *document, gg_str id, gg_span span) {
    const gg_findings *f = document->findings;
    for (size_t i = 0; f && i < f->sites.len; i++) {
        gg_mark mark = document->marks[i];
        if (f->local[i] && !mark.faded && !mark.gone && mark.span.start == span.start && mark.span.end == span.end &&
            gg_str_equal(f->sites.items[i].id, id))
            return i;
    }
    return SIZE_MAX;
}

gg_glue *gg_glue_start_from(gg_session *session, const json_t *action, gg_glue_done done, void *data, gg_error *err) {
    const char *uri = json_string_value(json_object_get(action, "uri")),
               *code = json_string_value(json_object_get(action, "rule")),
               *site = json_string_value(json_object_get(action, "site"));
    const json_t *revision = json_object_get(action, "revision"), *start = json_object_get(action, "start"),
                 *end = json_object_get(action, "end");
    const gg_rule *rule = code ? gg_rule_find(gg_str_from(code)) : NULL;
    if (uri == NULL || rule == NULL || site == NULL || !json_is_integer(revision) || !json_is_integer(start) ||
        !json_is_integer(end)) {
        gg_fail(err, GG_EPARAMS, "the action's data wants uri, revision, site, start, end and rule");
        return NULL;
    }
    gg_document *document = gg_document_find(session, gg_str_from(uri));
    bool same = document && document->revision == (uint64_t)json_integer_value(revision);
    gg_span span = {(uint32_t)json_integer_value(start), (uint32_t)json_integer_value(end)};
    size_t index = same ? site_offered(document, gg_str_from(site), span) : SIZE_MAX;
    if (index == SIZE_MAX) {
        gg_fail(err, GG_ESTALE, "the document changed since the action was offered");
        return NULL;
    }
    return gg_glue_start(document, index, rule, done, data, err);
}

void gg_glue_refuse(gg_call *call, int error, const char *message) {
    if (error == GG_ESTALE || error == GG_EFAILED || error == GG_ENOMATCH)
        gg_show_message(call->session, 2, "graphglue: not applied. %s", message);
    gg_log(GG_LOG_INFO, "not applied: %s", message);
    gg_call_fail(call, error, "%s", message);
}

void gg_glue_cancel(gg_glue *glue) {
    glue->canceled = true;
    atomic_store(&glue->stop, true);
    if (glue->waiting) gg_worker_cancel(glue->worker, glue->job);
}

json_t *gg_workspace_edit_json(const gg_session *session, const gg_document *document, const gg_edits *edits) {
    json_t *list = json_array();
    for (size_t i = 0; i < edits->list.len; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:s%}", "range", gg_range_json(session, document->text, edits->list.items[i].span),
                            "newText", edits->list.items[i].text.ptr ? edits->list.items[i].text.ptr : "",
                            edits->list.items[i].text.len));
    if (GG_HAS(session, VERSIONED_EDITS))
        return json_pack("{s:[{s:{s:s, s:I}, s:o}]}", "documentChanges", "textDocument", "uri", document->uri,
                         "version", (json_int_t)document->version, "edits", list);
    return json_pack("{s:{s:o}}", "changes", document->uri, list);
}

/* Wanting a look first, where the client can show one. */
static json_t *to_confirm(const gg_session *session, json_t *edit_take, const char *label, gg_str why) {
    json_t *change = json_array_get(json_object_get(edit_take, "documentChanges"), 0), *one;
    size_t i;
    if (!GG_HAS(session, ANNOTATIONS) || change == NULL) return edit_take;
    json_array_foreach(json_object_get(change, "edits"), i, one)
        json_object_set_new(one, "annotationId", json_string("proved"));
    json_object_set_new(edit_take, "changeAnnotations",
                        json_pack("{s:{s:s, s:b, s:s%}}", "proved", "label", label, "needsConfirmation", 1,
                                  "description", why.ptr, why.len));
    return edit_take;
}

json_t *gg_glue_edit_json(const gg_glue_result *result, const char *label, gg_look look) {
    const gg_session *session = result->document->session;
    json_t *edit = gg_workspace_edit_json(session, result->document, result->edits);
    bool wanted = look == GG_LOOK_ALWAYS || (look == GG_LOOK_AS_SET && gg_options_of(result->document)->preview);
    return wanted ? to_confirm(session, edit, label, result->summary) : edit;
}
