/* Findings as LSP diagnostics, pushed once per turn for the documents that changed.  Loop thread only. */
#include "server/session.h"

enum { UNNECESSARY = 1, MAX_RELATED = 8 };

static json_t *related(const gg_session *session, const gg_site *site) {
    json_t *array = json_array();
    (void)session;
    for (size_t i = 0; i < site->stack_len && i < MAX_RELATED; i++) {
        const gg_frame *frame = &site->stack[i];
        if (frame->line == 0 || frame->file.len == 0 || frame->file.ptr[0] != '/') continue;
        char *path = gg_str_dup(frame->file), *uri = gg_path_to_uri(path);
        int line = (int)frame->line - 1;
        json_array_append_new(array,
                              json_pack("{s:{s:s, s:{s:{s:i, s:i}, s:{s:i, s:i}}}, s:s%}", "location", "uri", uri,
                                        "range", "start", "line", line, "character", 0, "end", "line", line,
                                        "character", 0, "message", frame->function.len ? frame->function.ptr : "frame",
                                        frame->function.len ? frame->function.len : (size_t)5));
        gg_free(path);
        gg_free(uri);
    }
    return array;
}

static json_t *base(const gg_document *document, gg_mark mark, int severity, gg_str code, gg_str message) {
    json_t *out =
        json_pack("{s:o, s:i, s:s, s:s%, s:s%}", "range", gg_range_json(document->session, document->text, mark.span),
                  "severity", mark.faded ? GG_LEVEL_HINT : severity, "source", "graphglue", "code", code.ptr, code.len,
                  "message", message.ptr, message.len);
    if (mark.faded) json_object_set_new(out, "tags", json_pack("[i]", UNNECESSARY));
    return out;
}

static void add_link(const gg_session *session, json_t *diagnostic, gg_str id, gg_arena *arena) {
    if (!GG_HAS(session, CODE_LINKS) && !session->pulls) return;
    gg_str url = gg_explain_url(id, arena);
    json_object_set_new(diagnostic, "codeDescription", json_pack("{s:s%}", "href", url.ptr, url.len));
}

json_t *gg_diagnostic_of_site(const gg_document *document, size_t index) {
    const gg_session *session = document->session;
    const gg_findings *f = document->findings;
    const gg_site *site = &f->sites.items[index];
    gg_arena *arena = gg_arena_new();
    gg_str said = gg_explain_short(site, arena);
    if (!f->local[index]) said = gg_arena_printf(arena, "%.*s (in %.*s)", GG_STR_ARG(said), GG_STR_ARG(site->file));
    json_t *out = base(document, document->marks[index], (int)gg_level_of_site(document, index), site->id, said);
    add_link(session, out, site->id, arena);
    if (GG_HAS(session, RELATED) || session->pulls) {
        json_t *list = related(session, site);
        if (json_array_size(list)) json_object_set(out, "relatedInformation", list);
        json_decref(list);
    }
    if (GG_HAS(session, DIAGNOSTIC_DATA)) json_object_set_new(out, "data", json_pack("{s:i}", "site", (int)index));
    gg_arena_free(arena);
    return out;
}

json_t *gg_diagnostic_of_prediction(const gg_document *document, size_t index) {
    const gg_prediction *p = &document->predicted->list.items[index];
    gg_arena *arena = gg_arena_new();
    gg_str said = p->guard.len == 0 ? gg_arena_printf(arena, "%.*s (predicted)", GG_STR_ARG(p->message))
                                    : gg_arena_printf(arena, "%.*s (predicted; only if: %.*s)", GG_STR_ARG(p->message),
                                                      GG_STR_ARG(p->guard));
    gg_mark mark = {.span = document->predicted->spans[index]};
    json_t *out = base(document, mark, (int)gg_level_of_prediction(document, index), p->id, said);
    if (!p->beyond) add_link(document->session, out, p->id, arena);
    gg_arena_free(arena);
    return out;
}

static void add_predictions(const gg_document *document, json_t *array) {
    const gg_predicted *predicted = document->predicted;
    for (size_t i = 0; predicted && i < predicted->list.len; i++)
        if (gg_level_of_prediction(document, i) != GG_LEVEL_OFF)
            json_array_append_new(array, gg_diagnostic_of_prediction(document, i));
}

json_t *gg_diagnostics_json(const gg_document *document) {
    const gg_session *session = document->session;
    json_t *array = json_array();
    if (!document->python || gg_document_is_excluded(document)) return array;
    if (!session->settings.trusted) {
        gg_mark top = {.span = {0, 0}};
        json_array_append_new(
            array, base(document, top, GG_LEVEL_INFORMATION, GG_STR("untrusted"),
                        GG_STR("graphglue runs your code to find graph breaks, and this workspace is not trusted. To "
                               "allow it, start the server with the initialization option \"trusted\": true.")));
        add_predictions(document, array);
        return array;
    }
    const gg_findings *f = document->findings;
    for (size_t i = 0; f && i < f->sites.len; i++)
        if (gg_level_of_site(document, i) != GG_LEVEL_OFF)
            json_array_append_new(array, gg_diagnostic_of_site(document, i));
    for (size_t i = 0; f && i < f->problem_count; i++) {
        const gg_problem *p = &f->problems[i];
        gg_mark mark = document->marks[f->sites.len + i];
        if (!mark.gone)
            json_array_append_new(array, base(document, mark, p->severity, gg_str_from(p->code), p->message));
    }
    add_predictions(document, array);
    return array;
}

void gg_ask_to_pull(gg_session *session) {
    if (session->pulls) gg_request_take(session, "workspace/diagnostic/refresh", NULL, NULL, NULL);
}

/* A few at once, then one in EVERY_MS: a burst of edits is worth no burst of publications. */
enum { EVERY_MS = 10, AHEAD_MS = 40 };

uint64_t gg_publish_delay_ms(const gg_session *session) {
    uint64_t now = uv_now(&session->loop);
    return session->paced_until_ms > now + AHEAD_MS ? session->paced_until_ms - now - AHEAD_MS : 0;
}

void gg_publish_dirty(gg_session *session) {
    uint64_t now = uv_now(&session->loop);
    session->paced_until_ms = (session->paced_until_ms > now ? session->paced_until_ms : now) + EVERY_MS;
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (!d->dirty || !gg_options_known(d)) continue;
        d->dirty = false;
        if (session->pulls) continue;
        gg_document_text(d);
        gg_notify_take(session, "textDocument/publishDiagnostics",
                       json_pack("{s:s, s:I, s:o}", "uri", d->uri, "version", (json_int_t)d->version, "diagnostics",
                                 gg_diagnostics_json(d)));
    }
}
