/* See sandbox.h.  Constants of Landlock are written out: the headers of the machine that builds may be older than the kernel that runs. */
#include "analysis/worker/sandbox.h"

#include "analysis/worker/host.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446 }; /* the same on every architecture */

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,     /* ABI 2 */
    FS_TRUNCATE = 1 << 14,  /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
    FS_FIRST = (1 << 13) - 1,
    FS_OF_A_FILE = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE,
    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_WRITE = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SYM | FS_REFER |
               FS_TRUNCATE
};
enum { NET_BIND_TCP = 1, NET_CONNECT_TCP = 2 };        /* ABI 4 */
enum { SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNAL = 2 }; /* ABI 6 */

typedef struct ruleset {
    uint64_t files, net, scoped;
} ruleset;

typedef struct __attribute__((packed)) beneath {
    uint64_t allowed;
    int32_t parent;
} beneath;

static int landlock_abi(void) {
    long n = syscall(LANDLOCK_CREATE, NULL, (size_t)0, 1u);
    return n < 0 ? 0 : (int)n;
}

/* Older kernels refuse a structure that is longer than theirs. */
static size_t ruleset_size(int abi) {
    return abi < 4 ? offsetof(ruleset, net) : abi < 6 ? offsetof(ruleset, scoped) : sizeof(ruleset);
}

static uint64_t handled_files(int abi) {
    return FS_FIRST | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

static int enforce(int rules) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(LANDLOCK_RESTRICT, rules, 0u);
}

/* A path that is not there is none that could be opened. */
static int allow_path(int rules, const char *path, uint64_t rights) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat s;
    if (fd < 0) return 0;
    int result = fstat(fd, &s);
    if (result == 0) {
        beneath rule = {S_ISDIR(s.st_mode) ? rights : rights & FS_OF_A_FILE, fd};
        result = (int)syscall(LANDLOCK_ADD, rules, 1, &rule, 0u);
    }
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

/* -1 with a Python error set. */
static int allow_paths(int rules, PyObject *paths, uint64_t rights) {
    Py_ssize_t count = PySequence_Size(paths);
    if (count < 0) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(paths, i), *bytes = NULL;
        if (item == NULL) return -1;
        int ok = PyUnicode_FSConverter(item, &bytes);
        Py_DECREF(item);
        if (!ok) return -1;
        const char *path = PyBytes_AsString(bytes);
        int result = path ? allow_path(rules, path, rights) : -1;
        if (result != 0 && !PyErr_Occurred()) PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
        Py_DECREF(bytes);
        if (result != 0) return -1;
    }
    return 0;
}

int gg__sandbox_read_only_mounts(void) {
    struct {
        uint64_t set, clear, propagation, user_namespace;
    } attributes = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    return (int)syscall(SYS_mount_setattr, -1, "/", 0x8000u /* AT_RECURSIVE */, &attributes, sizeof(attributes));
}

static void close_between(unsigned first, unsigned last) {
    if (first > last || syscall(SYS_close_range, first, last, 0u) == 0) return;
    long end = sysconf(_SC_OPEN_MAX); /* before Linux 5.9 */
    for (unsigned fd = first; fd <= last && (long)fd < end; fd++) close((int)fd);
}

void gg__sandbox_close_others(const int *keep, size_t count) {
    unsigned first = 0;
    for (;;) {
        unsigned next = UINT32_MAX;
        for (size_t i = 0; i < count; i++)
            if (keep[i] >= 0 && (unsigned)keep[i] >= first && (unsigned)keep[i] < next) next = (unsigned)keep[i];
        if (next == UINT32_MAX) break;
        if (next > 0) close_between(first, next - 1);
        first = next + 1;
    }
    close_between(first, UINT32_MAX - 1);
}

bool gg__sandbox_has_capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    return syscall(SYS_capget, &head, data) == 0 && (data[0].effective || data[1].effective);
}

int gg__sandbox_drop_capabilities(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* refused without CAP_SETPCAP: then there is nothing to gain either */
    return (int)syscall(SYS_capset, &head, none);
}

PyObject *gg__host_landlock_abi(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    return PyLong_FromLong(landlock_abi());
}

PyObject *gg__host_restrict_files(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *read, *write, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO", &read, &write)) return NULL;
    int abi = landlock_abi();
    ruleset wanted = {handled_files(abi), NET_BIND_TCP | NET_CONNECT_TCP, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNAL};
    int rules = (int)syscall(LANDLOCK_CREATE, &wanted, ruleset_size(abi), 0u);
    if (rules < 0) return PyErr_SetFromErrno(PyExc_OSError);
    if (allow_paths(rules, read, FS_READ & wanted.files) != 0) goto cleanup;
    if (allow_paths(rules, write, (FS_READ | FS_WRITE) & wanted.files) != 0) goto cleanup;
    if (enforce(rules) != 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        goto cleanup;
    }
    Py_INCREF(Py_None);
    result = Py_None;
cleanup:
    close(rules);
    return result;
}

PyObject *gg__host_scope_signals(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    ruleset wanted = {0, 0, SCOPE_SIGNAL};
    int rules = (int)syscall(LANDLOCK_CREATE, &wanted, sizeof(wanted), 0u);
    int result = rules < 0 ? -1 : enforce(rules);
    int error = errno;
    if (rules >= 0) close(rules);
    errno = error;
    if (result != 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *gg__host_drop_privileges(PyObject *self, PyObject *args) {
    (void)self;
    unsigned real_uid;
    if (!PyArg_ParseTuple(args, "I", &real_uid)) return NULL;
    /* RLIMIT_NPROC counts by the real user and does not bind root: a number of its own makes it bind, while the effective one keeps
     * what may be read.  Refused without CAP_SETUID, where the limit binds already. */
    int counted = (int)syscall(SYS_setresuid, real_uid, -1, -1);
    if (gg__sandbox_drop_capabilities() != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    prctl(PR_SET_DUMPABLE, 1);
    return PyBool_FromLong(counted == 0);
}

PyObject *gg__host_hide(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *gg__host_filter_calls(PyObject *self, PyObject *args) {
    (void)self;
    int signals;
    if (!PyArg_ParseTuple(args, "p", &signals)) return NULL;
    if (gg__sandbox_filter(signals != 0) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *gg__host_close_others(PyObject *self, PyObject *args) {
    (void)self;
    enum { MAX_KEPT = 32 };
    int keep[MAX_KEPT];
    PyObject *list;
    if (!PyArg_ParseTuple(args, "O", &list)) return NULL;
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0) return NULL;
    for (Py_ssize_t i = 0; i < count && i < MAX_KEPT; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        long fd = item ? PyLong_AsLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) return NULL;
        keep[i] = (int)fd;
    }
    gg__sandbox_close_others(keep, (size_t)(count < MAX_KEPT ? count : MAX_KEPT));
    Py_INCREF(Py_None);
    return Py_None;
}
#else
static PyObject *absent(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    PyErr_SetString(PyExc_OSError, "the sandbox is a thing of Linux");
    return NULL;
}
PyObject *gg__host_landlock_abi(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    return PyLong_FromLong(0);
}
PyObject *gg__host_restrict_files(PyObject *self, PyObject *args) {
    return absent(self, args);
}
PyObject *gg__host_scope_signals(PyObject *self, PyObject *args) {
    return absent(self, args);
}
PyObject *gg__host_drop_privileges(PyObject *self, PyObject *args) {
    return absent(self, args);
}
PyObject *gg__host_filter_calls(PyObject *self, PyObject *args) {
    return absent(self, args);
}
PyObject *gg__host_close_others(PyObject *self, PyObject *args) {
    return absent(self, args);
}
PyObject *gg__host_hide(PyObject *self, PyObject *args) {
    return absent(self, args);
}
#endif
