/* GG052 capture-dynamic-shapes: an operation whose result's shape depends on values (nonzero, unique, a boolean index) ends the graph, unless Dynamo is told to give it a symbolic shape.
 * Offers: torch._dynamo.config.capture_dynamic_output_shape_ops = True.  Refuses: where the file speaks of that setting already.
 * Safety: config.  Page: docs/rules/GG052.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    static const char *const ids[] = {"GB0036"};
    out->node = gg_tree_root(in->tree);
    return gg__has_id(in, ids, GG_COUNT(ids)) && gg__can_set(in->tree, "capture_dynamic_output_shape_ops");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)match, (void)err;
    gg__set(in->tree, "capture_dynamic_output_shape_ops", GG_STR_NULL, arena, out);
    return 0;
}

const gg_rule gg_rule_dynamic_shapes = {
    .code = "GG052",
    .name = "capture-dynamic-shapes",
    .title = "Let graphs hold results whose shape depends on values",
    .safety = GG_SAFETY_CONFIG,
    .check = check,
    .edit = edit,
};
