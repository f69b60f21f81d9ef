/* What exchanges may take and took: tokens, time, money.  One owner at a time.  See gg_llm.h. */
#include "repair/llm/exchange.h"

enum { MIN_ANSWER_TOKENS = 64, BYTES_PER_TOKEN = 4 };

static uint64_t estimate(size_t bytes) {
    return (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

static uint64_t input_estimate(const gg_llm_request *request) {
    size_t bytes = request->system.len + request->schema.len;
    for (size_t i = 0; i < request->message_count; i++) bytes += request->messages[i].content.len;
    return estimate(bytes);
}

static double cost_of(const gg_llm_limits *limits, uint64_t input, uint64_t output) {
    return ((double)input * limits->input_price + (double)output * limits->output_price) / 1e6;
}

void gg_llm_budget_clock(gg_llm_budget *budget, uint64_t now_ms) {
    if (!budget->has_begun) budget->begun_ms = now_ms;
    budget->has_begun = true;
    budget->now_ms = now_ms;
}

const char *gg_llm_budget_spent(const gg_llm_budget *budget) {
    const gg_llm_limits *l = &budget->limits;
    if (l->max_ms && budget->now_ms - budget->begun_ms >= l->max_ms) return "time";
    if (l->max_tokens && budget->input_tokens + budget->output_tokens >= l->max_tokens) return "tokens";
    return l->max_cost > 0 && budget->cost >= l->max_cost ? "cost" : NULL;
}

const char *gg_llm_budget_fit(const gg_llm_budget *budget, gg_llm_request *request) {
    const gg_llm_limits *l = &budget->limits;
    const char *spent = gg_llm_budget_spent(budget);
    if (spent) return spent;
    uint64_t input = input_estimate(request), room = l->answer_tokens ? l->answer_tokens : GG_LLM_MAX_TOKENS;
    uint64_t least = room < MIN_ANSWER_TOKENS ? room : MIN_ANSWER_TOKENS;
    if (l->max_tokens) {
        uint64_t taken = budget->input_tokens + budget->output_tokens + input;
        uint64_t left = l->max_tokens > taken ? l->max_tokens - taken : 0;
        if (left < least) return "tokens";
        if (left < room) room = left;
    }
    if (l->max_cost > 0) {
        double left = l->max_cost - budget->cost - cost_of(l, input, 0);
        if (left < cost_of(l, 0, least) || left <= 0) return "cost";
        if (left < cost_of(l, 0, room)) room = (uint64_t)(left * 1e6 / l->output_price);
    }
    request->max_tokens = (uint32_t)room;
    return NULL;
}

gg_llm_usage gg_llm_budget_count(gg_llm_budget *budget, const gg_llm_request *request, const gg_llm_reply *reply) {
    gg_llm_usage u = {.input_tokens = reply->input_tokens ? reply->input_tokens : input_estimate(request),
                      .output_tokens = reply->output_tokens ? reply->output_tokens : estimate(reply->text.len)};
    u.cost = cost_of(&budget->limits, u.input_tokens, u.output_tokens);
    budget->input_tokens += u.input_tokens;
    budget->output_tokens += u.output_tokens;
    budget->cost += u.cost;
    return u;
}
