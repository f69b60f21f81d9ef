/* May autograd have kept a tensor, so that a store that changes nothing is an error all the same?  Private to repair/.  Any thread.
 *
 * DESIGN  A change in place is counted, also where the elements stay as they are; what was kept for a gradient before it raises when the gradient is taken.
 * So where a store is made in any case, no reader may keep the tensor: in the function, and, of an attribute, anywhere in the file, since a module
 * may be called twice before gradients are taken. */
#ifndef GG_REPAIR_KEPT_H
#define GG_REPAIR_KEPT_H

#include "repair/select.h"

/* Is the node inside of `with torch.no_grad():`, or of a function that is decorated with it? */
bool gg__without_gradients(const gg_tree *tree, TSNode node);
/* May the tensor that is read at the node be kept there?  `own`: it may be part of a gradient itself. */
bool gg__is_kept(const gg_rule_input *in, TSNode node, bool own);
/* Does no gradient flow through the expression?  That does not hold of `place`, a tensor that requires none. */
bool gg__is_detached(const gg__select *s, const gg__arm *arm, TSNode node, TSNode place);

/* Does the expression make a tensor of its own, without keeping it for a gradient, as exp() keeps its result? (forgets.c) */
bool gg__forgets_result(const gg_rule_input *in, TSNode value);
/* May it be changed in place in any case, where the statement does so in some? */
bool gg__may_change_attribute(const gg_rule_input *in, TSNode statement, TSNode attribute);
bool gg__may_change_local(const gg_rule_input *in, TSNode statement, TSNode name);
/* A name of the statement's own block, that holds what `made` gives. */
bool gg__may_change_made(const gg_rule_input *in, TSNode statement, TSNode name, TSNode made);
/* Was the attribute bound to a new tensor in front of the statement, that nobody else holds? */
bool gg__is_made_before(const gg_rule_input *in, TSNode statement, TSNode attribute);

#endif
