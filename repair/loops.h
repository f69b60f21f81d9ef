/* Loops that a tensor's value ends, by their forms: for GG014.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_LOOPS_H
#define GG_REPAIR_LOOPS_H

#include "repair/syntax.h"

enum { GG__MAX_ITERATIONS = 64 };

typedef struct gg__loop {
    TSNode node, end; /* the loop; the if statement with the break, or the condition of a while */
    bool counts;      /* its end is the condition of a while */
    TSNode counting;  /* `i += 1` in a while */
    /* `if c: return value`, where what follows the loop is `return kept`, a name: the if statement is `kept = value; break`.  Null where it is a break, or
     * returns what is returned behind the loop. */
    TSNode value, kept;
    bool late; /* `value` and `kept` are any two expressions, each of which may be the result */
} gg__loop;

/* The loop whose end the site is: false when it has none of these forms. */
bool gg__find_loop(const gg_rule_input *in, gg__loop *out);
/* `if c: return value`, and nothing else, in a loop that `return kept` follows. */
bool gg__find_early_return(const gg_rule_input *in, gg__loop *out);
/* Is the range of a `for` one of at most GG__MAX_ITERATIONS known steps? */
bool gg__is_short(const gg_rule_input *in, TSNode iterable);
/* modules.c: does the loop go through ModuleLists, whose modules are known to be pure?  `*counter`: what enumerate() counts them with; null. */
bool gg__goes_through_modules(const gg_rule_input *in, TSNode loop, TSNode *counter);
/* … what a loop around the name goes through to bind it: `self.layers` of `for layer in self.layers`, also through enumerate() and zip(); else null. */
TSNode gg__list_gone_through(const gg_tree *tree, TSNode name);
/* The name of a number that the while loop counts, by which it is known how many iterations there are at most; null when there is none. */
TSNode gg__find_counter(const gg_rule_input *in, gg__loop *l);

#endif
