/* Loops over the indices for which something is chosen.  See nothing.h. */
#include "repair/alias.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/nothing.h"

enum { MAX_FORMS = 16 };

/* What a name holds there; any other expression is itself. */
static TSNode value_of(const gg_tree *tree, TSNode node) {
    node = gg__strip_parentheses(node);
    return gg_node_is(node, "identifier") ? gg__strip_parentheses(gg__value_at(tree, node, gg__text(tree, node)))
                                          : node;
}

static bool is_zero(const gg_tree *tree, TSNode node) {
    return gg_str_is(gg__text(tree, node), "0");
}

/* The argument behind the tensor of `x.sum(d)`, `torch.sum(x, d)`. */
static TSNode last_argument(TSNode call) {
    TSNode arguments = gg__field(call, "arguments");
    return gg__child(arguments, gg__child_count(arguments) - 1);
}

/* X of `X > 0`, `torch.greater(X, 0)`, `X != 0`: the same indices, where nothing is negative */
static TSNode positive(const gg_rule_input *in, TSNode node) {
    const gg_tree *tree = in->tree;
    static const char *const names[] = {"gt", "greater", "ne", "not_equal"};
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "comparison_operator") && gg__child_count(node) == 2) {
        gg_str op = gg__text(tree, ts_node_child(node, 1));
        bool known = (gg_str_is(op, ">") || gg_str_is(op, "!=")) && is_zero(tree, gg__child(node, 1));
        return known ? gg__strip_parentheses(gg__child(node, 0)) : node;
    }
    for (size_t i = 0; i < GG_COUNT(names); i++) {
        TSNode x = gg__call_operand(in, node, names[i], 1, true);
        if (!ts_node_is_null(x) && is_zero(tree, last_argument(node))) return gg__strip_parentheses(x);
    }
    return node;
}

/* ---- masks ------------------------------------------------------------------------------------------------------------------ */

/* F.one_hot(…) in another form: of zeros and ones */
static bool is_one_hot(const gg_tree *tree, TSNode node) {
    static const char *const forms[] = {"permute", "transpose", "view",    "reshape",    "bool",
                                        "long",    "int",       "float",   "to",         "unsqueeze",
                                        "movedim", "t",         "flatten", "contiguous", "squeeze"};
    for (uint32_t i = 0; i < MAX_FORMS; i++) {
        node = value_of(tree, node);
        if (!gg_node_is(node, "call")) return false;
        if (gg_str_is(gg__called_name(tree, node), "one_hot")) return gg__is_torchs(tree, node);
        if (!gg__is_one_of(gg__called_name(tree, node), forms, GG_COUNT(forms))) return false;
        node = gg__field(gg__field(node, "function"), "object");
    }
    return false;
}

/* Nothing in it is below zero: a sum of none of it but zeros is zero, and no other is. */
static bool is_mask(const gg_rule_input *in, TSNode node) {
    return gg_node_is(node, "identifier") &&
           (gg_str_is(gg__infer(in, node).dtype, "torch.bool") || is_one_hot(in->tree, node));
}

/* Marks the dimensions that `-1`, `(-1, -2)`, `dim=[1, 2]` name. */
static bool mark(const gg_tree *tree, TSNode dims, int32_t rank, bool *marked) {
    int64_t value;
    if (gg_node_is(dims, "keyword_argument")) {
        gg_str name = gg__text(tree, gg__field(dims, "name"));
        return (gg_str_is(name, "dim") || gg_str_is(name, "axis")) &&
               mark(tree, gg__field(dims, "value"), rank, marked);
    }
    if (gg_node_is(dims, "tuple") || gg_node_is(dims, "list")) {
        for (uint32_t i = 0; i < gg__child_count(dims); i++)
            if (!mark(tree, gg__child(dims, i), rank, marked)) return false;
        return gg__child_count(dims) > 0;
    }
    if (!gg__whole_literal(tree, dims, &value) || value < -rank || value >= rank) return false;
    marked[value < 0 ? value + rank : value] = true;
    return true;
}

typedef struct unpacking {
    const gg_tree *tree;
    gg_str name, of; /* the name; "m.shape" */
    uint32_t bound, last;
} unpacking;

/* `a, b, n = m.shape` */
static bool note_unpacking(TSNode node, void *data) {
    unpacking *u = data;
    if (gg_node_is(node, "identifier") && gg__is_binding(node) && gg_str_equal(gg__text(u->tree, node), u->name))
        u->bound++;
    TSNode left = gg__field(node, "left");
    if (gg_node_is(node, "assignment") && gg_node_is(left, "pattern_list") &&
        gg_str_equal(gg__text(u->tree, gg__field(node, "right")), u->of) &&
        gg_str_equal(gg__text(u->tree, gg__child(left, gg__child_count(left) - 1)), u->name))
        u->last++;
    return true;
}

/* Is the size that of the mask's last dimension? */
static bool is_last_size(const gg_tree *tree, TSNode size, TSNode mask) {
    char shape[128], last[144];
    gg_str name = gg__text(tree, mask);
    if (name.len >= sizeof(shape) / 2) return false;
    snprintf(shape, sizeof(shape), "%.*s.shape", GG_STR_ARG(name));
    snprintf(last, sizeof(last), "%s[-1]", shape);
    unpacking u = {.tree = tree, .name = gg__text(tree, size), .of = gg_str_from(shape)};
    if (gg_str_is(gg__text(tree, size), last)) return true;
    if (!gg_node_is(size, "identifier")) return false;
    gg__visit(gg__function(size), note_unpacking, &u);
    return u.bound == 1 && u.last == 1;
}

/* `m.sum(dim=(-1, -2))`, `m.reshape(a * b, n).sum(dim=0)`: how many each index along one dimension of the mask chooses */
static bool counts(const gg_rule_input *in, TSNode node, gg__hits *h) {
    const gg_tree *tree = in->tree;
    node = value_of(tree, node);
    TSNode x = gg__call_operand(in, node, "sum", 1, true), dims = last_argument(node);
    if (ts_node_is_null(x)) x = gg__call_operand(in, node, "any", 1, true);
    if (ts_node_is_null(x)) return false;
    x = gg__strip_parentheses(x);
    TSNode function = gg__field(x, "function"), sizes = gg__field(x, "arguments");
    gg_str form = gg__called_name(tree, x);
    bool joined = gg_node_is(x, "call") && (gg_str_is(form, "reshape") || gg_str_is(form, "view"));
    h->mask = joined ? gg__field(function, "object") : x;
    gg__meta m = gg__infer(in, h->mask);
    if (m.sort != GG__TENSOR || m.rank < 2 || m.rank > GG__MAX_RANK || !is_mask(in, h->mask)) return false;
    bool marked[GG__MAX_RANK] = {false};
    h->rank = m.rank;
    if (joined) {
        h->axis = m.rank - 1;
        return gg__child_count(sizes) == 2 && mark(tree, dims, 2, marked) && marked[0] && !marked[1] &&
               is_last_size(tree, gg__child(sizes, 1), h->mask);
    }
    int32_t left = 0;
    if (!mark(tree, dims, m.rank, marked)) return false;
    for (int32_t i = 0; i < m.rank; i++) {
        if (marked[i]) continue;
        h->axis = i;
        left++;
    }
    return left == 1;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------------------- */

typedef struct uses {
    const gg_tree *tree;
    gg_str name;
    uint32_t from; /* what binds it */
    TSNode loop;
} uses;

static bool is_for_the_loop(TSNode node, void *data) {
    const uses *u = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) || ts_node_start_byte(node) < u->from) return true;
    return !gg_str_equal(gg__text(u->tree, node), u->name) || ts_node_eq(node, gg__field(u->loop, "right"));
}

/* The statement in front of the loop that binds the name which it goes over, and that nothing else reads. */
static TSNode binding_of(const gg_tree *tree, TSNode loop) {
    TSNode name = gg__field(loop, "right"), none = {0}, statement = none, right;
    for (TSNode at = ts_node_prev_named_sibling(loop); !ts_node_is_null(at) && ts_node_is_null(statement);
         at = ts_node_prev_named_sibling(at))
        if (gg__binds(tree, at, gg__text(tree, name))) statement = at;
    TSNode assignment = gg__child(statement, 0);
    right = gg__field(assignment, "right");
    uses u = {tree, gg__text(tree, name), ts_node_end_byte(statement), loop};
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(gg__field(assignment, "left"), "identifier") ||
        ts_node_is_null(right) || !gg__visit(gg__function(loop), is_for_the_loop, &u))
        return none;
    bool comes_back = gg__runs_from(loop) < ts_node_start_byte(loop);
    return comes_back ? none : statement;
}

typedef struct mentions {
    const gg_tree *tree;
    gg_str name;
    gg_span between;
    TSNode statement; /* but not in it */
} mentions;

static bool is_elsewhere(TSNode node, void *data) {
    const mentions *m = data;
    uint32_t at = ts_node_start_byte(node);
    return !gg_node_is(node, "identifier") || at < m->between.start || at >= m->between.end ||
           gg__covers(m->statement, gg_node_span(node)) || !gg_str_equal(gg__text(m->tree, node), m->name);
}

/* Does nothing speak of the tensor between there and the loop?  Then it is what it was. */
static bool stays(const gg_tree *tree, TSNode name, const gg__hits *h) {
    gg_span between = {ts_node_end_byte(gg__statement(name)), ts_node_start_byte(h->loop)};
    mentions m = {tree, gg__text(tree, name), between, h->statement};
    return between.start >= between.end || gg__visit(gg__function(h->loop), is_elsewhere, &m);
}

/* The name of what has as many elements in its first dimension as there are indices. */
static bool find_sized(const gg_rule_input *in, TSNode counted, gg__hits *h) {
    const gg_tree *tree = in->tree;
    TSNode node = positive(in, counted);
    h->sized = gg_node_is(node, "identifier") ? node : h->mask;
    return (gg_node_is(node, "identifier") || h->axis == 0) && stays(tree, h->sized, h) && stays(tree, h->mask, h);
}

bool gg__read_hits(const gg_rule_input *in, TSNode loop, gg__hits *out) {
    const gg_tree *tree = in->tree;
    TSNode right = gg__strip_parentheses(gg__field(loop, "right")), rows = {0};
    *out = (gg__hits){.loop = loop};
    if (!gg_node_is(loop, "for_statement") || !gg_node_is(gg__field(loop, "left"), "identifier") ||
        !ts_node_is_null(gg__field(loop, "alternative")))
        return false;
    if (gg_node_is(right, "identifier")) {
        out->statement = binding_of(tree, loop);
        right = gg__strip_parentheses(gg__field(gg__child(out->statement, 0), "right"));
    }
    TSNode listed = gg__call_operand(in, right, "tolist", 0, true);
    out->tensors = ts_node_is_null(listed);
    if (!out->tensors) right = gg__strip_parentheses(listed);
    TSNode chosen = {0};
    if (gg_node_is(right, "subscript") && is_zero(tree, gg__field(right, "subscript")))
        chosen = gg__nonzero_tuple_of(in, gg__field(right, "value"));
    else if (gg__is_flattening(in, right, &rows))
        chosen = gg__nonzero_rows_of(in, rows);
    else if (out->tensors) /* of lists of one number each nothing can be indexed */
        chosen = gg__nonzero_rows_of(in, right), out->rows = true;
    return !ts_node_is_null(chosen) && counts(in, positive(in, chosen), out) && find_sized(in, chosen, out);
}
