/* Reductions of a part of a tensor whose bound is a tensor's value, and stores into one: `x[:, :n].sum()`, `x[i, n:] = 0`.  Private to repair/.  Any thread.
 *
 * How long the part is, a graph does not know.  Over the whole dimension, the elements outside it can count as nothing. */
#ifndef GG_REPAIR_PARTS_H
#define GG_REPAIR_PARTS_H

#include "repair/scalar.h"

typedef struct gg__part_bound {
    TSNode n;      /* the 0-d tensor */
    bool natural;  /* it is not below zero */
    bool cuts;     /* int() of it, where it may be a floating tensor in another call: `n.long()` */
    bool wide;     /* it is an int64 in every call */
    gg_str named;  /* the name that will hold it, which is a number so far; empty: none does */
    gg__meta meta; /* what it is, or will be */
} gg__part_bound;

typedef struct gg__part {
    TSNode call, subscript, x; /* `x[:, :n].sum()`, `x[:, :n]`, `x` */
    gg__part_bound bound;
    bool lower; /* `n:`, not `:n` */
    int32_t dim, rank;
    int32_t first;       /* how many numbers in front, `x[i, :n]`, which leave dimensions out */
    bool mean;           /* a mean: the sum, divided by how many there are */
    bool alone;          /* the only one of its edit */
    const char *nothing; /* what an element outside counts as: "0", "True" */
} gg__part;

/* Is such a reduction at the site, proven by the facts?  `exact`: one whose result does not depend on the order of the elements; else a sum of
 * floating numbers. */
bool gg__part_reduction(const gg_rule_input *in, bool exact, gg__part *out);
/* … of the subscript, whose bound may be a name (`out->bound.named`). */
bool gg__read_part_reduction(const gg_rule_input *in, TSNode subscript, bool exact, gg__part *out);
/* The elements outside replaced by nothing.  Texts go into the arena. */
void gg__edit_part(const gg_rule_input *in, const gg__part *part, gg_arena *arena, gg_edits *edits);

/* ---- windows.c ---------------------------------------------------------------------------------------------------------- */

enum { GG__MAX_WINDOWS = 4 };

/* `a:b`, `a:`, `:b`: the places from a on that are below b, once what is negative counts from the end; beyond the dimension there are none. */
typedef struct gg__window {
    TSNode index;
    gg__part_bound low, high;
    bool has_low, has_high;
    int32_t dim, behind; /* of x; dimensions of the view behind it */
} gg__window;

typedef struct gg__windows {
    gg__window items[GG__MAX_WINDOWS];
    uint32_t count;
} gg__windows;

/* The indices with tensors as bounds; the others must make views, whatever they are.  `known`: of a bound that has a name. */
bool gg__read_windows(const gg_rule_input *in, TSNode subscript, int32_t rank, const gg__part_bound *known,
                      gg__windows *out);
bool gg__is_colon(TSNode index);                  /* `:`, all of a dimension */
bool gg__has_one_end(const gg__windows *windows); /* `n:` or `:n`, and nothing else */
/* Which places of x are in all of them. */
gg_str gg__window_mask(const gg_rule_input *in, TSNode x, const gg__windows *windows, gg_str torch, gg_arena *arena);
/* x with the subscript's first indices, of which the windows (NULL: none) are all of their dimensions. */
gg_str gg__window_view(const gg_rule_input *in, TSNode x, TSNode subscript, uint32_t count, const gg__windows *windows,
                       gg_arena *arena);
/* Of parts.c: which places of x's dimension, `behind` others in front of the last, are on the bound's side. */
gg_str gg__part_mask(const gg_rule_input *in, TSNode x, int32_t dim, const gg__part_bound *bound, bool lower,
                     int32_t behind, gg_str torch, gg_arena *arena);

/* ---- part_stores.c ------------------------------------------------------------------------------------------------------ */

typedef struct gg__part_store { /* `x[i, :n] = 0`, `x[..., a:b, a:b] = 0` */
    TSNode assignment, subscript, x, value;
    gg__windows windows;
    bool copies; /* value: `y[i, :n]`, of a tensor that x is like */
} gg__part_store;

enum { GG__MAX_STORES = 8, GG__MAX_SUMS = 4 };

typedef struct
    gg__named_part { /* `n = l[i].item()`, `for n in l.tolist():`, and stores into what n bounds: nothing else reads it */
    TSNode call, value, name, statement; /* `l[i].item()`, `l[i]`, `n`, what binds it */
    bool lists;
    bool cuts;            /* `int(l[i])`, see gg__part_bound */
    gg__part_bound bound; /* what is known of n */
    gg__part_store stores[GG__MAX_STORES];
    uint32_t count;
    gg__part sums[GG__MAX_SUMS]; /* … or reductions of it */
    uint32_t sum_count;
} gg__named_part;

/* Is such a name bound at the site? */
bool gg__part_named(const gg_rule_input *in, gg__named_part *out);
/* Takes either: a reduction at the site, or a name that only such reductions read.  With `edits`, adds them (texts in `arena`); both may be NULL. */
bool gg__take_part(const gg_rule_input *in, bool exact, TSNode *out_node, gg_arena *arena, gg_edits *edits);
void gg__edit_named_part(const gg_rule_input *in, const gg__named_part *named, gg_arena *arena, gg_edits *edits);
/* The store that the statement is; `known`: of a bound that has a name. */
bool gg__read_part_store(const gg_rule_input *in, TSNode statement, const gg__part_bound *known, gg__part_store *out);

/* Is the statement at the site such a store, of a number, into a tensor that masked_fill_ takes? */
bool gg__part_stored(const gg_rule_input *in, gg__part_store *out);
void gg__edit_part_store(const gg_rule_input *in, const gg__part_store *store, gg_arena *arena, gg_edits *edits);

#endif
