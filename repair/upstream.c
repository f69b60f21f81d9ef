/* Gradients of what is made in front of a branch.  See gradients.h.
 *
 * DESIGN  A root has an infinite slope at zero, and zero times infinity is NaN.  What an arm reads gets a gradient of zeros where the arm was not taken; when it
 * was left to Python it got none, and branches are written to keep it so: `if theta < 1e-4: return v` in front of `v * theta / torch.sin(theta)`, theta being an acos. */
#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/infer.h"
#include "repair/kept.h"
#include "repair/scalar.h"

enum { MAX_NAMES = 32, MAX_DEPTH = 32, MAX_STEPS = 2000 };

typedef struct progress {
    gg_str names[MAX_NAMES]; /* that were looked at, or are */
    uint32_t count, steps;
} progress;

typedef struct upstream {
    const gg_rule_input *in;
    TSNode function;
    uint32_t before; /* what is bound from there on is the branch's own, or behind it */
    progress *progress;
} upstream;

static bool is_made_roughly(const upstream *u, gg_str name);

/* `x.shape`, `x.new_zeros(3)`, `torch.ones_like(x)`: of a tensor's sizes alone. */
static bool is_of_sizes(const gg_tree *tree, TSNode node) {
    static const char *const members[] = {"shape", "size", "device", "dtype", "dim", "ndim", "numel"};
    gg_str name = gg_node_is(node, "call") ? gg__called_name(tree, node) : gg__text(tree, gg__field(node, "attribute"));
    bool made = gg_node_is(node, "call") &&
                (gg_str_starts_with(name, GG_STR("new_")) || gg_str_ends_with(name, GG_STR("_like")));
    return made || gg__is_one_of(name, members, GG_COUNT(members));
}

/* Floating numbers that are someone else's, or what nobody knows, and what is made of such: no modules' names and no constants. */
static bool has_origin(const gg_rule_input *in, TSNode node, uint32_t depth) {
    const gg_tree *tree = in->tree;
    if (depth > MAX_DEPTH) return true;
    if (gg_node_is(node, "identifier")) {
        gg_str name = gg__text(tree, node);
        if (gg__is_member_name(node) || !gg__is_local(tree, node, name)) return false;
        gg__meta m = gg__infer(in, node);
        if (gg__is_number(m) || (m.sort == GG__TENSOR && !gg__is_floating(m.dtype))) return false;
        TSNode value = gg__value_at(tree, node, name);
        return ts_node_is_null(value) || has_origin(in, value, depth + 1);
    }
    if (is_of_sizes(tree, node)) return false;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (has_origin(in, gg__child(node, i), depth + 1)) return true;
    return false;
}

static bool may_have_gradient(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer(in, node);
    bool floating = m.sort == GG__UNKNOWN || (m.sort == GG__TENSOR && gg__is_floating(m.dtype));
    return floating && has_origin(in, node, 0);
}

static bool is_away(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer_dividing(in, node);
    return gg__is_number(m) || (m.sort == GG__TENSOR && gg__is_away_from_zero(in, node, m));
}

/* An operation whose slope is infinite somewhere, at what it is given here.  Of quotients that is known where the divisor is. */
static bool is_rough_operation(const gg_rule_input *in, TSNode node) {
    gg__inference look = {.in = in};
    const char *fill;
    TSNode operand = gg__guardable(&look, node, &fill), left = gg__field(node, "left"),
           right = gg__field(node, "right");
    if (!ts_node_is_null(operand)) return may_have_gradient(in, operand) && !is_away(in, operand);
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    gg__meta m = gg__infer_dividing(in, right);
    if (gg_str_is(op, "**") || gg_str_is(op, "**=")) {
        bool root = gg__is_number(m) && m.seen && m.value < 1 && m.value != 0;
        return root && may_have_gradient(in, left) && !is_away(in, left);
    }
    bool divides = (gg_str_is(op, "/") || gg_str_is(op, "/=")) && m.sort == GG__TENSOR;
    return divides && may_have_gradient(in, right) && !gg__is_away_from_zero(in, right, m);
}

/* `x.detach()`, and numbers: no gradient comes by. */
static bool ends_gradients(const gg_rule_input *in, TSNode node) {
    gg__extraction e;
    if (!gg_node_is(node, "call")) return false;
    return gg_str_is(gg__called_name(in->tree, node), "detach") || gg__match_extraction(in, node, &e) ||
           !may_have_gradient(in, node);
}

static bool is_rough(const upstream *u, TSNode node) {
    const gg_tree *tree = u->in->tree;
    if (++u->progress->steps > MAX_STEPS) return true;
    if (gg_node_is(node, "identifier")) return !gg__is_member_name(node) && is_made_roughly(u, gg__text(tree, node));
    if (gg_node_is(node, "lambda") || gg_node_is(node, "comparison_operator") || ends_gradients(u->in, node))
        return false;
    if (is_rough_operation(u->in, node)) return true;
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (is_rough(u, gg__child(node, i))) return true;
    return false;
}

typedef struct binding_search {
    const upstream *u;
    gg_str name;
} binding_search;

static bool is_made_gently(TSNode node, void *data) {
    const binding_search *b = data;
    bool augments = gg_node_is(node, "augmented_assignment");
    if ((!augments && !gg_node_is(node, "assignment")) || ts_node_start_byte(node) >= b->u->before) return true;
    TSNode left = gg__field(node, "left");
    if (!gg__binds(b->u->in->tree, node, b->name) || gg__without_gradients(b->u->in->tree, node)) return true;
    bool rough = augments && gg_node_is(left, "identifier") && is_rough_operation(b->u->in, node);
    return !rough && !is_rough(b->u, gg__field(node, "right"));
}

/* By any of the lines that give it a value. */
static bool is_made_roughly(const upstream *u, gg_str name) {
    binding_search b = {u, name};
    progress *p = u->progress;
    for (uint32_t i = 0; i < p->count; i++)
        if (gg_str_equal(p->names[i], name)) return false;
    if (p->count == MAX_NAMES) return true;
    p->names[p->count++] = name;
    return !gg__visit(u->function, is_made_gently, &b);
}

/* The end of the loop that the statement is repeated in; else its beginning. */
static uint32_t known_before(TSNode statement) {
    uint32_t before = ts_node_start_byte(statement);
    TSNode function = gg__function(statement);
    for (TSNode at = gg__parent(statement); !ts_node_is_null(at) && !ts_node_eq(at, function); at = gg__parent(at))
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) before = ts_node_end_byte(at);
    return before;
}

bool gg__is_made_roughly(const gg_rule_input *in, TSNode statement, gg_str name) {
    progress p = {0};
    upstream u = {in, gg__function(statement), known_before(statement), &p};
    if (!gg_node_is(u.function, "function_definition") || gg__without_gradients(in->tree, statement)) return false;
    return is_made_roughly(&u, name);
}

typedef struct difference {
    const gg_rule_input *in;
    TSNode statement, other;
} difference;

static bool is_read_by_both(TSNode node, void *data) {
    const difference *d = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(d->in->tree, node);
    return gg__reads(d->in->tree, d->other, name) || !gg__is_made_roughly(d->in, d->statement, name);
}

bool gg__have_gentle_origins(const gg_rule_input *in, TSNode statement, TSNode a, TSNode b) {
    difference first = {in, statement, b}, second = {in, statement, a};
    return gg__visit(a, is_read_by_both, &first) && gg__visit(b, is_read_by_both, &second);
}
