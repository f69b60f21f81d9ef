/* GG063 jit-isinstance: torch.jit.isinstance(x, C) is isinstance for types that TorchScript knows; Dynamo skips it.
 * Offers: isinstance.  Refuses: unless C is torch.Tensor and x was one (of lists torch.jit.isinstance looks at the items, and it warns
 * of empty ones).  Safety: exact.  Page: docs/rules/GG063.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), arguments = gg__field(call, "arguments");
    gg_str builtin = GG_STR("isinstance");
    out->node = call;
    return gg_node_is(call, "call") && gg__refers_to(in->tree, gg__field(call, "function"), "torch.jit.isinstance") &&
           gg__child_count(arguments) == 2 && gg__refers_to(in->tree, gg__child(arguments, 1), "torch.Tensor") &&
           gg__infer(in, gg__child(arguments, 0)).sort == GG__TENSOR && !gg__is_local(in->tree, call, builtin) &&
           !gg__is_bound_in_module(in->tree, builtin);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)in, (void)arena, (void)err;
    gg_edits_add(out, gg_node_span(gg__field(match->node, "function")), GG_STR("isinstance"));
    return 0;
}

const gg_rule gg_rule_jit_isinstance = {
    .code = "GG063",
    .name = "jit-isinstance",
    .title = "Ask Python for the type",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
