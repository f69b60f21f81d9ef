/* What the text alone tells of an open document: predicted in a job after each change, the newest text only, and shown until a capture knows
 * better.  Loop thread only. */
#ifndef GG_PREDICTIONS_H
#define GG_PREDICTIONS_H

#include "server/documents.h"
#include "server/wires.h"

struct gg_session;

/* Immutable but for the places, which changes of the text carry on. */
typedef struct gg_predicted {
    gg_predictions *found;
    gg_prediction_list list; /* its */
    size_t count;            /* of all these; the list is empty where they are not wanted */
    uint64_t newest;         /* of their serials: what a later run found has later ones */
    gg_wire *wires;
    gg_buf wired; /* their texts */
    gg_arena *arena;
    uint64_t *serials;      /* as the list has them */
    bool *certain;          /* … */
    gg_span *spans;         /* now */
    bool *gone;             /* what it stood on was deleted or changed */
    bool *settled;          /* a capture of a text that had it has told what there is to tell */
    bool *ignored;          /* a comment says so */
    gg_ignore_list ignores; /* their spans are carried too */
    bool predicts;          /* else it only has what comments say */
} gg_predicted;

/* Predicts all documents that changed and are to be.  Called once per turn, before they are published. */
void gg_predictions_update(struct gg_session *session);
void gg_predictions_wanted(gg_document *document); /* its settings may be others: what they do not want is dropped */
const gg_prediction *gg_prediction_at(const gg_document *document, uint32_t offset); /* shown there; NULL: none */
/* The text has changed since, or was never looked at: soon more is known. */
bool gg_prediction_is_due(const gg_document *document);
bool gg_prediction_is_shown(const gg_predicted *predicted, size_t index);

/* for documents.c and documents_marks.c */
void gg__predictions_carry(gg_document *document, gg_noted noted);
void gg__predictions_settle(gg_document *document); /* findings are others now */
void gg__predictions_clear(gg_document *document);  /* the text is another one altogether, or closed */

#endif
