/* Drives workers from a command: one loop, N workers, each file to the next free one, results told in order.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/capture_job.h"
#include "server/cli/cli.h"
#include "server/cli/machine.h"
#include "server/registry_source.h"

enum { MAX_WORKERS = 64 };

typedef struct lane {
    gg_cli_run *run;
    gg_worker *worker;
    gg_cli_file *file; /* being captured */
    bool retired;      /* its worker could not be kept running */
} lane;

struct gg_cli_run {
    uv_loop_t loop;
    const gg_cli_args *args;
    gg_python_choice python;
    gg_worker_info info; /* what gg_cli_run_info gave last */
    lane lanes[MAX_WORKERS];
    unsigned lane_count, lanes_used;
    gg_registry_source *registry;
    json_t *stored; /* of the first file that was answered without a worker: its torch, python and registry */
    bool on_terminal, line_shown, waits_for_state;
    gg_cli_file *files;
    size_t file_count, told;
    void (*on_done)(void *data, gg_cli_file *file);
    void *data;
    json_t *job_done, *job_values;
    const char *job_op, *job_key;
};

static bool is_remote(const gg_cli_run *run) {
    return run->args->remote.command.len > 0;
}

static void show_file(const lane *l) {
    gg_cli_progress(l->run, "capturing %s (%zu of %zu)", l->file->path, (size_t)(l->file - l->run->files) + 1,
                    l->run->file_count);
}

static void on_state(void *data, gg_worker *worker) {
    lane *l = data;
    const gg_worker_info *info = gg_worker_get_info(worker);
    gg_cli_run *run = l->run;
    if (is_remote(run) && info->interpreter) /* which one "python3" is there */
        snprintf(run->python.path, sizeof(run->python.path), "%s", info->interpreter);
    if (run->waits_for_state && (info->state == GG_WORKER_READY || info->state == GG_WORKER_FAILED))
        uv_stop(&run->loop);
    if (l != &run->lanes[0]) return;
    if (info->state == GG_WORKER_STARTING)
        gg_cli_progress(run, "starting torch (%s)", run->python.path);
    else if (info->state == GG_WORKER_READY && l->file)
        show_file(l);
}

int gg_cli_run_new(gg_cli_run **out, const gg_cli_args *args, gg_error *err) {
    char folder[PATH_MAX];
    gg_python_choice python;
    if (getcwd(folder, sizeof(folder)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    int error = 0;
    if (args->remote.command.len)
        gg_remote_python(&python, args->python);
    else
        error = gg_python_choose(&python, args->python, folder, err);
    if (error) return error;
    gg_cli_run *run = gg_calloc(1, sizeof(gg_cli_run));
    run->args = args;
    run->python = python;
    const char *terminal = getenv("TERM");
    run->on_terminal = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    uv_loop_init(&run->loop);
    run->lane_count = args->jobs ? args->jobs : MAX_WORKERS; /* each starts with its first file */
    const char *workspaces[] = {folder};
    for (unsigned i = 0; i < run->lane_count; i++) {
        gg_worker_options options = {.python = run->python.path,
                                     .workspaces = workspaces,
                                     .workspace_count = 1,
                                     .on_state = on_state,
                                     .data = &run->lanes[i],
                                     .remote = &args->remote};
        run->lanes[i].run = run;
        run->lanes[i].worker = gg_worker_new(&run->loop, &options);
    }
    *out = run;
    return 0;
}

uv_loop_t *gg_cli_run_loop(gg_cli_run *run) {
    return &run->loop;
}

void gg_cli_run_free(gg_cli_run *run) {
    if (run == NULL) return;
    for (unsigned i = 0; i < run->lane_count; i++) gg_worker_close(run->lanes[i].worker, NULL, NULL);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&run->loop) != 0) gg_log(GG_LOG_ERROR, "the loop did not close empty");
    gg_registry_source_unref(&run->registry);
    json_decref(run->stored);
    gg_free(run);
}

const gg_worker_info *gg_cli_run_info(gg_cli_run *run) {
    run->info = *gg_worker_get_info(run->lanes[0].worker);
    for (unsigned i = 1; i < run->lane_count && run->info.torch == NULL; i++)
        if (gg_worker_get_info(run->lanes[i].worker)->torch) run->info = *gg_worker_get_info(run->lanes[i].worker);
    if (run->info.torch == NULL && run->stored) {
        run->info.torch = json_string_value(json_object_get(run->stored, "torch"));
        run->info.python_version = json_string_value(json_object_get(run->stored, "python"));
        run->info.registry_path = json_string_value(json_object_get(run->stored, "registry"));
    }
    return &run->info;
}

void gg_cli_run_start(gg_cli_run *run) {
    const gg_worker_info *info = gg_worker_get_info(run->lanes[0].worker);
    gg_worker_start(run->lanes[0].worker);
    run->waits_for_state = true;
    if (info->state == GG_WORKER_STARTING) uv_run(&run->loop, UV_RUN_DEFAULT);
    run->waits_for_state = false;
}

const gg_python_choice *gg_cli_run_python(const gg_cli_run *run) {
    return &run->python;
}

const gg_registry *gg_cli_run_registry(gg_cli_run *run) {
    if (run == NULL) return NULL; /* nothing runs: --static */
    if (run->registry) return gg_registry_source_get(run->registry);
    const gg_worker_info *info = gg_cli_run_info(run);
    run->registry = gg_registry_source_new(info->registry_path, info->registry_text);
    return gg_registry_source_get(run->registry);
}

void gg_cli_progress(gg_cli_run *run, const char *format, ...) {
    if (!run->on_terminal) return;
    if (run->line_shown) fputs("\r\033[K", stderr);
    run->line_shown = format[0] != '\0';
    if (run->line_shown) {
        va_list args;
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
    fflush(stderr);
}

char *gg_cli_failure(const json_t *done) {
    const char *status = json_string_value(json_object_get(done, "status"));
    const char *message = json_string_value(json_object_get(done, "message"));
    if (status && strcmp(status, "ok") == 0) return NULL;
    return gg_str_dup(gg_str_from(message ? message : status ? status : "the worker gave no answer"));
}

void gg_cli_locate(gg_cli_file *file, const json_t *done) {
    gg_span span;
    if (!gg_capture_place(done, file->text, &span)) return;
    gg_position at = gg_text_position(file->text, span.start, GG_UTF16);
    file->line = at.line + 1;
    file->column = at.character + 1;
}

static void feed(lane *l);

static void tell_done(gg_cli_run *run) {
    while (run->told < run->file_count && run->files[run->told].done) {
        gg_cli_progress(run, "%s", "");
        run->on_done(run->data, &run->files[run->told++]);
    }
}

/* A worker that cannot be kept running must not use up the files that the others can do.  False for the last one: it says why. */
static bool retire(lane *l) {
    gg_cli_run *run = l->run;
    unsigned others = 0;
    for (unsigned i = 0; i < run->lanes_used; i++) others += &run->lanes[i] != l && !run->lanes[i].retired;
    if (others == 0) return false;
    gg_log(GG_LOG_WARNING, "goes on with %u worker%s: %s", others, others == 1 ? "" : "s",
           gg_worker_get_info(l->worker)->error);
    l->retired = true;
    l->file->taken = false;
    l->file = NULL;
    for (unsigned i = 0; i < run->lanes_used; i++) feed(&run->lanes[i]);
    return true;
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    lane *l = data;
    gg_cli_run *run = l->run;
    if (strcmp(op, "stored") == 0) {
        if (run->stored == NULL) run->stored = json_deep_copy(frame);
    } else if (strcmp(op, "entry") == 0) {
        json_array_append(l->file->entries, json_object_get(frame, "entry"));
    } else if (strcmp(op, "done") == 0) {
        const char *status = json_string_value(json_object_get(frame, "status"));
        if (json_is_true(json_object_get(frame, "given_up")) && retire(l)) return;
        l->file->error = gg_cli_failure(frame);
        gg_cli_locate(l->file, frame);
        l->file->timed_out = status && strcmp(status, "timeout") == 0;
        l->file->done = true;
        l->file = NULL;
        tell_done(l->run);
        feed(l);
        if (l->run->told == l->run->file_count) uv_stop(&l->run->loop);
    }
}

static gg_worker *worker_of(void *data, const char **why) {
    (void)why;
    return ((lane *)data)->worker;
}

static void feed(lane *l) {
    gg_cli_run *run = l->run;
    size_t index = run->told;
    while (index < run->file_count && (run->files[index].done || run->files[index].taken)) index++;
    if (index >= run->file_count || l->file || l->retired) return;
    l->file = &run->files[index];
    l->file->taken = true;
    gg_overlay_file overlay = {gg_str_from(l->file->absolute), gg_text_bytes(l->file->text)};
    bool from_stdin = run->args->stdin_filename != NULL;
    gg_capture_request request = {.file = overlay.file,
                                  .overlay = &overlay,
                                  .overlay_count =
                                      from_stdin || is_remote(run) ? 1 : 0, /* over there may be another text */
                                  .train = run->args->train,
                                  .deadline_ms = l->file->options->timeout_ms};
    show_file(l);
    char root[PATH_MAX];
    gg_capture_job_options options = {
        .loop = &run->loop,
        .python = run->python.path,
        .store = l->file->options->store && !is_remote(run) && gg_cli_project_of(l->file->absolute, root) ? root : NULL,
        .fresh = run->args->fresh,
        .worker = worker_of,
        .on_frame = on_frame,
        .data = l};
    gg_capture_job_start(&options, &request);
}

void gg_cli_capture_all(gg_cli_run *run, gg_cli_file *files, size_t count,
                        void (*on_done)(void *data, gg_cli_file *file), void *data) {
    run->files = files;
    run->file_count = count;
    run->told = 0;
    run->on_done = on_done;
    run->data = data;
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++) wanted += !files[i].done;
    run->lanes_used = run->lane_count;
    if (run->args->jobs == 0 && is_remote(run))
        run->lanes_used = 1; /* what that machine bears is not known */
    else if (run->args->jobs == 0)
        run->lanes_used = gg_machine_workers(gg_machine_cores(), gg_machine_free_bytes(), wanted);
    if (run->lanes_used > run->lane_count) run->lanes_used = run->lane_count;
    tell_done(run);
    if (wanted == 0) return;
    for (unsigned i = 0; i < run->lanes_used; i++) feed(&run->lanes[i]);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    gg_cli_progress(run, "%s", "");
}

static void on_job_frame(void *data, const char *op, const json_t *frame) {
    gg_cli_run *run = data;
    if (run->job_op && strcmp(op, run->job_op) == 0)
        json_array_append(run->job_values, json_object_get(frame, run->job_key));
    if (strcmp(op, "done") != 0) return;
    run->job_done = json_deep_copy(frame);
    uv_stop(&run->loop);
}

json_t *gg_cli_job(gg_cli_run *run, json_t *request_take, const char *op, const char *key, json_t **collected) {
    run->job_op = op;
    run->job_key = key;
    run->job_values = json_array();
    run->job_done = NULL;
    gg_worker_submit(run->lanes[0].worker, request_take, on_job_frame, run);
    while (run->job_done == NULL && uv_run(&run->loop, UV_RUN_DEFAULT)) {}
    *collected = run->job_values;
    return run->job_done;
}

void gg_cli_file_init(gg_cli_file *file, const gg_cli_args *args, const gg_cli_path *path) {
    *file = (gg_cli_file){.options = gg_cli_options_for(args, path->absolute),
                          .path = gg_str_dup(gg_str_from(path->given)),
                          .absolute = gg_str_dup(gg_str_from(path->absolute))};
}

void gg_cli_file_clear(gg_cli_file *file) {
    gg_free(file->path);
    gg_free(file->absolute);
    gg_free(file->error);
    gg_text_unref(&file->text);
    json_decref(file->entries);
}
