/* Numbers taken out of tensors: one use at a time.  See scalar.h.
 *
 * DESIGN  All uses are asked twice.  The first time they say which precision they want: Python counts integers without bound and everything else
 * in double precision.  Then that is settled, and each says whether it can do with it.  A tensor without dimensions takes no part in promotion
 * where it meets one of its kind that has some, so there it does what the number does. */
#include "repair/scalar.h"

#include "repair/infer.h"

#include <math.h>

static const double exact = 0x1p53; /* a double holds every integer up to here */

bool gg__scalar_want(gg__scalar_uses *u, gg__widening widening) {
    if (!u->settled && widening > u->widening) u->widening = widening;
    return true;
}

static gg_str dtype_now(const gg__scalar_uses *u) {
    if (u->widening == GG__TO_DOUBLE) return GG_STR("torch.float64");
    return u->widening == GG__TO_LONG ? GG_STR("torch.int64") : u->dtype;
}

/* Does an integer or bool, taken in by `op`, leave the other's dtype and get its value? */
static bool meets_whole(const gg__scalar_uses *u, gg__scalar s, gg__meta other, char op) {
    gg_str dtype = dtype_now(u);
    if (gg__is_bool(dtype) && op != '+' && op != '*') return false;
    if (gg__is_floating(other.dtype)) return !s.counted || s.magnitude <= exact;
    if (gg__is_floating(dtype)) return false; /* it would promote */
    if (gg__is_bool(other.dtype))
        return gg_str_is(dtype, "torch.int64") && s.sort == GG__SCALAR_INT && (op == '+' || op == '*');
    int bits = gg__bits_of(other.dtype);
    return bits &&
           (gg_str_equal(dtype, other.dtype) || (gg__bits_of(dtype) < bits && !gg_str_is(other.dtype, "torch.uint8")));
}

bool gg__scalar_takes(gg__scalar_uses *u, gg__meta other) {
    bool lowered = other.vague == GG__LOWERED && other.rank > 0 && u->approximate;
    u->lowered = u->lowered || lowered;
    return !other.vague || lowered;
}

/* A half overflows, and makes zero of what is small, where a number beside it does not. */
static bool fits_half(const gg__scalar *s) {
    for (size_t i = 0; i < s->value_count; i++) {
        double size = fabs(s->values[i]);
        if (size != 0 && !(size >= 0x1p-14 && size <= gg__largest(GG_STR("torch.float16")))) return false;
    }
    return s->value_count > 0;
}

bool gg__scalar_meets(gg__scalar_uses *u, gg__scalar s, gg__meta other, char op) {
    if (other.sort != GG__TENSOR || !gg__scalar_takes(u, other)) return false;
    if (u->lowered && (other.rank == 0 || !fits_half(&s))) return false; /* of another dtype than it seems */
    u->count++;
    if (u->one_dtype && (other.vague || !gg_str_equal(u->dtype, other.dtype))) return false;
    if (u->by_default && other.rank == 0) return false;
    if (!u->settled) return true;
    gg_str dtype = dtype_now(u);
    bool same = gg_str_equal(dtype, other.dtype), floating = s.sort == GG__SCALAR_FLOAT;
    if (op == '=') return same;
    /* Without dimensions both take part: a double holds every float, and a float decides over an integer. */
    bool decides =
        floating ? gg_str_is(other.dtype, "torch.float64") : gg__is_floating(other.dtype) && !gg__is_floating(dtype);
    if (other.rank == 0 && !same && !decides) return false;
    if (gg__is_half(other.dtype) && (!same || s.counted)) return false;
    return floating ? gg__is_floating(other.dtype) : meets_whole(u, s, other, op);
}

static TSNode climb(gg__scalar_uses *u, TSNode *use, gg__scalar *s) {
    TSNode parent = gg__parent(*use);
    while (gg_node_is(parent, "parenthesized_expression") || gg_node_is(parent, "unary_operator")) {
        if (gg_node_is(parent, "unary_operator")) {
            if (gg_str_is(gg__text(u->in.tree, gg__field(parent, "operator")), "~")) return (TSNode){0};
            if (s->sort != GG__SCALAR_FLOAT) {
                gg__scalar_want(u, GG__TO_LONG);
                *s = (gg__scalar){.sort = GG__SCALAR_INT,
                                  .counted = true,
                                  .magnitude = s->magnitude,
                                  .natural = s->natural,
                                  .largest = s->largest,
                                  .finite = s->finite};
            }
            s->topped = s->natural;
            s->top = 0;
            s->natural = s->positive = false;
            s->value_count = 0;
        }
        *use = parent;
        parent = gg__parent(parent);
    }
    return parent;
}

gg__meta gg__scalar_operand(const gg__scalar_uses *u, TSNode node) {
    gg__meta m = gg__infer_loosely(&u->in, node);
    gg__extraction e;
    gg__scalar element;
    if (gg__scalar_element(u, gg__strip_parentheses(node), &element)) return (gg__meta){.sort = element.sort};
    if (m.sort == GG__UNKNOWN && gg__match_extraction(&u->in, gg__strip_parentheses(node), &e))
        m = (gg__meta){.sort = e.scalar.sort};
    if (m.sort == GG__UNKNOWN) m = (gg__meta){.sort = gg__number_sort(u->in.tree, node)};
    return m;
}

static bool in_comparison(gg__scalar_uses *u, TSNode parent, TSNode use, gg__scalar s) {
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    gg_str op = gg__text(u->in.tree, ts_node_child(parent, 1));
    bool known = false, is_left = ts_node_eq(gg__child(parent, 0), use);
    for (size_t i = 0; i < GG_COUNT(ops); i++) known = known || gg_str_is(op, ops[i]);
    return known && gg__child_count(parent) == 2 &&
           gg__scalar_meets(u, s, gg__infer_loosely(&u->in, gg__child(parent, is_left ? 1 : 0)), '<');
}

/* `h *= s` for a tensor that keeps its dtype */
static bool in_augmented(gg__scalar_uses *u, TSNode statement, TSNode use, gg__scalar s) {
    gg_str op = gg__text(u->in.tree, gg__field(statement, "operator"));
    TSNode left = gg__field(statement, "left");
    gg__meta target = gg__infer_loosely(&u->in, left);
    if (op.len != 2 || !gg__is_arithmetic(op.ptr[0]) || (op.ptr[0] == '/' && !u->on_cpu && !u->approximate))
        return false;
    return ts_node_eq(gg__field(statement, "right"), use) && gg_node_is(left, "identifier") &&
           !gg__is_bool(target.dtype) && (op.ptr[0] != '/' || gg__is_floating(target.dtype)) &&
           gg__scalar_meets(u, s, target, op.ptr[0]);
}

/* The name that a right side's value goes to: `a = v`, `a, b = v, w`; null when that is another thing. */
static TSNode target_of(TSNode value, TSNode parent) {
    bool several = gg_node_is(parent, "expression_list") || gg_node_is(parent, "tuple");
    TSNode assignment = several ? gg__parent(parent) : parent, left = gg__field(assignment, "left");
    if (!gg_node_is(assignment, "assignment") || !gg_node_is(gg__parent(assignment), "expression_statement") ||
        !ts_node_is_null(gg__field(assignment, "type")) ||
        !ts_node_eq(gg__field(assignment, "right"), several ? parent : value))
        return (TSNode){0};
    if (!several) return left;
    if (!gg_node_is(left, "pattern_list") && !gg_node_is(left, "tuple_pattern")) return (TSNode){0};
    TSNode found = {0};
    for (uint32_t i = 0; i < gg__child_count(parent); i++) {
        TSNode name = gg__child(left, i);
        if (!gg_node_is(name, "identifier")) return (TSNode){0};
        if (ts_node_eq(gg__child(parent, i), value)) found = name;
    }
    return gg__child_count(left) == gg__child_count(parent) ? found : (TSNode){0};
}

/* `s if s > 0 else 1.0`, which is a selection by then: another number. */
static bool is_selected(const gg__scalar_uses *u, TSNode parent, TSNode node, gg__scalar *s) {
    bool first = ts_node_eq(gg__child(parent, 0), node);
    if (!u->within || !gg_node_is(parent, "conditional_expression") || ts_node_eq(gg__child(parent, 1), node) ||
        gg__scalar_operand(u, gg__child(parent, first ? 2 : 0)).sort != s->sort)
        return false;
    *s = (gg__scalar){.sort = s->sort, .counted = true, .magnitude = INFINITY};
    return true;
}

/* `s = s if s > 0 else 1.0` */
static bool is_bound_to_itself(const gg__scalar_uses *u, TSNode target) {
    for (size_t i = 0; u->within && i < u->tracked_count; i++)
        if (gg_str_equal(u->tracked[i].name, gg__text(u->in.tree, target)))
            return !u->tracked[i].lists && !gg__is_rebound(u, &u->tracked[i], (gg_span){0});
    return false;
}

bool gg__scalar_use(gg__scalar_uses *u, TSNode node, gg__scalar s) {
    for (bool done = false;;) {
        TSNode parent = climb(u, &node, &s);
        while (is_selected(u, parent, node, &s)) {
            node = parent;
            parent = climb(u, &node, &s);
            if (is_bound_to_itself(u, target_of(node, parent))) return true;
        }
        if (gg_node_is(parent, "augmented_assignment")) return in_augmented(u, parent, node, s);
        if (gg_node_is(parent, "comparison_operator")) return in_comparison(u, parent, node, s);
        if (gg_node_is(parent, "subscript")) return gg__scalar_in_index(u, parent, node, s);
        if (gg__scalar_in_list(u, node, s)) return true;
        TSNode target = target_of(node, parent);
        if (gg_node_is(target, "subscript"))
            return gg__scalar_meets(u, s, gg__infer_loosely(&u->in, gg__field(target, "value")), '=');
        TSNode statement = gg__statement(node); /* half typed: none */
        if (!ts_node_is_null(target))
            return !ts_node_is_null(statement) && gg__scalar_track(u, target, ts_node_end_byte(statement), s, 0);
        if (gg_node_is(parent, "binary_operator")) {
            if (!gg__scalar_in_binary(u, parent, node, &s, &done)) return false;
            node = parent;
        } else if (!gg__scalar_in_call(u, &node, &s, &done)) {
            return false;
        }
        if (done) return true;
    }
}
