/* Names of what a boolean mask chooses, `sel = x[m]`, where all that reads them reduces it or asks how much it is.  See masks.h.
 *
 * DESIGN  Each use is rewritten for the expression itself, so what the expression reads must be the same there: neither bound anew nor changed in
 * place from the assignment to the end of its block.  A tensor that was made anew shares no memory with an argument, nor with another such one. */
#include "repair/alias.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/scalar.h"

typedef struct stability {
    const gg_rule_input *in;
    TSNode statement, block, value;
    TSNode name; /* whose binding is looked for */
} stability;

static bool same_name(const gg_tree *tree, TSNode a, TSNode b) {
    return gg_str_equal(gg__text(tree, a), gg__text(tree, b));
}

static bool is_variable(TSNode node) {
    return gg_node_is(node, "identifier") && !gg__is_member_name(node);
}

/* ---- what the expression reads --------------------------------------------------------------------------------------------- */

static bool is_not_bound_behind(TSNode node, void *data) {
    const stability *s = data;
    return !is_variable(node) || ts_node_start_byte(node) < ts_node_end_byte(s->statement) || !gg__is_binding(node) ||
           !same_name(s->in->tree, node, s->name);
}

static bool is_not_set_in_the_file(TSNode node, void *data) {
    const stability *s = data;
    bool assigns = gg_node_is(node, "assignment") || gg_node_is(node, "augmented_assignment");
    TSNode left = gg__field(node, "left"), function = gg__function(node);
    if (!assigns || gg_str_is(gg__text(s->in->tree, gg__field(function, "name")), "__init__")) return true;
    for (uint32_t i = 0; i <= gg__child_count(left); i++) {
        TSNode target = i == gg__child_count(left) ? left : gg__child(left, i);
        if (gg_node_is(target, "attribute") &&
            same_name(s->in->tree, gg__field(target, "attribute"), gg__field(s->name, "attribute")))
            return false;
    }
    return true;
}

static bool reads_what_stays(TSNode node, void *data) {
    stability *s = data;
    if (gg_node_is(node, "attribute")) {
        stability of = {s->in, s->statement, s->block, s->value, node};
        return gg__visit(gg_tree_root(s->in->tree), is_not_set_in_the_file, &of);
    }
    if (!is_variable(node)) return true;
    stability of = {s->in, s->statement, s->block, s->value, node};
    return gg__visit(s->block, is_not_bound_behind, &of);
}

/* Is the name a parameter that is bound no more? */
static bool is_argument(const gg_rule_input *in, TSNode name) {
    TSNode function = gg__function(name), body = gg__field(function, "body");
    return gg__binds(in->tree, gg__field(function, "parameters"), gg__text(in->tree, name)) &&
           !gg__binds(in->tree, body, gg__text(in->tree, name));
}

typedef struct making {
    const gg_rule_input *in;
    TSNode name;
    uint32_t count;
} making;

/* `t = torch.zeros(3)`, `t += 1`: of a tensor, since what is in a list may be anybody's. */
static bool is_made_here(TSNode node, void *data) {
    making *m = data;
    static const char *const holders[] = {"list",  "dictionary",         "set",
                                          "tuple", "list_comprehension", "binary_operator"};
    if (!is_variable(node) || !gg__is_binding(node) || !same_name(m->in->tree, node, m->name)) return true;
    TSNode parent = gg__parent(node), value = gg__strip_parentheses(gg__field(parent, "right"));
    m->count++;
    if (gg_node_is(parent, "augmented_assignment")) return true;
    if (!gg_node_is(parent, "assignment") || ts_node_is_null(value) || !gg__makes_new(m->in, value)) return false;
    for (size_t i = 0; i < GG_COUNT(holders); i++)
        if (gg_node_is(value, holders[i]))
            return gg_node_is(value, "binary_operator") && gg__infer(m->in, m->name).sort == GG__TENSOR;
    return true;
}

/* Does the name only ever hold memory that was made for it? */
static bool is_made(const gg_rule_input *in, TSNode name) {
    TSNode function = gg__function(name);
    making m = {in, name, 0};
    return gg_node_is(function, "function_definition") && gg__visit(function, is_made_here, &m) && m.count > 0;
}

typedef struct sharing {
    const stability *s;
    TSNode changed; /* a name that only holds memory of its own */
} sharing;

static bool shares_nothing(TSNode node, void *data) {
    const sharing *c = data;
    const gg_rule_input *in = c->s->in;
    if (!is_variable(node)) return true;
    if (same_name(in->tree, node, c->changed)) return false;
    gg__meta a = gg__infer(in, node), b = gg__infer(in, c->changed);
    TSNode value = gg__only_value(in->tree, node);
    bool other = a.sort == GG__TENSOR && b.sort == GG__TENSOR && !gg_str_equal(a.dtype, b.dtype) &&
                 !ts_node_is_null(value) && !gg_str_contains(gg__text(in->tree, value), GG_STR("view"));
    return other || gg__is_number(a) || is_argument(in, node) || is_made(in, node) || gg__is_counter(in->tree, node) ||
           !gg__is_local(in->tree, node, gg__text(in->tree, node));
}

static bool changes_another(TSNode node, void *data) {
    const stability *s = data;
    TSNode root = gg__root_of(node);
    if (ts_node_end_byte(node) > ts_node_end_byte(s->block)) return true;
    sharing c = {s, root};
    return is_variable(root) && is_made(s->in, root) && gg__visit(s->value, shares_nothing, &c);
}

/* ---- the name ---------------------------------------------------------------------------------------------------------------- */

/* Does it run as often as its statement, under the modes that hold in the block? */
static bool is_in_line(TSNode use, TSNode block) {
    static const char *const others[] = {"lambda", "class_definition", "function_definition", "with_statement"};
    for (TSNode at = use; !ts_node_eq(at, block); at = gg__parent(at)) {
        if (ts_node_is_null(at) || gg__is_comprehension(at)) return false;
        for (size_t i = 0; i < GG_COUNT(others); i++)
            if (gg_node_is(at, others[i])) return false;
    }
    return true;
}

/* Nothing else binds names of the function, or sees them all. */
static bool is_private(TSNode node, void *data) {
    const stability *s = data;
    return !gg_node_is(node, "global_statement") && !gg_node_is(node, "nonlocal_statement") &&
           !(gg_node_is(node, "identifier") && gg__watches_names(s->in->tree, node));
}

bool gg__masked_name(const gg_rule_input *in, TSNode use, TSNode *out_value) {
    if (!is_variable(use) || gg__is_binding(use)) return false;
    TSNode value = gg__value_at(in->tree, use, gg__text(in->tree, use)), function = gg__function(use);
    TSNode statement = gg__statement(value), block = gg__parent(statement);
    stability s = {in, statement, block, value, use};
    if (ts_node_is_null(value) || !gg_node_is(function, "function_definition") || !is_in_line(use, block) ||
        !gg__visit(function, is_private, &s) || !ts_node_is_null(gg__field(gg__child(statement, 0), "type")) ||
        ts_node_end_byte(use) > ts_node_end_byte(block) || !gg__visit(block, is_not_bound_behind, &s))
        return false;
    if (!ts_node_eq(block, gg__field(function, "body")) && ts_node_is_null(gg__only_value(in->tree, use))) return false;
    *out_value = value;
    return gg__visit(value, reads_what_stays, &s) &&
           gg__each_change(in, block, ts_node_end_byte(statement) + 1, changes_another, &s);
}

/* ---- all that reads it --------------------------------------------------------------------------------------------------------- */

typedef struct search {
    gg__named_masked *n;
    TSNode statement; /* of the name that is looked at */
    bool exact;
} search;

static bool add_reduction(gg__named_masked *n, const gg__reduction *r) {
    for (uint32_t i = 0; i < n->count; i++)
        if (ts_node_eq(n->reductions[i].call, r->call)) return true;
    if (n->count == GG__MAX_NAMED) return false;
    n->reductions[n->count++] = *r;
    return true;
}

static bool add_size(gg__named_masked *n, const gg__sized *size) {
    for (uint32_t i = 0; i < n->size_count; i++)
        if (ts_node_eq(n->sizes[i].asked, size->asked)) return true;
    if (n->size_count == GG__MAX_NAMED) return false;
    n->sizes[n->size_count++] = *size;
    return true;
}

/* What is known of a name behind the statement: a tensor of some elements. */
static bool learn(gg__named_masked *n, TSNode statement) {
    const gg_rule_input *in = n->in;
    TSNode assignment = gg__child(statement, 0), left = gg__field(assignment, "left");
    gg__masked e = {.in = in, .names = true, .rounded = true};
    size_t at = 0, row = n->name_count;
    if (!gg__is_elementwise(&e, gg__field(assignment, "right"))) return false;
    while (at < n->record.fact_count && !gg_str_equal(n->facts[at].name, gg__text(in->tree, left))) at++;
    if (at == GG__MAX_NAMED_FACTS) return false;
    int32_t rank = e.item.of.rank - e.item.by.rank + 1;
    n->shapes[row][0] = -1;
    for (int32_t i = 1; i < rank; i++) n->shapes[row][i] = e.item.of.shape[e.item.by.rank + i - 1];
    n->facts[at] = (gg_fact){.name = gg__text(in->tree, left),
                             .kind = GG_VALUE_TENSOR,
                             .dtype = e.dtype,
                             .device = e.item.of.device,
                             .shape = n->shapes[row],
                             .rank = rank};
    if (at == n->record.fact_count) n->record.fact_count++;
    return true;
}

static bool add_name(gg__named_masked *n, TSNode statement) {
    for (uint32_t i = 0; i < n->name_count; i++)
        if (ts_node_eq(n->statements[i], statement)) return true;
    if (n->name_count == GG__MAX_NAMES || !learn(n, statement)) return false;
    n->statements[n->name_count++] = statement;
    return true;
}

static bool begin(gg__named_masked *n, const gg_rule_input *in) {
    const gg_break *record = in->site->first;
    *n = (gg__named_masked){.in = in, .exact = true};
    if (record == NULL || record->fact_count > GG__MAX_NAMED_FACTS) return false;
    for (size_t i = 0; i < record->fact_count; i++) n->facts[i] = record->facts[i];
    n->record = *record;
    n->record.facts = n->facts;
    n->site = *in->site;
    n->site.first = &n->record;
    n->known = *in;
    n->known.site = &n->site;
    return true;
}

static bool is_name_of(const gg__named_masked *n, TSNode statement) {
    for (uint32_t i = 0; i < n->name_count; i++)
        if (ts_node_eq(n->statements[i], statement)) return true;
    return false;
}

/* In the condition of an if statement that nothing but such names stands in front of? */
static bool asks_in_a_branch(gg__named_masked *n, TSNode asked) {
    TSNode branch = gg__statement(asked), at = branch;
    if (!gg_node_is(branch, "if_statement") || !gg__covers(gg__field(branch, "condition"), gg_node_span(asked)))
        return false;
    if (!ts_node_is_null(n->branch) && !ts_node_eq(n->branch, branch)) return false;
    do { /* that they are such names is asked when all are known */
        at = ts_node_prev_named_sibling(at);
    } while (gg_node_is(gg__child(at, 0), "assignment") && !ts_node_eq(at, n->statements[0]));
    if (!ts_node_eq(at, n->statements[0])) return false;
    n->branch = branch;
    return true;
}

static bool only_names_are_in_front(const gg__named_masked *n) {
    for (TSNode at = ts_node_prev_named_sibling(n->branch); !ts_node_is_null(at); at = ts_node_prev_named_sibling(at)) {
        if (!is_name_of(n, at)) return false;
        if (ts_node_eq(at, n->statements[0])) return true;
    }
    return false;
}

/* `sel.numel()`, `len(sel)`, `sel.shape[0]` */
static bool asks_its_size(const search *s, TSNode use) {
    gg__sized size;
    TSNode at = use;
    for (int i = 0; i < 3; i++) {
        at = gg__parent(at);
        if (gg_node_is(at, "argument_list")) at = gg__parent(at);
        if (!gg__is_size(s->n->in, at, &size)) continue;
        bool taken = asks_in_a_branch(s->n, at) || gg__take_size(&s->n->known, &size, NULL, NULL, NULL);
        return taken && add_size(s->n, &size);
    }
    return false;
}

static bool on_use(TSNode node, void *data) {
    search *s = data;
    const gg_rule_input *in = s->n->in;
    TSNode value, statement = gg__statement(node), assignment = gg__child(statement, 0);
    gg__reduction r;
    gg__masked e = {.in = in, .names = true, .rounded = true};
    if (!is_variable(node) || !same_name(in->tree, node, gg__field(gg__child(s->statement, 0), "left"))) return true;
    if (ts_node_eq(node, gg__field(gg__child(s->statement, 0), "left"))) return true;
    if (ts_node_start_byte(node) < ts_node_end_byte(s->statement)) /* `x = x[m]`, and what is in front of it */
        return ts_node_eq(gg__parent(s->statement), gg__field(gg__function(node), "body"));
    if (!gg__masked_name(in, node, &value) || !ts_node_eq(gg__statement(value), s->statement)) return false;
    if (gg__masked_reduction_around(in, node, true, &r)) return add_reduction(s->n, &r);
    if (gg__masked_reduction_around(in, node, false, &r)) {
        s->n->exact = false;
        return add_reduction(s->n, &r);
    }
    if (asks_its_size(s, node)) return true;
    bool passes = gg_node_is(statement, "expression_statement") && gg_node_is(assignment, "assignment") &&
                  gg_node_is(gg__field(assignment, "left"), "identifier") &&
                  ts_node_eq(gg__parent(statement), gg__parent(s->statement)) &&
                  gg__is_elementwise(&e, gg__field(assignment, "right"));
    if (passes) return add_name(s->n, statement);
    return gg__hinder(in, gg__parent(node),
                      "needs the elements that a mask chooses, not only a sum or a number of them");
}

/* Facts are of the moment when the first name was bound: what the uses read may not be bound between. */
static bool reads_what_was_seen(TSNode node, void *data) {
    const gg__named_masked *n = data;
    stability s = {n->in, n->statements[0], gg__parent(n->statements[0]), node, node};
    if (!is_variable(node)) return true;
    for (uint32_t i = 0; i < n->name_count; i++)
        if (same_name(n->in->tree, node, gg__field(gg__child(n->statements[i], 0), "left"))) return true;
    TSNode value;
    return gg__visit(s.block, is_not_bound_behind, &s) || gg__masked_name(n->in, node, &value);
}

/* … or are names that nothing was known of. */
static bool binds_what_was_unknown(TSNode node, void *data) {
    const gg__named_masked *n = data;
    const gg_tree *tree = n->in->tree;
    if (!is_variable(node) || !gg__is_binding(node)) return true;
    for (size_t i = 0; i < n->in->site->first->fact_count; i++)
        if (gg_str_equal(n->in->site->first->facts[i].name, gg__text(tree, node)))
            return is_name_of(n, gg__statement(node));
    return true;
}

/* Is what was known when the first name was bound still so where the size is asked for? */
static bool facts_hold_at(gg__named_masked *n, TSNode asked) {
    TSNode block = gg__parent(n->statements[0]), statement = gg__statement(asked);
    bool direct = ts_node_eq(gg__parent(statement), block);
    for (TSNode at = ts_node_next_named_sibling(n->statements[0]); !ts_node_is_null(at);
         at = ts_node_next_named_sibling(at)) {
        if (direct && ts_node_eq(at, statement)) return true;
        if (!gg__visit(at, binds_what_was_unknown, n)) return false;
    }
    return !direct;
}

typedef struct coverage {
    const gg__named_masked *n;
    TSNode statement;
} coverage;

static bool is_covered(TSNode node, void *data) {
    const coverage *c = data;
    const gg_tree *tree = c->n->in->tree;
    TSNode left = gg__field(gg__child(c->statement, 0), "left");
    if (!is_variable(node) || !same_name(tree, node, left) || ts_node_start_byte(node) < ts_node_end_byte(c->statement))
        return true;
    for (uint32_t i = 0; i < c->n->count; i++)
        if (gg__covers(c->n->reductions[i].call, gg_node_span(node))) return true;
    return false;
}

/* Other names in the reductions, `t` of `F.mse_loss(p, t)`: read by nothing else, they go, too. */
static bool take_other(TSNode node, void *data) {
    gg__named_masked *n = data;
    TSNode value;
    if (!is_variable(node) || !gg__masked_name(n->in, node, &value)) return true;
    coverage c = {n, gg__statement(value)};
    gg__masked e = {.in = n->in, .names = true, .rounded = true};
    if (gg__is_elementwise(&e, value) && gg__visit(gg__function(node), is_covered, &c) &&
        !gg__has_comment(n->in->tree, gg_node_span(c.statement)))
        (void)add_name(n, c.statement);
    return true;
}

bool gg__masked_name_uses(const gg_rule_input *in, bool exact, gg__named_masked *out) {
    TSNode statement = gg__statement(gg_node_at(in->tree, in->span)), assignment = gg__child(statement, 0);
    TSNode left = gg__field(assignment, "left"), function = gg__function(statement);
    gg__masked e = {.in = in, .names = true, .rounded = true};
    if (!begin(out, in) || !gg_str_is(in->site->id, "GB0036") || !gg_node_is(statement, "expression_statement") ||
        !gg_node_is(assignment, "assignment") || !gg_node_is(left, "identifier") ||
        !gg_node_is(function, "function_definition") || !gg__is_elementwise(&e, gg__field(assignment, "right")) ||
        gg__has_comment(in->tree, gg_node_span(statement)) || !gg__can_name(in->tree, statement, "torch"))
        return false;
    if (!add_name(out, statement)) return false;
    for (uint32_t i = 0; i < out->name_count; i++) {
        search s = {out, out->statements[i], exact};
        if (!gg__visit(function, on_use, &s)) return false;
    }
    if (out->count + out->size_count == 0 || out->exact != exact) return false;
    for (uint32_t i = 0; i < out->count; i++)
        if (!gg__visit(out->reductions[i].call, reads_what_was_seen, out)) return false;
    for (uint32_t i = 0; i < out->size_count; i++)
        if (!gg__covers(gg__field(out->branch, "condition"), gg_node_span(out->sizes[i].asked)) &&
            !facts_hold_at(out, out->sizes[i].asked))
            return false;
    for (uint32_t i = 0; i < out->count; i++) gg__visit(out->reductions[i].call, take_other, out);
    return ts_node_is_null(out->branch) || only_names_are_in_front(out);
}

bool gg__edit_named_masked(const gg__named_masked *n, gg_arena *arena, gg_edits *out) {
    gg_edits all = {0}, *edits = ts_node_is_null(n->branch) ? out : &all;
    for (uint32_t i = 0; i < n->count; i++) gg__edit_masked_reduction(&n->reductions[i], arena, edits);
    for (uint32_t i = 0; i < n->size_count; i++) {
        const gg__sized *size = &n->sizes[i];
        if (!gg__covers(gg__field(n->branch, "condition"), gg_node_span(size->asked))) {
            gg__edit_size(&n->known, size, arena, edits);
            continue;
        }
        gg_str torch = gg__require_module(n->in->tree, size->asked, "torch", arena, edits);
        gg_edits_add(edits, gg_node_span(size->asked), gg__size_text_asked(n->in, size, torch, arena));
    }
    for (uint32_t i = 0; i < n->name_count; i++) gg__delete_statement(n->in->tree, n->statements[i], edits);
    if (edits == out) return true;
    bool selects = gg__then_select(n->in, &all, gg__field(n->branch, "condition"), arena, out);
    gg_edits_clear(&all);
    return selects;
}
