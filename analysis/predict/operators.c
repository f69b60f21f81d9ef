/* Arithmetic and comparison. */
#include "analysis/predict/predict.h"

#include <stdlib.h>

static gg__dtype promoted(const gg__value *a, const gg__value *b, gg_str op) {
    if (gg_str_is(op, "/")) return GG__FLOAT;
    gg__dtype x = a->dtype, y = b->dtype;
    if (x == GG__DTYPE_UNKNOWN || y == GG__DTYPE_UNKNOWN) {
        gg__dtype known = x == GG__DTYPE_UNKNOWN ? y : x;
        return known == GG__FLOAT ? GG__FLOAT : GG__DTYPE_UNKNOWN; /* what is joined with floats is not bool */
    }
    if (x == GG__BOOL && y == GG__BOOL)
        return gg_str_is(op, "&") || gg_str_is(op, "|") || gg_str_is(op, "^") ? GG__BOOL : GG__INT;
    return x > y ? x : y;
}

static void tell_operator(gg__walk *w, TSNode node, gg_str op, const gg__value *a, const gg__value *b) {
    GG__TELL(on_operator, w, node, op, a, b);
}

gg__value gg__eval_binary(gg__walk *w, TSNode node) {
    gg__value a = gg__eval(w, GG__FIELD(w, node, left)), b = gg__eval(w, GG__FIELD(w, node, right));
    gg_str op = gg__text_of(w, GG__FIELD(w, node, operator));
    tell_operator(w, node, op, &a, &b);
    if (gg__is_tensor(&a) || gg__is_tensor(&b)) {
        if ((gg__is_tensor(&a) ? b.kind : a.kind) == GG__STRING) return gg__of_kind(GG__STRING);
        gg__value out = gg__tensor(promoted(&a, &b, op));
        out.confirmed = gg__doubt_of_two(&a, &b);
        out.zero_dim = (a.zero_dim || a.kind == GG__NUMBER) && (b.zero_dim || b.kind == GG__NUMBER);
        out.folded = (a.folded || a.kind == GG__NUMBER) && (b.folded || b.kind == GG__NUMBER);
        out.constant = out.folded && out.zero_dim && (a.constant || b.constant);
        return out;
    }
    if (a.kind == GG__ARRAY || b.kind == GG__ARRAY) {
        gg__value out = gg__of_kind(GG__ARRAY);
        out.folded = (a.folded || a.kind == GG__NUMBER) && (b.folded || b.kind == GG__NUMBER);
        return out;
    }
    if (a.kind == GG__STRING) return gg__of_kind(GG__STRING);
    if (a.kind == GG__NUMBER && b.kind == GG__NUMBER) {
        gg__value out = gg__number(promoted(&a, &b, op));
        out.from_data = a.from_data || b.from_data;
        if (a.constant && b.constant && llabs(a.integer) < 1 << 20 && llabs(b.integer) < 1 << 20) {
            out.constant = gg_str_is(op, "+") || gg_str_is(op, "-") || gg_str_is(op, "*");
            out.integer = gg_str_is(op, "+")   ? a.integer + b.integer
                          : gg_str_is(op, "-") ? a.integer - b.integer
                                               : a.integer * b.integer;
        }
        return out;
    }
    if (a.kind == GG__SEQUENCE && (b.kind == GG__SEQUENCE || b.kind == GG__NUMBER)) {
        gg__value out = gg__of_kind(GG__SEQUENCE);
        if (a.of && b.kind == GG__SEQUENCE && b.of) out.of = gg__keep(w, gg__join(*a.of, *b.of));
        if (a.of && b.kind == GG__NUMBER) out.of = a.of;
        return out;
    }
    if (a.kind == GG__SHAPE || b.kind == GG__SHAPE) return gg__of_kind(GG__SHAPE);
    return gg__of_kind(GG__UNKNOWN);
}

static gg__value compare_constants(const gg__value *a, const gg__value *b, gg_str op) {
    bool holds;
    int64_t x = a->integer, y = b->integer;
    if (gg_str_is(op, "=="))
        holds = x == y;
    else if (gg_str_is(op, "!="))
        holds = x != y;
    else if (gg_str_is(op, "<"))
        holds = x < y;
    else if (gg_str_is(op, ">"))
        holds = x > y;
    else if (gg_str_is(op, "<="))
        holds = x <= y;
    else if (gg_str_is(op, ">="))
        holds = x >= y;
    else
        return gg__number(GG__BOOL);
    return gg__truth_value(holds ? GG__TRUE : GG__FALSE);
}

static gg__truth none_test(const gg__value *value, bool positive) {
    if (value->maybe_none || value->kind == GG__UNKNOWN || (gg__is_tensor(value) && !gg__is_surely_tensor(value)))
        return GG__MAYBE;
    return (value->kind == GG__NONE) == positive ? GG__TRUE : GG__FALSE;
}

static gg__value compare(const gg__value *a, const gg__value *b, gg_str op) {
    bool is = gg_str_is(op, "is"), is_not = gg_str_is(op, "is not");
    if (is || is_not || ((gg_str_is(op, "==") || gg_str_is(op, "!=")) && b->kind == GG__NONE)) {
        if (b->kind == GG__NONE) {
            bool positive = is || gg_str_is(op, "==");
            gg__value out = gg__truth_value(none_test(a, positive));
            if (a->absent) out.usual = positive ? GG__TRUE : GG__FALSE;
            return out;
        }
        return gg__number(GG__BOOL);
    }
    if (gg_str_is(op, "in") || gg_str_is(op, "not in")) return gg__number(GG__BOOL);
    if (gg__is_tensor(a) || gg__is_tensor(b)) {
        if ((gg__is_tensor(a) ? b->kind : a->kind) == GG__STRING) return gg__number(GG__BOOL);
        gg__value out = gg__tensor(GG__BOOL);
        out.confirmed = gg__doubt_of_two(a, b);
        out.zero_dim = (a->zero_dim || a->kind == GG__NUMBER) && (b->zero_dim || b->kind == GG__NUMBER);
        return out;
    }
    if (a->kind == GG__ARRAY || b->kind == GG__ARRAY)
        return (gg__value){.kind = GG__ARRAY,
                           .dtype = GG__BOOL,
                           .folded = (a->folded || a->kind == GG__NUMBER) && (b->folded || b->kind == GG__NUMBER)};
    if (a->from_data || b->from_data) {
        gg__value out = gg__number(GG__BOOL);
        out.from_data = true;
        return out;
    }
    if (a->kind == GG__NUMBER && b->kind == GG__NUMBER && a->constant && b->constant)
        return compare_constants(a, b, op);
    return gg__number(GG__BOOL);
}

/* `tensor in [tensor]`, which gives a tensor while compiling; a name may be the very object that is found. */
static bool is_search(TSNode node, gg_str op, const gg__value *left, const gg__value *right) {
    if ((!gg_str_is(op, "in") && !gg_str_is(op, "not in")) || right->kind != GG__SEQUENCE) return false;
    gg__value element = gg__element_of(right);
    return gg__is_tensor(left) && gg__is_tensor(&element) &&
           gg__node_of(ts_node_named_child(node, 0)) != GG__NODE_identifier;
}

/* a < b < c asks for the truth of all but the last comparison. */
gg__value gg__eval_comparison(gg__walk *w, TSNode node) {
    gg__value left = gg__of_kind(GG__UNKNOWN), out = gg__number(GG__BOOL);
    gg_str op;
    bool first = true;
    unsigned done = 0;
    gg_str spelled[2] = {GG_STR_NULL, GG_STR_NULL};
    uint32_t count = ts_node_child_count(node);
    for (uint32_t i = 0; i < count; i++) {
        TSNode child = ts_node_child(node, i);
        if (!ts_node_is_named(child)) {
            if (spelled[0].len)
                spelled[1] = gg__text_of(w, child);
            else
                spelled[0] = gg__text_of(w, child);
            continue;
        }
        if (gg__node_of(child) == GG__NODE_comment) continue;
        gg__value right = gg__eval(w, child);
        if (!first) {
            op = spelled[0];
            if (gg_str_is(spelled[0], "not")) op = GG_STR("not in");
            if (gg_str_is(spelled[0], "is") && gg_str_is(spelled[1], "not")) op = GG_STR("is not");
            if (done++) gg__ask_truth(w, node, &out);
            tell_operator(w, node, op, &left, &right);
            out = compare(&left, &right, op);
            if (is_search(node, op, &left, &right)) out = gg__tensor(GG__BOOL);
        }
        left = right;
        first = false;
        spelled[0] = spelled[1] = GG_STR_NULL;
    }
    return out;
}
