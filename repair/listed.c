/* Conditions that ask for each number of a list that was a tensor's: `any(v > 2 for v in t.tolist())`.  See figures.h.
 *
 * Python stops at the first element that decides; of numbers, asking the others too cannot fail.  Of none any() is false and all() true, as of a
 * tensor.  Which of floating numbers max() gives depends on where a NaN lies, so it is for integers only. */
#include "repair/figures.h"

#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/ranges.h"

#include <math.h>

enum { MAX_DEPTH = 20 };

typedef struct asking {
    gg__select *s;
    gg__arm *arm;
    gg__listed listed;
} asking;

/* t of `t.detach().cpu()`: what is told apart by none of its numbers */
static TSNode source_of(const gg_tree *tree, TSNode node) {
    for (;;) {
        TSNode function = gg__field(node, "function");
        gg_str name = gg__text(tree, gg__field(function, "attribute"));
        if (!gg_node_is(node, "call") || gg__child_count(gg__field(node, "arguments")) != 0 ||
            (!gg_str_is(name, "cpu") && !gg_str_is(name, "detach")))
            return node;
        node = gg__field(function, "object");
    }
}

bool gg__is_listed(const gg__select *s, const gg__arm *arm, TSNode node, gg__listed *out) {
    node = gg__strip_parentheses(node);
    TSNode function = gg__field(node, "function");
    if (!gg_node_is(node, "call") || !gg_node_is(function, "attribute") ||
        !gg_str_is(gg__text(s->in->tree, gg__field(function, "attribute")), "tolist") ||
        gg__child_count(gg__field(node, "arguments")) != 0)
        return false;
    *out = (gg__listed){.list = source_of(s->in->tree, gg__field(function, "object"))};
    out->meta = gg__infer_in(s, arm, out->list);
    gg_str dtype = out->meta.dtype;
    return out->meta.sort == GG__TENSOR && out->meta.rank == 1 && !out->meta.vague &&
           (gg__is_floating(dtype) || gg__is_integer(dtype) || gg__is_bool(dtype));
}

/* What is asked of each element, as a tensor with as many.  `is_bool`: its value is True or False, not one of the numbers. */
static bool test_of(asking *a, TSNode node, uint32_t depth, bool *is_bool, gg__test *out) {
    const gg_tree *tree = a->s->in->tree;
    node = gg__strip_parentheses(node);
    *is_bool = true;
    *out = (gg__test){0};
    if (depth > MAX_DEPTH || !gg__reads(tree, node, a->listed.name)) return false;
    if (gg_node_is(node, "not_operator")) {
        if (!test_of(a, gg__field(node, "argument"), depth + 1, is_bool, out)) return false;
        out->negated = !out->negated;
        *is_bool = true;
        return true;
    }
    if (gg_node_is(node, "boolean_operator")) {
        gg__test left, right;
        bool first = false;
        if (!test_of(a, gg__field(node, "left"), depth + 1, &first, &left) ||
            !test_of(a, gg__field(node, "right"), depth + 1, is_bool, &right))
            return false;
        *is_bool = *is_bool && first;
        *out = gg__joined_test(a->s, left, gg_str_is(gg__text(tree, gg__field(node, "operator")), "and") ? '&' : '|',
                               right);
        return true;
    }
    if (gg_node_is(node, "comparison_operator")) {
        for (uint32_t i = 0; i + 1 < gg__child_count(node); i++) {
            gg__test one;
            gg_str op = gg__text(tree, ts_node_child(node, 2 * i + 1));
            if (ts_node_child_count(node) != 2 * gg__child_count(node) - 1 || !gg__is_order(op) ||
                !gg__compare_figures(a->s, a->arm, &a->listed, gg__child(node, i), op, gg__child(node, i + 1), &one))
                return false;
            if (i)
                *out = gg__joined_test(a->s, *out, '&', one);
            else
                *out = one;
        }
        return gg__child_count(node) > 1;
    }
    *is_bool = false;
    if (gg_node_is(node, "identifier") && gg__is_bool(a->listed.meta.dtype)) {
        TSNode list = gg__strip_parentheses(a->listed.list);
        *is_bool = true;
        *out = (gg__test){gg__closed(a->s, gg__text_in(a->s, a->arm, list), list), false, true, false};
        return true;
    }
    return gg__truth_of_figure(a->s, a->arm, &a->listed, node, out);
}

typedef struct comprehension {
    TSNode body, filter; /* filter: may be null */
    gg__listed listed;
} comprehension;

/* `f(v) for v in t.tolist() if g(v)` */
static bool find(const gg__select *s, const gg__arm *arm, TSNode node, comprehension *out) {
    TSNode clause = gg__child(node, 1), target = gg__field(clause, "left"), more = gg__child(node, 2);
    uint32_t count = gg__child_count(node);
    if ((!gg_node_is(node, "generator_expression") && !gg_node_is(node, "list_comprehension")) ||
        !gg_node_is(clause, "for_in_clause") || !gg_node_is(target, "identifier") ||
        gg_str_starts_with(gg__text(s->in->tree, clause), GG_STR("async")) ||
        !gg__is_listed(s, arm, gg__field(clause, "right"), &out->listed))
        return false;
    out->listed.name = gg__text(s->in->tree, target);
    out->body = gg__field(node, "body");
    out->filter = count == 3 && gg_node_is(more, "if_clause") ? gg__child(more, 0) : (TSNode){0};
    return count == 2 || !ts_node_is_null(out->filter);
}

bool gg__test_of_list(gg__select *s, gg__arm *arm, TSNode argument, bool all, gg__test *out) {
    comprehension c = {0};
    gg__test test = {0}, filter = {0};
    bool is_bool;
    asking a = {.s = s, .arm = arm};
    const char *end = all ? ".all()" : ".any()";
    argument = gg__strip_parentheses(argument);
    if (gg__is_listed(s, arm, argument, &a.listed)) {
        TSNode list = gg__strip_parentheses(a.listed.list);
        gg_str text = gg__closed(s, gg__text_in(s, arm, list), list);
        bool truth = gg__is_bool(a.listed.meta.dtype);
        *out = (gg__test){gg_arena_printf(s->arena, truth ? "%.*s%s" : "(%.*s != 0)%s", GG_STR_ARG(text), end), false,
                          true, false};
        return true;
    }
    if (!find(s, arm, argument, &c)) return false;
    a.listed = c.listed;
    if (!test_of(&a, c.body, 0, &is_bool, &test)) return false;
    if (!ts_node_is_null(c.filter)) {
        if (!test_of(&a, c.filter, 0, &is_bool, &filter)) return false;
        filter.negated = filter.negated != all; /* all of those that are asked: the others may be what they like */
        test = gg__joined_test(s, filter, all ? '|' : '&', test);
    }
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s%s", GG_STR_ARG(gg__truth_operand(s, test)), end), false, true,
                      false};
    if (test.negated) out->text = gg_arena_printf(s->arena, "(%.*s)%s", GG_STR_ARG(gg__truth_operand(s, test)), end);
    return true;
}

bool gg__test_of_listed_member(gg__select *s, gg__arm *arm, TSNode left, TSNode right, gg__test *out) {
    gg__listed l;
    gg__test one;
    if (!gg__is_listed(s, arm, right, &l) || !gg__equals_element(s, arm, &l, left, &one)) return false;
    *out = (gg__test){gg_arena_printf(s->arena, "(%.*s).any()", GG_STR_ARG(one.text)), false, true, false};
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------------ */

static bool is_one(const gg_tree *tree, TSNode node) {
    return gg_node_is(node, "integer") && gg_str_is(gg__text(tree, node), "1");
}

/* How many elements there are of which something holds. */
static bool count_of(gg__select *s, gg__arm *arm, TSNode function, TSNode argument, gg__figure *out) {
    comprehension c = {0};
    gg__test test = {0}, filter = {0};
    bool is_bool, filtered;
    argument = gg__strip_parentheses(argument);
    if (!find(s, arm, argument, &c)) return false;
    bool length = gg__names_builtin(s->in->tree, function, "len");
    asking a = {s, arm, c.listed};
    filtered = !ts_node_is_null(c.filter);
    if (filtered && !test_of(&a, c.filter, 0, &is_bool, &filter)) return false;
    TSNode body = gg__strip_parentheses(c.body);
    bool ones = filtered && (length ? gg_node_is(body, "identifier") : is_one(s->in->tree, body));
    if (length && (!ones || !gg_node_is(argument, "list_comprehension"))) return false;
    if (!ones && (!test_of(&a, c.body, 0, &is_bool, &test) || !is_bool)) return false;
    if (ones)
        test = filter;
    else if (filtered)
        test = gg__joined_test(s, filter, '&', test);
    bool wrap = test.negated || !test.atom;
    *out = (gg__figure){.sort = GG__SCALAR_INT, .taken = true, .dtype = GG_STR("torch.int64"), .atom = true};
    out->text = gg_arena_printf(s->arena, "%s%.*s%s.sum()", wrap ? "(" : "", GG_STR_ARG(gg__test_text(s, test)),
                                wrap ? ")" : "");
    out->device = c.listed.meta.device;
    out->high = GG__MOST_ELEMENTS;
    return true;
}

bool gg__figure_of_list(gg__select *s, gg__arm *arm, TSNode call, gg__figure *out) {
    const gg_tree *tree = s->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    bool sum = gg__names_builtin(tree, function, "sum"), max = gg__names_builtin(tree, function, "max");
    bool generator = gg_node_is(arguments, "generator_expression");
    gg__listed l = {0};
    gg__range range;
    bool length = gg__names_builtin(tree, function, "len");
    if (!gg_node_is(call, "call") || (!sum && !max && !length && !gg__names_builtin(tree, function, "min")))
        return false;
    if (!generator && gg__child_count(arguments) != 1) return false;
    if ((sum || length) && count_of(s, arm, function, generator ? arguments : gg__child(arguments, 0), out))
        return true;
    if (length || generator || !gg__is_listed(s, arm, gg__child(arguments, 0), &l) || !gg__is_integer(l.meta.dtype) ||
        (arm && arm->count) || !gg__range_of(s->in, l.list, &range))
        return gg__is_floating(l.meta.dtype) &&
               gg__hinder(s->in, call, "depends on the order in which floating numbers are taken");
    double elements = l.meta.shape[0] >= 0 ? (double)l.meta.shape[0] : GG__MOST_ELEMENTS;
    TSNode list = gg__strip_parentheses(l.list);
    gg_str text = gg__closed(s, gg__text_in(s, arm, list), list);
    *out = (gg__figure){.sort = GG__SCALAR_INT, .taken = true, .atom = true, .device = l.meta.device};
    out->dtype = sum ? GG_STR("torch.int64") : l.meta.dtype;
    out->low = sum ? fmin(range.low * elements, 0) : range.low;
    out->high = sum ? fmax(range.high * elements, 0) : range.high;
    out->text = gg_arena_printf(s->arena, "%.*s.%s()", GG_STR_ARG(text), sum ? "sum" : max ? "max" : "min");
    if (!sum) /* of none it is an error, of another kind in Python */
        out->text = gg_arena_printf(s->arena, "(%.*s if len(%.*s) else %.*s)", GG_STR_ARG(out->text),
                                    GG_STR_ARG(gg__text(tree, list)), GG_STR_ARG(gg__text(tree, call)));
    if (sum) return out->low > -0x1p62 && out->high < 0x1p62;
    return l.meta.shape[0] > 1 && !gg__has_unseen_callers(s->in, call);
}
