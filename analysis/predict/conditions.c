/* Conditions: whether they hold, what follows where they do, and the values of `and`, `or` and `… if … else …`. */
#include "analysis/predict/predict.h"

void gg__ask_truth(gg__walk *w, TSNode node, const gg__value *value) {
    GG__TELL(on_truth, w, node, value);
}

static gg__truth eval_condition(gg__walk *w, TSNode node);

static bool is_and(gg__walk *w, TSNode node) {
    return gg_str_is(gg__text_of(w, GG__FIELD(w, node, operator)), "and");
}

/* What the right side of `and` or `or` is evaluated under, where the left one does not decide. */
typedef struct right_side {
    gg__guard guard;
    const gg__guard *outer;
    gg__scope *before;
} right_side;

static void enter_right(gg__walk *w, TSNode node, gg__truth left, right_side *right) {
    TSNode left_node = GG__FIELD(w, node, left);
    bool holds = is_and(w, node);
    *right = (right_side){.guard = {.text = gg__node_words(w, left_node),
                                    .negated = !holds,
                                    .unlikely = (w->guard && w->guard->unlikely) || gg__is_opposed(w->usual, holds)},
                          .outer = w->guard,
                          .before = w->frame->scope};
    if (left == GG__MAYBE) {
        w->guard = &right->guard;
        w->frame->scope = gg__scope_copy(w, right->before);
    }
    gg__narrow(w, left_node, holds);
}

static void leave_right(gg__walk *w, const right_side *right) {
    w->guard = right->outer;
    w->frame->scope = right->before;
}

static gg__truth eval_boolean(gg__walk *w, TSNode node) {
    gg__truth deciding = is_and(w, node) ? GG__FALSE : GG__TRUE;
    gg__truth left = gg__eval_condition(w, GG__FIELD(w, node, left)), usual = w->usual;
    if (left == deciding) return left;
    right_side side;
    enter_right(w, node, left, &side);
    gg__truth right = gg__eval_condition(w, GG__FIELD(w, node, right));
    leave_right(w, &side);
    if (usual == deciding || (usual == GG__MAYBE && w->usual != deciding)) w->usual = usual;
    return left != GG__MAYBE || right == deciding ? right : GG__MAYBE;
}

bool gg__is_opposed(gg__truth usual, bool holds) {
    return usual == (holds ? GG__FALSE : GG__TRUE);
}

gg__truth gg__eval_condition(gg__walk *w, TSNode node) {
    if (!gg__may_go_on(w)) return GG__MAYBE;
    w->nesting++;
    gg__truth truth = eval_condition(w, node);
    w->nesting--;
    return truth;
}

static gg__truth eval_condition(gg__walk *w, TSNode node) {
    switch (gg__node_of(node)) {
    case GG__NODE_parenthesized_expression:
        return gg__eval_condition(w, ts_node_named_child(node, 0));
    case GG__NODE_not_operator: {
        gg__truth truth = gg__eval_condition(w, GG__FIELD(w, node, argument));
        w->usual = gg__not(w->usual);
        return gg__not(truth);
    }
    case GG__NODE_boolean_operator:
        return eval_boolean(w, node);
    default: {
        gg__value value = gg__eval(w, node);
        gg__ask_truth(w, node, &value);
        w->usual = gg__usual_of(&value);
        return gg__truth_of(&value);
    }
    }
}

/* ---- narrowing ------------------------------------------------------------------------------------------------------------ */

static gg__value *named(gg__walk *w, TSNode node) {
    if (gg__node_of(node) != GG__NODE_identifier) return NULL;
    return gg__scope_own_to_change(w, w->frame->scope, gg__text_of(w, node));
}

/* `x is None` that holds, or does not. */
static void narrow_none(gg__value *value, bool is_none) {
    if (is_none)
        *value = gg__of_kind(GG__NONE);
    else
        value->maybe_none = value->absent = false;
}

static bool is_none_test(gg__walk *w, TSNode node, TSNode *subject, bool *positive) {
    if (gg__node_of(node) != GG__NODE_comparison_operator || ts_node_named_child_count(node) != 2) return false;
    TSNode right = ts_node_named_child(node, 1);
    gg_str op = gg__text_of(w, GG__FIELD(w, node, operators));
    if (gg__node_of(right) != GG__NODE_none) return false;
    *subject = ts_node_named_child(node, 0);
    *positive = gg_str_is(op, "is") || gg_str_is(op, "==");
    return *positive || gg_str_is(op, "is not") || gg_str_is(op, "!=");
}

static void narrow(gg__walk *w, TSNode node, bool holds) {
    TSNode subject;
    bool positive;
    switch (gg__node_of(node)) {
    case GG__NODE_parenthesized_expression:
        gg__narrow(w, ts_node_named_child(node, 0), holds);
        return;
    case GG__NODE_not_operator:
        gg__narrow(w, GG__FIELD(w, node, argument), !holds);
        return;
    case GG__NODE_boolean_operator:
        if (gg_str_is(gg__text_of(w, GG__FIELD(w, node, operator)), "and") != holds) return;
        gg__narrow(w, GG__FIELD(w, node, left), holds);
        gg__narrow(w, GG__FIELD(w, node, right), holds);
        return;
    case GG__NODE_comparison_operator:
        if (is_none_test(w, node, &subject, &positive)) {
            gg__value *value = named(w, subject);
            if (value) narrow_none(value, positive == holds);
        }
        return;
    case GG__NODE_identifier: {
        gg__value *value = named(w, node);
        if (value && holds) value->maybe_none = value->absent = false;
        return;
    }
    case GG__NODE_call: { /* isinstance(x, torch.Tensor) */
        gg__nodes arguments = gg__children(w->syntax, GG__FIELD(w, node, arguments));
        if (!gg_str_is(gg__text_of(w, GG__FIELD(w, node, function)), "isinstance") || arguments.len != 2) return;
        gg__value *value = named(w, arguments.items[0]);
        w->quiet++;
        gg__value type = gg__eval(w, arguments.items[1]);
        w->quiet--;
        if (value == NULL || type.kind != GG__DOTTED || !gg_str_is(type.path, "torch.Tensor")) return;
        if (holds && value->kind == GG__UNKNOWN) *value = gg__tensor(GG__DTYPE_UNKNOWN);
        if (!holds && gg__is_tensor(value)) *value = gg__of_kind(GG__OTHER);
        return;
    }
    default:
        return;
    }
}

void gg__narrow(gg__walk *w, TSNode node, bool holds) {
    if (w->nesting >= GG__MAX_NESTING) return; /* what is that deep tells nothing */
    w->nesting++;
    narrow(w, node, holds);
    w->nesting--;
}

/* ---- as values ------------------------------------------------------------------------------------------------------------ */

gg__value gg__eval_ternary(gg__walk *w, TSNode node) {
    gg__nodes parts = gg__children(w->syntax, node);
    if (parts.len != 3) return gg__of_kind(GG__UNKNOWN);
    TSNode condition = parts.items[1];
    gg__truth known = gg__eval_condition(w, condition);
    if (known != GG__MAYBE) return gg__eval(w, parts.items[known == GG__TRUE ? 0 : 2]);
    const gg__guard *outer = w->guard;
    gg__truth usual = w->usual;
    gg__guard guard = {.text = gg__node_words(w, condition)};
    gg__scope *before = w->frame->scope;
    gg__value values[2];
    for (int i = 0; i < 2; i++) {
        guard.negated = i == 1;
        guard.unlikely = (outer && outer->unlikely) || gg__is_opposed(usual, i == 0);
        w->guard = &guard;
        w->frame->scope = gg__scope_copy(w, before);
        gg__narrow(w, condition, i == 0);
        values[i] = gg__eval(w, parts.items[i ? 2 : 0]);
    }
    w->guard = outer;
    w->frame->scope = before;
    return gg__join(values[0], values[1]);
}

/* `a or b` as a value: one of the two. */
gg__value gg__eval_boolean(gg__walk *w, TSNode node) {
    bool both = is_and(w, node);
    gg__value left = gg__eval(w, GG__FIELD(w, node, left));
    gg__ask_truth(w, GG__FIELD(w, node, left), &left);
    w->usual = gg__usual_of(&left);
    gg__truth truth = gg__truth_of(&left);
    if (truth == (both ? GG__FALSE : GG__TRUE)) return left;
    right_side side;
    enter_right(w, node, truth, &side);
    gg__value right = gg__eval(w, GG__FIELD(w, node, right));
    leave_right(w, &side);
    if (truth != GG__MAYBE) return right;
    if (!both) left.maybe_none = left.absent = false; /* what is None is not chosen */
    if (left.kind == GG__NUMBER && right.kind == GG__NUMBER)
        return gg__number(left.dtype == right.dtype ? left.dtype : GG__DTYPE_UNKNOWN);
    return gg__join(left, right);
}
