/* What the two files of warm_worker share. */
#ifndef WARM_WORKER_H
#define WARM_WORKER_H

#include <stddef.h>

typedef struct blob {
    char *bytes;
    size_t length;
} blob;

/* All that a worker's start may depend on, as lines: the interpreter `python`, the environment but for what may differ, limits, privileges,
 * namespaces.  The caller frees the bytes.  NULL bytes when there is no memory. */
blob gg_warm_describe(const char *python);

#endif
