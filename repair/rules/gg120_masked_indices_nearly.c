/* GG120 masked-indices-nearly: as GG119, where sums of floating numbers are taken in another order.
 * Offers: the mask in place of its indices, where rules up to `numeric` mend all that reads them.  Refuses: as GG119.
 * Safety: numeric.  Page: docs/rules/GG120.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_indices(in, GG_SAFETY_NUMERIC, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_indices(in, GG_SAFETY_NUMERIC, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "what reads the indices is not proven to be the same under the mask");
    return 0;
}

const gg_rule gg_rule_masked_indices_nearly = {
    .code = "GG120",
    .name = "masked-indices-nearly",
    .title = "Use the mask, not its indices",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
