/* GG110 masked-store-nearly: `x[m] = torch.exp(x[m])`, of functions whose last bit depends on where in memory an element lies.
 * Offers: x.copy_(torch.where(m, torch.exp(x), x)).  Refuses: as GG040 does, and tensors of half precision.
 * Safety: numeric.  Page: docs/rules/GG110.md */
#include "repair/masks.h"

static bool find(const gg_rule_input *in, gg__store *s) {
    return gg__masked_store(in, gg__statement(gg_node_at(in->tree, in->span)), false, s);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg__store s;
    if (!gg_str_is(in->site->id, "GB0036") || !find(in, &s)) return false;
    out->node = s.assignment;
    return gg__can_name(in->tree, s.assignment, "torch");
}

static int edit(const gg_rule_input *in, const gg_rule_match *m, gg_arena *arena, gg_edits *out, gg_error *err) {
    gg__store s;
    if (!find(in, &s)) return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    gg__edit_masked_store(&s, gg__require_module(in->tree, m->node, "torch", arena, out), arena, out);
    return 0;
}

const gg_rule gg_rule_masked_store_nearly = {
    .code = "GG110",
    .name = "masked-store-nearly",
    .title = "Select with torch.where, in place",
    .safety = GG_SAFETY_NUMERIC,
    .check = check,
    .edit = edit,
};
