/* GG044 masked-size: a tensor made only to ask how large it is: `len(torch.nonzero(c))`, `x[m].numel()`, `torch.unique(k).numel()`.
 * Offers: the count itself as a 0-d tensor, where a tensor gets it.  Refuses: any other use of the number, unique() of floating numbers, and what is
 * not proven pure.  Safety: exact.  Page: docs/rules/GG044.md */
#include "repair/infer.h"
#include "repair/masks.h"

static bool find(const gg_rule_input *in, gg__sized *out) {
    if (!gg_str_is(in->site->id, "GB0036") || in->site->first == NULL) return false;
    for (TSNode at = gg_node_at(in->tree, in->span); !ts_node_is_null(at) && !gg_node_is(at, "block");
         at = gg__parent(at))
        if (gg__is_size(in, at, out))
            return gg__can_name(in->tree, at, "torch") && !gg__has_comment(in->tree, gg_node_span(at));
    return false;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__sized s;
    if (!find(in, &s)) return gg__sized_why(in);
    out->node = s.asked;
    return gg__take_size(in, &s, NULL, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__sized s;
    (void)match;
    if (!find(in, &s) || !gg__take_size(in, &s, NULL, NULL, NULL))
        return gg_fail(err, GG_ENOMATCH, "the size is not proven to be what a tensor can count");
    gg__edit_size(in, &s, arena, out);
    return 0;
}

const gg_rule gg_rule_masked_size = {
    .code = "GG044",
    .name = "masked-size",
    .title = "Count, instead of asking how many there are",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
