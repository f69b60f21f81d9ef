/* Conditions of branches as tensors.  See select.h.
 *
 * Python stops at the first operand that decides; the tensor operations evaluate all of them.  So each must be pure and total.  The truth of
 * a 0-d tensor is that it is not zero: NaN is true, as `!= 0` has it. */
#include "repair/masks.h"
#include "repair/scalar.h"
#include "repair/select.h"

#include <math.h>

enum { MAX_DEPTH = 30, MAX_LINKS = 6, MAX_OPERANDS = 12 };

static gg_str operand(gg__select *s, gg__test t) {
    return t.atom ? t.text : gg_arena_printf(s->arena, "(%.*s)", GG_STR_ARG(t.text));
}

gg_str gg__test_text(gg__select *s, gg__test t) {
    if (!t.negated) return t.text;
    return gg_arena_printf(s->arena, "~%.*s", GG_STR_ARG(operand(s, t)));
}

static bool is_atom(TSNode node) {
    return gg_node_is(node, "identifier") || gg_node_is(node, "call") || gg_node_is(node, "attribute") ||
           gg_node_is(node, "subscript");
}

/* The truth of a tensor without dimensions. */
static bool truth(gg__select *s, gg__arm *arm, TSNode node, gg__test *out) {
    gg__meta m = gg__infer_in(s, arm, node);
    if (m.sort != GG__TENSOR || m.rank != 0) return false;
    node = gg__strip_parentheses(node);
    gg_str text = gg__text_in(s, arm, node);
    *out = (gg__test){text, false, is_atom(node)};
    if (gg_str_is(m.dtype, "torch.bool")) return true;
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s != 0", GG_STR_ARG(gg__closed(s, text, node))), false, false};
    return true;
}

/* ---- numbers taken out of tensors ------------------------------------------------------------------------------------ */

/* Is the value a number of that dtype, to the last bit? */
static bool is_exact(gg_str dtype, double value) {
    int exponent;
    int bits = gg_str_is(dtype, "torch.float32") ? 24 : gg_str_is(dtype, "torch.float16") ? 11 : 8;
    if (gg_str_is(dtype, "torch.float64") || value == 0) return true;
    double mantissa = ldexp(frexp(value, &exponent), bits);
    return isfinite(value) && mantissa == floor(mantissa) && exponent > -10 && exponent < 16;
}

typedef struct side {
    bool taken; /* out of a tensor */
    TSNode node;
    gg__meta meta; /* of the tensor, or the number */
    gg_str text;   /* of a count; else empty: the node's */
} side;

static const gg__meta a_count = {.sort = GG__TENSOR, .dtype = {"torch.int64", 11}, .smooth = true, .linear = true};

/* `len(torch.nonzero(c))`: a number that takes no tensor out of a graph when it is counted.  Names that an arm binds are not those it has. */
static bool count_of(gg__select *s, const gg__arm *arm, TSNode node, gg_str *out) {
    gg__sized sized;
    if ((arm && arm->count) || !gg__is_size(s->in, node, &sized)) return false;
    *out = gg__size_text(s->in, &sized, s->torch, s->arena);
    return true;
}

static bool side_of(gg__select *s, gg__arm *arm, TSNode node, side *out) {
    gg__extraction e;
    node = gg__strip_parentheses(node);
    *out = (side){.node = node};
    if (count_of(s, arm, node, &out->text)) {
        out->taken = true;
        out->meta = a_count;
        return true;
    }
    out->meta = gg__infer_in(s, arm, node);
    if (out->meta.sort != GG__UNKNOWN) return out->meta.sort != GG__TENSOR && out->meta.sort != GG__SCALAR_BOOL;
    bool known = s->as_before ? gg__match_extraction_loosely(s->in, node, &e) : gg__match_extraction(s->in, node, &e);
    if (!known || e.truth || e.truncates) return false;
    *out = (side){.taken = true, .node = gg__strip_parentheses(e.value), .meta = gg__infer_in(s, arm, e.value)};
    return out->meta.sort == GG__TENSOR && out->meta.rank == 0 && !gg_str_is(out->meta.dtype, "torch.bool");
}

/* Python compares doubles, or integers of any size. */
static bool compares_alike(const side *a, const side *b) {
    const gg__meta *x = &a->meta, *y = &b->meta;
    if (b->taken) return gg_str_equal(x->dtype, y->dtype) && x->vague == y->vague && x->vague != GG__VAGUE;
    if (!gg__is_floating(x->dtype)) return y->sort == GG__SCALAR_INT;
    return y->constant && !x->vague && is_exact(x->dtype, y->value);
}

static gg_str side_text(gg__select *s, gg__arm *arm, const side *x, bool widen) {
    if (x->text.len) return x->text;
    gg_str text = gg__text_in(s, arm, x->node);
    if (!x->taken) return text;
    return gg_arena_printf(s->arena, "%.*s%s", GG_STR_ARG(gg__closed(s, text, x->node)), widen ? ".double()" : "");
}

/* `x.item() > 0.1` */
static bool number_comparison(gg__select *s, gg__arm *arm, TSNode left, gg_str op, TSNode right, gg__test *out) {
    side a, b;
    if (!side_of(s, arm, left, &a) || !side_of(s, arm, right, &b) || (!a.taken && !b.taken)) return false;
    bool alike = a.taken ? compares_alike(&a, &b) : compares_alike(&b, &a);
    bool floats = (!a.taken || gg__is_floating(a.meta.dtype)) && (!b.taken || gg__is_floating(b.meta.dtype));
    if (!alike && !floats) return false;
    gg_str x = side_text(s, arm, &a, !alike), y = side_text(s, arm, &b, !alike);
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(x), GG_STR_ARG(op), GG_STR_ARG(y)), false,
                      false};
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
        return gg__test_of_drawn(s, arm, left, op, right, out) || number_comparison(s, arm, left, op, right, out);
    if ((a.sort == GG__TENSOR && a.rank != 0) || (b.sort == GG__TENSOR && b.rank != 0)) return false;
    gg_str x = gg__text_in(s, arm, left), y = gg__text_in(s, arm, right);
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(x), GG_STR_ARG(op), GG_STR_ARG(y)), false,
                      false};
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
    *out = (gg__test){text, false, false};
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------------------------------------- */

/* math.isnan(x.item()), np.isnan(x.item()) */
static bool of_math(gg__select *s, gg__arm *arm, TSNode call, gg__test *out) {
    static const char *const names[] = {"isnan", "isinf", "isfinite"};
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    gg_str name = gg__text(s->in->tree, gg__field(function, "attribute"));
    gg_str object = gg__text(s->in->tree, gg__field(function, "object"));
    side x;
    bool named = false, numpys = gg_str_equal(object, gg__module_alias(s->in->tree, call, "numpy"));
    for (size_t i = 0; i < GG_COUNT(names); i++) named = named || gg_str_is(name, names[i]);
    if (!named || object.len == 0 || gg__child_count(arguments) != 1 ||
        (!numpys && !gg_str_equal(object, gg__module_alias(s->in->tree, call, "math"))))
        return false;
    TSNode argument = gg__child(arguments, 0);
    gg__meta m = gg__infer_in(s, arm, argument);
    if (m.sort == GG__TENSOR && m.rank == 0 && !numpys)
        x = (side){.taken = true, .node = gg__strip_parentheses(argument), .meta = m};
    else if (!side_of(s, arm, argument, &x) || !x.taken)
        return false;
    if (!gg__is_floating(x.meta.dtype)) return false;
    gg_str text = gg__text_in(s, arm, x.node);
    *out = (gg__test){
        gg_arena_printf(s->arena, "%.*s.%.*s(%.*s)", GG_STR_ARG(s->torch), GG_STR_ARG(name), GG_STR_ARG(text)), false,
        true};
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
    if (gg__match_extraction(s->in, call, &e)) return !e.truncates && truth(s, arm, e.value, out);
    return truth(s, arm, call, out);
}

static bool count_is_not_zero(gg__select *s, const gg__arm *arm, TSNode node, gg__test *out) {
    gg_str text;
    if (!count_of(s, arm, node, &text)) return false;
    *out = (gg__test){gg_arena_printf(s->arena, "%.*s != 0", GG_STR_ARG(text)), false, false};
    return true;
}

bool gg__test_at(gg__select *s, gg__arm *arm, TSNode node, uint32_t depth, gg__test *out) {
    node = gg__strip_parentheses(node);
    if (depth > MAX_DEPTH) return false;
    if (count_is_not_zero(s, arm, node, out)) return true;
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
        a.text = gg__test_text(s, a);
        b.text = gg__test_text(s, b);
        a.atom = a.atom || a.negated; /* ~ binds closer than & */
        b.atom = b.atom || b.negated;
        const char *op = gg_str_is(gg__text(s->in->tree, gg__field(node, "operator")), "and") ? "&" : "|";
        gg_str x = operand(s, a), y = operand(s, b);
        *out = (gg__test){gg_arena_printf(s->arena, "%.*s %s %.*s", GG_STR_ARG(x), op, GG_STR_ARG(y)), false, false};
        return true;
    }
    if (gg_node_is(node, "comparison_operator"))
        return gg__test_of_member(s, arm, node, out) || comparison(s, arm, node, out);
    if (gg_node_is(node, "call")) return of_call(s, arm, node, depth, out);
    return gg__test_of_drawn(s, arm, node, GG_STR_NULL, (TSNode){0}, out) || truth(s, arm, node, out);
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

static void add_flag(gg__select *s, gg_str *flags, TSNode node, const char *op) {
    bool loose = gg__needs_parentheses(node) && !gg_node_is(node, "not_operator");
    gg_str text = gg__text(s->in->tree, node);
    *flags = gg_arena_printf(s->arena, "%.*s%s%s%.*s%s", GG_STR_ARG(*flags), flags->len ? op : "", loose ? "(" : "",
                             GG_STR_ARG(text), loose ? ")" : "");
}

static bool split(gg__select *s, TSNode condition, bool either, gg_str *flags, gg__test *test) {
    TSNode operands[MAX_OPERANDS];
    size_t count = operands_of(s->in->tree, condition, either ? "or" : "and", operands);
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
            add_flag(s, flags, operands[i], op);
            continue;
        }
        bool drawn = gg__is_drawn(s, operands[i]);
        if (!drawn && sort != GG__UNKNOWN && sort != GG__TENSOR) {
            s->unseen = s->unseen || !(m.seen && (m.value != 0) != either);
            add_flag(s, flags, operands[i], op);
            continue;
        }
        bool last = i + 1 == count && test->text.len == 0;
        if (!gg__test_of(s, NULL, operands[i], &one) && !(last && gg__test_drawn(s, operands[i], &one))) return false;
        if (test->text.len == 0) {
            *test = one;
            continue;
        }
        gg_str a = gg__test_text(s, *test), b = gg__test_text(s, one);
        bool plain_a = test->atom || test->negated, plain_b = one.atom || one.negated;
        *test = (gg__test){gg_arena_printf(s->arena, "%s%.*s%s %c %s%.*s%s", plain_a ? "" : "(", GG_STR_ARG(a),
                                           plain_a ? "" : ")", either ? '|' : '&', plain_b ? "" : "(", GG_STR_ARG(b),
                                           plain_b ? "" : ")"),
                           false, false};
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
    /* branch, .item(), torch.is_nonzero, nonzero() */
    static const char *const ids[] = {"GB0170", "GB0124", "GB0033", "GB0036"};
    return gg__has_id(in, ids, GG_COUNT(ids));
}

static bool tests_finiteness(TSNode node, void *data) {
    const gg_tree *tree = data;
    if (gg_node_is(node, "call")) {
        TSNode function = gg__field(node, "function");
        gg_str name = gg__text(tree, gg_node_is(function, "attribute") ? gg__field(function, "attribute") : function);
        return !gg_str_is(name, "isnan") && !gg_str_is(name, "isinf") && !gg_str_is(name, "isfinite");
    }
    return !gg_node_is(node, "comparison_operator") || gg__child_count(node) != 2 ||
           !gg_str_equal(gg__text(tree, gg__child(node, 0)), gg__text(tree, gg__child(node, 1))); /* x != x */
}

bool gg__asks_finiteness(const gg_tree *tree, TSNode condition) {
    return !gg__visit(condition, tests_finiteness, (void *)tree);
}
