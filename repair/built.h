/* What classes give their attributes: whether it is so in every instance.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_BUILT_H
#define GG_REPAIR_BUILT_H

#include "repair/syntax.h"

/* The first class of that name in the file; null when there is none.  `only` (may be NULL): there is one, and no other. */
TSNode gg__class_named(const gg_tree *tree, gg_str name, bool *only);
/* The class that the parameter of __init__ is by default, by the name of which something is made in its body, where nobody in the file gives another, and
 * no class there is derived from that one; empty when there is none. */
gg_str gg__class_by_default(const gg_tree *tree, TSNode name);
/* Calls found for the right side of each assignment of the attribute (`self.act`, `net.act`) in the class around it, those that it is derived from and
 * those derived from it there, and of `net.act` anywhere; or in the whole file where it is not one of self.  Null for one that is no plain assignment.
 * False when found returned false, or there is none. */
bool gg__each_attribute_value(const gg_tree *tree, TSNode attribute, gg__visitor found, void *data);
/* Is it assigned in __init__ alone, or nowhere in the file, as a registered buffer? */
bool gg__is_set_up_once(const gg_tree *tree, TSNode attribute);
/* Does the class around it register it as a buffer, by its name? */
bool gg__is_registered(const gg_tree *tree, TSNode attribute);
/* Is the attribute a module of torch's in every instance, of a kind that its class says: none that it is given, or looks up in a table?  One call of it
 * makes a new tensor in all of them, or returns its operand in all. */
bool gg__is_built_by_class(const gg_tree *tree, TSNode attribute);
/* … of a kind whose result is a new tensor that autograd does not keep: Linear, no Softmax. */
bool gg__is_built_to_forget(const gg_tree *tree, TSNode attribute);
/* May a number, by which something is divided, be zero in another call or instance, as far as the file tells? */
bool gg__may_be_zero(const gg_rule_input *in, TSNode number);
/* Is the attribute's name bound in the body of its class, of one that this is derived from, or of one derived from it? */
bool gg__is_of_its_class(const gg_tree *tree, TSNode attribute);

#endif
