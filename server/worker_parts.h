/* What worker.c (the process's life), worker_start.c and worker_jobs.c share.  Private to these.  Loop thread only. */
#ifndef GG_WORKER_PARTS_H
#define GG_WORKER_PARTS_H

#include "server/worker.h"
#include "server/worker_process.h"

typedef enum gg__job_state {
    GG__JOB_WAITING,
    GG__JOB_WRITTEN, /* sent; whether it was begun is not known */
    GG__JOB_STARTED
} gg__job_state;

typedef struct gg__job {
    json_int_t id;
    gg__job_state state;
    gg_buf request; /* the frame; kept until the job was begun, for another process */
    char *refusal;  /* why it cannot be sent; NULL: it can */
    bool reading;   /* what was recorded for its file; it is sent afterwards */
    unsigned sent;
    uint32_t deadline_ms;
    bool canceled;
    gg_worker_on_frame on_frame;
    void *data;
} gg__job;

enum {
    GG__TEXT_VERSION,
    GG__TEXT_INTERPRETER,
    GG__TEXT_MODE,
    GG__TEXT_TORCH,
    GG__TEXT_TORCH_ERROR,
    GG__TEXT_REGISTRY,
    GG__TEXT_REGISTRY_TEXT,
    GG__TEXT_ERROR,
    GG__TEXT_COUNT
};

/* Invariants: at most one job is not WAITING, and it is the first.  Jobs are WRITTEN or STARTED only while there is a process.
 * `timer` is the deadline of what the process owes, or the back-off before it is started. */
struct gg_worker {
    uv_loop_t *loop;
    char *python;
    char **workspaces;
    size_t workspace_count;
    gg_remote remote; /* all zero: the worker runs here */
    char what[128];   /* "the worker", "the launcher ssh" */
    gg_worker_limits limits;
    void (*on_state)(void *data, gg_worker *worker);
    void *data;
    gg_worker_info info;
    char *texts[GG__TEXT_COUNT]; /* owners of info's strings */
    json_t *cuda, *sandbox;
    gg_worker_process *process;
    bool said_hello;
    GG_LIST(gg__job) jobs;
    json_int_t next_id;
    uv_timer_t timer;
    uv_timer_t answer; /* answers jobs that will not run, from a later turn */
    bool closing, waiting_to_start;
    const char *given_up;     /* the status that jobs are answered with meanwhile; NULL: they may run */
    uint64_t rest_until;      /* in uv_now's milliseconds: when a job may start a process that was given up */
    unsigned starts_in_a_row; /* since a job was done */
    unsigned open_timers, open_processes, open_readings;
    void (*closed)(void *data);
    void *closed_data;
};

/* ---- worker.c */
void gg__worker_maybe_closed(gg_worker *worker); /* frees it when it is being closed and nothing is left open */
void gg__worker_wanted(
    gg_worker *worker); /* a job waits and nothing runs: start, start later, or say that it is given up */
void gg__worker_watch(gg_worker *worker); /* what the first job owes changed: its deadline begins anew */
/* ---- worker_start.c: counts the process as open; NULL with err */
gg_worker_process *gg__worker_spawn(gg_worker *worker, gg_worker_process_options *options, gg_error *err);
/* ---- worker_jobs.c */
void gg__jobs_write(gg_worker *worker);  /* the next one, when the process is free */
void gg__jobs_answer(gg_worker *worker); /* soon, from a turn of their own, those that will not run */
void gg__jobs_on_answer(uv_timer_t *timer);
void gg__jobs_frame(gg_worker *worker, const char *op, const json_t *frame);
void gg__jobs_process_gone(gg_worker *worker, const char *why); /* the one that ran is lost; the others are not */
void gg__jobs_cancel_all(gg_worker *worker);

#endif
