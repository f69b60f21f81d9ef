"""The zygote: imports torch once, warms Dynamo on a toy module, then forks one child per job.

One thread before the fork, CUDA never initialised here.  Everything user code can do (crash, hang, exit, print without end,
fill memory) happens in a child with its own process group, deadline, memory and output ceiling, and loses that job only.
"""

import os
import select
import signal
import sys
from collections import deque
from typing import Any

import _graphglue_host as host

from graphglue_worker import warmup, wire
from graphglue_worker.child import Child
from graphglue_worker.forks import describe_end

__all__ = ["describe_end", "serve"]

_RECV_TIMEOUT_MS = 30_000  # between the first and the last byte of a frame


def hello() -> dict[str, Any]:
    """What is known before torch is imported."""
    return {
        "op": "hello",
        "protocol": 1,
        "version": ".".join(map(str, sys.version_info[:3])),
        "prefix": sys.prefix,
        "interpreter": sys.executable,
        "mode": os.environ.get("GRAPHGLUE_WORKER_MODE", "executed"),
        "pid": os.getpid(),
    }


class Zygote:
    """The loop over the connection and the running child.  Jobs run one after the other, in order of arrival."""

    def __init__(self, fd: int, workspaces: list[str]) -> None:
        self.fd = fd
        self.workspaces = workspaces
        self.waiting: deque[dict[str, Any]] = deque()
        self.child: Child | None = None
        self.torch_error: str | None = None
        self.cuda = False

    def send(self, frame: dict[str, Any]) -> None:
        wire.send(self.fd, frame)

    def run(self) -> int:
        """Serve until the connection ends.  Returns the exit status."""
        self.send(hello())
        frame = warmup.ready()
        self.torch_error = frame["torch_error"]
        self.cuda = bool((frame["cuda"] or {}).get("devices"))
        self.send(frame)
        try:
            while True:
                self.start_next()
                if not self.turn():
                    return 0
        finally:
            if self.child:
                self.child.end()

    def start_next(self) -> None:
        while self.child is None and self.waiting:
            request = self.waiting.popleft()
            if self.torch_error:
                self.answer(request, "error", self.torch_error)
                continue
            self.child = Child(request, self.workspaces, self.fd, self.cuda)
            self.send({"op": "started", "id": self.child.id, "pid": self.child.pid})

    def answer(self, request: dict[str, Any], status: str, message: str | None) -> None:
        self.send({"op": "done", "id": request.get("id"), "status": status, "message": message, "output": ""})

    def turn(self) -> bool:
        """Wait for one thing to happen.  False at the end of the connection."""
        child = self.child
        fds = [self.fd, *(child.descriptors() if child else ())]
        readable, _, _ = select.select(fds, [], [], child.timeout() if child else None)
        if child:
            frame, last = child.serve(readable)
            if last:
                self.child = None
            if frame is not None:
                self.send(frame)
        if self.fd in readable:
            request = wire.recv(self.fd, _RECV_TIMEOUT_MS)
            if request is None or request.get("op") == "shutdown":
                return False
            self.take(request)
        return True

    def take(self, request: dict[str, Any]) -> None:
        op = request.get("op")
        if op in ("capture", "verify"):
            if isinstance(request.get("file"), str):
                self.waiting.append(request)
            else:
                self.answer(request, "error", f"a {op} request needs a file")
        elif op == "cancel":
            if self.child and self.child.id == request.get("id"):
                self.child.kill("canceled")
                return
            for waiting in list(self.waiting):
                if waiting.get("id") == request.get("id"):
                    self.waiting.remove(waiting)
                    self.answer(waiting, "canceled", None)


def serve(fd: int, workspaces: list[str]) -> int:
    """Serve jobs on descriptor `fd` until the connection ends.  Returns the exit status."""
    os.set_inheritable(fd, False)
    os.set_blocking(fd, False)  # the host waits with a deadline
    host.die_with_parent(signal.SIGTERM)
    host.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return Zygote(fd, [os.path.realpath(w) for w in workspaces]).run()
    except (BrokenPipeError, ConnectionError, EOFError, TimeoutError):
        return 0
    except ValueError as e:
        sys.stderr.write(f"graphglue-worker: the other side sent no frame of the protocol: {e}\n")
        return 1
