/* The files that wait to be captured: those that were opened, or whose interpreter or imports are others now.  Loop thread only.
 *
 * A hundred files may be opened at once, and each takes a second or a minute.  So they wait as a mark on their documents, not as requests, which
 * hold the text of all open files; and what a person asks for (a save, a command, a verdict) waits for one of them at most.  A stored result is
 * looked for at once, one file after the other; the rest run one at a time in each workspace, the one that was opened last first. */
#include "server/session.h"

bool gg__workspace_is_captured(const gg_session *session, const gg_workspace *workspace, const struct gg_capture *but) {
    for (size_t i = 0; i < session->documents.len; i++) {
        const struct gg_capture *c = session->documents.items[i]->capture;
        if (c && c != but && gg__capture_workspace(c) == workspace && !gg__capture_gives_way(c)) return true;
    }
    return false;
}

static bool one_looks(const gg_session *session) {
    for (size_t i = 0; i < session->documents.len; i++) {
        const struct gg_capture *c = session->documents.items[i]->capture;
        if (c && gg__capture_gives_way(c)) return true;
    }
    return false;
}

void gg_captures_next(gg_session *session) {
    if (session->asking || session->state != GG_STATE_INITIALIZED) return;
    for (size_t i = 0; i < session->documents.len; i++)
        if (session->documents.items[i]->capture_turn == GG_CAPTURE_NOW) gg_capture_start(session->documents.items[i]);
    const gg_workspace *busy = NULL;
    bool looks = one_looks(session);
    for (size_t i = session->documents.len; i-- > 0 && !looks;) {
        gg_document *document = session->documents.items[i];
        if (document->capture || document->capture_turn == GG_CAPTURE_NOT_WAITING) continue;
        if (document->capture_turn == GG_CAPTURE_TO_RUN) {
            const gg_workspace *workspace = gg_workspace_of(session, document->path);
            if (workspace == busy || gg__workspace_is_captured(session, workspace, NULL)) {
                busy = workspace;
                continue;
            }
        } else if (gg_options_of(document)->run == GG_RUN_MANUAL && document->findings == NULL) {
            document->capture_turn = GG_CAPTURE_NOT_WAITING; /* the settings came after it was opened */
            continue;
        }
        gg__capture_start_queued(document);
        looks = document->capture && gg__capture_gives_way(document->capture);
    }
}

static void mark(gg_document *document) {
    if (document->capture)
        document->capture_again = true;
    else if (document->capture_turn == GG_CAPTURE_NOT_WAITING)
        document->capture_turn = GG_CAPTURE_TO_LOOK;
}

void gg_capture_queue(gg_document *document) {
    mark(document);
    gg_captures_next(document->session);
}

/* Its text is what was captured: of another one, nothing is run before it is saved. */
static bool is_as_captured(gg_document *document) {
    return document->findings &&
           gg_str_equal(gg_text_bytes(document->findings->text), gg_text_bytes(gg_document_text(document)));
}

static bool has_read(const gg_document *document, json_t *changed) {
    const char *path;
    json_t *value;
    json_object_foreach(changed, path, value) {
        if (json_object_get(document->reads, path)) return true;
    }
    return false;
}

void gg_captures_outdated(gg_session *session, json_t *changed) {
    for (size_t i = 0; i < session->documents.len; i++) {
        gg_document *d = session->documents.items[i];
        if (has_read(d, changed) && gg_options_of(d)->run != GG_RUN_MANUAL && is_as_captured(d)) mark(d);
    }
    gg_captures_next(session);
}
