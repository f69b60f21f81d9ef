/* GG040 masked-store: `x[m] = f(x[m])` and `x[m] *= k` choose as many elements as the mask has, which is known at run time only.
 * Offers: x.copy_(torch.where(m, f(x), x)).  Refuses: unless f is proven to treat each element alike and to round the same wherever it lies, and
 * all masks in it are the same.  Safety: exact.  Page: docs/rules/GG040.md
 *
 * DESIGN  The tensor is changed in place, as before: who else holds it or a view of it sees the change. */
#include "repair/masks.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_masked_store(in, true, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_masked_store(in, true, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    return 0;
}

const gg_rule gg_rule_masked_store = {
    .code = "GG040",
    .name = "masked-store",
    .title = "Select with torch.where, in place",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
