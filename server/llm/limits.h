/* What settings allow to be spent on a model.  Private to server/.  Any thread. */
#ifndef GG_LIMITS_H
#define GG_LIMITS_H

#include "repair/llm/gg_llm.h"
#include "server/options.h"

/* Prices of a million tokens; negative: not known, and nothing costs anything. */
gg_llm_limits gg_limits_of(const gg_options *options, double input_price, double output_price);
uint64_t gg_limits_clock_ms(void); /* what gg_llm_budget_clock and gg_agent_clock are told */

#endif
