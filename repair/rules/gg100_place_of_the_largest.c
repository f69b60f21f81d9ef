/* GG100 place-of-the-largest: `h[h.sum(1).argmax()]` asks a tensor which element to read; a graph does not know.
 * Offers: an index of one element, and what is in it.  Refuses: unless the place is that of the largest or smallest of as many elements as
 * h has there; where the element's memory being h's may be seen.
 * Safety: exact.  Page: docs/rules/GG100.md */
#include "repair/indexed.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__indexed x;
    if (!gg__indexed_at_site(in, true, &x)) return false;
    out->node = x.subscript;
    return true;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__indexed x;
    (void)match;
    if (!gg__indexed_at_site(in, true, &x)) return gg_fail(err, GG_ENOMATCH, "the place is not proven to be there");
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
