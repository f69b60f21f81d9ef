/* SRS as the second source of a repair session: one after the other, within one budget.  One owner at a time.  See gg_llm.h and gg_fix_source. */
#include "repair/llm/exchange.h"

struct gg_agent {
    gg_llm_limits limits;
    gg_lessons *lessons;
    const gg_registry *registry;
    gg_agent_words words; /* NULL: ours */
    void *words_data;
    GG_LIST(gg_srs *) all; /* the last one runs, or ran last */
    gg_arena *arena;
    GG_LIST(gg_str) titles; /* of each, for the log */
    gg_tree *tree;          /* of the one that runs */
    gg_span definition;
    gg_str id; /* of its first site */
    uint64_t begun_ms, now_ms;
    bool has_begun, failed; /* failed: the endpoint does not answer; others would not be answered either */
};

gg_agent *gg_agent_new(const gg_llm_limits *limits, gg_lessons *lessons, const gg_registry *registry) {
    gg_agent *agent = gg_calloc(1, sizeof(gg_agent));
    agent->limits = *limits;
    agent->lessons = lessons;
    agent->registry = registry;
    agent->arena = gg_arena_new();
    return agent;
}

void gg_agent_explain(gg_agent *agent, gg_agent_words words, void *data) {
    agent->words = words;
    agent->words_data = data;
}

void gg_agent_free(gg_agent *agent) {
    if (agent == NULL) return;
    for (size_t i = 0; i < agent->all.len; i++) gg_srs_free(agent->all.items[i]);
    gg_list_clear(&agent->all);
    gg_list_clear(&agent->titles);
    gg_tree_unref(&agent->tree);
    gg_arena_free(agent->arena);
    gg_free(agent);
}

static gg_srs *running(const gg_agent *agent) {
    return agent->all.len ? agent->all.items[agent->all.len - 1] : NULL;
}

void gg_agent_clock(gg_agent *agent, uint64_t now_ms) {
    if (!agent->has_begun) agent->begun_ms = now_ms;
    agent->has_begun = true;
    agent->now_ms = now_ms;
    if (running(agent)) gg_srs_clock(running(agent), now_ms);
}

void gg_agent_spent(const gg_agent *agent, uint64_t *input_tokens, uint64_t *output_tokens, double *cost) {
    *input_tokens = *output_tokens = 0;
    *cost = 0;
    for (size_t i = 0; i < agent->all.len; i++) {
        size_t count;
        const gg_srs_round *rounds = gg_srs_rounds(agent->all.items[i], &count);
        for (size_t k = 0; k < count; k++) {
            *input_tokens += rounds[k].input_tokens;
            *output_tokens += rounds[k].output_tokens;
            *cost += rounds[k].cost;
        }
    }
}

/* What is left of the budgets; false: nothing of one of them. */
static bool limits_left(const gg_agent *agent, gg_llm_limits *out) {
    uint64_t input, output, elapsed = agent->now_ms - agent->begun_ms;
    double cost;
    gg_agent_spent(agent, &input, &output, &cost);
    *out = agent->limits;
    if (out->max_tokens && input + output >= out->max_tokens) return false;
    if (out->max_ms && elapsed >= out->max_ms) return false;
    if (out->max_cost > 0 && cost >= out->max_cost) return false;
    if (out->max_tokens) out->max_tokens -= input + output;
    if (out->max_ms) out->max_ms -= elapsed;
    if (out->max_cost > 0) out->max_cost -= cost;
    return true;
}

static bool begin(void *data, const gg_tree *tree, const gg_site *const *sites, size_t count, bool *taken) {
    gg_agent *agent = data;
    gg_llm_limits limits;
    gg_span definition;
    if (agent->failed || !limits_left(agent, &limits) || !gg_llm_definition(tree, sites[0]->span, &definition))
        return false;
    const gg_site **inside = GG_ARENA_ARRAY(agent->arena, const gg_site *, count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        taken[i] = definition.start <= sites[i]->span.start && sites[i]->span.end <= definition.end;
        if (taken[i]) inside[n++] = sites[i];
    }
    gg_str *words = GG_ARENA_ARRAY(agent->arena, gg_str, n); /* empty: ours */
    for (size_t i = 0; agent->words && i < n; i++)
        if (!agent->words(agent->words_data, &words[i], tree, inside[i], agent->arena)) words[i] = GG_STR_NULL;
    gg_llm_task task = {.tree = tree,
                        .sites = inside,
                        .site_count = n,
                        .explanations = words,
                        .lessons = agent->lessons,
                        .registry = agent->registry};
    gg_list_push(&agent->all, gg_srs_new(&task, &limits));
    gg_str title = gg_arena_printf(agent->arena, "%.*s: %zu break%s (%.*s)", GG_STR_ARG(sites[0]->enclosing), n,
                                   n == 1 ? "" : "s", GG_STR_ARG(sites[0]->id));
    gg_list_push(&agent->titles, title);
    gg_tree_unref(&agent->tree);
    agent->tree = gg_tree_ref(tree);
    agent->definition = definition;
    agent->id = gg_arena_str(agent->arena, sites[0]->id);
    gg_srs_clock(running(agent), agent->now_ms);
    return true;
}

/* What was mended is a lesson for the next time. */
static void learn(gg_agent *agent, const gg_text *edited) {
    gg_tree *after = NULL;
    if (agent->lessons == NULL || gg_tree_parse(&after, edited, NULL, NULL, 0, NULL, NULL) != 0) return;
    TSNode definition = gg__definition_after(after, agent->tree, agent->definition);
    gg_lesson lesson = {agent->id, gg_text_slice(gg_tree_text(agent->tree), agent->definition),
                        gg__text(after, definition)};
    gg_lessons_add(agent->lessons, &lesson);
    gg_tree_unref(&after);
}

static int next(void *data, gg_fix_offer *out, gg_error *err) {
    static const gg_fix_step steps[] = {GG_FIX_ASK, GG_FIX_VERIFY, GG_FIX_DONE}; /* of gg_srs_step */
    gg_agent *agent = data;
    gg_srs_action action;
    int error = gg_srs_next(running(agent), &action, err);
    if (error) return error;
    *out = (gg_fix_offer){steps[action.step], action.request, action.edited, action.edits, action.verdict};
    if (action.step == GG_SRS_DONE && action.edited) learn(agent, action.edited);
    return 0;
}

static int answered(void *data, const gg_llm_reply *reply, gg_str failure, gg_error *err) {
    gg_agent *agent = data;
    agent->failed = agent->failed || reply == NULL;
    return gg_srs_answered(running(agent), reply, failure, err);
}

static int verified(void *data, const gg_verdict *verdict, gg_error *err) {
    return gg_srs_verified(running(data), verdict, err);
}

gg_fix_source gg_agent_source(gg_agent *agent) {
    return (gg_fix_source){agent, begin, next, answered, verified};
}

const gg_srs *gg_agent_srs(const gg_agent *agent) {
    return running(agent);
}

void gg_agent_log(const gg_agent *agent, gg_buf *out) {
    if (agent->all.len == 0) gg_buf_append_z(out, "No model was asked.\n");
    for (size_t i = 0; i < agent->all.len; i++) {
        gg_buf_printf(out, "## %.*s\n\n", GG_STR_ARG(agent->titles.items[i]));
        gg_srs_log(agent->all.items[i], out);
    }
}
