/* Numbers taken out of tensors: one use at a time.  See scalar.h.
 *
 * DESIGN  All uses are asked twice.  The first time they say which precision they want: Python counts integers without bound and everything else
 * in double precision.  Then that is settled, and each says whether it can do with it.  A tensor without dimensions takes no part in promotion
 * where it meets one of its kind that has some, so there it does what the number does. */
#include "repair/scalar.h"

#include "repair/infer.h"
#include "repair/ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 15 };           /* of a literal: a double holds it */
static const double exact = 0x1p53; /* a double holds every integer up to here */

/* Bits of an integer dtype that are for its value; 0 when it is none. */
static int bits_of(gg_str dtype) {
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"torch.int64", 63}, {"torch.int32", 31}, {"torch.int16", 15}, {"torch.int8", 7}, {"torch.uint8", 8}};
    for (size_t i = 0; i < GG_COUNT(types); i++)
        if (gg_str_is(dtype, types[i].name)) return types[i].bits;
    return 0;
}

bool gg__literal_value(const gg_tree *tree, TSNode node, double *out) {
    node = gg__strip_parentheses(node);
    double sign = 1;
    if (gg_node_is(node, "unary_operator") && gg_str_is(gg__text(tree, gg__field(node, "operator")), "-")) {
        sign = -1;
        node = gg__strip_parentheses(gg__field(node, "argument"));
    }
    gg_str text = gg__text(tree, node);
    char digits[MAX_DIGITS + 1] = {0};
    if ((!gg_node_is(node, "integer") && !gg_node_is(node, "float")) || text.len > MAX_DIGITS) return false;
    memcpy(digits, text.ptr, text.len);
    char *end = NULL;
    *out = sign * strtod(digits, &end);
    return *end == '\0';
}

/* ---- what is taken out ------------------------------------------------------------------------------------------------------ */

static bool is_counting(const gg_rule_input *in, TSNode node) {
    TSNode function = gg__field(node, "function");
    gg_str name = gg__text(in->tree, gg__field(function, "attribute"));
    if (gg_str_is(name, "argmax") || gg_str_is(name, "argmin") || gg_str_is(name, "count_nonzero")) return true;
    return gg_str_is(name, "sum") && gg__is_bool(gg__infer(in, gg__field(function, "object")).dtype);
}

gg__scalar gg__scalar_of(const gg_rule_input *in, gg__meta m, TSNode value) {
    gg__scalar s = {.magnitude = INFINITY,
                    .grid = m.dtype,
                    .natural = gg__is_natural(in, value),
                    .positive = gg__is_floating(m.dtype) && gg__is_positive(in, value)};
    int bits = bits_of(m.dtype);
    if (gg__is_bool(m.dtype)) {
        s.sort = GG__SCALAR_BOOL;
        s.magnitude = 1;
    } else if (bits) {
        s.sort = GG__SCALAR_INT;
        if (bits < 63) s.magnitude = (double)(UINT64_C(1) << bits);
        if (is_counting(in, gg__strip_parentheses(value))) {
            s.magnitude = GG__MOST_ELEMENTS;
            s.natural = true;
        }
        gg__range range;
        if (gg__range_of(in, value, &range)) { /* `(h > 0).sum()`, also by its name */
            s.natural = s.natural || range.low >= 0;
            s.magnitude = fmin(s.magnitude, fmax(fabs(range.low), fabs(range.high)));
            if (s.magnitude > exact) s.magnitude = bits < 63 ? s.magnitude : INFINITY;
        }
    } else if (gg__is_floating(m.dtype)) {
        s.sort = GG__SCALAR_FLOAT;
        s.largest = gg__largest(m.dtype);
    }
    return s;
}

/* int() of a floating value raises where that is not finite. */
static bool truncates(const gg_rule_input *in, gg__extraction *e) {
    gg__range range;
    if (!gg__range_of(in, e->value, &range)) return false;
    e->truncates = true;
    e->scalar.magnitude = ceil(fmax(fabs(range.low), fabs(range.high)));
    e->scalar.natural = range.low >= 0;
    e->scalar.positive = false;
    return e->scalar.magnitude <= exact;
}

/* `torch.rand(1)`, which is drawn as often as before.  Of whichever dtype is the default: a double holds it. */
static gg__meta drawn(const gg_rule_input *in, TSNode value, gg__extraction *out) {
    gg__meta m = gg__infer_drawn(in, value);
    if (m.sort != GG__TENSOR || m.vague != GG__DEFAULT || !gg__is_floating(m.dtype)) return m;
    out->any_float = true;
    out->widening = GG__TO_DOUBLE;
    m.vague = GG__CERTAIN;
    return m;
}

static bool match(const gg_rule_input *in, TSNode call, bool loose, bool single, gg__extraction *out) {
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    uint32_t count = gg__child_count(arguments);
    gg_str name = gg__text(in->tree, function);
    *out = (gg__extraction){.call = call};
    if (!gg_node_is(call, "call") || !gg_node_is(arguments, "argument_list")) return false;
    bool item = gg_node_is(function, "attribute") && count == 0 &&
                gg_str_is(gg__text(in->tree, gg__field(function, "attribute")), "item");
    bool converted = gg_node_is(function, "identifier") && count == 1 && !gg__is_local(in->tree, call, name) &&
                     !gg__is_bound_in_module(in->tree, name);
    if (!item && !converted) return false;
    out->value = item ? gg__field(function, "object") : gg__child(arguments, 0);
    out->meta = loose ? gg__infer_loosely(in, out->value) : gg__infer(in, out->value);
    if (single && out->meta.sort == GG__UNKNOWN) out->meta = drawn(in, out->value, out);
    out->single = single && gg__has_one_element(out->meta);
    if (out->meta.sort != GG__TENSOR || (out->meta.rank != 0 && !out->single) || out->meta.vague) return false;
    gg__meta held = out->meta;
    if (out->any_float) held.dtype = GG_STR("torch.float64");
    out->scalar = gg__scalar_of(in, held, out->value);
    gg__sort sort = out->scalar.sort;
    if (sort == GG__UNKNOWN) return false;
    if (item) return true;
    if (gg_str_is(name, "float")) {
        if (sort != GG__SCALAR_FLOAT) out->widening = GG__TO_DOUBLE;
        out->scalar.sort = GG__SCALAR_FLOAT;
        return true;
    }
    if (gg_str_is(name, "int")) {
        if (sort == GG__SCALAR_BOOL) out->widening = GG__TO_LONG;
        out->scalar.sort = GG__SCALAR_INT;
        return sort != GG__SCALAR_FLOAT || truncates(in, out);
    }
    out->truth = sort != GG__SCALAR_BOOL;
    out->scalar = (gg__scalar){.sort = GG__SCALAR_BOOL, .magnitude = 1, .natural = true};
    return gg_str_is(name, "bool");
}

bool gg__match_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, false, false, out);
}

bool gg__match_single_extraction(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, false, true, out);
}

bool gg__match_extraction_loosely(const gg_rule_input *in, TSNode call, gg__extraction *out) {
    return match(in, call, true, false, out);
}

/* Is it read where nothing binds tighter than a comma? */
static bool stands_alone(TSNode node) {
    TSNode parent = gg__parent(node);
    return gg_node_is(parent, "assignment") || gg_node_is(parent, "argument_list") ||
           gg_node_is(parent, "parenthesized_expression");
}

gg_str gg__tensor_text(const gg_rule_input *in, const gg__extraction *e, gg__widening widening, bool at_once,
                       gg_arena *arena) {
    TSNode value = gg__strip_parentheses(e->value);
    static const char *const primary[] = {"identifier", "call", "attribute", "subscript"};
    bool simple = false;
    for (size_t i = 0; i < GG_COUNT(primary); i++) simple = simple || gg_node_is(value, primary[i]);
    gg_str text = gg__text(in->tree, simple ? value : e->value);
    bool wrap = !simple && !gg_node_is(e->value, "parenthesized_expression");
    if (e->single) { /* of another number of elements it raises, too */
        text = gg_arena_printf(arena, "%s%.*s%s.reshape(())", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "");
        wrap = false;
    }
    bool floating = gg__is_floating(e->meta.dtype), fresh = e->meta.fresh;
    if (e->truth) {
        text = gg_arena_printf(arena, "(%.*s%s != 0)", GG_STR_ARG(text), floating ? ".detach()" : "");
        return widening == GG__AS_IS
                   ? text
                   : gg_arena_printf(arena, "%.*s.%s()", GG_STR_ARG(text), widening == GG__TO_LONG ? "long" : "double");
    }
    if (e->truncates) {
        static const char *const kinds[] = {[GG__AS_IS] = "", [GG__TO_LONG] = "", [GG__TO_DOUBLE] = ".double()"};
        return gg_arena_printf(arena, "%s%.*s%s.detach().long()%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                               kinds[widening]);
    }
    const char *convert = "";
    if (widening == GG__TO_DOUBLE && !gg_str_is(e->meta.dtype, "torch.float64")) convert = ".double()";
    if (widening == GG__TO_LONG && !gg_str_is(e->meta.dtype, "torch.int64")) convert = ".long()";
    /* detach() shares memory with its source, which may be changed in place later, also by what autograd does not see. */
    if (convert[0] == '\0' && !fresh && !at_once) convert = ".clone()";
    if (!floating && convert[0] == '\0' && !e->lists && stands_alone(e->call))
        return e->single ? text : gg__text(in->tree, value);
    return gg_arena_printf(arena, "%s%.*s%s%s%s%s", wrap ? "(" : "", GG_STR_ARG(text), wrap ? ")" : "",
                           floating ? ".detach()" : "", convert, e->lists == 1 ? ".unbind()" : "");
}

bool gg__facts_on_cpu(const gg_rule_input *in) {
    const gg_break *record = in->site->first;
    for (size_t i = 0; i < record->fact_count; i++)
        if (record->facts[i].kind == GG_VALUE_TENSOR && record->facts[i].device.len &&
            !gg_str_is(record->facts[i].device, "cpu"))
            return false;
    return true;
}

/* ---- one use ------------------------------------------------------------------------------------------------------------------- */

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
    int bits = bits_of(other.dtype);
    return bits &&
           (gg_str_equal(dtype, other.dtype) || (bits_of(dtype) < bits && !gg_str_is(other.dtype, "torch.uint8")));
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
                *s = (gg__scalar){.sort = GG__SCALAR_INT, .counted = true, .magnitude = s->magnitude};
            }
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

/* With another number: what becomes of it. */
static bool counts(gg__scalar_uses *u, gg__scalar *s, gg__meta other, TSNode other_node, char op, bool is_left) {
    double value = INFINITY;
    bool literal = gg__literal_value(u->in.tree, other_node, &value), whole = other.sort != GG__SCALAR_FLOAT;
    if (other.sort == GG__UNKNOWN || other.sort == GG__TENSOR) return false;
    gg__scalar_values(s, u->in.tree, other_node, op, is_left);
    double bound = gg__number_bound(u->in.tree, other_node);
    s->largest = op == '*' ? s->largest * bound : op == '/' || s->largest == 0 ? 0 : s->largest + bound;
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
    if (value == 0.5 && s->natural && u->approximate) return to_float(u, s);
    if (value != 2 || !gg_node_is(gg__strip_parentheses(exponent), "integer")) return false;
    bool squares = gg__scalar_squares(s), narrow = !s->counted && !gg_str_is(u->dtype, "torch.float64");
    s->natural = true;
    s->positive = s->nonzero = false;
    s->largest *= s->largest;
    bool near = u->approximate && s->largest > 0 && s->largest < gg__largest(GG_STR("torch.float64"));
    if (s->sort == GG__SCALAR_FLOAT) return to_float(u, s) && (narrow || squares || near);
    gg__scalar_want(u, GG__TO_LONG);
    s->sort = GG__SCALAR_INT;
    s->magnitude *= s->magnitude;
    s->counted = true;
    return !u->settled || u->widening == GG__TO_LONG || s->magnitude <= exact;
}

static bool is_arithmetic(char op) {
    return op == '+' || op == '-' || op == '*' || op == '/';
}

static bool in_binary(gg__scalar_uses *u, TSNode parent, TSNode use, gg__scalar *s, bool *done) {
    TSNode left = gg__field(parent, "left"), right = gg__field(parent, "right");
    bool is_left = ts_node_eq(left, use);
    TSNode other_node = is_left ? right : left;
    gg_str op = gg__text(u->in.tree, gg__field(parent, "operator"));
    if (gg_str_is(op, "**")) return power(u, s, right, is_left);
    if (op.len != 1 || !is_arithmetic(op.ptr[0])) return false;
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
    if (op.len != 2 || !is_arithmetic(op.ptr[0]) || (op.ptr[0] == '/' && !u->on_cpu && !u->approximate)) return false;
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

bool gg__scalar_use(gg__scalar_uses *u, TSNode node, gg__scalar s) {
    for (bool done = false;;) {
        TSNode parent = climb(u, &node, &s);
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
            if (!in_binary(u, parent, node, &s, &done)) return false;
            node = parent;
        } else if (!gg__scalar_in_call(u, &node, &s, &done)) {
            return false;
        }
        if (done) return true;
    }
}
