/* A child process, started and waited for by a thread of its own: on a busy machine a new process may take longer to begin than the loop may
 * stand still, and uv_spawn() waits for that.  It leads a session and a process group, all of which ends when it does.  Loop thread only. */
#ifndef GG_CHILD_H
#define GG_CHILD_H

#include <uv.h>

#include "base/gg_base.h"

typedef struct gg_child gg_child;

enum { GG_CHILD_FDS = 4 };

/* How it ended.  error: 0, or why it never began, negative as libuv's are; then the rest means nothing. */
typedef struct gg_child_end {
    int error;
    int exit_status;
    int exit_signal; /* 0: it ended by itself */
} gg_child_end;

typedef struct gg_child_options {
    const char *program; /* looked for in PATH; copied */
    char *const *args;   /* NULL-ended, args[0] too; copied */
    /* What the child has as descriptor i; -1: the null device.  Not closed by us, and needed only until gg_child_start returns. */
    int fds[GG_CHILD_FDS];
    int fd_count;
    void *data;
    void (*on_end)(void *data, const gg_child_end *end); /* once: it never began, or was reaped */
    void (*on_closed)(void *data);                       /* once, last */
} gg_child_options;

/* No callback comes from within.  NULL with err, and no callback at all, when there are no descriptors or threads to be had. */
gg_child *gg_child_start(uv_loop_t *loop, const gg_child_options *options, gg_error *err);
/* Kills it and its group, also where it has not begun yet.  on_end follows as ever. */
void gg_child_kill(gg_child *child);
/* Waits no longer for one that does not end: on_closed follows, on_end does not unless it was under way. */
void gg_child_abandon(gg_child *child);

#endif
