/* What a condition says, as a tensor; what an assert consists of.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_TRUTH_H
#define GG_REPAIR_TRUTH_H

#include "repair/syntax.h"

/* Source of a 0-d bool tensor that is true exactly where Python takes the condition for true, or with `negated` where it does not; empty
 * when that is not proven.  What Python would not evaluate behind `and`, `or` and between comparisons is evaluated: it cannot fail and changes
 * nothing.  `torch` is the module's name there, the text the arena's.  Never empty where gg__has_truth. */
gg_str gg__truth(const gg_rule_input *in, TSNode condition, bool negated, gg_str torch, gg_arena *arena);
/* … where the condition stood, in its place: an operation that may fail would have failed, too. */
gg_str gg__truth_as_before(const gg_rule_input *in, TSNode condition, bool negated, gg_str torch, gg_arena *arena);
bool gg__has_truth(const gg_rule_input *in, TSNode condition);
/* `torch.equal(a, b)` of two tensors that are alike: the shapes' equality, and the elements' where the shapes are equal. */
typedef struct gg__equality {
    gg_str shapes, elements;
} gg__equality;
bool gg__is_equality(const gg_rule_input *in, TSNode node, gg_arena *arena, gg__equality *out);

/* raised.c: the raise, or `sys.exit(…)`, that a block ends in; null node when it does anything else but say something, or make what is raised. */
TSNode gg__only_raise(const gg_rule_input *in, TSNode block);
/* Is the statement under a condition that asks whether something is compiled? */
bool gg__is_told_apart(const gg_tree *tree, TSNode statement);

bool gg__is_and(const gg_tree *tree, TSNode node);
TSNode gg__message_of(TSNode assert_statement); /* null node when it has none */
/* A string without interpolation or concatenation; missing counts as plain.  Dynamo traces no assert with another. */
bool gg__is_plain_message(const gg_tree *tree, TSNode message);
/* Source of a constant string for an asynchronous assert: the literal parts of the message, which is what is raised unless `raise` is null; else
 * the exception's name, or the call that exits. */
gg_str gg__constant_message(const gg_tree *tree, TSNode message, TSNode raise, gg_arena *arena);

#endif
