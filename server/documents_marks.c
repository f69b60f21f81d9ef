/* Findings in a text that changes: where each is now, and whether it still holds.  Loop thread only.
 *
 * Changes move a mark's span (gg_span_carry).  What it says holds while its lines read as they were captured: an undo brings it back, and a change
 * beside its lines does not touch it.  A text that is wholly the captured one again has all its marks as they were found. */
#include "server/session.h"

gg_findings *gg_findings_ref(gg_findings *findings) {
    if (findings) findings->refs++;
    return findings;
}

void gg_findings_unref(gg_session *session, gg_findings **findings) {
    gg_findings *f = *findings;
    *findings = NULL;
    if (f == NULL || --f->refs > 0) return;
    gg_tree_drop(session, &f->tree);
    gg_text_unref(&f->text);
    gg_registry_source_unref(&f->registry);
    gg_arena_free(f->arena);
}

static size_t mark_count(const gg_findings *f) {
    return f ? f->sites.len + f->problem_count + f->entry_count : 0;
}

static gg_span captured_span(const gg_findings *f, size_t i) {
    if (i < f->sites.len) return f->site_spans[i];
    i -= f->sites.len;
    return i < f->problem_count ? f->problems[i].span : f->entry_spans[i - f->problem_count];
}

static void carry(gg_mark *mark, gg_noted noted) {
    bool whole = gg_span_carry(&mark->span, noted.change);
    if (!whole && noted.over_lines && mark->span.start == mark->span.end) mark->gone = true;
}

void gg__marks_carry(gg_document *document, gg_noted noted) {
    for (size_t i = 0; i < mark_count(document->findings); i++) carry(&document->marks[i], noted);
}

void gg__marks_clear(gg_document *document) {
    gg_findings_unref(document->session, &document->findings);
    gg_free(document->marks);
    document->marks = NULL;
}

/* The lines that the span touches, without the last terminator. */
static gg_span lines_of(const gg_text *text, gg_span span) {
    gg_range range = gg_text_range(text, span, GG_UTF8);
    gg_str last = gg_text_line(text, range.end.line);
    return (gg_span){gg_text_line_start(text, range.start.line),
                     gg_text_line_start(text, range.end.line) + (uint32_t)last.len};
}

/* Does a line begin at `start` that reads as `lines` do, up to the end of the last? */
static bool reads(const gg_text *text, uint32_t start, gg_str lines) {
    uint32_t end = start + (uint32_t)lines.len;
    if (!gg_str_equal(gg_text_slice(text, (gg_span){start, end}), lines)) return false;
    return lines_of(text, (gg_span){end, end}).end == end;
}

static void settle(const gg_document *document, gg_mark *mark, gg_span captured) {
    const gg_text *before = document->findings->text;
    gg_span lines = lines_of(before, captured);
    uint32_t start = lines_of(document->text, (gg_span){mark->span.start, mark->span.start}).start;
    mark->faded = !reads(document->text, start, gg_text_slice(before, lines));
    if (!mark->faded) mark->span = (gg_span){captured.start - lines.start + start, captured.end - lines.start + start};
}

void gg__marks_settle(gg_document *document) {
    const gg_findings *f = document->findings;
    bool same = f && gg_str_equal(gg_text_bytes(f->text), gg_text_bytes(document->text));
    for (size_t i = 0; i < mark_count(f); i++) {
        if (same)
            document->marks[i] = (gg_mark){.span = captured_span(f, i)};
        else
            settle(document, &document->marks[i], captured_span(f, i));
    }
}

void gg_document_set_findings(gg_document *document, gg_findings *findings, const gg_noted *since, size_t count) {
    gg_document_text(document);
    gg__marks_clear(document);
    document->findings = findings;
    document->findings_generation = ++document->session->revisions;
    document->marks = gg_calloc(mark_count(findings), sizeof(gg_mark));
    for (size_t i = 0; i < mark_count(findings); i++) {
        document->marks[i].span = captured_span(findings, i);
        for (size_t j = 0; j < count; j++) carry(&document->marks[i], since[j]);
    }
    gg__marks_settle(document);
    gg__predictions_settle(document);
    gg_document_dirty(document);
}
