/* One process that speaks the worker's protocol: its pipes, its frames, how it ended.  Private to the worker's files; knows no jobs.
 * Loop thread only. */
#ifndef GG_WORKER_PROCESS_H
#define GG_WORKER_PROCESS_H

#include <uv.h>

#include "analysis/gg_analysis.h"

typedef struct gg_worker_process gg_worker_process;

typedef struct gg_worker_process_options {
    const char *what; /* in messages: "the worker"; outlives the callbacks */
    const char *program;
    char *const *args; /* NULL-ended, args[0] too */
    /* False: the protocol's descriptor is 3, and nothing but frames comes.  True: it is stdin and stdout, a launcher may print something before
     * the first frame, and is given time to notice the end of the connection before it is killed. */
    bool stdio;
    uint32_t linger_ms; /* how long the end of the connection may come after the exit, or the exit after it */
    void *data;         /* of the callbacks, none of which is called from within a function of this header */
    void (*on_frame)(void *data, json_t *frame); /* borrowed */
    /* At most once, in plain words, after the last frame it sent: it could not be started, ended, or cannot be understood.
     * gg_worker_process_end is due. */
    void (*on_lost)(void *data, const char *why, bool never_began);
    void (*on_closed)(void *data); /* once, last: it was reaped and nothing is left of it */
} gg_worker_process_options;

/* NULL with err when there are no descriptors or threads to start it with; on_closed follows then too. */
gg_worker_process *gg_worker_process_start(uv_loop_t *loop, const gg_worker_process_options *options, gg_error *err);
/* Takes the bytes of a frame out of `frame`.  A connection that broke shows as on_lost. */
void gg_worker_process_write(gg_worker_process *process, gg_buf *frame);
/* Kills the process and its group.  No callback but on_closed follows. */
void gg_worker_process_end(gg_worker_process *process);
/* The last line it wrote that was no frame, for people; "" for none. */
void gg_worker_process_words(const gg_worker_process *process, char *out, size_t size);

#endif
