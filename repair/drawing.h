/* Does code draw torch's random numbers?  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_DRAWING_H
#define GG_REPAIR_DRAWING_H

#include "repair/syntax.h"

/* May what runs in the node draw some, in training or not, as far as the file tells?  A call that is not known may. */
bool gg__may_draw(const gg_rule_input *in, TSNode node);

#endif
