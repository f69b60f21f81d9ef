/* GG050 trace-rnn: Dynamo skips every function that calls an nn.RNN, nn.LSTM or nn.GRU, unless it is told to trace them.
 * Offers: torch._dynamo.config.allow_rnn = True.  Refuses: where the file speaks of that setting already.
 * Safety: config.  Page: docs/rules/GG050.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0014"};
    out->node = gg_tree_root(in->tree);
    return gg__has_id(in, ids, GG_COUNT(ids)) && gg__can_set(in->tree, "allow_rnn");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match, (void)err;
    gg__set(in->tree, "allow_rnn", GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_allow_rnn = {
    .code = "GG050",
    .name = "trace-rnn",
    .title = "Let Dynamo trace nn.RNN, nn.LSTM and nn.GRU",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
