/* Does a value require gradients, so that it does not show whether another operand does?  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_GRADIENTS_H
#define GG_REPAIR_GRADIENTS_H

#include "repair/syntax.h"

/* In the capture, where autograd is on: it is made of a tensor that does, or by a layer with weights, behind the break too. */
bool gg__carries_gradients(const gg_rule_input *in, TSNode node);

/* Where a new tensor goes that is wanted for its values alone.  `node`: the expression, or a name.  True where each way ends in what computes from it, so
 * that nobody meets the tensor itself; and, unless `free` (it requires no gradients), together with something else that carries them. */
bool gg__is_only_computed_with(const gg_rule_input *in, TSNode node, bool free);

/* ---- upstream.c --------------------------------------------------------------------------------------------------------- */
/* A name that only one arm reads gets a gradient of zeros where the other one is taken, and none before.  May that become NaN on its way back through what the
 * name is made of in front of the statement, as far as the function tells: a root, a logarithm, a quotient near zero?  What other files hold is taken to be harmless. */
#define GG__ROUGH_ORIGIN "where it is not wanted, the gradient of what it is made of may be infinite or NaN"
bool gg__is_made_roughly(const gg_rule_input *in, TSNode statement, gg_str name);
/* Does a gradient of the whole expression come to the node in it, past `.detach()`, comparisons and sizes? */
bool gg__lets_gradients_by(const gg_tree *tree, TSNode node, TSNode whole);
/* Does one come to the name in the node? */
bool gg__gives_gradient(const gg_tree *tree, TSNode whole, gg_str name);
/* Is no name made roughly that a gradient of one of the expressions comes to, and of the other one does not? */
bool gg__have_gentle_origins(const gg_rule_input *in, TSNode statement, TSNode a, TSNode b);

#endif
