/* GG067 count-of-a-slice: `x[:, :n].any()` with n from a tensor: how long the slice is, a graph does not know.
 * Offers: the same of all elements, with what changes nothing in place of those outside.  Refuses: reductions whose result depends on the order of the
 * elements, or that fail where there are none; two bounds or a step, further indices, and what is not proven to be a tensor of such dimensions.
 * Safety: exact.  Page: docs/rules/GG067.md */
#include "repair/parts.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_part(in, true, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_part(in, true, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "this is not proven to be the same in whatever order the elements are taken");
    return 0;
}

const gg_rule gg_rule_count_of_a_slice = {
    .code = "GG067",
    .name = "count-of-a-slice",
    .title = "Count with a mask",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
