/* See stdio.h. */
#include "analysis/worker/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_FD = 10, MAX_OPTIONS_BYTES = 1024 * 1024, MAX_WORDS = 256 };

static int read_all(int fd, char *bytes, size_t count) {
    while (count > 0) {
        ssize_t n = read(fd, bytes, count);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        bytes += n;
        count -= (size_t)n;
    }
    return 0;
}

static char *read_frame(int fd, size_t *size) {
    unsigned char head[4];
    if (read_all(fd, (char *)head, sizeof(head)) != 0) return NULL;
    *size = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    char *body = *size <= MAX_OPTIONS_BYTES ? malloc(*size + 1) : NULL;
    if (body && read_all(fd, body, *size) == 0) {
        body[*size] = '\0';
        return body;
    }
    free(body);
    return NULL;
}

int gg_stdio_begin(int *in_fd, int *out_fd, int *argc, char ***argv, char *why, unsigned long why_size) {
    static char *words[MAX_WORDS + 1], *body; /* for as long as the process lives */
    size_t size = 0;
    *in_fd = fcntl(STDIN_FILENO, F_DUPFD, FIRST_FD);
    *out_fd = fcntl(STDOUT_FILENO, F_DUPFD, FIRST_FD);
    int null = open("/dev/null", O_RDONLY);
    if (*in_fd < 0 || *out_fd < 0 || null < 0) {
        snprintf(why, why_size, "standard input and output cannot be used: %s", strerror(errno));
        return -1;
    }
    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (null > STDERR_FILENO) close(null);
    body = read_frame(*in_fd, &size);
    if (body == NULL) {
        snprintf(why, why_size, "what came on standard input is not graphglue-lsp's: a launcher between us changed it");
        return -1;
    }
    *argc = 1;
    for (size_t at = 0; at < size && *argc < MAX_WORDS; at += strlen(body + at) + 1) words[(*argc)++] = body + at;
    *argv = words;
    return 0;
}
