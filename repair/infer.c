/* What an expression is, proven from the facts of a capture and an allow-list of pure operations.
 *
 * Facts are concrete: dtype and shape of the local names, and of the attributes that the function reads, when Dynamo stopped.  An operation
 * that is not listed makes the result unknown, and rules refuse what is unknown.  So is what may raise for some values.  Hence everything
 * inferred here is pure and total: evaluating it one time more or less changes nothing.  See syntax.h and infer.h. */
#include "repair/infer.h"
#include "repair/alias.h"
#include "repair/built.h"

#include <math.h>

enum { MAX_STEPS = 20000, MAX_DEPTH = 100 };

const gg__meta gg__unknown = {.sort = GG__UNKNOWN};

bool gg__is_half(gg_str dtype) {
    return gg_str_is(dtype, "torch.float16") || gg_str_is(dtype, "torch.bfloat16");
}

bool gg__is_floating(gg_str dtype) {
    return gg_str_is(dtype, "torch.float32") || gg_str_is(dtype, "torch.float64") || gg__is_half(dtype);
}

bool gg__is_bool(gg_str dtype) {
    return gg_str_is(dtype, "torch.bool");
}

bool gg__is_integer(gg_str dtype) {
    return gg_str_starts_with(dtype, GG_STR("torch.int")) || gg_str_is(dtype, "torch.uint8");
}

bool gg__is_number(gg__meta m) {
    return m.sort != GG__UNKNOWN && m.sort != GG__TENSOR;
}

bool gg__same_shape(gg__meta a, gg__meta b) {
    if (a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i] || a.shape[i] < 0) return false;
    return true;
}

bool gg__same_tensor(gg__meta a, gg__meta b) {
    return a.sort == GG__TENSOR && b.sort == GG__TENSOR && gg_str_equal(a.dtype, b.dtype) && a.vague == b.vague &&
           a.vague != GG__VAGUE && gg__same_shape(a, b) && gg_str_equal(a.layout, b.layout) &&
           !gg_str_is(a.layout, "?") && (gg_str_equal(a.device, b.device) || a.device.len == 0 || b.device.len == 0);
}

bool gg__is_condition(gg__meta m) {
    return m.sort == GG__TENSOR && m.rank == 0 && gg__is_bool(m.dtype);
}

gg__meta gg__any_number(gg__sort sort) {
    return (gg__meta){.sort = sort, .smooth = true, .linear = true, .fresh = true};
}

gg__meta gg__seen(gg__sort sort, double value) {
    gg__meta out = gg__any_number(sort);
    out.seen = true;
    out.value = value;
    return out;
}

gg__meta gg__constant(gg__sort sort, double value) {
    gg__meta out = gg__seen(sort, value);
    out.constant = out.steady = true;
    out.filled = value > 0;
    out.natural = value >= 0;
    return out;
}

int64_t gg__elements(gg__meta x) {
    int64_t count = 1;
    for (int32_t i = 0; i < x.rank; i++) {
        if (x.shape[i] < 0 || (x.shape[i] && count > INT64_MAX / x.shape[i])) return -1;
        count *= x.shape[i];
    }
    return count;
}

bool gg__has_one_element(gg__meta x) {
    return x.sort == GG__TENSOR && x.rank > 0 && gg__elements(x) == 1;
}

static gg__meta number_fact(const gg_fact *fact, gg__sort sort) {
    gg__meta out = fact->has_number ? gg__seen(sort, fact->number) : gg__any_number(sort);
    out.steady = fact->has_number && fact->steady;
    out.filled = fact->filled;
    return out;
}

gg_fact gg__as_fact(gg_str name, const gg__meta *m) {
    static const gg_value_kind kinds[] = {[GG__UNKNOWN] = GG_VALUE_OTHER,
                                          [GG__SCALAR_INT] = GG_VALUE_INT,
                                          [GG__SCALAR_FLOAT] = GG_VALUE_FLOAT,
                                          [GG__SCALAR_BOOL] = GG_VALUE_BOOL,
                                          [GG__TENSOR] = GG_VALUE_TENSOR};
    return (gg_fact){.name = name,
                     .kind = kinds[m->sort],
                     .dtype = m->dtype,
                     .device = m->device,
                     .rank = m->rank,
                     .shape = m->shape,
                     .vague = (uint8_t)m->vague,
                     .layout = m->layout.len ? GG_LAYOUT_STRIDED : GG_LAYOUT_CONTIGUOUS,
                     .has_number = m->seen,
                     .number = m->value,
                     .steady = m->steady,
                     .filled = m->filled};
}

/* `name` or `self.name`, as the capture has it; `l[0]` where a rule knows what it is. */
static gg__meta from_fact(const gg_rule_input *in, TSNode node) {
    const gg_break *record = in->site->first;
    gg_str name = gg__text(in->tree, node);
    for (size_t i = 0; record && i < record->fact_count; i++) {
        const gg_fact *fact = &record->facts[i];
        if (!gg_str_equal(fact->name, name)) continue;
        if (fact->kind == GG_VALUE_INT) return number_fact(fact, GG__SCALAR_INT);
        if (fact->kind == GG_VALUE_FLOAT) return number_fact(fact, GG__SCALAR_FLOAT);
        if (fact->kind == GG_VALUE_BOOL) return number_fact(fact, GG__SCALAR_BOOL);
        if (fact->kind != GG_VALUE_TENSOR || fact->rank < 0 || fact->rank > GG__MAX_RANK) return gg__unknown;
        gg__meta out = {.sort = GG__TENSOR, .dtype = fact->dtype, .device = fact->device, .rank = fact->rank};
        out.vague = (gg__vagueness)fact->vague;
        for (int32_t d = 0; d < fact->rank; d++) out.shape[d] = fact->shape[d];
        if (fact->layout == GG_LAYOUT_DENSE) out.layout = fact->name;
        if (fact->layout == GG_LAYOUT_STRIDED) out.layout = GG_STR("?");
        out.smooth = out.linear = true;
        out.source = node;
        return out;
    }
    return gg__unknown;
}

static gg__meta attribute(gg__inference *s, TSNode node) {
    gg__meta fact = from_fact(s->in, node);
    if (fact.sort != GG__UNKNOWN) return fact;
    gg__meta number = gg__number_attribute(s, node);
    if (number.sort != GG__UNKNOWN) return number;
    gg__meta one = gg__one_of_two(s, node);
    if (one.sort != GG__UNKNOWN) return one;
    gg__meta property = gg__inlined_property(s, node);
    if (property.sort != GG__UNKNOWN) return property;
    gg_str name = gg__text(s->in->tree, gg__field(node, "attribute"));
    bool matrix = gg_str_is(name, "mT"), plain = gg_str_is(name, "T");
    if (!matrix && !plain) return gg__unknown;
    gg__meta x = gg__infer_node(s, gg__field(node, "object"));
    if (x.sort != GG__TENSOR || (plain ? x.rank > 2 : x.rank < 2)) return gg__unknown;
    return x.rank < 2 ? x : gg__transposed(x, -2, -1);
}

static gg__meta unary(gg__inference *s, TSNode node) {
    gg__meta x = gg__infer_node(s, gg__field(node, "argument"));
    gg_str op = gg__text(s->in->tree, gg__field(node, "operator"));
    bool invert = gg_str_is(op, "~");
    if (gg__is_number(x)) {
        if (invert) return gg__unknown;
        if (x.sort == GG__SCALAR_BOOL) x.sort = GG__SCALAR_INT;
        if (!gg_str_is(op, "-")) return x;
        x.value = -x.value;
        x.natural = x.constant && x.value >= 0;
        return x;
    }
    if (x.sort == GG__UNKNOWN || (gg__is_bool(x.dtype) ? !invert : invert && !gg__is_integer(x.dtype)))
        return gg__unknown;
    if (gg_str_is(op, "+")) return x; /* x itself */
    x.fresh = true;
    return x;
}

/* `not`, `and`, `or` of what is no tensor; the truth of one is Python's to ask. */
static gg__meta boolean(gg__inference *s, TSNode node, const char *first, const char *second) {
    gg__meta a = gg__infer_node(s, gg__field(node, first));
    bool known = second
                     ? a.sort == GG__SCALAR_BOOL && gg__infer_node(s, gg__field(node, second)).sort == GG__SCALAR_BOOL
                     : gg__is_number(a);
    return known ? gg__any_number(GG__SCALAR_BOOL) : gg__unknown;
}

static gg__meta comparison(gg__inference *s, TSNode node) {
    static const char *const ops[] = {"<", ">", "<=", ">=", "==", "!="}, *const identity[] = {"is", "is not"};
    if (gg__child_count(node) != 2) return gg__unknown; /* chained */
    gg_str op = gg__text(s->in->tree, ts_node_child(node, 1));
    TSNode right = gg__child(node, 1);
    gg__meta a = gg__infer_node(s, gg__child(node, 0));
    if (gg__is_one_of(op, identity, GG_COUNT(identity)) && gg_node_is(right, "none") && a.sort != GG__UNKNOWN)
        return gg__any_number(GG__SCALAR_BOOL);
    gg__meta out = gg__unknown;
    if (gg__is_one_of(op, ops, GG_COUNT(ops))) out = gg__compare(a, gg__infer_node(s, right));
    bool plain = out.sort == GG__UNKNOWN && a.sort != GG__TENSOR && gg__compares_plainly(s, node);
    return plain ? gg__any_number(GG__SCALAR_BOOL) : out;
}

/* `skip = self.training and t`: a tensor in one mode, Python's bool in the other. */
static bool may_be_a_flag(const gg_rule_input *in, TSNode name, gg__meta fact) {
    return gg__is_condition(fact) &&
           gg_node_is(gg__strip_parentheses(gg__value_at(in->tree, name, gg__text(in->tree, name))),
                      "boolean_operator");
}

/* `limit = 1e4` in front of it: what the capture saw of the name is so in every call. */
static gg__meta settled(gg__inference *s, TSNode name, gg__meta number) {
    gg_str text = gg__text(s->in->tree, name);
    TSNode value = gg__value_at(s->in->tree, name, text);
    if (!number.seen || number.steady || ts_node_is_null(value) || gg__reads(s->in->tree, value, text)) return number;
    gg__meta m = gg__infer_node(s, value);
    bool same = m.sort == number.sort && m.seen && m.value == number.value;
    number.steady = same && m.steady;
    number.filled = same && m.filled;
    return number;
}

static gg__meta infer(gg__inference *s, TSNode node) {
    if (gg_node_is(node, "identifier")) {
        gg__meta fact = from_fact(s->in, node);
        if (gg__is_number(fact)) fact = settled(s, node, fact);
        if (may_be_a_flag(s->in, node, fact)) return gg__unknown;
        if (fact.sort == GG__UNKNOWN && s->loose && gg__is_counter(s->in->tree, node))
            return gg__any_number(GG__SCALAR_INT); /* the site is in front of its loop */
        return fact.sort != GG__UNKNOWN ? fact : gg__module_number(s->in, node);
    }
    if (gg_node_is(node, "attribute")) return attribute(s, node);
    if (gg_node_is(node, "binary_operator")) {
        gg__meta a = gg__infer_node(s, gg__field(node, "left")), b = gg__infer_node(s, gg__field(node, "right"));
        gg_str op = gg__text(s->in->tree, gg__field(node, "operator"));
        gg__meta out = gg__arithmetic(op, a, b);
        bool power = s->loose && gg_str_is(op, "**") && b.sort == GG__SCALAR_INT && b.constant && b.value >= 0;
        if (power && a.sort == GG__SCALAR_FLOAT && out.sort == GG__UNKNOWN) /* it may be too large */
            return gg__any_number(a.sort);
        if (s->loose && gg_str_is(op, "/") && out.sort == GG__UNKNOWN && gg__is_number(a) && gg__is_number(b)) {
            out = gg__any_number(GG__SCALAR_FLOAT);
            out.natural = a.natural && b.natural;
            return out;
        }
        bool guarded = (gg_str_is(op, "/") && b.sort == GG__TENSOR) || (gg_str_is(op, "**") && gg__has_root(a, b));
        if (s->divides_safely && guarded && out.sort == GG__TENSOR) out.smooth = a.smooth && b.smooth;
        bool quotient = gg_str_is(op, "/") && out.sort == GG__TENSOR && b.sort == GG__TENSOR;
        if (quotient && !out.smooth && a.smooth && b.smooth)
            out.smooth = gg__is_away_from_zero(s->in, gg__field(node, "right"), b);
        if (gg_str_is(op, "/") && out.smooth && out.sort == GG__TENSOR && gg__is_number(b))
            out.smooth = !gg__may_be_zero(s->in, gg__field(node, "right"));
        return out;
    }
    if (gg_node_is(node, "comparison_operator")) return comparison(s, node);
    if (gg_node_is(node, "call")) return gg__infer_call(s, node);
    if (gg_node_is(node, "subscript")) {
        gg__meta fact = from_fact(s->in, node);
        if (fact.sort == GG__UNKNOWN) fact = gg__one_of_two(s, node);
        return fact.sort != GG__UNKNOWN ? fact : gg__subscript(s, node);
    }
    if (s->names && gg_node_is(node, "named_expression")) {
        gg__meta value = gg__infer_node(s, gg__field(node, "value"));
        value.fresh = false;
        return value;
    }
    if (gg_node_is(node, "unary_operator")) return unary(s, node);
    if (gg_node_is(node, "not_operator")) return boolean(s, node, "argument", NULL);
    if (gg_node_is(node, "boolean_operator")) return boolean(s, node, "left", "right");
    return gg__literal(s->in->tree, node);
}

bool gg__has_root(gg__meta a, gg__meta b) {
    return a.sort == GG__TENSOR && gg__is_floating(a.dtype) && gg__is_number(b) && b.constant && isfinite(b.value);
}

gg__meta gg__infer_node(gg__inference *s, TSNode node) {
    if (s->depth >= MAX_DEPTH || ts_node_is_null(node) || ++s->steps > MAX_STEPS) return gg__unknown;
    s->depth++;
    gg__meta out = infer(s, gg__strip_parentheses(node));
    s->depth--;
    return out;
}

gg__meta gg__infer(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in};
    return gg__infer_node(&s, node);
}

gg__meta gg__infer_loosely(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in, .loose = true};
    return gg__infer_node(&s, node);
}

gg__meta gg__infer_naming(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in, .loose = true, .names = true};
    return gg__infer_node(&s, node);
}

gg__meta gg__infer_drawn(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in, .draws = true};
    return gg__infer_node(&s, node);
}

gg__meta gg__infer_in_place(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in, .in_place = true};
    return gg__infer_node(&s, node);
}

gg__meta gg__infer_dividing(const gg_rule_input *in, TSNode node) {
    gg__inference s = {.in = in, .divides_safely = true};
    return gg__infer_node(&s, node);
}
