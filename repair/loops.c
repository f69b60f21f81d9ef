/* Loops that a tensor's value ends: which forms they have.  See loops.h. */
#include "repair/loops.h"

#include "repair/hindrance.h"
#include "repair/infer.h"

static TSNode last_statement(TSNode block) {
    TSNode last = {0};
    for (uint32_t i = 0; i < gg__child_count(block); i++)
        if (!gg_node_is(gg__child(block, i), "comment")) last = gg__child(block, i);
    return last;
}

/* `return v` in a loop that `return n` follows: see gg__loop. */
static bool find_returned(const gg_tree *tree, TSNode last, gg__loop *l) {
    TSNode next = gg__next_statement(l->node), value = gg__child(last, 0), kept = gg__child(next, 0);
    if (!gg_node_is(last, "return_statement") || !gg_node_is(next, "return_statement") || gg__child_count(last) != 1 ||
        gg__child_count(next) != 1)
        return false;
    if (gg_str_equal(gg__text(tree, value), gg__text(tree, kept))) return true;
    l->value = value;
    l->kept = kept;
    return gg_node_is(kept, "identifier");
}

static bool is_loop(const gg_tree *tree, TSNode node) {
    return (gg_node_is(node, "for_statement") && gg_str_starts_with(gg__text(tree, node), GG_STR("for"))) ||
           gg_node_is(node, "while_statement");
}

/* `if c: …` in the body of a loop; neither has an else. */
static bool find_if(const gg_rule_input *in, gg__loop *l) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !gg_node_is(at, "if_statement")) at = gg__parent(at);
    if (!gg_node_is(at, "if_statement") || !gg__covers(gg__field(at, "condition"), in->span)) return false;
    l->end = at;
    l->node = gg__parent(gg__parent(at));
    return ts_node_is_null(gg__field(at, "alternative")) && is_loop(in->tree, l->node) &&
           ts_node_is_null(gg__field(l->node, "alternative")) && gg__alone_on_line(in->tree, l->node) &&
           gg__alone_on_line(in->tree, at);
}

static bool find_break(const gg_rule_input *in, gg__loop *l) {
    if (!find_if(in, l)) return false;
    TSNode last = last_statement(gg__field(l->end, "consequence"));
    return gg_node_is(last, "break_statement") || find_returned(in->tree, last, l);
}

bool gg__find_early_return(const gg_rule_input *in, gg__loop *out) {
    *out = (gg__loop){.late = true};
    if (!find_if(in, out)) return false;
    TSNode only = gg__only_statement(gg__field(out->end, "consequence")), next = gg__next_statement(out->node);
    out->value = gg__child(only, 0);
    out->kept = gg__child(next, 0);
    return gg_node_is(only, "return_statement") && gg_node_is(next, "return_statement") && gg__child_count(only) == 1 &&
           gg__child_count(next) == 1 && gg__alone_on_line(in->tree, next) && gg_node_is(out->node, "for_statement");
}

/* `while t > 1 and i < 5:`, with `i += 1` in its body: what is in front of the loop says where i begins. */
static bool find_while(const gg_rule_input *in, gg__loop *l) {
    TSNode at = gg_node_at(in->tree, in->span);
    while (!ts_node_is_null(at) && !gg_node_is(at, "block") && !gg_node_is(at, "while_statement")) at = gg__parent(at);
    *l = (gg__loop){.node = at, .end = gg__field(at, "condition"), .counts = true};
    return gg_node_is(at, "while_statement") && gg__covers(l->end, in->span) &&
           ts_node_is_null(gg__field(at, "alternative")) && gg__alone_on_line(in->tree, at) &&
           gg__starts_line(in->tree, ts_node_start_byte(gg__field(at, "body"))) &&
           !gg__has_comment(in->tree, gg_node_span(l->end));
}

bool gg__find_loop(const gg_rule_input *in, gg__loop *out) {
    if (find_while(in, out)) return true;
    *out = (gg__loop){0};
    return find_break(in, out);
}

/* `i < 5`, of the operands of the condition: how often it can be true is known. */
static bool is_bound(const gg_rule_input *in, TSNode node, gg_str counter, double step) {
    node = gg__strip_parentheses(node);
    TSNode left = gg__child(node, 0), right = gg__child(node, 1);
    if (gg_node_is(node, "boolean_operator"))
        return gg_str_is(gg__text(in->tree, gg__field(node, "operator")), "and") &&
               (is_bound(in, gg__field(node, "left"), counter, step) ||
                is_bound(in, gg__field(node, "right"), counter, step));
    if (!gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2 ||
        !gg_str_equal(gg__text(in->tree, left), counter))
        return false;
    gg_str op = gg__text(in->tree, ts_node_child(node, 1));
    gg__meta from = gg__infer(in, left), to = gg__infer(in, right);
    return (gg_str_is(op, "<") || gg_str_is(op, "<=")) && from.sort == GG__SCALAR_INT && to.sort == GG__SCALAR_INT &&
           from.seen && to.seen && (to.value - from.value) / step < GG__MAX_ITERATIONS;
}

/* The one statement that changes the counter, in each iteration and by a number above zero. */
TSNode gg__find_counter(const gg_rule_input *in, gg__loop *l) {
    TSNode body = gg__field(l->node, "body"), condition = gg__field(l->node, "condition");
    for (uint32_t i = 0; i < gg__child_count(body); i++) {
        TSNode counting = gg__child(gg__child(body, i), 0), left = gg__field(counting, "left");
        gg_str name = gg__text(in->tree, left);
        if (!gg_node_is(counting, "augmented_assignment") || !gg_node_is(left, "identifier") ||
            !gg_str_is(gg__text(in->tree, gg__field(counting, "operator")), "+="))
            continue;
        gg__meta step = gg__infer(in, gg__field(counting, "right"));
        if (step.sort != GG__SCALAR_INT || !step.constant || step.value < 1 ||
            !is_bound(in, condition, name, step.value))
            continue;
        l->counting = gg__child(body, i);
        return left;
    }
    return (TSNode){0};
}

bool gg__is_short(const gg_rule_input *in, TSNode iterable) {
    double bounds[3] = {0};
    TSNode arguments = gg__field(iterable, "arguments");
    uint32_t count = gg__child_count(arguments);
    if (!gg_node_is(iterable, "call") || !gg__names_builtin(in->tree, gg__field(iterable, "function"), "range") ||
        count < 1 || count > GG_COUNT(bounds))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        gg__meta m = gg__infer(in, gg__child(arguments, i));
        if (m.sort != GG__SCALAR_INT || !m.seen) return false;
        bounds[i] = m.value;
    }
    double span = count == 1 ? bounds[0] : bounds[1] - bounds[0], step = count == 3 ? bounds[2] : 1;
    return step != 0 && span / step <= GG__MAX_ITERATIONS;
}
