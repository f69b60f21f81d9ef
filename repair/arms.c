/* Arms of branches as values.  See select.h. */
#include "repair/alias.h"
#include "repair/built.h"
#include "repair/gradients.h"
#include "repair/grown.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/select.h"

enum { MAX_NESTED = 12 };

bool gg__selectable(const gg__select *s, gg__meta m) {
    return m.sort == GG__TENSOR && m.smooth && (m.linear || !s->finite);
}

gg_str gg__where(gg__select *s, gg__test test, gg_str yes, gg_str no) {
    gg_str first = test.negated ? no : yes, second = test.negated ? yes : no;
    return gg_arena_printf(s->arena, "%.*s.where(%.*s, %.*s, %.*s)", GG_STR_ARG(s->torch), GG_STR_ARG(test.text),
                           GG_STR_ARG(first), GG_STR_ARG(second));
}

static bool is_word(gg_str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!fits) return false;
    }
    return true;
}

/* ---- one arm --------------------------------------------------------------------------------------------------------------- */

/* A value whose tensor is another name's may only be given where that does not show. */
bool gg__assign(gg__select *s, gg__arm *arm, gg_str name, gg_str target, TSNode right) {
    gg__meta m = gg__infer_in(s, arm, right);
    bool number = gg__is_number(m);
    if (!number && !gg__selectable(s, m)) return gg__unselectable(s, arm, right);
    if (s->divides_safely && !gg__divisors_are_smooth(s, arm, right)) return false;
    if (!number && !m.fresh && gg__alias_shows(s->in, s->statement, right, target))
        return gg__hinder(s->in, right, "other code may hold this tensor, and a selection is a new one");
    right = gg__strip_parentheses(right);
    const gg__binding *made = gg__arm_find(arm, gg__text(s->in->tree, right)); /* in the arm: nobody had it before */
    bool own = m.fresh || (target.len == 0 && made && made->meta.fresh);
    s->copies = s->copies || (!number && !own && gg__is_copy(s->in, s->statement, right, target));
    gg__binding out = {.name = name, .meta = m, .from = right};
    out.text = gg__text_reading(s, arm, right, &out.reads, &out.flows);
    out.pending = !is_word(out.text);
    return gg__arm_bind(arm, out);
}

/* `y += 1` is `y = y + 1` where no other name has the tensor. */
static bool augment(gg__select *s, gg__arm *arm, TSNode node) {
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(s->in->tree, gg__field(node, "operator")), name = gg__text(s->in->tree, left);
    if (!gg_node_is(left, "identifier") || op.len < 2) return false; /* GG045 says more */
    if (s->divides_safely && !gg__divisors_are_smooth(s, arm, right)) return false;
    op = gg_str_slice(op, 0, op.len - 1);
    gg__meta old = gg__infer_in(s, arm, left), by = gg__infer_in(s, arm, right), m = gg__arithmetic(op, old, by);
    bool guarded = s->divides_safely && gg_str_is(op, "/") && by.sort == GG__TENSOR;
    if (guarded && !gg__is_made_smoothly(s, arm, right)) return false;
    if (guarded) m.smooth = old.smooth && by.smooth;
    if (gg_str_is(op, "/") && gg__is_number(by) && gg__may_be_zero(s->in, right)) m.smooth = false;
    bool number = gg__is_number(old) && gg__is_number(m), fresh = true;
    for (size_t i = 0; i < arm->count; i++)
        fresh = fresh && (arm->items[i].meta.fresh || gg__is_number(arm->items[i].meta));
    m.layout = old.layout;
    bool own = fresh && (gg__arm_find(arm, name) || gg__owns(s->in, s->statement, name));
    if (!number && !own)
        return gg__hinder(s->in, node, "changes `%.*s` in place, which other code may hold", GG_STR_ARG(name));
    if (!number && m.sort == GG__TENSOR && !gg__same_tensor(old, m))
        return gg__hinder(s->in, node, "makes `%.*s` one of another dtype or shape", GG_STR_ARG(name));
    if (!number && !gg__selectable(s, m)) return gg__unselectable_of(s, arm, node, m);
    gg__binding out = {.name = name, .meta = m, .pending = true};
    uint64_t more, flows;
    gg_str a = gg__text_reading(s, arm, left, &out.reads, &out.flows);
    gg_str b = gg__text_reading(s, arm, right, &more, &flows);
    out.reads |= more;
    out.flows |= flows;
    b = guarded ? gg__where(s, s->taken, b, GG_STR("1")) : gg__closed(s, b, right);
    out.text = gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(a), GG_STR_ARG(op), GG_STR_ARG(b));
    return gg__arm_bind(arm, out);
}

/* `y += 1` of a number, or of a tensor that has no other name. */
static bool is_own_sum(gg__select *s, gg__arm *arm, TSNode statement) {
    TSNode left = gg__field(gg__child(statement, 0), "left");
    gg_str name = gg__text(s->in->tree, left);
    if (!gg_node_is(gg__child(statement, 0), "augmented_assignment") || !gg_node_is(left, "identifier")) return false;
    return gg__infer_in(s, arm, left).sort != GG__TENSOR || gg__arm_find(arm, name) ||
           gg__owns(s->in, s->statement, name);
}

static bool select_chain(gg__select *s, gg__arm *arm, TSNode node, const gg__test *given, uint32_t clause,
                         TSNode fallback, uint32_t depth);

/* All statements of the block, or those behind one of them. */
static bool run_block(gg__select *s, gg__arm *arm, TSNode block, TSNode behind_it, TSNode fallback, uint32_t depth) {
    if (depth > MAX_NESTED) return false;
    bool over = false;
    const gg_tree *tree = s->in->tree;
    uint32_t from = ts_node_is_null(behind_it) ? 0 : ts_node_end_byte(behind_it);
    TSNode taken = {0}; /* the return behind a nested if, as its last arm */
    for (uint32_t i = 0; i < gg__child_count(block); i++) {
        TSNode statement = gg__child(block, i), assignment = gg__assignment(statement);
        if (ts_node_start_byte(statement) < from) continue;
        if (gg_node_is(statement, "comment") || gg_node_is(statement, "pass_statement")) continue;
        if (over && !ts_node_is_null(taken) && ts_node_eq(statement, taken)) continue;
        if (over) return false; /* what is never reached */
        if (!ts_node_is_null(assignment)) {
            gg_str name = gg__text(s->in->tree, gg__field(assignment, "left"));
            if (!gg__assign(s, arm, name, name, gg__field(assignment, "right"))) return false;
        } else if (!ts_node_is_null(gg__several_assigned(statement))) {
            if (!gg__assign_several(s, arm, gg__child(statement, 0))) return false;
        } else if (!ts_node_is_null(gg__appended(s->in->tree, statement))) {
            if (!gg__append(s, arm, statement)) return false;
        } else if (s->stores && gg__is_store(tree, statement) && !is_own_sum(s, arm, statement)) {
            if (!gg__store_in(s, arm, statement)) return false;
        } else if (gg_node_is(gg__child(statement, 0), "augmented_assignment")) {
            if (!augment(s, arm, gg__child(statement, 0))) return false;
        } else if (gg_node_is(statement, "return_statement") && gg__child_count(statement) == 1) {
            if (!gg__assign_returned(s, arm, gg__child(statement, 0))) return false;
            over = true;
        } else if (gg__is_said(s, statement)) {
            gg__say(s, arm, statement);
        } else if (gg_node_is(statement, "if_statement")) {
            TSNode next = gg__next_statement(statement);
            if (gg_node_is(next, "return_statement") && gg__child_count(next) == 1) taken = next;
            TSNode behind = ts_node_is_null(next) ? fallback : taken;
            if (!select_chain(s, arm, statement, NULL, 0, behind, depth + 1)) return false;
            over = gg__arm_find(arm, GG_STR(GG__RETURNED)) != NULL;
        } else if (gg_node_is(statement, "break_statement") &&
                   ts_node_is_null(gg__field(gg__parent(block), "alternative"))) {
            return false; /* GG014 says more */
        } else if (!s->stores && gg__is_store(tree, statement)) {
            return false; /* GG045 says more */
        } else {
            return gg__hinder(s->in, statement, "runs on one way only, and is no assignment to a name and no return");
        }
    }
    return true;
}

/* What follows when an arm has not returned. */
static bool fall_through(gg__select *s, gg__arm *arm, TSNode fallback) {
    if (gg__arm_find(arm, GG_STR(GG__RETURNED))) return true;
    return !ts_node_is_null(fallback) && gg__assign_returned(s, arm, gg__child(fallback, 0));
}

/* ---- both arms ----------------------------------------------------------------------------------------------------------------- */

/* The `clause`th elif or else of an if statement; null when there are no more. */
static TSNode alternative(TSNode node, uint32_t clause) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode child = gg__child(node, i);
        if (!gg_node_is(child, "elif_clause") && !gg_node_is(child, "else_clause")) continue;
        if (seen++ == clause) return child;
    }
    return (TSNode){0};
}

/* What is pending is computed once, before both arms. */
static void settle(gg__select *s, gg__arm *arm) {
    for (size_t i = 0; i < arm->count; i++)
        if (arm->items[i].pending) gg__settle(s, &arm->items[i], arm->suffix);
}

/* A name, an attribute, a part of one: memory that others may change; but for the names that conditions were given here. */
static bool is_stored_name(const gg__select *s, gg_str text) {
    gg_str shaped = GG_STR(GG__ONE_ELEMENT);
    if (gg_str_ends_with(text, shaped)) text = gg_str_slice(text, 0, text.len - shaped.len);
    for (size_t i = 0; i < s->made_count; i++)
        if (gg_str_equal(s->made[i], text)) return false;
    return gg_str_find(text, GG_STR("("), 0) == SIZE_MAX && gg_str_find(text, GG_STR(" "), 0) == SIZE_MAX;
}

/* `self.ready`, which a store in an arm may change: what it was. */
static void copy_test(gg__select *s, gg__test *test) {
    gg_str name = gg__new_name(s, "chosen");
    gg__select_line(s, name, gg_arena_printf(s->arena, "%.*s.clone()", GG_STR_ARG(test->text)));
    test->text = name;
    test->atom = true;
}

/* The condition is asked once, however often it is read. */
static void keep_test(gg__select *s, gg__test *test) {
    if (is_word(test->text)) return;
    gg_str name = gg__new_name(s, "chosen");
    gg__select_line(s, name, test->text);
    test->text = name;
    test->atom = true;
}

/* What both arms did becomes a part of the arm around them.  The condition is asked in front of what stores. */
static bool join(gg__select *s, gg__test *test, bool several, const gg__events *yes, const gg__events *no) {
    bool stored = gg__count_woven(yes, no) > 0;
    gg__events *behind = gg__new_events(s);
    gg__flush(s, behind);
    bool changes = (gg__stores_truth(yes) || gg__stores_truth(no)) && is_stored_name(s, test->text);
    if (several && changes) copy_test(s, test);
    if (stored && several) keep_test(s, test);
    gg__flush(s, s->events);
    if (!gg__weave(s, *test, yes, no, s->events)) return false;
    gg__append_events(s->events, behind);
    if (!stored && several) keep_test(s, test);
    return true;
}

/* An inner arm is taken where the outer one is, too: the conditions are names by then. */
static void take(gg__select *s, const gg__test *outer, gg__test inner) {
    s->taken = inner;
    if (!s->keeps_tests || outer->text.len == 0) return;
    gg_str a = gg__truth_text(s, *outer), b = gg__truth_text(s, inner);
    s->taken = (gg__test){gg_arena_printf(s->arena, "%.*s & %.*s", GG_STR_ARG(a), GG_STR_ARG(b)), false, false, false};
}

static bool select_arms(gg__select *s, gg__arm *arm, TSNode node, gg__test test, const gg__test *outer, uint32_t clause,
                        TSNode fallback, uint32_t depth);

static bool select_chain(gg__select *s, gg__arm *arm, TSNode node, const gg__test *given, uint32_t clause,
                         TSNode fallback, uint32_t depth) {
    TSNode own = clause ? alternative(node, clause - 1) : node;
    gg__test test = {0}, outer = s->taken;
    if (depth > MAX_NESTED) return false;
    settle(s, arm);
    if (given)
        test = *given;
    else if (!gg__test_of(s, arm, gg__field(own, "condition"), &test))
        return depth ? gg__untestable(s, gg__field(own, "condition")) : false;
    if (s->keeps_tests && s->stores && is_stored_name(s, test.text)) copy_test(s, &test);
    if (s->keeps_tests) keep_test(s, &test);
    bool done = select_arms(s, arm, node, test, &outer, clause, fallback, depth);
    s->taken = outer;
    return done;
}

static bool select_arms(gg__select *s, gg__arm *arm, TSNode node, gg__test test, const gg__test *outer, uint32_t clause,
                        TSNode fallback, uint32_t depth) {
    TSNode own = clause ? alternative(node, clause - 1) : node, next = alternative(node, clause);
    bool skips = s->skips && depth == 0;
    TSNode block = skips ? gg__parent(node) : gg__field(own, "consequence"), none = {0};
    gg__test otherwise = test;
    otherwise.negated = !test.negated;
    gg__arm *yes = gg_arena_alloc(s->arena, sizeof(*yes)), *no = gg_arena_alloc(s->arena, sizeof(*no));
    gg__events *around = s->events, *then = gg__new_events(s), *other = gg__new_events(s);
    const gg__arm *outer_arm = s->outer_arm;
    *yes = *no = *arm;
    yes->suffix = "then";
    no->suffix = "else";
    gg__flush(s, around);
    take(s, outer, test);
    s->events = then;
    s->outer_arm = arm;
    if (!run_block(s, yes, block, skips ? node : none, fallback, depth)) return false;
    gg__flush(s, then);
    take(s, outer, otherwise);
    s->events = other;
    s->outer_arm = arm;
    if (gg_node_is(next, "elif_clause")) {
        if (!select_chain(s, no, node, NULL, clause + 1, fallback, depth + 1)) return false;
    } else if (!ts_node_is_null(next) && !run_block(s, no, gg__field(next, "body"), none, fallback, depth)) {
        return false;
    }
    gg__flush(s, other);
    s->events = around;
    gg_str returned = GG_STR(GG__RETURNED);
    bool over = gg__arm_find(yes, returned) || gg__arm_find(no, returned);
    take(s, outer, test);
    if (over && !fall_through(s, yes, fallback)) return false;
    take(s, outer, otherwise);
    if (over && !fall_through(s, no, fallback)) return false;
    bool several = gg__count_merges(s, arm, yes, no, depth) + gg__count_woven(then, other) > 1;
    if (!join(s, &test, several, then, other)) return false;
    for (size_t i = 0; i < yes->count; i++)
        if (!gg__merge(s, arm, &test, node, yes, no, yes->items[i].name)) return false;
    for (size_t i = 0; i < no->count; i++)
        if (!gg__arm_find(yes, no->items[i].name) && !gg__merge(s, arm, &test, node, yes, no, no->items[i].name))
            return false;
    s->outer_arm = outer_arm;
    return true;
}

bool gg__select_if(gg__select *s, gg__arm *arm, TSNode node, const gg__test *test, TSNode fallback) {
    gg__events *all = gg__new_events(s);
    s->events = all;
    bool done = select_chain(s, arm, node, test, 0, fallback, 0);
    gg__events *last = gg__new_events(s); /* what was written behind them */
    gg__flush(s, last);
    gg__append_events(all, last);
    return done && gg__write_events(s, all);
}
