/* GG003 item-as-tensor: `.item()`, float(), int() and bool() bring a value to Python, which a graph cannot do.
 * Offers: the 0-d tensor itself, detached, where a tensor gets the number or what Python made of it; in the precision Python counts in, where it
 * counts first.  Refuses: any other use, operands that a 0-d tensor would promote, int() of a floating value that may be NaN or infinite,
 * what raises in Python (division by zero, a root of what may be negative).
 * Safety: exact.  Page: docs/rules/GG003.md */
#include "repair/scalar.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_scalar(in, GG__EXACTLY, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_scalar(in, GG__EXACTLY, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the value is not proven to be a 0-d tensor that can do what the number does");
    return 0;
}

const gg_rule gg_rule_item_as_tensor = {
    .code = "GG003",
    .name = "item-as-tensor",
    .title = "Keep the value as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
