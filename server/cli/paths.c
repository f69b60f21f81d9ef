/* Which files a command is about.  Loop thread only (reads folders; asks git, when there is one, what it ignores). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/cli/cli.h"

enum { MAX_DEPTH = 64 };

extern char **environ;

static bool exists(const char *folder, const char *name) {
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) && access(path, F_OK) == 0;
}

static bool skipped_folder(const char *path, const char *name) {
    static const char *const caches[] = {"__pycache__", "node_modules", "site-packages", "build", "dist", "venv"};
    for (size_t i = 0; i < GG_COUNT(caches); i++)
        if (strcmp(name, caches[i]) == 0) return true;
    return name[0] == '.' || exists(path, "pyvenv.cfg");
}

static void add(gg_cli_paths *out, const char *given) {
    char resolved[PATH_MAX];
    const char *absolute = realpath(given, resolved) ? resolved : given;
    for (size_t i = 0; i < out->len; i++)
        if (strcmp(out->items[i].absolute, absolute) == 0) return;
    gg_cli_path path = {gg_str_dup(gg_str_from(given)), gg_str_dup(gg_str_from(absolute))};
    gg_list_push(out, path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `absolute`: the same folder. */
static void walk(gg_cli_names *out, const gg_cli_args *args, const char *folder, const char *absolute, int depth) {
    DIR *dir = depth < MAX_DEPTH ? opendir(folder) : NULL;
    if (dir == NULL) return;
    const gg_options *options = gg_cli_options_at(args, absolute);
    gg_cli_names names = {0};
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            gg_list_push(&names, gg_str_dup(gg_str_from(entry->d_name)));
    closedir(dir);
    if (names.len) qsort(names.items, names.len, sizeof(char *), by_name);
    for (size_t i = 0; i < names.len; i++) {
        char path[PATH_MAX], whole[PATH_MAX];
        struct stat info;
        gg_str name = gg_str_from(names.items[i]);
        snprintf(whole, sizeof(whole), "%s/%s", strcmp(absolute, "/") ? absolute : "", names.items[i]);
        if (snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", names.items[i]) <
                (int)sizeof(path) &&
            lstat(path, &info) == 0 && !gg_options_exclude_one(options, whole, path)) {
            if (S_ISDIR(info.st_mode) && !skipped_folder(path, names.items[i]))
                walk(out, args, path, whole, depth + 1);
            else if (S_ISREG(info.st_mode) && gg_str_ends_with(name, GG_STR(".py")))
                gg_list_push(out, gg_str_dup(gg_str_from(path)));
        }
        gg_free(names.items[i]);
    }
    gg_list_clear(&names);
}

/* git check-ignore with the names on its standard input; its answer as a stream, NULL without git.  *pid is to be waited for. */
static FILE *ask_git(FILE *names, const char *folder, pid_t *pid) {
    char *const args[] = {(char *)"git",          (char *)"-C",      (char *)(uintptr_t)folder,
                          (char *)"check-ignore", (char *)"-z",      (char *)"-v",
                          (char *)"-n",           (char *)"--stdin", NULL};
    int answer[2];
    if (pipe(answer) != 0) return NULL;
    fcntl(answer[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(names), 0);
    posix_spawn_file_actions_adddup2(&actions, answer[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(pid, "git", &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(answer[1]);
    FILE *stream = error ? NULL : fdopen(answer[0], "r");
    if (error) close(answer[0]);
    return stream;
}

/* Drops what git ignores, asked once for all; without git, or outside a repository, nothing is ignored. */
static void drop_ignored(gg_cli_names *files, const char *folder) {
    FILE *names = tmpfile();
    if (names == NULL) return;
    for (size_t i = 0; i < files->len; i++) {
        char resolved[PATH_MAX];
        const char *path = realpath(files->items[i], resolved) ? resolved : files->items[i];
        fwrite(path, 1, strlen(path) + 1, names);
    }
    rewind(names); /* flushes; git reads from the start */
    pid_t pid = 0;
    FILE *answer = ask_git(names, folder, &pid); /* four NUL-ended fields a path: source, line, pattern, path */
    char *field = NULL;
    size_t capacity = 0, index = 0, column = 0;
    bool ignored = false;
    while (answer && getdelim(&field, &capacity, '\0', answer) >= 0) {
        if (column == 2) ignored = field[0] != '\0' && field[0] != '!';
        if (++column < 4) continue;
        column = 0;
        if (ignored && index < files->len) {
            gg_free(files->items[index]);
            files->items[index] = NULL;
        }
        index++;
    }
    free(field);
    fclose(names);
    if (answer) {
        fclose(answer);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    }
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
        gg_cli_names files = {0};
        char absolute[PATH_MAX];
        walk(&files, args, folder, realpath(folder, absolute) ? absolute : folder, 0);
        if (files.len) drop_ignored(&files, folder);
        for (size_t j = 0; j < files.len; j++) {
            if (files.items[j]) add(out, files.items[j]);
            gg_free(files.items[j]);
        }
        gg_list_clear(&files);
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
