/* Values with all that they point to: prints that tell whether two are alike, and copies.  Private to analysis/predict.
 *
 * What values share counts: where two ways meet, one instance under two names stays known and two of a kind do not.  So pointers are numbered as
 * they come, and what has one print is alike pointer for pointer.  What the module's names hold is the same in every piece, and is known by where
 * it is.  One owner at a time. */
#ifndef GG_PREDICT_GRAPH_H
#define GG_PREDICT_GRAPH_H

#include "analysis/predict/predict.h"

/* What a pointer is to. */
typedef enum gg__pointee { GG__TO_VALUE, GG__TO_ITEMS, GG__TO_OBJECT, GG__TO_ATTRIBUTES, GG__TO_DOUBT } gg__pointee;

typedef struct gg__pointer {
    const void *to;
    gg__pointee as;
} gg__pointer;

typedef GG_LIST(gg__pointer) gg__pointers;

/* All zero: new. */
typedef struct gg__graph {
    gg_map numbers; /* of a pointer: `base` + 1 + where it is in `seen`; a lower one is of before */
    uint32_t base;
    gg__pointers seen;
    GG_LIST(void *) copies;  /* of what is seen, while copying */
    GG_LIST(uint64_t) words; /* of the print */
    gg_map lasting;          /* pointers that the module's names lead to */
    bool lasting_known;
    bool failed; /* it is too large, or rests on names of a function */
} gg__graph;

void gg__graph_clear(gg__graph *g);

/* ---- prints: a graph begun, added to, and asked */
void gg__graph_begin(gg__walk *w, gg__graph *g);
void gg__graph_add_word(gg__graph *g, uint64_t word);
void gg__graph_add_value(gg__graph *g, const gg__value *value);
void gg__graph_add_scope(gg__graph *g, const gg__scope *scope);
uint64_t gg__graph_print(const gg__graph *g);

/* ---- copies: into a mold, in which slots stand for the pointers given and for lasting ones; out of it, with others in the slots */
typedef struct gg__copy {
    gg__graph *graph;
    gg_arena *arena;
    gg__walk *w;        /* out of a mold; NULL: into one */
    gg__pointers slots; /* copied into: it grows; out of: borrowed */
    uint32_t given;     /* how many slots were given */
} gg__copy;

void gg__copy_in_begin(gg__copy *copy, const gg__pointer *given,
                       uint32_t count); /* graph->failed: it cannot be copied */
void gg__copy_out_begin(gg__copy *copy);
gg__value gg__copy_value(gg__copy *copy, const gg__value *value);
gg__binding *gg__copy_bindings(gg__copy *copy, const gg__scope *scope);
uint32_t gg__copy_slot(const gg__copy *copy, const void *to, gg__pointee as); /* UINT32_MAX: it has none */

#endif
