/* SRS as the second source of a repair session: one after the other, within one budget.  One owner at a time.  See gg_llm.h and gg_fix_source. */
#include "repair/llm/exchange.h"

typedef struct part { /* of the log: an SRS, or inputs for a rule's candidate */
    gg_str title;
    gg_srs *srs; /* NULL: `text` */
    gg_str text;
} part;

struct gg_agent {
    gg_llm_budget budget;
    gg_lessons *lessons;
    gg_agent_words words; /* NULL: ours */
    void *words_data;
    GG_LIST(part) parts;
    gg_srs *srs; /* that runs, or ran last */
    gg_arena *arena;
    gg_tree *tree; /* of the one that runs */
    gg_span definition;
    gg_str id;             /* of its first site */
    gg__widening widening; /* of a rule's candidate */
    gg_text *candidate;    /* … not NULL while it runs */
    bool failed;           /* the endpoint does not answer; others would not be answered either */
};

gg_agent *gg_agent_new(const gg_llm_limits *limits, gg_lessons *lessons) {
    gg_agent *agent = gg_calloc(1, sizeof(gg_agent));
    agent->budget.limits = *limits;
    agent->lessons = lessons;
    agent->arena = gg_arena_new();
    return agent;
}

void gg_agent_explain(gg_agent *agent, gg_agent_words words, void *data) {
    agent->words = words;
    agent->words_data = data;
}

void gg_agent_free(gg_agent *agent) {
    if (agent == NULL) return;
    for (size_t i = 0; i < agent->parts.len; i++) gg_srs_free(agent->parts.items[i].srs);
    gg_list_clear(&agent->parts);
    gg_text_unref(&agent->candidate);
    gg_tree_unref(&agent->tree);
    gg_arena_free(agent->arena);
    gg_free(agent);
}

void gg_agent_clock(gg_agent *agent, uint64_t now_ms) {
    gg_llm_budget_clock(&agent->budget, now_ms);
}

gg_llm_usage gg_agent_spent(const gg_agent *agent) {
    return (gg_llm_usage){agent->budget.input_tokens, agent->budget.output_tokens, agent->budget.cost};
}

static void add_part(gg_agent *agent, gg_str title, gg_srs *srs, gg_str text) {
    part one = {title, srs, text};
    gg_list_push(&agent->parts, one);
}

static bool begin(void *data, const gg_tree *tree, const gg_site *const *sites, size_t count, bool *taken) {
    gg_agent *agent = data;
    gg_span definition;
    if (agent->failed || gg_llm_budget_spent(&agent->budget) || !gg_llm_definition(tree, sites[0]->span, &definition))
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
    gg_llm_task task = {
        .tree = tree, .sites = inside, .site_count = n, .explanations = words, .lessons = agent->lessons};
    agent->srs = gg_srs_new(&task, &agent->budget.limits);
    gg__srs_share(agent->srs, &agent->budget);
    gg_str title = gg_arena_printf(agent->arena, "%.*s: %zu break%s (%.*s)", GG_STR_ARG(sites[0]->enclosing), n,
                                   n == 1 ? "" : "s", GG_STR_ARG(sites[0]->id));
    add_part(agent, title, agent->srs, GG_STR_NULL);
    gg_tree_unref(&agent->tree);
    agent->tree = gg_tree_ref(tree);
    agent->definition = definition;
    agent->id = gg_arena_str(agent->arena, sites[0]->id);
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

/* ---- more inputs for a rule's candidate -------------------------------------------------------------------------------------- */

static bool widen(void *data, const gg_tree *tree, const gg_site *site, const gg_text *edited,
                  const gg_verdict *verdict) {
    gg_agent *agent = data;
    gg_span definition;
    if (agent->failed || !gg_llm_definition(tree, site->span, &definition)) return false;
    gg_llm_task task = {.tree = tree, .sites = &site, .site_count = 1};
    gg__widening_begin(&agent->widening, &task, definition, edited, verdict, &agent->budget.limits, agent->arena);
    if (agent->widening.state != GG__WIDENING_ASK) return false;
    agent->candidate = gg_text_ref(edited);
    add_part(agent,
             gg_arena_printf(agent->arena, "%.*s: inputs for a rule's edit (%.*s)", GG_STR_ARG(site->enclosing),
                             GG_STR_ARG(site->id)),
             NULL, GG_STR_NULL);
    return true;
}

static void next_of_widening(gg_agent *agent, gg_fix_offer *out) {
    gg__widening *w = &agent->widening;
    gg_srs_step step = gg__widening_next(w, &agent->budget);
    *out = (gg_fix_offer){.step = GG_FIX_DONE};
    if (step == GG_SRS_ASK) {
        *out = (gg_fix_offer){.step = GG_FIX_ASK, .request = &w->request};
    } else if (step == GG_SRS_VERIFY) {
        *out = (gg_fix_offer){
            .step = GG_FIX_VERIFY, .edited = agent->candidate, .inputs = w->inputs, .input_count = w->input_count};
    } else {
        out->refused = gg__widening_refuses(w);
        agent->parts.items[agent->parts.len - 1].text = gg__widening_log(w, agent->arena);
        *w = (gg__widening){0};
        gg_text_unref(&agent->candidate);
    }
}

/* ---- as a repair session drives it --------------------------------------------------------------------------------------------- */

static int next(void *data, gg_fix_offer *out, gg_error *err) {
    static const gg_fix_step steps[] = {GG_FIX_ASK, GG_FIX_VERIFY, GG_FIX_DONE}; /* of gg_srs_step */
    gg_agent *agent = data;
    gg_srs_action action;
    if (agent->candidate) {
        next_of_widening(agent, out);
        return 0;
    }
    int error = gg_srs_next(agent->srs, &action, err);
    if (error) return error;
    *out = (gg_fix_offer){.step = steps[action.step],
                          .request = action.request,
                          .edited = action.edited,
                          .edits = action.edits,
                          .inputs = action.inputs,
                          .input_count = action.input_count,
                          .verdict = action.verdict};
    if (action.step == GG_SRS_DONE && action.edited) learn(agent, action.edited);
    return 0;
}

static int answered(void *data, const gg_llm_reply *reply, gg_str failure, gg_error *err) {
    gg_agent *agent = data;
    agent->failed = agent->failed || reply == NULL;
    if (agent->candidate == NULL) return gg_srs_answered(agent->srs, reply, failure, err);
    gg__widening_answered(&agent->widening, &agent->budget, reply, failure, agent->arena);
    return 0;
}

static int verified(void *data, const gg_verdict *verdict, gg_error *err) {
    gg_agent *agent = data;
    if (agent->candidate == NULL) return gg_srs_verified(agent->srs, verdict, err);
    gg__widening_verified(&agent->widening, verdict);
    return 0;
}

gg_fix_source gg_agent_source(gg_agent *agent) {
    return (gg_fix_source){agent, begin, next, answered, verified, widen};
}

const gg_srs *gg_agent_srs(const gg_agent *agent) {
    return agent->srs;
}

void gg_agent_log(const gg_agent *agent, gg_buf *out) {
    if (agent->parts.len == 0) gg_buf_append_z(out, "No model was asked.\n");
    for (size_t i = 0; i < agent->parts.len; i++) {
        const part *p = &agent->parts.items[i];
        gg_buf_printf(out, "## %.*s\n\n", GG_STR_ARG(p->title));
        if (p->srs)
            gg_srs_log(p->srs, out);
        else
            gg_buf_append(out, p->text);
    }
}
