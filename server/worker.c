/* The worker's process, seen from the loop.  Loop thread only.
 *
 * DESIGN  One gg_process per spawn; it outlives the gg_worker's interest in it until libuv has closed its handles.  Jobs wait in the worker's
 * list and are written as soon as the worker runs; the worker itself keeps their order.  Whatever happens to the process, each job gets exactly
 * one `done`, always from a later turn of the loop.
 *
 * Deadlines  hello 20 s after the spawn, ready 120 s, a job its own deadline per entry + grace (kept by the worker; here only a silence far
 * beyond it counts as a hang). */
#include "server/worker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HELLO_DEADLINE_MS = 20000,
    READY_DEADLINE_MS = 120000,
    SILENCE_GRACE_MS = 30000,
    MAX_STARTS_IN_A_ROW = 3,
    BACK_OFF_MS = 500,
    MAX_STDERR_LOGGED_BYTES = 64 * 1024
};

typedef struct job {
    json_int_t id;
    json_t *request; /* NULL once written */
    gg_worker_on_frame on_frame;
    void *data;
    uint32_t deadline_ms;
    bool canceled;
} job;

typedef struct process {
    uv_process_t handle;
    uv_pipe_t socket, errors;
    gg_worker *worker; /* NULL once the worker has let go of it */
    gg_buf in;
    char read_buffer[65536];
    size_t stderr_bytes;
    int open_handles;
    int64_t pid;
} process;

struct gg_worker {
    uv_loop_t *loop;
    char *python;
    char **workspaces;
    size_t workspace_count;
    void (*on_state)(void *data, gg_worker *worker);
    void *data;
    gg_worker_info info;
    char *texts[7]; /* owners of info's strings */
    json_t *cuda;
    process *process;
    GG_LIST(job) jobs;
    json_int_t next_id;
    uv_timer_t timer;  /* the deadline of what is awaited, or the back-off */
    uv_timer_t answer; /* answers jobs that will not run, from a later turn */
    bool closing, waiting_to_start, giving_up;
    int starts_in_a_row, open_timers, dying_processes;
    void (*closed)(void *data);
    void *closed_data;
};

enum { TEXT_VERSION, TEXT_INTERPRETER, TEXT_MODE, TEXT_TORCH, TEXT_TORCH_ERROR, TEXT_REGISTRY, TEXT_ERROR };

static void start_process(gg_worker *worker);
static void write_jobs(gg_worker *worker);

static const char *keep(gg_worker *worker, int slot, const char *text) {
    char *copy = text ? gg_str_dup(gg_str_from(text)) : NULL;
    gg_free(worker->texts[slot]);
    return worker->texts[slot] = copy;
}

static void tell_state(gg_worker *worker, gg_worker_state state) {
    worker->info.state = state;
    if (worker->on_state && !worker->closing) worker->on_state(worker->data, worker);
}

static void maybe_closed(gg_worker *worker) {
    if (!worker->closing || worker->open_timers || worker->dying_processes || worker->process) return;
    void (*closed)(void *) = worker->closed;
    void *data = worker->closed_data;
    for (size_t i = 0; i < GG_COUNT(worker->texts); i++) gg_free(worker->texts[i]);
    for (size_t i = 0; i < worker->workspace_count; i++) gg_free(worker->workspaces[i]);
    gg_free(worker->workspaces);
    gg_free(worker->python);
    json_decref(worker->cuda);
    gg_list_clear(&worker->jobs);
    gg_free(worker);
    if (closed) closed(data);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void finish_job(gg_worker *worker, size_t index, const json_t *frame) {
    job done = worker->jobs.items[index];
    gg_list_remove(&worker->jobs, index);
    json_decref(done.request);
    done.on_frame(done.data, "done", frame);
}

static void fail_job(gg_worker *worker, size_t index, const char *status, const char *message) {
    json_t *frame = json_pack("{s:s, s:I, s:s, s:s?, s:s}", "op", "done", "id", worker->jobs.items[index].id, "status",
                              status, "message", message, "output", "");
    finish_job(worker, index, frame);
    json_decref(frame);
}

/* Answers what cannot be done, from a turn of its own: canceled jobs that only waited, and all of them when the worker is given up. */
static void answer_waiting(uv_timer_t *timer) {
    gg_worker *worker = timer->data;
    char *why = gg_str_dup(gg_str_from(worker->info.error));
    bool give_up = worker->giving_up;
    worker->giving_up = false;
    size_t count = worker->jobs.len; /* jobs submitted by a callback come behind these */
    for (size_t i = 0, seen = 0; seen < count; seen++) {
        const job *j = &worker->jobs.items[i];
        if (j->canceled && j->request)
            fail_job(worker, i, "canceled", NULL);
        else if (give_up)
            fail_job(worker, i, "crashed", why);
        else
            i++;
    }
    gg_free(why);
}

static size_t find_job(const gg_worker *worker, json_int_t id) {
    for (size_t i = 0; i < worker->jobs.len; i++)
        if (worker->jobs.items[i].id == id) return i;
    return SIZE_MAX;
}

/* ---- process ------------------------------------------------------------------------------------------------------- */

static void on_process_closed(uv_handle_t *handle) {
    process *p = handle->data;
    if (--p->open_handles > 0) return;
    gg_worker *worker = p->worker;
    gg_buf_clear(&p->in);
    gg_free(p);
    worker->dying_processes--;
    maybe_closed(worker);
}

static void end_process(gg_worker *worker) {
    process *p = worker->process;
    if (p == NULL) return;
    worker->process = NULL;
    worker->dying_processes++;
    if (p->pid > 0) kill((pid_t)-p->pid, SIGKILL);
    uv_handle_t *handles[] = {(uv_handle_t *)&p->socket, (uv_handle_t *)&p->errors, (uv_handle_t *)&p->handle};
    for (size_t i = 0, count = (size_t)p->open_handles; i < count && i < GG_COUNT(handles); i++)
        uv_close(handles[i], on_process_closed);
}

static void on_deadline(uv_timer_t *timer);

static void start_later(gg_worker *worker) {
    worker->waiting_to_start = true;
    uv_timer_start(&worker->timer, on_deadline, (uint64_t)BACK_OFF_MS << worker->starts_in_a_row, 0);
}

/* The process is no use any more: says why, and tries again for jobs that were not begun. */
static void lose_process(gg_worker *worker, const char *why) {
    if (worker->process == NULL) return;
    bool was_ready = worker->info.state == GG_WORKER_READY;
    gg_log(GG_LOG_WARNING, "worker: %s", why);
    end_process(worker);
    uv_timer_stop(&worker->timer);
    worker->info.error = keep(worker, TEXT_ERROR, why);
    if (worker->jobs.len &&
        worker->jobs.items[0].request == NULL) /* the one that ran: it is lost, the others are not */
        fail_job(worker, 0, worker->jobs.items[0].canceled ? "canceled" : "crashed", why);
    tell_state(worker, GG_WORKER_FAILED);
    if (worker->closing || worker->process || worker->jobs.len == 0) return;
    if (was_ready && worker->starts_in_a_row < MAX_STARTS_IN_A_ROW) {
        start_later(worker);
    } else {
        worker->giving_up = true;
        uv_timer_start(&worker->answer, answer_waiting, 0, 0);
    }
}

static void on_deadline(uv_timer_t *timer) {
    gg_worker *worker = timer->data;
    if (worker->waiting_to_start) {
        worker->waiting_to_start = false;
        start_process(worker);
        return;
    }
    if (worker->info.state == GG_WORKER_STARTING)
        lose_process(worker, worker->info.interpreter ? "torch did not finish importing within 120 s"
                                                      : "the worker did not answer within 20 s");
    else
        lose_process(worker, "the worker went silent far beyond its deadline and was ended");
}

static void watch_silence(gg_worker *worker) {
    if (worker->info.state != GG_WORKER_READY) return;
    if (worker->jobs.len == 0)
        uv_timer_stop(&worker->timer);
    else
        uv_timer_start(&worker->timer, on_deadline, (uint64_t)worker->jobs.items[0].deadline_ms * 2 + SILENCE_GRACE_MS,
                       0);
}

static void on_hello(gg_worker *worker, const json_t *frame) {
    worker->info.python_version = keep(worker, TEXT_VERSION, json_string_value(json_object_get(frame, "version")));
    worker->info.interpreter = keep(worker, TEXT_INTERPRETER, json_string_value(json_object_get(frame, "interpreter")));
    worker->info.mode = keep(worker, TEXT_MODE, json_string_value(json_object_get(frame, "mode")));
    uv_timer_start(&worker->timer, on_deadline, READY_DEADLINE_MS, 0);
    tell_state(worker, GG_WORKER_STARTING);
}

static void on_ready(gg_worker *worker, const json_t *frame) {
    worker->info.torch = keep(worker, TEXT_TORCH, json_string_value(json_object_get(frame, "torch")));
    worker->info.torch_error = keep(worker, TEXT_TORCH_ERROR, json_string_value(json_object_get(frame, "torch_error")));
    worker->info.registry_path = keep(worker, TEXT_REGISTRY, json_string_value(json_object_get(frame, "registry")));
    json_decref(worker->cuda);
    worker->info.cuda = worker->cuda = json_deep_copy(json_object_get(frame, "cuda"));
    if (worker->info.torch)
        worker->info.error = keep(worker, TEXT_ERROR, NULL);
    else
        worker->info.error = keep(worker, TEXT_ERROR, worker->info.torch_error);
    tell_state(worker, GG_WORKER_READY);
    write_jobs(worker);
}

static void on_frame(gg_worker *worker, json_t *frame) {
    const char *op = json_string_value(json_object_get(frame, "op"));
    if (op == NULL) return;
    if (strcmp(op, "hello") == 0) {
        on_hello(worker, frame);
        return;
    }
    if (strcmp(op, "ready") == 0) {
        on_ready(worker, frame);
        return;
    }
    size_t index = find_job(worker, json_integer_value(json_object_get(frame, "id")));
    if (index == SIZE_MAX) return; /* of a job that was given up */
    if (strcmp(op, "done") == 0) {
        worker->starts_in_a_row = 0;
        finish_job(worker, index, frame);
        write_jobs(worker);
    } else {
        worker->jobs.items[index].on_frame(worker->jobs.items[index].data, op, frame);
        watch_silence(worker);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    process *p = handle->data;
    (void)suggested;
    *buf = uv_buf_init(p->read_buffer, sizeof(p->read_buffer));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    process *p = stream->data;
    gg_worker *worker = p->worker;
    if (worker->process != p) return;
    if (count < 0) {
        if (count == UV_EOF && p->pid > 0) return; /* its exit follows, with the status */
        /* A launcher that could start no interpreter said why and left; a job written meanwhile breaks the connection. */
        char why[256] = "the connection to the worker broke";
        if (worker->info.torch_error) snprintf(why, sizeof(why), "%.250s", worker->info.torch_error);
        lose_process(worker, why);
        return;
    }
    if (gg_buf_append(&p->in, (gg_str){buf->base, (size_t)count}) != 0) {
        lose_process(worker, "the worker sent a frame over the limit");
        return;
    }
    json_t *frame = NULL;
    gg_error err = {0};
    int got;
    while (worker->process == p && (got = gg_worker_frame_next(&p->in, &frame, &err)) != 0) {
        if (got < 0) {
            lose_process(worker, "the worker sent bytes that are no frame");
            return;
        }
        on_frame(worker, frame);
        json_decref(frame);
    }
}

static void on_errors(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    process *p = stream->data;
    if (count < 0) {
        uv_read_stop(stream);
        return;
    }
    if (p->stderr_bytes < MAX_STDERR_LOGGED_BYTES) gg_log(GG_LOG_INFO, "worker says: %.*s", (int)count, buf->base);
    p->stderr_bytes += (size_t)count;
}

static void on_process_exit(uv_process_t *handle, int64_t status, int signal_number) {
    process *p = handle->data;
    p->pid = 0; /* reaped: its number may be somebody else's now */
    if (p->worker->process != p) return;
    char why[256];
    if (p->worker->info.state == GG_WORKER_READY && p->worker->info.torch == NULL && p->worker->info.torch_error)
        snprintf(why, sizeof(why), "%.250s", p->worker->info.torch_error);
    else if (signal_number)
        snprintf(why, sizeof(why), "the worker was killed by signal %d", signal_number);
    else
        snprintf(why, sizeof(why), "the worker ended by itself (exit code %d)", (int)status);
    lose_process(p->worker, why);
}

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

static int spawn(gg_worker *worker, process *p, char *program) {
    size_t count = 0;
    char **args = gg_calloc(2 * worker->workspace_count + 6, sizeof(char *));
    args[count++] = program;
    args[count++] = (char *)"--python";
    args[count++] = worker->python;
    args[count++] = (char *)"--fd";
    args[count++] = (char *)"3";
    for (size_t i = 0; i < worker->workspace_count; i++) {
        args[count++] = (char *)"--workspace";
        args[count++] = worker->workspaces[i];
    }
    uv_stdio_container_t stdio[4] = {
        {.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[2].data.stream = (uv_stream_t *)&p->errors;
    stdio[3].flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE;
    stdio[3].data.stream = (uv_stream_t *)&p->socket;
    uv_process_options_t options = {.file = program,
                                    .args = args,
                                    .stdio = stdio,
                                    .stdio_count = 4,
                                    .exit_cb = on_process_exit,
                                    .flags = UV_PROCESS_DETACHED};
    int error = uv_spawn(worker->loop, &p->handle, &options);
    gg_free(args);
    return error;
}

static void start_process(gg_worker *worker) {
    if (worker->process || worker->closing) return;
    char program[PATH_MAX + 64];
    process *p = gg_calloc(1, sizeof(process));
    p->worker = worker;
    p->open_handles = 2;
    gg_buf_init(&p->in, GG_MAX_WORKER_FRAME_BYTES + 4096);
    p->handle.data = p->socket.data = p->errors.data = p;
    uv_pipe_init(worker->loop, &p->socket, 0);
    uv_pipe_init(worker->loop, &p->errors, 0);
    worker->process = p;
    worker->starts_in_a_row++;
    worker->waiting_to_start = false;
    char why[PATH_MAX + 256] =
        "graphglue-worker was not found beside graphglue-lsp: reinstall, or set GRAPHGLUE_WORKER";
    int error = UV_ENOENT;
    if (find_program(program, sizeof(program))) {
        error = spawn(worker, p, program);
        p->open_handles = 3; /* uv_spawn initialises its handle also when it fails */
        if (error) snprintf(why, sizeof(why), "graphglue-worker could not be started: %s", uv_strerror(error));
    }
    if (error) {
        lose_process(worker, why);
        return;
    }
    p->pid = p->handle.pid;
    uv_read_start((uv_stream_t *)&p->socket, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&p->errors, on_alloc, on_errors);
    uv_timer_start(&worker->timer, on_deadline, HELLO_DEADLINE_MS, 0);
    tell_state(worker, GG_WORKER_STARTING);
}

/* ---- writing ----------------------------------------------------------------------------------------------------------- */

typedef struct write_request {
    uv_write_t request;
    char *bytes;
} write_request;

static void on_written(uv_write_t *request, int status) {
    (void)status; /* a broken connection shows on the reading side */
    write_request *w = (write_request *)request;
    gg_free(w->bytes);
    gg_free(w);
}

static void write_frame(gg_worker *worker, const json_t *frame) {
    gg_buf out;
    gg_buf_init(&out, GG_MAX_WORKER_FRAME_BYTES + 4);
    gg_error err = {0};
    if (gg_worker_frame_write(&out, frame, &err) != 0) {
        gg_log(GG_LOG_ERROR, "worker: %s", err.message);
        gg_buf_clear(&out);
        return;
    }
    write_request *w = gg_calloc(1, sizeof(write_request));
    uv_buf_t buf = uv_buf_init(out.ptr, (unsigned)out.len);
    w->bytes = gg_buf_take(&out);
    if (uv_write(&w->request, (uv_stream_t *)&worker->process->socket, &buf, 1, on_written) != 0)
        on_written(&w->request, -1);
}

/* A job is written when all before it are done, so that a crash loses only the one that ran. */
static void write_jobs(gg_worker *worker) {
    if (worker->process == NULL || worker->info.state != GG_WORKER_READY) return;
    if (worker->jobs.len && worker->jobs.items[0].request) {
        write_frame(worker, worker->jobs.items[0].request);
        json_decref(worker->jobs.items[0].request);
        worker->jobs.items[0].request = NULL;
    }
    watch_silence(worker);
}

/* ---- public ---------------------------------------------------------------------------------------------------------- */

gg_worker *gg_worker_new(uv_loop_t *loop, const gg_worker_options *options) {
    gg_worker *worker = gg_calloc(1, sizeof(gg_worker));
    worker->loop = loop;
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
    maybe_closed(worker);
}

void gg_worker_close(gg_worker *worker, void (*done)(void *data), void *data) {
    worker->closing = true;
    worker->closed = done;
    worker->closed_data = data;
    while (worker->jobs.len) fail_job(worker, 0, "canceled", NULL);
    end_process(worker);
    uv_close((uv_handle_t *)&worker->timer, on_timer_closed);
    uv_close((uv_handle_t *)&worker->answer, on_timer_closed);
}

const gg_worker_info *gg_worker_get_info(const gg_worker *worker) {
    return &worker->info;
}

void gg_worker_start(gg_worker *worker) {
    if (worker->process == NULL && !worker->waiting_to_start) start_process(worker);
}

json_int_t gg_worker_submit(gg_worker *worker, json_t *request_take, gg_worker_on_frame callback, void *data) {
    job added = {.id = ++worker->next_id, .request = request_take, .on_frame = callback, .data = data};
    json_object_set_new(request_take, "id", json_integer(added.id));
    added.deadline_ms = (uint32_t)json_integer_value(json_object_get(request_take, "deadline_ms"));
    if (added.deadline_ms == 0) added.deadline_ms = 60000;
    gg_list_push(&worker->jobs, added);
    if (worker->process) {
        if (worker->jobs.len == 1) write_jobs(worker);
    } else if (worker->starts_in_a_row >= MAX_STARTS_IN_A_ROW) {
        worker->giving_up = true;
        uv_timer_start(&worker->answer, answer_waiting, 0, 0);
    } else if (worker->starts_in_a_row == 0) {
        start_process(worker);
    } else if (!worker->waiting_to_start) {
        start_later(worker);
    }
    return added.id;
}

void gg_worker_cancel(gg_worker *worker, json_int_t id) {
    size_t index = find_job(worker, id);
    if (index == SIZE_MAX) return;
    worker->jobs.items[index].canceled = true;
    if (worker->jobs.items[index].request == NULL && worker->process) {
        json_t *frame = json_pack("{s:s, s:I}", "op", "cancel", "id", id);
        write_frame(worker, frame);
        json_decref(frame);
    } else {
        uv_timer_start(&worker->answer, answer_waiting, 0, 0);
    }
}
