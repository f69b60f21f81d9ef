/* GG040 masked-store: `x[m] = f(x[m])` and `x[m] *= k` choose as many elements as the mask has, which is known at run time only.
 * Offers: x.copy_(torch.where(m, f(x), x)).  Refuses: unless f is proven to treat each element alike and to round the same wherever it lies, and
 * all masks in it are the same.  Safety: exact.  Page: docs/rules/GG040.md
 *
 * DESIGN  The tensor is changed in place, as before: who else holds it or a view of it sees the change. */
#include "repair/masks.h"

static bool find(const gg_rule_input *in, gg__store *s) {
    return gg__masked_store(in, gg__statement(gg_node_at(in->tree, in->span)), true, s);
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

const gg_rule gg_rule_masked_store = {
    .code = "GG040",
    .name = "masked-store",
    .title = "Select with torch.where, in place",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
