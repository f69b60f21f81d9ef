/* What the files of the host module share.  The host module is built once against the limited API (3.10+). */
#ifndef GRAPHGLUE_HOST_H
#define GRAPHGLUE_HOST_H

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* host_audit.c */
PyObject *gg__host_watch_opens(PyObject *self, PyObject *args);
PyObject *gg__host_touched(PyObject *self, PyObject *args);

/* host_frames.c */
PyObject *gg__host_send(PyObject *self, PyObject *args);
PyObject *gg__host_recv(PyObject *self, PyObject *args);
PyObject *gg__host_open_channel(PyObject *self, PyObject *args);
PyObject *gg__host_report(PyObject *self, PyObject *args);
PyObject *gg__host_mute(PyObject *self, PyObject *args);

/* host_process.c */
PyObject *gg__host_die_with_parent(PyObject *self, PyObject *args);
PyObject *gg__host_adopt_orphans(PyObject *self, PyObject *args);
PyObject *gg__host_fork_apart(PyObject *self, PyObject *args);

/* sandbox_linux.c */
PyObject *gg__host_landlock_abi(PyObject *self, PyObject *args);
PyObject *gg__host_restrict_files(PyObject *self, PyObject *args);
PyObject *gg__host_scope_signals(PyObject *self, PyObject *args);
PyObject *gg__host_drop_privileges(PyObject *self, PyObject *args);
PyObject *gg__host_filter_calls(PyObject *self, PyObject *args);
PyObject *gg__host_close_others(PyObject *self, PyObject *args);
PyObject *gg__host_hide(PyObject *self, PyObject *args);

/* host_cuda.c */
PyObject *gg__host_cuda_devices(PyObject *self, PyObject *args);
PyObject *gg__host_cuda_memory(PyObject *self, PyObject *args);
PyObject *gg__host_cuda_watch(PyObject *self, PyObject *args);
PyObject *gg__host_cuda_watch_end(PyObject *self, PyObject *args);
PyObject *gg__host_cuda_timer(PyObject *self, PyObject *args);
PyObject *gg__host_cuda_timer_end(PyObject *self, PyObject *args);

#endif
