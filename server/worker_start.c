/* Starts the worker's process: graphglue-worker beside this program, or a launcher that runs it elsewhere (remote.h).  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/worker_parts.h"

static bool find_program(char *out, size_t size) {
    const char *override = getenv("GRAPHGLUE_WORKER");
    if (override && *override) {
        snprintf(out, size, "%s", override);
        return true;
    }
    char self[PATH_MAX];
    size_t length = sizeof(self);
    if (uv_exepath(self, &length) != 0) return false;
    char *slash = strrchr(self, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    static const char *const places[] = {"", "/../libexec"};
    for (size_t i = 0; i < GG_COUNT(places); i++) {
        snprintf(out, size, "%s%s/graphglue-worker", self, places[i]);
        if (access(out, X_OK) == 0) return true;
    }
    return false;
}

static gg_worker_process *spawn_here(gg_worker *worker, gg_worker_process_options *options, gg_error *err) {
    char program[PATH_MAX + 64];
    if (!find_program(program, sizeof(program))) {
        gg_fail(err, GG_ENOTFOUND,
                "graphglue-worker was not found beside graphglue-lsp: reinstall, or set GRAPHGLUE_WORKER");
        return NULL;
    }
    char **args = gg_calloc(2 * worker->workspace_count + 6, sizeof(char *));
    size_t count = 0;
    args[count++] = program;
    args[count++] = (char *)"--python";
    args[count++] = worker->python;
    args[count++] = (char *)"--fd";
    args[count++] = (char *)"3";
    for (size_t i = 0; i < worker->workspace_count; i++) {
        args[count++] = (char *)"--workspace";
        args[count++] = worker->workspaces[i];
    }
    options->program = program;
    options->args = args;
    worker->open_processes++;
    gg_worker_process *process = gg_worker_process_start(worker->loop, options, err);
    gg_free(args);
    return process;
}

static void put_word(gg_buf *out, const char *word) {
    gg_buf_append(out, (gg_str){word, strlen(word) + 1});
}

/* The options travel in the first frame, each ended by a NUL: ssh would have them parsed by a shell, docker exec would not. */
static void write_options(gg_worker *worker, gg_worker_process *process) {
    gg_buf body, frame;
    gg_buf_init(&body, GG_MAX_WORKER_FRAME_BYTES);
    gg_buf_init(&frame, GG_MAX_WORKER_FRAME_BYTES + 4);
    put_word(&body, "--python");
    put_word(&body, worker->python);
    for (size_t i = 0; i < worker->workspace_count; i++) {
        char *there = gg_remote_path_there(&worker->remote, gg_str_from(worker->workspaces[i]));
        if (there) {
            put_word(&body, "--workspace");
            put_word(&body, there);
        }
        gg_free(there);
    }
    const char head[4] = {(char)(body.len >> 24), (char)(body.len >> 16), (char)(body.len >> 8), (char)body.len};
    gg_buf_append(&frame, (gg_str){head, sizeof(head)});
    gg_buf_append(&frame, gg_buf_str(&body));
    gg_worker_process_write(process, &frame);
    gg_buf_clear(&body);
}

static gg_worker_process *spawn_there(gg_worker *worker, gg_worker_process_options *options, gg_error *err) {
    const gg_remote *remote = &worker->remote;
    char **args = gg_calloc(remote->command.len + 3, sizeof(char *));
    memcpy(args, remote->command.items, remote->command.len * sizeof(char *));
    args[remote->command.len] = remote->program ? remote->program : (char *)"graphglue-worker";
    args[remote->command.len + 1] = (char *)"--stdio";
    options->program = args[0];
    options->args = args;
    options->stdio = true;
    worker->open_processes++;
    gg_worker_process *process = gg_worker_process_start(worker->loop, options, err);
    gg_free(args);
    if (process) write_options(worker, process);
    return process;
}

gg_worker_process *gg__worker_spawn(gg_worker *worker, gg_worker_process_options *options, gg_error *err) {
    return worker->remote.command.len ? spawn_there(worker, options, err) : spawn_here(worker, options, err);
}
