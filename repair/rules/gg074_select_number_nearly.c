/* GG074 select-number-nearly: a tensor decides which of two numbers is used, and it meets what autocast makes of lower precision.
 * Offers and refuses: as GG012 does, but for tensors whose dtype autocast lowers, as that of a matrix product.
 * Safety: numeric (a tensor of half precision takes the number in by another rounding).  Page: docs/rules/GG074.md */
#include "repair/select.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__select_number(in, true, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__select_number(in, true, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "a tensor cannot do what the number does");
    return 0;
}

const gg_rule gg_rule_select_number_nearly = {
    .code = "GG074",
    .name = "select-number-nearly",
    .title = "Select the number as a tensor",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
