/* One repair as a state machine: asked for, judged, asked for again.  It sends nothing and runs nothing.  One owner at a time.  See gg_llm.h.
 *
 * DESIGN  `messages` is the conversation: the prompt alone on attempt 0 and on rounds 2 and 4, and with every answer and every verdict since then on the odd
 * ones.  A wrong answer, a cheat and a refused candidate are the same here: words for the next odd round.
 * An accepted candidate that would be the best so far is `accepted` only until the inputs that the model proposes for it were tried (widen.c).
 *
 * Invariant: `candidate` is not NULL exactly in the states VERIFY and WIDEN; then the last row of `rounds` is that candidate's.
 * Invariant: `accepted` is not NULL exactly in the state WIDEN.
 * It ends: every answer and every verdict ends a round, or begins a widening, which has one of each; and there are max_rounds + 1 rounds. */
#include "repair/llm/exchange.h"

enum { MAX_ECHO_BYTES = 96 * 1024 };

typedef enum state { STATE_ASK, STATE_WAIT, STATE_VERIFY, STATE_WIDEN, STATE_DONE } state;

struct gg_srs {
    gg_arena *arena;
    gg_llm_task task;
    gg_llm_limits limits;
    gg_tree *tree;
    gg_span definition;
    gg_str path;
    uint32_t asked_breaks; /* records that the sites stand for */
    gg__prompt prompt;
    GG_LIST(gg_llm_message) messages;
    gg_llm_request request;
    GG_LIST(gg_srs_round) rounds;
    state state;
    const char *end;
    gg_text *candidate, *best;
    gg_edits edits, best_edits; /* their texts borrow from those */
    const gg_verdict *best_verdict, *accepted;
    gg__widening widening;
    gg_llm_budget own, *budget;
    bool failed; /* the endpoint does not answer */
};

gg_llm_limits gg_llm_limits_default(void) {
    return (gg_llm_limits){.max_rounds = GG_SRS_ROUNDS,
                           .answer_tokens = GG_LLM_MAX_TOKENS,
                           .temperature = GG_LLM_TEMPERATURE,
                           .top_p = GG_LLM_TOP_P};
}

gg_srs *gg_srs_new(const gg_llm_task *task, const gg_llm_limits *limits) {
    gg_srs *srs = gg_calloc(1, sizeof(gg_srs));
    srs->arena = gg_arena_new();
    srs->task = *task;
    srs->limits = *limits;
    srs->own.limits = *limits;
    srs->budget = &srs->own;
    if (srs->limits.max_rounds > GG_SRS_MAX_ROUNDS) srs->limits.max_rounds = GG_SRS_MAX_ROUNDS;
    srs->task.tree = srs->tree = gg_tree_ref(task->tree);
    if (task->site_count == 0 || !gg_llm_definition(srs->tree, task->sites[0]->span, &srs->definition)) {
        srs->state = STATE_DONE;
        srs->end = "no definition";
        return srs;
    }
    srs->path = gg_arena_str(srs->arena, task->sites[0]->file);
    for (size_t i = 0; i < task->site_count; i++)
        srs->asked_breaks += task->sites[i]->count ? task->sites[i]->count : 1;
    srs->prompt = gg__prompt_make(task, srs->definition, limits->json, srs->arena);
    srs->request =
        (gg_llm_request){.system = srs->prompt.system, .temperature = limits->temperature, .top_p = limits->top_p};
    if (limits->json) srs->request.schema = gg_llm_schema(&gg_llm_repair, srs->arena);
    return srs;
}

void gg_srs_free(gg_srs *srs) {
    if (srs == NULL) return;
    gg_edits_clear(&srs->edits);
    gg_edits_clear(&srs->best_edits);
    gg_text_unref(&srs->candidate);
    gg_text_unref(&srs->best);
    gg_tree_unref(&srs->tree);
    gg_list_clear(&srs->messages);
    gg_list_clear(&srs->rounds);
    gg_arena_free(srs->arena);
    gg_free(srs);
}

void gg_srs_clock(gg_srs *srs, uint64_t now_ms) {
    gg_llm_budget_clock(srs->budget, now_ms);
}

void gg__srs_share(gg_srs *srs, gg_llm_budget *budget) {
    srs->budget = budget;
}

/* ---- asking ---------------------------------------------------------------------------------------------------------------- */

static void say(gg_srs *srs, gg_llm_role role, gg_str content) {
    gg_llm_message message = {role, content};
    gg_list_push(&srs->messages, message);
}

static bool begins_anew(const gg_srs *srs, size_t round) {
    return round == 0 || (round % 2 == 0 && !srs->limits.only_feedback);
}

/* Writes the messages of the next round. */
static void prepare(gg_srs *srs) {
    size_t round = srs->rounds.len;
    if (begins_anew(srs, round)) {
        srs->messages.len = 0;
        say(srs, GG_LLM_USER, srs->prompt.user);
        return;
    }
    const gg_srs_round *last = &srs->rounds.items[round - 1];
    gg_str answered = gg_str_slice(last->answered, 0, MAX_ECHO_BYTES);
    answered.len = gg_utf8_valid_prefix(answered);
    say(srs, GG_LLM_ASSISTANT, gg_str_trim(answered).len ? answered : GG_STR("(no answer)"));
    gg_str form = gg_llm_format(&gg_llm_repair, srs->limits.json, srs->arena);
    say(srs, GG_LLM_USER,
        gg_arena_printf(
            srs->arena,
            "That did not do:\n<Verdict>\n%.*s\n</Verdict>\nSay to yourself what caused it, then give the whole "
            "class or function again, mended.\n%.*s",
            GG_STR_ARG(last->outcome), GG_STR_ARG(form)));
}

static void finish(gg_srs *srs, const char *end) {
    srs->state = STATE_DONE;
    srs->end = end;
}

/* The candidate was accepted, and stays so or not: on to the next round, or the end. */
static void settle(gg_srs *srs, const gg_verdict *verdict);

/* Asks for the next round, unless a budget is spent. */
static bool ask(gg_srs *srs) {
    prepare(srs);
    srs->request.messages = srs->messages.items;
    srs->request.message_count = srs->messages.len;
    const char *spent = gg_llm_budget_fit(srs->budget, &srs->request);
    if (spent) {
        finish(srs, spent);
        return false;
    }
    gg_srs_round round = {.asked = srs->messages.items[srs->messages.len - 1].content,
                          .fresh = begins_anew(srs, srs->rounds.len)};
    gg_list_push(&srs->rounds, round);
    srs->state = STATE_WAIT;
    return true;
}

static void end_widening(gg_srs *srs) {
    gg__widening *w = &srs->widening;
    const gg_verdict *verdict = gg__widening_refuses(w) ? w->verdict : srs->accepted;
    gg_srs_round *round = &srs->rounds.items[srs->rounds.len - 1];
    round->wider = gg__widening_log(w, srs->arena);
    round->usage.input_tokens += w->usage.input_tokens;
    round->usage.output_tokens += w->usage.output_tokens;
    round->usage.cost += w->usage.cost;
    *w = (gg__widening){0};
    srs->accepted = NULL;
    settle(srs, verdict);
}

int gg_srs_next(gg_srs *srs, gg_srs_action *out, gg_error *err) {
    *out = (gg_srs_action){.step = GG_SRS_DONE};
    if (srs->state == STATE_WAIT || srs->widening.state == GG__WIDENING_WAIT)
        return gg_fail(err, GG_EINTERNAL, "an answer is still awaited");
    if (srs->state == STATE_WIDEN) {
        out->step = gg__widening_next(&srs->widening, srs->budget);
        out->request = out->step == GG_SRS_ASK ? &srs->widening.request : NULL;
        if (out->step == GG_SRS_DONE) end_widening(srs);
    }
    if (srs->state == STATE_ASK && ask(srs)) {
        out->step = GG_SRS_ASK;
        out->request = &srs->request;
    }
    out->round = (uint32_t)(srs->rounds.len ? srs->rounds.len - 1 : 0);
    if (srs->state == STATE_VERIFY || (srs->state == STATE_WIDEN && out->step == GG_SRS_VERIFY)) {
        out->step = GG_SRS_VERIFY;
        out->edited = srs->candidate;
        out->edits = &srs->edits;
        out->inputs = srs->widening.inputs;
        out->input_count = srs->state == STATE_WIDEN ? srs->widening.input_count : 0;
    } else if (srs->state == STATE_DONE) {
        out->end = srs->end;
        out->edited = srs->best;
        out->edits = srs->best ? &srs->best_edits : NULL;
        out->verdict = srs->best_verdict;
    }
    return 0;
}

/* ---- what came of it ---------------------------------------------------------------------------------------------------------- */

/* The round was no success: on to the next one, or the end. */
static void go_on(gg_srs *srs, gg_str outcome) {
    srs->rounds.items[srs->rounds.len - 1].outcome = gg_arena_str(srs->arena, outcome);
    if (srs->failed)
        finish(srs, "endpoint");
    else if (srs->rounds.len > srs->limits.max_rounds)
        finish(srs, "rounds");
    else
        srs->state = STATE_ASK;
}

static gg_str joined(const gg_str *items, size_t n, gg_arena *arena) {
    gg_buf out;
    gg_buf_init(&out, GG__MAX_ANSWER_BYTES);
    for (size_t i = 0; i < n; i++) gg_buf_printf(&out, "%.*s\n", GG_STR_ARG(items[i]));
    gg_str text = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return text;
}

/* From an answer to a candidate: 0, or words for the model in err. */
static int candidate_of(gg_srs *srs, const gg_llm_reply *reply, gg_error *err) {
    gg_srs_round *round = &srs->rounds.items[srs->rounds.len - 1];
    gg_llm_answer answer;
    int error = gg_llm_read(&answer, &gg_llm_repair, reply, srs->arena, err);
    if (error) return error;
    round->reasons = joined(answer.fields[1].items, answer.fields[1].count, srs->arena);
    gg_str original = gg_text_slice(gg_tree_text(srs->tree), srs->definition);
    gg_str code = gg__answer_code(answer.fields[0].items[0], original, srs->arena);
    gg_text *edited = NULL;
    gg_tree *tree = NULL;
    error = gg__map(&edited, srs->tree, srs->definition, code, err);
    if (error == 0) error = gg_tree_parse(&tree, edited, NULL, NULL, 0, NULL, err);
    if (error == 0) {
        gg_cheat cheat = gg_integrity_check(srs->tree, tree, srs->definition, srs->arena);
        if (cheat.name) {
            round->cheat = gg_str_from(cheat.name);
            error = gg_fail(err, GG_EPARAMS, "Refused before it was run: %.*s", GG_STR_ARG(cheat.why));
        }
    }
    if (error == 0) {
        gg_edits_clear(&srs->edits);
        gg_edits_between(&srs->edits, gg_tree_text(srs->tree), edited);
        srs->candidate = edited;
        edited = NULL;
    }
    gg_tree_unref(&tree);
    gg_text_unref(&edited);
    return error;
}

int gg_srs_answered(gg_srs *srs, const gg_llm_reply *reply, gg_str failure, gg_error *err) {
    if (srs->widening.state == GG__WIDENING_WAIT) {
        srs->failed = reply == NULL;
        gg__widening_answered(&srs->widening, srs->budget, reply, failure, srs->arena);
        return 0;
    }
    if (srs->state != STATE_WAIT) return gg_fail(err, GG_EINTERNAL, "no answer is awaited");
    gg_srs_round *round = &srs->rounds.items[srs->rounds.len - 1];
    if (reply == NULL) {
        round->outcome = gg_arena_str(srs->arena, failure.len ? failure : GG_STR("the exchange failed"));
        finish(srs, "endpoint");
        return 0;
    }
    gg_str valid = {reply->text.ptr, gg_utf8_valid_prefix(reply->text)};
    round->answered = gg_arena_str(srs->arena, gg_str_slice(valid, 0, GG__MAX_ANSWER_BYTES));
    round->usage = gg_llm_budget_count(srs->budget, &srs->request, reply);
    gg_error why = {0};
    if (candidate_of(srs, reply, &why) != 0)
        go_on(srs, gg__neutral(gg_str_from(why.message), srs->arena));
    else
        srs->state = STATE_VERIFY;
    return 0;
}

/* Is every break gone that was asked for?  Those that came to light behind it were not. */
static bool is_mended(const gg_srs *srs, const gg_verdict *verdict) {
    int64_t left = (int64_t)verdict->breaks_after - verdict->breaks_to_light;
    return verdict->glued || (int64_t)verdict->breaks_before - left >= (int64_t)srs->asked_breaks;
}

static bool is_best(const gg_srs *srs, const gg_verdict *verdict) {
    return verdict->accepted && (srs->best == NULL || verdict->breaks_after < srs->best_verdict->breaks_after);
}

static void settle(gg_srs *srs, const gg_verdict *verdict) {
    gg_text *candidate = srs->candidate;
    srs->candidate = NULL;
    gg_str words = gg__verdict_words(verdict, srs->path, candidate, srs->arena);
    if (is_best(srs, verdict)) {
        gg_text_unref(&srs->best);
        gg_edits_clear(&srs->best_edits);
        srs->best = gg_text_ref(candidate);
        srs->best_edits = srs->edits;
        srs->edits = (gg_edits){0};
        srs->best_verdict = verdict;
    }
    gg_text_unref(&candidate);
    if (verdict->accepted && is_mended(srs, verdict)) {
        srs->rounds.items[srs->rounds.len - 1].outcome = gg_verdict_summary(verdict, srs->arena);
        finish(srs, "mended");
    } else {
        go_on(srs, words);
    }
}

int gg_srs_verified(gg_srs *srs, const gg_verdict *verdict, gg_error *err) {
    if (srs->widening.state == GG__WIDENING_VERIFY) {
        gg__widening_verified(&srs->widening, verdict);
        return 0;
    }
    if (srs->state != STATE_VERIFY) return gg_fail(err, GG_EINTERNAL, "no verdict is awaited");
    if (is_best(srs, verdict))
        gg__widening_begin(&srs->widening, &srs->task, srs->definition, srs->candidate, verdict, &srs->limits,
                           srs->arena);
    if (srs->widening.state == GG__WIDENING_ASK) {
        srs->accepted = verdict;
        srs->state = STATE_WIDEN;
    } else {
        settle(srs, verdict);
    }
    return 0;
}

const gg_srs_round *gg_srs_rounds(const gg_srs *srs, size_t *out_count) {
    *out_count = srs->rounds.len;
    return srs->rounds.items;
}
