"""A job of code that the user did not write: what the machine offers to confine it, and how a job is confined.

The kernel's parts are in sandbox_linux.c, sandbox_filter.c and host_process.c; docs/sandbox.md says what each guarantees.
"""

import math
import os
import resource
import sys
import sysconfig
from dataclasses import dataclass, field
from typing import Any

import _graphglue_host as host

from graphglue_worker import environment, forks

SCRATCH_BYTES = 256 << 20
MAX_TASKS = 256  # processes and threads
_CPU_FACTOR = 4  # deadlines, or as many as there are processors: each entry has one for itself
_CPU_SPARE_S = 10  # the deadline, which can say what happened, ends a job before the kernel does
_SYSTEM = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
    *(
        "/etc/ld.so.cache",
        "/etc/localtime",
        "/sys/devices/system",
        "/dev/null",
        "/dev/zero",
        "/dev/urandom",
        "/dev/random",
    ),
)
_OF_THE_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems")


@dataclass(frozen=True)
class Offer:
    """What this machine can keep from a job, and by what."""

    apart: int = 0  # forks.py's
    landlock: int = 0
    filter: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> str | None:
        """What must be had and is not, in plain words; None when model-written code may run."""
        words = {
            "network": "the network",
            "writes": "writing files",
            "programs": "starting programs",
            "outside": "other processes",
        }
        lacking = [text for key, text in words.items() if not self.facts.get(key)]
        return f"this machine offers no way to keep it from {', '.join(lacking)}" if lacking else None


def probe(scratch: str) -> Offer:
    """Find out by trying.  Forks; call with one thread."""
    everything = forks.PROCESSES | forks.NETWORK | forks.WRITES | forks.UNPRIVILEGED
    choices = (everything, everything & ~forks.WRITES)
    apart = next((a for a in choices if forks.can_be_apart(a, scratch)), 0)
    landlock = host.landlock_abi() if _works(lambda: host.restrict_files(["/"], [])) else 0
    calls = _works(lambda: host.filter_calls(False))
    named = (
        (apart & forks.NETWORK, "a network namespace"),
        (apart & forks.PROCESSES, "a process namespace"),
        (apart & forks.WRITES, "read-only mounts"),
        (landlock, f"Landlock {landlock}"),
        (calls, "seccomp"),
    )
    facts = {
        "network": bool(apart & forks.NETWORK or calls),
        "writes": bool(landlock or apart & forks.WRITES),
        "programs": bool(calls or landlock),
        "outside": bool(apart & forks.PROCESSES or calls),
        "reads": bool(landlock),
        "how": [name for has, name in named if has],
    }
    return Offer(apart, landlock, calls, facts)


def _works(confine: Any) -> bool:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            confine()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def enter(offer: Offer, scratch: str, readable: list[str], keep: list[int], seconds: float, tasks: int | None) -> None:
    """Confine this process and all it will start, for good.  Raises OSError: then nothing may run in it.

    `readable`: folders whose files the job may read.  `keep`: descriptors beside 0, 1 and 2.  `tasks`: a ceiling for the user, None for
    root.
    """
    home = os.path.expanduser("~")  # before the environment is forgotten
    environment.forget(scratch)
    os.chdir(scratch)
    host.close_others([0, 1, 2, *keep])
    counted = host.drop_privileges(0x70000000 + int.from_bytes(os.urandom(3), "big"))
    cpu = math.ceil(seconds * max(_CPU_FACTOR, len(os.sched_getaffinity(0)))) + _CPU_SPARE_S
    most = (MAX_TASKS if counted and tasks is None else tasks) or MAX_TASKS
    for what, ceiling in (
        (resource.RLIMIT_FSIZE, SCRATCH_BYTES),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_NPROC, most),
    ):
        hard = resource.getrlimit(what)[1]
        ceiling = ceiling if hard == resource.RLIM_INFINITY else min(ceiling, hard)
        resource.setrlimit(what, (ceiling, ceiling))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if offer.landlock:
        host.restrict_files(_paths(offer, readable, home), [scratch, "/dev/null"])
    if offer.filter:
        host.filter_calls(bool(offer.apart & forks.PROCESSES))


def _paths(offer: Offer, readable: list[str], home: str) -> list[str]:
    """What may be read: the system's libraries, the interpreter with its packages, and the workspace; nothing else of the home folder."""
    interpreter = [sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("stdlib"), *sys.path]
    interpreter += [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    roots = {os.path.realpath(p) for p in [*interpreter, *readable] if p and os.path.isabs(p)}
    processes = ["/proc"] if offer.apart & forks.PROCESSES else list(_OF_THE_MACHINE)
    return [
        *_SYSTEM,
        *processes,
        *(path for root in sorted(roots) for path in _but_secrets(root, os.path.realpath(home))),
    ]


def _but_secrets(root: str, home: str) -> list[str]:
    """The folder; of one that holds the home folder, or is it, only what is not hidden."""
    if os.path.commonpath([root, home]) != root:
        return [root]
    try:
        names = os.listdir(root)
    except OSError:
        return []
    paths = [os.path.join(root, n) for n in names if not n.startswith(".")] if root == home else []
    return [p for p in paths if not os.path.islink(p)]
