/* GG054 trace-class: a class statement in a function ends the graph, unless Dynamo is told to trace it.
 * Offers: torch._dynamo.config.enable_trace_load_build_class = True.  Refuses: where the file speaks of that setting already.
 * Safety: config.  Page: docs/rules/GG054.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0075", "GB8977"};
    out->node = gg_tree_root(in->tree);
    return gg__has_id(in, ids, GG_COUNT(ids)) && gg__can_set(in->tree, "enable_trace_load_build_class");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match, (void)err;
    gg__set(in->tree, "enable_trace_load_build_class", GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_trace_class = {
    .code = "GG054",
    .name = "trace-class",
    .title = "Let Dynamo trace class definitions",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
