/* Which files are opened, for the host module.
 *
 *   watch_opens(function) -> bool    function(path, mode, flags) is called before each open; False where Python has no such hook
 *   touched() -> int                 how often Python code has begun to change something outside its process since then
 *
 * DESIGN  sys.addaudithook would do, but it calls its hook for every audited event, and id() is one: of some 20,000 in a capture a handful
 * are an open, and all of them together cost a twentieth of its time.  PySys_AddAuditHook is no part of the limited API, though its signature
 * has been the same since 3.8: it is looked for.
 *   What is counted as a change is what a second run would show: files opened for writing, made, moved or removed, sockets, processes,
 * locks.  What compiled libraries do by themselves is not seen.
 *   What the function raises is dropped.  Threads: hooks run with the interpreter's lock held. */
#include "analysis/worker/host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

static PyObject *watcher; /* owned, for ever: a hook cannot be removed */
static long touches;

static const char *const OUTSIDE[] = {"os.",      "socket.", "subprocess.", "shutil.", "tempfile.",  "fcntl.",
                                      "sqlite3.", "syslog.", "pty.",        "signal.", "webbrowser."};
/* Of those: what reads, or changes this process only. */
static const char *const INSIDE[] = {"os.listdir",  "os.scandir",   "os.walk",           "os.fwalk",
                                     "os.getxattr", "os.listxattr", "os.putenv",         "os.unsetenv",
                                     "os.chdir",    "os.fchdir",    "socket.gethostname"};

static bool is_change(const char *event) {
    for (size_t i = 0; i < sizeof(INSIDE) / sizeof(*INSIDE); i++)
        if (strcmp(event, INSIDE[i]) == 0) return false;
    for (size_t i = 0; i < sizeof(OUTSIDE) / sizeof(*OUTSIDE); i++)
        if (strncmp(event, OUTSIDE[i], strlen(OUTSIDE[i])) == 0) return true;
    return false;
}

/* The arguments of an open: path, mode, flags. */
static bool opens_for_writing(PyObject *args) {
    PyObject *flags = PyTuple_Size(args) == 3 ? PyTuple_GetItem(args, 2) : NULL;
    if (flags == NULL || !PyLong_Check(flags)) return false;
    long value = PyLong_AsLong(flags);
    return (value & O_ACCMODE) != O_RDONLY;
}

static int on_event(const char *event, PyObject *args, void *data) {
    (void)data;
    if (event[0] == '\0' || strchr("ostfpw", event[0]) == NULL) return 0; /* nearly all of them */
    if (strcmp(event, "open") != 0) {
        if (is_change(event)) touches++;
        return 0;
    }
    if (opens_for_writing(args)) touches++;
    PyObject *result = PyObject_CallObject(watcher, args);
    if (result == NULL) PyErr_Clear();
    Py_XDECREF(result);
    return 0;
}

PyObject *gg__host_watch_opens(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "O", &function)) return NULL;
    int (*add)(int (*)(const char *, PyObject *, void *), void *);
    *(void **)&add = dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
    if (add == NULL || watcher != NULL) return PyBool_FromLong(0);
    Py_INCREF(function);
    watcher = function;
    if (add(on_event, NULL) != 0) return NULL;
    return PyBool_FromLong(1);
}

PyObject *gg__host_touched(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    return PyLong_FromLong(touches);
}
