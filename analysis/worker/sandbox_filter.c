/* The system calls that sandboxed code may make: a list of what Python, torch and Dynamo need, on x86_64 and aarch64.  See sandbox.h.
 *
 * DESIGN  What is not in the list answers EPERM, so that Python raises PermissionError and the finding can say what was refused.
 * What is newer than the list, and the calls that a C library tries before an older one (clone3, openat2), answer ENOSYS.
 * Left out on purpose: socket and what works on other sockets; execve; ptrace and process_vm_*; mount and namespaces; chmod,
 * chown, utimes and xattrs, which Landlock does not govern; memfd_create, whose memory no ceiling counts; io_uring, which would
 * pass by this filter; keys, bpf, perf, userfaultfd, handles.
 *
 * Filters see numbers, never what a pointer points to. */
#include "analysis/worker/sandbox.h"

#include <errno.h>
#ifdef __linux__
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined(__x86_64__)
#define GG_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define GG_ARCH AUDIT_ARCH_AARCH64
#endif
#endif

#ifdef GG_ARCH
/* Numbers above 423 are the same everywhere; the headers of the machine that builds may not have them. */
enum {
    NR_CLONE3 = 435,
    NR_CLOSE_RANGE = 436,
    NR_OPENAT2 = 437,
    NR_FACCESSAT2 = 439,
    NR_EPOLL_PWAIT2 = 441,
    NR_PIDFD_SEND_SIGNAL = 424,
    NR_PIDFD_OPEN = 434,
    NR_FUTEX_WAITV = 449,
    NR_FIRST_UNKNOWN = 450
};

static const int allowed[] = {
    /* files */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_lseek,
    SYS_close,
    NR_CLOSE_RANGE,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    NR_FACCESSAT2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_umask,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_flock,
    SYS_fadvise64,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_fgetxattr,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_flistxattr,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    /* memory */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_msync,
    SYS_get_mempolicy,
    /* waiting */
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    NR_EPOLL_PWAIT2,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_signalfd4,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_futex,
    NR_FUTEX_WAITV,
    SYS_restart_syscall,
    /* time */
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_times,
    SYS_getitimer,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_getoverrun,
    SYS_timer_delete,
    /* signals of its own */
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    /* processes and threads (clone below) */
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    NR_PIDFD_OPEN,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_membarrier,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_capget,
    SYS_prctl,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getpriority,
    SYS_getcpu,
    SYS_getrusage,
    SYS_getrlimit,
    SYS_setrlimit,
    /* the socket pair of an event loop */
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_getsockopt,
    SYS_getsockname,
    SYS_getpeername,
    /* the machine */
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
#ifdef __x86_64__
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_signalfd,
    SYS_alarm,
    SYS_pause,
    SYS_time,
    SYS_fork,
    SYS_vfork,
    SYS_getpgrp,
    SYS_arch_prctl,
#endif
};

static const int signal_calls[] = {SYS_kill, SYS_tkill, SYS_tgkill, NR_PIDFD_SEND_SIGNAL};

static const unsigned ioctls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#define NAMESPACE_FLAGS 0x7E020000u

enum { MAX_PROGRAM = 1024, SETOWN_EX = 15 };

typedef struct program {
    struct sock_filter code[MAX_PROGRAM];
    unsigned short count;
} program;

#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#define ARG(i) \
    ((uint32_t)offsetof(struct seccomp_data, args) + 8u * (i)) /* low half: both machines are little-endian */

static void emit(program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t value) {
    if (p->count < MAX_PROGRAM) p->code[p->count++] = (struct sock_filter){code, yes, no, value};
}

static void load(program *p, uint32_t offset) {
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

static void answer(program *p, uint32_t verdict) {
    emit(p, BPF_RET | BPF_K, 0, 0, verdict);
}

static void allow(program *p, int number) {
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)number);
    answer(p, SECCOMP_RET_ALLOW);
}

/* What is emitted until `end_call` holds for that call only. */
static size_t begin_call(program *p, int number) {
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)number);
    return p->count - 1u;
}

static void end_call(program *p, size_t begin, uint32_t otherwise) {
    answer(p, otherwise);
    p->code[begin].jf = (uint8_t)(p->count - begin - 1);
}

/* Answers when an argument, masked, has the value. */
static void answer_if(program *p, unsigned argument, uint32_t mask, uint32_t value, uint32_t verdict) {
    load(p, ARG(argument));
    emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    answer(p, verdict);
}

/* The call is allowed only when an argument, masked, has the value. */
static void allow_only(program *p, int number, unsigned argument, uint32_t mask, uint32_t value) {
    size_t call = begin_call(p, number);
    answer_if(p, argument, mask, value, SECCOMP_RET_ALLOW);
    end_call(p, call, REFUSED);
}

/* Truncating without opening for writing is a write that Landlock 1 and 2 do not see; the access mode 3 is for ioctl only. */
static void allow_open(program *p, int number, unsigned flags) {
    size_t call = begin_call(p, number);
    answer_if(p, flags, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY, REFUSED);
    answer_if(p, flags, O_TRUNC | O_ACCMODE, O_TRUNC | O_ACCMODE, REFUSED);
    end_call(p, call, SECCOMP_RET_ALLOW);
}

static void with_arguments(program *p) {
    allow_only(p, SYS_clone, 0, NAMESPACE_FLAGS, 0);
    allow_only(p, SYS_prlimit64, 0, UINT32_MAX, 0); /* its own limits */
    allow_only(p, SYS_sched_setaffinity, 0, UINT32_MAX, 0);
    allow_open(p, SYS_openat, 2);
#ifdef SYS_open
    allow_open(p, SYS_open, 1);
#endif
    size_t call = begin_call(p, SYS_ioctl);
    for (size_t i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]); i++)
        answer_if(p, 1, UINT32_MAX, ioctls[i], SECCOMP_RET_ALLOW);
    end_call(p, call, REFUSED);
    call = begin_call(p, SYS_fcntl); /* an owner is sent signals */
    answer_if(p, 1, UINT32_MAX, F_SETOWN, REFUSED);
    answer_if(p, 1, UINT32_MAX, SETOWN_EX, REFUSED);
    end_call(p, call, SECCOMP_RET_ALLOW);
    call = begin_call(p, SYS_socketpair); /* a stream: datagrams could be sent to an address */
    load(p, ARG(0));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_UNIX);
    answer(p, REFUSED);
    answer_if(p, 1, 0xF, SOCK_STREAM, SECCOMP_RET_ALLOW);
    end_call(p, call, REFUSED);
}

static void build(program *p, bool signals) {
    load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, GG_ARCH);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, NR_FIRST_UNKNOWN); /* and the x32 calls */
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) allow(p, allowed[i]);
    for (size_t i = 0; signals && i < sizeof(signal_calls) / sizeof(signal_calls[0]); i++) allow(p, signal_calls[i]);
    with_arguments(p);
    static const int tried_first[] = {NR_CLONE3, NR_OPENAT2};
    for (size_t i = 0; i < sizeof(tried_first) / sizeof(tried_first[0]); i++) {
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)tried_first[i]);
        answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    }
    answer(p, REFUSED);
}

int gg__sandbox_filter(bool signals) {
    static program p;
    p.count = 0;
    build(&p, signals);
    struct sock_fprog whole = {.len = p.count, .filter = p.code};
    if (p.count >= MAX_PROGRAM) {
        errno = E2BIG;
        return -1;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
}
#else
int gg__sandbox_filter(bool signals) {
    (void)signals;
    errno = ENOSYS;
    return -1;
}
#endif
