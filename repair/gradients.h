/* Does a value require gradients, so that it does not show whether another operand does?  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_GRADIENTS_H
#define GG_REPAIR_GRADIENTS_H

#include "repair/syntax.h"

/* In the capture, where autograd is on: it is made of a tensor that does, or by a layer with weights, behind the break too. */
bool gg__carries_gradients(const gg_rule_input *in, TSNode node);

/* Where a new tensor goes that is wanted for its values alone.  `node`: the expression, or a name.  True where each way ends in what computes from it, so
 * that nobody meets the tensor itself; and, unless `free` (it requires no gradients), together with something else that carries them. */
bool gg__is_only_computed_with(const gg_rule_input *in, TSNode node, bool free);

#endif
