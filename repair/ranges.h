/* Between which values the elements of a tensor lie, as far as its operations tell: never from what a capture saw of them.  Private to repair/.
 * Any thread. */
#ifndef GG_REPAIR_RANGES_H
#define GG_REPAIR_RANGES_H

#include "repair/syntax.h"

typedef struct gg__range { /* both are within it; no element is NaN */
    double low, high;
} gg__range;

/* Of a tensor or a Python number; false when none is known.  Every integer and bool has one: that of its dtype at least. */
bool gg__range_of(const gg_rule_input *in, TSNode node, gg__range *out);

/* What an earlier statement gave the name, where its elements are the same still: they are new memory, and nothing changed them since; else null. */
TSNode gg__undisturbed_value(const gg_rule_input *in, TSNode name);

#endif
