/* Modules that treat each row alike: what they make of one does not depend on the others.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_ROW_WISE_H
#define GG_REPAIR_ROW_WISE_H

#include "repair/syntax.h"

/* Is what the function of a call calls, `expert`, `self.experts[i]`, `self.proj`, a module that the class around makes of torch's Linear, LayerNorm and
 * activations, or of classes of the file whose forward() is made of such?  It goes along the last dimension alone, draws nothing and keeps nothing. */
bool gg__is_row_wise(const gg_tree *tree, TSNode function);
/* Is it `self.proj`, or one of `self.experts`? */
bool gg__calls_module(const gg_tree *tree, TSNode function);
/* Does each module that the call calls in turn take what the others take: are as many called as there are, all of one kind and size? */
bool gg__is_called_anyway(const gg_tree *tree, TSNode function);
/* `F.gelu`, `torch.tanh`: an activation, of one tensor. */
bool gg__is_activation(const gg_tree *tree, TSNode function);
/* … and as a method's name. */
bool gg__is_activation_method(gg_str name);

/* ---- between row_wise.c, row_wise_made.c and row_wise_kept.c -------------------------------------------------------------------------------------------- */
/* Does forward() of the class make of each row what it makes of it alone? */
bool gg__is_row_wise_forward(const gg_tree *tree, TSNode class, TSNode forward, int depth);
/* Is each `self.up = …` in the scope a call that makes such a module, and is there one? */
bool gg__is_made_row_wise(const gg_tree *tree, TSNode scope, gg_str path, int depth);

#endif
