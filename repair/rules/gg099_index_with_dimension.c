/* GG099 index-with-dimension: `h[k]` asks the tensor k, or the number taken out of it, which element to read; a graph does not know.
 * Offers: an index of one element, and what is in it.  Refuses: where the element's memory being h's may be seen; where code around
 * it may catch the IndexError; what GG100 does.
 * Safety: effects (an index that is not there is told in other words).  Page: docs/rules/GG099.md */
#include "repair/indexed.h"
#include "repair/scalar.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__indexed x;
    if (gg__indexed_at_site(in, false, &x)) {
        out->node = x.subscript;
        return true;
    }
    return gg__take_scalar(in, GG__AS_INDEX, &out->node, NULL, NULL);
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__indexed x;
    TSNode node = match->node;
    if (gg__indexed_at_site(in, false, &x))
        gg__edit_indexed(in, &x, false, arena, out);
    else if (!gg__take_scalar(in, GG__AS_INDEX, &node, arena, out))
        return gg_fail(err, GG_ENOMATCH, "the index is not proven to be a tensor that can take the number's place");
    return 0;
}

const gg_rule gg_rule_index_with_dimension = {
    .code = "GG099",
    .name = "index-with-dimension",
    .title = "Index with a tensor of one element",
    .safety = GG_SAFETY_EFFECTS,
    .check = check,
    .edit = edit,
};
