/* Levelled log to stderr.  A line is written with one call, so that threads do not mix; only the thread that set the sink
 * feeds it. */
#include "base/log.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int current_level = GG_LOG_WARNING;
static gg_log_sink current_sink;
static void *sink_data;
static pthread_t sink_thread;
static bool never_wait;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; /* of lines that never wait, and of their count */
static unsigned dropped;

static const char *const level_names[] = {"", "error", "warning", "info", "debug"};

void gg_log_set_level(gg_log_level level) {
    atomic_store(&current_level, (int)level);
}

gg_log_level gg_log_get_level(void) {
    return (gg_log_level)atomic_load(&current_level);
}

bool gg_log_parse_level(const char *name, gg_log_level *out) {
    for (int i = GG_LOG_ERROR; i <= GG_LOG_DEBUG; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out = (gg_log_level)i;
            return true;
        }
    }
    return false;
}

void gg_log_set_sink(gg_log_sink sink, void *data) {
    current_sink = sink;
    sink_data = data;
    sink_thread = pthread_self();
}

void gg_log_never_wait(void) {
    never_wait = true;
}

/* A pipe that can be written takes at least PIPE_BUF bytes at once, which is more than two lines. */
static void write_line(const char *line) {
    char note[96];
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};
    pthread_mutex_lock(&writing);
    if (never_wait && (poll(&errors, 1, 0) != 1 || !(errors.revents & POLLOUT))) {
        dropped++;
    } else {
        snprintf(note, sizeof(note), "graphglue[warning] %u lines were dropped: stderr was not read\n", dropped);
        fprintf(stderr, "%s%s\n", dropped ? note : "", line);
        dropped = 0;
    }
    pthread_mutex_unlock(&writing);
}

void gg_log(gg_log_level level, const char *format, ...) {
    if ((int)level > atomic_load(&current_level)) return;
    char line[2048];
    int prefix = snprintf(line, sizeof(line), "graphglue[%s] ", level_names[level]);
    va_list args;
    va_start(args, format);
    vsnprintf(line + prefix, sizeof(line) - (size_t)prefix - 1, format, args);
    va_end(args);
    size_t length = gg_utf8_valid_prefix(gg_str_from(line));
    line[length] = '\0';
    write_line(line);
    if (current_sink && pthread_equal(sink_thread, pthread_self())) current_sink(sink_data, level, line + prefix);
}
