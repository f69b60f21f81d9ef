/* Frames of the worker's protocol, for the host module.
 *
 *   send(fd, bytes, timeout_ms)         one frame: 4-byte big-endian length, then the bytes
 *   recv(fd, timeout_ms) -> bytes|None  one frame; None at the end of the connection
 *   open_channel(fd, token)             from now on report() writes there
 *   report(bytes, timeout_ms) -> bool   one frame of a job: length, the 16 bytes of the token, the bytes
 *   mute()                              closes the channel: a fork that runs what nobody trusts has nothing to report through
 *
 * DESIGN  A job reports from the process that runs user code.  That code may close every descriptor, or open a file that gets the
 * channel's number: so report() looks whether the descriptor is still the socket it was, else our frames would end in a file of the
 * user's.  And it may write to any descriptor it finds: so each frame carries a token that only the zygote and this module's memory
 * hold.  It is no defence against code that calls this module; what such code cannot do is said in docs/sandbox.md.
 *
 * Descriptors should not block, else a write that the other side does not take outlasts its deadline.
 * Threads: the GIL is released while waiting; one frame is written at a time, since a job reports from one thread. */
#include "analysis/worker/host.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAME_BYTES (64u * 1024 * 1024)
enum { TOKEN_BYTES = 16 };

enum outcome { DONE, END, TIMED_OUT, FAILED, TOO_BIG };

static struct {
    int fd;
    dev_t device;
    ino_t inode;
    char token[TOKEN_BYTES];
} channel = {.fd = -1};

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum outcome wait_for(int fd, short events, int64_t deadline) {
    for (;;) {
        int64_t left = deadline < 0 ? -1 : deadline - now_ms();
        if (deadline >= 0 && left < 0) left = 0;
        struct pollfd p = {fd, events, 0};
        int n = poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left);
        if (n > 0) return DONE;
        if (n == 0) return TIMED_OUT;
        if (errno != EINTR) return FAILED;
    }
}

static enum outcome transfer(int fd, char *bytes, size_t count, int writing, int64_t deadline) {
    for (size_t at = 0; at < count;) {
        enum outcome o = wait_for(fd, writing ? POLLOUT : POLLIN, deadline);
        if (o != DONE) return o;
        ssize_t n = writing ? write(fd, bytes + at, count - at) : read(fd, bytes + at, count - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 && !writing)
            return END;
        else if (n < 0 && errno != EINTR && errno != EAGAIN)
            return FAILED;
    }
    return DONE;
}

static PyObject *raise_outcome(enum outcome o) {
    if (o == TIMED_OUT)
        PyErr_SetString(PyExc_TimeoutError, "the other side did not take or send a frame in time");
    else if (o == TOO_BIG)
        PyErr_SetString(PyExc_ValueError, "the frame is over 64 MiB");
    else if (o == END)
        PyErr_SetString(PyExc_EOFError, "the connection ended inside a frame");
    else
        PyErr_SetFromErrno(PyExc_OSError);
    return NULL;
}

/* In one piece: a job that is killed between header and body would leave its channel out of step. */
static PyObject *write_frame(int fd, const char *token, const char *bytes, Py_ssize_t count, int timeout_ms) {
    if ((size_t)count > MAX_FRAME_BYTES) return raise_outcome(TOO_BIG);
    size_t head = token ? 4 + TOKEN_BYTES : 4;
    char *frame = malloc((size_t)count + head);
    if (frame == NULL) return PyErr_NoMemory();
    for (int i = 0; i < 4; i++) frame[i] = (char)((size_t)count >> (24 - 8 * i));
    if (token) memcpy(frame + 4, token, TOKEN_BYTES);
    memcpy(frame + head, bytes, (size_t)count);
    int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    PyThreadState *thread = PyEval_SaveThread();
    enum outcome o = transfer(fd, frame, (size_t)count + head, 1, deadline);
    PyEval_RestoreThread(thread);
    free(frame);
    if (o != DONE) return raise_outcome(o);
    Py_INCREF(Py_True);
    return Py_True;
}

PyObject *gg__host_send(PyObject *self, PyObject *args) {
    (void)self;
    int fd, timeout_ms;
    const char *bytes;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "iy#i", &fd, &bytes, &count, &timeout_ms)) return NULL;
    return write_frame(fd, NULL, bytes, count, timeout_ms);
}

PyObject *gg__host_recv(PyObject *self, PyObject *args) {
    (void)self;
    int fd, timeout_ms;
    if (!PyArg_ParseTuple(args, "ii", &fd, &timeout_ms)) return NULL;
    int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    unsigned char header[4];
    enum outcome o;
    PyThreadState *thread = PyEval_SaveThread();
    o = transfer(fd, (char *)header, 4, 0, deadline);
    PyEval_RestoreThread(thread);
    if (o == END) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    if (o != DONE) return raise_outcome(o);
    size_t count = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    if (count > MAX_FRAME_BYTES) return raise_outcome(TOO_BIG);
    PyObject *body = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count);
    if (body == NULL) return NULL;
    char *into = PyBytes_AsString(body);
    thread = PyEval_SaveThread();
    o = transfer(fd, into, count, 0, deadline);
    PyEval_RestoreThread(thread);
    if (o == DONE) return body;
    Py_DECREF(body);
    return raise_outcome(o);
}

PyObject *gg__host_open_channel(PyObject *self, PyObject *args) {
    (void)self;
    int fd;
    const char *token;
    Py_ssize_t count;
    struct stat s;
    if (!PyArg_ParseTuple(args, "iy#", &fd, &token, &count)) return NULL;
    if (count != TOKEN_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a token has 16 bytes");
        return NULL;
    }
    if (fstat(fd, &s) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    channel.fd = fd;
    channel.device = s.st_dev;
    channel.inode = s.st_ino;
    memcpy(channel.token, token, TOKEN_BYTES);
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *gg__host_report(PyObject *self, PyObject *args) {
    (void)self;
    int timeout_ms;
    const char *bytes;
    Py_ssize_t count;
    struct stat s;
    if (!PyArg_ParseTuple(args, "y#i", &bytes, &count, &timeout_ms)) return NULL;
    if (fstat(channel.fd, &s) != 0 || s.st_dev != channel.device || s.st_ino != channel.inode) {
        Py_INCREF(Py_False);
        return Py_False;
    }
    return write_frame(channel.fd, channel.token, bytes, count, timeout_ms);
}

PyObject *gg__host_mute(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    struct stat s;
    if (fstat(channel.fd, &s) == 0 && s.st_dev == channel.device && s.st_ino == channel.inode) close(channel.fd);
    memset(&channel, 0, sizeof(channel));
    channel.fd = -1;
    Py_INCREF(Py_None);
    return Py_None;
}
