/* GG110 masked-store-nearly: `x[m] = torch.exp(x[m])`, of functions whose last bit depends on where in memory an element lies.
 * Offers: x.copy_(torch.where(m, torch.exp(x), x)).  Refuses: as GG040 does, and tensors of half precision.
 * Safety: numeric.  Page: docs/rules/GG110.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_masked_store(in, false, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_masked_store(in, false, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    return 0;
}

const gg_rule gg_rule_masked_store_nearly = {
    .code = "GG110",
    .name = "masked-store-nearly",
    .title = "Select with torch.where, in place",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
