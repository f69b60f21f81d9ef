/* GG040 masked-store: `x[m] = f(x[m])` and `x[m] *= k` choose as many elements as the mask has, which is known at run time only.
 * Offers: x.copy_(torch.where(m, f(x), x)).  Refuses: unless f is proven to treat each element alike and to round the same wherever it lies, and
 * all masks in it are the same.  Safety: exact.  Page: docs/rules/GG040.md
 *
 * DESIGN  The tensor is changed in place, as before: who else holds it or a view of it sees the change. */
#include "repair/masks.h"

typedef struct store {
    TSNode assignment, right;
    gg_str op; /* "*" of `*=`; empty for `=` */
    gg__masked e;
} store;

static bool match_store(const gg_rule_input *in, store *s) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span));
    *s = (store){.e = {.in = in}};
    if (!gg_node_is(statement, "expression_statement") || gg__child_count(statement) != 1) return false;
    s->assignment = gg__child(statement, 0);
    bool augmented = gg_node_is(s->assignment, "augmented_assignment");
    if (!augmented && !gg_node_is(s->assignment, "assignment")) return false;
    TSNode left = gg__field(s->assignment, "left");
    s->right = gg__field(s->assignment, "right");
    if (!gg_node_is(left, "subscript") || ts_node_is_null(s->right) || !gg__masked_item(in, left, &s->e.item))
        return false;
    gg__meta target = s->e.item.of;
    if (augmented) {
        gg_str op = gg__text(in->tree, gg__field(s->assignment, "operator"));
        s->op = gg_str_slice(op, 0, op.len - 1);
        return !gg_str_is(s->op, "**") && gg__is_elementwise_with(&s->e, s->op, s->right);
    }
    return gg__is_elementwise(&s->e, s->right) && gg_str_equal(s->e.dtype, target.dtype);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    store s;
    if (!gg_str_is(in->site->id, "GB0036") || !match_store(in, &s)) return false;
    out->node = s.assignment;
    return gg__can_name(in->tree, s.assignment, "torch") && !gg__has_comment(in->tree, gg_node_span(s.assignment));
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    store s;
    if (!match_store(in, &s)) return gg_fail(err, GG_ENOMATCH, "the elements are not proven to be treated alike");
    gg_str torch = gg__require_module(in->tree, match->node, "torch", arena, out);
    TSNode base = s.e.item.base;
    gg_str x = gg__operand_text(in, base, arena), value = gg__spread(&s.e, s.right, torch, arena);
    if (s.op.len) {
        bool simple = !gg_node_is(s.right, "binary_operator") && !gg_node_is(s.right, "unary_operator");
        value = gg_arena_printf(arena, "%.*s %.*s %s%.*s%s", GG_STR_ARG(gg__spread_item(&s.e, base, torch, arena)),
                                GG_STR_ARG(s.op), simple ? "" : "(", GG_STR_ARG(value), simple ? "" : ")");
    }
    gg_edits_add(out, gg_node_span(match->node),
                 gg_arena_printf(arena, "%.*s.copy_(%.*s.where(%.*s, %.*s, %.*s))", GG_STR_ARG(x), GG_STR_ARG(torch),
                                 GG_STR_ARG(gg__mask_text(in, &s.e.item, arena)), GG_STR_ARG(value), GG_STR_ARG(x)));
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
