/* Which files a command is about.  Loop thread only. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cli/cli.h"
#include "server/files.h"

static bool exists(const char *folder, const char *name) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) && access(path, F_OK) == 0;
}

static void add(gg_cli_paths *out, const char *given) {
    char resolved[PATH_MAX];
    const char *absolute = realpath(given, resolved) ? resolved : given;
    for (size_t i = 0; i < out->len; i++)
        if (strcmp(out->items[i].absolute, absolute) == 0) return;
    gg_cli_path path = {gg_str_dup(gg_str_from(given)), gg_str_dup(gg_str_from(absolute))};
    gg_list_push(out, path);
}

static bool excluded(void *data, const char *folder, const char *path, const char *shown) {
    return gg_options_exclude_one(gg_cli_options_at(data, folder), path, shown);
}

void gg_cli_collect(gg_cli_paths *out, const gg_cli_args *args) {
    for (size_t i = 0; i < args->paths.len; i++) {
        const char *given = args->paths.items[i];
        struct stat info;
        if (stat(given, &info) != 0 || !S_ISDIR(info.st_mode)) {
            add(out, given);
            continue;
        }
        char folder[PATH_MAX];
        snprintf(folder, sizeof(folder), "%s", given);
        for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--) folder[n - 1] = '\0';
        gg_words files = {0};
        gg_files_below(&files, folder, excluded, (void *)(uintptr_t)args);
        for (size_t j = 0; j < files.len; j++) add(out, files.items[j]);
        gg_words_clear(&files);
    }
}

void gg_cli_paths_clear(gg_cli_paths *paths) {
    for (size_t i = 0; i < paths->len; i++) {
        gg_free(paths->items[i].given);
        gg_free(paths->items[i].absolute);
    }
    gg_list_clear(paths);
}

bool gg_cli_project_of(const char *file, char root[GG_PATH_BYTES]) {
    static const char *const signs[] = {".git", "pyproject.toml", "setup.py", "setup.cfg"};
    snprintf(root, GG_PATH_BYTES, "%s", file);
    for (char *slash; (slash = strrchr(root, '/')) != NULL && slash != root;) {
        *slash = '\0';
        for (size_t i = 0; i < GG_COUNT(signs); i++)
            if (exists(root, signs[i])) return true;
    }
    return false;
}
