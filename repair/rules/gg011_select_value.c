/* GG011 select-value: `a if c else b`, `a or b` and `a and b` where a tensor decides.
 * Offers: torch.where.  The condition may be what GG010 takes; flags of Python's in front of it stay a conditional expression.
 * Refuses: operands that have not one dtype, shape and layout, or of which one may fail, has a gradient that is not finite, or shares memory
 * where that shows.  Safety: exact.  Page: docs/rules/GG011.md */
#include "repair/gradients.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

extern const gg_rule gg_rule_where;

static bool alike(gg__select *s, TSNode node, TSNode yes, TSNode no) {
    gg__meta a = gg__infer_in(s, NULL, yes), b = gg__infer_in(s, NULL, no), first = a;
    a = gg__beside_number(s->in, yes, a, b);
    b = gg__beside_number(s->in, no, b, first);
    if (s->divides_safely && (!gg__divisors_are_smooth(s, NULL, yes) || !gg__divisors_are_smooth(s, NULL, no)))
        return false;
    return gg__same_tensor(a, b) && gg__selectable(s, a) && gg__selectable(s, b) &&
           gg__have_gentle_origins(s->in, gg__statement(node), yes, no) && !gg__may_broadcast(s->in, a, yes, no) &&
           !(s->unseen && !gg__share_a_name(s->in, yes, no)) && !gg__value_alias_shows(s->in, node, yes, no);
}

static bool unlike(gg__select *s, TSNode node, TSNode yes, TSNode no) {
    gg__meta a = gg__infer_in(s, NULL, yes), b = gg__infer_in(s, NULL, no);
    bool number = gg__is_number(a) && gg__is_number(b); /* GG012's */
    if (number || s->in->hindrance == NULL) return false;
    if (!gg__selectable(s, a)) return gg__unselectable(s, NULL, yes);
    if (!gg__selectable(s, b)) return gg__unselectable(s, NULL, no);
    if (!gg__same_tensor(a, b)) return gg__hinder_unlike(s->in, node, GG_STR("the value"), a, b);
    if (gg__value_alias_shows(s->in, node, yes, no))
        return gg__hinder(s->in, node, "other code may hold one of the tensors, and a selection is a new one");
    if (!gg__have_gentle_origins(s->in, gg__statement(node), yes, no)) return gg__hinder(s->in, node, GG__ROUGH_ORIGIN);
    return gg__hinder(s->in, node, "the sizes of both ways may differ with other inputs");
}

static void note_copies(gg__select *s, TSNode node, TSNode yes, TSNode no) {
    s->copies = gg__value_is_copy(s->in, node, yes, no);
}

static gg_str plain(gg__select *s, TSNode node) {
    return gg__text_in(s, NULL, gg__strip_parentheses(node));
}

static bool conditional(gg__select *s, TSNode node, gg_str *out) {
    TSNode yes = gg__child(node, 0), condition = gg__child(node, 1), no = gg__child(node, 2);
    gg_str flags = GG_STR_NULL;
    gg__test test;
    s->finite = gg__asks_finiteness(s->in->tree, condition);
    if (!gg__test_of(s, NULL, condition, &test) && !gg__test_drawn(s, condition, &test) &&
        !gg__split_condition(s, condition, &flags, &test))
        return gg__untestable(s, condition);
    s->divides_safely = !alike(s, node, yes, no); /* divisors are left as they are where nothing speaks against it */
    if (s->divides_safely && s->draws) return unlike(s, node, yes, no); /* divisors would ask once more */
    if (s->divides_safely && !alike(s, node, yes, no)) return unlike(s, node, yes, no);
    note_copies(s, node, yes, no);
    s->taken = test;
    gg_str first = plain(s, yes);
    s->taken.negated = !test.negated;
    *out = gg__where(s, test, first, plain(s, no));
    if (flags.len)
        *out = gg_arena_printf(s->arena, "%.*s if %.*s else %.*s", GG_STR_ARG(*out), GG_STR_ARG(flags),
                               GG_STR_ARG(gg__text(s->in->tree, no)));
    return true;
}

/* Its value is asked for, not its truth. */
static bool is_value(TSNode node) {
    static const char *const uses[] = {"return_statement", "assignment", "argument_list", "binary_operator"};
    TSNode parent = gg__parent(node);
    while (gg_node_is(parent, "parenthesized_expression")) parent = gg__parent(parent);
    for (size_t i = 0; i < GG_COUNT(uses); i++)
        if (gg_node_is(parent, uses[i])) return true;
    return false;
}

/* A 0-d tensor of bools whatever its operands are: of `lo <= m <= hi`, too. */
static bool is_truth(gg__select *s, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "boolean_operator"))
        return is_truth(s, gg__field(node, "left")) && is_truth(s, gg__field(node, "right"));
    uint32_t count = gg__child_count(node);
    if (!gg_node_is(node, "comparison_operator") || count < 3) return gg__is_condition(gg__infer_in(s, NULL, node));
    for (uint32_t i = 0; i + 1 < count; i++) {
        gg__meta a = gg__infer_in(s, NULL, gg__child(node, i)), b = gg__infer_in(s, NULL, gg__child(node, i + 1));
        if (!gg__is_condition(gg__compare(a, b))) return false;
    }
    return true;
}

/* `a or b` of such is `a | b`. */
static bool truth(gg__select *s, TSNode node, gg_str *out) {
    gg__test test;
    if (!is_value(node) || !is_truth(s, node) || !gg__test_of(s, NULL, node, &test) || test.negated) return false;
    *out = test.text;
    return true;
}

/* `a or b` is a where it is true: where it is not zero. */
static bool either(gg__select *s, TSNode node, gg_str *out) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg__test test;
    if (!is_value(node)) return false;
    bool both = gg_str_is(gg__text(s->in->tree, gg__field(node, "operator")), "and");
    bool alias = is_truth(s, node) && gg__value_alias_shows(s->in, node, left, right);
    if (!alias && truth(s, node, out)) {
        note_copies(s, node, left, right);
        return true;
    }
    if (!gg__test_of(s, NULL, left, &test) || !alike(s, node, left, right)) return false;
    if (gg__infer(s->in, left).rank != 0) return false;
    note_copies(s, node, left, right);
    gg_str a = plain(s, left), b = plain(s, right);
    *out = both ? gg__where(s, test, b, a) : gg__where(s, test, a, b);
    return true;
}

static bool build(const gg_rule_input *in, gg_arena *arena, TSNode *out_node, gg_str *out, bool *copies) {
    bool done = false;
    gg__select s;
    TSNode start = gg_node_at(in->tree, in->span);
    if (!gg__can_name(in->tree, start, "torch")) return false;
    gg__select_init(&s, in, start, arena);
    for (TSNode at = start; !done && !ts_node_is_null(at) && !gg_node_is(at, "block"); at = gg__parent(at)) {
        *out_node = at;
        if (gg_node_is(at, "conditional_expression") && gg__child_count(at) == 3 &&
            gg__covers(gg__child(at, 1), in->span)) {
            done = conditional(&s, at, out);
            break;
        }
        bool asked = gg__covers(gg__field(at, "left"), in->span) || ts_node_start_byte(at) == in->span.start;
        if (gg_node_is(at, "boolean_operator") && asked) done = either(&s, at, out);
        if (gg_node_is(at, "comparison_operator") && gg__child_count(at) > 2 && !done) done = truth(&s, at, out);
    }
    *copies = s.copies;
    gg__select_clear(&s);
    return done && !gg__has_comment(in->tree, gg_node_span(*out_node));
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    gg_rule_match simple;
    gg_str text = GG_STR_NULL;
    bool copies;
    if (!gg__is_branch(in) || gg_rule_where.check(in, &simple)) return false;
    gg_arena *arena = gg_arena_new();
    bool done = build(in, arena, &out->node, &text, &copies);
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    gg_str text = GG_STR_NULL;
    if (!build(in, arena, &node, &text, &out->copies))
        return gg_fail(err, GG_ENOMATCH, "the values are not proven to be alike");
    gg__require_module(in->tree, node, "torch", arena, out);
    gg_edits_add(out, gg_node_span(node), text);
    return 0;
}

const gg_rule gg_rule_select_value = {
    .code = "GG011",
    .name = "select-value",
    .title = "Select the value with torch.where",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
