/* Conditions as tensors.  See truth.h.
 *
 * DESIGN  `.item()` gives a double or a Python integer, and Python compares those exactly.  A tensor compares in its own dtype, into which
 * the other side is converted: so a literal must be one that this dtype holds, else the tensor is widened first. */
#include <stdlib.h>

#include "repair/infer.h"
#include "repair/select.h"
#include "repair/truth.h"

typedef struct truth {
    gg_str text;
    bool atom; /* needs no parentheses as an operand of & */
} truth;

typedef struct maker {
    const gg_rule_input *in;
    gg_str torch;
    gg_arena *arena;
    bool as_before; /* the condition is evaluated whole, where it was: it may fail */
} maker;

static truth truth_of(const maker *m, TSNode node);

static gg_str source(const maker *m, TSNode node) {
    return gg__text(m->in->tree, node);
}

static bool is_atom(TSNode node) {
    static const char *const types[] = {"identifier", "attribute", "call", "subscript", "parenthesized_expression"};
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_node_is(node, types[i])) return true;
    return false;
}

/* The node's text as an operand: in parentheses where it needs them. */
static gg_str operand(const maker *m, TSNode node) {
    if (is_atom(node) || gg_node_is(node, "integer") || gg_node_is(node, "float")) return source(m, node);
    return gg_arena_printf(m->arena, "(%.*s)", GG_STR_ARG(source(m, node)));
}

static bool is_signed_integer(gg_str dtype) {
    return gg_str_starts_with(dtype, GG_STR("torch.int"));
}

static bool is_real(gg__meta x) {
    return x.sort == GG__TENSOR && (gg__is_floating(x.dtype) || is_signed_integer(x.dtype) ||
                                    gg_str_is(x.dtype, "torch.uint8") || gg_str_is(x.dtype, "torch.bool"));
}

static bool is_number(gg__meta x) { /* a 0-d tensor of real numbers: its value is a Python number */
    return is_real(x) && x.rank == 0;
}

/* The truth of a 0-d tensor. */
static truth is_not_zero(const maker *m, TSNode node) {
    gg__meta x = gg__infer(m->in, node);
    if (gg__is_condition(x)) return (truth){source(m, node), is_atom(node)};
    if (!is_number(x)) return (truth){0};
    return (truth){gg_arena_printf(m->arena, "%.*s != 0", GG_STR_ARG(operand(m, node))), false};
}

/* ---- values brought to Python ---------------------------------------------------------------------------------------- */

/* E of `E.item()`, `float(E)`, and of `int(E)` for integers; null node when it is none of them, or E is no number. */
static TSNode extracted(const maker *m, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments"), value = {0};
    if (!gg_node_is(node, "call")) return value;
    uint32_t count = gg__child_count(arguments);
    bool whole = gg__names_builtin(m->in->tree, function, "int");
    if (gg_node_is(function, "attribute") && count == 0 &&
        gg_str_is(source(m, gg__field(function, "attribute")), "item"))
        value = gg__field(function, "object");
    else if (count == 1 && (whole || gg__names_builtin(m->in->tree, function, "float")))
        value = gg__child(arguments, 0);
    gg__meta x = gg__infer(m->in, value);
    if (ts_node_is_null(value) || !is_number(x) || (whole && gg__is_floating(x.dtype))) return (TSNode){0};
    return value;
}

/* Is it int() of what may be a floating tensor in another call? */
static bool is_cut(const maker *m, TSNode call, TSNode value) {
    return gg__names_builtin(m->in->tree, gg__field(call, "function"), "int") && !gg__has_certain_dtype(m->in, value);
}

/* The tensor that is the number of the call, as an operand. */
static gg_str operand_of(const maker *m, TSNode call, TSNode value) {
    gg_str text = operand(m, value);
    return is_cut(m, call, value) ? gg_arena_printf(m->arena, "%.*s.long()", GG_STR_ARG(text)) : text;
}

static gg_str dtype_of(const maker *m, TSNode call, TSNode value) {
    return is_cut(m, call, value) ? GG_STR("torch.int64") : gg__infer(m->in, value).dtype;
}

static truth truth_of_number(const maker *m, TSNode call, TSNode value) {
    if (!is_cut(m, call, value)) return is_not_zero(m, value);
    return (truth){gg_arena_printf(m->arena, "%.*s != 0", GG_STR_ARG(operand_of(m, call, value))), false};
}

/* The value of a literal, of `-literal` too. */
static bool literal(const maker *m, TSNode node, double *out) {
    bool negative = gg_node_is(node, "unary_operator") && gg_str_is(source(m, gg__field(node, "operator")), "-");
    if (negative) node = gg__field(node, "argument");
    if (!gg_node_is(node, "integer") && !gg_node_is(node, "float")) return false;
    char *text = gg_arena_z(m->arena, source(m, node)), *end = NULL;
    double value = strtod(text, &end);
    *out = negative ? -value : value;
    return *end == '\0' && text[0] != '\0' && strchr(text, 'x') == NULL && strchr(text, 'X') == NULL;
}

/* An integer that a double holds. */
static bool is_whole(double value) {
    const double most = 9007199254740992.0; /* 2^53 */
    return value >= -most && value <= most && (double)(int64_t)value == value;
}

/* Does the dtype hold the literal's value? */
static bool holds(gg_str dtype, double value) {
    if (gg_str_is(dtype, "torch.float64")) return true;
    if (gg_str_is(dtype, "torch.float32")) return (double)(float)value == value;
    if (gg__is_half(dtype)) return is_whole(value) && value >= -256 && value <= 256;
    return is_whole(value) && value >= 0 && value <= 127; /* bools and integers of any width */
}

/* How the tensor is to be widened, so that it compares with the literal as Python does; NULL when it cannot. */
static const char *widening(gg_str dtype, double value) {
    if (holds(dtype, value)) return "";
    if (gg__is_floating(dtype)) return ".double()";
    if (is_whole(value)) return ".long()";
    return gg_str_is(dtype, "torch.int64") ? NULL : ".double()";
}

/* One side of a comparison as the other one needs it; empty when that is not known. */
static gg_str side(const maker *m, TSNode node, TSNode other) {
    node = gg__strip_parentheses(node);
    other = gg__strip_parentheses(other);
    TSNode value = extracted(m, node);
    double number = 0;
    if (ts_node_is_null(value)) return gg__infer(m->in, node).sort == GG__UNKNOWN ? GG_STR_NULL : operand(m, node);
    gg_str dtype = dtype_of(m, node, value);
    const char *wider = NULL;
    if (literal(m, other, &number)) {
        wider = widening(dtype, number);
    } else {
        TSNode its_value = extracted(m, other);
        if (!ts_node_is_null(its_value) && gg_str_equal(dtype_of(m, other, its_value), dtype))
            wider = "";
        else if (gg__infer(m->in, other).sort == GG__SCALAR_FLOAT && gg__is_floating(dtype))
            wider = ".double()";
    }
    return wider ? gg_arena_printf(m->arena, "%.*s%s", GG_STR_ARG(operand_of(m, node, value)), wider) : GG_STR_NULL;
}

/* ---- comparisons ------------------------------------------------------------------------------------------------------- */

static bool is_comparison(gg_str op) {
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="};
    for (size_t i = 0; i < GG_COUNT(ops); i++)
        if (gg_str_is(op, ops[i])) return true;
    return false;
}

static bool is_plain_number(const maker *m, TSNode node) {
    gg__sort sort = gg__infer(m->in, node).sort;
    return sort == GG__SCALAR_INT || sort == GG__SCALAR_FLOAT;
}

/* `a < b < c`: the comparisons of neighbours, joined.  Each has a number that is a tensor, beside another or a Python number. */
static truth comparison(const maker *m, TSNode node) {
    gg_str all = GG_STR_NULL;
    uint32_t count = gg__child_count(node);
    for (uint32_t i = 0; i + 1 < count; i++) {
        TSNode left = gg__child(node, i), right = gg__child(node, i + 1), op = ts_node_next_sibling(left);
        TSNode inner[2] = {gg__strip_parentheses(left), gg__strip_parentheses(right)};
        uint32_t tensors = 0;
        for (int k = 0; k < 2; k++) {
            bool number = is_number(gg__infer(m->in, inner[k])) || !ts_node_is_null(extracted(m, inner[k]));
            if (!number && !is_plain_number(m, inner[k])) return (truth){0};
            tensors += number;
        }
        gg_str a = side(m, left, right), b = side(m, right, left);
        if (!is_comparison(source(m, op)) || tensors == 0 || a.len == 0 || b.len == 0) return (truth){0};
        gg_str one =
            gg_arena_printf(m->arena, "%.*s %.*s %.*s", GG_STR_ARG(a), GG_STR_ARG(source(m, op)), GG_STR_ARG(b));
        if (count == 2) return (truth){one, false};
        all = all.len ? gg_arena_printf(m->arena, "%.*s & (%.*s)", GG_STR_ARG(all), GG_STR_ARG(one))
                      : gg_arena_printf(m->arena, "(%.*s)", GG_STR_ARG(one));
    }
    return (truth){all, false};
}

/* ---- joined ---------------------------------------------------------------------------------------------------------- */

static gg_str wrapped(const maker *m, truth t) {
    return t.atom ? t.text : gg_arena_printf(m->arena, "(%.*s)", GG_STR_ARG(t.text));
}

static truth join(const maker *m, truth a, truth b, bool both) {
    if (!a.text.len || !b.text.len) return (truth){0};
    return (truth){gg_arena_printf(m->arena, "%.*s %c %.*s", GG_STR_ARG(wrapped(m, a)), both ? '&' : '|',
                                   GG_STR_ARG(wrapped(m, b))),
                   false};
}

static truth negation(const maker *m, truth t) {
    if (!t.text.len) return t;
    return (truth){gg_arena_printf(m->arena, "%.*s.logical_not(%.*s)", GG_STR_ARG(m->torch), GG_STR_ARG(t.text)), true};
}

/* `any(v)`, `all(v)`: of the elements of a vector, or of the conditions of a list. */
static truth of_builtin(const maker *m, TSNode argument, bool all) {
    if (gg_node_is(argument, "list") || gg_node_is(argument, "tuple")) {
        truth t = truth_of(m, gg__child(argument, 0));
        for (uint32_t i = 1; i < gg__child_count(argument); i++)
            t = join(m, t, truth_of(m, gg__child(argument, i)), all);
        return t;
    }
    gg__meta x = gg__infer(m->in, argument);
    if (!is_real(x) || x.rank != 1) return (truth){0};
    return (truth){gg_arena_printf(m->arena, "%.*s.%s()", GG_STR_ARG(operand(m, argument)), all ? "all" : "any"), true};
}

static bool are_plain(const maker *m, TSNode arguments, uint32_t from) {
    for (uint32_t i = from; i < gg__child_count(arguments); i++) {
        TSNode argument = gg__child(arguments, i);
        if (gg_node_is(argument, "keyword_argument")) argument = gg__field(argument, "value");
        gg__meta x = gg__infer(m->in, argument);
        if (x.sort == GG__UNKNOWN || x.sort == GG__TENSOR) return false;
    }
    return true;
}

/* `torch.allclose(a, b, …)` and `a.allclose(b, …)`, which are isclose(…).all() */
static truth of_allclose(const maker *m, TSNode function, TSNode arguments) {
    bool free = gg__refers_to(m->in->tree, function, "torch.allclose");
    uint32_t first = free ? 1 : 0;
    if (gg__child_count(arguments) <= first) return (truth){0};
    TSNode a = free ? gg__child(arguments, 0) : gg__field(function, "object"), b = gg__child(arguments, first);
    gg__meta x = gg__infer(m->in, a), y = gg__infer(m->in, b);
    y.vague = x.vague; /* where their dtypes differ both fail */
    if (!gg__same_tensor(x, y) || !are_plain(m, arguments, first + 1)) return (truth){0};
    gg_str head = free ? m->torch : operand(m, a);
    return (truth){
        gg_arena_printf(m->arena, "%.*s.isclose%.*s.all()", GG_STR_ARG(head), GG_STR_ARG(source(m, arguments))), true};
}

static truth call(const maker *m, TSNode node) {
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    const gg_tree *tree = m->in->tree;
    gg_str name = source(m, gg__field(function, "attribute"));
    TSNode only = gg__child_count(arguments) == 1 ? gg__child(arguments, 0) : (TSNode){0};
    TSNode value = extracted(m, node);
    if (!ts_node_is_null(value)) return truth_of_number(m, node, value);
    if (!ts_node_is_null(only) && gg__names_builtin(tree, function, "bool")) return truth_of(m, only);
    if (!ts_node_is_null(only) && gg__names_builtin(tree, function, "any")) return of_builtin(m, only, false);
    if (!ts_node_is_null(only) && gg__names_builtin(tree, function, "all")) return of_builtin(m, only, true);
    if (gg_str_is(name, "allclose")) return of_allclose(m, function, arguments);
    if (gg__refers_to(tree, function, "torch.is_nonzero") && !ts_node_is_null(only)) return is_not_zero(m, only);
    if (gg_str_is(name, "is_nonzero") && gg__child_count(arguments) == 0)
        return is_not_zero(m, gg__field(function, "object"));
    return (truth){0};
}

/* What a branch may ask (select.h), as long as nothing is drawn. */
static truth as_selected(const maker *m, TSNode node) {
    gg__select s;
    gg__test test;
    truth out = {0};
    TSNode statement = gg__statement(node);
    gg__equality equal; /* is told apart by its shapes first, where somebody does */
    if (ts_node_is_null(statement) || gg__is_equality(m->in, node, m->arena, &equal)) return out;
    gg__select_init(&s, m->in, statement, m->arena);
    s.torch = m->torch;
    s.as_before = m->as_before;
    if (gg__test_of(&s, NULL, node, &test) && !s.draws && !s.on_cpu && s.lines.len == 0)
        out = (truth){gg__test_text(&s, test), test.atom && !test.negated};
    gg__select_clear(&s);
    return out;
}

static truth truth_of(const maker *m, TSNode node) {
    node = gg__strip_parentheses(node);
    if (gg_node_is(node, "not_operator")) return negation(m, truth_of(m, gg__field(node, "argument")));
    if (gg_node_is(node, "boolean_operator"))
        return join(m, truth_of(m, gg__field(node, "left")), truth_of(m, gg__field(node, "right")),
                    gg_str_is(source(m, gg__field(node, "operator")), "and"));
    truth t = is_not_zero(m, node);
    if (t.text.len) return t;
    if (gg_node_is(node, "comparison_operator")) t = comparison(m, node);
    if (gg_node_is(node, "call")) t = call(m, node);
    return t.text.len ? t : as_selected(m, node);
}

bool gg__is_equality(const gg_rule_input *in, TSNode node, gg_arena *arena, gg__equality *out) {
    maker m = {in, GG_STR_NULL, arena, false};
    node = gg__strip_parentheses(node);
    TSNode function = gg__field(node, "function"), arguments = gg__field(node, "arguments");
    bool free = gg__refers_to(in->tree, function, "torch.equal");
    if (!gg_node_is(node, "call") || gg__child_count(arguments) != (free ? 2U : 1U) ||
        (!free && !gg_str_is(source(&m, gg__field(function, "attribute")), "equal")))
        return false;
    TSNode a = free ? gg__child(arguments, 0) : gg__field(function, "object"), b = gg__child(arguments, free ? 1 : 0);
    if (!gg__same_tensor(gg__infer(in, a), gg__infer(in, b))) return false;
    gg_str x = operand(&m, a), y = operand(&m, b);
    out->shapes = gg_arena_printf(arena, "%.*s.shape == %.*s.shape", GG_STR_ARG(x), GG_STR_ARG(y));
    out->elements = gg_arena_printf(arena, "(%.*s == %.*s).all()", GG_STR_ARG(x), GG_STR_ARG(y));
    return true;
}

static gg_str make(const maker *m, TSNode condition, bool negated) {
    condition = gg__strip_parentheses(condition);
    for (; gg_node_is(condition, "not_operator"); negated = !negated)
        condition = gg__strip_parentheses(gg__field(condition, "argument"));
    truth t = truth_of(m, condition);
    return negated ? negation(m, t).text : t.text;
}

gg_str gg__truth(const gg_rule_input *in, TSNode condition, bool negated, gg_str torch, gg_arena *arena) {
    maker m = {in, torch, arena, false};
    return make(&m, condition, negated);
}

gg_str gg__truth_as_before(const gg_rule_input *in, TSNode condition, bool negated, gg_str torch, gg_arena *arena) {
    maker m = {in, torch, arena, false};
    gg_str strictly = make(&m, condition, negated);
    m.as_before = true;
    return strictly.len || !gg__is_evaluated_whole(condition) ? strictly : make(&m, condition, negated);
}

bool gg__has_truth(const gg_rule_input *in, TSNode condition) {
    gg_arena *arena = gg_arena_new();
    bool found = gg__truth(in, condition, false, GG_STR("torch"), arena).len > 0;
    gg_arena_free(arena);
    return found;
}

bool gg__is_and(const gg_tree *tree, TSNode node) {
    return gg_node_is(node, "boolean_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "and");
}

TSNode gg__message_of(TSNode assert_statement) {
    return gg__child_count(assert_statement) > 1 ? gg__child(assert_statement, 1) : (TSNode){0};
}

bool gg__is_plain_message(const gg_tree *tree, TSNode message) {
    if (ts_node_is_null(message)) return true;
    if (!gg_node_is(message, "string")) return false;
    for (uint32_t i = 0; i < gg__child_count(message); i++)
        if (gg_node_is(gg__child(message, i), "interpolation")) return false;
    return gg__text(tree, message).ptr[0] == '"' || gg__text(tree, message).ptr[0] == '\'';
}
