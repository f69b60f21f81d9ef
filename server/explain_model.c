/* Explain with a model: the breaks of one class or function, asked of the language model that is configured; what it said is kept for hovers.
 * Loop thread, but for `look_up` and `hear`, which run in jobs.
 *
 * Invariant: all of it but `canceled` is the job's while one is running, and else the loop's. */
#include <stdio.h>

#include "server/llm/explanations.h"
#include "server/llm/limits.h"
#include "server/llm/model.h"
#include "server/session.h"

enum { MAX_TEXT = 256 * 1024, MAX_EXPLAINED = 512 };

typedef struct gg_explained { /* of a session */
    char key[GG_EXPLANATION_KEY];
    char *text, *model;
} gg_explained;

typedef struct gg_explain {
    gg_session *session;
    gg_call *call; /* NULL once canceled */
    gg_findings *findings;
    gg_options *options;
    gg_model_who who;
    char *root;
    gg_arena *arena;
    const gg_site *asked;  /* it was asked about */
    const gg_site **sites; /* what could be explained, that which was asked about first; then what is */
    size_t count, open_count;
    const gg_site *open[GG_EXPLAIN_SITES]; /* what the model is asked about */
    size_t of[GG_EXPLAIN_SITES];           /* … and which of the sites that is */
    gg_str texts[GG_EXPLAIN_SITES];        /* empty: there is none */
    char keys[GG_EXPLAIN_SITES][GG_EXPLANATION_KEY];
    gg_llm_budget budget; /* of this one question */
    gg_explaining *explaining;
    gg_asking *asking;
    gg_heard heard;
    char *failure;
    gg_progress *progress;
    bool canceled;
} gg_explain;

/* ---- in jobs ---------------------------------------------------------------------------------------------------------------- */

static gg_explained_by by_of(const gg_explain *x) {
    return (gg_explained_by){x->root, x->who.model, gg_registry_source_torch(x->findings->registry)};
}

static void look_up(void *data) {
    gg_explain *x = data;
    const gg_explained_by by = by_of(x);
    const gg_tree *tree = x->findings->tree;
    const gg_site **batch = GG_ARENA_ARRAY(x->arena, const gg_site *, GG_EXPLAIN_SITES);
    x->count = gg_explain_batch(tree, x->sites, x->count, GG_ARENA_ARRAY(x->arena, bool, x->count), batch);
    x->sites = batch;
    if (x->count && batch[0] != x->asked) x->count = 0;
    for (size_t i = 0; i < x->count; i++) {
        gg_explanation_key(x->keys[i], gg_explain_subject(tree, batch[i], by.torch, x->arena), "");
        if (gg_explanation_find(&x->texts[i], &by, tree, batch[i], x->arena)) continue;
        x->of[x->open_count] = i;
        x->open[x->open_count++] = batch[i];
    }
    gg_llm_task task = {.tree = tree, .sites = x->open, .site_count = x->open_count};
    x->budget.limits = gg_limits_of(x->options, x->who.input_price, x->who.output_price);
    if (x->open_count) x->explaining = gg_explaining_new(&task, &x->budget);
}

static void hear(void *data) {
    gg_explain *x = data;
    const gg_explained_by by = by_of(x);
    gg_explaining_answered(x->explaining, x->heard.answered ? &x->heard.reply : NULL, gg_str_from(x->heard.failure));
    gg_heard_clear(&x->heard);
    const gg_str *texts = gg_explaining_texts(x->explaining, NULL);
    for (size_t i = 0; texts && i < x->open_count; i++) {
        x->texts[x->of[i]] = texts[i];
        gg_explanation_keep(&by, x->findings->tree, x->open[i], texts[i]);
    }
}

/* ---- what is said ----------------------------------------------------------------------------------------------------------- */

/* Set apart from our own words, whatever is in it. */
static void append_words(gg_buf *out, gg_str text, bool markdown) {
    for (size_t at = 0, end; at < text.len; at = end + 1) {
        end = gg_str_find(text, GG_STR("\n"), at);
        if (end == SIZE_MAX) end = text.len;
        gg_buf_printf(out, "%s%.*s\n", markdown ? "> " : "  ", GG_STR_ARG(gg_str_slice(text, at, end)));
    }
}

static void append_name(gg_buf *out, const char *model) {
    for (; *model; model++) gg_buf_append_char(out, *model == '`' || (unsigned char)*model < ' ' ? '?' : *model);
}

static const gg_explained *find(const gg_session *session, const char *key) {
    for (size_t i = session->explained.len; i-- > 0;)
        if (strcmp(session->explained.items[i].key, key) == 0) return &session->explained.items[i];
    return NULL;
}

gg_str gg_explained_words(const gg_document *document, size_t site, bool markdown, gg_arena *arena) {
    const gg_session *session = document->session;
    const gg_findings *f = document->findings;
    char key[GG_EXPLANATION_KEY];
    if (session->explained.len == 0 || !f->local[site] || document->marks[site].faded ||
        !gg_explanation_key(
            key, gg_explain_subject(f->tree, &f->sites.items[site], gg_registry_source_torch(f->registry), arena), ""))
        return GG_STR_NULL;
    const gg_explained *found = find(session, key);
    if (found == NULL) return GG_STR_NULL;
    gg_buf out;
    gg_buf_init(&out, MAX_TEXT);
    gg_buf_append_z(&out, markdown ? "**In the words of a model**, `" : "In the words of a model, ");
    append_name(&out, found->model);
    gg_buf_append_z(&out, markdown ? "`:\n\n" : ":\n\n");
    append_words(&out, gg_str_from(found->text), markdown);
    gg_buf_append_z(&out, markdown ? "\n---\n\n" : "\n");
    gg_str words = gg_arena_str(arena, gg_buf_str(&out));
    gg_buf_clear(&out);
    return words;
}

static void forget(gg_session *session, size_t i) {
    gg_free(session->explained.items[i].text);
    gg_free(session->explained.items[i].model);
    gg_list_remove(&session->explained, i);
}

void gg_explained_clear(gg_session *session) {
    while (session->explained.len) forget(session, session->explained.len - 1);
    gg_list_clear(&session->explained);
}

static void remember(gg_explain *x, size_t i) {
    gg_explained one = {.text = gg_str_dup(x->texts[i]), .model = gg_str_dup(gg_str_from(x->who.model))};
    memcpy(one.key, x->keys[i], sizeof(one.key));
    const gg_explained *old = find(x->session, one.key);
    if (old)
        forget(x->session, (size_t)(old - x->session->explained.items));
    else if (x->session->explained.len == MAX_EXPLAINED)
        forget(x->session, 0);
    gg_list_push(&x->session->explained, one);
}

static json_t *reply_of(const gg_explain *x) {
    gg_buf out;
    gg_buf_init(&out, MAX_TEXT);
    for (size_t i = 0; i < x->count; i++) {
        const gg_site *site = x->sites[i];
        gg_buf_printf(&out, "**%.*s**, line %u, ", GG_STR_ARG(site->id), site->range_utf16.start.line + 1);
        if (x->texts[i].len) {
            gg_buf_append_z(&out, "in the words of a model, `");
            append_name(&out, x->who.model);
            gg_buf_append_z(&out, "`:\n\n");
        } else {
            gg_buf_append_z(&out, "in our own words:\n\n");
        }
        append_words(&out, x->texts[i].len ? x->texts[i] : site->explanation, true);
        gg_buf_append_char(&out, '\n');
    }
    json_t *reply = json_pack("{s:s%}", "text", out.ptr ? out.ptr : "", out.len);
    gg_buf_clear(&out);
    return reply;
}

/* ---- the course of it ------------------------------------------------------------------------------------------------------- */

static void finish(gg_explain *x) {
    gg_progress_end(x->progress);
    for (size_t i = 0; !x->canceled && i < x->count; i++)
        if (x->texts[i].len) remember(x, i);
    if (x->call && x->canceled) {
        gg_call_fail(x->call, GG_ECANCELED, "canceled");
    } else if (x->call && x->count == 0) {
        gg_call_fail(x->call, GG_ENOTFOUND, "the break lies in no class or function");
    } else if (x->call) {
        if (x->failure) gg_show_message(x->session, 2, "graphglue: not explained by the model. %s", x->failure);
        gg_call_reply_take(x->call, reply_of(x));
    }
    x->session->glues--;
    gg_explaining_free(x->explaining);
    gg_findings_unref(x->session, &x->findings);
    gg_options_free(x->options);
    gg_arena_free(x->arena);
    gg_model_who_clear(&x->who);
    gg_heard_clear(&x->heard);
    gg_free(x->root);
    gg_free(x->failure);
    gg_free(x);
}

static void go_on(void *data);

static void on_answer(void *data, const gg_exchange_end *end) {
    gg_explain *x = data;
    x->asking = NULL;
    gg_heard_take(&x->heard, end);
    gg_job_start(x->session, hear, go_on, x);
}

static void go_on(void *data) {
    gg_explain *x = data;
    gg_str failure = GG_STR_NULL;
    gg_llm_budget_clock(&x->budget, gg_limits_clock_ms());
    const gg_llm_request *request = x->explaining && !x->canceled ? gg_explaining_next(x->explaining) : NULL;
    gg_error err = {0};
    if (request) {
        const gg_exchange_options options = {.data = x, .on_done = on_answer};
        x->asking = gg_model_ask(x->session, x->options, request, &options, &err);
        if (x->asking) return;
        x->failure = gg_str_dup(gg_str_from(err.message));
    }
    if (x->explaining && gg_explaining_texts(x->explaining, &failure) == NULL && failure.len && x->failure == NULL)
        x->failure = gg_str_dup(failure);
    finish(x);
}

static void cancel(void *data) {
    gg_explain *x = data;
    x->canceled = true;
    if (x->asking) gg_model_cancel(x->asking);
}

static void on_call_cancel(gg_call *call) {
    gg_explain *x = call->work;
    x->call = NULL;
    cancel(x);
}

static bool is_eligible(const gg_document *document, size_t i) { /* it reads as it was captured, and is shown */
    return document->findings->local[i] && !document->marks[i].faded && !document->marks[i].gone &&
           gg_level_of_site(document, i) != GG_LEVEL_OFF;
}

static void choose(gg_explain *x, const gg_document *document, size_t asked) {
    const gg_findings *f = x->findings;
    x->asked = &f->sites.items[asked];
    x->sites = GG_ARENA_ARRAY(x->arena, const gg_site *, f->sites.len);
    x->sites[x->count++] = x->asked;
    for (size_t i = 0; i < f->sites.len; i++)
        if (i != asked && is_eligible(document, i)) x->sites[x->count++] = &f->sites.items[i];
}

/* Which break is asked about: of several of a kind in one function any, for all of them are explained. */
static int find_asked(size_t *out, const gg_document *document, const json_t *argument, gg_error *err) {
    const char *id = json_string_value(json_object_get(argument, "site")),
               *enclosing = json_string_value(json_object_get(argument, "enclosing"));
    const json_t *revision = json_object_get(argument, "revision");
    const gg_findings *f = document->findings;
    if (id == NULL || enclosing == NULL)
        return gg_fail(err, GG_EPARAMS, "params.arguments[0] wants site, a break's id, and enclosing, where it is");
    if (gg_session_check_trust(document->session, err) != 0) return GG_EFAILED;
    bool same = !json_is_integer(revision) || document->revision == (uint64_t)json_integer_value(revision);
    for (size_t i = 0; same && f && document->path && i < f->sites.len; i++) {
        *out = i;
        if (is_eligible(document, i) && gg_str_is(f->sites.items[i].id, id) &&
            gg_str_is(f->sites.items[i].enclosing, enclosing))
            return 0;
    }
    return gg_fail(err, GG_ESTALE, "the document changed since the action was offered");
}

void gg_explain_with_model(gg_session *session, gg_call *call, const json_t *argument) {
    const char *uri = json_string_value(json_object_get(argument, "uri"));
    gg_document *document = uri ? gg_document_find(session, gg_str_from(uri)) : NULL;
    gg_error err = {0};
    gg_model_who who;
    size_t asked = 0;
    if (document == NULL) {
        gg_call_fail(call, GG_EPARAMS, "params.arguments[0] wants the uri of an open document");
        return;
    }
    int error = find_asked(&asked, document, argument, &err);
    if (error == 0) error = gg_model_who_read(&who, session, gg_options_of(document), &err);
    if (error) {
        gg_call_fail(call, error, "%s", err.message);
        return;
    }
    const gg_options *options = gg_options_of(document);
    json_t *values = json_deep_copy(options->values); /* no value is shared between threads */
    gg_explain *x = gg_calloc(1, sizeof(gg_explain));
    *x = (gg_explain){.session = session,
                      .call = call,
                      .findings = gg_findings_ref(document->findings),
                      .options = gg_options_new(values, NULL, options->folder),
                      .who = who,
                      .root = gg_str_dup(gg_str_from(gg_workspace_of(session, document->path)->folder)),
                      .arena = gg_arena_new()};
    json_decref(values);
    choose(x, document, asked);
    call->work = x;
    call->on_cancel = on_call_cancel;
    session->glues++;
    x->progress = gg_progress_start(session, "graphglue: explaining breaks", cancel, x);
    gg_job_start(session, look_up, go_on, x);
}
