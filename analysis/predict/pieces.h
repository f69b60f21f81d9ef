/* Pieces: what one walk from outside finds, and what it rests on, kept from one run of a gg_predictor to the next.  Private to analysis/predict. */
#ifndef GG_PREDICT_PIECES_H
#define GG_PREDICT_PIECES_H

#include <stdatomic.h>

#include "analysis/predict/entries.h"
#include "analysis/predict/memo.h"

enum { GG__MAX_STEPS = 400000, GG__MAX_STEPS_IN_ALL = 8000000 };

/* Where something begins or ends: in which unit of the piece's, and how far in. */
typedef struct gg__place {
    uint32_t use, inside;
} gg__place;

typedef struct gg__fact {
    gg_prediction said; /* but its span */
    gg__place start, end;
} gg__fact;

/* What a piece found: shared by lists of predictions, and immutable.  One block, since each run reads all of them. */
typedef struct gg__facts {
    atomic_uint refs;
    uint32_t len;
    gg__fact items[]; /* behind them their texts */
} gg__facts;

typedef struct gg__piece {
    uint64_t key;
    bool there;             /* false: a later run has taken it over */
    gg__facts *facts;       /* NULL: nothing */
    gg__use *units, *names; /* with `covered` in one block, which begins at units */
    uint32_t unit_count, name_count;
    gg__place *covered; /* classes and functions */
    uint32_t covered_count;
    uint64_t entanglement, circumstances;
    unsigned steps, max_steps;
} gg__piece;

typedef GG_LIST(gg__piece) gg__pieces;

struct gg_predictor {
    gg__units *units;
    gg__pieces pieces;
    uint64_t serial;
    size_t walked; /* pieces, in the last run */
    size_t steps;  /* that were taken in them */
};

typedef struct gg__run {
    gg_predictor *predictor;
    gg__walk walk;
    gg__syntax syntax;
    gg__uses uses;
    gg__memo memo;
    gg__pieces before;
    size_t next;               /* of before: the one likely to be asked for */
    uint32_t *resolved;        /* of the piece at hand: its units, now */
    gg__definitions here;      /* what the piece at hand covers */
    GG_LIST(gg__place) places; /* … begins at */
    GG_LIST(uint32_t) covered; /* where what is covered begins */
    GG_LIST(gg_prediction) found;
    unsigned steps_left;
} gg__run;

typedef struct gg__source {
    uint64_t key;
    void (*declared)(gg__walk *w, gg__definitions *covered); /* else: */
    void (*walk)(gg__walk *w, gg_str name, const gg__value *value);
    gg_str name;
    gg__value value;
    uint64_t circumstances; /* a print of what it rests on that is no unit and no name */
} gg__source;

void gg__facts_unref(gg__facts *f);
void gg__piece_clear(gg__piece *p);
/* The source's piece: as it was, where it holds, else walked anew.  Adds it to the predictor's, and what it found and covers to the run's. */
void gg__take_piece(gg__run *r, const gg__source *of);

#endif
