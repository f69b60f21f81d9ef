/* GG010 select: branches on tensors that are more than one assignment, and conditions that are more than one comparison.
 * Offers: torch.where for every name that is read behind an if statement, with elif, else, nested ones, temporaries and returns; the condition
 * may have `and`, `or`, `not`, chained comparisons, any(), all(), torch.equal, `.item()`; flags of Python's in front stay an if.  Of `if c: continue` the rest of the loop's body is the arm.
 * Refuses: what GG002 refuses in an arm; numbers, stores and calls of what is not known to be pure in arms; an operand of a condition that may fail or has no
 * single truth.  Safety: exact.  Page: docs/rules/GG010.md */
#include "repair/select.h"

extern const gg_rule gg_rule_where;

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_rule_match simple;
    gg__branch branch;
    if (!gg__is_branch(in) || gg_rule_where.check(in, &simple)) return false;
    gg_arena *arena = gg_arena_new();
    bool done = gg__select_branch(in, false, false, arena, &branch);
    out->node = branch.node;
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__branch branch;
    (void)match;
    if (!gg__select_branch(in, false, false, arena, &branch))
        return gg_fail(err, GG_ENOMATCH, "the arms are not proven to be alike");
    gg__edit_branch(in, &branch, arena, out);
    return 0;
}

const gg_rule gg_rule_select = {
    .code = "GG010",
    .name = "select",
    .title = "Compute both arms and select",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
