/* GG033 list-by-tensor: an element of a list of tensors is chosen by a tensor's value, which a graph does not know.
 * Offers: to stack the list and index that.  Refuses: unless the list is written out in the same function, used nowhere else, and its elements
 * are proven to be new tensors that are alike and get gradients from the same tensors; where code around it may catch the IndexError.
 * Safety: effects (an index that is not there is told in other words).  Page: docs/rules/GG033.md */
#include "repair/choices.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__choice choice;
    if (!gg__tensor_choice(in, false, &choice)) return false;
    out->node = choice.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__choice choice;
    (void)match;
    if (!gg__tensor_choice(in, false, &choice))
        return gg_fail(err, GG_ENOMATCH, "the list's elements are not proven to be alike");
    gg__edit_choice(in, &choice, arena, out);
    return 0;
}

const gg_rule gg_rule_list_by_tensor = {
    .code = "GG033",
    .name = "list-by-tensor",
    .title = "Choose the element of a stack",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
