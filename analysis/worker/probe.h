/* Asks a Python interpreter what it is and where its shared libpython lies.  Used by the launcher; runs the interpreter once
 * (with site, since a virtual environment's prefix is set there), with a deadline. */
#ifndef GG_PROBE_H
#define GG_PROBE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gg_probe {
    char version[64];     /* "3.11.7" */
    char libpython[4096]; /* an existing file, or "" */
    bool prefers_exec; /* conda, Nix: their RPATHs want their own executable; a wrapper script: what it sets is meant */
} gg_probe;

/* The kernel kills the calling process, and what it executes, when its parent ends: an interpreter may never get as far as to listen.  (The zygote
 * replaces this by its own way of ending.)  Where there is no such thing, the end of the connection must do. */
void gg_die_with_parent(void);

/* 0, or -1 with plain words in why. */
int gg_probe_python(gg_probe *out, const char *python, char *why, size_t why_size);

#endif
