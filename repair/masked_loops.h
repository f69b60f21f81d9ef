/* Loops that a tensor's value ends, and what each iteration gives to which names.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_MASKED_LOOPS_H
#define GG_REPAIR_MASKED_LOOPS_H

#include "repair/loops.h"
#include "repair/select.h"

enum { GG__MAX_LOOP_ASSIGNMENTS = GG__MAX_BINDINGS };

typedef struct gg__loop_assigned {
    TSNode value;
    gg_str name;
    bool carried; /* from one iteration to the next, or out of the loop */
    bool ends;    /* in the branch that ends the loop */
    bool stored;  /* in a part of a tensor, `out[:, t]`, which the name is */
    bool lowered; /* by autocast, or made of another dtype by default, which the name's value before the loop is not */
} gg__loop_assigned;

typedef struct gg__masked_loop {
    gg__select s;
    gg__loop form;
    gg__test test;   /* of the break; of the while, which goes on then */
    gg_str flags;    /* what is left of the condition of a while; empty: it ends by a break */
    gg__arm varying; /* numbers that change, and tensors of which the facts do not tell all */
    gg__loop_assigned items[GG__MAX_LOOP_ASSIGNMENTS];
    size_t count;
} gg__masked_loop;

/* The loop that the site ends, everything but the texts; false when its iterations are not proven to be alike.  Clear l->s in any case. */
bool gg__find_masked_loop(const gg_rule_input *in, gg__masked_loop *l, gg_arena *arena);
const gg__loop_assigned *gg__first_carried(const gg__masked_loop *l); /* NULL: there is none */

#endif
