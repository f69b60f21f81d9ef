/* Loops whose iterations are alike.  See masked_loops.h.
 *
 * DESIGN  The facts are those of the first iteration.  They hold in each one, since every tensor gets from its assignment what the fact says of it,
 * or of what autocast makes of it, and numbers that change, the loop's own among them, count as any number. */
#include "repair/masked_loops.h"
#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

/* What stays of the condition is asked more often than before: of numbers only. */
static bool is_plain(const gg_rule_input *in, TSNode node) {
    node = gg__strip_parentheses(node);
    gg__sort sort = gg__infer(in, node).sort;
    if (gg_node_is(node, "boolean_operator"))
        return is_plain(in, gg__field(node, "left")) && is_plain(in, gg__field(node, "right"));
    return sort == GG__SCALAR_BOOL || sort == GG__SCALAR_INT || sort == GG__TENSOR || gg__covers(node, in->span);
}

/* Of the same kind where the capture was made, whatever autocast or another default dtype makes of either: verification asks under these. */
static bool is_same_here(gg__meta a, gg__meta b) {
    a.vague = b.vague = GG__CERTAIN;
    return gg__same_tensor(a, b);
}

/* `u + …`: its dtype is at least that of u. */
static bool adds_to(const gg_tree *tree, TSNode value, gg_str name) {
    value = gg__strip_parentheses(value);
    gg_str op = gg__text(tree, gg__field(value, "operator"));
    if (!gg_node_is(value, "binary_operator") || !(gg_str_is(op, "+") || gg_str_is(op, "-") || gg_str_is(op, "*")))
        return gg_node_is(value, "identifier") && gg_str_equal(gg__text(tree, value), name);
    return adds_to(tree, gg__field(value, "left"), name) || adds_to(tree, gg__field(value, "right"), name);
}

/* Does a value that the name may have before the loop have all that the fact says, but for what autocast or another default dtype makes of it? */
static bool is_alike(const gg__masked_loop *l, TSNode value, gg_str name, gg__meta before, gg__meta fact,
                     bool *lowered) {
    *lowered = (before.vague != fact.vague || fact.vague == GG__VAGUE) && !adds_to(l->s.in->tree, value, name);
    return is_same_here(before, fact);
}

/* `return v`: whatever the name held before, it holds v behind an end by this one. */
static bool gets_returned(const gg__masked_loop *l, gg_str name) {
    return !ts_node_is_null(l->form.value) && gg_str_equal(gg__text(l->s.in->tree, l->form.kept), name);
}

/* Is it known that the name holds the like before the loop?  The fact says so of one that gets its value behind the end only, but for what autocast makes
 * of it.  `behind`: the end of the loop.  `*lowered`: autocast makes it another dtype in the first iteration, which each one begins with. */
static bool begins_alike(const gg__masked_loop *l, TSNode value, gg_str name, gg__meta fact, bool behind,
                         bool *lowered) {
    const gg_rule_input *in = l->s.in;
    *lowered = false;
    if (behind && fact.vague == GG__CERTAIN) return true;
    for (TSNode at = ts_node_prev_named_sibling(l->form.node); !ts_node_is_null(at);
         at = ts_node_prev_named_sibling(at)) {
        if (!gg__binds(in->tree, at, name)) continue;
        TSNode before = gg__value_among(in->tree, l->form.node, name);
        bool replaced = gets_returned(l, name) && gg_node_is(value, "identifier");
        bool kept = behind && !replaced && gg__is_live(&l->s, name);
        return !ts_node_is_null(before) && gg__covers(at, gg_node_span(before)) &&
               is_alike(l, value, name, gg__infer_loosely(in, before), fact, lowered) && !(kept && *lowered);
    }
    *lowered = fact.vague != GG__CERTAIN;
    return gg__reads(in->tree, value, name) && !(behind && *lowered); /* and gives the like of what it gets */
}

typedef struct asking {
    const gg_tree *tree;
    gg_str name;
    TSNode condition;
} asking;

static bool is_asked(TSNode node, void *data) {
    const asking *a = data;
    return !gg_node_is(node, "identifier") || !gg_str_equal(gg__text(a->tree, node), a->name) || gg__is_binding(node) ||
           gg__covers(a->condition, gg_node_span(node));
}

/* Does nothing but the condition of the end read the name?  No gradient comes there. */
static bool is_only_asked(const gg__masked_loop *l, gg_str name) {
    TSNode condition = l->form.counts ? l->form.end : gg__field(l->form.end, "condition");
    asking a = {l->s.in->tree, name, condition};
    return !gg__is_live(&l->s, name) && gg__visit(l->form.node, is_asked, &a);
}

/* Has the name `left` in each iteration what the fact says that it has in the first? */
static bool add(gg__masked_loop *l, TSNode left, TSNode value, bool ends) {
    const gg_rule_input *in = l->s.in;
    gg_str name = gg__text(in->tree, left);
    gg__meta fact = gg__infer_in(&l->s, &l->varying, left), m = gg__infer_in(&l->s, &l->varying, value);
    bool carried = gg__bound_before(in->tree, l->form.node, name);
    if (l->count == GG__MAX_LOOP_ASSIGNMENTS || m.sort != fact.sort || m.sort == GG__UNKNOWN) return false;
    if (m.sort == GG__TENSOR && !is_same_here(m, fact)) return false;
    if (m.sort == GG__TENSOR && !gg__selectable(&l->s, m) && (carried || !is_only_asked(l, name))) return false;
    if (carried ? m.sort != GG__TENSOR : ends || (!l->form.late && gg__is_live(&l->s, name))) return false;
    if (carried && !m.fresh && gg__alias_shows(in, l->form.node, value, name)) return false;
    if (carried && !gg__have_gentle_origins(in, l->form.node, value, left))
        return gg__hinder(in, value, GG__ROUGH_ORIGIN);
    if (carried && !gg__reads(in->tree, value, name) && gg__sizes_may_differ(in, l->form.node, m)) return false;
    bool behind = ts_node_start_byte(value) > ts_node_start_byte(l->form.end), lowered = false;
    if (carried && !begins_alike(l, value, name, fact, behind, &lowered)) return false;
    if (carried && behind && !l->form.late) { /* what it held before the loop may be what it ends with */
        if (gg__alias_shows(in, l->form.node, left, name)) return false;
        l->s.copies = l->s.copies || gg__is_copy(in, l->form.node, left, name);
    }
    l->items[l->count++] =
        (gg__loop_assigned){.value = value, .name = name, .carried = carried, .ends = ends, .lowered = lowered};
    return true;
}

/* `out[:, t] = v` stores, behind the end, what is there. */
static bool add_store(gg__masked_loop *l, TSNode left, TSNode value) {
    const gg_rule_input *in = l->s.in;
    if (l->form.late) return false;
    TSNode base = gg__field(left, "value");
    gg__meta old = gg__infer_in(&l->s, &l->varying, left), m = gg__infer_in(&l->s, &l->varying, value);
    old.layout = m.layout; /* it keeps its own */
    if (l->count == GG__MAX_LOOP_ASSIGNMENTS || !is_same_here(m, old) || !gg__selectable(&l->s, m) ||
        !gg__infer_loosely(in, gg__only_value(in->tree, base)).fresh)
        return false; /* storing into an argument may raise */
    l->items[l->count++] = (gg__loop_assigned){.value = value, .name = gg__text(in->tree, left), .stored = true};
    return true;
}

/* From here on the name counts as what `m` says. */
static bool vary(gg__masked_loop *l, gg_str name, gg__meta m) {
    if (l->varying.count == GG__MAX_BINDINGS) return false;
    l->varying.items[l->varying.count++] = (gg__binding){.name = name, .text = name, .meta = m};
    return true;
}

static bool add_number(gg__masked_loop *l, TSNode name) {
    gg__meta fact = gg__infer(l->s.in, name);
    gg_str text = gg__text(l->s.in->tree, name);
    if (!gg__is_number(fact)) return true;
    for (size_t i = 0; i < l->varying.count; i++)
        if (gg_str_equal(l->varying.items[i].name, text)) return true;
    return vary(l, text, gg__any_number(fact.sort));
}

/* What gets the result of a Linear has another dtype under autocast than the fact says, as long as it has that before the loop, too.  Of what a while loop
 * binds in its body the break at its condition has no fact. */
static bool add_tensor(gg__masked_loop *l, TSNode name, TSNode value) {
    gg__meta fact = gg__infer_in(&l->s, &l->varying, name), m = gg__infer_in(&l->s, &l->varying, value);
    gg_str text = gg__text(l->s.in->tree, name);
    bool lowered = fact.sort == GG__TENSOR && fact.vague == GG__CERTAIN && m.vague != GG__CERTAIN;
    bool unseen = fact.sort == GG__UNKNOWN && !gg__bound_before(l->s.in->tree, l->form.node, text);
    if (m.sort != GG__TENSOR || (!lowered && !unseen)) return true;
    if (lowered) fact.vague = m.vague;
    return vary(l, text, lowered ? fact : m);
}

/* Before what they are used for. */
static bool add_names(gg__masked_loop *l, TSNode block) {
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode assignment = gg__assignment(gg__child(block, i)), left = gg__field(assignment, "left");
        if (!ts_node_is_null(assignment) &&
            !(add_number(l, left) && add_tensor(l, left, gg__field(assignment, "right"))))
            return false;
    }
    return true;
}

static bool add_block(gg__masked_loop *l, TSNode block, bool ends) {
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode statement = gg__child(block, i), assignment = gg__assignment(statement);
        bool nothing = gg_node_is(statement, "comment") || gg_node_is(statement, "pass_statement") ||
                       (ends && (gg_node_is(statement, "break_statement") ||
                                 (ts_node_is_null(l->form.value) && gg_node_is(statement, "return_statement")))) ||
                       (!ends && (ts_node_eq(statement, l->form.end) || ts_node_eq(statement, l->form.counting)));
        if (nothing) continue;
        TSNode left = gg__field(assignment, "left"), value = gg__field(assignment, "right");
        bool returns = ends && gg_node_is(statement, "return_statement");
        if (returns) {
            left = l->form.kept;
            value = l->form.value;
        }
        TSNode store = gg__child(statement, 0), part = gg__field(store, "left");
        bool stores = gg_node_is(store, "assignment") && gg_node_is(part, "subscript") && !ends;
        if (ts_node_is_null(left) && !stores)
            return gg__hinder(l->s.in, statement, "would run in each iteration, and is no assignment to a name");
        if (!(stores ? add_store(l, part, gg__field(store, "right")) : add(l, left, value, ends)))
            return gg__hinder(l->s.in, statement, "is not proven to be harmless and alike in each iteration");
    }
    return true;
}

const gg__loop_assigned *gg__first_carried(const gg__masked_loop *l) {
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].carried) return &l->items[i];
    return NULL;
}

/* Numbers alone decide how many iterations there are at most; or the modules of lists that the loop goes through. */
static bool is_bounded(gg__masked_loop *l) {
    const gg_rule_input *in = l->s.in;
    TSNode range = gg__field(l->form.node, "right"), target = gg__field(l->form.node, "left"), counter_of_modules;
    if (gg__goes_through_modules(in, l->form.node, &counter_of_modules))
        return ts_node_is_null(counter_of_modules) || add_number(l, counter_of_modules);
    if (gg_node_is(l->form.node, "for_statement"))
        return gg__is_short(in, range)
                   ? gg_node_is(target, "identifier") && !gg__is_live(&l->s, gg__text(in->tree, target)) &&
                         add_number(l, target)
                   : gg__hinder(in, range, "is no range of at most %d known steps", GG__MAX_ITERATIONS);
    TSNode condition = gg__field(l->form.node, "condition"), counter = gg__find_counter(in, &l->form);
    if (ts_node_is_null(counter) || gg__is_live(&l->s, gg__text(in->tree, counter)))
        return gg__hinder(in, condition,
                          "does not say by a number that is counted how many iterations there are at most");
    bool numbers = l->form.counts || gg__infer(in, condition).sort == GG__SCALAR_BOOL;
    return numbers && is_plain(in, condition) && add_number(l, counter);
}

static bool look_at_while(gg__masked_loop *l) {
    TSNode body = gg__field(l->form.node, "body");
    l->s.indent = gg__indent(l->s.in->tree, ts_node_start_byte(body));
    return is_bounded(l) && add_names(l, body) && add_block(l, body, false) && gg__first_carried(l) &&
           gg__split_condition(&l->s, l->form.end, &l->flags, &l->test) && l->s.lines.len == 0;
}

/* Does each iteration make the name's tensor anew? */
static bool is_made_inside(const gg__masked_loop *l, TSNode node) {
    bool made = false;
    for (size_t i = 0; i < l->count; i++) {
        if (!gg_str_equal(l->items[i].name, gg__text(l->s.in->tree, gg__strip_parentheses(node)))) continue;
        if (l->items[i].carried || !gg__infer_in(&l->s, &l->varying, l->items[i].value).fresh) return false;
        made = true;
    }
    return made;
}

/* Both values can be selected, and it does not show that a selection is a new tensor. */
static bool look_at_returns(gg__masked_loop *l) {
    gg__select *s = &l->s;
    uint64_t reads, other, flows, others;
    TSNode value = l->form.value, kept = l->form.kept;
    gg__meta a = gg__infer_in(s, &l->varying, value), b = gg__infer_in(s, &l->varying, kept);
    gg__text_reading(s, NULL, value, &reads, &flows);
    gg__text_reading(s, NULL, kept, &other, &others);
    a.fresh = a.fresh || is_made_inside(l, value);
    b.fresh = b.fresh || is_made_inside(l, kept);
    if (!gg__selectable(s, a)) return gg__unselectable_of(s, &l->varying, value, a);
    if (!gg__selectable(s, b)) return gg__unselectable_of(s, &l->varying, kept, b);
    if (!is_same_here(a, b)) return gg__hinder_unlike(s->in, l->form.end, GG_STR("return"), a, b);
    if (!gg__may_select_returned(s, l->form.end, value, a.fresh, kept, b.fresh))
        return gg__hinder(s->in, value, "other code may hold this tensor, and a selection is a new one");
    if (!gg__read_gently(s, flows ^ others)) return gg__hinder(s->in, value, GG__ROUGH_ORIGIN);
    return ((reads & other) || !gg__sizes_may_differ(s->in, l->form.end, a)) &&
           !gg__has_comment(s->in->tree, gg_node_span(kept));
}

static bool look_at_early_return(gg__masked_loop *l) {
    TSNode condition = gg__field(l->form.end, "condition"), body = gg__field(l->form.node, "body");
    l->s.indent = gg__indent(l->s.in->tree, ts_node_start_byte(l->form.end));
    return is_bounded(l) && add_names(l, body) && add_block(l, body, false) && gg__first_carried(l) &&
           look_at_returns(l) && gg__test_of(&l->s, &l->varying, condition, &l->test) && l->s.lines.len == 0;
}

static bool look_at_break(gg__masked_loop *l) {
    TSNode condition = gg__field(l->form.end, "condition"), arm = gg__field(l->form.end, "consequence"),
           body = gg__field(l->form.node, "body");
    l->s.indent = gg__indent(l->s.in->tree, ts_node_start_byte(l->form.end));
    bool names = is_bounded(l) && add_names(l, body) && add_names(l, arm) && add_block(l, body, false) &&
                 add_block(l, arm, true) && gg__first_carried(l);
    /* last: what a condition reads counts as read from then on */
    return names && gg__test_of(&l->s, &l->varying, condition, &l->test) && l->s.lines.len == 0;
}

static bool look_at(const gg_rule_input *in, bool late, gg__masked_loop *l, gg_arena *arena) {
    *l = (gg__masked_loop){0};
    gg__select_init(&l->s, in, gg__statement(gg_node_at(in->tree, in->span)), arena);
    if (!(late ? gg__find_early_return(in, &l->form) : gg__find_loop(in, &l->form))) return false;
    bool counts = l->form.counts;
    l->s.statement = l->form.node;
    l->s.finite = gg__asks_finiteness(in->tree, counts ? l->form.end : gg__field(l->form.end, "condition"));
    if (!gg__can_name(in->tree, l->form.node, "torch")) return false;
    if (late) return look_at_early_return(l);
    return counts ? look_at_while(l) : look_at_break(l);
}

bool gg__find_masked_loop(const gg_rule_input *in, gg__masked_loop *l, gg_arena *arena) {
    gg_rule_input quiet = *in; /* what hinders the second try hinders */
    gg__loop form;
    bool may_be_late = gg__find_early_return(in, &form);
    quiet.hindrance = may_be_late ? NULL : in->hindrance;
    if (look_at(&quiet, false, l, arena)) {
        l->s.in = in;
        return true;
    }
    if (!may_be_late) return false;
    gg__select_clear(&l->s);
    return look_at(in, true, l, arena);
}
