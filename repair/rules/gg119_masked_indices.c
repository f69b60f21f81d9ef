/* GG119 masked-indices: `i = torch.where(c)[0]`, `rows, cols = torch.where(c)`: as many indices as c has true elements, which is known at run time only.
 * Offers: the mask in place of them, in all that reads them: stores, counts, sums of integers, and branches that ask how many there are.
 * Refuses: what is neither `x[i]` with all of the indices nor such a question, and what no rule for masks and branches mends exactly.
 * Safety: exact.  Page: docs/rules/GG119.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_indices(in, GG_SAFETY_EXACT, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_indices(in, GG_SAFETY_EXACT, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "what reads the indices is not proven to be the same under the mask");
    return 0;
}

const gg_rule gg_rule_masked_indices = {
    .code = "GG119",
    .name = "masked-indices",
    .title = "Use the mask, not its indices",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
