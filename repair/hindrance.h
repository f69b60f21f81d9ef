/* Why a rule does not apply.  Private to repair/.  Any thread. */
#ifndef GG_REPAIR_HINDRANCE_H
#define GG_REPAIR_HINDRANCE_H

#include "repair/syntax.h"

/* Says, if somebody asks, that what `node` is stands in the way of the rule that is being checked; the first to say so is heard.  To be said where a
 * rule gives up that is made for such code, not where it only looks whether it is.  False, for the caller to return. */
bool gg__hinder(const gg_rule_input *in, TSNode node, const char *why, ...) GG_PRINTF(3, 4);
/* … where that is so of all code of the kind: what another rule says of this code is heard in its place. */
bool gg__hinder_generally(const gg_rule_input *in, TSNode node, const char *why);
/* The same of two values that should be alike: what they are is said behind the words. */
bool gg__hinder_unlike(const gg_rule_input *in, TSNode node, gg_str name, gg__meta a, gg__meta b);

#endif
