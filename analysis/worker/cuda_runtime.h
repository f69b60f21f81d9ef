/* The CUDA runtime, opened when it is first asked for: devices, their memory, and the time that work on them takes.  No Python here.
 *
 * Without a runtime library, a driver or a device nothing fails: there is no device then, and words say why.
 * A function returns NULL, or what went wrong in plain words, static or the runtime's own.  None of them can be interrupted where the driver
 * itself hangs: call them in a process that somebody else ends at its deadline.
 * No call changes the current device of the thread.  Never call any in a process that forks others: CUDA does not survive a fork.
 * One watch and one timer at a time; one thread at a time. */
#ifndef GRAPHGLUE_CUDA_RUNTIME_H
#define GRAPHGLUE_CUDA_RUNTIME_H

#include <stddef.h>

enum { GG_CUDA_MAX_DEVICES = 64, GG_CUDA_NAME_BYTES = 256 };

typedef struct gg_cuda_memory {
    size_t free_bytes, total_bytes; /* of the whole device, whoever uses it */
} gg_cuda_memory;

typedef struct gg_cuda_device {
    char name[GG_CUDA_NAME_BYTES];
    size_t total_bytes;
    const char *error; /* why nothing is known of it; NULL when it is */
} gg_cuda_device;

typedef struct gg_cuda_devices {
    int runtime;       /* 12080 for 12.8; 0 without a runtime */
    const char *error; /* why there is no device; NULL when there is one */
    int count;         /* those beyond GG_CUDA_MAX_DEVICES are left out */
    gg_cuda_device items[GG_CUDA_MAX_DEVICES];
} gg_cuda_devices;

/* Makes no context on a device, which would take some hundred MiB of it. */
void gg_cuda_list(gg_cuda_devices *out);

/* Makes a context on the device, where this process has none yet. */
const char *gg_cuda_memory_of(int device, gg_cuda_memory *out);

/* Looks at a device's free memory every `interval_us`, on a thread of its own, until the watch is ended. */
const char *gg_cuda_watch(int device, unsigned interval_us);
/* Ends the watch; `out` has the least that was free.  Waits `timeout_ms` at most: a watch that hangs in the driver is left behind, and no
 * other begins in this process. */
const char *gg_cuda_watch_end(int timeout_ms, gg_cuda_memory *out);

/* Marks the present point of a stream (a cudaStream_t of the current device; NULL is the default stream). */
const char *gg_cuda_timer(void *stream);
/* Marks the end and waits until the device gets there, `timeout_ms` at most. */
const char *gg_cuda_timer_end(int timeout_ms, double *out_ms);

#endif
