/* One capture: answered from the stored results when nothing it depends on has changed, else run by the worker and then stored.
 * Loop thread only; the files are looked at on libuv's threads. */
#ifndef GG_CAPTURE_JOB_H
#define GG_CAPTURE_JOB_H

#include "server/worker.h"

typedef struct gg_capture_job gg_capture_job;

typedef struct gg_capture_job_options {
    uv_loop_t *loop;
    const char *python; /* the interpreter's path */
    const char *store;  /* folder whose .graphglue/ holds stored results; NULL: store nothing */
    bool fresh;         /* run whatever is stored */
    /* Asked when the worker is needed, which may be a turn later or never; NULL answers the job with `crashed` and *why (static or of `data`). */
    gg_worker *(*worker)(void *data, const char **why);
    gg_worker_on_frame on_frame; /* as for gg_worker_submit; a stored result begins with a frame `stored` */
    void *data;
} gg_capture_job_options;

/* `stored` frame: {"torch", "python", "registry"} of the worker that captured.  The job frees itself after `done`. */
gg_capture_job *gg_capture_job_start(const gg_capture_job_options *options, const gg_capture_request *request);
void gg_capture_job_cancel(gg_capture_job *job); /* its `done` follows */

/* Where in the captured text a `done` frame says that it failed; false when it does not say so.  Any thread. */
bool gg_capture_place(const json_t *done, const gg_text *text, gg_span *out);

#endif
