"""Work in a fork of its own: what it changes stays there, and so does how it ends.  What is Linux-only about processes is here
and in host_process.c."""

import contextlib
import ctypes
import os
import pickle
import random
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import _graphglue_host as host

T = TypeVar("T")
EXIT_MEMORY = 71
EXIT_UNCAUGHT = 70
EXIT_CHANNEL = 72  # what the process was to report through has gone
CHANNEL_WORDS = "your code closed or replaced the descriptors that graphglue-lsp reports through"
# What a job can be apart in: its own processes and /proc; no network; no writable file system; also at the price of all privileges.
PROCESSES, NETWORK, WRITES, UNPRIVILEGED = 1, 2, 4, 8
STANDBY = "gg-standby"  # what processes without a job are called; 15 bytes at most
_STREAMS = (sys.stdout, sys.stderr)  # user code may replace them by what hangs
_PERTURB = -6  # of glibc's mallopt
_RECORD = struct.Struct("i124s")  # of host_process.c


@dataclass
class Lost:
    """Work that gave no result: `timeout`, `memory` or `crashed`, and plain words."""

    status: str
    message: str


NOTHING = Lost("crashed", "your code ended its process (exit code 0)")


class NotApart(Exception):
    """The namespaces of a job could not be set up; the text says what failed."""


class Deadline:
    """A number of milliseconds from now on, shared by several waits."""

    def __init__(self, ms: int) -> None:
        self.ms = ms
        self._end = time.monotonic() + ms / 1000

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    def hold(self) -> None:
        """What is left now is left at `go_on`."""
        self._held = self.left()

    def go_on(self) -> None:
        """The time since `hold` does not count."""
        self._end = time.monotonic() + self._held


# ---- a job, seen from the zygote -------------------------------------------------------------------------------------------


class Fork:
    """A forked job.  With `apart`, `pid` is process 1 of the job's own namespace, which ends with the job and takes all with it."""

    def __init__(self, pid: int, status: int | None) -> None:
        self.pid = pid
        self._status = status

    def kill(self) -> None:
        """End the job and its process group; without a namespace of its own, what left the group is ended by `reap`."""
        for end in (os.killpg, os.kill):
            try:
                end(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue

    def reap(self) -> int:
        """End what is left, wait for it, and return the job's wait status.  Raises NotApart."""
        self.kill()  # a child that is not reaped yet keeps its number, so this hits nobody else
        status = os.waitpid(self.pid, 0)[1]
        if self._status is None:
            end_descendants()
            return status
        with os.fdopen(self._status, "rb") as f:
            record = f.read(_RECORD.size)
        self._status = None
        if len(record) == _RECORD.size:  # else process 1 was killed before the job ended
            status, failed = _RECORD.unpack(record)
            if failed := failed.rstrip(b"\0"):
                raise NotApart(failed.decode(errors="replace"))
        return status


def start(apart: int, scratch: str | None = None, scratch_bytes: int = 0) -> Fork | None:
    """Fork.  Returns None in the child.  Raises OSError when the kernel refuses."""
    flush()
    if apart:
        pid, status = host.fork_apart(apart, scratch, scratch_bytes)
        return Fork(pid, status) if pid else None
    pid = os.fork()
    return Fork(pid, None) if pid else None


def name(new: str) -> str:
    """What tools such as ps and top call this process from now on.  Returns what they called it before."""
    try:
        with open("/proc/self/comm", "rb+", buffering=0) as f:
            old = f.read().rstrip(b"\n").decode(errors="replace")
            f.write(new.encode())
        return old
    except OSError:
        return new


def can_be_apart(apart: int, scratch: str | None = None) -> bool:
    """Whether this machine lets us; tried out."""
    try:
        fork = start(apart, scratch, 1 << 20)
        if fork is None:
            code = 1
            try:
                code = 0 if os.readlink("/proc/self") == str(os.getpid()) else 1
            finally:
                os._exit(code)
        wait(fork.pid, 10, reap=False)
        return fork.reap() == 0
    except (OSError, NotApart):
        return False


def end_descendants(seconds: float = 10) -> None:
    """Kill and reap all children of this process, and theirs, which become ours: also those forked meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        left = descendants(os.getpid())
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if left:
            time.sleep(0.001)


# ---- work, seen from a job -------------------------------------------------------------------------------------------------


def run(work: Callable[[], T], deadline: Deadline, quiet: bool = False) -> "T | Lost":
    """Run `work` in a fork and return its result, which must be picklable.  Blocks until the deadline at most.

    `quiet`: what it prints is dropped.
    Where this process cannot be forked it runs right here.
    """
    if not can_fork():
        return work()
    return Task(work, quiet).result(deadline)


def can_fork() -> bool:
    """Could a fork of this process run what it runs?  It would lose the threads that user code has started, and hang on what they hold, and
    have no CUDA where that is initialised."""
    torch = sys.modules.get("torch")
    return thread_count() <= 1 and not (torch and torch.cuda.is_initialized())


class Task:
    """Work that runs in a fork, which may leave nothing behind: what it started is ended with it.  Several may run at once."""

    _running: set[int] = set()

    def __init__(
        self,
        work: Callable[[], Any],
        quiet: bool = False,
        dump: Callable[[Any, BinaryIO], None] = pickle.dump,
        load: Callable[[BinaryIO], Any] = pickle.load,
    ) -> None:
        host.adopt_orphans()
        self._load = load
        self._others = set(children(os.getpid()))  # what user code started before is its own
        self._memory = memory_file()
        flush()
        drawn = random.getstate()
        self.pid = os.fork()
        if self.pid == 0:
            random.setstate(drawn)  # which a fork has seeded anew: runs that are compared draw the same
            Task._running = set()
            _work(work, self._memory, quiet, dump)
        self._place = identity(self._memory)
        Task._running.add(self.pid)

    def adopt(self) -> None:
        """What else runs now was started by user code, and is none of this task's."""
        self._others = set(children(os.getpid())) - {self.pid}

    def whole(self) -> bool:
        """Is the file for the result still there?  User code may have closed it."""
        return identity(self._memory) == self._place

    def drop(self) -> None:
        """End it.  Call instead of `result`."""
        kill_group(self.pid)
        self._end()

    def result(self, deadline: Deadline) -> Any:
        """What the work returned, or Lost.  Call once."""
        try:
            failed = self._wait(deadline)
            if failed:
                return failed
            with self._read() as f:
                return self._load(f)
        except (EOFError, pickle.UnpicklingError):
            return NOTHING
        finally:
            self._end()

    def _wait(self, deadline: Deadline) -> Lost | None:
        wait_status = wait(self.pid, deadline.left())
        if wait_status is None:
            kill_group(self.pid)
            os.waitpid(self.pid, 0)
            return Lost("timeout", f"stopped after {deadline.ms / 1000:g} s, its deadline")
        return lost(wait_status) if wait_status != 0 else None

    def _read(self) -> BinaryIO:
        os.lseek(self._memory, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._memory), "rb")

    def _end(self) -> None:
        if self.whole():
            os.close(self._memory)
        Task._running.discard(self.pid)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            left = [p for p in children(os.getpid()) if p not in self._others and p not in Task._running]
            if not left:
                return
            for pid in left:
                kill_group(pid)
                try:
                    os.waitpid(pid, 0)
                except ChildProcessError:
                    pass


def lost(wait_status: int) -> Lost:
    """Why a process gave no result, by its wait status."""
    if os.WIFEXITED(wait_status):
        code = os.WEXITSTATUS(wait_status)
        if code == EXIT_MEMORY:
            return Lost("memory", "it ran into its memory ceiling")
        if code == EXIT_CHANNEL:
            return Lost("crashed", CHANNEL_WORDS)
        if code == EXIT_UNCAUGHT:
            return Lost("crashed", f"the process that ran your code could not pass on its result (exit code {code})")
    return Lost("crashed", describe_end(wait_status))


def _work(work: Callable[[], Any], memory: int, quiet: bool, dump: Callable[[Any, BinaryIO], None]) -> None:
    code, place = EXIT_UNCAUGHT, identity(memory)
    try:
        os.setsid()  # user code that signals its process group hits itself
        host.die_with_parent(signal.SIGKILL)
        if quiet:
            drop_output()
        result = work()
        code = EXIT_CHANNEL
        if identity(memory) == place:
            os.ftruncate(memory, 0)  # user code may have written to it
            os.lseek(memory, 0, os.SEEK_SET)
            with os.fdopen(memory, "wb", closefd=False) as f:
                dump(result, f)
            code = 0
        flush()
    except MemoryError:
        code = EXIT_MEMORY
    except BaseException:  # noqa: BLE001 - the parent tells what happened
        code = EXIT_UNCAUGHT
        traceback.print_exc()
    finally:
        os._exit(code)


def drop_output() -> None:
    """What this process prints from here on goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def flush() -> None:
    """Flush the process's own output, which user code may have closed."""
    for stream in _STREAMS:
        try:
            stream.flush()
        except Exception:  # noqa: BLE001, S110 - its own affair
            pass


def identity(fd: int) -> "tuple[int, int] | None":
    """Which file a descriptor is; None when it is closed."""
    try:
        s = os.fstat(fd)
        return s.st_dev, s.st_ino
    except OSError:
        return None


def fill_memory(byte: int) -> None:
    """From now on memory that is asked for holds something else than zeros (what `byte` makes of it; 0: as before), where the C library can."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_PERTURB, byte)


def memory_file() -> int:
    """A file for results that has no name."""
    try:
        return os.memfd_create("graphglue")
    except (AttributeError, OSError):  # not Linux, or the sandbox, which counts memory in its scratch folder
        with tempfile.TemporaryFile() as f:
            return os.dup(f.fileno())


def kill_group(pid: int) -> None:
    """Kill a process, and its group where it has one."""
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


# ---- processes ---------------------------------------------------------------------------------------------------------------


def thread_count() -> int:
    """Threads of this process, those of libraries too."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def watch(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def wait(pid: int, seconds: float, reap: bool = True) -> int | None:
    """Wait for a child and reap it.  Returns its wait status, None at the deadline (and without `reap`)."""
    deadline = time.monotonic() + seconds
    ended = watch(pid)
    try:
        if ended is not None:
            if not select.select([ended], [], [], seconds)[0] or not reap:
                return None
            return os.waitpid(pid, 0)[1]
        while True:
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found:
                return os.waitpid(pid, 0)[1] if reap else None
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.005)
    finally:
        if ended is not None:
            os.close(ended)


def describe_end(wait_status: int) -> str:
    """Plain words for a wait status."""
    if os.WIFSIGNALED(wait_status):
        number = os.WTERMSIG(wait_status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return f"the process that ran your code was killed by {name}"
    return f"your code ended its process (exit code {os.WEXITSTATUS(wait_status)})"


def children(pid: int) -> list[int]:
    """Processes whose parent this is, whichever of its threads started them."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as f:
                found += [int(p) for p in f.read().split()]
    except (OSError, ValueError):
        pass  # it has ended meanwhile
    return found


def descendants(pid: int) -> list[int]:
    """Processes below this one."""
    found = children(pid)
    for below in found:  # grows
        found += children(below)
    return found


def memory_bytes(pids: list[int], ceiling: int) -> int:
    """Memory that processes have for themselves; exact only when it may be over the ceiling, since that takes time to find out.

    Forks share what none of them has changed: it is counted once for each at first, then by its share.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as f:
                fields = f.read().split()
            total += (int(fields[1]) - int(fields[2])) * page
        except (OSError, ValueError, IndexError):
            continue
    return total if total <= ceiling else sum(map(_proportional_bytes, pids))


def _proportional_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            sizes = {
                k: int(v.split()[0]) << 10 for k, _, v in (line.partition(":") for line in f) if v.endswith("kB\n")
            }
        return sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0) + sizes.get("Swap", 0)
    except (OSError, ValueError):
        return 0


def user_tasks() -> int:
    """Processes and threads of this user, all over the machine: what RLIMIT_NPROC counts."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return total


def virtual_bytes() -> int:
    """Size of this process's address space."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
