/* Elements of a tensor at a place that tensors without dimensions tell: `h[k]`.  Private to repair/.  Any thread.
 *
 * Indexing asks such a tensor for its number, which a graph does not have.  Of an index with one element it asks nothing: `h[k[None]][0]`. */
#ifndef GG_REPAIR_INDEXED_H
#define GG_REPAIR_INDEXED_H

#include "repair/syntax.h"

typedef struct gg__indexed {
    TSNode subscript, value;     /* `h[…]`; h */
    TSNode places[GG__MAX_RANK]; /* the tensors without dimensions */
    size_t place_count;          /* > 0 */
    int32_t dim; /* where the dimension stands that the edit brings; from the end where it is below zero */
    bool stores; /* `h[k] = v`, `h[k] += v`: nothing is read */
    bool rows;   /* another index has dimensions: the edit brings none */
} gg__indexed;

/* The subscript at the site, by tensors as they are, which may be read as a copy.  `there`: at a place that is there, whatever the sizes; else at any
 * other, where no handler would see which error it raises. */
bool gg__indexed_at_site(const gg_rule_input *in, bool there, gg__indexed *out);
/* That subscript and those beside it in the same expression, which would break next; `there`: only where the place is.  Texts go into the arena. */
void gg__edit_indexed(const gg_rule_input *in, const gg__indexed *x, bool there, gg_arena *arena, gg_edits *edits);

#endif
