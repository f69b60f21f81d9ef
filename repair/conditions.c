/* Conditions of branches as tensors.  See select.h.
 *
 * Python stops at the first operand that decides; the tensor operations evaluate all of them.  So each must be pure and total.  The truth of
 * a 0-d tensor is that it is not zero: NaN is true, as `!= 0` has it. */
#include "repair/alias.h"
#include "repair/figures.h"
#include "repair/infer.h"
#include "repair/scalar.h"

enum { MAX_DEPTH = 30, MAX_LINKS = 6, MAX_OPERANDS = 12, MAX_NAMES = 3 };

static gg_str operand(gg__select *s, gg__test t) {
    return t.atom ? t.text : gg_arena_printf(s->arena, "(%.*s)", GG_STR_ARG(t.text));
}

gg_str gg__test_text(gg__select *s, gg__test t) {
    if (!t.negated) return t.text;
    return gg_arena_printf(s->arena, t.loose ? "(%.*s == 0)" : "~%.*s", GG_STR_ARG(operand(s, t)));
}

gg_str gg__truth_text(gg__select *s, gg__test t) {
    if (t.negated || !t.loose) return gg__test_text(s, t);
    return gg_arena_printf(s->arena, "(%.*s != 0)", GG_STR_ARG(operand(s, t)));
}

gg_str gg__truth_operand(gg__select *s, gg__test t) {
    bool closed = t.negated || t.loose; /* ~ binds closer than & */
    return operand(s, (gg__test){gg__truth_text(s, t), false, t.atom || closed, false});
}

gg__test gg__joined_test(gg__select *s, gg__test a, char op, gg__test b) {
    gg_str x = gg__truth_operand(s, a), y = gg__truth_operand(s, b);
    return (gg__test){gg_arena_printf(s->arena, "%.*s %c %.*s", GG_STR_ARG(x), op, GG_STR_ARG(y)), false, false, false};
}

static bool is_atom(TSNode node) {
    return gg_node_is(node, "identifier") || gg_node_is(node, "call") || gg_node_is(node, "attribute") ||
           gg_node_is(node, "subscript");
}

/* Of more than one element, or of none: Python's bool() fails, and so does reshape(()). */
static bool has_no_truth(gg__meta m) {
    return m.sort == GG__TENSOR && m.rank != 0 && !gg__has_one_element(m);
}

/* The truth of a tensor of one element. */
static bool truth(gg__select *s, gg__arm *arm, TSNode node, gg__test *out) {
    gg__meta m = gg__infer_in(s, arm, node);
    bool shaped = gg__has_one_element(m);
    if (m.sort != GG__TENSOR || has_no_truth(m)) return false;
    node = gg__strip_parentheses(node);
    gg_str text = gg__text_in(s, arm, node);
    if (shaped) text = gg_arena_printf(s->arena, "%.*s" GG__ONE_ELEMENT, GG_STR_ARG(gg__closed(s, text, node)));
    *out = (gg__test){text, false, shaped || is_atom(node), !gg__has_certain_dtype(s->in, node)};
    if (gg_str_is(m.dtype, "torch.bool")) return true;
    if (!shaped) text = gg__closed(s, text, node);
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s != 0", GG_STR_ARG(text)), false, false, false};
    return true;
}

/* ---- comparisons ---------------------------------------------------------------------------------------------------------- */

bool gg__is_order(gg_str op) {
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    return gg__is_one_of(op, ops, GG_COUNT(ops));
}

static bool link(gg__select *s, gg__arm *arm, TSNode left, gg_str op, TSNode right, gg__test *out) {
    gg__meta a = gg__infer_in(s, arm, left), b = gg__infer_in(s, arm, right);
    bool tensors = (a.sort == GG__TENSOR && b.sort != GG__UNKNOWN) || (b.sort == GG__TENSOR && a.sort != GG__UNKNOWN);
    if (!tensors)
        return gg__test_of_drawn(s, arm, left, op, right, out) ||
               gg__compare_figures(s, arm, NULL, left, op, right, out);
    bool shaped = gg__has_one_element(a) || gg__has_one_element(b);
    if (has_no_truth(a) || has_no_truth(b)) return false;
    gg_str x = gg__text_in(s, arm, left), y = gg__text_in(s, arm, right);
    *out = (gg__test){gg_arena_printf(s->arena, "%s%.*s %.*s %.*s%s", shaped ? "(" : "", GG_STR_ARG(x), GG_STR_ARG(op),
                                      GG_STR_ARG(y), shaped ? ")" GG__ONE_ELEMENT : ""),
                      false, shaped, false};
    return true;
}

/* `0 < x < 1`: both, of which the middle is read twice. */
static bool comparison(gg__select *s, gg__arm *arm, TSNode node, gg__test *out) {
    uint32_t count = gg__child_count(node), operators = 0;
    gg_str text = GG_STR_NULL, ops[MAX_LINKS];
    for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
        TSNode child = ts_node_child(node, i);
        if (ts_node_is_named(child) && !gg_node_is(child, "is not") && !gg_node_is(child, "not in")) continue;
        if (operators == MAX_LINKS) return false;
        ops[operators++] = gg__text(s->in->tree, child);
    }
    if (operators + 1 != count) return false;
    for (uint32_t i = 0; i + 1 < count; i++) {
        gg__test one;
        if (!gg__is_order(ops[i]) || !link(s, arm, gg__child(node, i), ops[i], gg__child(node, i + 1), &one))
            return false;
        if (count == 2) {
            *out = one;
            return true;
        }
        text = gg_arena_printf(s->arena, "%.*s%s(%.*s)", GG_STR_ARG(text), i ? " & " : "", GG_STR_ARG(one.text));
    }
    *out = (gg__test){text, false, false, false};
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------------------------------------- */

/* math.isnan(x.item()), np.isnan(x.item()) */
static bool of_math(gg__select *s, gg__arm *arm, TSNode call, gg__test *out) {
    static const char *const names[] = {"isnan", "isinf", "isfinite"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(s->in->tree, gg__field(function, "attribute"));
    gg_str object = gg__text(s->in->tree, gg__field(function, "object"));
    gg__figure x = {.taken = true};
    bool named = false, numpys = gg_str_equal(object, gg__module_alias(s->in->tree, call, "numpy"));
    for (size_t i = 0; i < GG_COUNT(names); i++) named = named || gg_str_is(name, names[i]);
    if (!named || object.len == 0 || gg__child_count(arguments) != 1 ||
        (!numpys && !gg_str_equal(object, gg__module_alias(s->in->tree, call, "math"))))
        return false;
    TSNode argument = gg__child(arguments, 0);
    gg__meta m = gg__infer_in(s, arm, argument);
    if (m.sort == GG__TENSOR && m.rank == 0 && !numpys) {
        x.text = gg__text_in(s, arm, gg__strip_parentheses(argument));
        x.sort = gg__is_floating(m.dtype) ? GG__SCALAR_FLOAT : GG__UNKNOWN;
    } else if (!gg__read_figure(s, arm, NULL, argument, &x) || !x.taken) {
        return false;
    }
    if (x.sort != GG__SCALAR_FLOAT) return false;
    *out = (gg__test){
        gg_arena_printf(s->arena, "%.*s.%.*s(%.*s)", GG_STR_ARG(s->torch), GG_STR_ARG(name), GG_STR_ARG(x.text)), false,
        true, false};
    return true;
}

static bool of_call(gg__select *s, gg__arm *arm, TSNode call, uint32_t depth, gg__test *out) {
    gg__extraction e;
    TSNode arguments = gg__field(call, "arguments");
    if (gg__test_of_call(s, arm, call, depth + 1, out) || of_math(s, arm, call, out)) return true;
    if (gg__names_builtin(s->in->tree, gg__field(call, "function"), "bool") && gg__child_count(arguments) == 1 &&
        gg_node_is(arguments, "argument_list"))
        return gg__test_at(s, arm, gg__child(arguments, 0), depth + 1, out);
    if (gg__refers_to(s->in->tree, gg__field(call, "function"), "torch.is_nonzero") && gg__child_count(arguments) == 1)
        return truth(s, arm, gg__child(arguments, 0), out);
    if (gg__match_extraction(s->in, call, &e) && !e.cuts) return !e.truncates && truth(s, arm, e.value, out);
    return truth(s, arm, call, out) || gg__truth_of_figure(s, arm, NULL, call, out);
}

bool gg__test_at(gg__select *s, gg__arm *arm, TSNode node, uint32_t depth, gg__test *out) {
    node = gg__strip_parentheses(node);
    if (depth > MAX_DEPTH) return false;
    if (gg_node_is(node, "not_operator")) {
        if (!gg__test_at(s, arm, gg__field(node, "argument"), depth + 1, out)) return false;
        out->negated = !out->negated;
        return true;
    }
    if (gg_node_is(node, "boolean_operator")) {
        gg__test a, b;
        if (!gg__test_at(s, arm, gg__field(node, "left"), depth + 1, &a) ||
            !gg__test_at(s, arm, gg__field(node, "right"), depth + 1, &b))
            return false;
        *out =
            gg__joined_test(s, a, gg_str_is(gg__text(s->in->tree, gg__field(node, "operator")), "and") ? '&' : '|', b);
        return true;
    }
    if (gg_node_is(node, "comparison_operator"))
        return gg__test_of_member(s, arm, node, out) || comparison(s, arm, node, out);
    if (gg_node_is(node, "call")) return of_call(s, arm, node, depth, out);
    return gg__test_of_drawn(s, arm, node, GG_STR_NULL, (TSNode){0}, out) || truth(s, arm, node, out) ||
           gg__truth_of_figure(s, arm, NULL, node, out);
}

bool gg__test_of(gg__select *s, gg__arm *arm, TSNode node, gg__test *out) {
    return gg__test_at(s, arm, node, 0, out);
}

/* ---- flags of Python's ----------------------------------------------------------------------------------------------------------- */

/* The operands of `a and b and c`, or of `a or b`; 0 when there are too many. */
static size_t operands_of(const gg_tree *tree, TSNode node, const char *op, TSNode *out) {
    size_t count = 0;
    TSNode stack[MAX_OPERANDS];
    for (;;) {
        TSNode inner = gg__strip_parentheses(node);
        bool joins =
            gg_node_is(inner, "boolean_operator") && gg_str_is(gg__text(tree, gg__field(inner, "operator")), op);
        if (count == MAX_OPERANDS) return 0;
        stack[count++] = joins ? gg__field(inner, "right") : node;
        if (!joins) break;
        node = gg__field(inner, "left");
    }
    for (size_t i = 0; i < count; i++) out[i] = stack[count - 1 - i];
    return count;
}

static void add_flag(gg__select *s, gg_str *flags, TSNode node, const char *op, bool negated) {
    bool loose = gg__needs_parentheses(node) && !gg_node_is(node, "not_operator");
    gg_str text = gg__text(s->in->tree, node);
    *flags = gg_arena_printf(s->arena, "%.*s%s%s%s%.*s%s", GG_STR_ARG(*flags), flags->len ? op : "",
                             negated ? "not " : "", loose ? "(" : "", GG_STR_ARG(text), loose ? ")" : "");
}

/* `not (a and t)` is `not a or not t`: what is in the parentheses, with `and` for `or`; else the condition. */
static TSNode inside_not(TSNode condition, bool *negated) {
    TSNode inner = gg__strip_parentheses(condition);
    *negated = gg_node_is(inner, "not_operator") &&
               gg_node_is(gg__strip_parentheses(gg__field(inner, "argument")), "boolean_operator");
    return *negated ? gg__field(inner, "argument") : condition;
}

static bool split(gg__select *s, TSNode condition, bool either, gg_str *flags, gg__test *test) {
    TSNode operands[MAX_OPERANDS];
    bool negated;
    TSNode asked = inside_not(condition, &negated);
    size_t count = operands_of(s->in->tree, asked, either != negated ? "or" : "and", operands);
    const char *op = either ? " or " : " and ";
    gg_span at = s->in->span;
    bool reached = false;
    if (count < 2) return false;
    *test = (gg__test){0};
    *flags = GG_STR_NULL;
    for (size_t i = 0; i < count; i++) {
        gg__test one;
        gg__meta m = gg__infer(s->in, operands[i]);
        gg__sort sort = m.sort;
        reached = reached || ts_node_end_byte(operands[i]) > at.start;
        if (!reached) {
            if (sort == GG__TENSOR) return false;
            add_flag(s, flags, operands[i], op, negated);
            continue;
        }
        bool drawn = gg__is_drawn(s, operands[i]);
        if (!drawn && sort != GG__UNKNOWN && sort != GG__TENSOR) {
            s->unseen = s->unseen || !(m.seen && ((m.value != 0) != negated) != either);
            add_flag(s, flags, operands[i], op, negated);
            continue;
        }
        bool last = i + 1 == count && test->text.len == 0;
        if (!gg__test_of(s, NULL, operands[i], &one) && !(last && gg__test_drawn(s, operands[i], &one))) {
            gg__select probe = *s;
            if (sort == GG__TENSOR || test->text.len || gg__test_drawn(&probe, operands[i], &one)) return false;
            s->unseen = true; /* Python asks it first; where a call follows, the break has this operand's place */
            add_flag(s, flags, operands[i], op, negated);
            continue;
        }
        one.negated = one.negated != negated;
        *test = test->text.len ? gg__joined_test(s, *test, either ? '|' : '&', one) : one;
    }
    return test->text.len && flags->len;
}

bool gg__split_condition(gg__select *s, TSNode condition, gg_str *flags, gg__test *test) {
    return split(s, condition, false, flags, test);
}

bool gg__split_either(gg__select *s, TSNode condition, gg_str *flags, gg__test *test) {
    return split(s, condition, true, flags, test);
}

bool gg__is_branch(const gg_rule_input *in) {
    /* branch, .item(), torch.is_nonzero, nonzero(), .tolist() of floating numbers */
    static const char *const ids[] = {"GB0170", "GB0124", "GB0033", "GB0036", "GB0109"};
    return gg__has_id(in, ids, GG_COUNT(ids));
}

gg__meta gg__beside_number(const gg_rule_input *in, TSNode value, gg__meta m, gg__meta other) {
    double number;
    value = gg__strip_parentheses(value);
    const char *dtype = m.sort == GG__SCALAR_FLOAT ? "torch.float64" : "torch.int64";
    bool literal = (m.sort == GG__SCALAR_FLOAT || m.sort == GG__SCALAR_INT) &&
                   gg__literal_value(in->tree, value, &number) && number <= 0x1p31 && number >= -0x1p31;
    bool beside = other.sort == GG__TENSOR && other.rank == 0 && gg_str_is(other.dtype, dtype);
    if (!in->numbers || !literal || !beside) return m;
    other.fresh = other.smooth = other.linear = true;
    return other;
}

typedef struct finiteness {
    const gg_tree *tree;
    uint32_t depth;
} finiteness;

/* … or a name that holds what was asked before. */
static bool asks_no_finiteness(TSNode node, void *data) {
    static const char *const asking[] = {"isnan", "isinf", "isfinite", "isposinf", "isneginf"};
    const finiteness *f = data;
    const gg_tree *tree = f->tree;
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function");
        gg_str name = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
        return !gg__is_one_of(name, asking, GG_COUNT(asking));
    }
    if (gg_node_is(node, "identifier") && !gg__is_member_name(node) && f->depth < MAX_NAMES) {
        TSNode value = gg__value_at(tree, node, gg__text(tree, node));
        finiteness inner = {tree, f->depth + 1};
        return ts_node_is_null(value) || gg__visit(value, asks_no_finiteness, &inner);
    }
    if (!gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2) return true;
    gg_str a = gg__text(tree, gg__child(node, 0)), b = gg__text(tree, gg__child(node, 1));
    return !gg_str_equal(a, b) && !gg_str_contains(a, GG_STR("inf")) && !gg_str_contains(b, GG_STR("inf")); /* x != x */
}

bool gg__asks_finiteness(const gg_tree *tree, TSNode condition) {
    finiteness f = {tree, 0};
    return !gg__visit(condition, asks_no_finiteness, &f);
}
