/* GG051 capture-scalar-outputs: a number taken out of a tensor ends the graph, unless Dynamo is told to carry it along as a symbol.
 * Offers: torch._dynamo.config.capture_scalar_outputs = True.  Refuses: where the file speaks of that setting already.
 * Safety: config.  Page: docs/rules/GG051.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0124", "GB0033"};
    out->node = gg_tree_root(in->tree);
    bool other = gg_str_is(in->site->id, "GB0033") && /* torch.equal and the like, which no setting mends */
                 (!in->site->first || !gg_str_is(in->site->first->context, "aten._local_scalar_dense.default"));
    return gg__has_id(in, ids, GG_COUNT(ids)) && !other && gg__can_set(in->tree, "capture_scalar_outputs");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match, (void)err;
    gg__set(in->tree, "capture_scalar_outputs", GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_scalar_outputs = {
    .code = "GG051",
    .name = "capture-scalar-outputs",
    .title = "Let graphs hold numbers taken out of tensors",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
