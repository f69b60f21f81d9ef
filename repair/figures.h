/* Python's numbers that were taken out of tensors, and what Python computes with them, in conditions: the same as tensors, to the last bit.
 * Private to repair/.  Any thread. */
#ifndef GG_REPAIR_FIGURES_H
#define GG_REPAIR_FIGURES_H

#include "repair/select.h"

typedef struct gg__figure {
    gg__sort sort; /* GG__SCALAR_INT or GG__SCALAR_FLOAT, as Python has it */
    bool taken;    /* out of a tensor, which `text` is then; else Python's own */
    gg_str text, dtype, device;
    bool product;     /* a floating one: what is added to it may be added before it is rounded */
    bool atom;        /* the text needs no parentheses as an operand */
    double low, high; /* an integer is within */
    double offset;    /* … once this is added, which int64 may not hold any more */
    bool constant;    /* Python's own, of this value */
    double value;
} gg__figure;

/* `v` in `for v in t.tolist()`: each element, as those of the tensor. */
typedef struct gg__listed {
    gg_str name;
    TSNode list;
    gg__meta meta; /* of the tensor */
} gg__listed;

#define GG__HELD 0x1p53 /* a double holds every integer up to here */

/* `x.item() - 1`, `abs(float(t))`, `max(t.tolist())`, Python's numbers.  `listed` may be NULL. */
bool gg__read_figure(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode node, gg__figure *out);
bool gg__figure_of_element(gg__select *s, gg__arm *arm, const gg__listed *listed, gg__figure *out);
/* Its text as an operand; as a tensor of int64 or float64, without what is to be added; is it an integer less than that far from zero? */
gg_str gg__closed_figure(const gg__select *s, const gg__figure *f);
void gg__convert_figure(const gg__select *s, gg__figure *f, bool whole);
bool gg__is_within(const gg__figure *f, double bound);

/* ---- figure_tests.c ------------------------------------------------------------------------------------------------------ */
/* Of which at least one is taken out of a tensor. */
bool gg__compare_figures(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode left, gg_str op, TSNode right,
                         gg__test *out);
/* `element == number`, of each element */
bool gg__equals_element(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode number, gg__test *out);
/* Is it one that is taken out of a tensor, and not zero? */
bool gg__truth_of_figure(gg__select *s, gg__arm *arm, const gg__listed *listed, TSNode node, gg__test *out);

/* ---- listed.c ----------------------------------------------------------------------------------------------------------- */
/* t of `t.tolist()`, of one dimension; also of `t.cpu().tolist()`, which has the same numbers. */
bool gg__is_listed(const gg__select *s, const gg__arm *arm, TSNode node, gg__listed *out);
/* `any(v > 2 for v in t.tolist())`, `all(…)`, `any(t.tolist())`: the argument of the call. */
bool gg__test_of_list(gg__select *s, gg__arm *arm, TSNode argument, bool all, gg__test *out);
/* `3 in t.tolist()` */
bool gg__test_of_listed_member(gg__select *s, gg__arm *arm, TSNode left, TSNode right, gg__test *out);
/* `max(t.tolist())`, `min`, `sum`, and how many: `sum(v > 2 for v in t.tolist())`, `sum(1 for v in t.tolist() if v > 2)`,
 * `len([v for v in t.tolist() if v > 2])`. */
bool gg__figure_of_list(gg__select *s, gg__arm *arm, TSNode call, gg__figure *out);

#endif
