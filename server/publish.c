/* Findings as LSP diagnostics, pushed once per turn for the documents that changed.  Loop thread only. */
#include <stdio.h>

#include "server/session.h"
#include "server/wires.h"

enum { UNNECESSARY = 1, MAX_RELATED = 8 };

/* The frame that the site lies in; those before it are a library's, those after it called. */
static size_t own_frame(const gg_site *site) {
    size_t i = 0;
    while (i < site->stack_len && !gg_str_equal(site->stack[i].file, site->file)) i++;
    return i < site->stack_len ? i : 0;
}

/* here: the diagnostic lies at the site itself, which is not told twice. */
static json_t *related(const gg_site *site, bool here, gg_arena *arena) {
    json_t *array = json_array();
    size_t own = own_frame(site);
    for (size_t i = 0; i < site->stack_len && i < MAX_RELATED; i++) {
        const gg_frame *frame = &site->stack[i];
        if (here && i == own) continue;
        if (frame->line == 0 || frame->file.len == 0 || frame->file.ptr[0] != '/') continue;
        char *path = gg_str_dup(frame->file), *uri = gg_path_to_uri(path);
        int line = (int)frame->line - 1;
        gg_str function = frame->function.len ? frame->function : GG_STR("frame");
        gg_str said = i > own ? gg_arena_printf(arena, "called from %.*s", GG_STR_ARG(function)) : function;
        json_array_append_new(array, json_pack("{s:{s:s, s:{s:{s:i, s:i}, s:{s:i, s:i}}}, s:s%}", "location", "uri",
                                               uri, "range", "start", "line", line, "character", 0, "end", "line", line,
                                               "character", 0, "message", said.ptr, said.len));
        gg_free(path);
        gg_free(uri);
    }
    return array;
}

static json_t *base_at(const gg_session *session, const gg_text *text, gg_mark mark, int severity, gg_str code,
                       gg_str message) {
    json_t *out = json_pack("{s:o, s:i, s:s, s:s%, s:s%}", "range", gg_range_json(session, text, mark.span), "severity",
                            mark.faded ? GG_LEVEL_HINT : severity, "source", "graphglue", "code", code.ptr, code.len,
                            "message", message.ptr, message.len);
    if (mark.faded && (GG_HAS(session, TAGS) || session->pulls))
        json_object_set_new(out, "tags", json_pack("[i]", UNNECESSARY));
    return out;
}

static json_t *base(const gg_document *document, gg_mark mark, int severity, gg_str code, gg_str message) {
    return base_at(document->session, document->text, mark, severity, code, message);
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
    if (!gg_site_differs(site))
        add_link(session, out, site->id, arena); /* else it is no break, which torch has a page of */
    if (GG_HAS(session, RELATED) || session->pulls) {
        json_t *list = related(site, f->local[index], arena);
        if (json_array_size(list)) json_object_set(out, "relatedInformation", list);
        json_decref(list);
    }
    if (GG_HAS(session, DIAGNOSTIC_DATA)) json_object_set_new(out, "data", json_pack("{s:i}", "site", (int)index));
    gg_arena_free(arena);
    return out;
}

json_t *gg_prediction_json(const gg_session *session, const gg_text *text, const gg_prediction *p, gg_span span,
                           gg_level level) {
    gg_arena *arena = gg_arena_new();
    gg_str said = p->guard.len == 0 ? gg_arena_printf(arena, "%.*s (predicted)", GG_STR_ARG(p->message))
                                    : gg_arena_printf(arena, "%.*s (predicted; only if: %.*s)", GG_STR_ARG(p->message),
                                                      GG_STR_ARG(p->guard));
    json_t *out = base_at(session, text, (gg_mark){.span = span}, (int)level, p->id, said);
    if (!p->beyond) add_link(session, out, p->id, arena);
    gg_arena_free(arena);
    return out;
}

json_t *gg_diagnostic_of_prediction(const gg_document *document, size_t index) {
    const gg_predicted *p = document->predicted;
    return gg_prediction_json(document->session, document->text, &p->list.items[index], p->spans[index],
                              gg_level_of_prediction(document, index));
}

static void add_predictions(const gg_document *document, json_t *array) {
    const gg_predicted *predicted = document->predicted;
    for (size_t i = 0; predicted && i < predicted->list.len; i++)
        if (gg_level_of_prediction(document, i) != GG_LEVEL_OFF)
            json_array_append_new(array, gg_diagnostic_of_prediction(document, i));
}

/* All but predictions. */
static json_t *found_json(const gg_document *document) {
    const gg_session *session = document->session;
    const gg_findings *f = document->findings;
    json_t *array = json_array();
    gg_error err = {0};
    if (gg_session_check_trust(session, &err) != 0) {
        gg_mark top = {.span = {0, 0}};
        char text[sizeof(err.message) + 80];
        int len = snprintf(text, sizeof(text), "graphglue runs your code to find graph breaks: %s.", err.message);
        json_array_append_new(
            array, base(document, top, GG_LEVEL_INFORMATION, GG_STR("untrusted"), (gg_str){text, (size_t)len}));
        return array;
    }
    for (size_t i = 0; f && i < f->sites.len; i++)
        if (gg_level_of_site(document, i) != GG_LEVEL_OFF)
            json_array_append_new(array, gg_diagnostic_of_site(document, i));
    for (size_t i = 0; f && i < f->problem_count; i++) {
        const gg_problem *p = &f->problems[i];
        gg_mark mark = document->marks[f->sites.len + i];
        if (!mark.gone)
            json_array_append_new(array, base(document, mark, p->severity, gg_str_from(p->code), p->message));
    }
    return array;
}

static bool is_spoken_of(const gg_document *document) {
    return document->python && !gg_document_is_excluded(document);
}

json_t *gg_diagnostics_json(const gg_document *document) {
    if (!is_spoken_of(document)) return json_array();
    json_t *array = found_json(document);
    add_predictions(document, array);
    return array;
}

const gg_parts *gg_diagnostics_write(const gg_document *document) {
    gg_parts *out = &document->session->diagnostics;
    char **text = &document->session->found_json;
    json_t *json = is_spoken_of(document) ? found_json(document) : json_array();
    bool none = json_array_size(json) == 0;
    free(*text);
    *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    out->len = 0;
    if (GG_NEVER(*text == NULL)) { /* nothing in it is no text */
        gg_list_push(out, GG_STR("[]"));
        return out;
    }
    gg_list_push(out, gg_str_slice(gg_str_from(*text), 0, strlen(*text) - 1)); /* without the "]" */
    gg_str predictions = is_spoken_of(document) ? gg_wires_write(document) : GG_STR_NULL;
    gg_list_push(out, gg_str_slice(predictions, none && predictions.len, predictions.len)); /* no "," */
    gg_list_push(out, GG_STR("]"));
    return out;
}

void gg_ask_to_pull(gg_session *session) {
    if (session->pulls) gg_request_take(session, "workspace/diagnostic/refresh", NULL, NULL, NULL);
}

/* ---- when -------------------------------------------------------------------------------------------------------------------
 *
 * What is being predicted is awaited for a moment, since it says more of the same text.  A few publications go out at once, the rest
 * at a pace that a client can follow: a burst of edits is worth no burst of them. */
enum { BYTES_A_US = 100, EVERY_US = 200, BURST_EVERY_US = 10000, BURST_GAP_MS = 3, AHEAD_US = 40000, AWAITED_MS = 25 };

uint64_t gg_publish_delay_ms(const gg_session *session) {
    uint64_t ahead_until = uv_now(&session->loop) * 1000 + AHEAD_US;
    return session->paced_until_us > ahead_until ? (session->paced_until_us - ahead_until + 999) / 1000 : 0;
}

void gg_publish_soon(gg_session *session) {
    uv_timer_t *flush = &session->flush;
    if (!uv_is_closing((uv_handle_t *)flush)) uv_timer_start(flush, flush->timer_cb, gg_publish_delay_ms(session), 0);
}

/* In microseconds: what it is paid with. */
static uint64_t publish(gg_document *document) {
    gg_document_text(document);
    const gg_parts *array = gg_diagnostics_write(document);
    size_t bytes = 0;
    for (size_t i = 0; i < array->len; i++) bytes += array->items[i].len;
    json_t *params = json_pack("{s:s}", "uri", document->uri);
    if (GG_HAS(document->session, VERSIONS))
        json_object_set_new(params, "version", json_integer((json_int_t)document->version));
    json_object_set_new(params, "diagnostics", json_array());
    gg_notify_with_take(document->session, "textDocument/publishDiagnostics", params, array);
    return (document->edit_gap_ms < BURST_GAP_MS ? BURST_EVERY_US : EVERY_US) + bytes / BYTES_A_US;
}

void gg_publish_dirty(gg_session *session) {
    uint64_t now = uv_now(&session->loop), wait = gg_pulls_answer(session);
    uint64_t price = 0;
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (!d->dirty || !gg_options_known(d)) continue;
        uint64_t until = d->dirty_since_ms + AWAITED_MS;
        if (!session->pulls && gg_prediction_is_due(d) && now < until) {
            if (until - now < wait) wait = until - now;
            continue;
        }
        d->dirty = false;
        if (session->pulls) continue;
        price += publish(d);
    }
    if (price)
        session->paced_until_us = price + (session->paced_until_us > now * 1000 ? session->paced_until_us : now * 1000);
    if (wait != UINT64_MAX) uv_timer_start(&session->flush, session->flush.timer_cb, wait, 0);
}
