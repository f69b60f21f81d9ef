"""The template's loop, and what makes a fork of it the worker that was asked for.  See warm_worker.c."""

from __future__ import annotations

import ctypes
import fcntl
import linecache
import os
import random
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

_FIRST_FREE = 256  # descriptors from here on are nobody's
_MOST_FDS = 64
_LENGTH = struct.Struct("=I")
_STATUS = struct.Struct("=i")
_SET_BY_THE_LAUNCHER = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PYTORCH_NVML_BASED_CUDA_CHECK",
    "GRAPHGLUE_CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GRAPHGLUE_SUPPORT", "GRAPHGLUE_WORKER_MODE",
)  # fmt: skip


@dataclass
class Asked:
    """A worker that is asked for."""

    connection: socket.socket
    umask: int
    fds: list[tuple[int, int]]  # as they were received, and the numbers that they are to have
    cwd: int
    argv: list[str]
    environment: dict[bytes, bytes]


@dataclass
class Warm:
    """What was done once, for all."""

    ready: dict[str, Any]
    pages: list[tuple[int, int]]
    set_by_the_launcher: dict[str, str]
    running: dict[int, tuple[int, socket.socket]] = field(default_factory=dict)  # pids and connections, by pidfd


def serve(folder: str) -> None:
    """Returns in each worker; in the template never."""
    room = os.environ.pop("GRAPHGLUE_WARM_ROOM", "")
    os.environ.pop("GRAPHGLUE_WARM_TEMPLATE", None)
    del room  # it stays where the process began: /proc/PID/environ of a worker is written there
    warm = _warm_up()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.join(folder, "part"))
    listening.listen(64)
    os.rename(os.path.join(folder, "part"), os.path.join(folder, "socket"))
    with open(os.path.join(folder, "started"), "w", buffering=1) as log:
        asked = _loop(listening, warm, log)
    _become(asked, warm)


def _warm_up() -> Warm:
    """As zygote.Zygote does it until nothing is left to do."""
    set_by_the_launcher = {name: os.environ[name] for name in _SET_BY_THE_LAUNCHER if name in os.environ}
    path = list(sys.path)
    sys.path.append(os.path.abspath(os.environ["GRAPHGLUE_SUPPORT"]))  # as __main__.py will
    from graphglue_worker import memory, warmup, zygote

    ready = warmup.ready()
    if ready["torch_error"]:
        sys.exit(f"the template of warm workers: {ready['torch_error']}")
    warmup.rehearse()
    for file in (sys.argv[0], zygote.__file__):
        linecache.getlines(file)  # Dynamo would have read them when it compiled for the first time
    for _ in memory.join_pages():
        pass
    pages = memory.Written(warmup.warm_up).take()
    sys.path[:] = path
    return Warm(ready, pages, set_by_the_launcher)


def _loop(listening: socket.socket, warm: Warm, log: TextIO) -> Asked:
    while True:
        readable, _, _ = select.select([listening, *warm.running], [], [])
        for fd in readable:
            if fd is not listening:
                _tell_end(fd, *warm.running.pop(fd))
        if listening in readable and (asked := _receive(listening.accept()[0])):
            drawn = random.getstate()
            pid = os.fork()
            if pid == 0:
                random.setstate(drawn)  # a fork seeds it anew
                for each in (listening, *(connection for _, connection in warm.running.values())):
                    each.detach()  # it is closed by number
                warm.running.clear()
                return asked
            for received, _ in asked.fds:
                os.close(received)
            os.close(asked.cwd)
            print(pid, *asked.argv, file=log)
            warm.running[os.pidfd_open(pid)] = (pid, asked.connection)


def _tell_end(pidfd: int, pid: int, connection: socket.socket) -> None:
    status = os.waitpid(pid, 0)[1]
    os.close(pidfd)
    try:
        connection.sendall(_STATUS.pack(status))
    except OSError:
        pass  # who asked has gone, and that is why it ended
    connection.close()


def _receive(connection: socket.socket) -> Asked | None:
    """None when who asks ends meanwhile."""
    connection.settimeout(10)
    try:
        head, received, _, _ = socket.recv_fds(connection, _LENGTH.size, _MOST_FDS + 1)
        body = b""
        (length,) = _LENGTH.unpack(head)
        while len(body) < length:
            chunk = connection.recv(length - len(body))
            if not chunk:
                raise EOFError
            body += chunk
    except (OSError, EOFError, struct.error):
        connection.close()
        return None
    words = iter(body.split(b"\0")[:-1])
    umask, count = int(next(words)), int(next(words))
    numbers = [int(next(words)) for _ in range(count)]
    argv = [os.fsdecode(next(words)) for _ in range(int(next(words)))]
    environment = dict(_variables(words))
    return Asked(connection, umask, list(zip(received[1:], numbers, strict=True)), received[0], argv, environment)


def _variables(words: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for word in words:
        name, separator, value = word.partition(b"=")
        if separator and name:
            yield name, value


# ---- in the worker --------------------------------------------------------------------------------------------------------


def _become(asked: Asked, warm: Warm) -> None:
    leash = fcntl.fcntl(asked.connection.detach(), fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    _place(asked)
    os.setsid()
    _end_with(leash)
    os.umask(asked.umask)
    _set_environment(asked.environment, warm)
    sys.argv[1:] = [word for pair in _pairs(asked.argv[1:]) if pair[0] != "--python" for word in pair]
    import tempfile

    tempfile.tempdir = None  # is asked for anew
    _skip_what_was_done(warm)


def _pairs(options: list[str]) -> list[tuple[str, str]]:
    return list(zip(options[::2], options[1::2], strict=True))


def _place(asked: Asked) -> None:
    """The worker has the descriptors that it was started with, and none of the template's."""
    moved = [(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE), number) for fd, number in asked.fds]
    os.fchdir(asked.cwd)
    os.closerange(0, _FIRST_FREE)
    for fd, number in moved:
        os.dup2(fd, number)
        os.close(fd)


def _end_with(leash: int) -> None:
    """The kernel kills this process when the other end of the connection is closed, be it by a SIGKILL, and when the template ends."""
    import _graphglue_host as host

    host.die_with_parent(signal.SIGKILL)  # as the launcher does; what follows makes it SIGTERM
    fcntl.fcntl(leash, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(leash, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(leash, fcntl.F_SETFL, fcntl.fcntl(leash, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([leash], [], [], 0)[0]:
        os._exit(0)


def _set_environment(given: dict[bytes, bytes], warm: Warm) -> None:
    from graphglue_worker import warmup

    os.environ.clear()
    os.environb.update(given)
    for name in _SET_BY_THE_LAUNCHER:
        os.environ.pop(name, None)
    os.environ.update(warm.set_by_the_launcher)
    _show(b"".join(name + b"=" + value + b"\0" for name, value in os.environb.items()))
    for name in warmup._SWITCHES:
        os.environ.pop(name, None)


def _show(block: bytes) -> None:
    """In /proc/PID/environ, by which the tests find the processes of a server."""
    with open("/proc/self/stat") as f:
        first, last = (int(n) for n in f.read().rpartition(")")[2].split()[47:49])
    ctypes.memset(first, 0, last - first)
    ctypes.memmove(first, block[: last - first], min(len(block), last - first))


def _skip_what_was_done(warm: Warm) -> None:
    from graphglue_worker import devices, forks, warmup, zygote

    def ready() -> dict[str, Any]:
        return {**warm.ready, "cuda": devices.Query().answer()}

    def when_idle(self: zygote.Zygote) -> None:
        self.rehearsed = self.wants_standby = True
        self.pages = warm.pages

    def serve_and_end(*arguments: Any) -> None:
        """Python's own end would write to every page that is shared with the template."""
        status = served(*arguments)
        forks.flush()
        os._exit(status)

    served = zygote.serve
    zygote.serve = serve_and_end  # type: ignore[assignment]
    warmup.ready = ready
    zygote.Zygote.when_idle = when_idle  # type: ignore[assignment,method-assign]
