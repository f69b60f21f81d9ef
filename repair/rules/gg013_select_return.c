/* GG013 select-return: `if c: return a` in front of more statements and a last return.
 * Offers: the early value and the condition are kept, and the last return selects with torch.where; flags of Python's in front stay an if.
 * Refuses: unless what is between are assignments of pure expressions, whose gradients are finite where the values are, and both values have one
 * dtype, shape and layout.  Safety: exact.  Page: docs/rules/GG013.md */
#include "repair/gradients.h"
#include "repair/grown.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

typedef struct early {
    TSNode node, value, last; /* the if statement, what it returns, the last return */
    gg__test test;
    gg_str flags;         /* conditions in front that stay Python's: where they are false nothing is selected */
    gg_str first, second; /* texts of both values */
    gg_str chosen;        /* the condition's name */
    gg_edit guards[GG__MAX_BINDINGS]; /* right sides between with other divisors */
    size_t guard_count;
} early;

static bool returns_value(TSNode statement) {
    return gg_node_is(statement, "return_statement") && gg__child_count(statement) == 1;
}

/* Nothing but the function's own statements sees its names. */
static bool is_no_scope(TSNode node, void *data) {
    const TSNode *function = data;
    static const char *const scopes[] = {"lambda", "function_definition", "class_definition", "global_statement",
                                         "nonlocal_statement"};
    for (size_t i = 0; i < GG_COUNT(scopes); i++)
        if (gg_node_is(node, scopes[i]) && !ts_node_eq(node, *function)) return false;
    return true;
}

/* What the name holds behind an assignment that runs now although the early value was returned before. */
static bool learn(gg__select *s, early *e, gg__arm *arm, TSNode left, TSNode right, gg__binding *out) {
    gg_str name = gg__text(s->in->tree, left);
    *out = (gg__binding){.name = name, .text = name, .meta = gg__infer_in(s, arm, right)};
    if (!gg__is_number(out->meta) && !gg__selectable(s, out->meta)) return gg__unselectable(s, arm, right);
    if (s->divides_safely && !gg__divisors_are_smooth(s, arm, right)) return false;
    gg_str text = gg__text_reading(s, arm, right, &out->reads, &out->flows);
    if (gg_str_equal(text, gg__text(s->in->tree, right))) return true;
    if (e->guard_count == GG__MAX_BINDINGS) return false;
    e->guards[e->guard_count++] = (gg_edit){gg_node_span(right), text};
    return true;
}

static bool bind(gg__arm *arm, gg__binding b) {
    for (size_t i = 0; i < arm->count; i++)
        if (gg_str_equal(arm->items[i].name, b.name)) {
            arm->items[i] = b;
            return true;
        }
    if (arm->count == GG__MAX_BINDINGS) return false;
    arm->items[arm->count++] = b;
    return true;
}

/* A statement behind the early return: all values are there before the first name gets one. */
static bool follow(gg__select *s, early *e, gg__arm *arm, TSNode statement) {
    TSNode assignment = gg__child(statement, 0), several = gg__several_assigned(statement);
    TSNode left = gg__field(assignment, "left"), right = gg__field(assignment, "right");
    bool plain = gg_node_is(statement, "expression_statement") && gg_node_is(assignment, "assignment") &&
                 gg_node_is(left, "identifier") && ts_node_is_null(gg__field(assignment, "type"));
    gg__binding made[GG__MAX_BINDINGS];
    uint32_t count = ts_node_is_null(several) ? 1 : gg__child_count(left);
    if ((!plain && ts_node_is_null(several)) || ts_node_is_null(right) || count > GG__MAX_BINDINGS)
        return gg__hinder(s->in, statement, "would run behind the early return, and is no assignment to a name");
    for (uint32_t i = 0; i < count; i++)
        if (!learn(s, e, arm, plain ? left : gg__child(left, i), plain ? right : gg__child(right, i), &made[i]))
            return false;
    for (uint32_t i = 0; i < count; i++)
        if (!bind(arm, made[i])) return false;
    return true;
}

static bool find_if(const gg_rule_input *in, early *e) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "if_statement") && !gg_node_is(at, "block")) at = gg__parent(at);
    TSNode statement = gg__only_statement(gg__field(at, "consequence"));
    e->node = at;
    e->value = gg__child(statement, 0);
    return gg_node_is(at, "if_statement") && gg__covers(gg__field(at, "condition"), in->span) &&
           ts_node_is_null(gg__field(at, "alternative")) && returns_value(statement) && gg__alone_on_line(in->tree, at);
}

/* Behind flags no divisor can ask whether it is wanted: the condition may not have been asked. */
static bool ask(gg__select *s, early *e, TSNode condition) {
    return gg__test_of(s, NULL, condition, &e->test) || gg__test_drawn(s, condition, &e->test) ||
           (!s->divides_safely && gg__split_condition(s, condition, &e->flags, &e->test));
}

static bool look(gg__select *s, early *e, gg__arm *arm) {
    uint64_t reads, other, flows, others;
    if (!find_if(s->in, e)) return false;
    TSNode condition = gg__field(e->node, "condition"), function = gg__function(e->node);
    s->statement = e->node;
    s->finite = gg__asks_finiteness(s->in->tree, condition);
    if (!gg_node_is(function, "function_definition") || !gg__visit(function, is_no_scope, &function)) return false;
    if (gg__has_comment(s->in->tree, gg_node_span(e->node)) || !ask(s, e, condition))
        return gg__untestable(s, condition);
    e->chosen = gg__new_name(s, "chosen");
    s->taken = (gg__test){e->chosen, e->test.negated, true, e->test.loose};
    gg__meta a = gg__infer_in(s, NULL, e->value);
    if (s->divides_safely && !gg__divisors_are_smooth(s, NULL, e->value)) return false;
    e->first = gg__text_reading(s, NULL, gg__strip_parentheses(e->value), &reads, &flows);
    s->taken.negated = !e->test.negated;
    TSNode at = gg__next_statement(e->node), end = at;
    while (!ts_node_is_null(end) && !returns_value(end)) end = gg__next_statement(end);
    if (!ts_node_is_null(end) && e->flags.len == 0) gg__learn_asked(s, arm, condition, end);
    size_t learned = arm->count;
    while (!ts_node_is_null(at) && !returns_value(at)) {
        if (!follow(s, e, arm, at)) return false;
        at = gg__next_statement(at);
    }
    if (ts_node_is_null(at) || arm->count == learned) return false; /* two returns are GG002's */
    e->last = gg__child(at, 0);
    gg__meta b = gg__infer_in(s, arm, e->last);
    s->apart = s->grown && gg__have_other_sizes(a, b);
    if (!gg__may_select_returned(s, e->node, e->value, a.fresh, e->last, b.fresh)) return false;
    if (s->divides_safely && !gg__divisors_are_smooth(s, arm, e->last)) return false;
    e->second = gg__text_reading(s, arm, gg__strip_parentheses(e->last), &other, &others);
    if (!gg__selectable(s, a)) return gg__unselectable_of(s, NULL, e->value, a);
    if (!gg__selectable(s, b)) return gg__unselectable_of(s, arm, e->last, b);
    if (!gg__same_tensor(a, b)) return gg__hinder_unlike(s->in, e->node, GG_STR("return"), a, b);
    if (!gg__read_gently(s, flows ^ others)) return gg__hinder(s->in, e->node, GG__ROUGH_ORIGIN);
    return gg__same_tensor(a, b) && ((reads & other) || (!s->unseen && !gg__sizes_may_differ(s->in, e->node, a))) &&
           !gg__has_comment(s->in->tree, gg_node_span(e->last));
}

/* Would a size that was one in the capture, and is another one, make one value larger than the other? */
static bool grows_apart(const gg_rule_input *in, bool divides_safely, TSNode node, gg_arena *arena) {
    gg__grown grown;
    bool apart = gg__grow_too_often(in, node);
    for (size_t i = 0; !apart && gg__grow(in, node, i, arena, &grown); i++) {
        gg__select s;
        early e = {0};
        gg__select_init(&s, &grown.in, node, arena);
        s.divides_safely = divides_safely;
        s.grown = true;
        (void)look(&s, &e, gg_arena_calloc(arena, 1, sizeof(gg__arm)));
        apart = s.apart;
        gg__select_clear(&s);
    }
    return apart && !gg__hinder(in, node, "what is returned may have other sizes on the other way with other inputs");
}

/* What takes the place of the if statement. */
static gg_str keeping_text(const gg__select *s, const early *e, gg_str kept) {
    gg_str unit = e->flags.len ? gg__indent_unit(s->in->tree) : GG_STR_NULL;
    gg_str head = GG_STR_NULL;
    if (e->flags.len)
        head = gg_arena_printf(s->arena, "%.*s = None%.*s%.*sif %.*s:%.*s%.*s%.*s", GG_STR_ARG(e->chosen),
                               GG_STR_ARG(s->newline), GG_STR_ARG(s->indent), GG_STR_ARG(e->flags),
                               GG_STR_ARG(s->newline), GG_STR_ARG(s->indent), GG_STR_ARG(unit));
    return gg_arena_printf(s->arena, "%.*s%.*s = %.*s%.*s%.*s%.*s%.*s = %.*s", GG_STR_ARG(head), GG_STR_ARG(e->chosen),
                           GG_STR_ARG(e->test.text), GG_STR_ARG(s->newline), GG_STR_ARG(s->indent), GG_STR_ARG(unit),
                           GG_STR_ARG(kept), GG_STR_ARG(e->first));
}

/* … and of the last value. */
static gg_str last_text(gg__select *s, const early *e, gg_str kept) {
    gg__test test = {.text = e->chosen, .negated = e->test.negated, .atom = true, .loose = e->test.loose};
    gg_str selected = gg__where(s, test, kept, e->second);
    if (e->flags.len == 0) return selected;
    gg_str last = gg__text(s->in->tree, e->last);
    if (gg_node_is(e->last, "conditional_expression")) last = gg__closed(s, last, e->last);
    return gg_arena_printf(s->arena, "%.*s if %.*s is None else %.*s", GG_STR_ARG(last), GG_STR_ARG(e->chosen),
                           GG_STR_ARG(selected));
}

static bool build_with(const gg_rule_input *in, bool divides_safely, gg_arena *arena, TSNode *out_node, gg_edits *out) {
    gg__select s;
    early e = {0};
    TSNode start = gg_node_at(in->tree, in->span);
    gg__arm *arm = gg_arena_calloc(arena, 1, sizeof(*arm));
    if (!gg__can_name(in->tree, start, "torch")) return false;
    gg__select_init(&s, in, gg__statement(start), arena);
    s.divides_safely = divides_safely;
    bool done = look(&s, &e, arm) && !grows_apart(in, divides_safely, e.node, arena);
    *out_node = e.node;
    if (done && out) {
        gg_str kept = gg__new_name(&s, "early");
        gg_edits_add(out, gg_node_span(e.node), keeping_text(&s, &e, kept));
        out->copies = s.copies;
        for (size_t i = 0; i < e.guard_count; i++) gg_edits_add(out, e.guards[i].span, e.guards[i].text);
        gg_edits_add(out, gg_node_span(e.last), last_text(&s, &e, kept));
    }
    gg__select_clear(&s);
    return done;
}

/* Divisors are left as they are where nothing speaks against it. */
static bool build(const gg_rule_input *in, gg_arena *arena, TSNode *out_node, gg_edits *out) {
    gg_rule_input quiet = *in; /* what hinders the second try hinders */
    quiet.hindrance = NULL;
    return build_with(&quiet, false, arena, out_node, out) || build_with(in, true, arena, out_node, out);
}

static bool check(const gg_rule_input *in, gg_rule_match *out) {
    if (!gg__is_branch(in)) return false;
    gg_arena *arena = gg_arena_new();
    bool done = build(in, arena, &out->node, NULL);
    gg_arena_free(arena);
    return done;
}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {
    TSNode node = match->node;
    if (!build(in, arena, &node, out)) return gg_fail(err, GG_ENOMATCH, "the values are not proven to be alike");
    gg__require_module(in->tree, node, "torch", arena, out);
    return 0;
}

const gg_rule gg_rule_select_return = {
    .code = "GG013",
    .name = "select-return",
    .title = "Select between the early and the last value",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
};
