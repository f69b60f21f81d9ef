/* Processes, for the host module.  All that is Linux-only about them is here.
 *
 *   die_with_parent(signal)   the kernel sends the signal when the parent process ends
 *   adopt_orphans()           descendants that lose their parent become this process's children
 *   fork_apart(what, scratch, scratch_bytes) -> (pid, status)    in the child (0, -1)
 *
 * DESIGN  fork_apart makes two processes.  The outer one, whose pid is returned, is process 1 of a new PID namespace: it runs no
 * Python, only waits.  The inner one is the job.  Whatever the job starts, daemons and fork bombs too, is in the namespace, sees
 * no process outside it, and is gone once process 1 is; the kernel does that.  The job itself is not process 1, since the kernel drops
 * signals for process 1 that it has no handler for, and abort() or kill(getpid()) would not end it.
 *   A fork bomb runs into MAX_TASKS where the kernel counts for a namespace, else into RLIMIT_NPROC (child.py), else into the
 * zygote, which counts ten times a second and ends the job.
 *   `status` is a pipe with one gg_record, written when the job ends or when something could not be set up.
 *   Without privileges a user namespace comes first, in which the job has the user's own ids and no capability.
 *
 * Threads: fork_apart is called in a process with one thread. */
#include "analysis/worker/host.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

PyObject *gg__host_die_with_parent(PyObject *self, PyObject *args) {
    (void)self;
    int number;
    if (!PyArg_ParseTuple(args, "i", &number)) return NULL;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, number);
#endif
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *gg__host_adopt_orphans(PyObject *self, PyObject *args) {
    (void)self, (void)args;
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    Py_INCREF(Py_None);
    return Py_None;
}

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/worker/sandbox.h"

enum { MAX_TASKS = 1024 }; /* processes and threads of a job; child.py's too */

/* What to be apart in; the numbers are forks.py's too. */
enum { APART_PROCESSES = 1, APART_NETWORK = 2, APART_WRITES = 4, APART_UNPRIVILEGED = 8 };

typedef struct record {
    int32_t wait_status;
    char failed[124]; /* what could not be set up, and why; empty when the job ran */
} record;

typedef struct apart {
    int what;
    const char *scratch; /* NULL: none */
    unsigned long long scratch_bytes;
    bool user_namespace;
    uid_t uid;
    gid_t gid;
    int status; /* our end of the pipe */
    sigset_t mask;
} apart;

static _Noreturn void fail(const apart *a, const char *what) {
    record r = {0};
    snprintf(r.failed, sizeof(r.failed), "%s: %s", what, strerror(errno));
    ssize_t ignored = write(a->status, &r, sizeof(r));
    (void)ignored;
    _exit(1);
}

static int write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return n < 0 ? -1 : 0;
}

static void map_ids(const apart *a) {
    char line[64];
    write_file("/proc/self/setgroups", "deny"); /* absent before Linux 3.19 */
    snprintf(line, sizeof(line), "%u %u 1", (unsigned)a->uid, (unsigned)a->uid);
    if (write_file("/proc/self/uid_map", line) != 0) fail(a, "mapping the user in a user namespace");
    snprintf(line, sizeof(line), "%u %u 1", (unsigned)a->gid, (unsigned)a->gid);
    if (write_file("/proc/self/gid_map", line) != 0) fail(a, "mapping the group in a user namespace");
}

/* Since Linux 6.14 the ceiling is the namespace's own, and binds root too; before, this file is the whole machine's. */
static void limit_tasks(void) {
    struct utsname name;
    char line[16], *end;
    if (uname(&name) != 0) return;
    long major = strtol(name.release, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major < 6 || (major == 6 && minor < 14)) return;
    snprintf(line, sizeof(line), "%d", MAX_TASKS);
    write_file("/proc/sys/kernel/pid_max", line);
}

/* A /proc that shows the namespace's own processes; everything read-only but a bounded scratch folder in memory. */
static void mount_all(const apart *a) {
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) fail(a, "detaching the mounts");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) fail(a, "mounting /proc");
    limit_tasks();
    if (a->what & APART_WRITES && gg__sandbox_read_only_mounts() != 0) fail(a, "making the mounts read-only");
    if (a->scratch) {
        char options[96];
        snprintf(options, sizeof(options), "size=%llu,nr_inodes=16384,mode=0700", a->scratch_bytes);
        if (mount("scratch", a->scratch, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0)
            fail(a, "mounting the scratch folder");
    }
}

/* Process 1: everything in the namespace ends with it, and it ends with the job. */
static _Noreturn void await_job(const apart *a, pid_t job) {
    record r = {0};
    gg__sandbox_close_others(&a->status, 1);
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid == job) {
            r.wait_status = status;
            break;
        }
        if (pid < 0 && errno != EINTR) fail(a, "waiting for the job");
    }
    ssize_t ignored = write(a->status, &r, sizeof(r));
    (void)ignored;
    _exit(0);
}

/* Runs in the outer process; returns in the inner one. */
static void become_job(const apart *a) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct pollfd alive = {a->status, 0, 0};
    if (poll(&alive, 1, 0) > 0) _exit(1); /* the zygote was gone before that */
    if (a->user_namespace) map_ids(a);
    mount_all(a);
    pid_t job = fork();
    if (job < 0) fail(a, "forking");
    if (job > 0) await_job(a, job);
    close(a->status);
    if (a->user_namespace && gg__sandbox_drop_capabilities() != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, 1); /* else the zygote could not ask how much memory it takes */
    sigprocmask(SIG_SETMASK, &a->mask, NULL);
}

static pid_t clone_apart(apart *a) {
    unsigned long flags = SIGCHLD | CLONE_NEWPID | CLONE_NEWNS;
    if (a->what & APART_NETWORK) flags |= CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    pid_t pid = (pid_t)syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
    /* Root in a container has powers over files that it would lose in a user namespace: only where that is meant. */
    bool may_give_up = a->what & APART_UNPRIVILEGED || !gg__sandbox_has_capabilities();
    if (pid < 0 && errno == EPERM && may_give_up) {
        a->user_namespace = true;
        pid = (pid_t)syscall(SYS_clone, flags | CLONE_NEWUSER, 0L, 0L, 0L, 0L);
    }
    return pid;
}

PyObject *gg__host_fork_apart(PyObject *self, PyObject *args) {
    (void)self;
    apart a = {.uid = geteuid(), .gid = getegid()};
    int ends[2];
    sigset_t all;
    if (!PyArg_ParseTuple(args, "izK", &a.what, &a.scratch, &a.scratch_bytes)) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) return PyErr_SetFromErrno(PyExc_OSError);
    a.status = ends[1];
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &a.mask); /* process 1 takes no signal, and no handler runs before Python is ready */
    PyOS_BeforeFork();
    pid_t pid = clone_apart(&a);
    if (pid == 0) {
        close(ends[0]);
        become_job(&a);
        PyOS_AfterFork_Child();
        return Py_BuildValue("(ii)", 0, -1);
    }
    int error = errno;
    PyOS_AfterFork_Parent();
    sigprocmask(SIG_SETMASK, &a.mask, NULL);
    close(ends[1]);
    if (pid > 0) return Py_BuildValue("(ii)", (int)pid, ends[0]);
    close(ends[0]);
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
}
#else
PyObject *gg__host_fork_apart(PyObject *self, PyObject *args) {
    (void)self, (void)args;
    PyErr_SetString(PyExc_OSError, "namespaces are a thing of Linux");
    return NULL;
}
#endif
