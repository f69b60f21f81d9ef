/* Which files are opened, for the host module.
 *
 *   watch_opens(function) -> bool    function(path, mode, flags) is called before each open; False where Python has no such hook
 *
 * DESIGN  sys.addaudithook would do, but it calls its hook for every audited event, and id() is one: of some 20,000 in a capture a handful
 * are an open, and all of them together cost a twentieth of its time.  PySys_AddAuditHook is no part of the limited API, though its signature
 * has been the same since 3.8: it is looked for.
 *   What the function raises is dropped.  Threads: hooks run with the interpreter's lock held. */
#include "analysis/worker/host.h"

#include <dlfcn.h>
#include <string.h>

static PyObject *watcher; /* owned, for ever: a hook cannot be removed */

static int on_event(const char *event, PyObject *args, void *data) {
    (void)data;
    if (event[0] != 'o' || strcmp(event, "open") != 0) return 0;
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
