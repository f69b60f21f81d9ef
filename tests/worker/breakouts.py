"""Ways out of the sandbox, tried by the code of a sandboxed job (source text; it runs in the job, not in the tests).

Each prints ``name=DONE`` or ``name=`` and how it was refused.  `OUTSIDE`: a folder with `id_rsa` and `file`; `WORKER`: the pid of the
zygote; `PLATFORM`'s numbers are those of the calls that no library wraps.
"""

from __future__ import annotations

import platform

X86_64 = {"clone": 56, "ptrace": 101, "vm_readv": 310, "execveat": 322, "mount": 165, "chroot": 161, "setns": 308}
X86_64 |= {
    "unshare": 272,
    "keyctl": 250,
    "add_key": 248,
    "bpf": 321,
    "perf": 298,
    "userfaultfd": 323,
    "memfd": 319,
    "handle": 304,
}
X86_64 |= {"seccomp": 317, "personality": 135, "setuid": 105, "setxattr": 188}
AARCH64 = {"clone": 220, "ptrace": 117, "vm_readv": 270, "execveat": 281, "mount": 40, "chroot": 51, "setns": 268}
AARCH64 |= {
    "unshare": 97,
    "keyctl": 219,
    "add_key": 217,
    "bpf": 280,
    "perf": 241,
    "userfaultfd": 282,
    "memfd": 279,
    "handle": 265,
}
AARCH64 |= {"seccomp": 277, "personality": 92, "setuid": 146, "setxattr": 5}
NUMBERS = (X86_64 if platform.machine() == "x86_64" else AARCH64) | {"io_uring": 425, "clone3": 435, "landlock": 444}

# Harmless where they succeed, so that they can be tried outside of the sandbox too, and must succeed there.
HARMLESS = [
    "inet",
    "inet_udp",
    "unix",
    "write_outside",
    "write_workspace",
    "write_shm",
    "symlink",
    "hardlink",
    "truncate",
    "chmod",
]
HARMLESS += ["utime", "subprocess", "posix_spawn", "memfd", "read_secret", "environment", "memory_of_secrets"]

PROGRAM = r"""
import ctypes, errno, os, re, resource, signal, socket, subprocess, sys, tempfile, torch
libc = ctypes.CDLL(None, use_errno=True)
SCRATCH = tempfile.mkdtemp()
NEW_USER, NEW_NET = 0x10000000, 0x40000000

def call(name, *args):
    result = libc.syscall(NUMBERS[name], *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result

def write(path, flags=os.O_WRONLY | os.O_CREAT):
    fd = os.open(path, flags, 0o600)
    os.write(fd, b"x")
    os.close(fd)

def through(link):
    os.path.lexists(link) and os.unlink(link)
    return link

def in_child(work):
    # what ends or changes the process; 42: it got through
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(); code = 42
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if not (os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 42)):
        raise PermissionError(1, "refused in a child")

def symlink():
    link = through(f"{SCRATCH}/link")
    os.symlink(f"{OUTSIDE}/file", link)
    write(link)

def hardlink():
    link = through(f"{OUTSIDE}/link")
    os.link(f"{OUTSIDE}/file", link)

def truncate_by_open():
    os.close(os.open(f"{OUTSIDE}/file", os.O_RDONLY | os.O_TRUNC))

def descriptors_of(pid):
    opened = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try: os.close(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)); opened += 1
        except OSError: pass
    if not opened: raise PermissionError(1, "none")

def inherited():
    for fd in os.listdir("/proc/self/fd"):
        try: target = os.readlink(f"/proc/self/fd/{fd}")
        except OSError: continue
        if target.startswith("/") and not target.startswith((os.path.dirname(SCRATCH), "/proc", "/dev/null")) or "memfd" in target:
            return
    raise PermissionError(1, "nothing")

def environment():
    if not any(re.match("gehei[m]-[0-9]+", v) for v in os.environ.values()) and not re.search(
        b"gehei[m]-[0-9]+", open("/proc/self/environ", "rb").read()):
        raise PermissionError(1, "nothing")

def memory_of_secrets():
    memory = open("/proc/self/mem", "rb")
    for line in open("/proc/self/maps"):
        span, access = line.split()[:2]
        if access.startswith("rw"):
            first, last = (int(n, 16) for n in span.split("-"))
            try:
                memory.seek(first); data = memory.read(last - first)
            except (OSError, OverflowError, ValueError): continue
            if re.search(b"gehei[m]-[0-9]+", data): return
    raise PermissionError(1, "nothing")

def resolve():
    try: socket.getaddrinfo("localhost", 80); socket.create_connection(("127.0.0.1", 9), 1)
    except ConnectionRefusedError: return

def raise_limit():
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY,) * 2)

def big_file():
    try:
        with open(f"{SCRATCH}/big", "wb", buffering=0) as f:
            for _ in range(65):
                if f.write(bytes(4 << 20)) < 4 << 20: raise OSError(errno.ENOSPC, "full")
    finally:
        os.unlink(f"{SCRATCH}/big")

CLONE_ARGS = (ctypes.c_uint64 * 11)(NEW_USER)
TRIES = {
    "inet": lambda: socket.socket(),
    "inet_udp": lambda: socket.socket(type=socket.SOCK_DGRAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "abstract": lambda: socket.socket(socket.AF_UNIX).connect("\0graphglue"),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "datagram_pair": lambda: socket.socketpair(type=socket.SOCK_DGRAM),
    "resolve": resolve,
    "write_outside": lambda: write(f"{OUTSIDE}/new"),
    "write_workspace": lambda: write(os.path.join(os.path.dirname(__file__), "new")),
    "write_shm": lambda: (write(f"/dev/shm/graphglue-{os.getpid()}"), os.unlink(f"/dev/shm/graphglue-{os.getpid()}")),
    "write_tmp": lambda: write(f"/tmp/graphglue-{os.getpid()}"),
    "make_folder": lambda: os.mkdir(f"{OUTSIDE}/folder"),
    "remove": lambda: os.unlink(f"{OUTSIDE}/keep"),
    "rename": lambda: os.rename(f"{OUTSIDE}/keep", f"{OUTSIDE}/moved"),
    "symlink": symlink,
    "hardlink": hardlink,
    "truncate": lambda: os.truncate(f"{OUTSIDE}/file", 0),
    "truncate_by_open": truncate_by_open,
    "chmod": lambda: os.chmod(f"{OUTSIDE}/file", 0o777),
    "utime": lambda: os.utime(f"{OUTSIDE}/file"),
    "xattr": lambda: os.setxattr(f"{OUTSIDE}/file", "user.graphglue", b"x"),
    "device": lambda: os.mknod(f"{SCRATCH}/device", 0o20666, os.makedev(1, 1)),
    "memory_of_the_parent": lambda: write(f"/proc/{os.getppid()}/mem", os.O_WRONLY),
    "memory_of_the_worker": lambda: write(f"/proc/{WORKER}/mem", os.O_WRONLY),
    "descriptors_of_the_parent": lambda: descriptors_of(os.getppid()),
    "descriptors_of_the_worker": lambda: descriptors_of(WORKER),
    "inherited": inherited,
    "exec": lambda: in_child(lambda: os.execv("/bin/true", ["true"])),
    "execveat": lambda: in_child(lambda: call("execveat", -100, b"/bin/true", None, None, 0)),
    "exec_python": lambda: in_child(lambda: os.execv(sys.executable, ["python", "-c", ""])),
    "subprocess": lambda: subprocess.run(["/bin/true"], check=True),
    "posix_spawn": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    "memfd": lambda: call("memfd", b"x", 0),
    "ptrace": lambda: call("ptrace", 16, os.getppid(), 0, 0),
    "ptrace_worker": lambda: call("ptrace", 16, WORKER, 0, 0),
    "vm_readv": lambda: call("vm_readv", os.getppid(), None, 0, None, 0, 0),
    "kill_worker": lambda: os.kill(WORKER, signal.SIGKILL),
    "pidfd_worker": lambda: signal.pidfd_send_signal(os.pidfd_open(WORKER), signal.SIGKILL),
    "io_uring": lambda: call("io_uring", 8, (ctypes.c_char * 256)()),
    "mount": lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "remount": lambda: call("mount", None, b"/", None, 32, None),
    "chroot": lambda: call("chroot", SCRATCH.encode()),
    "setuid": lambda: call("setuid", 1),
    "setns": lambda: call("setns", 0, 0),
    "unshare_user": lambda: call("unshare", NEW_USER),
    "unshare_net": lambda: call("unshare", NEW_NET),
    "clone_user": lambda: in_child(lambda: call("clone", NEW_USER | signal.SIGCHLD, 0, 0, 0, 0) or os._exit(0)),
    "clone3_user": lambda: call("clone3", CLONE_ARGS, 88),
    "keyctl": lambda: call("keyctl", 0, -3, 1),
    "add_key": lambda: call("add_key", b"user", b"x", b"x", 1, -3),
    "bpf": lambda: call("bpf", 0, None, 0),
    "perf": lambda: call("perf", None, 0, -1, -1, 0),
    "userfaultfd": lambda: call("userfaultfd", 1),
    "handle": lambda: call("handle", -100, None, 0),
    "personality": lambda: call("personality", 0x0040000),
    "read_secret": lambda: open(f"{OUTSIDE}/id_rsa").read(),
    "read_shadow": lambda: open("/etc/shadow").read(),
    "list_outside": lambda: os.listdir(OUTSIDE),
    "environment": environment,
    "memory_of_secrets": memory_of_secrets,
    "raise_limit": raise_limit,
    "big_file": big_file,
}
for name in NAMES or TRIES:
    try:
        TRIES[name]()
        print(f"{name}=DONE", flush=True)
    except BaseException as e:
        print(f"{name}={errno.errorcode.get(getattr(e, 'errno', None), type(e).__name__)}", flush=True)

def f(x): return x + 1
def graphglue_inputs(): yield "f", f, (torch.ones(2),), {}
"""


def names() -> list[str]:
    """All ways, in the order in which they are tried."""
    body = PROGRAM.partition("TRIES = {\n")[2].partition("\n}\n")[0]
    return [line.split('"')[1] for line in body.splitlines() if line.startswith('    "')]


def program(outside: str, worker: int, only: list[str] | None = None) -> str:
    """The source of a file that tries them."""
    return f"OUTSIDE, WORKER, NUMBERS, NAMES = {outside!r}, {worker}, {NUMBERS!r}, {only!r}\n{PROGRAM}"
