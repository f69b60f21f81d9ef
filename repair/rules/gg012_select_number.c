/* GG012 select-number: a tensor decides which of two numbers is used.
 * Offers: torch.where of the two numbers, a tensor without dimensions, where it only meets tensors in arithmetic that gives the same bits.
 * Refuses: numbers that are no constants or of two kinds, constants that are no numbers of single precision, any other use (scalar.h).
 * Safety: exact.  Page: docs/rules/GG012.md */
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

static bool is_single(gg__meta number) {
    return number.constant && (double)(float)number.value == number.value;
}

/* All uses, once to ask for the precision they want and once with it. */
static bool is_used_well(const gg_rule_input *in, TSNode node, gg__scalar scalar, gg_str dtype, gg_arena *arena) {
    gg__widening widening = GG__AS_IS;
    for (int round = 0; round < 2; round++) {
        gg__scalar_uses u;
        if (!gg__scalar_uses_init(&u, in, dtype, widening)) return false;
        u.settled = round == 1;
        u.taken = node;
        u.arena = arena;
        if (!gg__scalar_use(&u, node, scalar)) return false;
        if (u.tracked_count && !gg__scalar_follow(&u, gg__statement(node))) return false;
        if (u.count == 0 || u.widening != GG__AS_IS) return false;
    }
    return true;
}

static bool build(const gg_rule_input *in, gg_arena *arena, TSNode *out_node, gg_str *out) {
    TSNode node = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(node) && !gg_node_is(node, "block") &&
           !(gg_node_is(node, "conditional_expression") && gg__covers(gg__child(node, 1), in->span)))
        node = gg__parent(node);
    if (!gg_node_is(node, "conditional_expression") || gg__child_count(node) != 3) return false;
    *out_node = node;
    gg__meta a = gg__infer(in, gg__child(node, 0)), b = gg__infer(in, gg__child(node, 2));
    bool known = a.sort == b.sort && (a.sort == GG__SCALAR_FLOAT || a.sort == GG__SCALAR_INT);
    if (!known || !is_single(a) || !is_single(b) || gg__has_comment(in->tree, gg_node_span(node))) return false;
    gg__scalar scalar = {.sort = a.sort, .magnitude = fmax(fabs(a.value), fabs(b.value))};
    scalar.natural = a.natural && b.natural;
    scalar.positive = a.value > 0 && b.value > 0;
    gg_str dtype = a.sort == GG__SCALAR_INT ? GG_STR("torch.int64") : GG_STR("torch.float32");
    if (!gg__can_name(in->tree, node, "torch") || !is_used_well(in, node, scalar, dtype, arena)) return false;
    gg__select s;
    gg__test test;
    gg__select_init(&s, in, node, arena);
    bool tested = gg__test_of(&s, NULL, gg__child(node, 1), &test);
    if (tested)
        *out = gg__where(&s, test, gg__text(in->tree, gg__strip_parentheses(gg__child(node, 0))),
                         gg__text(in->tree, gg__strip_parentheses(gg__child(node, 2))));
    gg__select_clear(&s);
    return tested;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_str text;
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    bool done = build(in, arena, &out->node, &text);
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    gg_str text;
    if (!build(in, arena, &node, &text)) return gg_fail(err, GG_ENOMATCH, "a tensor cannot do what the number does");
    gg__require_module(in->tree, node, "torch", arena, out);
    gg_edits_add(out, gg_node_span(node), text);
    return 0;
}

const gg_rule gg_rule_select_number = {
    .code = "GG012",
    .name = "select-number",
    .title = "Select the number as a tensor",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
