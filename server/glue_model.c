/* Glue with a model: a repair session of the breaks of one class or function, whose second source is the language model that is configured.
 * Loop thread, but for what glue_all.h says. */
#include <limits.h>

#include "server/glue_all.h"
#include "server/llm/limits.h"

enum { MAX_TEXT = 4 << 20, TOLD_TOKENS = 20 /* progress tells no fewer */ };

/* ---- in jobs ---------------------------------------------------------------------------------------------------------------- */

void gg__model_begin(gg_glue_all *all) {
    gg__asked *a = &all->asked;
    if (!a->wanted || a->agent.agent) return;
    gg_session_agent_open(&a->agent, all->options, a->who.input_price, a->who.output_price, a->root, a->who.model,
                          a->torch);
    gg_fix_use(all->fix, gg_agent_source(a->agent.agent));
    gg_agent_clock(a->agent.agent, gg_limits_clock_ms());
}

int gg__model_answered(gg_glue_all *all) {
    gg__asked *a = &all->asked;
    a->awaited = false;
    gg_agent_clock(a->agent.agent, gg_limits_clock_ms());
    int error = gg_fix_answered(all->fix, a->heard.answered ? &a->heard.reply : NULL, gg_str_from(a->heard.failure),
                                &all->error);
    gg_heard_clear(&a->heard);
    return error;
}

void gg__model_end(gg_glue_all *all, bool in_a_job) {
    gg__asked *a = &all->asked;
    if (a->agent.agent == NULL) return;
    if (!a->only_shown) gg_agent_log(a->agent.agent, &a->text);
    gg_session_agent_close(&a->agent, in_a_job);
}

/* ---- asking ----------------------------------------------------------------------------------------------------------------- */

static void say(gg_glue_all *all, const char *what) {
    gg__asked *a = &all->asked;
    gg_arena *arena = gg_arena_new();
    double cost = gg_agent_spent(a->agent.agent).cost;
    gg_str spent = cost > 0 ? gg_arena_printf(arena, ", cost %.4g so far", cost) : GG_STR("");
    gg_str round =
        a->round ? gg_arena_printf(arena, "round %u: ", a->round) : GG_STR(""); /* the first is no round yet */
    gg_progress_say(all->progress, gg_arena_z(arena, gg_arena_printf(arena, "%.*s%s%.*s", GG_STR_ARG(round), what,
                                                                     GG_STR_ARG(spent))));
    gg_arena_free(arena);
}

static void on_tokens(void *data, uint64_t tokens) {
    gg_glue_all *all = data;
    char text[PATH_MAX];
    if (gg__glued_document(all) == NULL) { /* the answer would be of no use, and costs */
        gg_model_cancel(all->asked.asking);
        return;
    }
    if (tokens < all->asked.told + TOLD_TOKENS) return;
    all->asked.told = tokens;
    snprintf(text, sizeof(text), "%s answers, %llu tokens", all->asked.who.name, (unsigned long long)tokens);
    say(all, text);
}

static void on_answer(void *data, const gg_exchange_end *end) {
    gg_glue_all *all = data;
    gg__asked *a = &all->asked;
    a->asking = NULL;
    a->awaited = true;
    gg_heard_take(&a->heard, end);
    a->unanswered = !a->heard.answered;
    if (a->unanswered && !all->canceled && gg__glued_document(all))
        gg_show_message(all->session, 2, "graphglue: the model gave no answer: %s", end->error.message);
    gg__glue_go_on(all);
}

void gg__model_ask(gg_glue_all *all) {
    gg__asked *a = &all->asked;
    const gg_llm_request *request = all->action.request;
    if (a->only_shown) {
        gg_request_show(request, &a->text);
        gg__glue_finish(all, 0, NULL);
        return;
    }
    a->round = gg_session_agent_round(&a->agent);
    a->told = 0;
    a->was_asked = true;
    char text[PATH_MAX];
    snprintf(text, sizeof(text), "asking %s", a->who.name);
    say(all, text);
    gg_exchange_options options = {.data = all, .on_progress = on_tokens, .on_done = on_answer};
    gg_error err = {0};
    a->asking = gg_model_ask(all->session, gg_options_of(gg__glued_document(all)), request, &options, &err);
    if (a->asking) return;
    const gg_exchange_end end = {.error = err};
    gg_heard_take(&a->heard, &end);
    a->awaited = true;
    gg__glue_go_on(all);
}

void gg__model_clear(gg_glue_all *all) {
    gg__asked *a = &all->asked;
    if (!a->wanted) return;
    gg__model_end(all, false);
    gg_model_who_clear(&a->who);
    gg_heard_clear(&a->heard);
    gg_free(a->torch);
    gg_free(a->root);
    gg_free(a->enclosing);
    gg_buf_clear(&a->text);
}

/* ---- beginning --------------------------------------------------------------------------------------------------------------- */

json_t *gg_glue_model_offer(const gg_document *document, size_t site) {
    gg_str id = document->findings->sites.items[site].id, enclosing = document->findings->sites.items[site].enclosing;
    return json_pack("{s:s, s:I, s:s%, s:s%}", "uri", document->uri, "revision", (json_int_t)document->revision, "site",
                     id.ptr, id.len, "enclosing", enclosing.ptr ? enclosing.ptr : "", enclosing.len);
}

/* "Net.forward" → "Net": the outermost class or function. */
static char *outermost(const char *enclosing) {
    return gg_str_dup((gg_str){enclosing, strcspn(enclosing, ".")});
}

static gg_glue_all *start(gg_session *session, const json_t *argument, bool only_shown, gg_glue_done done, void *data,
                          gg_error *err) {
    const char *uri = json_string_value(json_object_get(argument, "uri")),
               *enclosing = json_string_value(json_object_get(argument, "enclosing"));
    const json_t *revision = json_object_get(argument, "revision");
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    gg_model_who who;
    if (document == NULL || enclosing == NULL) {
        gg_fail(err, GG_EPARAMS,
                "params.arguments[0] wants the uri of an open document, and enclosing, a class or function");
        return NULL;
    }
    if (json_is_integer(revision) && document->revision != (uint64_t)json_integer_value(revision)) {
        gg_fail(err, GG_ESTALE, "the document changed since the action was offered");
        return NULL;
    }
    if (gg_model_who_read(&who, session, gg_options_of(document), err) != 0) return NULL;
    gg_glue_all *all = gg__glue_start(document, false, done, data, err);
    if (all == NULL) {
        gg_model_who_clear(&who);
        return NULL;
    }
    all->asked = (gg__asked){.wanted = true,
                             .only_shown = only_shown,
                             .who = who,
                             .torch = gg_str_dup(gg_str_from(
                                 gg_registry_source_torch(document->findings ? document->findings->registry : NULL))),
                             .root = gg_str_dup(gg_str_from(gg_workspace_of(session, document->path)->folder)),
                             .enclosing = outermost(enclosing)};
    gg_buf_init(&all->asked.text, MAX_TEXT);
    gg__glue_go_on(all);
    return all;
}

gg_glue_all *gg_glue_model_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data,
                                 gg_error *err) {
    return start(session, argument, false, done, data, err);
}

gg_glue_all *gg_prompt_start(gg_session *session, const json_t *argument, gg_glue_done done, void *data,
                             gg_error *err) {
    return start(session, argument, true, done, data, err);
}

void gg_session_keep_log(gg_session *session, gg_buf *log_take) {
    gg_free(session->repair_log);
    session->repair_log = gg_buf_take(log_take);
}
