/* The CUDA runtime, for the host module (cuda_runtime.h).
 *
 *   cuda_devices()                   -> (runtime, error, [(index, name, total_bytes, error)…]): runtime None when there is no library,
 *                                       error None or why there is no device, or why nothing is known of that device
 *   cuda_memory(device)              -> (free_bytes, total_bytes)
 *   cuda_watch(device, interval_us)     looks at the free memory from now on
 *   cuda_watch_end(timeout_ms)       -> (least_free_bytes, total_bytes)
 *   cuda_timer(stream)                  marks the present point of a stream of the current device (0: the default stream)
 *   cuda_timer_end(timeout_ms)       -> milliseconds of the device from there to here
 *
 * All but cuda_devices raise RuntimeError with the runtime's words. */
#include "analysis/worker/cuda_runtime.h"
#include "analysis/worker/host.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static PyObject *fail(const char *words) {
    PyErr_SetString(PyExc_RuntimeError, words);
    return NULL;
}

static PyObject *pair(gg_cuda_memory memory) {
    return Py_BuildValue("(KK)", (unsigned long long)memory.free_bytes, (unsigned long long)memory.total_bytes);
}

PyObject *gg__host_cuda_devices(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    static gg_cuda_devices found; /* large */
    Py_BEGIN_ALLOW_THREADS;
    gg_cuda_list(&found);
    Py_END_ALLOW_THREADS;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < found.count; i++) {
        const gg_cuda_device *device = &found.items[i];
        PyObject *name = PyUnicode_DecodeUTF8(device->name, (Py_ssize_t)strlen(device->name), "replace");
        PyObject *row =
            name ? Py_BuildValue("(iNKz)", i, name, (unsigned long long)device->total_bytes, device->error) : NULL;
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    if (list == NULL) return NULL;
    char version[32];
    snprintf(version, sizeof(version), "%d.%d", found.runtime / 1000, found.runtime % 1000 / 10);
    return Py_BuildValue("(zzN)", found.runtime ? version : NULL, found.error, list);
}

PyObject *gg__host_cuda_memory(PyObject *self, PyObject *args) {
    (void)self;
    int device;
    gg_cuda_memory memory;
    if (!PyArg_ParseTuple(args, "i", &device)) return NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS;
    error = gg_cuda_memory_of(device, &memory);
    Py_END_ALLOW_THREADS;
    return error ? fail(error) : pair(memory);
}

PyObject *gg__host_cuda_watch(PyObject *self, PyObject *args) {
    (void)self;
    int device;
    unsigned interval_us;
    if (!PyArg_ParseTuple(args, "iI", &device, &interval_us)) return NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS;
    error = gg_cuda_watch(device, interval_us);
    Py_END_ALLOW_THREADS;
    if (error) return fail(error);
    Py_RETURN_NONE;
}

PyObject *gg__host_cuda_watch_end(PyObject *self, PyObject *args) {
    (void)self;
    int timeout_ms;
    gg_cuda_memory least;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms)) return NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS;
    error = gg_cuda_watch_end(timeout_ms, &least);
    Py_END_ALLOW_THREADS;
    return error ? fail(error) : pair(least);
}

PyObject *gg__host_cuda_timer(PyObject *self, PyObject *args) {
    (void)self;
    unsigned long long stream;
    if (!PyArg_ParseTuple(args, "K", &stream)) return NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS;
    error = gg_cuda_timer((void *)(uintptr_t)stream);
    Py_END_ALLOW_THREADS;
    if (error) return fail(error);
    Py_RETURN_NONE;
}

PyObject *gg__host_cuda_timer_end(PyObject *self, PyObject *args) {
    (void)self;
    int timeout_ms;
    double ms;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms)) return NULL;
    const char *error;
    Py_BEGIN_ALLOW_THREADS;
    error = gg_cuda_timer_end(timeout_ms, &ms);
    Py_END_ALLOW_THREADS;
    return error ? fail(error) : PyFloat_FromDouble(ms);
}
