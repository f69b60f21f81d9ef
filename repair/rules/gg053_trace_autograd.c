/* GG053 trace-autograd: backward() and torch.autograd.grad end the graph, unless Dynamo is told to trace them.
 * Offers: torch._dynamo.config.trace_autograd_ops = True.  Refuses: where the file speaks of that setting already.
 * Safety: config.  Page: docs/rules/GG053.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0123", "GB9186"};
    out->node = gg_tree_root(in->tree);
    return gg__has_id(in, ids, GG_COUNT(ids)) && gg__can_set(in->tree, "trace_autograd_ops");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match, (void)err;
    gg__set(in->tree, "trace_autograd_ops", GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_trace_autograd = {
    .code = "GG053",
    .name = "trace-autograd",
    .title = "Let Dynamo trace backward passes",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
