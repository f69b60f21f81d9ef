/* GG030 math-as-tensor: math.log() and its like, and `s ** 0.5`, make Python numbers of a tensor's value, which a graph cannot do.
 * Offers: torch's own function on the 0-d tensor, in double precision as Python counts.  Refuses: what GG003 refuses, functions that raise where
 * torch gives NaN or an infinity unless the argument is proven to lie where neither happens, and what GG003 can do exactly.
 * Safety: numeric (the last bit of a double may differ).  Page: docs/rules/GG030.md */
#include "repair/scalar.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg__take_scalar(in, GG__NEARLY, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!gg__take_scalar(in, GG__NEARLY, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the value is not proven to be a 0-d tensor that can do what the number does");
    return 0;
}

const gg_rule gg_rule_math_as_tensor = {
    .code = "GG030",
    .name = "math-as-tensor",
    .title = "Compute it with torch",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
