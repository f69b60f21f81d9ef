/* Numbers taken out of tensors: the names they are assigned to.  See scalar.h.
 *
 * DESIGN  Facts are of the moment Dynamo stopped.  An assigned number is used later, so its uses are looked at statement by statement with
 * facts that follow the assignments between. */
#include "repair/scalar.h"

#include <string.h>

bool gg__scalar_uses_init(gg__scalar_uses *u, const gg_rule_input *in, gg_str dtype, gg__widening widening) {
    const gg_break *record = in->site->first;
    *u = (gg__scalar_uses){.in = *in, .site = *in->site, .dtype = dtype, .widening = widening};
    if (record == NULL || record->fact_count > GG__MAX_FACTS) return false;
    u->record = *record;
    if (record->fact_count) memcpy(u->facts, record->facts, record->fact_count * sizeof(gg_fact));
    u->on_cpu = gg__facts_on_cpu(in);
    return true;
}

static void point(gg__scalar_uses *u) { /* a look may have been copied */
    u->record.facts = u->facts;
    u->site.first = &u->record;
    u->in.site = &u->site;
}

/* `self.scale` of `self` */
static bool is_part_of(gg_str dotted, gg_str name) {
    return dotted.len > name.len && dotted.ptr[name.len] == '.' && gg_str_starts_with(dotted, name);
}

static void forget(gg__scalar_uses *u, gg_str name) {
    for (size_t i = 0; i < u->record.fact_count; i++)
        if (gg_str_equal(u->facts[i].name, name) || is_part_of(u->facts[i].name, name)) u->facts[i].name = GG_STR_NULL;
}

static void learn(gg__scalar_uses *u, gg_str name, gg__meta m) {
    static const gg_value_kind kinds[] = {[GG__UNKNOWN] = GG_VALUE_UNKNOWN,
                                          [GG__SCALAR_INT] = GG_VALUE_INT,
                                          [GG__SCALAR_FLOAT] = GG_VALUE_FLOAT,
                                          [GG__SCALAR_BOOL] = GG_VALUE_BOOL,
                                          [GG__TENSOR] = GG_VALUE_TENSOR};
    forget(u, name);
    size_t at = 0;
    while (at < u->record.fact_count && u->facts[at].name.len) at++;
    if (m.vague || at == GG__MAX_FACTS) return;
    if (at == u->record.fact_count) u->record.fact_count++;
    memcpy(u->shapes[at], m.shape, sizeof(u->shapes[at]));
    u->facts[at] = (gg_fact){.name = name, .kind = kinds[m.sort], .dtype = m.dtype, .device = m.device, .rank = m.rank};
    u->facts[at].shape = u->shapes[at];
    u->facts[at].layout = m.layout.len ? GG_LAYOUT_STRIDED : GG_LAYOUT_CONTIGUOUS;
}

static bool forget_bound(TSNode node, void *data) {
    gg__scalar_uses *u = data;
    if (gg_node_is(node, "identifier") && gg__is_binding(node)) forget(u, gg__text(u->in.tree, node));
    TSNode parent = gg__parent(node); /* `self.scale = …` */
    if (gg_node_is(node, "attribute") && ts_node_eq(gg__field(parent, "left"), node))
        forget(u, gg__text(u->in.tree, node));
    return true;
}

bool gg__is_member_name(TSNode identifier) {
    TSNode parent = gg__parent(identifier);
    return (gg_node_is(parent, "attribute") && ts_node_eq(gg__field(parent, "attribute"), identifier)) ||
           (gg_node_is(parent, "keyword_argument") && ts_node_eq(gg__field(parent, "name"), identifier));
}

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
    const gg__tracked *t;
    TSNode scope;
} outside;

/* Is the name used nowhere but behind its one assignment, in the function's own scope? */
static bool is_inside(TSNode node, void *data) {
    const outside *o = data;
    if (!gg_node_is(node, "identifier")) return true;
    gg_str text = gg__text(o->tree, node);
    if (gg__watches_names(o->tree, node)) return false;
    if (!gg_str_equal(text, o->t->name) || ts_node_start_byte(node) == o->t->bound || gg__is_member_name(node))
        return true;
    return ts_node_start_byte(node) >= o->t->from && ts_node_eq(gg__function(node), o->scope);
}

bool gg__scalar_track(gg__scalar_uses *u, TSNode identifier, uint32_t from, gg__scalar scalar, bool list) {
    TSNode function = gg__function(identifier);
    if (!gg_node_is(identifier, "identifier") || !gg_node_is(function, "function_definition") ||
        u->tracked_count == GG__MAX_TRACKED)
        return false;
    gg__tracked *t = &u->tracked[u->tracked_count];
    *t = (gg__tracked){gg__text(u->in.tree, identifier), ts_node_start_byte(identifier), from, scalar, list};
    outside o = {u->in.tree, t, function};
    if (!gg__visit(function, is_inside, &o)) return false;
    u->tracked_count++;
    point(u);
    learn(u, t->name, (gg__meta){.sort = list ? GG__UNKNOWN : scalar.sort});
    return true;
}

/* `l[0]`, `l[-1]`, `len(l)`, and nothing else */
static bool use_of_list(gg__scalar_uses *u, TSNode node, const gg__tracked *t) {
    TSNode parent = gg__parent(node), index = gg__field(parent, "subscript");
    double at = 0;
    return gg_node_is(parent, "subscript") && ts_node_eq(gg__field(parent, "value"), node) &&
           gg__literal_value(u->in.tree, index, &at) && gg__child_count(parent) == 2 &&
           gg__scalar_use(u, parent, t->scalar);
}

static bool check_use(TSNode node, void *data) {
    gg__scalar_uses *u = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(u->in.tree, node);
    for (size_t i = 0; i < u->tracked_count; i++) {
        const gg__tracked *t = &u->tracked[i];
        if (!gg_str_equal(name, t->name) || ts_node_start_byte(node) == t->bound) continue;
        return t->list ? use_of_list(u, node, t) : gg__scalar_use(u, node, t->scalar);
    }
    return true;
}

static void relearn(gg__scalar_uses *u) {
    for (size_t i = 0; i < u->tracked_count; i++)
        learn(u, u->tracked[i].name, (gg__meta){.sort = u->tracked[i].list ? GG__UNKNOWN : u->tracked[i].scalar.sort});
}

static bool binds_nothing(TSNode node, void *data) {
    (void)data;
    return !gg_node_is(node, "identifier") || !gg__is_binding(node);
}

/* The uses in one statement, with the facts that hold there; then what it assigns. */
static bool follow(gg__scalar_uses *u, TSNode statement) {
    TSNode inner = gg__child(statement, 0), left = gg__field(inner, "left"), right = gg__field(inner, "right");
    bool expression = gg_node_is(statement, "expression_statement"),
         returns = gg_node_is(statement, "return_statement");
    bool plain = expression && gg_node_is(inner, "assignment") && gg_node_is(left, "identifier");
    bool augmented = expression && gg_node_is(inner, "augmented_assignment");
    TSNode evaluated = plain || augmented ? right : statement; /* what is bound in there is bound before it is used */
    bool simple = (expression || returns) && !ts_node_is_null(evaluated) && gg__visit(evaluated, binds_nothing, NULL);
    if (!simple) gg__visit(statement, forget_bound, u);
    relearn(u);
    if (!gg__visit(statement, check_use, u)) return false;
    if (plain && simple)
        learn(u, gg__text(u->in.tree, left), gg__infer(&u->in, right));
    else
        gg__visit(statement, forget_bound, u);
    relearn(u);
    return true;
}

bool gg__scalar_follow(gg__scalar_uses *u, TSNode statement) {
    TSNode body = gg__field(gg__function(statement), "body");
    point(u);
    for (TSNode at = statement; !ts_node_eq(at, body); at = gg__parent(at)) {
        for (TSNode next = ts_node_next_named_sibling(at); !ts_node_is_null(next);
             next = ts_node_next_named_sibling(next))
            if (!follow(u, next)) return false;
        gg__visit(gg__parent(at), forget_bound, u); /* a loop comes back, a branch may not have been taken */
        relearn(u);
    }
    return true;
}
