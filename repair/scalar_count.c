/* Numbers taken out of tensors: what Python counts with them.  See scalar.h. */
#include "repair/scalar.h"

#include "repair/infer.h"

#include <math.h>

static const double exact = 0x1p53; /* a double holds every integer up to here */

/* An integer becomes a double: exact, or rounded as Python does it, unless int64 lost something before. */
static bool to_float(gg__scalar_uses *u, gg__scalar *s) {
    gg__scalar_want(u, GG__TO_DOUBLE);
    double most = u->approximate ? 0x1p62 : exact; /* above, int64 may have overflowed */
    bool fine = s->sort == GG__SCALAR_FLOAT || !s->counted || s->magnitude <= most;
    s->sort = GG__SCALAR_FLOAT;
    s->magnitude = INFINITY;
    s->counted = true;
    return fine;
}

/* `k / s` becomes `torch.tensor(k, dtype=torch.float64) / s`: of a number torch takes the reciprocal first, and rounds twice. */
static bool is_divided_by(gg__scalar_uses *u, gg__scalar *s, TSNode number) {
    gg_str torch = gg__module_alias(u->in.tree, number, "torch");
    bool fine = s->positive || s->nonzero;
    if (!to_float(u, s) || !fine || torch.len == 0 || gg__has_comment(u->in.tree, gg_node_span(number))) return false;
    s->natural = s->positive = s->nonzero = false;
    u->rewrites = true;
    if (u->edits == NULL) return true;
    gg_span at = gg_node_span(number);
    gg_edits_add(u->edits, (gg_span){at.start, at.start}, gg_arena_printf(u->arena, "%.*s.tensor(", GG_STR_ARG(torch)));
    gg_edits_add(u->edits, (gg_span){at.end, at.end},
                 gg_arena_printf(u->arena, ", dtype=%.*s.float64)", GG_STR_ARG(torch)));
    return true;
}

/* `1 / s` is what reciprocal() does; any other quotient it rounds twice.  On CUDA `s / k` multiplies by a reciprocal. */
static bool divides(gg__scalar_uses *u, gg__scalar *s, bool is_left, TSNode number, bool literal, double value,
                    bool whole) {
    if (!is_left && !(literal && value == 1) && !u->approximate) return is_divided_by(u, s, number);
    bool rounded = whole && s->sort != GG__SCALAR_FLOAT && s->magnitude > exact; /* and again when it is divided */
    if (!literal || !u->on_cpu || (rounded && !u->approximate)) return false;
    bool fine = is_left ? value != 0 : value == 1 && (s->positive || s->nonzero);
    s->natural = s->natural && value > 0;
    s->positive = s->positive && value > 0 && value <= 1 && is_left;
    s->nonzero = false;
    return to_float(u, s) && fine;
}

/* `n + 1e-6` is zero where n is -1e-6, which no float32 is, and no integer. */
static bool is_off_grid(const gg__scalar *s, double value) {
    bool narrow = gg__is_floating(s->grid) && !gg_str_is(s->grid, "torch.float64");
    if (s->counted || fabs(value) < 1e-30 || fabs(value) > 1e30) return false; /* no float of its own */
    return narrow ? (double)(float)value != value : !gg__is_floating(s->grid) && s->grid.len && value != floor(value);
}

static void track_sign(gg__scalar *s, char op, bool literal, double value) {
    s->nonzero = literal && op != '*' && is_off_grid(s, value);
    bool natural = s->natural, positive = s->positive;
    s->natural = natural && literal && value >= 0 && op != '-';
    s->positive = s->natural && (op == '+' ? positive || value > 0 : positive && value >= 1);
}

/* How large it is behind `s + k`, `k - s`, … */
static void track_size(gg__scalar *s, char op, double bound, bool literal, double value, bool is_left) {
    bool scales = literal && value != 0 && (op == '*' || (op == '/' && is_left)), topped = s->topped && literal;
    if (op == '/')
        s->largest = scales ? s->largest / fabs(value) : 0;
    else
        s->largest = op == '*' ? s->largest * bound : s->largest == 0 ? 0 : s->largest + bound;
    s->finite = s->finite && s->largest > 0 && s->largest < 1e300;
    if (scales && value > 0) {
        s->top *= op == '*' ? value : 1 / value;
    } else if (scales) {
        s->topped = s->natural;
        s->top = 0;
    } else if (op == '-' && !is_left) {
        s->topped = literal && s->natural;
        s->top = value;
    } else {
        s->topped = topped && (op == '+' || op == '-');
        s->top += op == '-' ? -value : value;
    }
}

/* With another number: what becomes of it. */
static bool counts(gg__scalar_uses *u, gg__scalar *s, gg__meta other, TSNode other_node, char op, bool is_left) {
    double value = INFINITY;
    bool literal = gg__literal_value(u->in.tree, other_node, &value), whole = other.sort != GG__SCALAR_FLOAT;
    if (other.sort == GG__UNKNOWN || other.sort == GG__TENSOR) return false;
    gg__scalar_values(s, u->in.tree, other_node, op, is_left);
    double bound = gg__number_bound(u->in.tree, other_node);
    track_size(s, op, bound, literal, value, is_left);
    if (op == '/') return divides(u, s, is_left, other_node, literal, value, whole);
    track_sign(s, op, literal, value);
    if (s->sort == GG__SCALAR_FLOAT || !whole) return to_float(u, s);
    gg__scalar_want(u, GG__TO_LONG);
    s->magnitude = op == '*' ? s->magnitude * bound : s->magnitude + bound;
    if (op == '*' && bound == 0) s->magnitude = 0;
    s->sort = GG__SCALAR_INT;
    s->counted = true;
    return !u->settled || u->widening == GG__TO_LONG || s->magnitude <= exact;
}

/* `s ** 2` is `s * s`, exact in double precision when the tensor's has half of it, and where all values were tried; else, where Python does not
 * raise since it is too large, to within the last bit, as `s ** 0.5` is a root. */
static bool power(gg__scalar_uses *u, gg__scalar *s, TSNode exponent, bool is_left) {
    double value = 0;
    if (!is_left || !gg__literal_value(u->in.tree, exponent, &value)) return false;
    s->topped = false;
    if (value == 0.5 && s->natural && u->approximate) {
        s->largest = s->largest > 0 ? fmax(s->largest, 1) : 0;
        return to_float(u, s);
    }
    if (value != 2 || !gg_node_is(gg__strip_parentheses(exponent), "integer")) return false;
    bool squares = gg__scalar_squares(s), narrow = !s->counted && !gg_str_is(u->dtype, "torch.float64");
    s->natural = true;
    s->positive = s->nonzero = false;
    s->largest *= s->largest;
    s->finite = s->finite && s->largest < 1e300;
    bool near = u->approximate && s->largest > 0 && s->largest < gg__largest(GG_STR("torch.float64"));
    if (s->sort == GG__SCALAR_FLOAT) return to_float(u, s) && (narrow || squares || near);
    gg__scalar_want(u, GG__TO_LONG);
    s->sort = GG__SCALAR_INT;
    s->magnitude *= s->magnitude;
    s->counted = true;
    return !u->settled || u->widening == GG__TO_LONG || s->magnitude <= exact;
}

bool gg__is_arithmetic(char op) {
    return op == '+' || op == '-' || op == '*' || op == '/';
}

bool gg__scalar_in_binary(gg__scalar_uses *u, TSNode parent, TSNode use, gg__scalar *s, bool *done) {
    TSNode left = gg__field(parent, "left"), right = gg__field(parent, "right");
    bool is_left = ts_node_eq(left, use);
    TSNode other_node = is_left ? right : left;
    gg_str op = gg__text(u->in.tree, gg__field(parent, "operator"));
    if (gg_str_is(op, "**")) return power(u, s, right, is_left);
    if (op.len != 1 || !gg__is_arithmetic(op.ptr[0])) return false;
    gg__meta other = gg__scalar_operand(u, other_node);
    if (other.sort != GG__TENSOR) {
        u->at_once = u->at_once || ts_node_eq(use, u->taken);
        return counts(u, s, other, other_node, op.ptr[0], is_left);
    }
    *done = true;
    /* `tensor / number` multiplies by the reciprocal on CUDA, `number / tensor` everywhere */
    return (op.ptr[0] != '/' || (!is_left && (u->on_cpu || u->approximate))) &&
           gg__scalar_meets(u, *s, other, op.ptr[0]);
}
