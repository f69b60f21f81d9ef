/* Calls that were walked, kept to be replayed: the same function is called alike by many classes, and twice by each loop.  Private to analysis/predict.
 *
 * DESIGN  A call is known by all that its walk can see: the function, what its parameters stand for with all that this leads to (graph.h), and a few
 * facts of how it is reached.  While it is walked, a record notes what it does to the rest of the walk: what is found, what it rests on (uses.h), what
 * it changes in the objects given, which doubts it settles.  A call alike does the same, and is not walked.  What is found is found again as the
 * second call is reached: behind its conditions, in its loops.  What a record cannot tell spoils it: names of an outer function, hooks, a change of
 * the module's own values.  A replay counts the steps the walk took, so that a budget ends where it would. */
#ifndef GG_PREDICT_MEMO_H
#define GG_PREDICT_MEMO_H

#include "analysis/predict/graph.h"
#include "analysis/predict/uses.h"

typedef struct gg__kept_call {
    gg__value result;
    struct gg__change *changes; /* of attributes */
    gg__event *events;
    uint32_t *units; /* sorted */
    uint64_t *names;
    uint32_t *settled; /* slots of doubts */
    gg__copy mold;
    uint32_t change_count, event_count, unit_count, name_count, settled_count;
    unsigned steps, nesting, depth; /* nested how deeply, from where it began */
    gg__truth usual;
    bool telling; /* it found something, or would have aloud */
    bool breaks;
} gg__kept_call;

/* A call that is being walked. */
typedef struct gg__record {
    struct gg__record *outer;
    uint64_t key;
    gg__pointer *given;
    uint32_t given_count;
    uint32_t stamp;                       /* what is older was there before */
    unsigned depth;                       /* of its frame */
    size_t units, names, events, changed; /* where its own begin, in the memo's */
    uint32_t noted_from;                  /* gg__uses.noted_from, of outside */
    unsigned steps, nesting, deepest, deepest_call, tellings;
    bool spoilt, runs;
} gg__record;

typedef struct gg__memo {
    gg_arena *arena;
    gg__graph graph;
    gg_map by_key; /* 1 + which */
    GG_LIST(gg__kept_call) calls;
    gg__record *record; /* the innermost */
    GG_LIST(gg__event) events;
    GG_LIST(gg__scope *) changed;
    unsigned tellings;
    unsigned replayed; /* steps of this piece that were not taken */
    bool off;          /* a value of the module's was changed: until the piece ends */
} gg__memo;

void gg__memo_clear(gg__memo *memo);
void gg__memo_begin_piece(gg__walk *w);

/* Before a call is walked, in its frame, its parameters bound.  True: it was replayed, and the frame is left.  False: it is to be walked and, where
 * record->runs, ended. */
bool gg__memo_replay(gg__walk *w, gg__frame *frame, const gg__value *function, gg__record *record, gg__value *out);
void gg__memo_end(gg__walk *w, gg__record *record, const gg__value *result);

#endif
