/* warm_worker: for tests, a graphglue-worker that need not import torch anew.
 *
 *   GRAPHGLUE_WARM=FOLDER warm_worker --python PATH [--fd N] [--workspace DIR]…
 *
 * DESIGN  It is the launcher, but for the point where that has put the environment apart and found the interpreter.  Then:
 *   - With GRAPHGLUE_WARM_TEMPLATE it goes on as the launcher does, to be the template: a Python that runs tests/warm/sitecustomize.py before
 *     anything else.  Once that has done what a worker does at its start it waits on FOLDER/socket, and what it was started with
 *     (describe.c) lies in FOLDER/like.
 *   - Else, when what it was started with is the same, it hands its arguments, environment, folder and descriptors to the template, which
 *     forks a worker of it, and stands for that: it ends as the worker ends, and the worker is killed when it ends.
 *   - Else, and with --stdio, it becomes the graphglue-worker beside it.
 * Where a difference lay is added to FOLDER/different.  What is sent: 4 bytes of length; words that end in NUL: the umask, how many
 * descriptors, their numbers, how many arguments, those, the environment.  With the first bytes go the folder and the descriptors.  What
 * comes back: the wait status. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/worker/probe.h"
#include "analysis/worker/stdio.h"
#include "tests/warm/warm_worker.h"

enum { MAX_FDS = 64, MAX_ARGUMENTS = 256 };

extern char **environ;

int __real_gg_probe_python(gg_probe *out, const char *python, char *why, size_t why_size);
int __wrap_gg_probe_python(gg_probe *out, const char *python, char *why, size_t why_size);
int __wrap_gg_stdio_begin(int *in_fd, int *out_fd, int *argc, char ***argv, char *why, unsigned long why_size);

/* A whole file; NULL bytes when there is none. */
static blob read_file(const char *path) {
    blob found = {NULL, 0};
    FILE *in = fopen(path, "re"), *out = in ? open_memstream(&found.bytes, &found.length) : NULL;
    for (int c; out && (c = getc(in)) != EOF;) putc(c, out);
    if (out) fclose(out);
    if (in) fclose(in);
    return found;
}

static int read_arguments(char **words) {
    int count = 0;
    blob line = read_file("/proc/self/cmdline"); /* kept */
    for (size_t at = 0; at < line.length && count < MAX_ARGUMENTS; at += strlen(line.bytes + at) + 1)
        words[count++] = line.bytes + at;
    words[count] = NULL;
    return count;
}

static _Noreturn void become_real(void) {
    char program[PATH_MAX + 32], *words[MAX_ARGUMENTS + 1];
    ssize_t n = readlink("/proc/self/exe", program, PATH_MAX);
    if (n > 0) {
        program[n] = '\0';
        char *slash = strrchr(program, '/');
        snprintf(slash + 1, 32, "graphglue-worker");
        unsetenv("GRAPHGLUE_WARM");
        words[read_arguments(words)] = NULL;
        words[0] = program;
        execv(program, words);
    }
    fprintf(stderr, "warm_worker: %s: %s\n", program, strerror(errno));
    _exit(127);
}

/* ---- the template ------------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) bytes += n, size -= (size_t)n;
    }
    return 0;
}

static void become_template(const char *folder, const char *python) {
    char path[PATH_MAX];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL); /* as the server starts one */
    blob like = gg_warm_describe(python);
    snprintf(path, sizeof(path), "%s/like", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || like.bytes == NULL || write_all(fd, like.bytes, like.length) != 0) {
        fprintf(stderr, "warm_worker: %s: %s\n", path, strerror(errno));
        _exit(1);
    }
    close(fd);
    free(like.bytes);
    const char *before = getenv("PYTHONPATH");
    if (before) setenv("GRAPHGLUE_WARM_PYTHONPATH", before, 1);
    setenv("PYTHONPATH", GG_WARM_FOLDER, 1);
}

/* ---- the stand-in ------------------------------------------------------------------------------------------------------- */

/* Says where the first difference lies. */
static void note_difference(const char *folder, const blob *theirs, const blob *ours) {
    size_t at = 0;
    while (at < theirs->length && at < ours->length && theirs->bytes[at] == ours->bytes[at]) at++;
    while (at > 0 && ours->bytes[at - 1] != '\n') at--;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/different", folder);
    FILE *out = fopen(path, "ae");
    if (out == NULL) return;
    fprintf(out, "%.*s\t%.*s\n", (int)strcspn(ours->bytes + at, "\n"), ours->bytes + at,
            (int)strcspn(theirs->bytes + at, "\n"), theirs->bytes + at);
    fclose(out);
}

static int connect_to(const char *folder) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) return fd;
    close(fd);
    return -1;
}

/* The descriptors that an executed program would have, `not` excepted. */
static int open_descriptors(int *fds, int not ) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < MAX_FDS;) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != not &&fd != dirfd(folder) && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
            fds[count++] = fd;
    }
    if (folder) closedir(folder);
    return count;
}

static blob pack(const int *fds, int fd_count) {
    blob body = {NULL, 0};
    char *words[MAX_ARGUMENTS + 1];
    int argc = read_arguments(words);
    mode_t mask = umask(0);
    umask(mask);
    FILE *out = open_memstream(&body.bytes, &body.length);
    if (out == NULL) return body;
    fprintf(out, "%u%c%d%c", (unsigned)mask, 0, fd_count, 0);
    for (int i = 0; i < fd_count; i++) fprintf(out, "%d%c", fds[i], 0);
    fprintf(out, "%d%c", argc, 0);
    for (int i = 0; i < argc; i++) fprintf(out, "%s%c", words[i], 0);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "GRAPHGLUE_WARM", 14) != 0) fprintf(out, "%s%c", *variable, 0);
    fclose(out);
    return body;
}

/* Closes what was handed over.  -1: it was not. */
static int hand_over(int template) {
    int fds[MAX_FDS + 1];
    union {
        char bytes[CMSG_SPACE(sizeof(fds))];
        struct cmsghdr align;
    } control = {{0}};
    fds[0] = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int count = open_descriptors(fds + 1, template);
    blob body = pack(fds + 1, count);
    if (fds[0] < 0 || body.bytes == NULL) return -1;
    uint32_t length = (uint32_t)body.length;
    struct iovec part = {&length, sizeof(length)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes};
    message.msg_controllen = CMSG_SPACE((size_t)(count + 1) * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)(count + 1) * sizeof(int));
    memcpy(CMSG_DATA(header), fds, (size_t)(count + 1) * sizeof(int));
    if (sendmsg(template, &message, MSG_NOSIGNAL) != (ssize_t)sizeof(length)) return -1;
    int failed = write_all(template, body.bytes, body.length);
    for (int i = 0; i <= count && !failed; i++) close(fds[i]);
    free(body.bytes);
    return failed;
}

/* Waits for the worker and ends as it did. */
static _Noreturn void stand_in(int template) {
    int32_t status;
    ssize_t n;
    signal(SIGINT, SIG_IGN); /* as a worker does; every other signal ends this process, and so the worker */
    while ((n = recv(template, &status, sizeof(status), MSG_WAITALL)) < 0 && errno == EINTR) {}
    if (n == (ssize_t)sizeof(status) && WIFEXITED(status)) _exit(WEXITSTATUS(status));
    int number = n == (ssize_t)sizeof(status) ? WTERMSIG(status) : SIGKILL;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    raise(number);
    _exit(128 + number);
}

/* In the launcher's place: the environment is apart, the interpreter is found. */
int __wrap_gg_probe_python(gg_probe *out, const char *python, char *why, size_t why_size) {
    const char *folder = getenv("GRAPHGLUE_WARM");
    if (folder && getenv("GRAPHGLUE_WARM_TEMPLATE")) {
        become_template(folder, python);
        return __real_gg_probe_python(out, python, why, why_size);
    }
    if (folder && *folder) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/like", folder);
        blob theirs = read_file(path), ours = gg_warm_describe(python);
        int template = -1;
        if (theirs.bytes && ours.bytes) {
            if (theirs.length == ours.length && memcmp(theirs.bytes, ours.bytes, ours.length) == 0)
                template = connect_to(folder);
            else
                note_difference(folder, &theirs, &ours);
        }
        free(theirs.bytes);
        free(ours.bytes);
        if (template >= 0 && hand_over(template) == 0) stand_in(template);
        if (template >= 0) close(template);
    }
    become_real();
}

int __wrap_gg_stdio_begin(int *in_fd, int *out_fd, int *argc, char ***argv, char *why, unsigned long why_size) {
    (void)in_fd, (void)out_fd, (void)argc, (void)argv, (void)why, (void)why_size;
    become_real();
}
