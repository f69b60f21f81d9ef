/* An element of a list of tensors or of numbers, chosen by a tensor's value.  Private to repair/.  Any thread.
 *
 * Which one, a graph does not know; which row of a stack, or element of a tensor, it does. */
#ifndef GG_REPAIR_CHOICES_H
#define GG_REPAIR_CHOICES_H

#include "repair/scalar.h"

typedef struct gg__choice {
    TSNode subscript, list; /* `l[…]`; `l` there */
    TSNode index;           /* the 0-d tensor */
    TSNode display;         /* `[a, b]` that l was bound to, or that stands there itself; or `{0: a, 1: b}` */
    TSNode taken;           /* `n.item()` that the index has its name from, and the index is the name; else null */
    bool truth;             /* a bool, which counts as 0 or 1 */
    bool cuts;              /* int() of what may be a floating tensor in another call */
    bool numbers;           /* the elements are numbers … */
    gg__scalar number;      /* … of which this is known */
} gg__choice;

/* Is such a choice at the site, of elements that are proven to be new tensors that are alike, or numbers whose place a tensor can take?  `in_range`: with an index that is proven to be
 * there; else with any, where no handler would see which error an index raises that is not. */
bool gg__tensor_choice(const gg_rule_input *in, bool in_range, gg__choice *out);
/* The row of the stacked list.  Texts go into the arena. */
void gg__edit_choice(const gg_rule_input *in, const gg__choice *choice, gg_arena *arena, gg_edits *edits);

#endif
