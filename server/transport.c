/* Bytes in and out: stdin → frames → dispatch, replies → stdout.  Loop thread only.
 * Reading never waits on analysis; the write queue has a ceiling, beyond which the client is taken for gone. */
#include <unistd.h>

#include "server/session.h"

enum { MAX_QUEUED_BYTES = 256 * 1024 * 1024 };

typedef struct gg_transport {
    gg_session *session;
    uv_pipe_t in, out;
    bool in_open, out_open;
    size_t queued;
    char block[65536];
} gg_transport;

typedef struct write_request {
    uv_write_t request;
    gg_transport *transport;
    size_t size;
    char bytes[];
} write_request;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    gg_transport *t = handle->data;
    (void)suggested;
    *buf = uv_buf_init(t->block, sizeof(t->block));
}

static void take_messages(gg_session *session) {
    gg_str body;
    gg_error err = {0};
    int got;
    while (session->state != GG_STATE_EXITING && (got = gg_frame_reader_next(session->reader, &body, &err)) != 0) {
        if (got > 0)
            gg_dispatch(session, body);
        else
            gg_send_take(session, gg_message_error_take(NULL, gg_error_rpc_code(got), err.message, NULL));
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    gg_transport *t = stream->data;
    gg_session *session = t->session;
    if (count < 0) { /* the client has gone */
        gg_session_exit(session, session->state == GG_STATE_SHUTDOWN ? 0 : 1);
        return;
    }
    gg_error err = {0};
    if (gg_frame_reader_push(session->reader, (gg_str){buf->base, (size_t)count}, &err) != 0) {
        gg_log(GG_LOG_ERROR, "%s", err.message);
        gg_session_exit(session, 1);
        return;
    }
    take_messages(session);
}

gg_transport *gg_transport_new(gg_session *session) {
    gg_transport *t = gg_calloc(1, sizeof(gg_transport));
    t->session = session;
    uv_pipe_init(&session->loop, &t->in, 0);
    uv_pipe_init(&session->loop, &t->out, 0);
    t->in.data = t->out.data = t;
    t->in_open = uv_pipe_open(&t->in, STDIN_FILENO) == 0;
    t->out_open = uv_pipe_open(&t->out, STDOUT_FILENO) == 0;
    if (t->in_open) uv_read_start((uv_stream_t *)&t->in, on_alloc, on_read);
    return t;
}

static void on_written(uv_write_t *request, int status) {
    write_request *w = (write_request *)request;
    w->transport->queued -= w->size;
    if (status < 0 && status != UV_ECANCELED) gg_session_exit(w->transport->session, 1);
    gg_free(w);
}

void gg_transport_write(gg_transport *t, gg_str bytes) {
    if (!t->out_open) return;
    if (t->queued + bytes.len > MAX_QUEUED_BYTES) {
        gg_log(GG_LOG_ERROR, "the client does not read: %zu bytes wait", t->queued);
        gg_session_exit(t->session, 1);
        return;
    }
    uv_buf_t now = uv_buf_init((char *)(uintptr_t)bytes.ptr, (unsigned)bytes.len);
    size_t done = 0;
    if (t->queued == 0) {
        int n = uv_try_write((uv_stream_t *)&t->out, &now, 1);
        if (n > 0) done = (size_t)n;
    }
    if (done == bytes.len) return;
    write_request *w = gg_malloc(sizeof(write_request) + bytes.len - done);
    w->transport = t;
    w->size = bytes.len - done;
    memcpy(w->bytes, bytes.ptr + done, w->size);
    uv_buf_t later = uv_buf_init(w->bytes, (unsigned)w->size);
    t->queued += w->size;
    if (uv_write(&w->request, (uv_stream_t *)&t->out, &later, 1, on_written) != 0)
        on_written(&w->request, UV_ECANCELED);
}

static void on_closed(uv_handle_t *handle) {
    gg_transport *t = handle->data;
    if (handle == (uv_handle_t *)&t->in)
        t->in_open = false;
    else
        t->out_open = false;
    handle->data = NULL;
    if (t->in.data == NULL && t->out.data == NULL) gg_free(t);
}

static void on_shutdown(uv_shutdown_t *request, int status) {
    (void)status;
    if (!uv_is_closing((uv_handle_t *)request->handle)) uv_close((uv_handle_t *)request->handle, on_closed);
    gg_free(request);
}

void gg_transport_close(gg_transport *t) {
    bool drain = t->out_open && t->queued > 0;
    t->out_open = false;
    uv_close((uv_handle_t *)&t->in, on_closed);
    uv_shutdown_t *request = drain ? gg_calloc(1, sizeof(uv_shutdown_t)) : NULL;
    if (request == NULL || uv_shutdown(request, (uv_stream_t *)&t->out, on_shutdown) !=
                               0) { /* nothing waits, or it cannot be waited for */
        gg_free(request);
        uv_close((uv_handle_t *)&t->out, on_closed);
    }
}
