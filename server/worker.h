/* The worker's process, seen from the loop: spawn, frames, deadlines, restart.  Private to server/; used by the LSP session
 * and by the command line alike.  Loop thread only. */
#ifndef GG_WORKER_H
#define GG_WORKER_H

#include <uv.h>

#include "analysis/gg_analysis.h"

typedef struct gg_worker gg_worker;

typedef enum gg_worker_state {
    GG_WORKER_OFF,      /* not started, or given up */
    GG_WORKER_STARTING, /* spawned; hello or ready not yet seen */
    GG_WORKER_READY,
    GG_WORKER_FAILED /* exited; the reason is in gg_worker_info.error */
} gg_worker_state;

typedef struct gg_worker_info {
    gg_worker_state state;
    const char *python_version, *interpreter, *mode, *torch, *torch_error, *registry_path; /* NULL while unknown */
    const char *error;  /* plain words, NULL when none */
    const json_t *cuda; /* borrowed; NULL while unknown */
} gg_worker_info;

typedef struct gg_worker_options {
    const char *python;            /* absolute path of the interpreter */
    const char *const *workspaces; /* absolute folders */
    size_t workspace_count;
    void (*on_state)(void *data, gg_worker *worker); /* state or info changed; may be NULL */
    void *data;
} gg_worker_options;

/* Spawns at the first job.  Options are copied. */
gg_worker *gg_worker_new(uv_loop_t *loop, const gg_worker_options *options);
/* Kills the process group, answers every job with `canceled`, then calls done (may be NULL) when all handles are closed. */
void gg_worker_close(gg_worker *worker, void (*done)(void *data), void *data);
const gg_worker_info *gg_worker_get_info(const gg_worker *worker);
void gg_worker_start(gg_worker *worker); /* spawn now, so that torch is warm when it is needed */

/* A job: one capture or verify.  on_frame is called for each frame of it, last with op `done` (also when the worker died:
 * then a `done` with status `crashed` is made up), exactly once, always asynchronously (never from gg_worker_submit). */
typedef void (*gg_worker_on_frame)(void *data, const char *op, const json_t *frame);
/* Takes `request` (from gg_capture_request_encode or gg_verify_request_encode; `id` is overwritten).  Returns the job id. */
json_int_t gg_worker_submit(gg_worker *worker, json_t *request_take, gg_worker_on_frame on_frame, void *data);
void gg_worker_cancel(gg_worker *worker, json_int_t id); /* its `done` follows */

#endif
