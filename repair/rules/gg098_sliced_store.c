/* GG098 sliced-store: `x[i, n:] = 0`, where n is a tensor's value: how large the slice is, a graph does not know.
 * Offers: masked_fill_ of the whole dimension; torch.where for the same slice of a tensor that x was made like.  So it does where the bound has a name that
 * nothing else reads.  A constant goes between two bounds, too, and into several slices.  Refuses: what is stored unless it is that, or a constant
 * number that x holds; steps, indices that are tensors; a tensor that may have been expanded.
 * Safety: exact.  Page: docs/rules/GG098.md */
#include "repair/parts.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__part_store store;
    gg__named_part named;
    bool stored = gg__part_stored(in, &store);
    if (!stored && !gg__part_named(in, &named)) return false;
    out->node = stored ? store.assignment : named.call;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__part_store store;
    gg__named_part named;
    (void)match;
    if (gg__part_stored(in, &store))
        gg__edit_part_store(in, &store, arena, out);
    else if (gg__part_named(in, &named))
        gg__edit_named_part(in, &named, arena, out);
    else
        return gg_fail(err, GG_ENOMATCH, "the slice is not known");
    return 0;
}

const gg_rule gg_rule_sliced_store = {
    .code = "GG098",
    .name = "sliced-store",
    .title = "Fill under a mask, in place",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
