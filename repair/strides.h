/* How the elements of a tensor lie in memory, and whether the program can tell.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_STRIDES_H
#define GG_REPAIR_STRIDES_H

#include "repair/syntax.h"

typedef enum gg__lying {
    GG__ANYHOW,   /* perhaps with gaps, or one over the other */
    GG__DENSE,    /* without, in whatever order of the dimensions */
    GG__IN_ORDER, /* row after row */
} gg__lying;

/* In every call: what a caller gives may lie anyhow. */
gg__lying gg__lies(const gg_rule_input *in, TSNode node);
/* Where the value of the node goes in its function: does something there tell how it lies?  `x.stride()`, `x.view(-1)`, which raises for some; and
 * `x.reshape(-1)`, which may be a view or not, where anything is changed in place. */
bool gg__strides_show(const gg_rule_input *in, TSNode node);
/* … of what a name holds.  `errors`: also that `view` raises for some ways to lie and would not any more. */
bool gg__strides_of_show(const gg_rule_input *in, TSNode function, gg_str name, bool errors);

#endif
