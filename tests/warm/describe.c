/* What a worker's start depends on: two that say the same here may take one start for the other's. */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/warm/warm_worker.h"

/* Of what the launcher lets stay (the others reach jobs alone): what is read by the server only, or by jobs. */
static const char *const MAY_DIFFER[] = {
    "XDG_",           "GRAPHGLUE_TEST_MARK=", "GRAPHGLUE_LOG=",

    "GRAPHGLUE_WARM", "GRAPHGLUE_WORKER=",    "GRAPHGLUE_ENVIRONMENT_FD=",
};
static const char *const OF_STATUS[] = {
    "Uid:", "Gid:", "Groups:", "SigBlk:", "Cap", "NoNewPrivs:", "Seccomp", "Cpus_allowed:", "Mems_allowed:",
};

static bool starts_with_any(const char *text, const char *const *heads, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}

static void put_link(FILE *out, const char *path) {
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target));
    fprintf(out, "%s %.*s\n", path, n > 0 ? (int)n : 0, target);
}

/* The lines of a file that begin with one of `heads`; all when there are none. */
static void put_lines(FILE *out, const char *path, const char *const *heads, size_t count) {
    char line[4096];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (count == 0 || starts_with_any(line, heads, count)) fprintf(out, "%s %s", path, line);
    if (file) fclose(file);
}

/* But for two signals of the C library's own, which posix_spawn leaves ignored. */
static void put_ignored_signals(FILE *out) {
    for (int i = 1; i < SIGRTMIN - 2; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN) fprintf(out, "ignored signal %d\n", i);
    }
}

static void put_namespaces(FILE *out) {
    static const char *const names[] = {"cgroup",           "ipc",  "mnt",  "net", "pid",
                                        "pid_for_children", "time", "user", "uts"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
        put_link(out, path);
    }
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_environment(FILE *out) {
    extern char **environ;
    size_t count = 0;
    while (environ[count]) count++;
    char **sorted = malloc((count + 1) * sizeof(*sorted));
    if (sorted == NULL) abort();
    memcpy(sorted, environ, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; i < count; i++)
        if (!starts_with_any(sorted[i], MAY_DIFFER, sizeof(MAY_DIFFER) / sizeof(*MAY_DIFFER)))
            fprintf(out, "environment %s\n", sorted[i]);
    free(sorted);
}

blob gg_warm_describe(const char *python) {
    blob found = {NULL, 0};
    FILE *out = open_memstream(&found.bytes, &found.length);
    if (out == NULL) return found;
    fprintf(out, "python %s\n", python);
    put_link(out, "/proc/self/exe");
    put_link(out, "/proc/self/root");
    put_namespaces(out);
    put_lines(out, "/proc/self/status", OF_STATUS, sizeof(OF_STATUS) / sizeof(*OF_STATUS));
    put_ignored_signals(out);
    put_lines(out, "/proc/self/cgroup", NULL, 0);
    put_lines(out, "/proc/self/oom_score_adj", NULL, 0);
    fprintf(out, "nice %d\npersonality %d\n", getpriority(PRIO_PROCESS, 0), personality(0xffffffff));
    for (int i = 0; i < RLIMIT_NLIMITS; i++) {
        struct rlimit limit = {0, 0};
        getrlimit(i, &limit);
        fprintf(out, "limit %d %llu %llu\n", i, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
    put_environment(out);
    fclose(out);
    return found;
}
