/* Numbers taken out of tensors: their names, statement by statement.  See scalar.h.
 *
 * DESIGN  Facts are of the moment Dynamo stopped.  An assigned number is used later, so its uses are looked at statement by statement with
 * facts that follow the assignments between. */
#include "repair/scalar.h"

#include "repair/hindrance.h"
#include "repair/infer.h"

#include <string.h>

bool gg__scalar_uses_init(gg__scalar_uses *u, const gg_rule_input *in, gg_str dtype, gg__widening widening) {
    const gg_break *record = in->site->first;
    *u = (gg__scalar_uses){.in = *in, .site = *in->site, .dtype = dtype, .widening = widening};
    if (record == NULL || record->fact_count > GG__MAX_FACTS) return false;
    u->record = *record;
    if (record->fact_count) memcpy(u->facts, record->facts, record->fact_count * sizeof(gg_fact));
    u->on_cpu = gg__facts_on_cpu(in);
    u->record.facts = u->facts;
    u->site.first = &u->record;
    u->in.site = &u->site;
    return true;
}

static void relearn(gg__scalar_uses *u) {
    for (size_t i = 0; i < u->tracked_count; i++) gg__scalar_learn_tracked(u, &u->tracked[i]);
}

/* ---- statement by statement ---------------------------------------------------------------------------------------------------- */

static bool is_tracked(const gg__scalar_uses *u, gg_str name) {
    for (size_t i = 0; i < u->tracked_count; i++)
        if (gg_str_equal(u->tracked[i].name, name)) return true;
    return false;
}

typedef struct invariance {
    gg__scalar_uses *u;
    gg_str name;
} invariance;

static bool counts_range(const gg_tree *tree, TSNode target) {
    TSNode loop = gg__parent(target), function = gg__field(gg__field(loop, "right"), "function");
    return gg_node_is(loop, "for_statement") && ts_node_eq(gg__field(loop, "left"), target) &&
           gg__names_builtin(tree, function, "range");
}

/* Does this binding of the name leave what is known of it: a new value that is alike, or a change in place?  What has torch's default dtype in
 * front of a loop is as what it becomes in there. */
static bool is_alike(TSNode node, void *data) {
    const invariance *v = data;
    if (!gg_node_is(node, "identifier") || !gg_str_equal(gg__text(v->u->in.tree, node), v->name) ||
        !gg__is_binding(node))
        return true;
    TSNode assignment = gg__parent(node), right = gg__field(assignment, "right");
    gg__meta old = gg__infer_loosely(&v->u->in, node);
    if (old.sort == GG__SCALAR_INT && counts_range(v->u->in.tree, node)) return true;
    if (old.sort != GG__TENSOR || !gg_node_is(gg__parent(assignment), "expression_statement")) return false;
    if (gg_node_is(assignment, "augmented_assignment")) return true;
    gg__meta given = gg__infer_loosely(&v->u->in, right);
    if (given.vague == GG__DEFAULT) given.vague = old.vague;
    return gg_node_is(assignment, "assignment") && ts_node_is_null(gg__field(assignment, "type")) &&
           ts_node_eq(gg__field(assignment, "left"), node) && gg__same_tensor(old, given);
}

/* Forgets the names that a statement binds, but for those of which the same holds wherever in it, however often it runs. */
static void settle(gg__scalar_uses *u, TSNode statement) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < u->record.fact_count; i++) {
            invariance v = {u, u->facts[i].name};
            if (v.name.len == 0 || is_tracked(u, v.name) || gg__visit(statement, is_alike, &v)) continue;
            gg__scalar_forget(u, v.name);
            changed = true;
        }
    }
    gg__visit(statement, gg__scalar_forget_attributes, u);
}

typedef struct known {
    gg__scalar_uses *u;
    gg_str names[GG__MAX_FACTS];
    size_t count;
} known;

static bool forget_unless_known(TSNode node, void *data) {
    known *k = data;
    if (!gg_node_is(node, "identifier") || !gg__is_binding(node)) return true;
    gg_str name = gg__text(k->u->in.tree, node);
    for (size_t i = 0; i < k->count; i++)
        if (gg_str_equal(k->names[i], name)) return true;
    gg__scalar_forget(k->u, name);
    return true;
}

static bool follow(gg__scalar_uses *u, TSNode statement);

static bool follow_block(gg__scalar_uses *u, TSNode block) {
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!follow(u, gg__child(block, i))) return false;
    return true;
}

/* `for i in range(n)`, `for i, v in enumerate(l)`: i, where nothing else in the loop binds it. */
static void learn_counter(gg__scalar_uses *u, TSNode loop) {
    TSNode target = gg__field(loop, "left"), function = gg__field(gg__field(loop, "right"), "function");
    bool enumerated = gg__names_builtin(u->in.tree, function, "enumerate") && gg_node_is(target, "pattern_list");
    if (enumerated) target = gg__child(target, 0);
    if (!gg_node_is(target, "identifier") || (!enumerated && !gg__names_builtin(u->in.tree, function, "range"))) return;
    gg_str name = gg__text(u->in.tree, target);
    bool once = !gg__binds(u->in.tree, gg__field(loop, "body"), name);
    if (once && !is_tracked(u, name)) gg__scalar_learn(u, name, (gg__meta){.sort = GG__SCALAR_INT});
}

/* A loop's body starts from what holds wherever in the loop. */
static bool follow_loop(gg__scalar_uses *u, TSNode loop) {
    known k = {.u = u};
    TSNode over = gg__field(loop, "right"), alternative = gg__field(loop, "alternative");
    if (!ts_node_is_null(over) && !gg__visit(over, gg__scalar_check_name, u)) return false;
    settle(u, loop);
    relearn(u);
    for (size_t i = 0; i < u->record.fact_count; i++)
        if (u->facts[i].name.len) k.names[k.count++] = u->facts[i].name;
    learn_counter(u, loop);
    TSNode condition = gg__field(loop, "condition"), left = gg__field(loop, "left");
    if (!ts_node_is_null(condition) && !gg__visit(condition, gg__scalar_check_name, u)) return false;
    if (!ts_node_is_null(left) && !gg__visit(left, gg__scalar_check_name, u)) return false;
    if (!follow_block(u, gg__field(loop, "body"))) return false;
    gg__visit(loop, forget_unless_known, &k);
    relearn(u);
    return ts_node_is_null(alternative) || gg__visit(alternative, gg__scalar_check_name, u);
}

typedef struct moment { /* what was known then */
    gg_fact facts[GG__MAX_FACTS];
    int64_t shapes[GG__MAX_FACTS][GG__MAX_RANK];
    size_t count;
} moment;

static void keep(moment *m, const gg__scalar_uses *u) {
    memcpy(m->facts, u->facts, sizeof(m->facts));
    memcpy(m->shapes, u->shapes, sizeof(m->shapes));
    m->count = u->record.fact_count;
    for (size_t i = 0; i < m->count; i++)
        if (m->facts[i].shape == u->shapes[i]) m->facts[i].shape = m->shapes[i];
}

static void restore(gg__scalar_uses *u, const moment *m) {
    memcpy(u->facts, m->facts, sizeof(m->facts));
    memcpy(u->shapes, m->shapes, sizeof(m->shapes));
    u->record.fact_count = m->count;
    for (size_t i = 0; i < m->count; i++)
        if (u->facts[i].shape == m->shapes[i]) u->facts[i].shape = u->shapes[i];
}

static bool is_same_fact(const gg_fact *a, const gg_fact *b) {
    return a->kind == b->kind && gg_str_equal(a->dtype, b->dtype) && gg_str_equal(a->device, b->device) &&
           a->rank == b->rank && a->layout == b->layout &&
           (a->rank <= 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(int64_t)) == 0);
}

/* Forgets what is not known now as well: a branch ends here. */
static void merge(moment *m, const gg__scalar_uses *u) {
    for (size_t i = 0; i < m->count; i++) {
        bool same = false;
        for (size_t k = 0; k < u->record.fact_count && m->facts[i].name.len; k++)
            same =
                same || (gg_str_equal(m->facts[i].name, u->facts[k].name) && is_same_fact(&m->facts[i], &u->facts[k]));
        if (!same) m->facts[i].name = GG_STR_NULL;
    }
}

/* The blocks of an `if` or `with`, each of which may not have run, or not to its end. */
static bool follow_branches(gg__scalar_uses *u, TSNode node, moment *before, moment *after) {
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode part = gg__child(node, i);
        if (gg_node_is(part, "else_clause") || gg_node_is(part, "elif_clause")) {
            if (!follow_branches(u, part, before, after)) return false;
        } else if (!gg_node_is(part, "block")) {
            if (!gg__visit(part, gg__scalar_check_name, u)) return false;
        } else {
            if (!follow_block(u, part)) return false;
            merge(after, u);
            restore(u, before);
            relearn(u);
        }
    }
    return true;
}

/* What the conditions and the context managers bind; either may come first. */
static void forget_headers(gg__scalar_uses *u, TSNode node) {
    for (uint32_t i = 0; i < gg__child_count(node); i++) {
        TSNode part = gg__child(node, i);
        if (gg_node_is(part, "else_clause") || gg_node_is(part, "elif_clause"))
            forget_headers(u, part);
        else if (!gg_node_is(part, "block"))
            gg__visit(part, gg__scalar_forget_bound, u);
    }
    relearn(u);
}

/* The uses in one statement, with the facts that hold there; then what it assigns. */
static bool follow_uses(gg__scalar_uses *u, TSNode statement) {
    TSNode inner = gg__child(statement, 0), left = gg__field(inner, "left"), right = gg__field(inner, "right");
    if (gg_node_is(statement, "for_statement") || gg_node_is(statement, "while_statement"))
        return follow_loop(u, statement);
    if (gg_node_is(statement, "if_statement") || gg_node_is(statement, "with_statement")) {
        moment *before = GG_ARENA_NEW(u->arena, moment), *after = GG_ARENA_NEW(u->arena, moment);
        forget_headers(u, statement);
        keep(before, u);
        keep(after, u);
        if (!follow_branches(u, statement, before, after)) return false;
        restore(u, after);
        relearn(u);
        return true;
    }
    bool expression = gg_node_is(statement, "expression_statement"),
         returns = gg_node_is(statement, "return_statement");
    bool plain = expression && gg_node_is(inner, "assignment") && gg_node_is(left, "identifier");
    bool augmented = expression && gg_node_is(inner, "augmented_assignment");
    TSNode evaluated = plain || augmented ? right : statement; /* what is bound in there is bound before it is used */
    bool simple =
        (expression || returns) && !ts_node_is_null(evaluated) && gg__visit(evaluated, gg__scalar_binds_nothing, NULL);
    if (!simple) gg__visit(statement, gg__scalar_forget_bound, u);
    relearn(u);
    if (!gg__visit(statement, gg__scalar_check_name, u)) return false;
    if (plain && simple)
        gg__scalar_learn(u, gg__text(u->in.tree, left), gg__scalar_given(u, right));
    else
        gg__scalar_learn_several(u, statement);
    relearn(u);
    return true;
}

/* Where a branch is written anew, no use in it is. */
static bool follow(gg__scalar_uses *u, TSNode statement) {
    bool outer = u->within;
    u->within = outer || u->to_end || gg__scalar_mend(u, statement, &u->to_end);
    if (outer || !u->within) return follow_uses(u, statement);
    gg_edits *edits = u->edits;
    u->edits = NULL;
    u->rewrites = false;
    if (!follow_uses(u, statement)) return false;
    if (u->rewrites) return gg__hinder(&u->in, statement, "has to be written anew for two reasons");
    u->rewrites = true;
    u->within = false;
    u->edits = edits;
    return true;
}

bool gg__scalar_pass(gg__scalar_uses *u, TSNode statement) {
    return follow(u, statement);
}

/* A use is written for a tensor: the name may be nothing else there. */
static bool is_consistent(const gg__scalar_uses *u) {
    for (size_t i = 0; i < u->tracked_count; i++)
        if (u->rewrites && gg__is_rebound(u, &u->tracked[i], (gg_span){0})) return false;
    return true;
}

/* Forgets what the block binds, which is behind it now: a loop comes back, a branch may not have been taken.  But not the names of which the same
 * holds wherever in the function. */
static void leave(gg__scalar_uses *u, TSNode block) {
    known k = {.u = u};
    moment *now = GG_ARENA_NEW(u->arena, moment);
    keep(now, u);
    settle(u, gg__field(gg__function(block), "body"));
    for (size_t i = 0; i < u->record.fact_count; i++)
        if (u->facts[i].name.len) k.names[k.count++] = u->facts[i].name;
    restore(u, now);
    gg__visit(block, forget_unless_known, &k);
    relearn(u);
}

static bool follow_from(gg__scalar_uses *u, TSNode statement) {
    TSNode body = gg__field(gg__function(statement), "body");
    if (gg_node_is(statement, "for_statement") && !follow(u, statement)) return false; /* over the numbers */
    if (gg_node_is(gg__field(gg__child(statement, 0), "left"), "pattern_list")) {
        gg__scalar_learn_several(u, statement);
        relearn(u);
    }
    for (TSNode at = statement; !ts_node_eq(at, body); at = gg__parent(at)) {
        for (TSNode next = ts_node_next_named_sibling(at); !ts_node_is_null(next);
             next = ts_node_next_named_sibling(next))
            if (!follow(u, next)) return false;
        if (!ts_node_eq(gg__parent(at), body)) leave(u, gg__parent(at)); /* nothing is behind the body */
    }
    return true;
}

bool gg__scalar_follow(gg__scalar_uses *u, TSNode statement) {
    if (u->tracked_count > 0 && !follow_from(u, statement)) return false;
    if (u->count == 0) return gg__hinder(&u->in, statement, "no tensor takes the number");
    return is_consistent(u) || gg__hinder(&u->in, statement, "the name holds something else on other ways");
}
