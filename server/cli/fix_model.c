/* What of the file is asked of the model: the exchange is waited for on the loop of the run.  See fix_model.h. */
#include "server/cli/fix_model.h"

#include <stdio.h>
#include <unistd.h>

#include "server/cli/overlay.h"
#include "server/llm/client.h"
#include "server/llm/limits.h"
#include "server/llm/session_agent.h"

enum { MAX_LOG = 64 << 20 };

struct gg_cli_model {
    gg_cli_run *run;
    const gg_cli_args *args;
    gg_endpoint endpoint;
    gg_http *http;
    gg_session_agent agent; /* of the file that is being mended */
    gg_buf log;             /* of all files */
    gg_fix *fix;            /* while an answer is awaited */
    bool done;
    int error;
    gg_error *err;
};

int gg_cli_model_new(gg_cli_model **out, gg_cli_run *run, const gg_cli_args *args, gg_error *err) {
    char folder[GG_PATH_BYTES];
    const gg_options *options = gg_cli_options_at(args, getcwd(folder, sizeof(folder)) ? folder : "/");
    gg_endpoint endpoint;
    int error = gg_endpoint_read(&endpoint, options, true, err);
    if (error) return error;
    gg_cli_model *model = gg_calloc(1, sizeof(gg_cli_model));
    *model = (gg_cli_model){
        .run = run, .args = args, .endpoint = endpoint, .http = gg_http_new(gg_cli_run_loop(run)), .err = err};
    gg_buf_init(&model->log, MAX_LOG);
    *out = model;
    return 0;
}

void gg_cli_model_free(gg_cli_model *model) {
    if (model == NULL) return;
    gg_error err = {0};
    if (model->args->repair_log && gg_cli_write_file(model->args->repair_log, gg_buf_str(&model->log), 0600, &err) != 0)
        fprintf(stderr, "graphglue-lsp fix: %s\n", err.message);
    gg_buf_clear(&model->log);
    gg_http_free(model->http);
    gg_endpoint_clear(&model->endpoint);
    gg_free(model);
}

const char *gg_cli_model_name(const gg_cli_model *model) {
    return model->endpoint.model;
}

void gg_cli_model_begin(gg_cli_model *model, gg_fix *fix, const gg_cli_file *file) {
    char root[GG_PATH_BYTES];
    gg_cli_run_start(model->run); /* as its capture would: which torch it is has to be known */
    const char *torch = gg_cli_run_info(model->run)->torch;
    gg_session_agent_open(&model->agent, file->options, model->endpoint.input_price, model->endpoint.output_price,
                          gg_cli_project_of(file->absolute, root) ? root : NULL, model->endpoint.model,
                          torch ? torch : "");
    gg_fix_use(fix, gg_agent_source(model->agent.agent));
}

void gg_cli_model_end(gg_cli_model *model, const gg_cli_file *file) {
    if (model->args->repair_log) {
        gg_buf_printf(&model->log, "# %s\n\n", file->path);
        gg_agent_log(model->agent.agent, &model->log);
    }
    gg_session_agent_close(&model->agent, true);
}

static void on_progress(void *data, uint64_t tokens) {
    gg_cli_model *model = data;
    gg_cli_progress(model->run, "asking %s (round %u, %llu tokens so far)", model->endpoint.model,
                    gg_session_agent_round(&model->agent), (unsigned long long)tokens);
}

static void on_done(void *data, const gg_exchange_end *end) {
    gg_cli_model *model = data;
    bool answered = end->error.code == 0;
    gg_agent_clock(model->agent.agent, gg_limits_clock_ms());
    if (!answered) fprintf(stderr, "graphglue-lsp fix: the model gave no answer: %s\n", end->error.message);
    model->error =
        gg_fix_answered(model->fix, answered ? &end->reply : NULL, gg_str_from(end->error.message), model->err);
    model->done = true;
    uv_stop(gg_cli_run_loop(model->run));
}

static int only_show(const gg_fix_action *action, gg_fix *fix, gg_error *err) {
    gg_buf shown;
    gg_buf_init(&shown, MAX_LOG);
    gg_request_show(action->request, &shown);
    fwrite(shown.ptr, 1, shown.len, stdout);
    gg_buf_clear(&shown);
    return gg_fix_answered(fix, NULL, GG_STR("nothing was sent: it was only to be shown"), err);
}

int gg_cli_model_ask(gg_cli_model *model, gg_fix *fix, const gg_fix_action *action, gg_error *err) {
    if (model->args->show_prompt) return only_show(action, fix, err);
    const gg_exchange_options options = {.data = model, .on_progress = on_progress, .on_done = on_done};
    uv_loop_t *loop = gg_cli_run_loop(model->run);
    gg_agent_clock(model->agent.agent, gg_limits_clock_ms());
    model->fix = fix;
    model->done = false;
    model->err = err;
    on_progress(model, 0);
    gg_exchange_start(model->http, loop, &model->endpoint, action->request, &options);
    while (!model->done && uv_run(loop, UV_RUN_DEFAULT)) {}
    return model->error;
}

json_t *gg_cli_model_json(const gg_cli_model *model) {
    if (model == NULL) return json_null();
    gg_llm_usage spent = gg_agent_spent(model->agent.agent);
    gg_buf log;
    gg_buf_init(&log, MAX_LOG);
    gg_agent_log(model->agent.agent, &log);
    bool priced = model->endpoint.input_price >= 0 && model->endpoint.output_price >= 0;
    json_t *out = json_pack("{s:s, s:I, s:I, s:o, s:s%}", "name", model->endpoint.model, "input_tokens",
                            (json_int_t)spent.input_tokens, "output_tokens", (json_int_t)spent.output_tokens, "cost",
                            priced ? json_real(spent.cost) : json_null(), "log", log.ptr ? log.ptr : "", log.len);
    gg_buf_clear(&log);
    return out;
}

void gg_cli_model_print(const gg_cli_model *model) {
    gg_llm_usage spent = gg_agent_spent(model->agent.agent);
    if (spent.input_tokens + spent.output_tokens == 0) return;
    printf("%s: %llu tokens sent, %llu answered", model->endpoint.model, (unsigned long long)spent.input_tokens,
           (unsigned long long)spent.output_tokens);
    if (model->endpoint.input_price >= 0 && model->endpoint.output_price >= 0) printf(", cost %.4g", spent.cost);
    puts("\n");
}
