/* GG096 sorted-slice: heapq.nsmallest(2, l) and heapq.nlargest(2, l) work on a heap, in C, which Dynamo does not follow.
 * Offers: sorted(l)[:2], which their documentation says is equivalent.
 * Refuses: what is no list of numbers written there or held all along by a local name; a count that is no literal (the slice is another below
 * zero); a key.  Safety: exact.  Page: docs/rules/GG096.md */
#include "repair/hindrance.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    const gg_tree *tree = in->tree;
    TSNode call = gg__strip_parentheses(gg_node_at(tree, in->span)), arguments = gg__field(call, "arguments");
    TSNode function = gg__field(call, "function"), count = gg__child(arguments, 0), list = gg__child(arguments, 1);
    gg_str builtin = GG_STR("sorted");
    out->node = call;
    if (!gg_node_is(call, "call") ||
        (!gg__refers_to(tree, function, "heapq.nsmallest") && !gg__refers_to(tree, function, "heapq.nlargest")))
        return false;
    if (gg__child_count(arguments) != 2 || gg_node_is(list, "keyword_argument"))
        return gg__hinder(in, arguments, "only a count and a list, without names or a key, are known");
    if (!gg_node_is(count, "integer")) return gg__hinder(in, count, "is no literal, and may be below zero");
    if (ts_node_is_null(gg__number_display(in, list)))
        return gg__hinder(in, list, "is not known to be a list of constant numbers that nobody changes");
    return !gg__is_local(tree, call, builtin) && !gg__is_bound_in_module(tree, builtin);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    const gg_tree *tree = in->tree;
    TSNode arguments = gg__field(match->node, "arguments");
    gg_str count = gg__text(tree, gg__child(arguments, 0)), list = gg__text(tree, gg__child(arguments, 1));
    bool largest = gg__refers_to(tree, gg__field(match->node, "function"), "heapq.nlargest");
    (void)err;
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "sorted(%.*s%s)[:%.*s]", GG_STR_ARG(list), largest ? ", reverse=True" : "",
                                 GG_STR_ARG(count)));
    return 0;
}

const gg_rule gg_rule_sorted_slice = {
    .code = "GG096",
    .name = "sorted-slice",
    .title = "Sort the list and take the first",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
