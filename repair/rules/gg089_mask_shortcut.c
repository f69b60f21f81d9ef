/* GG089 mask-shortcut: `if not mask.any(): mask = None` or `return x`, where what reads the mask behind it would change nothing anyway.
 * Offers: the statement is taken out.  Refuses: unless what follows gives x again (empty_guards.c), or each later use is `if mask is not None: t = t.masked_fill(mask, number)`, whose mask is
 * false everywhere then, which fits whatever the values are, and makes a new tensor where that does not show.
 * Safety: exact.  Page: docs/rules/GG089.md
 *
 * DESIGN  The condition tells the value of all elements; the masks that are made of it are computed with that number.  Between are only names that get
 * what is harmless to compute, so that facts can follow. */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/known_masks.h"
#include "repair/select.h"
#include "repair/strides.h"

typedef struct shortcut {
    gg__known_mask known;
    TSNode node, whole; /* the if statement; what is taken out: it, or `if mask is not None:` around it alone */
    TSNode name;        /* where it is bound to None */
    uint32_t uses;
    bool copies;
} shortcut;

/* `mask is not None` */
static bool asks_for_it(const shortcut *s, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "comparison_operator") && gg__child_count(node) >= 2 &&
           gg__is_known_mask(&s->known, gg__child(node, 0)) &&
           gg_node_is(gg__child(node, gg__child_count(node) - 1), "none") &&
           gg_str_is(gg__text(s->known.in->tree, ts_node_child(node, 1)), "is not") && ts_node_child_count(node) == 3;
}

/* ---- the condition -------------------------------------------------------------------------------------------------------- */

/* `if [mask is not None and] not mask.any(): mask = None` in the function's own body, or alone under `if mask is not None:` there. */
static bool find(const gg_rule_input *in, shortcut *s) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !gg_node_is(at, "if_statement")) at = gg__parent(at);
    TSNode condition = gg__strip_parentheses(gg__field(at, "condition"));
    TSNode assignment = gg__assignment(gg__only_statement(gg__field(at, "consequence")));
    if (!gg_node_is(at, "if_statement") || !gg__covers(condition, in->span) || ts_node_is_null(assignment) ||
        !gg_node_is(gg__field(assignment, "right"), "none") || !ts_node_is_null(gg__field(at, "alternative")))
        return false;
    s->node = s->whole = at;
    s->name = gg__field(assignment, "left");
    s->known.text = gg__text(in->tree, s->name);
    if (!gg__reads(in->tree, condition, s->known.text)) return false;
    TSNode around = gg__parent(gg__parent(at));
    bool guarded = false;
    if (gg_node_is(around, "if_statement") && asks_for_it(s, gg__field(around, "condition"))) {
        if (!ts_node_is_null(gg__field(around, "alternative")) ||
            !ts_node_eq(gg__only_statement(gg__field(around, "consequence")), at))
            return gg__hinder(in, around, "does more than ask for the mask");
        s->whole = around;
        guarded = true;
    }
    if (gg_node_is(condition, "boolean_operator") && asks_for_it(s, gg__field(condition, "left")) &&
        gg_str_is(gg__text(in->tree, gg__field(condition, "operator")), "and")) {
        guarded = true;
        condition = gg__field(condition, "right");
    }
    if (!gg__read_mask_test(&s->known, condition))
        return gg__hinder(in, condition, "does not tell what all elements of the mask are");
    if (!guarded && !gg__mask_is_never_none(&s->known, s->node))
        return gg__hinder(in, condition, "is an error where `%.*s` is None, and would be none any more",
                          GG_STR_ARG(s->known.text));
    TSNode function = gg__function(s->node);
    if (!gg_node_is(function, "function_definition") ||
        !ts_node_eq(gg__parent(s->whole), gg__field(function, "body")) || !gg__alone_on_line(in->tree, s->whole))
        return gg__hinder(in, s->node, "is not a statement of the function's own body");
    if (gg__has_comment(in->tree, gg_node_span(s->whole)))
        return gg__hinder(in, s->whole, "a comment inside of it would be lost");
    return true;
}

/* ---- what reads the mask ---------------------------------------------------------------------------------------------------- */

/* `t = t.masked_fill(mask, number)`: what it was, with such a mask. */
static bool fills_nothing(shortcut *s, TSNode use, TSNode statement) {
    static const char *const names[] = {"mask", "value"};
    const gg_rule_input *now = &s->known.then.in;
    gg__inference look = {.in = now};
    TSNode assignment = gg__assignment(statement), call = gg__field(assignment, "right"), given[2];
    TSNode target = gg__field(assignment, "left");
    if (!gg_node_is(call, "call"))
        return gg__hinder(s->known.in, statement, "reads the mask, and is no `t = t.masked_fill(mask, number)`");
    gg__call read = gg__read_call(&look, call);
    TSNode x = gg__strip_parentheses(read.from ? gg__child(read.arguments, 0)
                                               : gg__field(gg__field(call, "function"), "object"));
    gg_str name = gg__text(s->known.in->tree, target);
    if (!gg_str_is(read.name, "masked_fill") || read.form == GG__FUNCTIONAL || !gg_node_is(x, "identifier") ||
        !gg_str_equal(gg__text(s->known.in->tree, x), name) || !gg__bind_arguments(&look, &read, names, 2, given))
        return gg__hinder(s->known.in, statement, "reads the mask, and is no `t = t.masked_fill(mask, number)`");
    double filled;
    gg__meta before = gg__infer(now, x), after = gg__infer(now, call);
    if (!gg__mask_constant(&s->known, given[0], 0, &filled) || filled != 0)
        return gg__hinder(s->known.in, given[0], "is not known to be false everywhere where the shortcut is taken");
    if (before.sort != GG__TENSOR) return gg__hinder(s->known.in, x, "its dtype and sizes are not known here");
    if (after.sort != GG__TENSOR ||
        (s->known.then.lowered && !gg__holds(GG_STR("torch.float16"), gg__infer(now, given[1]))))
        return gg__hinder(s->known.in, call, "may be an error, with a mask that fills nothing too");
    if (!gg__same_tensor(before, after) || gg__sizes_may_differ(now, use, before))
        return gg__hinder(s->known.in, call, "may be of other sizes or strides than `%.*s`", GG_STR_ARG(name));
    if (gg__alias_shows(now, use, x, name))
        return gg__hinder(s->known.in, call, "other code may hold `%.*s`, and this is a new tensor", GG_STR_ARG(name));
    if (gg__lies(s->known.in, x) != GG__IN_ORDER && gg__strides_of_show(s->known.in, gg__function(use), name, true))
        return gg__hinder(s->known.in, call, "may lie otherwise in memory than `%.*s`, and that shows",
                          GG_STR_ARG(name));
    s->copies = s->copies || gg__is_copy(now, use, x, name);
    return true;
}

static bool fill_nothing(shortcut *s, TSNode use) {
    TSNode block = gg__field(use, "consequence");
    if (!gg_node_is(use, "if_statement") || !asks_for_it(s, gg__field(use, "condition")) ||
        !ts_node_is_null(gg__field(use, "alternative")))
        return gg__hinder(s->known.in, use, "reads the mask, and is no `if %.*s is not None:` alone",
                          GG_STR_ARG(s->known.text));
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!gg_node_is(gg__child(block, i), "comment") && !fills_nothing(s, use, gg__child(block, i))) return false;
    s->uses++;
    return true;
}

/* ---- statement by statement ----------------------------------------------------------------------------------------------- */

static bool is_plain(TSNode node, void *data) { /* no name is reached but by what the function's body does */
    const shortcut *s = data;
    const gg_tree *tree = s->known.in->tree;
    if (gg_node_is(node, "global_statement") || gg_node_is(node, "nonlocal_statement")) return false;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (gg__watches_names(tree, node)) return false;
    return !gg_str_equal(gg__text(tree, node), s->known.text) ||
           ts_node_eq(gg__function(node), gg__function(s->node)) ||
           !gg__is_in_inner_function(node, gg__function(s->node));
}

static bool look(const gg_rule_input *in, shortcut *s) {
    *s = (shortcut){.known.in = in};
    if (!gg__scalar_uses_init(&s->known.then, in, GG_STR("torch.float32"), GG__AS_IS)) return false;
    s->known.then.approximate = true; /* what is of lower precision under autocast is learned, too */
    if (!find(in, s)) return false;
    TSNode last = {0};
    if (!gg__visit(gg__function(s->node), is_plain, s))
        return gg__hinder(in, s->node, "`%.*s` may be read by other functions", GG_STR_ARG(s->known.text));
    for (TSNode at = ts_node_next_named_sibling(s->whole); !ts_node_is_null(at); at = ts_node_next_named_sibling(at))
        if (gg__reads(in->tree, at, s->known.text)) last = at;
    if (ts_node_is_null(last)) return gg__hinder(in, s->node, "nothing reads `%.*s` later", GG_STR_ARG(s->known.text));
    for (TSNode at = ts_node_next_named_sibling(s->whole);; at = ts_node_next_named_sibling(at)) {
        if (!(gg__reads(in->tree, at, s->known.text) ? fill_nothing(s, at) : gg__follow_mask(&s->known, at)))
            return false;
        if (ts_node_eq(at, last)) break;
    }
    return s->uses > 0;
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    shortcut *s = gg_arena_alloc(arena, sizeof(*s));
    bool found = look(in, s);
    out->node = s->whole;
    found = found || gg__is_empty_guard(in, &out->node, &s->copies);
    gg_arena_free(arena);
    return found;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    shortcut *s = gg_arena_alloc(arena, sizeof(*s));
    TSNode node = match->node;
    if (!look(in, s) && !gg__is_empty_guard(in, &node, &s->copies))
        return gg_fail(err, GG_ENOMATCH, "the mask is not proven to fill nothing");
    out->copies = s->copies;
    gg__delete_statement(in->tree, node, out);
    return 0;
}

const gg_rule gg_rule_mask_shortcut = {
    .code = "GG089",
    .name = "mask-shortcut",
    .title = "Leave the shortcut out: the mask fills nothing then",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
