/* Which interpreter: setting, then VIRTUAL_ENV / CONDA_PREFIX, then .venv in the workspace, then python3 on PATH. */
#ifndef GG_PYTHON_H
#define GG_PYTHON_H

#include "base/gg_base.h"

typedef struct gg_python_choice {
    char path[4096]; /* absolute; symbolic links kept (a venv's python is a link) */
    const char
        *why; /* static: "--python", "VIRTUAL_ENV", "CONDA_PREFIX", ".venv of the workspace", "python3 on PATH" */
} gg_python_choice;

/* `setting` and `workspace` may be NULL.  GG_ENOTFOUND says in plain words what was looked at. */
int gg_python_choose(gg_python_choice *out, const char *setting, const char *workspace, gg_error *err) GG_MUST_USE;

#endif
