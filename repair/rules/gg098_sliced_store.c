/* GG098 sliced-store: `x[i, n:] = 0`, where n is a tensor's value: how large the slice is, a graph does not know.
 * Offers: masked_fill_ of the whole dimension.  Refuses: what is stored unless it is a constant number that x holds; steps, two bounds, indices that are
 * tensors; a tensor that may have been expanded.
 * Safety: exact.  Page: docs/rules/GG098.md */
#include "repair/parts.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__part_store store;
    if (!gg__part_stored(in, &store)) return false;
    out->node = store.assignment;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__part_store store;
    (void)match;
    if (!gg__part_stored(in, &store)) return gg_fail(err, GG_ENOMATCH, "the slice is not known");
    gg__edit_part_store(in, &store, arena, out);
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
