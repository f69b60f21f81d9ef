/* The parts the kernel offers to confine a process, each on its own; graphglue_worker/sandbox.py puts them together.
 * docs/sandbox.md says what they guarantee.  Linux only: elsewhere the Python functions raise OSError, and nothing is confined.
 *
 *   landlock_abi() -> int                       0 where the kernel has none
 *   restrict_files(read, write)                 Landlock: only these paths, and what lies below them, can be opened or changed
 *   scope_signals()                             Landlock 6: no signal to a process outside
 *   drop_privileges(real_uid)                   no capability, none to be gained by a program; processes are counted for real_uid
 *   filter_calls(signals)                       seccomp: only the system calls that Python and torch need; `signals`: kill may be called
 *   close_others(keep)                          close every descriptor but these
 *
 * All are for good, and inherited by every process started later.  Threads: call them with one thread. */
#ifndef GRAPHGLUE_SANDBOX_H
#define GRAPHGLUE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* Makes all mounts of this mount namespace read-only.  0, or -1 with errno. */
int gg__sandbox_read_only_mounts(void);

/* Closes every descriptor but `keep`; 0, 1 and 2 too when they are not in it. */
void gg__sandbox_close_others(const int *keep, size_t count);

/* Gives up every capability, also for programs executed later.  0, or -1 with errno. */
int gg__sandbox_drop_capabilities(void);

/* Whether any capability is effective. */
bool gg__sandbox_has_capabilities(void);

/* Installs the filter of sandbox_filter.c.  0, or -1 with errno. */
int gg__sandbox_filter(bool signals);

#endif
