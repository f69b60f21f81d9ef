/* Blocks as functions of their own, which the compiler's operators for control flow take: torch.cond, while_loop.  Private to repair/.  Any thread.
 *
 * DESIGN  Both trace the functions whole, whichever is taken, and refuse by themselves what a branch of a graph cannot do: to change what is
 * outside of it, to give back what it was given, to give values of other dtypes and shapes.  So nothing wrong comes of one that is not pure; what is told here
 * is what would be refused anyway, or would mean something else in a function. */
#ifndef GG_REPAIR_OUTLINE_H
#define GG_REPAIR_OUTLINE_H

#include "repair/select.h"

enum { GG__MAX_OUTLINED = 12 };

typedef struct gg__names { /* each once, in the order of the text */
    gg_str items[GG__MAX_OUTLINED];
    size_t count;
    bool full; /* there are more */
} gg__names;

typedef struct gg__stretch { /* statements of a block that follow each other */
    TSNode block;
    uint32_t from, to; /* children of it, without the last; none where both are the same */
} gg__stretch;

gg__stretch gg__stretch_of(TSNode block); /* all of it */

void gg__names_add(gg__names *names, gg_str name);
bool gg__names_have(const gg__names *names, gg_str name);
gg_str gg__names_text(const gg__names *names, gg_arena *arena); /* "a, b" */

/* Does it fail of a tensor of no rows, or of a few: `h.max()`, `h.amax(0)`, `h[3]`?  A graph traces what is not run, too. */
bool gg__may_fail_of_few(const gg_rule_input *in, TSNode node);
/* Do the statements mean the same in a function of their own?  Says which does not.  `last`: but for this one; may be null. */
bool gg__may_outline(const gg_rule_input *in, gg__stretch body, TSNode last);
/* May functions be defined in this one, to be called at once: not where TorchScript compiles it. */
bool gg__may_define(const gg_tree *tree, TSNode statement);
/* Does no function inside the one around the statement read the name?  Statements in a function of their own have it for themselves.  Says so. */
bool gg__is_unread_inside(const gg_rule_input *in, TSNode statement, gg_str name);
/* The names that the statements bind. */
void gg__names_bound(const gg_tree *tree, gg__stretch body, gg__names *out);
/* May they read what the name held in front of them, or leave it as it was? */
bool gg__takes(const gg_tree *tree, gg__stretch body, gg_str name);
/* May they read what the name held in front of them? */
bool gg__reads_first(const gg_tree *tree, gg__stretch body, gg_str name);
/* The value that they leave in the name; null when that is not plain to see. */
TSNode gg__left_in(const gg_tree *tree, gg__stretch body, gg_str name);
/* What an expression is in the block, whose names `arm` has got: its operations may fail, as they would have. */
gg__meta gg__outlined_meta(gg__select *s, const gg__arm *arm, TSNode value);
/* The arm gets what the names hold behind them; false when there are too many. */
bool gg__learn_block(gg__select *s, gg__arm *arm, gg__stretch body);
/* Is the value one that others may hold, as far as it is known?  A function must give a copy of it. */
bool gg__is_held(gg__select *s, const gg__arm *arm, TSNode value);
/* … but not where the block made it, whose names `arm` has got. */
bool gg__is_made_in(const gg_tree *tree, const gg__arm *arm, TSNode name);
/* Is it no tensor, for certain? */
bool gg__is_no_tensor(gg__select *s, const gg__arm *arm, TSNode value);
/* Are both tensors of one dtype and shape, in any sensible call, as far as they are known?  Says where they are not. */
bool gg__may_be_alike(gg__select *s, TSNode statement, gg_str name, gg__meta a, TSNode first, gg__meta b,
                      TSNode second);
/* Is the name one of a tensor where the site is? */
bool gg__holds_tensor(const gg_rule_input *in, gg_str name);
/* `not h.requires_grad`: no gradient flows through the statements, which are given these names.  `not torch.is_grad_enabled()` where it is not plain what they read. */
gg_str gg__unless_differentiated(gg__select *s, const gg__names *given, const gg__stretch *bodies, size_t count,
                                 gg_str torch);
/* The condition as a tensor, evaluated as before. */
bool gg__outlined_test(gg__select *s, gg__arm *arm, TSNode condition, gg__test *out);

#endif
