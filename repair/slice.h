/* Statements that only work for one another.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_SLICE_H
#define GG_REPAIR_SLICE_H

#include "repair/syntax.h"

enum { GG__MAX_SLICE = 256 };

/* Simple statements of one function, in the order of the text. */
typedef struct gg__slice {
    TSNode items[GG__MAX_SLICE];
    size_t len;
} gg__slice;

/* May this statement be left out, as far as what it does itself goes: it says something, or binds names to what is only computed? */
typedef bool (*gg__may_join)(const gg_rule_input *in, TSNode statement);

/* The statements around `seed` (a simple statement, or an `if` or `for` of such) that hang together by the names they bind: what one of them
 * binds no other statement of the function reads.  `out_beside`: these, and those of the function that bind nothing; it may be NULL.
 * False when there are none, or too many. */
bool gg__slice_around(const gg_rule_input *in, TSNode seed, gg__may_join may_join, gg__slice *out,
                      gg__slice *out_beside);
bool gg__slice_has(const gg__slice *slice, TSNode statement);
/* Does a statement consist of statements of the slice: it is one, or an `if` or `for` whose blocks hold nothing else? */
bool gg__slice_fills(const gg_rule_input *in, const gg__slice *slice, TSNode statement);
/* `name = …`, `a, b = …` and `name += …`: what is computed; null node when the statement is none of them. */
TSNode gg__bound_value(TSNode statement);

#endif
