/* Reductions of a part of a tensor whose bound is a tensor's value, and stores into one: `x[:, :n].sum()`, `x[i, n:] = 0`.  Private to repair/.  Any thread.
 *
 * How long the part is, a graph does not know.  Over the whole dimension, the elements outside it can count as nothing. */
#ifndef GG_REPAIR_PARTS_H
#define GG_REPAIR_PARTS_H

#include "repair/scalar.h"

typedef struct gg__part {
    TSNode call, subscript, x; /* `x[:, :n].sum()`, `x[:, :n]`, `x` */
    TSNode n;                  /* the 0-d tensor */
    int32_t dim, rank;
    bool natural;        /* n is not below zero */
    bool lower;          /* `n:`, not `:n` */
    const char *nothing; /* what an element outside counts as: "0", "True" */
} gg__part;

/* Is such a reduction at the site, proven by the facts?  `exact`: one whose result does not depend on the order of the elements; else a sum of
 * floating numbers. */
bool gg__part_reduction(const gg_rule_input *in, bool exact, gg__part *out);
/* The elements outside replaced by nothing.  Texts go into the arena. */
void gg__edit_part(const gg_rule_input *in, const gg__part *part, gg_arena *arena, gg_edits *edits);

typedef struct gg__part_store { /* `x[i, :n] = 0` */
    gg__part part;
    TSNode assignment, index, value; /* index: `:n` */
    int32_t behind;                  /* dimensions of the view that is filled, behind the part's */
} gg__part_store;

/* Is the statement at the site such a store, of a number, into a tensor that masked_fill_ takes? */
bool gg__part_stored(const gg_rule_input *in, gg__part_store *out);
void gg__edit_part_store(const gg_rule_input *in, const gg__part_store *store, gg_arena *arena, gg_edits *edits);

#endif
