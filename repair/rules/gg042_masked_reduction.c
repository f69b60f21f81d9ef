/* GG042 masked-reduction: what a boolean mask chooses is summed, averaged, or its largest taken.
 * Offers: the same of all elements, those not chosen as what changes nothing; where nothing chosen raises, so does the edit.
 * Refuses: unless each element is proven to be treated alike; means of halves; other reductions.
 * Safety: numeric.  Page: docs/rules/GG042.md */
#include "repair/masks.h"

/* `sel = x[m]`, and what reduces `sel`. */
static bool by_name(const gg_rule_input *in, TSNode *out_node, gg_arena *arena, gg_edits *out) {
    gg__named_masked *named = gg_arena_alloc(arena, sizeof(*named));
    if (!gg__masked_name_uses(in, false, named)) return false;
    *out_node = named->statements[0];
    return gg__edit_named_masked(named, arena, out);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__reduction r;
    if (gg__masked_reduction(in, false, &r)) {
        out->node = r.call;
        return true;
    }
    gg_edits edits = {0};
    gg_arena *arena = gg_arena_new(); /* of edits that nobody asked for */
    bool named = by_name(in, &out->node, arena, &edits);
    gg_edits_clear(&edits);
    gg_arena_free(arena);
    return named;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__reduction r;
    TSNode node = match->node;
    if (gg__masked_reduction(in, false, &r)) {
        gg__edit_masked_reduction(&r, arena, out);
        return 0;
    }
    if (by_name(in, &node, arena, out)) return 0;
    return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
}

const gg_rule gg_rule_masked_reduction = {
    .code = "GG042",
    .name = "masked-reduction",
    .title = "Reduce all elements, those not chosen as nothing",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
