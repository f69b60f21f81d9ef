/* The CUDA runtime, for the host module: opened with dlopen.  Without a driver each call answers an error, which means "no device",
 * never a failure.
 *
 *   cuda_devices() -> (runtime, [(index, name, total_bytes, free_bytes)…])   runtime None when there is none */
#include "analysis/worker/host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static PyObject *no_cuda(void) {
    return Py_BuildValue("(O[])", Py_None);
}

PyObject *gg__host_cuda_devices(PyObject *self, PyObject *args) {
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
