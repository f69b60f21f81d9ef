/* Drives workers from a command: one loop, N workers, each file to the next free one, results told in order.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cli/cli.h"

enum { MAX_WORKERS = 64 };

typedef struct lane {
    gg_cli_run *run;
    gg_worker *worker;
    gg_cli_file *file; /* being captured */
} lane;

struct gg_cli_run {
    uv_loop_t loop;
    const gg_cli_args *args;
    gg_python_choice python;
    lane lanes[MAX_WORKERS];
    unsigned lane_count;
    gg_registry *registry;
    bool on_terminal, line_shown;
    gg_cli_file *files;
    size_t file_count, next, told;
    void (*on_done)(void *data, gg_cli_file *file);
    void *data;
    json_t *job_done, *job_values;
    const char *job_op, *job_key;
};

static void on_state(void *data, gg_worker *worker) {
    lane *l = data;
    const gg_worker_info *info = gg_worker_get_info(worker);
    if (info->state == GG_WORKER_STARTING && l == &l->run->lanes[0])
        gg_cli_progress(l->run, "starting torch (%s)", l->run->python.path);
}

int gg_cli_run_new(gg_cli_run **out, const gg_cli_args *args, gg_error *err) {
    char folder[PATH_MAX];
    gg_python_choice python;
    if (getcwd(folder, sizeof(folder)) == NULL) return gg_fail(err, GG_EIO, "the current folder cannot be read");
    int error = gg_python_choose(&python, args->python, folder, err);
    if (error) return error;
    gg_cli_run *run = gg_calloc(1, sizeof(gg_cli_run));
    run->args = args;
    run->python = python;
    const char *terminal = getenv("TERM");
    run->on_terminal = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
    uv_loop_init(&run->loop);
    run->lane_count = args->jobs ? args->jobs : 1;
    const char *workspaces[] = {folder};
    for (unsigned i = 0; i < run->lane_count; i++) {
        gg_worker_options options = {run->python.path, workspaces, 1, on_state, &run->lanes[i]};
        run->lanes[i].run = run;
        run->lanes[i].worker = gg_worker_new(&run->loop, &options);
    }
    *out = run;
    return 0;
}

void gg_cli_run_free(gg_cli_run *run) {
    if (run == NULL) return;
    for (unsigned i = 0; i < run->lane_count; i++) gg_worker_close(run->lanes[i].worker, NULL, NULL);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&run->loop) != 0) gg_log(GG_LOG_ERROR, "the loop did not close empty");
    gg_registry_free(run->registry);
    gg_free(run);
}

const gg_worker_info *gg_cli_run_info(gg_cli_run *run) {
    return gg_worker_get_info(run->lanes[0].worker);
}

const gg_python_choice *gg_cli_run_python(const gg_cli_run *run) {
    return &run->python;
}

const gg_registry *gg_cli_run_registry(gg_cli_run *run) {
    for (unsigned i = 0; i < run->lane_count && run->registry == NULL; i++) {
        const char *path = gg_worker_get_info(run->lanes[i].worker)->registry_path;
        gg_error err = {0};
        if (path && gg_registry_load(&run->registry, path, &err) != 0) gg_log(GG_LOG_WARNING, "%s", err.message);
    }
    return run->registry;
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

static void feed(lane *l);

static void on_frame(void *data, const char *op, const json_t *frame) {
    lane *l = data;
    gg_cli_run *run = l->run;
    if (strcmp(op, "entry") == 0) {
        json_array_append(l->file->entries, json_object_get(frame, "entry"));
    } else if (strcmp(op, "done") == 0) {
        l->file->error = gg_cli_failure(frame);
        l->file->done = true;
        l->file = NULL;
        while (run->told < run->file_count && run->files[run->told].done) {
            gg_cli_progress(run, "%s", "");
            run->on_done(run->data, &run->files[run->told++]);
        }
        feed(l);
    }
}

static void feed(lane *l) {
    gg_cli_run *run = l->run;
    while (run->next < run->file_count && run->files[run->next].done) run->next++;
    if (run->next >= run->file_count) {
        if (run->told >= run->file_count) uv_stop(&run->loop);
        return;
    }
    size_t index = run->next++;
    l->file = &run->files[index];
    gg_overlay_file overlay = {gg_str_from(l->file->absolute), gg_text_bytes(l->file->text)};
    bool from_stdin = run->args->stdin_filename != NULL;
    gg_capture_request request = {.file = overlay.file,
                                  .overlay = &overlay,
                                  .overlay_count = from_stdin ? 1 : 0,
                                  .train = run->args->train,
                                  .deadline_ms = run->args->timeout_ms};
    gg_cli_progress(run, "capturing %s (%zu of %zu)", l->file->path, index + 1, run->file_count);
    gg_worker_submit(l->worker, gg_capture_request_encode(&request), on_frame, l);
}

void gg_cli_capture_all(gg_cli_run *run, gg_cli_file *files, size_t count,
                        void (*on_done)(void *data, gg_cli_file *file), void *data) {
    run->files = files;
    run->file_count = count;
    run->next = run->told = 0;
    run->on_done = on_done;
    run->data = data;
    while (run->told < count && files[run->told].done) on_done(data, &files[run->told++]);
    bool any = false;
    for (size_t i = 0; i < count; i++) any = any || !files[i].done;
    if (!any) return;
    for (unsigned i = 0; i < run->lane_count; i++) feed(&run->lanes[i]);
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

void gg_cli_file_clear(gg_cli_file *file) {
    gg_free(file->path);
    gg_free(file->absolute);
    gg_free(file->error);
    gg_text_unref(&file->text);
    json_decref(file->entries);
}
