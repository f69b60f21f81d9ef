/* GG100 place-of-the-largest: `h[h.sum(1).argmax()]` asks a tensor which element to read; a graph does not know.
 * Offers: an index of one element, and what is in it.  Refuses: unless the place is that of the largest or smallest of as many elements as
 * h has there; where the element's memory being h's may be seen.
 * Safety: exact.  Page: docs/rules/GG100.md */
#include "repair/indexed.h"

/* The subscript at the site, by tensors as they are. */
static bool find(const gg_rule_input *in, gg__indexed *out) {
    TSNode at = gg_node_ancestor(gg_node_at(in->tree, in->span), "subscript");
    return gg_str_is(in->site->id, "GB0033") && in->site->first && gg__match_indexed(in, at, (TSNode){0}, out) &&
           gg__may_be_copied(in, out) && gg__is_place_there(in, out);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__indexed x;
    if (!find(in, &x)) return false;
    out->node = x.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__indexed x;
    (void)match;
    if (!find(in, &x)) return gg_fail(err, GG_ENOMATCH, "the place is not proven to be there");
    gg__edit_indexed(in, &x, true, arena, out);
    return 0;
}

const gg_rule gg_rule_place_of_the_largest = {
    .code = "GG100",
    .name = "place-of-the-largest",
    .title = "Index with a tensor of one element",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
