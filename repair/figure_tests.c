/* What conditions ask of Python's numbers that were taken out of tensors: comparisons and their truth.  See figures.h.
 *
 * Python compares doubles, and integers of any size, exactly; a tensor in its own dtype. */
#include "repair/figures.h"

#include <math.h>

static bool is_whole(const gg__figure *f) {
    return f->sort == GG__SCALAR_INT;
}

/* Is the value a number of that dtype, to the last bit? */
static bool is_exact(gg_str dtype, double value) {
    int exponent;
    int bits = gg_str_is(dtype, "torch.float32") ? 24 : gg_str_is(dtype, "torch.float16") ? 11 : 8;
    if (gg_str_is(dtype, "torch.float64") || value == 0) return true;
    double mantissa = ldexp(frexp(value, &exponent), bits);
    return isfinite(value) && mantissa == floor(mantissa) && exponent > -10 && exponent < 16;
}

/* Two tensors. */
static bool meet(gg__select *s, gg__figure *a, gg__figure *b) {
    if (!gg_str_equal(a->device, b->device) || a->offset != 0 || b->offset != 0) return false;
    if (gg_str_equal(a->dtype, b->dtype)) return true;
    bool whole = is_whole(a) && is_whole(b);
    if (!whole && ((is_whole(a) && !gg__is_within(a, GG__HELD)) || (is_whole(b) && !gg__is_within(b, GG__HELD))))
        return false;
    gg__convert_figure(s, a, whole);
    gg__convert_figure(s, b, whole);
    return true;
}

/* The other side of `n + offset`. */
static void take_away(gg__select *s, double offset, gg__figure *number) {
    if (number->constant) {
        number->value -= offset;
        number->text = gg_arena_printf(s->arena, "%lld", (long long)number->value);
        return;
    }
    number->text = gg_arena_printf(s->arena, "%.*s %c %lld", GG_STR_ARG(gg__closed_figure(s, number)),
                                   offset < 0 ? '+' : '-', (long long)fabs(offset));
}

/* A tensor and one of Python's numbers. */
static bool meet_number(gg__select *s, gg__figure *t, gg__figure *number) {
    if (!is_whole(t)) {
        if (is_whole(number) && !gg__is_within(number, GG__HELD)) return false;
        if (!number->constant || !is_exact(t->dtype, number->value)) gg__convert_figure(s, t, false);
        return true;
    }
    if (!is_whole(number)) {
        if (!gg__is_within(t, GG__HELD)) return false;
        gg__convert_figure(s, t, false);
        return true;
    }
    if (number->constant && fabs(number->value) > GG__HELD) return false;
    if (t->offset != 0) take_away(s, t->offset, number);
    bool small = number->constant && number->value >= 0 && number->value <= 127; /* any dtype holds it */
    if (!small) gg__convert_figure(s, t, true);
    return true;
}

static bool put(gg__select *s, gg__figure *a, gg_str op, gg__figure *b, gg__test *out) {
    bool both = a->taken && b->taken;
    if (both ? !meet(s, a, b) : a->taken ? !meet_number(s, a, b) : !meet_number(s, b, a)) return false;
    *out = (gg__test){
        gg_arena_printf(s->arena, "%.*s %.*s %.*s", GG_STR_ARG(a->text), GG_STR_ARG(op), GG_STR_ARG(b->text)), false,
        false, false};
    return true;
}

bool gg__compare_figures(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode left, gg_str op, TSNode right,
                         gg__test *out) {
    gg__figure a, b;
    if (!gg__read_figure(s, arm, listed, left, &a) || !gg__read_figure(s, arm, listed, right, &b) ||
        (!a.taken && !b.taken))
        return false;
    return put(s, &a, op, &b, out);
}

/* `element == number` */
bool gg__equals_element(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode number, gg__test *out) {
    gg__figure a, b;
    if (!gg__figure_of_element(s, arm, listed, &a) || !gg__read_figure(s, arm, NULL, number, &b)) return false;
    return put(s, &a, GG_STR("=="), &b, out);
}

bool gg__truth_of_figure(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode node, gg__test *out) {
    gg__figure f;
    if (!gg__read_figure(s, arm, listed, node, &f) || !f.taken) return false;
    *out = (gg__test){
        gg_arena_printf(s->arena, "%.*s != %lld", GG_STR_ARG(gg__closed_figure(s, &f)), (long long)-f.offset), false,
        false, false};
    return true;
}
