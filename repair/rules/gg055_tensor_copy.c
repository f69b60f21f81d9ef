/* GG055 tensor-copy: copy.deepcopy(t) and copy.copy(t) go through pickling, which Dynamo does not follow.
 * Offers: what they do to a tensor: a leaf of its own that requires gradients where the original does, with its own memory or the same.
 * Refuses: unless the argument is a name that was a tensor without gradients (deepcopy raises for others that are no leaves).
 * Safety: exact.  Page: docs/rules/GG055.md */
#include "repair/syntax.h"

static TSNode argument_of(TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    return gg__child_count(arguments) == 1 ? gg__child(arguments, 0) : (TSNode){0};
}

static bool is_plain_tensor(const gg_rule_input *in, gg_str name) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; record && i < record->fact_count; i++)
        if (gg_str_equal(record->facts[i].name, name))
            return record->facts[i].kind == GG_VALUE_TENSOR && !record->facts[i].requires_grad;
    return false;
}

static bool is_deep(const gg_tree *tree, TSNode call) {
    return gg__refers_to(tree, gg__field(call, "function"), "copy.deepcopy");
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    TSNode call = gg__strip_parentheses(gg_node_at(in->tree, in->span)), argument = argument_of(call);
    out->node = call;
    return gg_node_is(call, "call") && gg_node_is(argument, "identifier") &&
           (is_deep(in->tree, call) || gg__refers_to(in->tree, gg__field(call, "function"), "copy.copy")) &&
           is_plain_tensor(in, gg__text(in->tree, argument));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    gg_str name = gg__text(in->tree, argument_of(match->node));
    const char *own = is_deep(in->tree, match->node) ? ".clone()" : "";
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.detach()%s.requires_grad_(%.*s.requires_grad)", GG_STR_ARG(name), own,
                                 GG_STR_ARG(name)));
    return 0;
}

const gg_rule gg_rule_tensor_copy = {
    .code = "GG055",
    .name = "tensor-copy",
    .title = "Copy the tensor with its own methods",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
