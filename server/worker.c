/* The worker's life: start, hello, ready, deadlines, loss, back-off, close.  Its jobs are in worker_jobs.c, its command line in
 * worker_start.c, its pipes in worker_process.c.  Loop thread only.
 *
 * DESIGN  One gg_worker_process per start; it outlives the worker's interest in it until libuv has closed its handles.  Whatever happens to
 * it, each job gets exactly one `done`.  A process that dies is started again while jobs wait, each time later; after MAX_STARTS in a row
 * without a job done, or at once where another start would end alike (no program, no torch, no answer), it is given up: jobs are told
 * why, and nothing is started until a rest is over or somebody asks for it (told, not hammered). */
#include "server/worker.h"

#include <stdio.h>

#include "server/worker_parts.h"

enum { MAX_STARTS = 3, PROTOCOL = 1, LAUNCHER_MS = 60000 };

static const gg_worker_limits default_limits = {.hello_ms = 20000,
                                                .ready_ms = 120000,
                                                .silence_ms = 30000,
                                                .cancel_ms = 10000,
                                                .linger_ms = 1000,
                                                .back_off_ms = 500,
                                                .rest_ms = 30000};

static const char *keep(gg_worker *worker, int slot, const char *text) {
    char *copy = text ? gg_str_dup(gg_str_from(text)) : NULL;
    gg_free(worker->texts[slot]);
    return worker->texts[slot] = copy;
}

static void tell_state(gg_worker *worker, gg_worker_state state) {
    worker->info.state = state;
    if (worker->on_state && !worker->closing) worker->on_state(worker->data, worker);
}

void gg__worker_maybe_closed(gg_worker *worker) {
    if (!worker->closing || worker->open_timers || worker->open_processes || worker->open_readings) return;
    void (*closed)(void *) = worker->closed;
    void *data = worker->closed_data;
    for (size_t i = 0; i < GG_COUNT(worker->texts); i++) gg_free(worker->texts[i]);
    for (size_t i = 0; i < worker->workspace_count; i++) gg_free(worker->workspaces[i]);
    gg_free(worker->workspaces);
    gg_free(worker->python);
    gg_remote_clear(&worker->remote);
    json_decref(worker->cuda);
    json_decref(worker->sandbox);
    gg_list_clear(&worker->jobs);
    gg_free(worker);
    if (closed) closed(data);
}

/* ---- loss ---------------------------------------------------------------------------------------------------------------- */

static void let_go(gg_worker *worker) {
    if (worker->process) gg_worker_process_end(worker->process);
    worker->process = NULL;
    if (!worker->closing) uv_timer_stop(&worker->timer);
}

/* The process is no use any more.  `hopeless`: another start would end alike; the status of the jobs that wait. */
static void lose(gg_worker *worker, const char *why, const char *hopeless) {
    gg_log(GG_LOG_WARNING, "worker: %s", why);
    let_go(worker);
    worker->info.error = keep(worker, GG__TEXT_ERROR, why);
    if (hopeless || worker->starts_in_a_row >= MAX_STARTS) {
        worker->given_up = hopeless ? hopeless : "crashed";
        worker->rest_until = uv_now(worker->loop) + worker->limits.rest_ms;
    }
    if (worker->given_up && !hopeless) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "the worker was started %d times in a row and is left alone for now; the last time: %.800s",
                 MAX_STARTS, why);
        worker->info.error = keep(worker, GG__TEXT_ERROR, text);
    }
    worker->info.state = GG_WORKER_FAILED;
    gg__jobs_process_gone(worker, why);
    if (worker->process == NULL) tell_state(worker, GG_WORKER_FAILED); /* else a callback started another */
    if (worker->jobs.len) gg__worker_wanted(worker);
}

static void lose_late(gg_worker *worker, uint32_t ms, const char *what_not, const char *hopeless) {
    char why[1024], words[512], time[32];
    gg_worker_process_words(worker->process, words, sizeof(words));
    snprintf(time, sizeof(time), "%g s", ms / 1000.0);
    snprintf(why, sizeof(why), "%s within %s%s%s", what_not, time, words[0] ? "; the last that it said: " : "", words);
    lose(worker, why, hopeless);
}

static void start_process(gg_worker *worker);

static void on_deadline(uv_timer_t *timer) {
    gg_worker *worker = timer->data;
    const gg_worker_limits *limits = &worker->limits;
    char silent[128];
    snprintf(silent, sizeof(silent), "%s did not answer", worker->what);
    if (worker->waiting_to_start)
        start_process(worker);
    else if (worker->info.state != GG_WORKER_READY && !worker->said_hello)
        lose_late(worker, limits->hello_ms, silent, "error");
    else if (worker->info.state != GG_WORKER_READY)
        lose_late(worker, limits->ready_ms, "torch did not finish importing", "error");
    else if (worker->jobs.len && worker->jobs.items[0].canceled)
        lose_late(worker, limits->cancel_ms, "the worker did not end a canceled job", NULL);
    else
        lose(worker, "the worker went silent far beyond its deadline and was ended", NULL);
}

void gg__worker_watch(gg_worker *worker) {
    const gg__job *first = worker->jobs.len ? &worker->jobs.items[0] : NULL;
    if (first == NULL || first->state == GG__JOB_WAITING)
        uv_timer_stop(&worker->timer);
    else if (first->canceled)
        uv_timer_start(&worker->timer, on_deadline, worker->limits.cancel_ms, 0);
    else
        uv_timer_start(&worker->timer, on_deadline, (uint64_t)first->deadline_ms * 2 + worker->limits.silence_ms, 0);
}

/* ---- frames ---------------------------------------------------------------------------------------------------------------- */

static const char *text_at(const json_t *frame, const char *key) {
    return json_string_value(json_object_get(frame, key));
}

static void on_hello(gg_worker *worker, const json_t *frame) {
    json_int_t protocol = json_integer_value(json_object_get(frame, "protocol"));
    if (worker->said_hello || worker->info.state != GG_WORKER_STARTING) return;
    if (protocol != PROTOCOL) {
        char why[160];
        snprintf(why, sizeof(why),
                 "graphglue-worker speaks version %lld of the protocol and graphglue-lsp version %d: install both from "
                 "one release",
                 (long long)protocol, PROTOCOL);
        lose(worker, why, "error");
        return;
    }
    worker->said_hello = true;
    worker->info.python_version = keep(worker, GG__TEXT_VERSION, text_at(frame, "version"));
    worker->info.interpreter = keep(worker, GG__TEXT_INTERPRETER, text_at(frame, "interpreter"));
    worker->info.mode = keep(worker, GG__TEXT_MODE, text_at(frame, "mode"));
    uv_timer_start(&worker->timer, on_deadline, worker->limits.ready_ms, 0);
    tell_state(worker, GG_WORKER_STARTING);
}

static void on_ready(gg_worker *worker, const json_t *frame) {
    const char *torch = text_at(frame, "torch"), *torch_error = text_at(frame, "torch_error");
    if (worker->info.state != GG_WORKER_STARTING) return;
    worker->info.torch = keep(worker, GG__TEXT_TORCH, torch);
    worker->info.torch_error = keep(worker, GG__TEXT_TORCH_ERROR, torch_error);
    worker->info.registry_path = keep(worker, GG__TEXT_REGISTRY, text_at(frame, "registry"));
    worker->info.registry_text = keep(worker, GG__TEXT_REGISTRY_TEXT, text_at(frame, "registry_text"));
    json_decref(worker->cuda);
    worker->info.cuda = worker->cuda = json_deep_copy(json_object_get(frame, "cuda"));
    json_decref(worker->sandbox);
    worker->info.sandbox = worker->sandbox = json_deep_copy(json_object_get(frame, "sandbox"));
    if (torch && !worker->said_hello) {
        lose(worker, "the worker sent something else before its hello", "error");
        return;
    }
    if (torch == NULL) {
        lose(worker, torch_error ? torch_error : "the worker has no torch", "error");
        return;
    }
    worker->info.error = keep(worker, GG__TEXT_ERROR, NULL);
    gg_log(GG_LOG_INFO, "worker: torch %s in %s", torch,
           worker->info.interpreter ? worker->info.interpreter : "the interpreter that was found");
    tell_state(worker, GG_WORKER_READY);
    gg__jobs_write(worker);
}

static void on_frame(void *data, json_t *frame) {
    gg_worker *worker = data;
    const char *op = text_at(frame, "op");
    if (op == NULL) return;
    gg_remote_frame(&worker->remote, frame);
    if (strcmp(op, "hello") == 0)
        on_hello(worker, frame);
    else if (strcmp(op, "ready") == 0)
        on_ready(worker, frame);
    else
        gg__jobs_frame(worker, op, frame);
}

static void on_lost(void *data, const char *why, bool never_began) {
    lose(data, why, never_began ? "error" : NULL);
}

static void on_process_closed(void *data) {
    gg_worker *worker = data;
    worker->open_processes--;
    gg__worker_maybe_closed(worker);
}

/* ---- start ----------------------------------------------------------------------------------------------------------------- */

static void start_process(gg_worker *worker) {
    gg_error err = {0};
    worker->waiting_to_start = false;
    worker->given_up = NULL;
    worker->said_hello = false;
    worker->starts_in_a_row++;
    gg_worker_process_options options = {.what = worker->what,
                                         .linger_ms = worker->limits.linger_ms,
                                         .data = worker,
                                         .on_frame = on_frame,
                                         .on_lost = on_lost,
                                         .on_closed = on_process_closed};
    worker->process = gg__worker_spawn(worker, &options, &err);
    if (worker->process == NULL) {
        lose(worker, err.message, "error");
        return;
    }
    uv_timer_start(&worker->timer, on_deadline, worker->limits.hello_ms, 0);
    tell_state(worker, GG_WORKER_STARTING);
}

void gg__worker_wanted(gg_worker *worker) {
    if (worker->process || worker->waiting_to_start || worker->closing) return;
    if (worker->given_up && uv_now(worker->loop) < worker->rest_until) {
        gg__jobs_answer(worker);
    } else if (worker->given_up || worker->starts_in_a_row == 0) {
        start_process(worker);
    } else {
        worker->waiting_to_start = true;
        uint64_t wait_ms = (uint64_t)worker->limits.back_off_ms << (worker->starts_in_a_row - 1);
        uv_timer_start(&worker->timer, on_deadline, wait_ms, 0);
    }
}

/* ---- public ---------------------------------------------------------------------------------------------------------------- */

static uint32_t or_default(uint32_t given, uint32_t otherwise) {
    return given ? given : otherwise;
}

static gg_worker_limits limits_of(const gg_worker_options *options) {
    const gg_worker_limits *given = &options->limits, *d = &default_limits;
    bool far = options->remote && options->remote->command.len;
    uint32_t hello_ms = far ? or_default(options->remote->start_ms, LAUNCHER_MS) : d->hello_ms;
    return (gg_worker_limits){.hello_ms = or_default(given->hello_ms, hello_ms),
                              .ready_ms = or_default(given->ready_ms, d->ready_ms),
                              .silence_ms = or_default(given->silence_ms, d->silence_ms),
                              .cancel_ms = or_default(given->cancel_ms, d->cancel_ms),
                              .linger_ms = or_default(given->linger_ms, d->linger_ms),
                              .back_off_ms = or_default(given->back_off_ms, d->back_off_ms),
                              .rest_ms = or_default(given->rest_ms, d->rest_ms)};
}

gg_worker *gg_worker_new(uv_loop_t *loop, const gg_worker_options *options) {
    gg_worker *worker = gg_calloc(1, sizeof(gg_worker));
    worker->loop = loop;
    worker->limits = limits_of(options);
    if (options->remote && options->remote->command.len) gg_remote_copy(&worker->remote, options->remote);
    snprintf(worker->what, sizeof(worker->what), "the worker");
    if (worker->remote.command.len)
        snprintf(worker->what, sizeof(worker->what), "the launcher %.100s", worker->remote.command.items[0]);
    worker->python = gg_str_dup(gg_str_from(options->python));
    worker->workspace_count = options->workspace_count;
    worker->workspaces = gg_calloc(options->workspace_count + 1, sizeof(char *));
    for (size_t i = 0; i < options->workspace_count; i++)
        worker->workspaces[i] = gg_str_dup(gg_str_from(options->workspaces[i]));
    worker->on_state = options->on_state;
    worker->data = options->data;
    uv_timer_init(loop, &worker->timer);
    uv_timer_init(loop, &worker->answer);
    worker->timer.data = worker->answer.data = worker;
    worker->open_timers = 2;
    return worker;
}

static void on_timer_closed(uv_handle_t *handle) {
    gg_worker *worker = handle->data;
    worker->open_timers--;
    gg__worker_maybe_closed(worker);
}

void gg_worker_close(gg_worker *worker, void (*done)(void *data), void *data) {
    worker->closing = true;
    worker->closed = done;
    worker->closed_data = data;
    let_go(worker);
    gg__jobs_cancel_all(worker);
    uv_close((uv_handle_t *)&worker->timer, on_timer_closed);
    uv_close((uv_handle_t *)&worker->answer, on_timer_closed);
}

const gg_worker_info *gg_worker_get_info(const gg_worker *worker) {
    return &worker->info;
}

void gg_worker_start(gg_worker *worker) {
    if (worker->process || worker->closing) return;
    worker->starts_in_a_row = 0;
    start_process(worker);
}
