/* GG060 requires-grad: Dynamo does not trace `t.requires_grad = …`, but the method that does the same.
 * Offers: `t.requires_grad_(…)`.  Refuses: unless Dynamo stopped at that very assignment (then `t` is a tensor: of a module the two differ)
 * and what is assigned is True or False.  Safety: exact.  Page: docs/rules/GG060.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), assignment = gg__child(statement, 0);
    TSNode target = gg__field(assignment, "left"), value = gg__field(assignment, "right");
    out->node = assignment;
    return gg_str_is(in->site->id, "GB0206") && gg_node_is(statement, "expression_statement") &&
           gg__child_count(statement) == 1 && gg_node_is(assignment, "assignment") &&
           ts_node_is_null(gg__field(assignment, "type")) && gg_node_is(target, "attribute") &&
           gg_str_is(gg__text(in->tree, gg__field(target, "attribute")), "requires_grad") &&
           (gg_node_is(value, "true") || gg_node_is(value, "false")) &&
           !gg__has_comment(in->tree, gg_node_span(assignment));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    TSNode target = gg__field(match->node, "left");
    gg_str value = gg__text(in->tree, gg__field(match->node, "right"));
    gg_span rest = {ts_node_end_byte(target), ts_node_end_byte(match->node)};
    gg_edits_add(out, rest, gg_arena_printf(arena, "_(%s)", gg_str_is(value, "True") ? "" : "False"));
    return 0;
}

const gg_rule gg_rule_requires_grad = {
    .code = "GG060",
    .name = "requires-grad",
    .title = "Ask for gradients with requires_grad_()",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
