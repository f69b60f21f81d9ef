/* A worker that behaves as $GRAPHGLUE_FAKE says: words, one after the other; `|` separates what the first start does from what the
 * second does, and so on (the last part serves all further starts).  Writes what happens to the file $GRAPHGLUE_FAKE_LOG.
 *
 *   hello[:N] ready no-torch     the frames of a worker; hello's protocol is N
 *   take                         reads one frame and remembers its id; ends at the end of the connection
 *   started break entry done[:STATUS] breaks:N   a frame (N frames) of the job last taken
 *   file:PATH                    a `break` whose frame lies in that file
 *   id:N                         frames are of job N from now on
 *   serve                        answers every job until the connection ends
 *   json:TEXT hex:DIGITS         a frame with that body; bytes without a frame
 *   flood say:WORD               two megabytes, or a line, on stderr
 *   close exit:N die:N hang      closes the connection; ends; kills itself; does nothing more
 *   drip                         `break` after `break`, without end
 *   orphan                       ends, and goes on in a process of a session of its own once the end can have been seen
 *   hold hold:away               leaves a process that holds the connection; one in a session of its own */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/gg_analysis.h"

static int fd_in = 3, fd_out = 3;
static gg_buf in;
static json_int_t id;

static void note(const char *format, ...) GG_PRINTF(1, 2);
static void note(const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    int fd = open(getenv("GRAPHGLUE_FAKE_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n) abort();
    close(fd);
}

static void put(const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t n = write(fd_out, bytes, count);
        if (n <= 0) exit(0); /* nobody listens any more */
        bytes += n;
        count -= (size_t)n;
    }
}

static void put_body(const char *body) {
    size_t n = strlen(body);
    char head[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    put(head, sizeof(head));
    put(body, n);
}

static void put_frame(const char *op, const char *rest) {
    char body[1024];
    snprintf(body, sizeof(body), "{\"op\":\"%s\",\"id\":%lld%s}", op, (long long)id, rest);
    put_body(body);
}

/* False at the end of the connection. */
static bool take(void) {
    json_t *frame = NULL;
    int got;
    while ((got = gg_worker_frame_next(&in, &frame, NULL)) == 0) {
        char block[65536];
        ssize_t n = read(fd_in, block, sizeof(block));
        if (n <= 0) return false;
        gg_buf_append(&in, (gg_str){block, (size_t)n});
    }
    if (got < 0) abort();
    id = json_integer_value(json_object_get(frame, "id"));
    const char *file = json_string_value(json_object_get(frame, "file"));
    note("%s %lld%s%s\n", json_string_value(json_object_get(frame, "op")), (long long)id, file ? " " : "",
         file ? file : "");
    json_decref(frame);
    return true;
}

static void done(const char *status) {
    char rest[128];
    snprintf(rest, sizeof(rest), ",\"status\":\"%s\",\"message\":null,\"output\":\"\"", status ? status : "ok");
    put_frame("done", rest);
}

/* A process of its own, which is out of the reach of a signal to the group when `away`.  Returns in both, in the parent once it runs. */
static bool fork_off(bool away) {
    int ready[2];
    char byte = 0;
    if (pipe(ready) != 0) abort();
    if (fork() == 0) {
        if (away) setsid();
        note("held %d\n", (int)getpid());
        if (write(ready[1], &byte, 1) != 1) abort();
        return true;
    }
    if (read(ready[0], &byte, 1) != 1) abort();
    return false;
}

static void orphan(void) {
    int parent[2];
    char byte;
    if (pipe(parent) != 0) abort();
    if (!fork_off(true)) _exit(0);
    close(parent[1]);
    if (read(parent[0], &byte, 1) != 0) abort(); /* the end of the pipe is the end of the parent */
    usleep(50000);
}

static void flood(void) {
    char line[1024];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 2048; i++)
        if (write(2, line, sizeof(line)) < 0) return;
}

static void put_hex(const char *digits) {
    for (; digits[0] && digits[1]; digits += 2) {
        char pair[3] = {digits[0], digits[1], '\0'}, byte = (char)strtol(pair, NULL, 16);
        put(&byte, 1);
    }
}

static void act(const char *word, const char *value) {
    char rest[64];
    if (strcmp(word, "hello") == 0) {
        snprintf(rest, sizeof(rest), ",\"protocol\":%s,\"version\":\"3.11.7\",\"mode\":\"executed\"",
                 value ? value : "1");
        put_frame("hello", rest);
    } else if (strcmp(word, "ready") == 0) {
        put_frame("ready", ",\"torch\":\"2.13.0\",\"torch_error\":null,\"registry\":null,\"cuda\":null");
    } else if (strcmp(word, "no-torch") == 0) {
        put_frame("ready", ",\"torch\":null,\"torch_error\":\"torch is not installed\"");
    } else if (strcmp(word, "take") == 0) {
        if (!take()) exit(0);
    } else if (strcmp(word, "serve") == 0) {
        while (take()) {
            put_frame("started", "");
            done(NULL);
        }
        exit(0);
    } else if (strcmp(word, "done") == 0) {
        done(value);
    } else if (strcmp(word, "started") == 0 || strcmp(word, "break") == 0 || strcmp(word, "entry") == 0) {
        put_frame(word, "");
    } else if (strcmp(word, "breaks") == 0) {
        for (long i = strtol(value, NULL, 10); i > 0; i--) put_frame("break", "");
    } else if (strcmp(word, "id") == 0) {
        id = strtol(value, NULL, 10);
    } else if (strcmp(word, "file") == 0) {
        char stack[512];
        snprintf(stack, sizeof(stack), ",\"break\":{\"stack\":[{\"file\":\"%s\"}],\"reason\":\"in %s, line 3\"}", value,
                 value);
        put_frame("break", stack);
    } else if (strcmp(word, "json") == 0) {
        put_body(value);
    } else if (strcmp(word, "hex") == 0) {
        put_hex(value);
    } else if (strcmp(word, "flood") == 0) {
        flood();
    } else if (strcmp(word, "say") == 0) {
        fprintf(stderr, "%s\n", value);
    } else if (strcmp(word, "close") == 0) {
        close(fd_in);
        close(fd_out);
    } else if (strcmp(word, "hold") == 0) {
        if (fork_off(value != NULL))
            for (;;) pause();
    } else if (strcmp(word, "orphan") == 0) {
        orphan();
    } else if (strcmp(word, "drip") == 0) {
        for (;; usleep(2000)) put_frame("break", "");
    } else if (strcmp(word, "exit") == 0) {
        _exit((int)strtol(value, NULL, 10));
    } else if (strcmp(word, "die") == 0) {
        raise((int)strtol(value, NULL, 10));
    } else if (strcmp(word, "hang") == 0) {
        for (;;) pause();
    } else {
        fprintf(stderr, "fake_worker: no word %s\n", word);
        abort();
    }
}

/* How often a fake was started with this log, this one too. */
static int count_starts(void) {
    char line[256];
    int starts = 0;
    FILE *log = fopen(getenv("GRAPHGLUE_FAKE_LOG"), "r");
    while (log && fgets(line, sizeof(line), log)) starts += strncmp(line, "start ", 6) == 0;
    if (log) fclose(log);
    return starts;
}

/* With --stdio the first frame holds the other options, which are logged. */
static void take_options(void) {
    unsigned char head[4];
    char body[4096];
    fd_in = 0;
    fd_out = 1;
    if (read(0, head, 4) != 4) exit(0);
    ssize_t n = read(0, body, (size_t)head[2] << 8 | head[3]);
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(body + at) + 1) note("option %s\n", body + at);
}

int main(int argc, char **argv) {
    char script[4096], *rest = NULL;
    note("start %d\n", (int)getpid());
    if (argc == 2 && strcmp(argv[1], "--stdio") == 0) take_options();
    snprintf(script, sizeof(script), "%s", getenv("GRAPHGLUE_FAKE"));
    char *part = script;
    for (int i = count_starts(); i > 1; i--) {
        char *bar = strchr(part, '|');
        if (bar) part = bar + 1;
    }
    part[strcspn(part, "|")] = '\0';
    gg_buf_init(&in, GG_MAX_WORKER_FRAME_BYTES + 65540);
    for (char *word = strtok_r(part, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *colon = strchr(word, ':');
        if (colon) *colon = '\0';
        act(word, colon ? colon + 1 : NULL);
    }
    return 0;
}
