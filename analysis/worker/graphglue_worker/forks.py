"""Work in a fork of its own: what it changes stays there, and so does how it ends.  What is Linux-only about processes is here."""

import os
import pickle
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import _graphglue_host as host

T = TypeVar("T")
_EXIT_MEMORY = 71
_EXIT_UNCAUGHT = 70


@dataclass
class Lost:
    """Work that gave no result: `timeout`, `memory` or `crashed`, and plain words."""

    status: str
    message: str


class Deadline:
    """A number of milliseconds from now on, shared by several waits."""

    def __init__(self, ms: int) -> None:
        self.ms = ms
        self._end = time.monotonic() + ms / 1000

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())


def run(work: Callable[[], T], deadline: Deadline, quiet: bool = False) -> "T | Lost":
    """Run `work` in a fork and return its result, which must be picklable.  Blocks until the deadline at most.

    `quiet`: what it prints is dropped.
    Where user code has started threads a fork would lose them, and hang on what they hold: then it runs right here.
    """
    if thread_count() > 1:
        return work()
    memory = _memory_file()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _work(work, memory, quiet)
    try:
        wait_status = wait(pid, deadline.left())
        if wait_status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Lost("timeout", f"stopped after {deadline.ms / 1000:g} s, its deadline")
        if os.waitstatus_to_exitcode(wait_status) == _EXIT_MEMORY:
            return Lost("memory", "it ran into its memory ceiling")
        if wait_status != 0:
            return Lost("crashed", describe_end(wait_status))
        os.lseek(memory, 0, os.SEEK_SET)
        with os.fdopen(os.dup(memory), "rb") as f:
            return pickle.load(f)
    except (EOFError, pickle.UnpicklingError):  # user code called os._exit(0)
        return Lost("crashed", "your code ended its process (exit code 0)")
    finally:
        os.close(memory)


def _work(work: Callable[[], Any], memory: int, quiet: bool) -> None:
    code = _EXIT_UNCAUGHT
    try:
        host.die_with_parent(signal.SIGKILL)
        if quiet:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        result = work()
        with os.fdopen(memory, "wb", closefd=False) as f:
            pickle.dump(result, f)
        sys.stdout.flush()
        sys.stderr.flush()
        code = 0
    except MemoryError:
        code = _EXIT_MEMORY
    except BaseException:  # noqa: BLE001 - the parent tells what happened
        traceback.print_exc()
    finally:
        os._exit(code)


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("graphglue")
    with tempfile.TemporaryFile() as f:
        return os.dup(f.fileno())


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


def wait(pid: int, seconds: float) -> int | None:
    """Wait for a child and reap it.  Returns its wait status, None at the deadline."""
    deadline = time.monotonic() + seconds
    ended = watch(pid)
    try:
        if ended is not None:
            if not select.select([ended], [], [], seconds)[0]:
                return None
            return os.waitpid(pid, 0)[1]
        while True:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return status
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
    """Processes whose parent this is."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except (OSError, ValueError):
        return []


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants; 0 when it has gone."""
    try:
        with open(f"/proc/{pid}/statm") as f:
            own = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
    return own + sum(resident_bytes(p) for p in children(pid))


def virtual_bytes() -> int:
    """Size of this process's address space."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
