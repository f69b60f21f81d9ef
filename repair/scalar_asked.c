/* Numbers taken out of tensors: branches behind that ask for them.  See scalar.h.
 *
 * DESIGN  `if n > 0:` breaks the graph when n is a tensor.  So the rules for branches are asked about it, with the facts of that place, where n is a
 * tensor by then, and theirs and this one's edits are one. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/scalar.h"

#include <math.h>

extern const gg_rule gg_rule_where, gg_rule_select, gg_rule_select_value, gg_rule_select_return;

/* ---- what a condition asks ------------------------------------------------------------------------------------------------------ */

/* A number that the value compares with as Python has it: a double with doubles, an integer with integers. */
static bool compares_with(const gg_rule_input *in, gg_str dtype, TSNode other) {
    gg__meta m = gg__infer(in, other);
    bool small = m.constant && m.value <= 0x1p31 && m.value >= -0x1p31;
    if (m.sort == GG__SCALAR_FLOAT) return gg_str_is(dtype, "torch.float64");
    return m.sort == GG__SCALAR_INT && small && !gg__is_bool(dtype);
}

/* Is it compared with such numbers only?  `0 < n < 5` has one on each side. */
static bool compares(const gg_rule_input *in, gg_str dtype, TSNode comparison, TSNode node) {
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    TSNode before = ts_node_prev_sibling(node), behind = ts_node_next_sibling(node);
    for (int side = 0; side < 2; side++) {
        TSNode op = side ? behind : before;
        if (ts_node_is_null(op)) continue;
        TSNode other = side ? ts_node_next_sibling(op) : ts_node_prev_sibling(op);
        if (!gg__is_one_of(gg__text(in->tree, op), ops, GG_COUNT(ops)) || !compares_with(in, dtype, other))
            return false;
    }
    return gg__child_count(comparison) >= 2;
}

bool gg__asks_number(const gg_rule_input *in, gg_str dtype, TSNode node) {
    TSNode parent = gg__parent(node);
    if (gg_node_is(parent, "comparison_operator")) {
        if (!compares(in, dtype, parent, node)) return false;
        node = parent;
        parent = gg__parent(node);
    }
    while (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "not_operator") ||
           gg_node_is(parent, "boolean_operator")) {
        node = parent;
        parent = gg__parent(node);
    }
    if (gg_node_is(parent, "conditional_expression")) return ts_node_eq(gg__child(parent, 1), node);
    return (gg_node_is(parent, "if_statement") || gg_node_is(parent, "elif_clause")) &&
           ts_node_eq(gg__field(parent, "condition"), node);
}

/* ---- the branches ------------------------------------------------------------------------------------------------------------------ */

typedef struct search {
    const gg__scalar_uses *u;
    TSNode statement;
    const gg__tracked *found;
    TSNode ask;
} search;

typedef struct binding_search {
    const gg__scalar_uses *u;
    const gg__tracked *t;
    gg_span statement;
} binding_search;

static bool is_mended(const gg__scalar_uses *u, TSNode node) {
    for (uint32_t i = 0; i < u->asked_within_count; i++)
        if (ts_node_start_byte(node) >= u->mended[i].start && ts_node_end_byte(node) <= u->mended[i].end) return true;
    return false;
}

static bool is_bound_in_them(TSNode node, void *data) {
    const binding_search *b = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(b->u->in.tree, node), b->t->name) ||
        !gg__is_binding(node) || ts_node_start_byte(node) == b->t->bound || gg__covers(b->u->taken, gg_node_span(node)))
        return true;
    bool inside = ts_node_start_byte(node) >= b->statement.start && ts_node_end_byte(node) <= b->statement.end;
    return inside || is_mended(b->u, node);
}

bool gg__is_rebound(const gg__scalar_uses *u, const gg__tracked *t, gg_span statement) {
    binding_search b = {u, t, statement};
    return t->rebound && !gg__visit(gg__function(u->taken), is_bound_in_them, &b);
}

static gg_str dtype_of(const gg__tracked *t) {
    return t->scalar.sort == GG__SCALAR_FLOAT ? GG_STR("torch.float64") : GG_STR("torch.int64");
}

/* A number, of which the name is sure to hold one: its condition is one of this statement, not of one in its blocks. */
static bool is_no_ask(TSNode node, void *data) {
    search *s = data;
    const gg__scalar_uses *u = s->u;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    if (!ts_node_eq(gg__statement(node), s->statement)) return true;
    for (uint32_t i = 0; i < u->ask_count; i++)
        if (ts_node_eq(u->asked[i], node)) return true;
    for (size_t i = 0; i < u->tracked_count; i++) {
        const gg__tracked *t = &u->tracked[i];
        bool number = t->scalar.sort == GG__SCALAR_INT || t->scalar.sort == GG__SCALAR_FLOAT;
        if (t->lists || !number || ts_node_start_byte(node) < t->from ||
            !gg_str_equal(t->name, gg__text(u->in.tree, node)) || !gg__asks_number(&u->in, dtype_of(t), node) ||
            gg__is_rebound(u, t, gg_node_span(s->statement)))
            continue;
        s->found = t;
        s->ask = node;
        return false;
    }
    return true;
}

typedef struct asking {
    const gg_rule_input *in;
    gg_str name, dtype;
} asking;

static bool only_asks(TSNode node, void *data) {
    const asking *a = data;
    return !gg_node_is(node, "identifier") || gg__is_member_name(node) ||
           !gg_str_equal(gg__text(a->in->tree, node), a->name) || gg__asks_number(a->in, a->dtype, node);
}

/* The condition that the name is in; null where it is read in there otherwise, too. */
static TSNode condition_of(const gg_rule_input *in, TSNode ask, gg_str dtype) {
    asking a = {in, gg__text(in->tree, ask), dtype};
    TSNode at = ask;
    for (TSNode up = gg__parent(at);
         !gg_node_is(up, "conditional_expression") && !gg_node_is(up, "if_statement") && !gg_node_is(up, "elif_clause");
         up = gg__parent(at))
        at = up;
    return gg__visit(at, only_asks, &a) ? at : (TSNode){0};
}

/* `if n > 2: continue`: what follows in the block would be written anew, too. */
static bool skips(TSNode statement) {
    static const char *const exits[] = {"continue_statement", "break_statement"};
    TSNode block = gg__field(statement, "consequence"), last = gg__child(block, gg__child_count(block) - 1);
    bool leaves = gg_node_is(last, "return_statement") && gg__child_count(last) == 0;
    return gg_node_is(statement, "if_statement") && (leaves || gg__ends_with(block, exits, GG_COUNT(exits)));
}

/* The rule that mends the branch; its edits go to those of the uses. */
static bool mend(gg__scalar_uses *u, TSNode ask, bool *to_end) {
    static const gg_rule *const rules[] = {&gg_rule_where, &gg_rule_select, &gg_rule_select_value,
                                           &gg_rule_select_return};
    gg_rule_input in = u->in;
    gg_rule_match match;
    gg_error err = {0};
    in.span = gg_node_span(ask);
    in.numbers = true;
    for (size_t i = 0; i < GG_COUNT(rules); i++) {
        if (!rules[i]->check(&in, &match)) continue;
        bool copies = u->edits && u->edits->copies;
        bool done = u->edits == NULL || rules[i]->edit(&in, &match, u->arena, u->edits, &err) == 0;
        if (u->edits) u->edits->copies = u->edits->copies || copies;
        *to_end = done && rules[i] == &gg_rule_select_return;
        return done;
    }
    return false;
}

typedef struct literals {
    const gg_tree *tree;
    double largest;
} literals;

static bool note_literal(TSNode node, void *data) {
    literals *l = data;
    double value;
    if (gg__literal_value(l->tree, node, &value)) l->largest = fmax(l->largest, fabs(value));
    return true;
}

/* It may hold another number now, of those that are written in the statement. */
static void forget_bounds(gg__scalar_uses *u, const gg__tracked *found, TSNode statement) {
    gg__scalar *s = &u->tracked[found - u->tracked].scalar;
    literals l = {u->in.tree, s->magnitude};
    gg__visit(statement, note_literal, &l);
    *s = (gg__scalar){.sort = s->sort, .counted = true, .magnitude = l.largest};
}

bool gg__scalar_mend(gg__scalar_uses *u, TSNode statement, bool *to_end) {
    search s = {.u = u, .statement = statement};
    if (u->arena == NULL || skips(statement) || u->asked_within_count == GG__MAX_ASKS ||
        gg__visit(statement, is_no_ask, &s))
        return false;
    bool floating = s.found->scalar.sort == GG__SCALAR_FLOAT;
    gg_str id = u->site.id, dtype = dtype_of(s.found);
    TSNode condition = condition_of(&u->in, s.ask, dtype);
    if (ts_node_is_null(condition)) return false;
    if (!gg_str_equal(u->dtype, dtype)) gg__scalar_want(u, floating ? GG__TO_DOUBLE : GG__TO_LONG);
    if (!floating && u->widening == GG__TO_DOUBLE) return false; /* what the arms make of it has another dtype */
    for (size_t i = 0; i < u->tracked_count; i++) gg__scalar_forget(u, u->tracked[i].name);
    gg__scalar_learn(u, s.found->name, (gg__meta){.sort = GG__TENSOR, .dtype = dtype});
    u->site.id = GG_STR("GB0170");
    bool mended = mend(u, s.ask, to_end);
    u->site.id = id;
    for (size_t i = 0; i < u->tracked_count; i++) gg__scalar_learn_tracked(u, &u->tracked[i]);
    if (!mended) return false;
    if (gg__binds(u->in.tree, statement, s.found->name)) forget_bounds(u, s.found, statement);
    u->mended[u->asked_within_count] = gg_node_span(statement);
    u->asked_within[u->asked_within_count++] = condition;
    u->count++;
    return true;
}
