/* Chooses the interpreter as the Python extension of editors does.  Loop thread only; looks at the file system, runs nothing. */
#include "server/python.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool executable(const char *path) {
    return access(path, X_OK) == 0;
}

static bool try_folder(gg_python_choice *out, const char *folder, const char *why) {
    static const char *const names[] = {"bin/python", "bin/python3"};
    for (size_t i = 0; folder && *folder && i < GG_COUNT(names); i++) {
        int n = snprintf(out->path, sizeof(out->path), "%s/%s", folder, names[i]);
        if (n > 0 && (size_t)n < sizeof(out->path) && executable(out->path)) {
            out->why = why;
            return true;
        }
    }
    return false;
}

static bool try_path(gg_python_choice *out, const char *name) {
    const char *path = getenv("PATH");
    char *copy = gg_str_dup(gg_str_from(path)), *rest = NULL;
    bool found = false;
    for (char *folder = strtok_r(copy, ":", &rest); folder && !found; folder = strtok_r(NULL, ":", &rest)) {
        int n = snprintf(out->path, sizeof(out->path), "%s/%s", folder, name);
        found = n > 0 && (size_t)n < sizeof(out->path) && folder[0] == '/' && executable(out->path);
    }
    gg_free(copy);
    out->why = "python3 on PATH";
    return found;
}

static int from_setting(gg_python_choice *out, const char *setting, gg_error *err) {
    out->why = "--python or the setting graphglue.python";
    if (strchr(setting, '/') == NULL) {
        if (try_path(out, setting)) {
            out->why = "--python or the setting graphglue.python, found on PATH";
            return 0;
        }
        return gg_fail(err, GG_ENOTFOUND, "no %s on PATH (asked for by --python or the setting graphglue.python)",
                       setting);
    }
    char absolute[PATH_MAX];
    if (setting[0] == '/')
        snprintf(out->path, sizeof(out->path), "%s", setting);
    else if (getcwd(absolute, sizeof(absolute) / 2))
        snprintf(out->path, sizeof(out->path), "%.2000s/%.2000s", absolute, setting);
    if (executable(out->path)) return 0;
    return gg_fail(err, GG_ENOTFOUND,
                   "%.500s is no executable file (asked for by --python or the setting graphglue.python)", setting);
}

int gg_python_choose(gg_python_choice *out, const char *setting, const char *workspace, gg_error *err) {
    *out = (gg_python_choice){.why = ""};
    if (setting && *setting) return from_setting(out, setting, err);
    if (try_folder(out, getenv("VIRTUAL_ENV"), "VIRTUAL_ENV")) return 0;
    if (try_folder(out, getenv("CONDA_PREFIX"), "CONDA_PREFIX")) return 0;
    char folder[PATH_MAX];
    if (workspace && snprintf(folder, sizeof(folder), "%s/.venv", workspace) < (int)sizeof(folder) &&
        try_folder(out, folder, ".venv of the workspace"))
        return 0;
    if (try_path(out, "python3")) return 0;
    return gg_fail(
        err, GG_ENOTFOUND,
        "no Python was found: no VIRTUAL_ENV, no CONDA_PREFIX, no .venv in the workspace and no python3 on PATH. "
        "Set graphglue.python or pass --python");
}
