/* graphglue-lsp doctor --model: which language model is configured, and whether it answers. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "server/cli/cli.h"
#include "server/llm/client.h"
#include "server/llm/key.h"

typedef struct trial {
    gg_endpoint endpoint;
    gg_exchange_end end; /* its reply's text is not kept */
    bool asked;          /* an exchange was made; else end.error says why not */
    char key[300];
} trial;

static void on_done(void *data, const gg_exchange_end *end) {
    trial *t = data;
    t->end = *end;
    t->end.reply.text = GG_STR_NULL;
}

/* One tiny exchange. */
static void ask(trial *t) {
    const gg_llm_message hello = {GG_LLM_USER, GG_STR("Answer with the word OK.")};
    const gg_llm_request request = {.messages = &hello,
                                    .message_count = 1,
                                    .max_tokens = 64,
                                    .temperature = GG_LLM_TEMPERATURE,
                                    .top_p = GG_LLM_TOP_P};
    const gg_exchange_options options = {.data = t, .on_done = on_done};
    uv_loop_t loop;
    uv_loop_init(&loop);
    gg_http *http = gg_http_new(&loop);
    gg_key_source(t->key, sizeof(t->key), &t->endpoint);
    t->asked = true;
    gg_exchange_start(http, &loop, &t->endpoint, &request, &options);
    uv_run(&loop, UV_RUN_DEFAULT);
    gg_http_free(http);
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop) != 0) gg_log(GG_LOG_ERROR, "the loop was not empty");
}

static void show(const trial *t) {
    const gg_exchange_end *end = &t->end;
    if (t->asked) {
        gg_cli_line("model", "%s", t->endpoint.model);
        gg_cli_line("endpoint", "%s, from %s", t->endpoint.shown, t->endpoint.from);
        gg_cli_line("API", "%s", t->endpoint.api->name);
        gg_cli_line("key", "%s", t->key);
    }
    if (end->error.code) {
        gg_cli_line("problem", "%s", end->error.message);
        gg_cli_line("result", "%s", t->asked ? "the model cannot be used; see above" : "there is no model to ask");
        return;
    }
    char cost[32] = "";
    if (end->cost >= 0) snprintf(cost, sizeof(cost), ", cost %.6g", end->cost);
    gg_cli_line("answer", "in %.2f s, %llu tokens read, %llu written%s", (double)end->took_ms / 1e3,
                (unsigned long long)end->reply.input_tokens, (unsigned long long)end->reply.output_tokens, cost);
    gg_cli_line("result", "the model answers");
}

static json_t *as_json(const trial *t) {
    const gg_exchange_end *end = &t->end;
    bool ok = end->error.code == 0;
    json_t *out = json_pack("{s:i, s:b}", "version", 1, "ok", ok);
    json_t *model =
        t->asked ? json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", t->endpoint.model, "endpoint", t->endpoint.shown,
                             "from", t->endpoint.from, "api", t->endpoint.api->name, "key", t->key)
                 : json_null();
    json_object_set_new(out, "model", model);
    json_object_set_new(out, "failure", ok ? json_null() : json_string(gg_model_failure_id(end->failure)));
    json_object_set_new(out, "error", ok ? json_null() : json_string(end->error.message));
    json_object_set_new(out, "tries", json_integer(end->tries));
    json_object_set_new(out, "seconds", json_real((double)end->took_ms / 1e3));
    json_object_set_new(out, "input_tokens", json_integer((json_int_t)end->reply.input_tokens));
    json_object_set_new(out, "output_tokens", json_integer((json_int_t)end->reply.output_tokens));
    json_object_set_new(out, "cost", end->cost >= 0 ? json_real(end->cost) : json_null());
    return out;
}

int gg_cli_doctor_model(const gg_cli_args *args) {
    char folder[PATH_MAX];
    trial t = {.end.cost = -1};
    const gg_options *options = gg_cli_options_at(args, getcwd(folder, sizeof(folder)) ? folder : "/");
    if (gg_endpoint_read(&t.endpoint, options, true, &t.end.error) == 0)
        ask(&t);
    else
        t.end.failure = t.end.error.code == GG_ENOTFOUND ? GG_MODEL_NOT_CONFIGURED : GG_MODEL_SETTINGS;
    if (args->json)
        gg_cli_print_json(as_json(&t));
    else
        show(&t);
    gg_endpoint_clear(&t.endpoint);
    return t.end.error.code ? GG_CLI_FAILED : GG_CLI_CLEAN;
}
