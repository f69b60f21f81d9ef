/* Open documents: their text, and the findings carried along in it.  Part of session.h.  Loop thread only.
 *
 * A document's text is settled when its changes are all in `text`.  didChange alone leaves it unsettled, so that a burst of changes costs one copy;
 * gg_document_find and gg_document_text settle. */
#ifndef GG_DOCUMENTS_H
#define GG_DOCUMENTS_H

#include "protocol/gg_protocol.h"
#include "repair/gg_repair.h"

typedef struct gg_session gg_session;

/* ---- findings: what a capture said of one document --------------------------------------------------------------------- */
typedef struct gg_problem { /* an entry that could not be captured, or a file that could not be run */
    gg_span span;
    int severity; /* LSP's */
    const char *code;
    gg_str message;
} gg_problem;

/* Immutable once made; reference counted on the loop thread, read by jobs that hold a reference. */
typedef struct gg_findings {
    unsigned refs;
    gg_arena *arena;
    gg_text *text;                       /* captured */
    gg_tree *tree;                       /* of that text */
    struct gg_registry_source *registry; /* of the torch that found them; read already; NULL: not known */
    gg_site_list sites;
    gg_span *site_spans;      /* in text: the site's own, or its entry's when it lies elsewhere */
    bool *local;              /* the site lies in this document */
    gg_hindrance *hindrances; /* of each site: what keeps every rule from mending it, in tree; no rule: none says so */
    gg_problem *problems;
    size_t problem_count;
    bool whole;                   /* the capture is over, and every entry was run to its end */
    gg_prediction_list predicted; /* of that text */
    gg_entry *entries;
    gg_span *entry_spans; /* the line of its class or function */
    size_t entry_count;
} gg_findings;

gg_findings *gg_findings_ref(gg_findings *findings);
void gg_findings_unref(gg_session *session, gg_findings **findings);

/* ---- changes, noted until what was made from the text before them is carried over -------------------------------------- */
typedef struct gg_noted {
    gg_change change;
    bool over_lines; /* what was replaced began and ended in different lines */
} gg_noted;
typedef GG_LIST(gg_noted) gg_noted_list;

/* Typing is one change, however long; beyond a ceiling the last ones are merged into one that covers them. */
void gg_noted_add(gg_noted_list *list, gg_noted noted);

/* ---- documents ------------------------------------------------------------------------------------------------------------- */
/* Where a finding is now. */
typedef struct gg_mark {
    gg_span span;
    bool faded; /* its lines do not read as they did when they were captured: shown, but nothing is offered */
    bool gone;  /* its lines were deleted: nothing is shown until they are back (undo), or the next capture */
} gg_mark;

/* Of a document that is to be captured, but not now; see capture_queue.c. */
typedef enum gg_capture_turn {
    GG_CAPTURE_NOT_WAITING,
    GG_CAPTURE_TO_LOOK, /* whether its result is stored */
    GG_CAPTURE_TO_RUN,
    GG_CAPTURE_NOW /* a person waits for it: as soon as the settings are known */
} gg_capture_turn;

typedef struct gg_document {
    gg_session *session;
    char *uri, *path; /* path NULL for documents that are no files */
    int64_t version;  /* the client's; may come again after a close, and nothing of ours is told apart by it */
    bool python;
    bool lost;         /* a change could not be applied: what the client holds is not known */
    uint64_t revision; /* of the text: no two texts of a session have the same */
    gg_text *text;
    gg_draft *draft;            /* text and the changes since; NULL: settled */
    gg_tree *tree;              /* of an older or the same text */
    gg_noted_list tree_changes; /* since tree */
    gg_findings *findings;
    gg_mark *marks;                  /* sites, then problems, then entries */
    uint64_t generation;             /* of findings and marks together: names a pull result */
    uint64_t findings_generation;    /* of findings: dates a code action */
    uint64_t edited_ms, edit_gap_ms; /* uv_now's, of the last edit; since the one before */
    uint64_t dirty_since_ms;         /* uv_now's */
    bool dirty;                      /* must be published */
    bool closed;
    struct gg_capture *capture;
    struct gg_predicted *predicted; /* predictions.h; NULL: none yet */
    struct gg_prediction_job *prediction;
    gg_predictor *predictor; /* the job has it while there is one */
    uint64_t predicted_revision;
    uint64_t pulled_revision; /* the client was last told of this text */
    json_t *reads;      /* {path: true}: other files of the workspace that the last capture read; NULL: not known */
    bool fresh;         /* the next capture is to run, whatever is stored */
    bool capture_again; /* when the one that runs is done */
    gg_capture_turn capture_turn;
} gg_document;

gg_document *gg_document_find(gg_session *session, gg_str uri); /* settled; NULL when it is not open */
gg_document *gg_document_peek(gg_session *session, gg_str uri); /* as it is */
gg_text *gg_document_text(gg_document *document);               /* borrowed */
bool gg_document_can_run(const gg_document *document);          /* a Python file whose text is known */
bool gg_path_is_open(const gg_session *session, const char *path);
/* Never NULL; opened twice, the newest wins. A text that cannot be held gives a lost document, and the user is told. */
gg_document *gg_document_open(gg_session *session, gg_str uri, gg_str language, int64_t version, gg_str text);
void gg_document_close(gg_document *document);
/* All changes of one message, in the negotiated encoding. */
void gg_document_edit(gg_document *document, const gg_lsp_text_document_content_change *changes, uint32_t count,
                      int64_t version);
/* From now on nothing is said or offered about it, until the client sends its whole text.  `why` is shown to the user, once. */
void gg_document_lose(gg_document *document, const char *why);
void gg_document_set_findings(gg_document *document, gg_findings *findings, const gg_noted *since,
                              size_t count); /* takes the ref */
void gg_document_dirty(gg_document *document);

/* documents_marks.c, for documents.c */
void gg__marks_carry(gg_document *document, gg_noted noted);
void gg__marks_settle(gg_document *document);
void gg__marks_clear(gg_document *document);

#endif
