/* Bytes in and out: stdin → frames → dispatch, replies → stdout.  Loop thread only.
 *
 * DESIGN  What can be polled (pipe, socket, terminal) is a stream.  epoll refuses files: they are read in the thread pool, and written at once.
 * Messages are taken for a few milliseconds in a turn; what is left waits for the next one.  A large message (a file that is opened) is read as JSON
 * in the thread pool, and those behind it wait.  Nothing more is read from the client meanwhile.  Reading never waits on analysis.
 *
 * The write queue has a ceiling, beyond which the client is taken for gone.  Losing the client ends the session from a turn of its own: whoever
 * writes may hold a call or walk the documents, and must find them as they were. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "server/session.h"

enum {
    MAX_QUEUED_BYTES = 256 * 1024 * 1024,
    TURN_MS = 5,
    DRAIN_MS = 2000,
    LARGE_BYTES = 64 * 1024,
    MAX_BUFS = 1024, /* one write takes no more */
    PIPE_BYTES = 1024 * 1024
};

struct gg_transport {
    gg_session *session;
    uv_pipe_t in, out;
    uv_idle_t more;   /* active while messages wait that have arrived */
    uv_timer_t timer; /* the client was lost; later: how long the last replies may take */
    uv_fs_t file;     /* one read of an input that is a file */
    bool reads_file, in_flight, writes_file, has_out, closed;
    int open_handles;
    size_t queued;
    char block[65536];
};

typedef struct write_request {
    uv_write_t request;
    struct gg_transport *transport;
    size_t size;
    char bytes[];
} write_request;

typedef struct large_message {
    gg_session *session;
    gg_str body; /* the reader's, until the next message is taken from it */
    gg_incoming incoming;
} large_message;

static void start_reading(struct gg_transport *t);
static void stop_reading(struct gg_transport *t);
static void take_messages(struct gg_transport *t);

static void maybe_free(struct gg_transport *t) {
    if (t->open_handles == 0 && !t->in_flight) gg_free(t);
}

/* ---- losing the client ------------------------------------------------------------------------------------------------ */

static void on_lost(uv_timer_t *timer) {
    struct gg_transport *t = timer->data;
    gg_session_exit(t->session, 1);
}

static void lose_client(struct gg_transport *t) {
    if (t->closed || uv_is_active((uv_handle_t *)&t->timer)) return;
    t->has_out = false;
    uv_timer_start(&t->timer, on_lost, 0, 0);
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static void on_more(uv_idle_t *idle) {
    take_messages(idle->data);
}

static void read_large(void *data) {
    large_message *m = data;
    gg_incoming_read(&m->incoming, m->body);
}

static void on_large_read(void *data) {
    large_message *m = data;
    gg_session *session = m->session;
    if (session->transport)
        gg_dispatch_take(session, &m->incoming);
    else
        gg_message_clear(&m->incoming.message); /* the session ended meanwhile */
    gg_free(m);
    if (session->transport) take_messages(session->transport);
}

static void take_large(struct gg_transport *t, gg_str body) {
    large_message *m = gg_calloc(1, sizeof(large_message));
    m->session = t->session;
    m->body = body;
    stop_reading(t);
    gg_job_start_first(t->session, read_large, on_large_read, m);
}

static void take_messages(struct gg_transport *t) {
    gg_session *session = t->session;
    uint64_t end = (uv_now(&session->loop) + TURN_MS) * 1000000ull; /* libuv may call us many times in one turn */
    gg_str body;
    gg_error err = {0};
    int got;
    while ((got = gg_frame_reader_next(session->reader, &body, &err)) != 0) {
        if (body.len > LARGE_BYTES && got > 0) {
            take_large(t, body);
            return;
        }
        gg_incoming incoming;
        if (got > 0) {
            gg_incoming_read(&incoming, body);
            gg_dispatch_take(session, &incoming);
        } else {
            gg_send_take(session, gg_message_error_take(NULL, gg_error_rpc_code(got), err.message, NULL));
        }
        if (session->state == GG_STATE_EXITING) return;
        if (uv_hrtime() < end) continue;
        stop_reading(t);
        uv_idle_start(&t->more, on_more);
        return;
    }
    start_reading(t);
}

static void on_bytes(struct gg_transport *t, const char *bytes, ssize_t count) {
    gg_session *session = t->session;
    gg_error err = {0};
    if (count <= 0) { /* the client has gone */
        if (count != 0 && count != UV_EOF)
            gg_log(GG_LOG_ERROR, "standard input cannot be read: %s", uv_strerror((int)count));
        gg_session_exit(session, session->state == GG_STATE_SHUTDOWN ? 0 : 1);
    } else if (gg_frame_reader_push(session->reader, (gg_str){bytes, (size_t)count}, &err) != 0) {
        gg_log(GG_LOG_ERROR, "%s", err.message);
        gg_session_exit(session, 1);
    } else {
        take_messages(t);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct gg_transport *t = handle->data;
    (void)suggested;
    *buf = uv_buf_init(t->block, sizeof(t->block));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct gg_transport *t = stream->data;
    if (count != 0) on_bytes(t, buf->base, count);
}

static void on_file_read(uv_fs_t *request) {
    struct gg_transport *t = request->data;
    ssize_t count = request->result;
    uv_fs_req_cleanup(request);
    t->in_flight = false;
    if (t->closed)
        maybe_free(t);
    else
        on_bytes(t, t->block, count);
}

static void start_reading(struct gg_transport *t) {
    uv_idle_stop(&t->more);
    if (!t->reads_file) {
        if (!uv_is_active((uv_handle_t *)&t->in)) uv_read_start((uv_stream_t *)&t->in, on_alloc, on_read);
    } else if (!t->in_flight) {
        uv_buf_t block = uv_buf_init(t->block, sizeof(t->block));
        t->in_flight = true;
        uv_fs_read(&t->session->loop, &t->file, STDIN_FILENO, &block, 1, -1, on_file_read);
    }
}

static void stop_reading(struct gg_transport *t) {
    uv_idle_stop(&t->more);
    if (!t->reads_file) uv_read_stop((uv_stream_t *)&t->in);
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

static void tell_unwritable(int error) {
    gg_log(GG_LOG_ERROR, "standard output cannot be written: %s", uv_strerror(error));
}

static void write_file(struct gg_transport *t, gg_str bytes) {
    for (ssize_t n = 0; bytes.len > 0; bytes = gg_str_slice(bytes, (size_t)n, bytes.len)) {
        do n = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        while (n < 0 && errno == EINTR);
        if (n > 0) continue;
        tell_unwritable(uv_translate_sys_error(n < 0 ? errno : ENOSPC));
        lose_client(t);
        return;
    }
}

static void on_written(uv_write_t *request, int status) {
    write_request *w = (write_request *)request;
    struct gg_transport *t = w->transport;
    t->queued -= w->size;
    gg_free(w);
    if (status >= 0 || t->closed) return;
    if (t->has_out && status != UV_EPIPE) tell_unwritable(status);
    lose_client(t);
}

/* What is left of the parts when `done` bytes of them are gone, as far as one write takes it. */
static unsigned rest_of(const gg_parts *parts, size_t done, uv_buf_t *out) {
    unsigned n = 0;
    for (size_t i = 0; i < parts->len && n < MAX_BUFS; i++) {
        gg_str part = parts->items[i];
        size_t gone = done < part.len ? done : part.len;
        done -= gone;
        if (gone < part.len) out[n++] = uv_buf_init((char *)(uintptr_t)part.ptr + gone, (unsigned)(part.len - gone));
    }
    return n;
}

static void write_later(struct gg_transport *t, const gg_parts *parts, size_t done, size_t size) {
    write_request *w = gg_malloc(sizeof(write_request) + size);
    w->transport = t;
    w->size = 0;
    for (size_t i = 0; i < parts->len; i++) {
        gg_str part = parts->items[i];
        size_t gone = done < part.len ? done : part.len;
        done -= gone;
        if (gone < part.len) memcpy(w->bytes + w->size, part.ptr + gone, part.len - gone);
        w->size += part.len - gone;
    }
    uv_buf_t later = uv_buf_init(w->bytes, (unsigned)w->size);
    t->queued += w->size;
    int error = uv_write(&w->request, (uv_stream_t *)&t->out, &later, 1, on_written);
    if (error) on_written(&w->request, error);
}

void gg_transport_write(struct gg_transport *t, const gg_parts *parts) {
    if (!t->has_out) return;
    uv_buf_t bufs[MAX_BUFS];
    size_t size = 0, done = 0;
    for (size_t i = 0; i < parts->len; i++) size += parts->items[i].len;
    for (size_t i = 0; i < parts->len && t->writes_file; i++) write_file(t, parts->items[i]);
    if (t->writes_file || size == 0) return;
    if (t->queued + size > MAX_QUEUED_BYTES) {
        gg_log(GG_LOG_ERROR, "the client does not read: %zu bytes wait", t->queued);
        lose_client(t);
        return;
    }
    for (int n = 1; t->queued == 0 && done < size && n > 0;) {
        n = uv_try_write((uv_stream_t *)&t->out, bufs, rest_of(parts, done, bufs));
        if (n > 0) done += (size_t)n;
    }
    if (done < size) write_later(t, parts, done, size - done);
}

/* ---- life ----------------------------------------------------------------------------------------------------------------- */

static bool is_stream(uv_handle_type type) {
    return type == UV_NAMED_PIPE || type == UV_TCP || type == UV_TTY;
}

static int open_in(struct gg_transport *t) {
    uv_handle_type type = uv_guess_handle(STDIN_FILENO);
    t->reads_file = type == UV_FILE;
    if (t->reads_file) return 0;
    int error = is_stream(type) ? uv_pipe_open(&t->in, STDIN_FILENO) : UV_EINVAL;
    if (error == 0 && !uv_is_readable((uv_stream_t *)&t->in)) error = UV_EBADF;
    if (error) gg_log(GG_LOG_ERROR, "standard input cannot be read: %s", uv_strerror(error));
    return error;
}

static int open_out(struct gg_transport *t) {
    uv_handle_type type = uv_guess_handle(STDOUT_FILENO);
    t->writes_file = type == UV_FILE;
    int error = t->writes_file ? 0 : is_stream(type) ? uv_pipe_open(&t->out, STDOUT_FILENO) : UV_EINVAL;
    if (error == 0 && !t->writes_file && !uv_is_writable((uv_stream_t *)&t->out)) error = UV_EBADF;
    if (error) tell_unwritable(error);
#ifdef F_SETPIPE_SZ
    if (error == 0 &&
        type == UV_NAMED_PIPE) /* the diagnostics of a large file in one write; a socket, or a refusal, is fine too */
        (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
#endif
    return error;
}

struct gg_transport *gg_transport_new(gg_session *session) {
    struct gg_transport *t = gg_calloc(1, sizeof(struct gg_transport));
    t->session = session;
    uv_pipe_init(&session->loop, &t->in, 0);
    uv_pipe_init(&session->loop, &t->out, 0);
    uv_idle_init(&session->loop, &t->more);
    uv_timer_init(&session->loop, &t->timer);
    t->open_handles = 4;
    t->in.data = t->out.data = t->more.data = t->timer.data = t->file.data = t;
    t->has_out = open_out(t) == 0;
    if (open_in(t) == 0 && t->has_out)
        start_reading(t);
    else
        lose_client(t);
    return t;
}

static void on_closed(uv_handle_t *handle) {
    struct gg_transport *t = handle->data;
    t->open_handles--;
    maybe_free(t);
}

static void close_out(struct gg_transport *t) {
    if (!uv_is_closing((uv_handle_t *)&t->out)) uv_close((uv_handle_t *)&t->out, on_closed);
    if (!uv_is_closing((uv_handle_t *)&t->timer)) uv_close((uv_handle_t *)&t->timer, on_closed);
}

static void on_drained(uv_shutdown_t *request, int status) {
    (void)status;
    close_out(request->data);
    gg_free(request);
}

static void on_drain_time(uv_timer_t *timer) {
    close_out(timer->data);
}

void gg_transport_close(struct gg_transport *t) {
    bool drain = t->has_out && t->queued > 0;
    t->closed = true;
    t->has_out = false;
    uv_close((uv_handle_t *)&t->in, on_closed);
    uv_close((uv_handle_t *)&t->more, on_closed);
    if (t->in_flight) uv_cancel((uv_req_t *)&t->file);
    uv_shutdown_t *request = drain ? gg_calloc(1, sizeof(uv_shutdown_t)) : NULL;
    if (request) request->data = t;
    if (request && uv_shutdown(request, (uv_stream_t *)&t->out, on_drained) == 0) {
        uv_timer_start(&t->timer, on_drain_time, DRAIN_MS, 0);
    } else { /* nothing waits, or it cannot be waited for */
        gg_free(request);
        close_out(t);
    }
}
