/* A worker on another machine, or in a container: the launcher that reaches it, and how paths here and paths there belong together.
 * Loop thread only; no I/O but to resolve links. */
#ifndef GG_REMOTE_H
#define GG_REMOTE_H

#include "analysis/gg_analysis.h"
#include "server/python.h"

typedef struct gg_path_map {
    char *local, *remote; /* absolute folders without a slash at the end; "" for the root */
    char *real;           /* local with its links resolved */
    bool by_real;         /* which of the two was asked about last, and so is answered with */
} gg_path_map;

/* All zero: the worker runs here. */
typedef struct gg_remote {
    GG_LIST(char *) command; /* the launcher's words, e.g. ssh gpu01; none: the worker runs here */
    char *program;           /* the worker's, there; NULL: graphglue-worker on the PATH there */
    GG_LIST(gg_path_map) maps;
    uint32_t start_ms; /* from the launcher's start to `hello`; 0: a minute */
} gg_remote;

void gg_remote_clear(gg_remote *remote);
void gg_remote_copy(gg_remote *out, const gg_remote *remote); /* out is overwritten */

/* The object `worker` of the settings: {command, program, pathMap, startTimeout}, each of them optional.  GG_EPARAMS names the key and what it
 * wants; then *out is clear. */
int gg_remote_read(gg_remote *out, const json_t *settings, gg_error *err) GG_MUST_USE;
/* The same from the command line: words as a shell splits them (quotes, ~ and $NAME, no commands); LOCAL=REMOTE. */
int gg_remote_set_command(gg_remote *remote, const char *words, gg_error *err) GG_MUST_USE;
int gg_remote_add_map(gg_remote *remote, const char *pair, gg_error *err) GG_MUST_USE;

/* The interpreter as it is called there: the setting, else python3.  It is looked for over there. */
void gg_remote_python(gg_python_choice *out, const char *setting);

/* Without maps both sides share their paths.  With maps, a path of ours that lies in none has no counterpart there (NULL), and one of theirs
 * becomes "remote:/…", which is no path here.  The caller frees. */
char *gg_remote_path_there(gg_remote *remote, gg_str local);
char *gg_remote_path_here(const gg_remote *remote, gg_str path);
/* A request's paths; texts of files that have no counterpart are left out.  Changes the request, but no value inside it, so that a shallow copy is
 * enough.  GG_ENOTFOUND when the file itself has none. */
int gg_remote_request(gg_remote *remote, json_t *request, gg_error *err) GG_MUST_USE;
/* Paths in a frame of the worker's, and those in its words, in place. */
void gg_remote_frame(const gg_remote *remote, json_t *frame);

#endif
