/* An early return for a mask that chooses nothing: `if not mask.any(): return x`.  See known_masks.h.
 *
 * DESIGN  What follows is run in thought with such a mask: each name may hold what x holds, as x itself or as a new tensor that nobody else has.  It runs
 * now where it did not, so all of it must be pure and total; a store may go into a clone that nothing else has read, since autograd may keep what was
 * read, and raises when that is changed. */
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/known_masks.h"
#include "repair/select.h"

enum { MAX_SAME = 8 };

typedef struct same { /* a name that holds what x does */
    gg_str name;
    bool fresh;
} same;

typedef struct guard {
    gg__known_mask known;
    TSNode node, value; /* the if statement; what it returns */
    same names[MAX_SAME];
    size_t count;
} guard;

static same *find(guard *g, gg_str name) {
    for (size_t i = 0; i < g->count; i++)
        if (gg_str_equal(g->names[i].name, name)) return &g->names[i];
    return NULL;
}

static void drop(guard *g, gg_str name) {
    same *known = find(g, name);
    if (known) *known = g->names[--g->count];
}

static bool bind(guard *g, gg_str name, bool fresh) {
    drop(g, name);
    if (g->count == MAX_SAME) return false;
    g->names[g->count++] = (same){name, fresh};
    return true;
}

/* ---- the statement ------------------------------------------------------------------------------------------------------ */

static bool is_no_scope(TSNode node, void *data) {
    const guard *g = data;
    static const char *const scopes[] = {"lambda",           "function_definition", "class_definition",
                                         "global_statement", "nonlocal_statement",  "yield"};
    if (gg_node_is(node, "identifier") && gg__watches_names(g->known.in->tree, node)) return false;
    for (size_t i = 0; i < GG_COUNT(scopes); i++)
        if (gg_node_is(node, scopes[i]) && !ts_node_eq(node, gg__function(g->node))) return false;
    return true;
}

/* The name of the mask, in its condition. */
static bool asks(TSNode node, void *data) {
    guard *g = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    g->known.text = gg__text(g->known.in->tree, node);
    bool told = gg__infer(g->known.in, node).sort == GG__TENSOR &&
                gg__read_mask_test(&g->known, gg__field(g->node, "condition"));
    return !told;
}

static bool find_guard(const gg_rule_input *in, guard *g) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !gg_node_is(at, "if_statement")) at = gg__parent(at);
    TSNode condition = gg__field(at, "condition"), function = gg__function(at);
    TSNode returned = gg__only_statement(gg__field(at, "consequence"));
    g->node = at;
    g->value = gg__strip_parentheses(gg__child(returned, 0));
    if (!gg_node_is(at, "if_statement") || !gg__covers(condition, in->span) ||
        !gg_node_is(returned, "return_statement") || !gg_node_is(g->value, "identifier") ||
        !ts_node_is_null(gg__field(at, "alternative")) || !gg_node_is(function, "function_definition") ||
        !ts_node_eq(gg__parent(at), gg__field(function, "body")) || !gg__alone_on_line(in->tree, at) ||
        gg__has_comment(in->tree, gg_node_span(at)))
        return false;
    if (gg__visit(condition, asks, g) || gg__infer(in, g->value).sort != GG__TENSOR ||
        gg__is_known_mask(&g->known, g->value))
        return false;
    return gg__visit(function, is_no_scope, g) && gg__mask_is_never_none(&g->known, at);
}

/* ---- what follows --------------------------------------------------------------------------------------------------------- */

static bool is_what(const guard *g, TSNode mask, double value) {
    double all;
    return gg__mask_constant(&g->known, mask, 0, &all) && all == value;
}

/* A number that fits, or a new tensor: in either case nothing that has a gradient of its own. */
static bool is_plain_value(const guard *g, TSNode node, gg__meta x) {
    bool like;
    node = gg__strip_parentheses(node);
    gg__meta m = gg__infer(&g->known.then.in, node);
    if (gg__is_number(m)) return gg__holds(x.dtype, m);
    return m.sort == GG__TENSOR && gg_node_is(node, "call") && gg__makes_anew(g->known.in->tree, node, &like);
}

/* Does the expression give what x holds?  `fresh`: as a new tensor. */
static bool gives_same(guard *g, TSNode node, bool *fresh) {
    static const char *const filling[] = {"mask", "value"};
    const gg_rule_input *now = &g->known.then.in;
    gg__inference look = {.in = now};
    TSNode given[2], source = {0};
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "identifier")) {
        const same *known = find(g, gg__text(now->tree, node));
        if (known) *fresh = known->fresh;
        return known != NULL;
    }
    if (!gg_node_is(node, "call")) return false;
    gg__call call = gg__read_call(&look, node);
    gg__meta made = gg__infer(now, node);
    uint32_t count = gg__child_count(call.arguments);
    source = call.from ? gg__child(call.arguments, 0) : gg__field(gg__field(node, "function"), "object");
    if (call.form == GG__FUNCTIONAL) return false;
    if (gg_str_is(call.name, "where") && call.form == GG__TORCH && count == 3) {
        TSNode mask = gg__child(call.arguments, 0), yes = gg__child(call.arguments, 1),
               no = gg__child(call.arguments, 2);
        bool none = is_what(g, mask, 0);
        source = none ? no : yes;
        if (!(none || is_what(g, mask, 1)) || !is_plain_value(g, none ? yes : no, made)) return false;
    } else if (gg_str_is(call.name, "masked_fill")) {
        if (!gg__bind_arguments(&look, &call, filling, 2, given) || !is_what(g, given[0], 0) ||
            !gg__is_number(gg__infer(now, given[1])))
            return false;
    } else if (!gg_str_is(call.name, "clone") || count != call.from) {
        return false;
    }
    gg__meta before = gg__infer(now, source);
    bool inner;
    *fresh = true;
    return made.sort == GG__TENSOR && !made.vague && made.layout.len == 0 && gg__same_tensor(before, made) &&
           !gg__sizes_may_differ(now, node, made) && gives_same(g, source, &inner);
}

/* `y[mask] = 0` */
static bool stores_nothing(guard *g, TSNode assignment) {
    const gg_rule_input *now = &g->known.then.in;
    TSNode left = gg__field(assignment, "left"), y = gg__field(left, "value"), by = gg__field(left, "subscript");
    gg__meta x = gg__infer(now, y), m = gg__infer(now, by), v = gg__infer(now, gg__field(assignment, "right"));
    const same *known = find(g, gg__text(now->tree, y));
    if (!gg_node_is(left, "subscript") || gg__child_count(left) != 2 || !gg_node_is(y, "identifier") || known == NULL ||
        !known->fresh || !gg_node_is(assignment, "assignment"))
        return false;
    bool fits = x.sort == GG__TENSOR && m.sort == GG__TENSOR && gg__is_bool(m.dtype) && m.rank > 0 &&
                m.rank <= x.rank && gg_str_equal(x.device, m.device) && gg__is_number(v) && gg__holds(x.dtype, v);
    for (int32_t i = 0; fits && i < m.rank; i++) fits = m.shape[i] >= 0 && m.shape[i] == x.shape[i];
    return fits && is_what(g, by, 0) && !gg__sizes_may_differ(now, by, m) && !gg__sizes_may_differ(now, by, x);
}

/* Reads it a new tensor that may be stored into later? */
static bool reads_fresh(const guard *g, TSNode node) {
    for (size_t i = 0; i < g->count; i++)
        if (g->names[i].fresh && gg__reads(g->known.in->tree, node, g->names[i].name)) return true;
    return false;
}

static bool follow(guard *g, TSNode statement) {
    const gg_tree *tree = g->known.in->tree;
    TSNode expression = gg__child(statement, 0), assignment = gg__assignment(statement);
    bool fresh = false;
    if (gg_node_is(statement, "comment")) return true;
    if (ts_node_is_null(assignment))
        return (gg_node_is(statement, "expression_statement") && stores_nothing(g, expression)) ||
               gg__hinder(g->known.in, statement, "is not known to do nothing where the mask chooses nothing");
    TSNode right = gg__field(assignment, "right");
    gg_str name = gg__text(tree, gg__field(assignment, "left"));
    if (gg_str_equal(name, g->known.text)) return false;
    bool gives = gives_same(g, right, &fresh);
    if (!gives && (gg__infer(&g->known.then.in, right).sort == GG__UNKNOWN || reads_fresh(g, right)))
        return gg__hinder(g->known.in, right, "not proven to be harmless where it does not run now");
    if (!gg__follow_mask(&g->known, statement)) return false;
    if (gives) return bind(g, name, fresh);
    drop(g, name);
    return true;
}

bool gg__is_empty_guard(const gg_rule_input *in, TSNode *out_node, bool *copies) {
    gg_arena *arena = gg_arena_new();
    guard *g = gg_arena_calloc(arena, 1, sizeof(*g));
    bool fresh = false, found = false;
    g->known.in = in;
    if (gg__scalar_uses_init(&g->known.then, in, GG_STR("torch.float32"), GG__AS_IS) && find_guard(in, g) &&
        bind(g, gg__text(in->tree, g->value), false)) {
        TSNode at = ts_node_next_named_sibling(g->node);
        while (!ts_node_is_null(at) && !gg_node_is(at, "return_statement") && follow(g, at))
            at = ts_node_next_named_sibling(at);
        found =
            gg_node_is(at, "return_statement") && gg__child_count(at) == 1 && gives_same(g, gg__child(at, 0), &fresh);
        if (found && fresh && gg__returned_alias_shows(in, g->node, g->value))
            found = gg__hinder(in, g->value, "other code may hold this tensor, and what follows gives a new one");
        *copies = found && fresh && gg__is_copy(in, g->node, g->value, GG_STR_NULL);
        *out_node = g->node;
    }
    gg_arena_free(arena);
    return found;
}
