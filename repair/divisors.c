/* Divisors, and operands of roots and logarithms, in arms that are not taken.  See select.h. */
#include "repair/alias.h"
#include "repair/gradients.h"
#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

enum { MAX_BACK = 16, MAX_STEPS = 500 };

TSNode gg__guarded(const gg__select *s, const gg__arm *arm, TSNode node, const char **fill) {
    TSNode none = {0}, left = gg__field(node, "left"), right = gg__field(node, "right");
    gg__inference look = {.in = s->in};
    *fill = "1";
    if (!gg_node_is(node, "binary_operator")) {
        TSNode operand = gg__guardable(&look, node, fill);
        gg__meta m = gg__infer_in(s, arm, operand);
        gg_str name = gg__called_name(s->in->tree, node); /* these overflow where they are far from zero */
        bool grows = gg_str_is(name, "exp") || gg_str_is(name, "expm1");
        return m.sort == GG__TENSOR && (grows || !gg__is_away_from_zero(s->in, operand, m)) ? operand : none;
    }
    gg_str op = gg__text(s->in->tree, gg__field(node, "operator"));
    if (gg_str_is(op, "**")) {
        gg__meta base = gg__infer_in(s, arm, left), exponent = gg__infer_in(s, arm, right);
        bool rough = gg__has_root(base, exponent) && (exponent.value < 0 || floor(exponent.value) != exponent.value);
        return rough ? left : none;
    }
    gg__meta m = gg__infer_in(s, arm, right);
    bool divides = gg_str_is(op, "/") && m.sort == GG__TENSOR && !gg_str_is(m.dtype, "torch.bool");
    return divides && !gg__is_away_from_zero(s->in, right, m) ? right : none;
}

typedef struct origin {
    const gg__select *s;
    const gg__arm *arm;
    uint32_t back;
    uint32_t *steps; /* all values looked at */
} origin;

static bool is_smooth_name(TSNode node, void *data);

/* Is the name what the caller gave, here?  It has no value before that is known. */
static bool is_given(const gg_tree *tree, TSNode node, gg_str name) {
    TSNode function = gg__function(node), body = gg__field(function, "body");
    if (!gg_node_is(function, "function_definition")) return false;
    for (TSNode at = node; !ts_node_is_null(at) && !ts_node_eq(at, body); at = gg__parent(at)) {
        if (gg_node_is(at, "for_statement") || gg_node_is(at, "while_statement")) return !gg__binds(tree, body, name);
        bool value = gg_node_is(gg__parent(at), "assignment") || gg_node_is(gg__parent(at), "augmented_assignment");
        for (TSNode before = ts_node_prev_named_sibling(at); !value && !ts_node_is_null(before);
             before = ts_node_prev_named_sibling(before)) {
            bool other = gg_node_is(gg__parent(before), "if_statement") &&
                         !ts_node_eq(before, gg__field(gg__parent(before), "condition"));
            TSNode done = other ? gg__field(before, "condition") : before; /* other arms have not run */
            if (!ts_node_is_null(done) && gg__binds(tree, done, name)) return false;
        }
    }
    return true;
}

/* Each name's value, and what that is made of.  Integers and truths have no gradient, nor has what they are made of.  In front of the branch a divisor
 * stays what it is. */
static bool is_smooth(const origin *o, TSNode value) {
    gg__extraction e;
    if (gg__match_extraction(o->s->in, value, &e))
        return true; /* a number has no gradient, nor has the tensor in its place */
    bool in_front = ts_node_end_byte(value) <= ts_node_start_byte(o->s->statement);
    gg__meta m = in_front ? gg__infer(o->s->in, value) : gg__infer_in(o->s, o->arm, value);
    if (o->back >= MAX_BACK || ++*o->steps > MAX_STEPS || m.sort == GG__UNKNOWN || !m.smooth) return false;
    if (m.sort == GG__TENSOR && !gg__is_floating(m.dtype)) return true;
    origin next = {o->s, o->arm, o->back + 1, o->steps};
    return gg__visit(value, is_smooth_name, &next);
}

static bool is_smooth_name(TSNode node, void *data) {
    const origin *o = data;
    const gg_tree *tree = o->s->in->tree;
    if (!gg_node_is(node, "identifier") || gg__is_member_name(node)) return true;
    gg_str name = gg__text(tree, node);
    if (!gg__is_local(tree, node, name) || gg__is_counter(tree, node)) return true;
    TSNode value = gg__value_at(tree, node, name);
    if (!ts_node_is_null(value)) return is_smooth(o, value);
    return is_given(tree, node, name);
}

bool gg__is_made_smoothly(const gg__select *s, const gg__arm *arm, TSNode node) {
    uint32_t steps = 0;
    origin o = {s, arm, 0, &steps};
    if (is_smooth(&o, node)) return true;
    return gg__hinder(s->in, node, GG__ROUGH_ORIGIN);
}

typedef struct search {
    const gg__select *s;
    const gg__arm *arm;
} search;

static bool has_smooth_divisor(TSNode node, void *data) {
    const search *in = data;
    const char *fill;
    TSNode operand = gg__guarded(in->s, in->arm, node, &fill);
    return ts_node_is_null(operand) || gg__is_made_smoothly(in->s, in->arm, operand);
}

bool gg__divisors_are_smooth(const gg__select *s, const gg__arm *arm, TSNode node) {
    search in = {s, arm};
    return gg__visit(node, has_smooth_divisor, &in);
}
