/* GG034 sum-of-a-slice: `x[:, :n].sum()` with n from a tensor: how long the slice is, a graph does not know.
 * Offers: the sum of all elements, with zero in place of those outside.  Refuses: other consumers than sum() over the sliced dimension, two bounds
 * or a step, further indices, and what is not proven to be a tensor of such dimensions.
 * Safety: numeric (sums are taken in another order).  Page: docs/rules/GG034.md */
#include "repair/parts.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_part(in, false, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_part(in, false, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "this is not proven to be a sum over the sliced dimension");
    return 0;
}

const gg_rule gg_rule_sum_of_a_slice = {
    .code = "GG034",
    .name = "sum-of-a-slice",
    .title = "Sum with a mask",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
