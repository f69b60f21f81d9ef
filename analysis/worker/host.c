/* _graphglue_host: what the worker's Python needs from C.  Built once against the limited API (3.10+), it serves as a built-in of
 * the embedded interpreter and as an ordinary extension of an executed one.
 *
 *   send(fd, bytes, timeout_ms)         one frame: 4-byte big-endian length, then the bytes
 *   recv(fd, timeout_ms) -> bytes|None  one frame; None at the end of the connection
 *   die_with_parent(signal)             the kernel sends the signal when the parent process ends (Linux)
 *   adopt_orphans()                     descendants that lose their parent become this process's children (Linux)
 *   cuda_devices() -> (runtime, [(index, name, total_bytes, free_bytes)…])   runtime None when there is none
 *
 * Descriptors should not block, else a write that the other side does not take outlasts its deadline.
 * Threads: the GIL is released while waiting.  The CUDA runtime is opened with dlopen: without a driver each call answers an
 * error, which means "no device", never a failure. */
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define MAX_FRAME_BYTES (64u * 1024 * 1024)

enum outcome { DONE, END, TIMED_OUT, FAILED, TOO_BIG };

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

static PyObject *host_send(PyObject *self, PyObject *args) {
    (void)self;
    int fd, timeout_ms;
    const char *bytes;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "iy#i", &fd, &bytes, &count, &timeout_ms)) return NULL;
    if ((size_t)count > MAX_FRAME_BYTES) return raise_outcome(TOO_BIG);
    /* In one piece: a job that is killed between header and body would leave its pipe out of step. */
    char *frame = malloc((size_t)count + 4);
    if (frame == NULL) return PyErr_NoMemory();
    for (int i = 0; i < 4; i++) frame[i] = (char)((size_t)count >> (24 - 8 * i));
    memcpy(frame + 4, bytes, (size_t)count);
    int64_t deadline = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    PyThreadState *thread = PyEval_SaveThread();
    enum outcome o = transfer(fd, frame, (size_t)count + 4, 1, deadline);
    PyEval_RestoreThread(thread);
    free(frame);
    if (o != DONE) return raise_outcome(o);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *host_recv(PyObject *self, PyObject *args) {
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

static PyObject *host_die_with_parent(PyObject *self, PyObject *args) {
    (void)self;
    int number;
    if (!PyArg_ParseTuple(args, "i", &number)) return NULL;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, number);
#endif
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *host_adopt_orphans(PyObject *self, PyObject *args) {
    (void)self, (void)args;
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *no_cuda(void) {
    return Py_BuildValue("(O[])", Py_None);
}

static PyObject *host_cuda_devices(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (library == NULL) return no_cuda();
    int (*version)(int *), (*device_count)(int *), (*properties)(void *, int), (*set_device)(int),
        (*mem_info)(size_t *, size_t *);
    *(void **)&version = dlsym(library, "cudaRuntimeGetVersion");
    *(void **)&device_count = dlsym(library, "cudaGetDeviceCount");
    *(void **)&properties = dlsym(library, "cudaGetDeviceProperties");
    *(void **)&set_device = dlsym(library, "cudaSetDevice");
    *(void **)&mem_info = dlsym(library, "cudaMemGetInfo");
    if (!version || !device_count || !properties || !set_device || !mem_info) return no_cuda();
    int number = 0, devices = 0;
    if (version(&number) != 0) return no_cuda();
    if (device_count(&devices) != 0) devices = 0;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < devices; i++) {
        static char block[16384]; /* cudaDeviceProp: its size differs by version, its first field is char name[256] */
        size_t free_bytes = 0, total_bytes = 0;
        memset(block, 0, sizeof(block));
        if (properties(block, i) != 0 || set_device(i) != 0 || mem_info(&free_bytes, &total_bytes) != 0) continue;
        block[255] = '\0';
        PyObject *row =
            Py_BuildValue("(isKK)", i, block, (unsigned long long)total_bytes, (unsigned long long)free_bytes);
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    if (list == NULL) return NULL;
    PyObject *text = PyUnicode_FromFormat("%d.%d", number / 1000, number % 1000 / 10);
    return Py_BuildValue("(NN)", text, list);
}

static PyMethodDef methods[] = {
    {"send", host_send, METH_VARARGS, "send(fd, bytes, timeout_ms): write one frame; -1 waits for ever."},
    {"recv", host_recv, METH_VARARGS, "recv(fd, timeout_ms): read one frame; None at the end of the connection."},
    {"die_with_parent", host_die_with_parent, METH_VARARGS,
     "die_with_parent(signal): be signalled when the parent ends."},
    {"adopt_orphans", host_adopt_orphans, METH_NOARGS, "adopt_orphans(): become the parent of orphaned descendants."},
    {"cuda_devices", host_cuda_devices, METH_NOARGS, "cuda_devices(): (runtime version or None, list of devices)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "_graphglue_host",
                                    "Frames, process control and the CUDA runtime.",
                                    -1,
                                    methods,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__graphglue_host(void);
PyMODINIT_FUNC PyInit__graphglue_host(void) {
    return PyModule_Create(&module);
}
