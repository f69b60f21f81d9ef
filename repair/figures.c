/* Python's numbers that were taken out of tensors, in conditions.  See figures.h.
 *
 * DESIGN  Python computes with doubles, and with integers of any size.  So floating numbers are widened where it does; integers become int64
 * where it is proven to hold what comes out.  A constant that is added to one that may be any int64 is kept apart, and taken from the other side
 * of the comparison.  What may raise (a division by what may be zero) is refused. */
#include "repair/figures.h"

#include "repair/hindrance.h"
#include "repair/infer.h"
#include "repair/masks.h"
#include "repair/ranges.h"
#include "repair/scalar.h"

#include <math.h>

enum { MAX_DEPTH = 30 };
static const double held = GG__HELD;
static const double room = 0x1p62; /* int64 holds more than this */

typedef struct reading {
    gg__select *s;
    gg__arm *arm;
    const gg__listed *listed;
    uint32_t depth;
} reading;

static bool read(reading *r, TSNode node, gg__figure *out);

gg_str gg__closed_figure(const gg__select *s, const gg__figure *f) {
    return f->atom ? f->text : gg_arena_printf(s->arena, "(%.*s)", GG_STR_ARG(f->text));
}

static gg_str closed(const reading *r, const gg__figure *f) {
    return gg__closed_figure(r->s, f);
}

bool gg__is_within(const gg__figure *f, double bound) {
    return f->offset == 0 && f->low > -bound && f->high < bound;
}

static bool is_whole(const gg__figure *f) {
    return f->sort == GG__SCALAR_INT;
}

void gg__convert_figure(const gg__select *s, gg__figure *f, bool whole) {
    gg_str dtype = whole ? GG_STR("torch.int64") : GG_STR("torch.float64");
    f->sort = whole ? GG__SCALAR_INT : GG__SCALAR_FLOAT;
    if (!f->taken || gg_str_equal(f->dtype, dtype)) return;
    f->text = gg_arena_printf(s->arena, "%.*s.%s()", GG_STR_ARG(gg__closed_figure(s, f)), whole ? "long" : "double");
    f->dtype = dtype;
    f->atom = true;
}

static void convert(const reading *r, gg__figure *f, bool whole) {
    gg__convert_figure(r->s, f, whole);
}

/* ---- what is read ------------------------------------------------------------------------------------------------------- */

static bool is_size(const reading *r, TSNode node) { /* of a tensor, as everything that gg__infer knows of the kind */
    static const char *const names[] = {"size", "numel", "nelement", "dim", "ndimension"};
    const gg_tree *tree = r->s->in->tree;
    TSNode function = gg__field(node, "function"), value = gg__field(node, "value");
    if (gg_node_is(node, "subscript")) return gg_str_is(gg__text(tree, gg__field(value, "attribute")), "shape");
    return gg_node_is(node, "call") &&
           (gg__names_builtin(tree, function, "len") ||
            gg__is_one_of(gg__text(tree, gg__field(function, "attribute")), names, GG_COUNT(names)));
}

/* Nothing in what makes an integer is beyond int64 by itself. */
static bool is_moderate(TSNode node, void *data) {
    const gg_tree *tree = data;
    if (gg_node_is(node, "binary_operator")) return !gg_str_is(gg__text(tree, gg__field(node, "operator")), "**");
    return !gg_node_is(node, "integer") || gg__text(tree, node).len < 16;
}

static bool of_number(const reading *r, TSNode node, gg__meta m, gg__figure *out) {
    if (m.sort == GG__SCALAR_INT && !m.constant && !gg__visit(node, is_moderate, (void *)r->s->in->tree)) return false;
    gg_str text = gg__text_in(r->s, r->arm, node);
    bool operation = gg_node_is(node, "unary_operator") || gg_node_is(node, "binary_operator");
    *out = (gg__figure){.sort = m.sort, .constant = m.constant, .value = m.value, .low = -INFINITY, .high = INFINITY};
    out->text = operation ? text : gg__closed(r->s, text, node);
    out->atom = !operation;
    if (m.constant) out->low = out->high = m.value;
    if (m.natural && is_size(r, node)) {
        out->low = 0;
        out->high = GG__MOST_ELEMENTS;
    }
    return true;
}

/* The number that a tensor without dimensions holds, or that each element of a list does. */
static bool of_tensor(const reading *r, TSNode value, gg__meta m, gg__figure *out) {
    gg__range range;
    bool bound = r->arm && r->arm->count;
    value = gg__strip_parentheses(value);
    if (m.sort != GG__TENSOR || m.vague) return false;
    *out = (gg__figure){.taken = true, .dtype = m.dtype, .device = m.device, .low = -INFINITY, .high = INFINITY};
    out->text = gg__closed(r->s, gg__text_in(r->s, r->arm, value), value);
    out->atom = true;
    out->sort = gg__is_floating(m.dtype) ? GG__SCALAR_FLOAT : GG__SCALAR_INT;
    if (is_whole(out) && !gg__is_integer(m.dtype) && !gg__is_bool(m.dtype)) return false;
    if (is_whole(out) && !bound && gg__range_of(r->s->in, value, &range)) {
        out->low = range.low;
        out->high = range.high;
    }
    if (gg__is_bool(m.dtype)) convert(r, out, true);
    return true;
}

/* `len(torch.nonzero(c))`: a number that takes no tensor out of a graph when it is counted.  Names that an arm binds are not those it has. */
static bool of_count(const reading *r, TSNode node, gg__figure *out) {
    gg__sized sized;
    if ((r->arm && r->arm->count) || !gg__is_size(r->s->in, node, &sized)) return false;
    *out = (gg__figure){.sort = GG__SCALAR_INT, .taken = true, .dtype = GG_STR("torch.int64"), .atom = true};
    out->text = gg__size_text(r->s->in, &sized, r->s->torch, r->s->arena);
    out->device = gg__infer(r->s->in, sized.counted).device;
    out->high = GG__MOST_ELEMENTS;
    return true;
}

/* int() of what may be a floating tensor in another call. */
static void cut_off(const reading *r, gg__figure *f) {
    f->dtype = GG_STR_NULL;
    convert(r, f, true);
}

static bool of_extraction(const reading *r, TSNode call, gg__figure *out) {
    gg__extraction e;
    bool known =
        r->s->as_before ? gg__match_extraction_loosely(r->s->in, call, &e) : gg__match_extraction(r->s->in, call, &e);
    if (!known || e.truth || e.truncates) return false;
    gg__meta m = gg__infer_in(r->s, r->arm, e.value);
    if (m.rank != 0 || !of_tensor(r, e.value, m, out)) return false;
    if (e.scalar.sort == GG__SCALAR_FLOAT && is_whole(out)) convert(r, out, false);
    if (e.cuts && !gg__is_bool(m.dtype)) cut_off(r, out);
    return true;
}

/* `t.tolist()[0]` */
static bool of_place(const reading *r, TSNode node, gg__figure *out) {
    gg__listed l;
    if (!gg_node_is(node, "subscript") || gg__child_count(node) != 2 ||
        !gg__is_listed(r->s, r->arm, gg__field(node, "value"), &l))
        return false;
    gg__meta at = gg__infer_in(r->s, r->arm, gg__field(node, "subscript"));
    double size = (double)l.meta.shape[0];
    if (at.sort != GG__SCALAR_INT || !at.constant || at.value < -size || at.value >= size ||
        gg__has_unseen_callers(r->s->in, node) || !of_tensor(r, l.list, l.meta, out))
        return false;
    const char *convert_last = gg__is_bool(l.meta.dtype) ? ".long()" : "";
    TSNode list = gg__strip_parentheses(l.list);
    out->text = gg_arena_printf(r->s->arena, "%.*s[%lld]%s",
                                GG_STR_ARG(gg__closed(r->s, gg__text_in(r->s, r->arm, list), list)),
                                (long long)at.value, convert_last);
    return true;
}

/* ---- what Python computes ------------------------------------------------------------------------------------------------- */

/* The result is one of int64, for certain. */
static bool keeps_within(const reading *r, TSNode node, gg__figure *f, double low, double high) {
    f->low = low;
    f->high = high;
    if (low > -room && high < room) return true;
    return gg__hinder(r->s->in, node, "may be an integer that no tensor holds, as Python's do");
}

static bool negated(const reading *r, TSNode node, gg__figure *f) {
    if (is_whole(f)) {
        if (f->offset != 0 || !keeps_within(r, node, f, -f->high, -f->low)) return false;
        convert(r, f, true);
    }
    f->text = gg_arena_printf(r->s->arena, "-%.*s", GG_STR_ARG(closed(r, f)));
    f->atom = false;
    return true;
}

static void join(const reading *r, const gg__figure *a, gg_str op, const gg__figure *b, gg__figure *out) {
    bool sum = gg_str_is(op, "+") || gg_str_is(op, "-");
    gg_str x = sum ? a->text : closed(r, a), y = closed(r, b);
    out->text = gg_arena_printf(r->s->arena, "%.*s %.*s %.*s", GG_STR_ARG(x), GG_STR_ARG(op), GG_STR_ARG(y));
    out->atom = false;
    out->taken = true;
    out->device = a->taken ? a->device : b->device;
    out->dtype = is_whole(out) ? GG_STR("torch.int64") : GG_STR("torch.float64");
}

static bool is_any_size(const gg__figure *f) { /* an integer of Python's that may be more than torch takes */
    return is_whole(f) && !f->taken && !gg__is_within(f, room);
}

/* In doubles, as Python does it; an integer is rounded alike.  Compiled for CUDA, a product and a sum may be one operation, which rounds once. */
static bool in_doubles(const reading *r, gg__figure *a, gg_str op, gg__figure *b, gg__figure *out) {
    if (a->offset != 0 || b->offset != 0 || is_any_size(a) || is_any_size(b)) return false;
    convert(r, a, false);
    convert(r, b, false);
    bool sum = gg_str_is(op, "+") || gg_str_is(op, "-");
    if (sum && (a->product || b->product) && !gg__facts_on_cpu(r->s->in)) return false;
    *out = (gg__figure){.sort = GG__SCALAR_FLOAT, .product = !sum, .low = -INFINITY, .high = INFINITY};
    join(r, a, op, b, out);
    return true;
}

/* `n + 3`, of an n that may be any int64 */
static bool set_apart(const gg__figure *a, char op, const gg__figure *b, gg__figure *out) {
    const gg__figure *n = a->taken ? a : b, *k = a->taken ? b : a;
    if (k->taken || !k->constant || (op == '-' && k == a)) return false;
    *out = *n;
    out->offset += op == '-' ? -k->value : k->value;
    return fabs(out->offset) <= held;
}

static bool in_integers(const reading *r, TSNode node, gg__figure *a, char op, gg__figure *b, gg__figure *out) {
    double low = a->low + b->low, high = a->high + b->high;
    bool within = gg__is_within(a, room) && gg__is_within(b, room);
    if (op == '-') {
        low = a->low - b->high;
        high = a->high - b->low;
    } else if (op == '*') {
        double ends[] = {a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high};
        low = fmin(fmin(ends[0], ends[1]), fmin(ends[2], ends[3]));
        high = fmax(fmax(ends[0], ends[1]), fmax(ends[2], ends[3]));
    }
    if (op != '*' && !(within && low > -room && high < room) && set_apart(a, op, b, out)) return true;
    if (!within) low = -INFINITY;
    *out = (gg__figure){.sort = GG__SCALAR_INT};
    if (!keeps_within(r, node, out, low, high)) return false;
    convert(r, a, true);
    convert(r, b, true);
    join(r, a, (gg_str){&op, 1}, b, out);
    return true;
}

/* A tensor is divided by a number as Python does it on the CPU; on CUDA it is multiplied by the reciprocal, which may round. */
static bool divide(const reading *r, TSNode node, gg__figure *a, gg__figure *b, gg__figure *out) {
    int exponent;
    if (b->taken || !b->constant || b->value == 0)
        return gg__hinder(r->s->in, node, "may divide by zero, which is an error in Python");
    bool exact = gg__facts_on_cpu(r->s->in) || fabs(frexp(b->value, &exponent)) == 0.5;
    bool fits = (!is_whole(a) || gg__is_within(a, held)) && (!is_whole(b) || fabs(b->value) <= held);
    return exact && fits && in_doubles(r, a, GG_STR("/"), b, out);
}

/* `n % 2`, `n // 2`: rounded down by both */
static bool divide_down(const reading *r, gg__figure *a, gg_str op, gg__figure *b, gg__figure *out) {
    if (!is_whole(a) || !is_whole(b) || a->offset != 0 || b->taken || !b->constant || b->value < 1 || b->value > held)
        return false;
    *out = (gg__figure){.sort = GG__SCALAR_INT, .high = b->value - 1};
    if (gg_str_is(op, "//")) {
        out->low = floor(a->low / b->value);
        out->high = floor(a->high / b->value);
    }
    convert(r, a, true);
    join(r, a, op, b, out);
    return true;
}

/* `x ** 2`: a double holds the square of what has half of its digits */
static bool square(const reading *r, TSNode node, gg__figure *a, const gg__figure *b, gg__figure *out) {
    if (b->taken || !is_whole(b) || !b->constant || b->value != 2) return false;
    if (!is_whole(a))
        return !gg_str_is(a->dtype, "torch.float64") && in_doubles(r, a, GG_STR("**"), (gg__figure *)b, out);
    double most = fmax(fabs(a->low), fabs(a->high));
    *out = (gg__figure){.sort = GG__SCALAR_INT};
    if (a->offset != 0 || !keeps_within(r, node, out, 0, most * most)) return false;
    convert(r, a, true);
    join(r, a, GG_STR("**"), b, out);
    return true;
}

static bool of_binary(reading *r, TSNode node, gg__figure *out) {
    gg__figure a, b;
    gg_str op = gg__text(r->s->in->tree, gg__field(node, "operator"));
    if (!read(r, gg__field(node, "left"), &a) || !read(r, gg__field(node, "right"), &b)) return false;
    if (!a.taken && !b.taken) return false;
    if (a.taken && b.taken && !gg_str_equal(a.device, b.device)) return false;
    if (gg_str_is(op, "/")) return divide(r, node, &a, &b, out);
    if (gg_str_is(op, "//") || gg_str_is(op, "%")) return divide_down(r, &a, op, &b, out);
    if (gg_str_is(op, "**")) return a.taken && square(r, node, &a, &b, out);
    if (op.len != 1 || (op.ptr[0] != '+' && op.ptr[0] != '-' && op.ptr[0] != '*')) return false;
    if (is_whole(&a) && is_whole(&b)) return in_integers(r, node, &a, op.ptr[0], &b, out);
    return in_doubles(r, &a, op, &b, out);
}

/* abs(x), float(x), int(n) */
static bool of_builtin(reading *r, TSNode call, gg__figure *out) {
    const gg_tree *tree = r->s->in->tree;
    TSNode function = gg__field(call, "function"), arguments = gg__field(call, "arguments");
    bool size = gg__names_builtin(tree, function, "abs"), whole = gg__names_builtin(tree, function, "int");
    if ((!size && !whole && !gg__names_builtin(tree, function, "float")) || gg__child_count(arguments) != 1 ||
        !read(r, gg__child(arguments, 0), out) || !out->taken)
        return false;
    if (whole && is_whole(out) && !gg__has_certain_dtype(r->s->in, gg__child(arguments, 0))) {
        if (out->offset != 0) return false;
        cut_off(r, out);
    }
    if (whole) return is_whole(out);
    if (!size) {
        if (out->offset != 0) return false;
        if (is_whole(out)) convert(r, out, false);
        return true;
    }
    if (is_whole(out)) {
        double low = fmin(fabs(out->low), fabs(out->high)), high = fmax(fabs(out->low), fabs(out->high));
        if (out->low <= 0 && out->high >= 0) low = 0;
        if (out->offset != 0 || !keeps_within(r, call, out, low, high)) return false;
        convert(r, out, true);
    }
    out->text = gg_arena_printf(r->s->arena, "%.*s.abs()", GG_STR_ARG(closed(r, out)));
    out->atom = true;
    return true;
}

static bool read_node(reading *r, TSNode node, gg__figure *out) {
    const gg_rule_input *in = r->s->in;
    bool element = r->listed && gg__reads(in->tree, node, r->listed->name);
    if (element && gg_node_is(node, "identifier")) return of_tensor(r, r->listed->list, r->listed->meta, out);
    if (!element) {
        if (of_count(r, node, out)) return true;
        gg__meta m = gg__infer_in(r->s, r->arm, node);
        if (m.sort == GG__TENSOR || m.sort == GG__SCALAR_BOOL) return false;
        if (m.sort != GG__UNKNOWN) return of_number(r, node, m, out);
        if (of_extraction(r, node, out) || gg__figure_of_list(r->s, r->arm, node, out) || of_place(r, node, out))
            return true;
    }
    if (gg_node_is(node, "call")) return of_builtin(r, node, out);
    if (gg_node_is(node, "binary_operator")) return of_binary(r, node, out);
    if (!gg_node_is(node, "unary_operator") || !gg_str_is(gg__text(in->tree, gg__field(node, "operator")), "-"))
        return false;
    return read(r, gg__field(node, "argument"), out) && out->taken && negated(r, node, out);
}

static bool read(reading *r, TSNode node, gg__figure *out) {
    *out = (gg__figure){0};
    if (r->depth == MAX_DEPTH) return false;
    r->depth++;
    bool known = read_node(r, gg__strip_parentheses(node), out);
    r->depth--;
    return known;
}

bool gg__read_figure(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode node, gg__figure *out) {
    reading r = {s, arm, listed, 0};
    return read(&r, node, out);
}

bool gg__figure_of_element(gg__select *s, gg__arm *arm, const gg__listed *listed, gg__figure *out) {
    reading r = {s, arm, listed, 0};
    return of_tensor(&r, listed->list, listed->meta, out);
}
