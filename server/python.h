/* Which interpreter: setting, then VIRTUAL_ENV / CONDA_PREFIX, then an environment in the workspace or above it, then pyenv, then PATH, as the
 * Python extensions of editors choose.  Any thread; looks at the file system and runs nothing. */
#ifndef GG_PYTHON_H
#define GG_PYTHON_H

#include "base/gg_base.h"

typedef struct gg_python_choice {
    char path[4096]; /* absolute; symbolic links kept (a venv's python is a link) */
    char why[512];   /* in words: "VIRTUAL_ENV", ".venv of the workspace", "pyenv (.python-version says 3.11.7)", … */
    char torch[64];  /* the version of the torch its files show, "" when none is seen beside it */
} gg_python_choice;

typedef GG_LIST(gg_python_choice) gg_python_list;

/* The one to run.  `setting` and `workspace` (absolute folder) may be NULL.  GG_ENOTFOUND says in plain words what was looked at. */
int gg_python_choose(gg_python_choice *out, const char *setting, const char *workspace, gg_error *err) GG_MUST_USE;
/* All that are found without a setting, in the order of choice, each once.  The caller clears the list. */
void gg_python_find_all(gg_python_list *out, const char *workspace);

#endif
