/* What of a text a part of the walk rests on.  Private to analysis/predict.
 *
 * The walk has rounds: one for each statement of the module, then one for each piece (pieces.h).  A round notes the units that it looks at and the
 * names of the module that it reads.  What a name means follows from the statements that set it, and from what those rested on: that is its print.  So
 * a piece whose units and names have the prints they had finds what it found.
 * What a piece changes that was there before it is put back after it: no piece depends on another. */
#ifndef GG_PREDICT_USES_H
#define GG_PREDICT_USES_H

#include "analysis/predict/predict.h"

/* A unit, or a name, and the print it had. */
typedef struct gg__use {
    uint64_t key, print;
    uint32_t at; /* where it was found last: it is there again, as a rule */
} gg__use;

typedef struct gg__name {
    uint64_t key;
    uint64_t print;           /* 0: never set */
    uint32_t read_in, set_in; /* rounds */
    uint32_t noted_at;        /* gg__uses.mark */
} gg__name;

typedef struct gg__saved {
    gg__scope *scope, was;
    struct gg__saved *next;
} gg__saved;

typedef struct gg__uses {
    const gg__units *units;
    uint32_t *touched_in; /* by unit: the last round that did */
    bool *reached;        /* by unit: some entry goes into it */
    gg_span here;         /* lies in the unit touched last, and only there */
    GG_LIST(gg__name) names;
    gg_map by_key; /* 1 + which name */
    bool in_module;
    uint64_t rests_on;           /* of the statement of this round: all it saw so far */
    GG_LIST(uint32_t) touched;   /* units, of this round */
    GG_LIST(uint64_t) read, set; /* keys of names, of this round */
    bool entangled;              /* this statement changed what several names may stand for */
    uint64_t entanglement;       /* of all such statements; every piece rests on it */
    gg__saved *saved;            /* of this round */
    /* For records of calls (memo.h): what is looked at from a mark on, each once. */
    uint32_t mark, noted_from; /* the newest; the one noted from, 0: none */
    uint32_t *noted_at;        /* by unit: the mark when it was */
    GG_LIST(uint32_t) noted_units;
    GG_LIST(uint64_t) noted_names;
} gg__uses;

void gg__uses_init(gg__uses *uses, const gg__units *units);
void gg__uses_clear(gg__uses *uses);
void gg__begin_statement(gg__walk *w, uint32_t unit);
void gg__end_statement(gg__walk *w);
void gg__begin_piece(gg__walk *w);
void gg__end_piece(gg__walk *w); /* puts back what it changed */
void gg__uses_note_from_here(gg__uses *uses);
void gg__touch_unit(gg__walk *w, uint32_t unit);
void gg__note_name_read(gg__walk *w, uint64_t key);
bool gg__is_reached(const gg__uses *uses, TSNode function);
uint64_t gg__name_print(const gg__uses *uses, uint64_t key, uint32_t *at); /* gg__use.at */

#endif
