/* See limits.h. */
#include "server/llm/limits.h"

#include <uv.h>

enum { MOST_SECONDS = 1000000000 }; /* of a budget; more is none */

static double number(const gg_options *options, const char *key, double otherwise) {
    const json_t *value = json_object_get(options->values, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

gg_llm_limits gg_limits_of(const gg_options *options, double input_price, double output_price) {
    enum { MORE_INPUTS = 4, MOST_INPUTS = 16 }; /* as settings.def says */
    gg_llm_limits limits = gg_llm_limits_default();
    double rounds = number(options, "model.rounds", limits.max_rounds),
           inputs = number(options, "model.moreInputs", MORE_INPUTS), seconds = number(options, "model.maxTime", 0);
    limits.max_rounds = rounds > GG_SRS_MAX_ROUNDS ? GG_SRS_MAX_ROUNDS : (uint32_t)rounds;
    limits.more_inputs = inputs > MOST_INPUTS ? MOST_INPUTS : (uint32_t)inputs;
    limits.max_tokens = (uint64_t)number(options, "model.maxTokens", (double)limits.max_tokens);
    limits.max_ms = seconds < MOST_SECONDS ? (uint64_t)(seconds * 1000) : 0;
    limits.max_cost = number(options, "model.maxCost", limits.max_cost);
    limits.json = json_is_true(json_object_get(options->values, "model.structured"));
    limits.input_price = input_price > 0 ? input_price : 0;
    limits.output_price = output_price > 0 ? output_price : 0;
    return limits;
}

uint64_t gg_limits_clock_ms(void) {
    enum { NS_A_MS = 1000000 };
    return uv_hrtime() / NS_A_MS;
}
