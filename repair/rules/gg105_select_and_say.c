/* GG105 select-and-say: a branch on a tensor whose arms say something before they go on, `if loss.isnan(): print(…); loss = zero`.
 * Offers: GG010's selections, and the messages in front of them where nothing is compiled and their arm is taken.  Refuses: what GG010 refuses, and
 * messages that code around may hear.  Safety: effects (under compile the messages are skipped).  Page: docs/rules/GG105.md */
#include "repair/select.h"

extern const gg_rule gg_rule_where, gg_rule_select;

/* Without stores in the arms, or with them. */
static bool select_any(const gg_rule_input *in, gg_arena *arena, gg__branch *out) {
    gg_rule_input quiet = *in; /* what hinders the second try hinders */
    quiet.hindrance = NULL;
    return gg__select_branch(&quiet, false, true, arena, out) || gg__select_branch(in, true, true, arena, out);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_rule_match simple;
    gg__branch branch;
    gg_rule_input quiet = *in; /* GG010 has said why */
    quiet.hindrance = NULL;
    if (!gg__is_branch(in) || gg_rule_where.check(&quiet, &simple) || gg_rule_select.check(&quiet, &simple))
        return false;
    gg_arena *arena = gg_arena_new();
    bool done = select_any(in, arena, &branch);
    out->node = branch.node;
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__branch branch;
    (void)match;
    if (!select_any(in, arena, &branch)) return gg_fail(err, GG_ENOMATCH, "the arms are not proven to be alike");
    gg__edit_branch(in, &branch, arena, out);
    return 0;
}

const gg_rule gg_rule_select_and_say = {
    .code = "GG105",
    .name = "select-and-say",
    .title = "Compute both arms and select, with messages only where nothing is compiled",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
