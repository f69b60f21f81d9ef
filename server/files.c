/* See files.h. */
#include "server/files.h"

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

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct walking {
    gg_words *out;
    gg_files_excluded excluded;
    void *data;
} walking;

/* `absolute`: the same folder. */
static void walk(const walking *w, const char *folder, const char *absolute, int depth) {
    DIR *dir = depth < MAX_DEPTH ? opendir(folder) : NULL;
    if (dir == NULL) return;
    gg_words names = {0};
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
            lstat(path, &info) == 0 && !w->excluded(w->data, absolute, whole, path)) {
            if (S_ISDIR(info.st_mode) && !skipped_folder(path, names.items[i]))
                walk(w, path, whole, depth + 1);
            else if (S_ISREG(info.st_mode) && gg_str_ends_with(name, GG_STR(".py")))
                gg_list_push(w->out, gg_str_dup(gg_str_from(path)));
        }
        gg_free(names.items[i]);
    }
    gg_list_clear(&names);
}

/* git check-ignore with the names on its standard input; its answer as a stream, NULL without git.  *pid is to be waited for. */
static FILE *ask_git(FILE *names, const char *folder, pid_t *pid) {
    /* An untrusted folder's own git configuration could name a program as file system monitor. */
    char *const args[] = {(char *)"git",
                          (char *)"-C",
                          (char *)(uintptr_t)folder,
                          (char *)"-c",
                          (char *)"core.fsmonitor=false",
                          (char *)"check-ignore",
                          (char *)"-z",
                          (char *)"-v",
                          (char *)"-n",
                          (char *)"--stdin",
                          NULL};
    int answer[2];
    if (pipe(answer) != 0) return NULL;
    fcntl(answer[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int error = posix_spawn_file_actions_adddup2(&actions, fileno(names), 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, answer[1], 1);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawnp(pid, "git", &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(answer[1]);
    FILE *stream = error ? NULL : fdopen(answer[0], "r");
    if (error) close(answer[0]);
    return stream;
}

/* Drops what git ignores, asked once for all; without git, or outside a repository, nothing is ignored. */
static void drop_ignored(gg_words *files, const char *folder) {
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

void gg_files_below(gg_words *out, const char *folder, gg_files_excluded excluded, void *data) {
    gg_words found = {0};
    char absolute[PATH_MAX];
    walking w = {&found, excluded, data};
    walk(&w, folder, realpath(folder, absolute) ? absolute : folder, 0);
    if (found.len) drop_ignored(&found, folder);
    for (size_t i = 0; i < found.len; i++)
        if (found.items[i]) gg_list_push(out, found.items[i]);
    gg_list_clear(&found);
}
