/* GG022 explicit-break: torch._dynamo.graph_break() ends the graph where it stands, and does nothing else.
 * Offers: to delete it.  Refuses: unless the name is certainly torch's own function and the statement is nothing but the call.
 * Safety: exact.  Page: docs/rules/GG022.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), call = gg__child(statement, 0);
    out->node = statement;
    return gg_node_is(statement, "expression_statement") && gg__child_count(statement) == 1 &&
           gg_node_is(call, "call") && gg__child_count(gg__field(call, "arguments")) == 0 &&
           gg__refers_to(in->tree, gg__field(call, "function"), "torch._dynamo.graph_break");
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)arena, (void)err;
    gg__delete_statement(in->tree, match->node, out);
    return 0;
}

const gg_rule gg_rule_explicit_break = {
    .code = "GG022",
    .name = "explicit-break",
    .title = "Delete the graph break that the author asked for",
    .safety = GG_SAFETY_EXACT,
    .deliberate = true,
    .check = check,
    .edit = edit,
};
