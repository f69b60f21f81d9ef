/* Results of captures, stored by content, so that an unchanged file is not captured again, also not after a restart.
 *
 * One record per (file, interpreter, mode) under <workspace>/.graphglue/cache/captures/.  It names every file the capture read: those of the
 * workspace by content, a library's top-level file by size and time of change.  It is served while all of them are as they were, unsaved
 * text included, and the identity (interpreter, torch, our own worker) is the same.  What a program takes from elsewhere (the environment, the
 * network, the clock, folders it lists) is not seen.
 *
 * Blocking file I/O; any thread, no state. */
#ifndef GG_RESULT_CACHE_H
#define GG_RESULT_CACHE_H

#include "analysis/gg_analysis.h"

typedef struct gg_cache_key {
    const char *workspace; /* absolute folder */
    const char *identity;  /* from gg_cache_identity */
    const char *file;      /* absolute */
    const char *mode;      /* options that change the result, e.g. "train"; "" */
    const gg_overlay_file *overlay;
    size_t overlay_count;
} gg_cache_key;

/* What must be the same besides the files: our version, the worker's own files (`support`: their folder), the interpreter and where it looks
 * for modules.  The caller frees. */
char *gg_cache_identity(const char *python, const char *support);

/* The stored result (new reference), with what it depends on as `reads`; or NULL. */
json_t *gg_cache_find(const gg_cache_key *key);

/* Stores `result`, which depends on `reads` (the worker's `done.reads`).  `started_ns`: wall clock when the capture began; a file changed since
 * then is not what was captured, and nothing is stored.  Failure is silent: a cache is a convenience (a read-only workspace has none). */
void gg_cache_store(const gg_cache_key *key, const json_t *result, const json_t *reads, int64_t started_ns);

#endif
