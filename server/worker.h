/* The worker's process, seen from the loop: spawn, frames, deadlines, restart.  Private to server/; used by the LSP session
 * and by the command line alike.  Loop thread only. */
#ifndef GG_WORKER_H
#define GG_WORKER_H

#include <uv.h>

#include "analysis/gg_analysis.h"
#include "server/remote.h"

typedef struct gg_worker gg_worker;

typedef enum gg_worker_state {
    GG_WORKER_OFF,      /* not started */
    GG_WORKER_STARTING, /* spawned; hello or ready not yet seen */
    GG_WORKER_READY,
    GG_WORKER_FAILED /* ended, or of no use; the reason is in gg_worker_info.error */
} gg_worker_state;

typedef struct gg_worker_info {
    gg_worker_state state;
    const char *python_version, *interpreter, *mode, *torch, *torch_error, *registry_path; /* NULL while unknown */
    const char *registry_text; /* of a worker elsewhere, whose registry_path is no path here */
    const char *error;         /* plain words, NULL when none */
    const json_t *cuda;        /* borrowed; NULL while unknown */
    const json_t *sandbox;     /* what the machine can confine model-written code by; borrowed; NULL while unknown */
} gg_worker_info;

/* How long is waited for what, in milliseconds; 0 takes the default. */
typedef struct gg_worker_limits {
    uint32_t hello_ms;    /* from the spawn to `hello`: 20 s; for a launcher what its settings say */
    uint32_t ready_ms;    /* from there to `ready`: 120 s */
    uint32_t silence_ms;  /* of a job, beyond twice its own deadline: 30 s */
    uint32_t cancel_ms;   /* from a cancel to the job's `done`: 10 s */
    uint32_t linger_ms;   /* between the process's exit and the end of what it wrote, whichever is first: 1 s */
    uint32_t back_off_ms; /* before the second start in a row; doubles with each: 500 ms */
    uint32_t rest_ms;     /* once given up, before a job may start it again: 30 s */
} gg_worker_limits;

typedef struct gg_worker_options {
    const char *python;            /* absolute path of the interpreter; with a launcher, what it is called there */
    const char *const *workspaces; /* absolute folders */
    size_t workspace_count;
    void (*on_state)(void *data, gg_worker *worker); /* state or info changed; may be NULL */
    void *data;
    const gg_remote *remote; /* NULL or without a command: the worker runs here */
    gg_worker_limits limits;
} gg_worker_options;

/* Spawns at the first job.  Options are copied. */
gg_worker *gg_worker_new(uv_loop_t *loop, const gg_worker_options *options);
/* Kills the process group, answers every job with `canceled` (from within), then calls done (may be NULL) when the process was reaped and
 * all handles are closed. */
void gg_worker_close(gg_worker *worker, void (*done)(void *data), void *data);
const gg_worker_info *gg_worker_get_info(const gg_worker *worker);
/* Spawn now, so that torch is warm when it is needed; also one that was given up, which a job would not start before its rest is over. */
void gg_worker_start(gg_worker *worker);

/* A job: one capture or verify.  on_frame is called for each frame of it, last with op `done`, exactly once and never from
 * gg_worker_submit.  A `done` is made up where the worker gives none: status `crashed` when it died while the job ran or could not be
 * kept running, `error` when it cannot run anything or the request is over the limit of a frame, `canceled`.  Its key `given_up` is true when
 * the worker, not the job, is at fault: nothing was begun. */
typedef void (*gg_worker_on_frame)(void *data, const char *op, const json_t *frame);
/* Takes `request` (from gg_capture_request_encode or gg_verify_request_encode; `id` is overwritten).  Returns the job id, or 0 while the
 * worker is being closed: then nothing is called. */
json_int_t gg_worker_submit(gg_worker *worker, json_t *request_take, gg_worker_on_frame on_frame, void *data);
void gg_worker_cancel(gg_worker *worker, json_int_t id); /* its `done` follows */

#endif
