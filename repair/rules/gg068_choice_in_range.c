/* GG068 choice-in-range: an element of a list of tensors is chosen by a tensor's value that is proven to be an index of it: a comparison, `n % 4`, a
 * clamped value.
 * Offers: to stack the list and index that.  Refuses: what GG033 refuses, but for code around it that catches errors: there is none.
 * Safety: exact.  Page: docs/rules/GG068.md */
#include "repair/choices.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__choice choice;
    if (!gg__tensor_choice(in, true, &choice)) return false;
    out->node = choice.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__choice choice;
    (void)match;
    if (!gg__tensor_choice(in, true, &choice)) return gg_fail(err, GG_ENOMATCH, "the index is not proven to be there");
    gg__edit_choice(in, &choice, arena, out);
    return 0;
}

const gg_rule gg_rule_choice_in_range = {
    .code = "GG068",
    .name = "choice-in-range",
    .title = "Choose the element of a stack",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
