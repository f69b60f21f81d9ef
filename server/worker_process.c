/* See worker_process.h.
 *
 * DESIGN  The exit of a process can be seen before the last bytes it wrote are read.  So it is lost only when both its exit and the end of
 * what it wrote have been seen; `linger` bounds the wait for the second, since a descendant may hold the connection open. */
#include "server/worker_process.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "server/child.h"

enum {
    MAX_STDERR_LOGGED_BYTES = 64 * 1024,
    MAX_BANNER_BYTES = 64 * 1024,
    LAST_WORDS_BYTES = 512,
    READ_BYTES = 65536,
    LEAVE_DEADLINE_MS = 2000,
    REAP_DEADLINE_MS = 5000
};

struct gg_worker_process {
    gg_worker_process_options options; /* only the callbacks are kept: the rest is the caller's */
    gg_child *child;                   /* until it is reaped */
    uv_pipe_t socket, errors;
    uv_pipe_t input; /* of its stdin, when the protocol is on stdio */
    uv_timer_t linger;
    int open_parts; /* handles, and the child */
    bool exited, socket_ended, errors_ended, ending, killed;
    bool in_step;     /* the first frame was found */
    gg_child_end end; /* when it exited */
    gg_buf in;
    size_t stderr_bytes;
    char last_words[LAST_WORDS_BYTES]; /* the end of what it wrote on stderr, not NUL-ended */
    size_t last_words_len;
    char program[PATH_MAX];
    char block[READ_BYTES];
};

/* ---- its end --------------------------------------------------------------------------------------------------------- */

static void on_part_closed(void *data) {
    gg_worker_process *p = data;
    if (--p->open_parts > 0) return;
    void (*closed)(void *) = p->options.on_closed;
    void *owner = p->options.data;
    gg_buf_clear(&p->in);
    gg_free(p);
    closed(owner);
}

static void on_handle_closed(uv_handle_t *handle) {
    on_part_closed(handle->data);
}

static void close_handle(void *handle) {
    if (!uv_is_closing(handle)) uv_close(handle, on_handle_closed);
}

static gg_str last_line(gg_str words) {
    words = gg_str_trim(words);
    for (size_t i = words.len; i > 0; i--)
        if (words.ptr[i - 1] == '\n' || words.ptr[i - 1] == '\r') return gg_str_slice(words, i, words.len);
    return words;
}

/* What a shell, ssh or an uncaught exception says: on stderr, else on stdout before the first frame. */
void gg_worker_process_words(const gg_worker_process *p, char *out, size_t size) {
    gg_str line = last_line((gg_str){p->last_words, p->last_words_len});
    if (line.len == 0 && !p->in_step) line = last_line(gg_buf_str(&p->in));
    line = gg_str_slice(line, 0, LAST_WORDS_BYTES);
    size_t n = 0;
    for (size_t i = 0; i < line.len && n + 1 < size; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        out[n++] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    n = gg_utf8_valid_prefix((gg_str){out, n}); /* all of it, unless it is no text or was cut */
    out[n] = '\0';
}

static void describe_end(const gg_worker_process *p, char *out, size_t size) {
    char line[LAST_WORDS_BYTES + 1];
    gg_worker_process_words(p, line, sizeof(line));
    const char *colon = line[0] ? ": " : "", *what = p->options.what;
    if (!p->exited)
        snprintf(out, size, "%s ended its connection%s%s", what, colon, line);
    else if (p->end.exit_signal)
        snprintf(out, size, "%s was killed by signal %d%s%s", what, p->end.exit_signal, colon, line);
    else
        snprintf(out, size, "%s ended by itself (exit code %d)%s%s", what, p->end.exit_status, colon, line);
}

static void on_linger(uv_timer_t *timer);

static void lose(gg_worker_process *p, const char *why) {
    if (p->ending) return;
    p->ending = true;
    p->options.on_lost(p->options.data, why, p->end.error != 0);
}

static void lose_ended(gg_worker_process *p) {
    char why[LAST_WORDS_BYTES + 512];
    describe_end(p, why, sizeof(why));
    lose(p, why);
}

static void kill_group(gg_worker_process *p) {
    p->killed = true;
    gg_child_kill(p->child);
    uv_timer_start(&p->linger, on_linger, REAP_DEADLINE_MS, 0);
}

static void on_linger(uv_timer_t *timer) {
    gg_worker_process *p = timer->data;
    if (!uv_is_closing((uv_handle_t *)&p->socket)) {
        lose_ended(p);
    } else if (!p->killed) {
        kill_group(p);
    } else { /* it cannot even be killed: nobody waits for it longer */
        gg_child_abandon(p->child);
        close_handle(&p->linger);
    }
}

static void settle(gg_worker_process *p) {
    if (p->ending) return;
    if (p->exited && p->socket_ended && p->errors_ended)
        lose_ended(p);
    else if (p->exited || p->socket_ended)
        uv_timer_start(&p->linger, on_linger, p->options.linger_ms, 0);
}

static void on_child_end(void *data, const gg_child_end *end) {
    gg_worker_process *p = data;
    p->exited = true;
    p->end = *end;
    p->child = NULL;
    if (uv_is_closing((uv_handle_t *)&p->socket)) {
        close_handle(&p->linger);
    } else if (end->error) {
        char why[LAST_WORDS_BYTES + 512];
        snprintf(why, sizeof(why), "%s could not be started: %s", p->program, uv_strerror(end->error));
        lose(p, why);
    } else {
        settle(p);
    }
}

void gg_worker_process_end(gg_worker_process *p) {
    p->ending = true;
    close_handle(&p->socket);
    close_handle(&p->errors);
    if (p->options.stdio) close_handle(&p->input);
    if (p->child == NULL) {
        close_handle(&p->linger);
    } else if (p->options.stdio) { /* a launcher has something to take down over there */
        uv_timer_start(&p->linger, on_linger, LEAVE_DEADLINE_MS, 0);
    } else {
        kill_group(p);
    }
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    gg_worker_process *p = handle->data;
    (void)suggested;
    *buf = uv_buf_init(p->block, sizeof(p->block));
}

/* What a login shell greets with, a message of the day: skipped up to the first frame, whose length fits in two bytes and whose body is an object. */
static int find_first_frame(gg_worker_process *p, gg_error *err) {
    gg_str in = gg_buf_str(&p->in);
    for (size_t i = 0; i + 5 <= in.len; i++) {
        if (in.ptr[i] != '\0' || in.ptr[i + 1] != '\0' || in.ptr[i + 4] != '{') continue;
        if (i) gg_log(GG_LOG_INFO, "skipped before the first frame: %.*s", GG_STR_ARG(gg_str_slice(in, 0, i)));
        gg_buf_consume(&p->in, i);
        p->in_step = true;
        return 0;
    }
    if (in.len <= MAX_BANNER_BYTES) return 0;
    gg_str first = gg_str_slice(in, 0, 80);
    return gg_fail(err, GG_EFRAME, "%s wrote %zu bytes that are none of graphglue-worker's; they begin with: %.*s",
                   p->options.what, in.len, GG_STR_ARG(gg_str_slice(first, 0, gg_utf8_valid_prefix(first))));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    gg_worker_process *p = stream->data;
    if (p->ending) return;
    if (count < 0) { /* an error says no more than an end: what it wrote before was read */
        uv_read_stop(stream);
        p->socket_ended = true;
        settle(p);
        return;
    }
    gg_error err = {0};
    json_t *frame = NULL;
    int got = gg_buf_append(&p->in, (gg_str){buf->base, (size_t)count});
    if (got >= 0 && !p->in_step) got = find_first_frame(p, &err);
    while (got >= 0 && p->in_step && !p->ending && (got = gg_worker_frame_next(&p->in, &frame, &err)) > 0) {
        p->options.on_frame(p->options.data, frame);
        json_decref(frame);
    }
    if (got < 0) lose(p, err.code ? err.message : "the worker sent a frame over the limit");
}

static void on_errors(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    gg_worker_process *p = stream->data;
    if (p->ending) return;
    if (count < 0) {
        uv_read_stop(stream);
        p->errors_ended = true;
        settle(p);
        return;
    }
    size_t n = (size_t)count;
    if (p->stderr_bytes < MAX_STDERR_LOGGED_BYTES) gg_log(GG_LOG_INFO, "worker says: %.*s", (int)n, buf->base);
    p->stderr_bytes += n;
    size_t fresh = n < LAST_WORDS_BYTES ? n : LAST_WORDS_BYTES;
    size_t kept = p->last_words_len < LAST_WORDS_BYTES - fresh ? p->last_words_len : LAST_WORDS_BYTES - fresh;
    memmove(p->last_words, p->last_words + p->last_words_len - kept, kept);
    memcpy(p->last_words + kept, buf->base + n - fresh, fresh);
    p->last_words_len = kept + fresh;
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

typedef struct write_request {
    uv_write_t request;
    char *bytes;
} write_request;

static void on_written(uv_write_t *request, int status) {
    (void)status; /* a broken connection shows on the reading side */
    write_request *w = (write_request *)request;
    gg_free(w->bytes);
    gg_free(w);
}

void gg_worker_process_write(gg_worker_process *p, gg_buf *frame) {
    write_request *w = gg_calloc(1, sizeof(write_request));
    uv_buf_t buf = uv_buf_init(frame->ptr, (unsigned)frame->len);
    w->bytes = gg_buf_take(frame);
    if (p->ending ||
        uv_write(&w->request, (uv_stream_t *)(p->options.stdio ? &p->input : &p->socket), &buf, 1, on_written) != 0)
        on_written(&w->request, UV_EPIPE);
}

/* ---- its start ------------------------------------------------------------------------------------------------------- */

/* The child's ends, closed when it was started; -1: none. */
typedef struct ends {
    uv_file in, out, errors, socket;
} ends;

static int open_end(uv_pipe_t *handle, uv_file *ours) {
    int error = uv_pipe_open(handle, *ours);
    if (error == 0) *ours = -1; /* the handle's now */
    return error;
}

/* A pipe that we read from; the other end in *theirs. */
static int open_reading(uv_pipe_t *handle, uv_file *theirs) {
    uv_file fds[2];
    int error = uv_pipe(fds, UV_NONBLOCK_PIPE, 0);
    if (error) return error;
    *theirs = fds[1];
    error = open_end(handle, &fds[0]);
    if (error) close(fds[0]);
    return error;
}

static int open_writing(uv_pipe_t *handle, uv_file *theirs) {
    uv_file fds[2];
    int error = uv_pipe(fds, 0, UV_NONBLOCK_PIPE);
    if (error) return error;
    *theirs = fds[0];
    error = open_end(handle, &fds[1]);
    if (error) close(fds[1]);
    return error;
}

static int open_both_ways(uv_pipe_t *handle, uv_file *theirs) {
    uv_os_sock_t fds[2];
    int error = uv_socketpair(SOCK_STREAM, 0, fds, UV_NONBLOCK_PIPE, 0);
    if (error) return error;
    *theirs = fds[1];
    error = open_end(handle, &fds[0]);
    if (error) close(fds[0]);
    return error;
}

/* On stdio: pipes, not sockets.  A shell whose stdin is a socket takes itself for one that rshd started. */
static int open_ends(gg_worker_process *p, ends *theirs) {
    int error = open_reading(&p->errors, &theirs->errors);
    if (error || !p->options.stdio) return error ? error : open_both_ways(&p->socket, &theirs->socket);
    error = open_writing(&p->input, &theirs->in);
    return error ? error : open_reading(&p->socket, &theirs->out);
}

gg_worker_process *gg_worker_process_start(uv_loop_t *loop, const gg_worker_process_options *options, gg_error *err) {
    gg_worker_process *p = gg_calloc(1, sizeof(gg_worker_process));
    ends theirs = {-1, -1, -1, -1};
    p->options = *options;
    p->open_parts = options->stdio ? 4 : 3;
    p->in_step = !options->stdio;
    snprintf(p->program, sizeof(p->program), "%s", options->program);
    gg_buf_init(&p->in, GG_MAX_WORKER_FRAME_BYTES + 4 + READ_BYTES);
    p->socket.data = p->errors.data = p->input.data = p->linger.data = p;
    uv_pipe_init(loop, &p->socket, 0);
    uv_pipe_init(loop, &p->errors, 0);
    if (options->stdio) uv_pipe_init(loop, &p->input, 0);
    uv_timer_init(loop, &p->linger);
    int error = open_ends(p, &theirs);
    if (error) gg_fail(err, GG_EWORKER, "%s could not be started: %s", options->program, uv_strerror(error));
    if (error == 0) {
        gg_child_options child = {.program = options->program,
                                  .args = options->args,
                                  .fds = {theirs.in, theirs.out, theirs.errors, theirs.socket},
                                  .fd_count = options->stdio ? 3 : 4,
                                  .data = p,
                                  .on_end = on_child_end,
                                  .on_closed = on_part_closed};
        p->child = gg_child_start(loop, &child, err);
    }
    const uv_file left[] = {theirs.in, theirs.out, theirs.errors, theirs.socket};
    for (size_t i = 0; i < GG_COUNT(left); i++)
        if (left[i] >= 0) close(left[i]);
    if (p->child == NULL) {
        gg_worker_process_end(p);
        return NULL;
    }
    p->open_parts++;
    uv_read_start((uv_stream_t *)&p->socket, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&p->errors, on_alloc, on_errors);
    return p;
}
