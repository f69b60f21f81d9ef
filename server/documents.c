/* Open documents: text and version.  Loop thread only.
 *
 * An edit costs what it touches and a walk over the document's marks; nothing is parsed here, and the text is made whole when it is next looked
 * at.  The tree is brought up to date by the job that needs it (jobs.c), from the changes noted since the last one. */
#include "server/session.h"

enum { MAX_NOTED_CHANGES = 4096 };

gg_document *gg_document_peek(gg_session *session, gg_str uri) {
    for (size_t i = 0; i < session->documents.len; i++)
        if (gg_str_is(uri, session->documents.items[i]->uri)) return session->documents.items[i];
    return NULL;
}

gg_document *gg_document_find(gg_session *session, gg_str uri) {
    gg_document *document = gg_document_peek(session, uri);
    if (document) gg_document_text(document);
    return document;
}

gg_text *gg_document_text(gg_document *document) {
    if (document->draft) {
        gg_text_unref(&document->text);
        document->text = gg_draft_finish(document->draft);
        document->draft = NULL;
        gg__marks_settle(document);
    }
    return document->text;
}

void gg_document_dirty(gg_document *document) {
    if (!document->dirty) document->dirty_since_ms = uv_now(&document->session->loop);
    document->dirty = true;
    document->generation = ++document->session->revisions;
    uv_timer_t *flush = &document->session->flush;
    if (!uv_is_closing((uv_handle_t *)flush) && !uv_is_active((uv_handle_t *)flush))
        uv_timer_start(flush, flush->timer_cb, gg_publish_delay_ms(document->session), 0);
}

static void forget_tree(gg_document *document) {
    gg_tree_drop(document->session, &document->tree);
    document->tree_changes.len = 0;
}

/* ---- open and closed ------------------------------------------------------------------------------------------------ */

/* The whole text, anew: what was known of the old one is dropped. */
static void take_whole(gg_document *document, gg_str text) {
    gg_text *whole = NULL;
    gg_error err = {0};
    gg_draft_free(document->draft);
    document->draft = NULL;
    gg__marks_clear(document);
    gg__predictions_clear(document);
    forget_tree(document);
    int error = gg_text_new(&whole, text, &err);
    if (error && GG_NEVER(gg_text_new(&whole, GG_STR_NULL, NULL) != 0)) return;
    gg_text_unref(&document->text);
    document->text = whole;
    if (error)
        gg_document_lose(document, err.message);
    else
        document->lost = false;
    document->revision = ++document->session->revisions;
}

bool gg_path_is_open(const gg_session *session, const char *path) {
    for (size_t i = 0; i < session->documents.len; i++)
        if (session->documents.items[i]->path && strcmp(session->documents.items[i]->path, path) == 0) return true;
    return false;
}

bool gg_document_can_run(const gg_document *document) {
    return document->path && document->python && !document->lost;
}

gg_document *gg_document_open(gg_session *session, gg_str uri, gg_str language, int64_t version, gg_str text) {
    gg_document *document = gg_document_peek(session, uri);
    if (document) {
        gg_log(GG_LOG_INFO, "didOpen of a document that is open: %s", document->uri);
        gg_document_close(document);
    }
    document = gg_calloc(1, sizeof(gg_document));
    document->session = session;
    document->uri = gg_str_dup(uri);
    document->path = gg_uri_to_path(uri);
    document->version = version;
    document->python = gg_str_is(language, "python") || gg_str_ends_with(uri, GG_STR(".py"));
    gg_list_push(&session->documents, document);
    take_whole(document, text);
    gg_document_dirty(document);
    return document;
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
    gg__marks_clear(document);
    gg__predictions_clear(document);
    gg_draft_free(document->draft);
    gg_text_unref(&document->text);
    json_decref(document->reads);
    gg_free(document->uri);
    gg_free(document->path);
    gg_free(document);
}

void gg_document_lose(gg_document *document, const char *why) {
    if (document->lost) return;
    document->lost = true;
    gg_capture_cancel(document);
    gg__marks_clear(document);
    gg__predictions_clear(document);
    gg_document_dirty(document);
    gg_show_message(document->session, 2, "graphglue: %s: %s. Nothing is said about it until it is opened anew.",
                    document->uri, why);
}

/* ---- changes -------------------------------------------------------------------------------------------------------- */

/* One change in the place of two, `next` made after `first`; exact where next touches what first put there, else it covers both. */
static gg_change merged(gg_change first, gg_change next) {
    uint32_t put_end = first.span.start + first.new_len;
    uint32_t low = first.span.start < next.span.start ? first.span.start : next.span.start,
             high = put_end > next.span.end ? put_end : next.span.end;
    return (gg_change){{low, high - first.new_len + (first.span.end - first.span.start)},
                       high - low - (next.span.end - next.span.start) + next.new_len};
}

void gg_noted_add(gg_noted_list *list, gg_noted noted) {
    if (list->items == NULL) list->len = list->cap = 0; /* it is empty: said to the analyzer */
    if (list->len > 0) {
        gg_noted *last = &list->items[list->len - 1];
        bool touches = noted.change.span.start <= last->change.span.start + last->change.new_len &&
                       noted.change.span.end >= last->change.span.start;
        if (touches || list->len == MAX_NOTED_CHANGES) {
            last->change = merged(last->change, noted.change);
            last->over_lines = last->over_lines || noted.over_lines;
            return;
        }
    }
    gg_list_push(list, noted);
}

static bool continues(gg_str s, size_t at) {
    return at < s.len && ((unsigned char)s.ptr[at] & 0xC0u) == 0x80u;
}

static size_t equal_head(gg_str a, gg_str b) {
    enum { STEP = 256 };
    size_t n = 0, most = a.len < b.len ? a.len : b.len;
    while (n + STEP <= most && memcmp(a.ptr + n, b.ptr + n, STEP) == 0) n += STEP;
    while (n < most && a.ptr[n] == b.ptr[n]) n++;
    while (n > 0 && (continues(a, n) || continues(b, n))) n--;
    return n;
}

static size_t equal_tail(gg_str a, gg_str b) {
    enum { STEP = 256 };
    size_t n = 0, most = a.len < b.len ? a.len : b.len;
    while (n + STEP <= most && memcmp(a.ptr + a.len - n - STEP, b.ptr + b.len - n - STEP, STEP) == 0) n += STEP;
    while (n < most && a.ptr[a.len - n - 1] == b.ptr[b.len - n - 1]) n++;
    while (n > 0 && continues(a, a.len - n)) n--;
    return n;
}

/* Leaves out of the change what it replaces by the same: a client that sends whole texts changes a word. */
static void trim(gg_draft *draft, gg_span *span, gg_str *with) {
    gg_str old = gg_draft_slice(draft, *span);
    size_t head = equal_head(old, *with);
    old = gg_str_slice(old, head, old.len);
    *with = gg_str_slice(*with, head, with->len);
    size_t tail = equal_tail(old, *with);
    *with = gg_str_slice(*with, 0, with->len - tail);
    *span = (gg_span){span->start + (uint32_t)head, span->end - (uint32_t)tail};
}

static gg_span span_in(gg_document *document, const gg_lsp_range *range) {
    gg_draft *draft = document->draft;
    if (range == NULL) return (gg_span){0, gg_draft_len(draft)};
    gg_encoding encoding = document->session->encoding;
    gg_position start = {(uint32_t)range->start.line, (uint32_t)range->start.character},
                end = {(uint32_t)range->end.line, (uint32_t)range->end.character};
    gg_span span = {gg_draft_offset(draft, start, encoding), gg_draft_offset(draft, end, encoding)};
    return span.start <= span.end ? span : (gg_span){span.end, span.start};
}

static int apply(gg_document *document, const gg_lsp_text_document_content_change *c, gg_error *err) {
    if (document->draft == NULL) document->draft = gg_draft_new(document->text);
    gg_span span = span_in(document, c->range);
    gg_str with = c->text;
    trim(document->draft, &span, &with);
    if (span.start == span.end && with.len == 0) return 0;
    gg_noted noted = {{span, (uint32_t)with.len}, gg_draft_over_lines(document->draft, span)};
    int error = gg_draft_replace(document->draft, span, with, err);
    if (error) return error;
    document->revision = ++document->session->revisions;
    gg__marks_carry(document, noted);
    gg__predictions_carry(document, noted);
    if (document->capture) gg__capture_note_change(document->capture, noted);
    if (document->tree) gg_noted_add(&document->tree_changes, noted);
    return 0;
}

void gg_document_edit(gg_document *document, const gg_lsp_text_document_content_change *changes, uint32_t count,
                      int64_t version) {
    if (version <= document->version)
        gg_log(GG_LOG_INFO, "%s went from version %lld to %lld", document->uri, (long long)document->version,
               (long long)version);
    document->version = version;
    document->edit_gap_ms = uv_now(&document->session->loop) - document->edited_ms;
    document->edited_ms = uv_now(&document->session->loop);
    for (uint32_t i = 0; i < count; i++) {
        gg_error err = {0};
        if (document->lost && changes[i].range == NULL)
            take_whole(document, changes[i].text);
        else if (!document->lost && apply(document, &changes[i], &err) != 0)
            gg_document_lose(document, err.message);
    }
    gg_document_dirty(document);
}
