/* Code whose values depend on constants alone, and which changes nothing: as a function of its own it can be run while the graph is made.
 * Private to repair/.  Any thread. */
#ifndef GG_REPAIR_PURE_PARTS_H
#define GG_REPAIR_PURE_PARTS_H

#include "repair/syntax.h"

enum { GG__MAX_PARTS = 12 };

typedef enum gg__purity {
    GG__IMPURE,  /* unknown, or more than constants */
    GG__GIVEN,   /* an attribute of `self` and its like: a number or text */
    GG__NUMBER,  /* an immutable value: a number, text or bytes */
    GG__LISTED,  /* a list or tuple */
    GG__MADE,    /* a tensor or array that was made here */
    GG__MACHINE, /* a generator of random numbers with a seed, or a digest: what has a state */
} gg__purity;

typedef struct gg__given {
    TSNode node;
    const char *as; /* "int", "float": it is given as what that makes of it; NULL */
} gg__given;

typedef struct gg__pure_name {
    gg_str name;
    gg__purity purity;
} gg__pure_name;

typedef struct gg__pure_parts {
    const gg_rule_input *in;
    TSNode function;                /* around */
    gg__given given[GG__MAX_PARTS]; /* what comes from outside, each place, in no order */
    size_t given_count;
    gg__pure_name bound[GG__MAX_PARTS]; /* by the statements */
    size_t bound_count;
    bool seeded; /* torch.manual_seed() was called, and what it does is undone */
} gg__pure_parts;

/* ---- given_constants.c ---------------------------------------------------------------------------------------------------------- */
typedef enum gg__known {
    GG__NOT_KNOWN,
    GG__SOMETHING, /* what a caller gives, of no type that is said */
    GG__SEVERAL,   /* a tuple of numbers and texts */
    GG__ONE,       /* a number or text */
} gg__known;
/* What `self.name` holds in every instance, as far as the file sets it. */
gg__known gg__known_attribute(const gg_rule_input *in, TSNode attribute);

/* ---- pure_parts.c ---------------------------------------------------------------------------------------------------------------- */
/* What the expression is; adds what it takes from outside. */
gg__purity gg__pure_value(gg__pure_parts *p, TSNode node);
/* Is the statement of that kind: `a = …`, `a, b = …`, `g.manual_seed(3)`?  Adds what it binds. */
bool gg__pure_statement(gg__pure_parts *p, TSNode statement);
/* `with torch.random.fork_rng():` around a seed and statements of that kind. */
bool gg__pure_fork(gg__pure_parts *p, TSNode with);
/* Is the name one that the statements bound?  NULL: no. */
const gg__pure_name *gg__pure_bound(const gg__pure_parts *p, gg_str name);

#endif
