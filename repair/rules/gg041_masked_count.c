/* GG041 masked-count: what a boolean mask chooses is counted, or asked about.
 * Offers: the same of all elements, those not chosen as 0 (or 1, for all()): `x[m].any()`, the sum of integers and of comparisons.
 * Refuses: unless each element is proven to be treated alike, and the result is the same in whatever order they are taken.
 * Safety: exact.  Page: docs/rules/GG041.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__reduction r;
    gg__named_masked named;
    bool alone = gg__masked_reduction(in, true, &r);
    if (!alone && !gg__masked_name_uses(in, true, &named)) return false;
    out->node = alone ? r.call : named.statements[0];
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__reduction r;
    gg__named_masked named;
    (void)match;
    if (gg__masked_reduction(in, true, &r))
        gg__edit_masked_reduction(&r, arena, out);
    else if (gg__masked_name_uses(in, true, &named))
        gg__edit_named_masked(&named, arena, out);
    else
        return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
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
