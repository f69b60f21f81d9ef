/* See python.h.  One function per place to look, in the order of `places`; each adds what it finds. */
#include "server/python.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum { MAX_PARENTS = 32, MAX_ENVIRONMENTS = 32, VERSION_FILE_BYTES = 4096 };

static bool executable(const char *path) {
    struct stat info;
    return access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool join(char *out, size_t size, const char *folder, const char *rest) {
    int n = snprintf(out, size, "%s/%s", strcmp(folder, "/") ? folder : "", rest);
    return n > 0 && (size_t)n < size;
}

static bool exists(const char *folder, const char *rest) {
    char path[PATH_MAX];
    return join(path, sizeof(path), folder, rest) && access(path, F_OK) == 0;
}

/* The first word of the file's first line that is no comment. */
static bool first_line(const char *folder, const char *name, char *out, size_t size) {
    char path[PATH_MAX], text[VERSION_FILE_BYTES];
    int fd = join(path, sizeof(path), folder, name) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        if (*line && *line != '#') return snprintf(out, size, "%.*s", (int)strcspn(line, " \t"), line) < (int)size;
    }
    return false;
}

/* ---- torch, as far as files show it ------------------------------------------------------------------------------------------- */

static bool read_torch_version(gg_python_choice *out, const char *packages) {
    char path[PATH_MAX], text[512];
    int fd = join(path, sizeof(path), packages, "torch/version.py") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    const char *value = strstr(text, "__version__ = ");
    char quote = value ? value[strlen("__version__ = ")] : '\0';
    if (quote != '\'' && quote != '"') return false;
    value += strlen("__version__ = ") + 1;
    snprintf(out->torch, sizeof(out->torch), "%.*s", (int)strcspn(value, "'\""), value);
    return true;
}

static void look_for_torch(gg_python_choice *out) {
    char prefix[PATH_MAX], lib[PATH_MAX];
    snprintf(prefix, sizeof(prefix), "%.*s", (int)(sizeof(prefix) - 1), out->path);
    for (int i = 0; i < 2; i++) { /* bin/python */
        char *slash = strrchr(prefix, '/');
        if (slash == NULL) return;
        *slash = '\0';
    }
    const char *const libs[] = {prefix, strcmp(prefix, "/usr") == 0 ? "/usr/local" : NULL};
    for (size_t i = 0; i < GG_COUNT(libs) && libs[i] && out->torch[0] == '\0'; i++) {
        DIR *dir = join(lib, sizeof(lib), libs[i], "lib") ? opendir(lib) : NULL;
        for (struct dirent *entry; dir && out->torch[0] == '\0' && (entry = readdir(dir)) != NULL;) {
            if (strncmp(entry->d_name, "python3", 7) != 0) continue;
            char packages[PATH_MAX * 2];
            snprintf(packages, sizeof(packages), "%s/%s/site-packages", lib, entry->d_name);
            if (read_torch_version(out, packages)) break;
            snprintf(packages, sizeof(packages), "%s/%s/dist-packages", lib, entry->d_name);
            if (read_torch_version(out, packages)) break;
        }
        if (dir) closedir(dir);
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------------------ */

/* python and python3 of one folder are one interpreter, and /bin may be /usr/bin. */
static bool same_folder(const char *a, const char *b) {
    char folders[2][PATH_MAX];
    struct stat info[2];
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], PATH_MAX, "%s", i ? b : a);
        char *slash = strrchr(folders[i], '/');
        if (slash) *slash = '\0';
        if (stat(folders[i], &info[i]) != 0) return false;
    }
    return info[0].st_dev == info[1].st_dev && info[0].st_ino == info[1].st_ino;
}

static bool add(gg_python_list *out, const char *path, const char *why, const char *detail) {
    for (size_t i = 0; i < out->len; i++)
        if (same_folder(out->items[i].path, path)) return false;
    gg_python_choice found = {.torch = ""};
    if (snprintf(found.path, sizeof(found.path), "%s", path) >= (int)sizeof(found.path)) return false;
    snprintf(found.why, sizeof(found.why), "%s%s", why, detail);
    look_for_torch(&found);
    gg_list_push(out, found);
    return true;
}

static bool add_folder(gg_python_list *out, const char *folder, const char *why, const char *detail) {
    static const char *const names[] = {"bin/python", "bin/python3"};
    char path[PATH_MAX];
    for (size_t i = 0; folder && folder[0] == '/' && i < GG_COUNT(names); i++)
        if (join(path, sizeof(path), folder, names[i]) && executable(path)) return add(out, path, why, detail);
    return false;
}

static void active_environment(gg_python_list *out, const char *workspace) {
    (void)workspace;
    add_folder(out, getenv("VIRTUAL_ENV"), "VIRTUAL_ENV", "");
    add_folder(out, getenv("CONDA_PREFIX"), "CONDA_PREFIX", "");
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const gg_python_choice *)a)->path, ((const gg_python_choice *)b)->path);
}

/* Environments that lie in the workspace: the names people use, then any folder that is one. */
static void workspace_environment(gg_python_list *out, const char *workspace) {
    static const char *const names[] = {".venv", "venv", "env", ".conda"};
    char folder[PATH_MAX];
    for (size_t i = 0; i < GG_COUNT(names); i++)
        if (join(folder, sizeof(folder), workspace, names[i])) add_folder(out, folder, names[i], " of the workspace");
    DIR *dir = opendir(workspace);
    int looked = 0;
    size_t named = out->len;
    for (struct dirent *entry; dir && looked < MAX_ENVIRONMENTS && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            !join(folder, sizeof(folder), workspace, entry->d_name) || !exists(folder, "pyvenv.cfg"))
            continue;
        looked++;
        add_folder(out, folder, entry->d_name, " of the workspace");
    }
    if (dir) closedir(dir);
    if (out->len > named) qsort(out->items + named, out->len - named, sizeof(gg_python_choice), by_path);
}

static bool up(char *folder) {
    char *slash = strrchr(folder, '/');
    if (slash == NULL || folder[1] == '\0') return false;
    slash[slash == folder ? 1 : 0] = '\0';
    return true;
}

/* .venv of a folder above, up to the repository's root (a workspace is often a part of one). */
static void parent_environment(gg_python_list *out, const char *workspace) {
    char folder[PATH_MAX], environment[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", workspace);
    for (int i = 0; i < MAX_PARENTS && !exists(folder, ".git") && up(folder); i++)
        if (join(environment, sizeof(environment), folder, ".venv"))
            add_folder(out, environment, ".venv above the workspace", "");
}

/* pip puts this program beside the interpreter of the environment it is installed in; without torch that says nothing about captures. */
static void own_environment(gg_python_list *out) {
    char folder[PATH_MAX];
    size_t length = sizeof(folder);
    if (uv_exepath(folder, &length) != 0 || !up(folder) || !up(folder)) return;
    if (!exists(folder, "pyvenv.cfg") && !exists(folder, "conda-meta")) return;
    if (add_folder(out, folder, "the environment that graphglue-lsp is installed in", "") &&
        out->items[out->len - 1].torch[0] == '\0')
        out->len--;
}

static bool pyenv_root(char *out, size_t size) {
    const char *set = getenv("PYENV_ROOT"), *home = getenv("HOME");
    bool fits = set && set[0] == '/' ? snprintf(out, size, "%s", set) < (int)size
                                     : home && home[0] == '/' && join(out, size, home, ".pyenv");
    return fits && exists(out, "versions");
}

/* pyenv's own order: PYENV_VERSION, .python-version here or above, its global version. */
static bool pyenv_version(const char *root, const char *workspace, char *out, size_t size, char *why, size_t why_size) {
    char folder[PATH_MAX];
    const char *asked = getenv("PYENV_VERSION");
    if (asked && *asked) {
        snprintf(out, size, "%.*s", (int)strcspn(asked, ":"), asked);
        snprintf(why, why_size, " (PYENV_VERSION says %s)", out);
        return true;
    }
    snprintf(folder, sizeof(folder), "%s", workspace ? workspace : "/");
    for (int i = 0; i < MAX_PARENTS; i++) {
        if (first_line(folder, ".python-version", out, size)) {
            snprintf(why, why_size, " (.python-version says %s)", out);
            return true;
        }
        if (!up(folder)) break;
    }
    if (!first_line(root, "version", out, size)) return false;
    snprintf(why, why_size, " (its global version is %s)", out);
    return true;
}

/* "3.11" stands for the newest 3.11.x that is installed. */
static void newest_of(const char *versions, const char *asked, char *out, size_t size) {
    DIR *dir = opendir(versions);
    size_t n = strlen(asked);
    long newest = -1;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, asked, n) != 0 || entry->d_name[n] != '.') continue;
        char *end = NULL;
        long patch = strtol(entry->d_name + n + 1, &end, 10);
        if (*end || patch <= newest) continue;
        newest = patch;
        snprintf(out, size, "%s", entry->d_name);
    }
    if (dir) closedir(dir);
}

static void pyenv(gg_python_list *out, const char *workspace) {
    char root[PATH_MAX], versions[PATH_MAX], folder[PATH_MAX], version[256], why[400];
    if (!pyenv_root(root, sizeof(root)) || !join(versions, sizeof(versions), root, "versions") ||
        !pyenv_version(root, workspace, version, sizeof(version), why, sizeof(why)) || strstr(version, ".."))
        return;
    if (!exists(versions, version)) newest_of(versions, version, version, sizeof(version));
    if (join(folder, sizeof(folder), versions, version)) add_folder(out, folder, "pyenv", why);
}

static void on_path(gg_python_list *out, const char *name) {
    char root[PATH_MAX] = "", program[PATH_MAX];
    size_t n = pyenv_root(root, sizeof(root)) ? strlen(root) : 0;
    char *copy = gg_str_dup(gg_str_from(getenv("PATH"))), *rest = NULL;
    for (char *folder = strtok_r(copy, ":", &rest); folder; folder = strtok_r(NULL, ":", &rest)) {
        if (n && strncmp(folder, root, n) == 0 && folder[n] == '/') continue; /* shims of what pyenv() looks at */
        if (folder[0] == '/' && join(program, sizeof(program), folder, name) && executable(program))
            add(out, program, name, " on PATH");
    }
    gg_free(copy);
}

static void system_python(gg_python_list *out, const char *workspace) {
    (void)workspace;
    on_path(out, "python3");
    on_path(out, "python");
}

void gg_python_find_all(gg_python_list *out, const char *workspace) {
    active_environment(out, workspace);
    if (workspace) workspace_environment(out, workspace);
    if (workspace) parent_environment(out, workspace);
    own_environment(out);
    pyenv(out, workspace);
    system_python(out, workspace);
}

/* ---- choice ------------------------------------------------------------------------------------------------------------------ */

static int from_setting(gg_python_choice *out, const char *setting, const char *workspace, gg_error *err) {
    static const char asked[] = "--python or the setting graphglue.python";
    *out = (gg_python_choice){.torch = ""};
    if (strchr(setting, '/') == NULL) {
        gg_python_list found = {0};
        on_path(&found, setting);
        bool any = found.len > 0;
        if (any) *out = found.items[0];
        gg_list_clear(&found);
        if (!any) return gg_fail(err, GG_ENOTFOUND, "no %s on PATH (asked for by %s)", setting, asked);
        snprintf(out->why, sizeof(out->why), "%s, found on PATH", asked);
        return 0;
    }
    char folder[PATH_MAX];
    const char *home = getenv("HOME");
    bool fits = false;
    if (setting[0] == '/')
        fits = snprintf(out->path, sizeof(out->path), "%s", setting) < (int)sizeof(out->path);
    else if (setting[0] == '~' && setting[1] == '/' && home)
        fits = join(out->path, sizeof(out->path), home, setting + 2);
    else if (workspace)
        fits = join(out->path, sizeof(out->path), workspace, setting);
    else if (getcwd(folder, sizeof(folder)))
        fits = join(out->path, sizeof(out->path), folder, setting);
    snprintf(out->why, sizeof(out->why), "%s", asked);
    if (fits && !executable(out->path)) { /* the environment's folder is a fair way to name it */
        gg_python_list found = {0};
        if (add_folder(&found, out->path, asked, "") && found.items) *out = found.items[0];
        gg_list_clear(&found);
    }
    if (!fits || !executable(out->path))
        return gg_fail(err, GG_ENOTFOUND, "%.500s is no executable file (asked for by %s)", setting, asked);
    look_for_torch(out);
    return 0;
}

int gg_python_choose(gg_python_choice *out, const char *setting, const char *workspace, gg_error *err) {
    if (setting && *setting) return from_setting(out, setting, workspace, err);
    gg_python_list found = {0};
    gg_python_find_all(&found, workspace);
    bool any = found.len > 0;
    if (any) *out = found.items[0];
    gg_list_clear(&found);
    if (any) return 0;
    return gg_fail(
        err, GG_ENOTFOUND,
        "no Python was found: no VIRTUAL_ENV, no CONDA_PREFIX, no environment in the workspace, no pyenv version and "
        "no python3 on PATH. Set graphglue.python or pass --python");
}
