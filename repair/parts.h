/* Reductions of a part of a tensor whose bound is a tensor's value: `x[:, :n].sum()`.  Private to repair/.  Any thread.
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

#endif
