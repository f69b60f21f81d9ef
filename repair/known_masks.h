/* A mask of which a condition tells that all of its elements are alike: `not mask.any()`.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_KNOWN_MASKS_H
#define GG_REPAIR_KNOWN_MASKS_H

#include "repair/scalar.h"

typedef struct gg__known_mask {
    const gg_rule_input *in;
    gg_str text;          /* the name */
    double value;         /* of all elements, where the condition holds */
    gg__scalar_uses then; /* what is known at the statement that is looked at */
} gg__known_mask;

/* X of `X.any()` and `torch.any(X)`, for a method of that name without other arguments; null where it is another expression. */
TSNode gg__asked_of(const gg_tree *tree, TSNode call, const char *what);

bool gg__is_known_mask(const gg__known_mask *s, TSNode node); /* the name */
/* `not mask.any()`, `mask.all()`, `mask.sum() == 0`: fills in the value. */
bool gg__read_mask_test(gg__known_mask *s, TSNode test);
/* Does the name certainly hold a tensor at the statement, as far as the function tells? */
bool gg__mask_is_never_none(const gg__known_mask *s, TSNode statement);
/* Which number all elements of the expression are, made of the mask. */
bool gg__mask_constant(const gg__known_mask *s, TSNode node, uint32_t depth, double *out);
/* Learns what the statement binds; false where it may change sizes or the mask. */
bool gg__follow_mask(gg__known_mask *s, TSNode statement);

/* empty_guards.c: `if not mask.any(): return x` in front of what makes a tensor equal to x then.  `copies`: it is a new one, as gg_edits.copies. */
bool gg__is_empty_guard(const gg_rule_input *in, TSNode *out_node, bool *copies);

#endif
