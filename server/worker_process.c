/* See worker_process.h.
 *
 * DESIGN  The exit of a process can be seen before the last bytes it wrote are read.  So it is lost only when both its exit and the end of
 * what it wrote have been seen; `linger` bounds the wait for the second, since a descendant may hold the connection open.  The process
 * handle is closed when the process was reaped, never before: libuv forgets a closed one, and a zombie would stay. */
#include "server/worker_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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
    uv_process_t handle;
    uv_pipe_t socket, errors;
    uv_pipe_t input; /* of its stdin, when the protocol is on stdio */
    uv_timer_t linger;
    int open_handles;
    bool spawned, exited, socket_ended, errors_ended, ending, killed;
    bool in_step; /* the first frame was found */
    int64_t exit_status;
    int exit_signal;
    gg_buf in;
    size_t stderr_bytes;
    char last_words[LAST_WORDS_BYTES]; /* the end of what it wrote on stderr, not NUL-ended */
    size_t last_words_len;
    char block[READ_BYTES];
};

/* ---- its end --------------------------------------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle) {
    gg_worker_process *p = handle->data;
    if (--p->open_handles > 0) return;
    void (*closed)(void *) = p->options.on_closed;
    void *data = p->options.data;
    gg_buf_clear(&p->in);
    gg_free(p);
    closed(data);
}

static void close_handle(void *handle) {
    const uv_handle_t *h = handle;
    if (h->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handle)) uv_close(handle, on_handle_closed);
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
    else if (p->exit_signal)
        snprintf(out, size, "%s was killed by signal %d%s%s", what, p->exit_signal, colon, line);
    else
        snprintf(out, size, "%s ended by itself (exit code %d)%s%s", what, (int)p->exit_status, colon, line);
}

static void on_linger(uv_timer_t *timer);

static void lose(gg_worker_process *p, const char *why) {
    if (p->ending) return;
    p->ending = true;
    p->options.on_lost(p->options.data, why);
}

static void lose_ended(gg_worker_process *p) {
    char why[LAST_WORDS_BYTES + 512];
    describe_end(p, why, sizeof(why));
    lose(p, why);
}

static void kill_group(gg_worker_process *p) {
    p->killed = true;
    kill(-p->handle.pid, SIGKILL);
    uv_timer_start(&p->linger, on_linger, REAP_DEADLINE_MS, 0);
}

static void on_linger(uv_timer_t *timer) {
    gg_worker_process *p = timer->data;
    if (!uv_is_closing((uv_handle_t *)&p->socket)) {
        lose_ended(p);
    } else if (!p->killed) {
        kill_group(p);
    } else { /* it cannot even be killed: nobody waits for it longer */
        close_handle(&p->handle);
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

static void on_process_exit(uv_process_t *handle, int64_t status, int signal_number) {
    gg_worker_process *p = handle->data;
    p->exited = true;
    p->exit_status = status;
    p->exit_signal = signal_number;
    kill(-handle->pid, SIGKILL); /* what it left behind; while the group lives, its number is nobody else's */
    if (uv_is_closing((uv_handle_t *)&p->socket)) {
        close_handle(&p->handle);
        close_handle(&p->linger);
        return;
    }
    settle(p);
}

void gg_worker_process_end(gg_worker_process *p) {
    p->ending = true;
    close_handle(&p->socket);
    close_handle(&p->errors);
    if (p->options.stdio) close_handle(&p->input);
    if (!p->spawned || p->exited) {
        close_handle(&p->handle);
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

static int spawn(gg_worker_process *p, uv_loop_t *loop, uv_stdio_container_t *stdio, int count) {
    stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[2].data.stream = (uv_stream_t *)&p->errors;
    uv_process_options_t options = {.file = p->options.program,
                                    .args = (char **)p->options.args,
                                    .stdio = stdio,
                                    .stdio_count = count,
                                    .exit_cb = on_process_exit,
                                    .flags = UV_PROCESS_DETACHED};
    return uv_spawn(loop, &p->handle, &options);
}

static int spawn_with_socket(gg_worker_process *p, uv_loop_t *loop) {
    uv_stdio_container_t stdio[4] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE}};
    stdio[3].flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE;
    stdio[3].data.stream = (uv_stream_t *)&p->socket;
    return spawn(p, loop, stdio, 4);
}

/* Pipes, not sockets: a shell whose stdin is a socket takes itself for one that rshd started. */
static int spawn_on_stdio(gg_worker_process *p, uv_loop_t *loop) {
    uv_file in[2] = {-1, -1}, out[2] = {-1, -1};
    uv_stdio_container_t stdio[3] = {{.flags = UV_INHERIT_FD}, {.flags = UV_INHERIT_FD}};
    int error = uv_pipe(in, 0, UV_NONBLOCK_PIPE);
    if (error == 0) error = uv_pipe(out, UV_NONBLOCK_PIPE, 0);
    if (error == 0) error = uv_pipe_open(&p->input, in[1]);
    if (error == 0) in[1] = -1; /* the handle's now */
    if (error == 0) error = uv_pipe_open(&p->socket, out[0]);
    if (error == 0) out[0] = -1;
    stdio[0].data.fd = in[0];
    stdio[1].data.fd = out[1];
    if (error == 0) error = spawn(p, loop, stdio, 3);
    const uv_file left[] = {in[0], in[1], out[0], out[1]};
    for (size_t i = 0; i < GG_COUNT(left); i++)
        if (left[i] >= 0) close(left[i]);
    return error;
}

gg_worker_process *gg_worker_process_start(uv_loop_t *loop, const gg_worker_process_options *options, gg_error *err) {
    gg_worker_process *p = gg_calloc(1, sizeof(gg_worker_process));
    p->options = *options;
    p->open_handles = options->stdio ? 4 : 3;
    p->in_step = !options->stdio;
    gg_buf_init(&p->in, GG_MAX_WORKER_FRAME_BYTES + 4 + READ_BYTES);
    p->handle.data = p->socket.data = p->errors.data = p->input.data = p->linger.data = p;
    uv_pipe_init(loop, &p->socket, 0);
    uv_pipe_init(loop, &p->errors, 0);
    if (options->stdio) uv_pipe_init(loop, &p->input, 0);
    uv_timer_init(loop, &p->linger);
    int error = options->stdio ? spawn_on_stdio(p, loop) : spawn_with_socket(p, loop);
    p->spawned = error == 0;
    if (p->handle.type == UV_PROCESS)
        p->open_handles++; /* uv_spawn was reached, which makes a handle also when it fails */
    if (error) {
        gg_fail(err, GG_EWORKER, "%s could not be started: %s", options->program, uv_strerror(error));
        gg_worker_process_end(p);
        return NULL;
    }
    uv_read_start((uv_stream_t *)&p->socket, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&p->errors, on_alloc, on_errors);
    return p;
}
