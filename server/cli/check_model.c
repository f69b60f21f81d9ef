/* The exchanges are waited for on the loop of the run, when all captures are done.  See check_model.h. */
#include "server/cli/check_model.h"

#include <stdio.h>
#include <unistd.h>

#include "server/llm/client.h"
#include "server/llm/explanations.h"
#include "server/llm/limits.h"

typedef struct told {
    gg_str file, id;
    gg_span span;
    gg_str text;
} told;

struct gg_cli_explainer {
    gg_cli_run *run;
    gg_endpoint endpoint;
    gg_http *http; /* NULL: there is no model */
    gg_arena *arena;
    GG_LIST(told) told;
    gg_llm_budget budget; /* of the run; its limits are those of the file that is explained */
    bool failed;          /* no more is asked */
    gg_explaining *explaining;
    bool done;
};

static void say(gg_cli_explainer *x, const char *words) {
    gg_cli_progress(x->run, "%s", "");
    if (!x->failed) fprintf(stderr, "graphglue-lsp check: %s; breaks keep the built-in explanation\n", words);
    x->failed = true;
}

gg_cli_explainer *gg_cli_explainer_new(gg_cli_run *run, const gg_cli_args *args) {
    char folder[GG_PATH_BYTES];
    gg_error err = {0};
    gg_cli_explainer *x = gg_calloc(1, sizeof(gg_cli_explainer));
    x->run = run;
    x->arena = gg_arena_new();
    const gg_options *options = gg_cli_options_at(args, getcwd(folder, sizeof(folder)) ? folder : "/");
    if (gg_endpoint_read(&x->endpoint, options, true, &err) == 0)
        x->http = gg_http_new(gg_cli_run_loop(run));
    else
        say(x, err.message);
    return x;
}

void gg_cli_explainer_free(gg_cli_explainer *x) {
    if (x == NULL) return;
    if (x->http) gg_http_free(x->http);
    gg_endpoint_clear(&x->endpoint);
    gg_list_clear(&x->told);
    gg_arena_free(x->arena);
    gg_free(x);
}

/* ---- asking ----------------------------------------------------------------------------------------------------------------- */

static void on_progress(void *data, uint64_t tokens) {
    gg_cli_explainer *x = data;
    gg_cli_progress(x->run, "asking %s to explain (%llu tokens so far)", x->endpoint.model, (unsigned long long)tokens);
}

static void on_done(void *data, const gg_exchange_end *end) {
    gg_cli_explainer *x = data;
    bool answered = end->error.code == 0;
    if (!answered) {
        gg_arena *arena = gg_arena_new();
        say(x, gg_arena_z(arena, gg_arena_printf(arena, "the model gave no answer: %s", end->error.message)));
        gg_arena_free(arena);
    }
    gg_explaining_answered(x->explaining, answered ? &end->reply : NULL, GG_STR_NULL);
    x->done = true;
    uv_stop(gg_cli_run_loop(x->run));
}

static gg_explained_by by_of(const gg_cli_explainer *x, const char *root) {
    const char *torch = gg_cli_run_info(x->run)->torch;
    return (gg_explained_by){root, x->endpoint.model, torch ? torch : ""};
}

/* One question, asked again where the answer cannot be used. */
static void ask(gg_cli_explainer *x, const gg_cli_file *file, const gg_llm_task *task, const char *root) {
    const gg_exchange_options options = {.data = x, .on_progress = on_progress, .on_done = on_done};
    uv_loop_t *loop = gg_cli_run_loop(x->run);
    const gg_llm_request *request;
    gg_str failure;
    const gg_explained_by by = by_of(x, root);
    x->budget.limits = gg_limits_of(file->options, x->endpoint.input_price, x->endpoint.output_price);
    x->explaining = gg_explaining_new(task, &x->budget);
    while (!x->failed) {
        gg_llm_budget_clock(&x->budget, gg_limits_clock_ms());
        if ((request = gg_explaining_next(x->explaining)) == NULL) break;
        x->done = false;
        on_progress(x, 0);
        gg_exchange_start(x->http, loop, &x->endpoint, request, &options);
        while (!x->done && uv_run(loop, UV_RUN_DEFAULT)) {}
    }
    gg_cli_progress(x->run, "%s", "");
    const gg_str *texts = gg_explaining_texts(x->explaining, &failure);
    if (texts == NULL && failure.len && gg_llm_budget_spent(&x->budget))
        say(x, gg_arena_z(x->arena, failure));
    else if (texts == NULL && failure.len)
        fprintf(stderr, "graphglue-lsp check: %.*s; breaks keep the built-in explanation\n", GG_STR_ARG(failure));
    for (size_t i = 0; texts && i < task->site_count; i++) {
        const gg_site *site = task->sites[i];
        told one = {gg_arena_str(x->arena, site->file), gg_arena_str(x->arena, site->id), site->span,
                    gg_arena_str(x->arena, texts[i])};
        gg_list_push(&x->told, one);
        if (root) gg_explanation_keep(&by, task->tree, site, texts[i]);
    }
    gg_explaining_free(x->explaining);
    x->explaining = NULL;
}

/* ---- sites -------------------------------------------------------------------------------------------------------------------- */

static const told *find(const gg_cli_explainer *x, const gg_site *site) {
    for (size_t i = 0; i < x->told.len; i++) {
        const told *t = &x->told.items[i];
        if (t->span.start == site->span.start && t->span.end == site->span.end && gg_str_equal(t->id, site->id) &&
            gg_str_equal(t->file, site->file))
            return t;
    }
    return NULL;
}

void gg_cli_explain_again(const gg_cli_explainer *x, gg_site_list *sites) {
    for (size_t i = 0; x && i < sites->len; i++) {
        const told *t = find(x, &sites->items[i]);
        if (t == NULL) continue;
        sites->items[i].explanation = t->text;
        sites->items[i].by_model = true;
    }
}

void gg_cli_explain_sites(gg_cli_explainer *x, const gg_cli_file *file, gg_site_list *sites, gg_sources *sources) {
    char folder[GG_PATH_BYTES];
    const char *root = gg_cli_project_of(file->absolute, folder) ? folder : NULL;
    const gg_explained_by by = by_of(x, root);
    gg_arena *arena = gg_arena_new();
    const gg_site **open = GG_ARENA_ARRAY(arena, const gg_site *, sites->len);
    size_t count = 0;
    for (size_t i = 0; x->http && i < sites->len; i++) {
        const gg_site *site = &sites->items[i];
        const gg_tree *tree = site->in_workspace ? gg_sources_tree(sources, site->file, NULL) : NULL;
        told one = {gg_arena_str(x->arena, site->file), gg_arena_str(x->arena, site->id), site->span, GG_STR_NULL};
        if (tree == NULL || gg_cli_level_of(file->options, site) == GG_LEVEL_OFF || find(x, site)) continue;
        if (root && gg_explanation_find(&one.text, &by, tree, site, x->arena))
            gg_list_push(&x->told, one);
        else
            open[count++] = site;
    }
    bool *taken = GG_ARENA_ARRAY(arena, bool, count);
    for (size_t i = 0; i < count; i++) { /* those of one file after the other: sites are sorted by it */
        const gg_tree *tree = gg_sources_tree(sources, open[i]->file, NULL);
        const gg_site *batch[GG_EXPLAIN_SITES];
        size_t same = 1;
        while (i + same < count && gg_str_equal(open[i + same]->file, open[i]->file)) same++;
        for (size_t n; !x->failed && (n = gg_explain_batch(tree, open + i, same, taken + i, batch)) > 0;) {
            gg_llm_task task = {.tree = tree, .sites = batch, .site_count = n};
            ask(x, file, &task, root);
        }
        i += same - 1;
    }
    gg_arena_free(arena);
    gg_cli_explain_again(x, sites);
}
