/* Is a value one of another shape where a size that was one in the capture is larger?  `h + b` of one row each has as many rows as b where that has more,
 * while h has one.  Private to repair/.  Any thread.
 *
 * DESIGN  Not by the text: the same inference runs once more for each such size, as if another call had given it.  The sizes of names that were made in
 * front of the branch follow from those that they are made of; parameters have the sizes that they had.  What cannot be inferred then tells nothing. */
#ifndef GG_REPAIR_GROWN_H
#define GG_REPAIR_GROWN_H

#include "repair/syntax.h"

typedef struct gg__grown { /* `in`, where one size of one tensor is another */
    gg_rule_input in;
    gg_site site;
    gg_break record;
    gg_fact *facts;
} gg__grown;

/* The `number`th of them; false when there are no more.  `statement`: the branch.  *out must stay where it is. */
bool gg__grow(const gg_rule_input *in, TSNode statement, size_t number, gg_arena *arena, gg__grown *out);
/* Are there more of them than that gives?  Nobody knows then. */
bool gg__grow_too_often(const gg_rule_input *in, TSNode statement);
bool gg__have_other_sizes(gg__meta a, gg__meta b); /* known ones */
/* Of two values of a branch: may one have another shape than the other so? */
bool gg__grow_apart(const gg_rule_input *in, TSNode a, TSNode b);

#endif
