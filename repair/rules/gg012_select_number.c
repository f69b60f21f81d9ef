/* GG012 select-number: a tensor decides which of two numbers is used.
 * Offers: torch.where of the two numbers, a tensor without dimensions, where it meets tensors in arithmetic that gives the same bits, also by
 * way of what Python computes with it.
 * Refuses: numbers that are no constants or of two kinds, constants that are no numbers of single precision, any other use (scalar.h).
 * Safety: exact.  Page: docs/rules/GG012.md */
#include "repair/select.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__select_number(in, false, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__select_number(in, false, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "a tensor cannot do what the number does");
    return 0;
}

const gg_rule gg_rule_select_number = {
    .code = "GG012",
    .name = "select-number",
    .title = "Select the number as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
