/* GG042 masked-reduction: what a boolean mask chooses is summed, averaged, or its largest taken.
 * Offers: the same of all elements, those not chosen as what changes nothing; where nothing chosen raises, so does the edit.
 * Refuses: unless each element is proven to be treated alike; means of halves; other reductions.
 * Safety: numeric.  Page: docs/rules/GG042.md */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__reduction r;
    gg__named_masked named;
    bool alone = gg__masked_reduction(in, false, &r);
    if (!alone && !gg__masked_name_uses(in, false, &named)) return false;
    out->node = alone ? r.call : named.statements[0];
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__reduction r;
    gg__named_masked named;
    (void)match;
    if (gg__masked_reduction(in, false, &r))
        gg__edit_masked_reduction(&r, arena, out);
    else if (gg__masked_name_uses(in, false, &named))
        gg__edit_named_masked(&named, arena, out);
    else
        return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    return 0;
}

const gg_rule gg_rule_masked_reduction = {
    .code = "GG042",
    .name = "masked-reduction",
    .title = "Reduce all elements, those not chosen as nothing",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
