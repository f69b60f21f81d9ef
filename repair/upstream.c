/* Gradients of what is made in front of a branch.  See gradients.h.
 *
 * DESIGN  A root has an infinite slope at zero, and zero times infinity is NaN.  What an arm reads gets a gradient of zeros where the arm was not taken; when it
 * was left to Python it got none, and branches are written to keep it so: `if theta < 1e-4: return v` in front of `v * theta / torch.sin(theta)`, theta being
 * an acos.  So the lines that give such a name its value are looked through for what has such a slope, and so are the functions and modules of the file that they
 * call, the values that the file's callers give a parameter, and the function around for what it captures. */
#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/infer.h"
#include "repair/kept.h"
#include "repair/scalar.h"

enum { MAX_NAMES = 48, MAX_DEPTH = 32, MAX_STEPS = 4000 };

typedef struct progress {
    struct {
        uint32_t scope;
        gg_str name;
    } seen[MAX_NAMES]; /* that were looked at, or are */
    uint32_t count, steps;
} progress;

typedef struct upstream {
    const gg_rule_input *in; /* with facts in the function of the statement alone */
    const gg_rule_input *blind;
    TSNode function;
    uint32_t before; /* what is bound from there on is the branch's own, or behind it */
    progress *progress;
} upstream;

static bool is_rough(const upstream *u, TSNode node);
static bool is_made_roughly(const upstream *u, gg_str name);

/* Was the name in that scope looked at before?  Then nothing is added; nor where there are too many, which is `*full`. */
static bool was_seen(progress *p, uint32_t scope, gg_str name, bool *full) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->seen[i].scope == scope && gg_str_equal(p->seen[i].name, name)) return true;
    *full = p->count == MAX_NAMES;
    if (*full) return false;
    p->seen[p->count].scope = scope;
    p->seen[p->count++].name = name;
    return false;
}

/* ---- where gradients come from -------------------------------------------------------------------------------------------------- */

/* `x.shape`, `x.new_zeros(3)`, `torch.ones_like(x)`: of a tensor's sizes alone. */
static bool is_of_sizes(const gg_tree *tree, TSNode node) {
    static const char *const members[] = {"shape", "size", "device", "dtype", "dim", "ndim", "numel"};
    static const char *const makers[] = {"new_zeros",  "new_ones",   "new_full",  "new_empty",
                                         "new_tensor", "zeros_like", "ones_like", "full_like",
                                         "empty_like", "rand_like",  "randn_like"};
    TSNode function = gg__field(node, "function");
    if (!gg_node_is(node, "call"))
        return gg__is_one_of(gg__text(tree, gg__field(node, "attribute")), members, GG_COUNT(members));
    gg_str name = gg__called_name(tree, node);
    return gg_node_is(function, "attribute") &&
           (gg__is_one_of(name, members, GG_COUNT(members)) || gg__is_one_of(name, makers, GG_COUNT(makers)));
}

/* `x.detach()`, `x > 0`, sizes. */
static bool stops_gradients(const gg_tree *tree, TSNode node) {
    static const char *const names[] = {"detach", "item", "tolist", "long", "int", "bool", "argmax", "argmin", "len"};
    if (gg_node_is(node, "comparison_operator") || is_of_sizes(tree, node)) return true;
    return gg_node_is(node, "call") && gg__is_one_of(gg__called_name(tree, node), names, GG_COUNT(names));
}

bool gg__lets_gradients_by(const gg_tree *tree, TSNode node, TSNode whole) {
    for (TSNode at = node; !ts_node_is_null(at); at = gg__parent(at)) {
        if (stops_gradients(tree, at)) return false;
        if (ts_node_eq(at, whole)) return true;
    }
    return true;
}

/* A variable of the module, `SCALE = nn.Parameter(…)`: no import, function or class. */
static bool is_global_variable(const gg_tree *tree, gg_str name) {
    TSNode root = gg_tree_root(tree);
    for (uint32_t i = 0; i < gg__child_count(root); i++)
        if (gg_node_is(gg__child(root, i), "expression_statement") && gg__binds(tree, gg__child(root, i), name))
            return true;
    return false;
}

/* Floating numbers that are someone else's, or what nobody knows, and what is made of such: no modules' names and no constants. */
static bool has_origin(const gg_rule_input *in, TSNode node, uint32_t depth) {
    const gg_tree *tree = in->tree;
    if (depth > MAX_DEPTH) return true;
    if (gg_node_is(node, "identifier")) {
        gg_str name = gg__text(tree, node);
        if (gg__is_member_name(node)) return false;
        if (!gg__is_local(tree, node, name)) return is_global_variable(tree, name);
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

/* ---- infinite slopes ------------------------------------------------------------------------------------------------------------ */

/* `x + 1e-6`, `v + self.eps`, `x.clamp(min=1e-6)`: as it is written, of what nothing is known. */
static bool is_padded(const gg_tree *tree, TSNode node) {
    static const char *const names[] = {"clamp", "clamp_min", "clip", "maximum", "max"};
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "call")) return gg__is_one_of(gg__called_name(tree, node), names, GG_COUNT(names));
    if (!gg_node_is(node, "binary_operator") || !gg_str_is(gg__text(tree, gg__field(node, "operator")), "+"))
        return false;
    static const char *const sides[] = {"left", "right"};
    for (size_t i = 0; i < GG_COUNT(sides); i++) {
        TSNode side = gg__field(node, sides[i]);
        if (gg_node_is(side, "float") || gg_node_is(side, "integer") ||
            gg_str_contains(gg__text(tree, side), GG_STR("eps")))
            return true;
    }
    return false;
}

static bool is_away(const gg_rule_input *in, TSNode node) {
    gg__meta m = gg__infer_dividing(in, node);
    if (m.sort == GG__UNKNOWN) return is_padded(in->tree, node);
    return gg__is_number(m) || (m.sort == GG__TENSOR && gg__is_away_from_zero(in, node, m));
}

/* A divisor, or the operand of a root. */
static bool may_be_near_zero(const gg_rule_input *in, TSNode node) {
    return !ts_node_is_null(node) && may_have_gradient(in, node) && !is_away(in, node);
}

/* A power that is below one, or that nobody knows. */
static bool is_root(const gg_rule_input *in, TSNode exponent) {
    gg__meta m = gg__infer_dividing(in, exponent);
    return !gg__is_number(m) || !m.seen || (m.value < 1 && m.value != 0);
}

/* Calls by name, of torch or of a tensor. */
static bool is_rough_call(const gg_rule_input *in, TSNode call) {
    static const char *const near_zero[] = {"sqrt",  "rsqrt", "log",    "log2",   "log10", "reciprocal",
                                            "sqrt_", "log_",  "rsqrt_", "lgamma", "hypot", "xlogy"};
    static const char *const elsewhere[] = {
        "acos",    "asin",    "arccos", "arcsin",   "acosh",       "arccosh",      "atanh",   "arctanh", "exp",
        "expm1",   "exp2",    "log1p",  "sinh",     "cosh",        "logit",        "erfinv",  "tan",     "svd",
        "eigh",    "eig",     "qr",     "svdvals",  "inverse",     "inv",          "pinv",    "det",     "logdet",
        "slogdet", "digamma", "exp_",   "eigvalsh", "float_power", "logcumsumexp", "cumprod", "prod"};
    static const char *const quotients[] = {"div", "div_", "true_divide", "divide"};
    static const char *const powers[] = {"pow", "pow_"};
    static const char *const deviations[] = {"std", "var", "std_mean", "var_mean", "layer_norm"};
    const gg_tree *tree = in->tree;
    TSNode function = gg__field(call, "function"), object = gg__field(function, "object");
    TSNode arguments = gg__field(call, "arguments");
    gg_str name = gg__called_name(tree, call);
    if (!gg_node_is(function, "attribute") || gg__refers_to(tree, object, "math")) return false;
    bool free = gg__is_torchs(tree, call);
    TSNode x = free ? gg__child(arguments, 0) : object, other = gg__child(arguments, free ? 1 : 0);
    gg__meta m = gg__infer(in, call);
    bool smooth = m.sort == GG__TENSOR && m.smooth;
    if (gg__is_one_of(name, near_zero, GG_COUNT(near_zero))) return may_be_near_zero(in, x);
    if (gg__is_one_of(name, elsewhere, GG_COUNT(elsewhere))) return may_have_gradient(in, x) && !smooth;
    if (gg__is_one_of(name, quotients, GG_COUNT(quotients))) return may_be_near_zero(in, other);
    if (gg__is_one_of(name, powers, GG_COUNT(powers))) return is_root(in, other) && may_be_near_zero(in, x);
    return gg__is_one_of(name, deviations, GG_COUNT(deviations)) && may_have_gradient(in, x) && m.sort == GG__TENSOR &&
           !m.smooth;
}

/* An operation whose slope is infinite somewhere, at what it is given here. */
static bool is_rough_operation(const gg_rule_input *in, TSNode node) {
    if (gg_node_is(node, "call")) return is_rough_call(in, node);
    TSNode left = gg__field(node, "left"), right = gg__field(node, "right");
    gg_str op = gg__text(in->tree, gg__field(node, "operator"));
    if (gg_str_is(op, "**") || gg_str_is(op, "**=")) return is_root(in, right) && may_be_near_zero(in, left);
    return (gg_str_is(op, "/") || gg_str_is(op, "/=")) && may_be_near_zero(in, right);
}

/* ---- through the file ------------------------------------------------------------------------------------------------------------ */

/* A function of the file, or the forward() of a module of it. */
static bool is_gentle_function(TSNode definition, void *data) {
    const upstream *u = data;
    bool full = false;
    uint32_t scope = ts_node_start_byte(definition);
    if (was_seen(u->progress, scope, GG_STR("()"), &full)) return true;
    upstream inside = *u;
    inside.in = u->blind;
    inside.function = definition;
    inside.before = UINT32_MAX;
    return !full && !is_rough(&inside, gg__field(definition, "body"));
}

static bool is_rough(const upstream *u, TSNode node) {
    const gg_tree *tree = u->in->tree;
    if (++u->progress->steps > MAX_STEPS) return true;
    if (gg_node_is(node, "identifier")) return !gg__is_member_name(node) && is_made_roughly(u, gg__text(tree, node));
    gg__extraction e;
    bool call = gg_node_is(node, "call");
    if (stops_gradients(tree, node) ||
        (call && (gg__match_extraction(u->in, node, &e) || !may_have_gradient(u->in, node))))
        return false;
    if (is_rough_operation(u->in, node)) return true;
    if (call) {
        gg__habits habits;
        TSNode modules = gg__modules_called(tree, gg__field(node, "function"));
        if (!gg__each_definition(tree, gg__called_name(tree, node), is_gentle_function, (void *)u)) return true;
        uint32_t seen = u->progress->count;
        if (!ts_node_is_null(modules) &&
            !gg__are_gentle_modules(tree, modules, is_gentle_function, (void *)u, &habits) && u->progress->count > seen)
            return true; /* a class of the file is among them, which is not */
    }
    for (uint32_t i = 0; i < gg__child_count(node); i++)
        if (is_rough(u, gg__child(node, i))) return true;
    return false;
}

typedef struct binding_search {
    const upstream *u;
    gg_str name;
} binding_search;

/* `t`, `t[1]`, of the left side of an assignment. */
static bool is_stored(const binding_search *b, TSNode left) {
    while (gg_node_is(left, "subscript")) left = gg__field(left, "value");
    return gg_node_is(left, "identifier") && gg_str_equal(gg__text(b->u->in->tree, left), b->name);
}

static bool is_made_gently(TSNode node, void *data) {
    const binding_search *b = data;
    const gg_tree *tree = b->u->in->tree;
    if (ts_node_start_byte(node) >= b->u->before) return true;
    bool augments = gg_node_is(node, "augmented_assignment");
    TSNode left = gg__field(node, "left"), object = gg__field(gg__field(node, "function"), "object");
    if (gg_node_is(node, "call")) { /* r.sqrt_() */
        bool changes = gg_str_ends_with(gg__called_name(tree, node), GG_STR("_")) && is_stored(b, object);
        return !changes || gg__without_gradients(tree, node) || !is_rough_operation(b->u->in, node);
    }
    bool names = gg_node_is(node, "named_expression");
    if (!augments && !names && !gg_node_is(node, "assignment")) return true;
    if ((!gg__binds(tree, node, b->name) && !is_stored(b, left)) || gg__without_gradients(tree, node)) return true;
    bool rough = augments && is_rough_operation(b->u->in, node);
    return !rough && !is_rough(b->u, gg__field(node, names ? "value" : "right"));
}

typedef struct caller_search {
    const upstream *u;
    gg_str function, parameter;
    uint32_t place; /* among positional arguments */
} caller_search;

static bool gives_gently(TSNode node, void *data) {
    const caller_search *c = data;
    const gg_tree *tree = c->u->in->tree;
    TSNode function = gg__function(node), arguments = gg__field(node, "arguments");
    if (!gg_node_is(node, "call") || !gg_str_equal(gg__called_name(tree, node), c->function) ||
        gg__lists_inputs(tree, function))
        return true;
    TSNode value = gg__child(arguments, c->place);
    if (gg_node_is(value, "keyword_argument")) value = (TSNode){0};
    for (uint32_t i = 0; i < gg__child_count(arguments); i++) {
        TSNode named = gg__child(arguments, i);
        if (gg_node_is(named, "keyword_argument") &&
            gg_str_equal(gg__text(tree, gg__field(named, "name")), c->parameter))
            value = gg__field(named, "value");
    }
    upstream there = {c->u->blind, c->u->blind, function, ts_node_start_byte(node), c->u->progress};
    return ts_node_is_null(value) || !is_rough(&there, value);
}

/* What the file's calls give the parameter. */
static bool is_given_roughly(const upstream *u, gg_str name) {
    const gg_tree *tree = u->in->tree;
    TSNode parameters = gg__field(u->function, "parameters"), parameter = gg__parameter(tree, u->function, name);
    caller_search c = {u, gg__text(tree, gg__field(u->function, "name")), name, 0};
    if (ts_node_is_null(parameter)) return false;
    c.place = gg__place_of_parameter(parameters, parameter);
    bool method = !ts_node_is_null(gg__class_around(u->function));
    if (method && gg_str_is(gg__text(tree, gg__child(parameters, 0)), "self")) c.place--;
    return !gg__visit(gg_tree_root(tree), gives_gently, &c);
}

/* By any of the lines that give it a value, or by who calls its function, or around it. */
static bool is_made_roughly(const upstream *u, gg_str name) {
    const gg_tree *tree = u->in->tree;
    binding_search b = {u, name};
    bool full = false;
    if (!gg_node_is(u->function, "function_definition")) return false;
    if (was_seen(u->progress, ts_node_start_byte(u->function), name, &full)) return false;
    if (full || !gg__visit(u->function, is_made_gently, &b) || is_given_roughly(u, name)) return true;
    TSNode around = gg__function(gg__parent(u->function));
    if (gg__binds(tree, u->function, name) || !gg_node_is(around, "function_definition")) return false;
    upstream outer = {u->blind, u->blind, around, ts_node_end_byte(around), u->progress};
    return is_made_roughly(&outer, name);
}

/* ---- the question ----------------------------------------------------------------------------------------------------------------- */

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
    gg_site nowhere;
    gg_rule_input blind = gg__blind(in, &nowhere);
    upstream u = {in, &blind, gg__function(statement), known_before(statement), &p};
    return !gg__without_gradients(in->tree, statement) && is_made_roughly(&u, name);
}

typedef struct reading {
    const gg_tree *tree;
    TSNode whole;
    gg_str name;
} reading;

static bool is_not_reached(TSNode node, void *data) {
    const reading *r = data;
    return !gg_node_is(node, "identifier") || gg__is_member_name(node) ||
           !gg_str_equal(gg__text(r->tree, node), r->name) || !gg__lets_gradients_by(r->tree, node, r->whole);
}

bool gg__gives_gradient(const gg_tree *tree, TSNode whole, gg_str name) {
    reading r = {tree, whole, name};
    return !gg__visit(whole, is_not_reached, &r);
}

typedef struct difference {
    const gg_rule_input *in;
    TSNode statement, own, other;
} difference;

static bool is_read_by_both(TSNode node, void *data) {
    const difference *d = data;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node) ||
        !gg__lets_gradients_by(d->in->tree, node, d->own))
        return true;
    gg_str name = gg__text(d->in->tree, node);
    return gg__gives_gradient(d->in->tree, d->other, name) || !gg__is_made_roughly(d->in, d->statement, name);
}

bool gg__have_gentle_origins(const gg_rule_input *in, TSNode statement, TSNode a, TSNode b) {
    difference first = {in, statement, a, b}, second = {in, statement, b, a};
    return gg__visit(a, is_read_by_both, &first) && gg__visit(b, is_read_by_both, &second);
}
