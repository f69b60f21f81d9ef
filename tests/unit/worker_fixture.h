/* Drives a gg_worker on a loop of its own against tests/unit/fake_worker.c.  Every wait is bounded, and the teardown proves that the loop
 * is empty, that every job had exactly one `done`, and that no process was left. */
#ifndef WORKER_FIXTURE_H
#define WORKER_FIXTURE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/worker.h"

enum { MAX_JOBS = 16, BOUND_MS = 60000, LONG_MS = 50000, SHORT_MS = 30 };

typedef struct fixture fixture;

typedef struct job {
    fixture *f;
    json_int_t id;
    unsigned dones;
    char files[256];                               /* of the frames of breaks, a blank behind each */
    char ops[64];                                  /* first letters of the frames that came before `done` */
    char status[16];                               /* of its `done` */
    char message[1024];                            /* "" for none */
    void (*then)(fixture *f, struct job *job);     /* called in the callback of `done`; NULL: nothing */
    void (*at_frame)(fixture *f, struct job *job); /* called in the callback of any other frame */
} job;

struct fixture {
    uv_loop_t loop;
    uv_timer_t bound;
    gg_worker *worker;
    gg_worker_limits limits;
    gg_remote remote;
    job jobs[MAX_JOBS];
    size_t job_count;
    bool closed, too_late, in_submit;
    unsigned failures; /* times the state became FAILED */
    char log[64];
    void (*on_failed)(fixture *f);
};

static void on_bound(uv_timer_t *timer) {
    fixture *f = timer->data;
    f->too_late = true;
    uv_stop(&f->loop);
}

static void on_state(void *data, gg_worker *worker) {
    fixture *f = data;
    uv_stop(&f->loop);
    if (gg_worker_get_info(worker)->state != GG_WORKER_FAILED) return;
    f->failures++;
    if (f->on_failed) f->on_failed(f);
}

static void on_closed(void *data) {
    fixture *f = data;
    f->closed = true;
    uv_stop(&f->loop);
}

static void on_frame(void *data, const char *op, const json_t *frame) {
    job *j = data;
    uv_stop(&j->f->loop);
    assert_false(j->f->in_submit);
    assert_int_equal(json_integer_value(json_object_get(frame, "id")), j->id);
    if (strcmp(op, "done") != 0) {
        assert_int_equal(j->dones, 0);
        size_t n = strlen(j->ops);
        if (n + 1 < sizeof(j->ops)) j->ops[n] = op[0];
        const json_t *stack = json_object_get(json_object_get(frame, "break"), "stack");
        const char *file = json_string_value(json_object_get(json_array_get(stack, 0), "file"));
        n = strlen(j->files);
        if (file) snprintf(j->files + n, sizeof(j->files) - n, "%s ", file);
        if (j->at_frame) j->at_frame(j->f, j);
        return;
    }
    j->dones++;
    const char *message = json_string_value(json_object_get(frame, "message"));
    snprintf(j->status, sizeof(j->status), "%s", json_string_value(json_object_get(frame, "status")));
    snprintf(j->message, sizeof(j->message), "%s", message ? message : "");
    if (j->then) j->then(j->f, j);
}

static job *submit_file(fixture *f, const char *file, uint32_t deadline_ms) {
    assert_true(f->job_count < MAX_JOBS);
    job *j = &f->jobs[f->job_count++];
    gg_capture_request request = {.file = gg_str_from(file), .deadline_ms = deadline_ms};
    j->f = f;
    f->in_submit = true;
    j->id = gg_worker_submit(f->worker, gg_capture_request_encode(&request), on_frame, j);
    f->in_submit = false;
    return j;
}

static job *submit(fixture *f) {
    return submit_file(f, "/w/net.py", 1000);
}

/* What the fakes wrote; the caller frees. */
static char *read_log(const fixture *f) {
    gg_text *text = NULL;
    char *copy = NULL;
    if (gg_text_read(&text, f->log, NULL) == 0) copy = gg_str_dup(gg_text_bytes(text));
    gg_text_unref(&text);
    return copy ? copy : gg_str_dup(GG_STR(""));
}

static unsigned count_in_log(const fixture *f, const char *word) {
    char *log = read_log(f);
    unsigned n = 0;
    for (const char *at = log; (at = strstr(at, word)) != NULL; at++) n++;
    gg_free(log);
    return n;
}

/* Runs the loop until the expression is true, which is looked at after each callback of the worker. */
#define RUN_UNTIL(f, condition)                                                         \
    do {                                                                                \
        while (!(condition) && !(f)->too_late) uv_run(&(f)->loop, UV_RUN_DEFAULT);      \
        if (!(condition)) fail_msg("not within %d s: %s", BOUND_MS / 1000, #condition); \
    } while (0)

static bool all_done(const fixture *f) {
    for (size_t i = 0; i < f->job_count; i++)
        if (f->jobs[i].dones == 0) return false;
    return true;
}

static void close_worker(fixture *f) {
    if (f->worker) gg_worker_close(f->worker, on_closed, f);
    f->worker = NULL;
}

/* The worker of a test; GRAPHGLUE_FAKE says what its process does.  Limits that are 0 never pass. */
static void begin(fixture *f, const char *script) {
    gg_worker_limits *l = &f->limits;
    uint32_t *all[] = {&l->hello_ms, &l->ready_ms, &l->silence_ms, &l->cancel_ms, &l->linger_ms, &l->rest_ms};
    for (size_t i = 0; i < GG_COUNT(all); i++)
        if (*all[i] == 0) *all[i] = LONG_MS;
    if (l->back_off_ms == 0) l->back_off_ms = 1;
    setenv("GRAPHGLUE_FAKE", script, 1);
    const char *folders[] = {"/w"};
    gg_worker_options options = {.python = "/usr/bin/python3",
                                 .workspaces = folders,
                                 .workspace_count = 1,
                                 .on_state = on_state,
                                 .data = f,
                                 .remote = &f->remote,
                                 .limits = *l};
    f->worker = gg_worker_new(&f->loop, &options);
}

static int setup(void **state) {
    fixture *f = gg_calloc(1, sizeof(fixture));
    snprintf(f->log, sizeof(f->log), "/tmp/graphglue-fake-XXXXXX");
    int fd = mkstemp(f->log);
    if (fd < 0) return -1;
    close(fd);
    setenv("GRAPHGLUE_FAKE_LOG", f->log, 1);
    setenv("GRAPHGLUE_WORKER", GG_FAKE_WORKER, 1);
    signal(SIGPIPE, SIG_IGN);
    gg_log_set_level(GG_LOG_ERROR);
    uv_loop_init(&f->loop);
    uv_timer_init(&f->loop, &f->bound);
    f->bound.data = f;
    uv_timer_start(&f->bound, on_bound, BOUND_MS, 0);
    *state = f;
    return 0;
}

/* The fakes must have been reaped by the worker; what they left behind became our child (a subreaper) and must end. */
static void assert_no_process_left(const fixture *f) {
    char *log = read_log(f);
    for (const char *at = log; (at = strstr(at, "start ")) != NULL; at++)
        if (kill((pid_t)strtol(at + 6, NULL, 10), 0) == 0) fail_msg("a worker was not reaped: %s", log);
    gg_free(log);
    for (int i = 0; waitpid(-1, NULL, WNOHANG) >= 0; i++) {
        if (i > 5000) fail_msg("a process of the worker's was left behind");
        usleep(1000);
    }
}

static int teardown(void **state) {
    fixture *f = *state;
    bool closing = f->worker != NULL;
    close_worker(f);
    if (closing) RUN_UNTIL(f, f->closed);
    bool late = f->too_late;
    uv_close((uv_handle_t *)&f->bound, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_false(late);
    for (size_t i = 0; i < f->job_count; i++)
        if (f->jobs[i].id) assert_int_equal(f->jobs[i].dones, 1);
    assert_no_process_left(f);
    unlink(f->log);
    gg_remote_clear(&f->remote);
    gg_free(f);
    return 0;
}

static int be_subreaper(void **state) {
    (void)state;
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

#define WORKER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
