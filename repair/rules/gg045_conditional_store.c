/* GG045 conditional-store: `if c:` on a tensor's value around changes of tensors in place: of a module's own, of local ones, of parts of them.
 * Offers: self.t.copy_(torch.where(c, new, self.t)), in both arms, in nested ones, and among what GG010 selects.
 * Refuses: unless the new value is proven pure, of the tensor's dtype and shape, and, for an attribute, no part of a gradient; and a tensor that
 * autograd may have kept.  Safety: exact.  Page: docs/rules/GG045.md */
#include "repair/select.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__branch branch;
    if (!gg__is_branch(in) || in->site->first == NULL) return false;
    gg_arena *arena = gg_arena_new();
    bool done = gg__select_branch(in, true, false, arena, &branch);
    out->node = branch.node;
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__branch branch;
    (void)match;
    if (!gg__select_branch(in, true, false, arena, &branch))
        return gg_fail(err, GG_ENOMATCH, "what is stored is not proven to fit");
    gg__edit_branch(in, &branch, arena, out);
    return 0;
}

const gg_rule gg_rule_conditional_store = {
    .code = "GG045",
    .name = "conditional-store",
    .title = "Select what is stored with torch.where",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
