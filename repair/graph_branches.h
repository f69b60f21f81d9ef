/* A branch as functions that torch.cond takes, one an arm: which arms there are, what each is given, and what all of them give back.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_GRAPH_BRANCHES_H
#define GG_REPAIR_GRAPH_BRANCHES_H

#include "repair/outline.h"

enum { GG__MAX_ARMS = 6 };

typedef struct gg__graph_arm {
    TSNode
        clause; /* the if, elif or else; null: what follows them, or, where `body` has no block, an else that is not there */
    TSNode condition; /* of the clause; null: the last arm, for all that is left */
    gg__stretch body; /* with `end` */
    TSNode end;       /* its `return value` or `continue`; or null */
    TSNode value;     /* what it gives, where it gives a value and no names; else null */
    gg__names bound;  /* what it binds */
    gg__arm inner;    /* what names hold behind it */
    gg__test test;    /* the condition as a tensor */
} gg__graph_arm;

typedef struct gg__graph_branches {
    gg__select s; /* s.skips: the arms end with `continue` */
    TSNode node;  /* the if; the statement whose value a conditional expression is */
    gg__graph_arm arms[GG__MAX_ARMS];
    size_t count;
    bool valued;           /* each arm gives a value: they return, or it is a conditional expression */
    bool expression;       /* … a conditional expression, of which the bodies are the operands */
    TSNode target;         /* the name that is bound to its value; null: it is returned */
    gg_str flags;          /* what Python asks along with the only condition; or null */
    bool either;           /* … `flags or test`, not `flags and test` */
    gg__names given, kept; /* what all arms get; what is read behind them */
} gg__graph_branches;

/* The branch that the site asks, and its arms; false when they are not proven to be such.  Clear b->s in any case. */
bool gg__find_graph_branches(const gg_rule_input *in, gg__graph_branches *b, gg_arena *arena);
/* Is the value, behind the arm, one that others may hold?  Then a copy is returned. */
bool gg__is_returned_held(gg__graph_branches *b, gg__graph_arm *arm, TSNode value);

#endif
