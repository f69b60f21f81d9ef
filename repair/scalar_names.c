/* Numbers taken out of tensors: the names they are assigned to.  See scalar.h. */
#include "repair/hindrance.h"
#include "repair/scalar.h"
#include "repair/select.h"

/* ---- tracking ------------------------------------------------------------------------------------------------------------------- */

bool gg__watches_names(const gg_tree *tree, TSNode identifier) {
    static const char *const watching[] = {"locals", "vars", "eval", "exec"};
    gg_str text = gg__text(tree, identifier);
    for (size_t i = 0; i < GG_COUNT(watching); i++)
        if (gg_str_is(text, watching[i]) && gg_node_is(gg__parent(identifier), "call")) return true;
    return false;
}

typedef struct outside {
    const gg_tree *tree;
    gg__tracked *t;
    TSNode scope, taken, first;
    bool inside;
} outside;

/* Is the name used nowhere but behind this assignment, in the function's own scope?  Others may assign something else to it. */
static bool is_inside(TSNode node, void *data) {
    const outside *o = data;
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(o->tree, node);
    if (gg__watches_names(o->tree, node)) return false;
    if (!gg_str_equal(text, o->t->name) || ts_node_start_byte(node) == o->t->bound || gg__is_member_name(node))
        return true;
    if (!ts_node_eq(gg__function(node), o->scope)) return false;
    if (gg__covers(o->taken, gg_node_span(node)) && (o->inside || gg__is_binding(node))) return true;
    if (!ts_node_is_null(o->first) && ts_node_eq(gg__field(gg__parent(node), "right"), o->first)) return true;
    bool several = gg__is_binding(node) && !ts_node_is_null(gg__several_assigned(gg__statement(node)));
    if (ts_node_is_null(gg__assigned(node)) && !several) return ts_node_start_byte(node) >= o->t->from;
    o->t->rebound = o->t->rebound || !gg__covers(o->taken, gg_node_span(node));
    return true;
}

/* `l[0]`, `l[-1]` */
static bool is_element(const gg_tree *tree, TSNode list, TSNode node) {
    double at = 0;
    return gg_node_is(node, "subscript") && ts_node_eq(gg__field(node, "value"), list) && gg__child_count(node) == 2 &&
           gg__literal_value(tree, gg__field(node, "subscript"), &at) &&
           !gg_str_contains(gg__text(tree, gg__field(node, "subscript")), GG_STR("."));
}

/* `l[0]`, or `l[0][1]` where l is that deep: is it a number of the tracked list? */
static bool is_number_of(const gg_tree *tree, const gg__tracked *t, TSNode node) {
    for (int32_t i = 0; i < t->lists; i++) {
        TSNode list = gg__field(node, "value");
        if (!is_element(tree, list, node)) return false;
        node = list;
    }
    return t->lists && gg_node_is(node, "identifier") && gg_str_equal(gg__text(tree, node), t->name);
}

static bool learn_element(TSNode node, void *data) {
    gg__scalar_uses *u = data;
    const gg__tracked *t = &u->tracked[u->tracked_count - 1];
    if (is_number_of(u->in.tree, t, node))
        gg__scalar_learn(u, gg__text(u->in.tree, node), (gg__meta){.sort = t->scalar.sort});
    return true;
}

bool gg__scalar_track(gg__scalar_uses *u, TSNode identifier, uint32_t from, gg__scalar scalar, int32_t lists) {
    TSNode function = gg__function(identifier);
    if (!gg_node_is(identifier, "identifier") || !gg_node_is(function, "function_definition") ||
        u->tracked_count == GG__MAX_TRACKED)
        return false;
    gg__tracked *t = &u->tracked[u->tracked_count];
    *t = (gg__tracked){.name = gg__text(u->in.tree, identifier),
                       .bound = ts_node_start_byte(identifier),
                       .from = from,
                       .scalar = scalar,
                       .lists = lists};
    for (size_t i = 0; i < u->tracked_count; i++)
        if (gg_str_equal(u->tracked[i].name, t->name)) /* `s = l[0] + l[1]` comes here for each of them */
            return u->tracked[i].bound == t->bound && u->tracked[i].lists == lists &&
                   u->tracked[i].scalar.sort == scalar.sort;
    outside o = {u->in.tree, t, function, u->taken, u->first, u->inside};
    if (!gg__visit(function, is_inside, &o) || (lists && t->rebound))
        return gg__hinder(&u->in, identifier, "is read where it may hold something else, or by another function");
    u->tracked_count++;
    gg__scalar_learn_tracked(u, t);
    if (lists) gg__visit(function, learn_element, u);
    return true;
}

bool gg__scalar_element(const gg__scalar_uses *u, TSNode node, gg__scalar *out) {
    for (size_t i = 0; i < u->tracked_count; i++) {
        if (!is_number_of(u->in.tree, &u->tracked[i], node)) continue;
        *out = u->tracked[i].scalar;
        return true;
    }
    return false;
}

/* `[1]` behind `l[0]`, down to the number. */
static bool read_deeper(gg__scalar_uses *u, TSNode node, gg__scalar scalar, int32_t deep) {
    for (TSNode parent = gg__parent(node); is_element(u->in.tree, node, parent); parent = gg__parent(node)) {
        node = parent;
        if (--deep == 0) return gg__scalar_use(u, node, scalar);
    }
    return false;
}

/* What a loop binds to one item of `node` after the other, also through enumerate() and zip(); null where it is not gone through. */
static TSNode item_of(const gg_tree *tree, TSNode node) {
    TSNode parent = gg__parent(node), call = gg__parent(parent), function = gg__field(call, "function");
    if (gg_node_is(parent, "for_statement") || gg_node_is(parent, "for_in_clause"))
        return ts_node_eq(gg__field(parent, "right"), node) ? gg__field(parent, "left") : (TSNode){0};
    bool counted = gg__names_builtin(tree, function, "enumerate"), zipped = gg__names_builtin(tree, function, "zip");
    if (!gg_node_is(parent, "argument_list") || (!counted && !zipped)) return (TSNode){0};
    TSNode items = item_of(tree, call);
    uint32_t at = 0, count = gg__child_count(parent);
    while (at < count && !ts_node_eq(gg__child(parent, at), node)) at++;
    bool several = gg_node_is(items, "pattern_list") || gg_node_is(items, "tuple_pattern");
    if (!several || at == count || (counted && at > 0)) return (TSNode){0};
    return gg__child_count(items) == (counted ? 2 : count) ? gg__child(items, counted ? 1 : at) : (TSNode){0};
}

/* Where a name that the comprehension binds is read: all of it, since its body stands in front. */
static bool in_comprehension(gg__scalar_uses *u, TSNode node, TSNode item, gg__scalar scalar) {
    TSNode clause = gg__parent(node);
    while (!gg_node_is(clause, "for_in_clause")) clause = gg__parent(clause);
    TSNode around = gg__parent(clause);
    if (!gg__scalar_track(u, item, ts_node_start_byte(around), scalar, 0)) return false;
    for (uint32_t i = 0; i < gg__child_count(around); i++) {
        TSNode part = gg__child(around, i);
        if (!ts_node_eq(part, clause) && !gg__visit(part, gg__scalar_check_name, u)) return false;
    }
    return true;
}

/* `l[0]`, `for v in l`, `a, b = l`, `m = l`; of lists only their numbers, `l[0][1]`, are read */
bool gg__scalar_list(gg__scalar_uses *u, TSNode node, gg__scalar scalar, int32_t deep) {
    TSNode parent = gg__parent(node), left = gg__field(parent, "left");
    if (is_element(u->in.tree, node, parent))
        return deep == 1 ? gg__scalar_use(u, parent, scalar) : read_deeper(u, parent, scalar, deep - 1);
    uint32_t from = ts_node_end_byte(node);
    TSNode item = deep == 1 ? item_of(u->in.tree, node) : (TSNode){0};
    if (!ts_node_is_null(item)) {
        bool loop = gg_node_is(gg__statement(node), "for_statement") &&
                    gg__covers(gg__field(gg__statement(node), "right"), gg_node_span(node));
        return loop ? gg__scalar_track(u, item, from, scalar, 0) : in_comprehension(u, node, item, scalar);
    }
    if (!gg_node_is(parent, "assignment") || !ts_node_eq(gg__field(parent, "right"), node) ||
        !ts_node_is_null(gg__field(parent, "type")) || !gg_node_is(gg__parent(parent), "expression_statement"))
        return false; /* `a = b = l` */
    if (gg_node_is(left, "identifier")) return gg__scalar_track(u, left, from, scalar, deep);
    if (deep > 1 || (!gg_node_is(left, "pattern_list") && !gg_node_is(left, "tuple_pattern"))) return false;
    for (uint32_t i = 0; i < gg__child_count(left); i++)
        if (!gg__scalar_track(u, gg__child(left, i), from, scalar, 0)) return false;
    return true;
}

bool gg__scalar_refuse(const gg__scalar_uses *u, TSNode node) {
    TSNode use = gg__parent(node);
    while (gg_node_is(use, "parenthesized_expression") || gg_node_is(use, "argument_list") ||
           gg_node_is(use, "keyword_argument"))
        use = gg__parent(use);
    return gg__hinder(&u->in, use, "needs the number `%.*s`, for which a tensor is not proven to do",
                      GG_STR_ARG(gg__text(u->in.tree, node)));
}

bool gg__scalar_check_name(TSNode node, void *data) {
    gg__scalar_uses *u = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(u->in.tree, node);
    for (uint32_t i = 0; i < u->ask_count; i++)
        if (ts_node_eq(u->asked[i], node)) return true;
    for (uint32_t i = 0; i < u->asked_within_count; i++)
        if (gg__covers(u->asked_within[i], gg_node_span(node))) return true;
    for (size_t i = 0; i < u->tracked_count; i++) {
        const gg__tracked *t = &u->tracked[i];
        if (!gg_str_equal(name, t->name) || ts_node_start_byte(node) == t->bound ||
            !ts_node_is_null(gg__assigned(node)))
            continue;
        if (u->within && t->scalar.sort == GG__SCALAR_INT && gg__asks_number(&u->in, GG_STR("torch.int64"), node))
            return true;
        bool used = t->lists ? gg__scalar_list(u, node, t->scalar, t->lists) : gg__scalar_use(u, node, t->scalar);
        return used || gg__scalar_refuse(u, node);
    }
    return true;
}
