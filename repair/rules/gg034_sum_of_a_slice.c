/* GG034 sum-of-a-slice: `x[:, :n].sum()` with n from a tensor: how long the slice is, a graph does not know.
 * Offers: the sum of all elements, with zero in place of those outside.  Refuses: other consumers than sum() over the sliced dimension, two bounds
 * or a step, further indices, and what is not proven to be a tensor of such dimensions.
 * Safety: numeric (sums are taken in another order).  Page: docs/rules/GG034.md */
#include "repair/parts.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__part part;
    gg__named_part named;
    bool direct = gg__part_reduction(in, false, &part);
    if (!direct && !gg__part_named_sums(in, false, &named)) return false;
    out->node = direct ? part.subscript : named.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__part part;
    gg__named_part named;
    (void)match;
    if (gg__part_reduction(in, false, &part))
        gg__edit_part(in, &part, arena, out);
    else if (gg__part_named_sums(in, false, &named))
        gg__edit_named_part(in, &named, arena, out);
    else
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
