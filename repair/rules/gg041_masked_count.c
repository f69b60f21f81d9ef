/* GG041 masked-count: what a boolean mask chooses is counted, or asked about.
 * Offers: the same of all elements, those not chosen as 0 (or 1, for all()): `x[m].any()`, the sum of integers and of comparisons.
 * Refuses: unless each element is proven to be treated alike, and the result is the same in whatever order they are taken.
 * Safety: exact.  Page: docs/rules/GG041.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__reduction r;
    if (!gg__masked_reduction(in, true, &r)) return false;
    out->node = r.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__reduction r;
    (void)match;
    if (!gg__masked_reduction(in, true, &r))
        return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    gg__edit_masked_reduction(&r, arena, out);
    return 0;
}

const gg_rule gg_rule_masked_count = {
    .code = "GG041",
    .name = "masked-count",
    .title = "Count all elements, those not chosen as nothing",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
