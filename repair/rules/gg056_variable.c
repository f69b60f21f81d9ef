/* GG056 variable: torch.autograd.Variable(t) is a call of C that Dynamo skips.  Since tensors and variables are one it gives `t.detach()`.
 * Offers: that; with requires_grad=True, `.requires_grad_()` behind it.  Refuses: other arguments (volatile), and what is not certainly torch's.
 * Safety: exact.  Page: docs/rules/GG056.md */
#include "repair/syntax.h"

/* `Variable(t)`, `Variable(t, requires_grad=True)`; *wanted: the second argument's text, empty when there is none. */
static bool reads(const gg_tree *tree, TSNode call, TSNode *data, gg_str *wanted) {
    TSNode arguments = gg__field(call, "arguments");
    *wanted = GG_STR_NULL;
    *data = gg__child(arguments, 0);
    uint32_t count = gg__child_count(arguments);
    if (count == 0 || count > 2 || !gg__is_positional(*data)) return false;
    if (count == 1) return true;
    TSNode second = gg__child(arguments, 1);
    if (gg_node_is(second, "keyword_argument")) {
        if (!gg_str_is(gg__text(tree, gg__field(second, "name")), "requires_grad")) return false;
        second = gg__field(second, "value");
    }
    *wanted = gg__text(tree, second);
    return gg_node_is(second, "true") || gg_node_is(second, "false");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), function = gg__field(call, "function"), data;
    gg_str wanted;
    out->node = call;
    return gg_node_is(call, "call") && gg_node_is(gg__field(call, "arguments"), "argument_list") &&
           (gg__refers_to(in->tree, function, "torch.autograd.Variable") ||
            gg__refers_to(in->tree, function, "torch.autograd.variable.Variable")) &&
           reads(in->tree, call, &data, &wanted);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    static const char *const tight[] = {"identifier", "attribute", "call", "subscript", "parenthesized_expression"};
    TSNode data;
    gg_str wanted;
    if (!reads(in->tree, match->node, &data, &wanted)) return gg_fail(err, GG_ENOMATCH, "it has other arguments");
    bool wrap = true;
    for (size_t i = 0; i < GG_COUNT(tight); i++) wrap = wrap && !gg_node_is(data, tight[i]);
    gg_span whole = gg_node_span(match->node), inner = gg_node_span(data);
    gg_edits_add(out, (gg_span){whole.start, inner.start}, wrap ? GG_STR("(") : GG_STR_NULL);
    gg_edits_add(
        out, (gg_span){inner.end, whole.end},
        gg_arena_printf(arena, "%s.detach()%s", wrap ? ")" : "", gg_str_is(wanted, "True") ? ".requires_grad_()" : ""));
    return 0;
}

const gg_rule gg_rule_variable = {
    .code = "GG056",
    .name = "variable",
    .title = "Detach the tensor instead of wrapping it",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
