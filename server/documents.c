/* Open documents: text, version, findings and where they are now.  Loop thread only.
 *
 * An edit costs the copy of the text and a walk over the document's marks; nothing is parsed here.  The tree is brought up to date by the job
 * that needs it (jobs.c), from the changes noted since the last one. */
#include "server/session.h"

enum { MAX_NOTED_CHANGES = 4096 };

gg_findings *gg_findings_ref(gg_findings *findings) {
    if (findings) findings->refs++;
    return findings;
}

void gg_findings_unref(gg_findings **findings) {
    gg_findings *f = *findings;
    *findings = NULL;
    if (f == NULL || --f->refs > 0) return;
    gg_tree_unref(&f->tree);
    gg_text_unref(&f->text);
    gg_arena_free(f->arena);
}

gg_document *gg_document_find(gg_session *session, gg_str uri) {
    for (size_t i = 0; i < session->documents.len; i++)
        if (gg_str_is(uri, session->documents.items[i]->uri)) return session->documents.items[i];
    return NULL;
}

void gg_document_dirty(gg_document *document) {
    document->dirty = true;
    document->generation++;
    uv_timer_t *flush = &document->session->flush;
    if (!uv_is_closing((uv_handle_t *)flush) && !uv_is_active((uv_handle_t *)flush))
        uv_timer_start(flush, flush->timer_cb, 0, 0);
}

gg_document *gg_document_open(gg_session *session, gg_str uri, gg_str language, int64_t version, gg_str text,
                              gg_error *err) {
    gg_text *opened = NULL;
    if (gg_text_new(&opened, text, err) != 0) return NULL;
    gg_document *document = gg_document_find(session, uri);
    if (document) gg_document_close(document); /* opened twice: the newest wins */
    document = gg_calloc(1, sizeof(gg_document));
    document->session = session;
    document->uri = gg_str_dup(uri);
    document->path = gg_uri_to_path(uri);
    document->version = version;
    document->python = gg_str_is(language, "python") || gg_str_ends_with(uri, GG_STR(".py"));
    document->text = opened;
    gg_list_push(&session->documents, document);
    gg_document_dirty(document);
    return document;
}

static void forget_tree(gg_document *document) {
    gg_tree_unref(&document->tree);
    document->tree_changes.len = 0;
}

void gg_document_close(gg_document *document) {
    gg_session *session = document->session;
    document->closed = true;
    gg_capture_cancel(document);
    for (size_t i = 0; i < session->documents.len; i++) {
        if (session->documents.items[i] != document) continue;
        gg_list_remove(&session->documents, i);
        break;
    }
    forget_tree(document);
    gg_list_clear(&document->tree_changes);
    gg_findings_unref(&document->findings);
    gg_text_unref(&document->text);
    gg_free(document->marks);
    gg_free(document->uri);
    gg_free(document->path);
    gg_free(document);
}

static size_t mark_count(const gg_document *document) {
    return document->findings ? document->findings->sites.len + document->findings->problem_count : 0;
}

/* Moves the marks over a change.  A finding whose line was edited fades until the next capture. */
static void carry_marks(gg_document *document, gg_change change, const gg_text *before) {
    uint32_t first = gg_text_position(before, change.span.start, GG_UTF8).line,
             last = gg_text_position(before, change.span.end, GG_UTF8).line;
    for (size_t i = 0; i < mark_count(document); i++) {
        gg_mark *mark = &document->marks[i];
        uint32_t top = gg_text_position(before, mark->span.start, GG_UTF8).line,
                 bottom = gg_text_position(before, mark->span.end, GG_UTF8).line;
        bool line_start = change.span.start == change.span.end &&
                          change.span.end <= gg_text_line_start(before, top); /* lines pushed down */
        bool whole_lines = last == top && change.span.end == gg_text_line_start(before, top);
        if (!line_start && !whole_lines && first <= bottom && last >= top) mark->faded = true;
        if (!gg_span_carry(&mark->span, change)) mark->faded = true;
    }
}

int gg_document_change(gg_document *document, const gg_lsp_range *range, gg_str with, gg_error *err) {
    gg_text *changed = NULL;
    gg_str all = gg_text_bytes(document->text);
    gg_span span = range ? gg_span_of(document->session, document->text, range) : (gg_span){0, (uint32_t)all.len};
    int error = gg_text_replace(&changed, document->text, span, with, err);
    if (error) return error;
    gg_change change = {span, (uint32_t)with.len};
    carry_marks(document, change, document->text);
    if (document->capture) gg__capture_note_change(document->capture, change);
    if (document->tree && document->tree_changes.len < MAX_NOTED_CHANGES)
        gg_list_push(&document->tree_changes, change);
    else
        forget_tree(document);
    gg_text_unref(&document->text);
    document->text = changed;
    return 0;
}

void gg_document_set_findings(gg_document *document, gg_findings *findings, const gg_change *since, size_t count) {
    gg_findings_unref(&document->findings);
    document->findings = findings;
    document->findings_generation++;
    gg_free(document->marks);
    document->marks = gg_calloc(mark_count(document), sizeof(gg_mark));
    for (size_t i = 0; i < mark_count(document); i++) {
        size_t sites = findings->sites.len;
        document->marks[i].span = i < sites ? findings->site_spans[i] : findings->problems[i - sites].span;
        for (size_t j = 0; j < count; j++)
            if (!gg_span_carry(&document->marks[i].span, since[j])) document->marks[i].faded = true;
    }
    gg_document_dirty(document);
}
