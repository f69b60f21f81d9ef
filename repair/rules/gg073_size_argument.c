/* GG073 size-argument: torch.Tensor(x.size()) is of that size; Dynamo hands the sizes on as a tuple, whose numbers the constructor takes for data.
 * Offers: `size=` in front of the argument, which says what it is; also in the other calls of the file that are foreseen to be alike, since results are
 * only right when all are.  Refuses: any other call than of one argument by place.  Safety: exact.  Page: docs/rules/GG073.md */
#include "repair/syntax.h"

#define SIZE_AS_DATA "size-as-data"

/* The call's only argument, given by place. */
static bool reads(const gg_tree *tree, gg_span span, TSNode *size) {
    TSNode call = gg__strip_parentheses(gg_node_at(tree, span)), arguments = gg__field(call, "arguments");
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list") || gg__child_count(arguments) != 1)
        return false;
    *size = gg__child(arguments, 0);
    return gg__is_positional(*size);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    return gg_str_is(in->site->id, SIZE_AS_DATA) && reads(in->tree, in->span, &out->node);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    (void)err;
    uint32_t own = gg_node_span(match->node).start;
    gg_edits_add(out, (gg_span){own, own}, GG_STR("size="));
    gg_prediction_list foreseen = gg_predict(in->tree, arena);
    for (size_t i = 0; i < foreseen.len; i++) {
        TSNode size;
        if (!gg_str_is(foreseen.items[i].rule, SIZE_AS_DATA) || !reads(in->tree, foreseen.items[i].span, &size))
            continue;
        uint32_t at = gg_node_span(size).start;
        if (at != own) gg_edits_add(out, (gg_span){at, at}, GG_STR("size="));
    }
    return 0;
}

const gg_rule gg_rule_size_argument = {
    .code = "GG073",
    .name = "size-argument",
    .title = "Say that it is the size",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
