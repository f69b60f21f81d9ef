/* _graphglue_host: what the worker's Python needs from C.  It serves as a built-in of the embedded interpreter and as an ordinary
 * extension of an executed one; see each file for its functions. */
#include "analysis/worker/host.h"

static PyMethodDef methods[] = {
    {"send", gg__host_send, METH_VARARGS, "send(fd, bytes, timeout_ms): write one frame; -1 waits for ever."},
    {"recv", gg__host_recv, METH_VARARGS, "recv(fd, timeout_ms): read one frame; None at the end of the connection."},
    {"open_channel", gg__host_open_channel, METH_VARARGS,
     "open_channel(fd, token): what report() writes to, each frame marked with 16 bytes."},
    {"report", gg__host_report, METH_VARARGS,
     "report(bytes, timeout_ms): write one marked frame; False when the descriptor is no longer the channel."},
    {"mute", gg__host_mute, METH_NOARGS, "mute(): report() writes nowhere from now on, and cannot be brought back."},
    {"die_with_parent", gg__host_die_with_parent, METH_VARARGS,
     "die_with_parent(signal): be signalled when the parent ends."},
    {"adopt_orphans", gg__host_adopt_orphans, METH_NOARGS,
     "adopt_orphans(): become the parent of orphaned descendants."},
    {"fork_apart", gg__host_fork_apart, METH_VARARGS,
     "fork_apart(what, scratch, scratch_bytes): fork into namespaces of its own; (pid, status fd), in the child (0, "
     "-1)."},
    {"landlock_abi", gg__host_landlock_abi, METH_NOARGS, "landlock_abi(): 0 where the kernel has none."},
    {"restrict_files", gg__host_restrict_files, METH_VARARGS,
     "restrict_files(read, write): only these paths, and what lies below them, from now on."},
    {"scope_signals", gg__host_scope_signals, METH_NOARGS,
     "scope_signals(): no signal to a process outside from now on."},
    {"drop_privileges", gg__host_drop_privileges, METH_VARARGS,
     "drop_privileges(real_uid): no capability from now on; whether processes are counted for that user."},
    {"filter_calls", gg__host_filter_calls, METH_VARARGS,
     "filter_calls(signals): only the system calls that Python and torch need from now on."},
    {"close_others", gg__host_close_others, METH_VARARGS, "close_others(keep): close every descriptor but these."},
    {"hide", gg__host_hide, METH_NOARGS,
     "hide(): no process without privileges can look into this one and those it forks from now on."},
    {"watch_opens", gg__host_watch_opens, METH_VARARGS,
     "watch_opens(function): function(path, mode, flags) is called before each open; False where that cannot be had."},
    {"touched", gg__host_touched, METH_NOARGS,
     "touched(): how often Python code has begun to change something outside its process since watch_opens."},
    {"cuda_devices", gg__host_cuda_devices, METH_NOARGS,
     "cuda_devices(): (runtime version or None, why there is no device or None, list of devices)."},
    {"cuda_memory", gg__host_cuda_memory, METH_VARARGS, "cuda_memory(device): (free bytes, total bytes)."},
    {"cuda_watch", gg__host_cuda_watch, METH_VARARGS,
     "cuda_watch(device, interval_us): look at the free memory from now on."},
    {"cuda_watch_end", gg__host_cuda_watch_end, METH_VARARGS,
     "cuda_watch_end(timeout_ms): (least free bytes, total bytes)."},
    {"cuda_timer", gg__host_cuda_timer, METH_VARARGS, "cuda_timer(stream): mark the present point of a stream."},
    {"cuda_timer_end", gg__host_cuda_timer_end, METH_VARARGS,
     "cuda_timer_end(timeout_ms): milliseconds of the device from there to here."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "_graphglue_host",
                                    "Frames, process control, the sandbox and the CUDA runtime.",
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
