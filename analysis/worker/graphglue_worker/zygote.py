"""The zygote: imports torch once, warms Dynamo on a toy module, then forks one child per job.

One thread before the fork, CUDA never initialised here.  Everything user code can do (crash, hang, exit, print without end,
fill memory, start daemons) happens in a child with namespaces of its own where the machine has them, a deadline, a memory and an
output ceiling, and loses that job only.
"""

import contextlib
import os
import select
import shutil
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from typing import Any

import _graphglue_host as host

from graphglue_worker import forks, memory, sandbox, warmup, wire
from graphglue_worker.child import Child
from graphglue_worker.forks import describe_end

__all__ = ["describe_end", "serve"]

_FILES_WITH_PLANS = 256
_KEPT: dict[str, Any] = {"plan": (dict, type(None)), "mode": bool}  # what later jobs of a file are told
_QUIET_S = 0.05  # without a request, before a process is made to stand by: between jobs in a row there is none
_UNASKED_S = 0.5  # and before the rehearsal, for which a request would wait a second or two
_UNREHEARSED = 3  # jobs in a row that cost about as much more without the rehearsal as the rehearsal does
_STANDBY_S = 900.0  # it is let go after that
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

    def __init__(self, fd: int, out: int, workspaces: list[str]) -> None:
        self.fd = fd
        self.out = out  # the same, but for a worker on stdin and stdout
        self.workspaces = workspaces
        self.waiting: deque[dict[str, Any]] = deque()
        self.child: Child | None = None
        self.standby: Child | None = None  # the process of the next job of the user's own code
        self.wants_standby = False
        self.written: memory.Written | None = None  # being looked for
        self.pages: list[tuple[int, int]] = []  # what a capture writes to
        self.torch_error: str | None = None
        self.cuda = False
        self.started = 0  # jobs
        self.rehearsed = False
        self.apart = 0
        self.offer = sandbox.Offer()
        self.scratch = ""  # where a confined job writes; only while it runs: this process may be killed between jobs
        self.idle: Iterator[None] | None = None  # work in steps for when there is nothing else to do
        self.plans: dict[
            tuple[str, bool], dict[str, Any]
        ] = {}  # deduced inputs, by file and mode, that used last is last
        self.modes: dict[tuple[str, bool], dict[str, bool]] = {}  # which entries run with gradients, by the same

    def send(self, frame: dict[str, Any]) -> None:
        wire.send(self.out, frame)

    def run(self) -> int:
        """Serve until the connection ends.  Returns the exit status."""
        self.send(hello())
        self.apart = forks.PROCESSES if forks.can_be_apart(forks.PROCESSES) else 0
        with contextlib.suppress(
            OSError
        ):  # no folder for temporary files: then nothing is confined, and so nothing runs
            self.make_scratch()
            self.offer = sandbox.probe(self.scratch)
        self.drop_scratch()
        frame = {**warmup.ready(), "sandbox": self.offer.facts}
        self.torch_error = frame["torch_error"]
        if self.torch_error is None:
            from graphglue_worker import devices

            devices.show(frame["cuda"])
            self.cuda = devices.count > 0
        if self.out != self.fd:  # the other side may be on another machine
            frame["registry_text"] = warmup.read_registry(frame["registry"])
        self.send(frame)
        self.idle = self.when_idle()
        try:
            while True:
                self.start_next()
                if not self.turn():
                    return 0
        finally:
            for child in (self.child, self.standby):
                if child:
                    child.end()
            if self.written:
                self.written.end()
            self.drop_scratch()

    def when_idle(self) -> Iterator[None]:
        self.rehearse()
        yield
        yield from memory.join_pages()

    def rehearse(self) -> None:
        """Once, for jobs to come: when nothing has been asked for a moment, or when they are many."""
        if not self.rehearsed and self.torch_error is None:
            warmup.rehearse()
        self.rehearsed = True

    def make_scratch(self) -> None:
        self.scratch = tempfile.mkdtemp(prefix="graphglue-")

    def drop_scratch(self) -> None:
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.scratch = ""

    def start_next(self) -> None:
        while self.child is None and self.waiting:
            request = self.waiting.popleft()
            if self.torch_error:
                self.answer(request, "error", self.torch_error)
                continue
            confined = request.get("sandbox") is True
            if confined and self.offer.missing:
                self.answer(request, "error", f"model-written code is not run: {self.offer.missing}")
                continue
            if self.started == _UNREHEARSED:
                self.rehearse()
            self.started += 1
            try:
                self.child = self.fork(request, confined)
            except OSError as e:
                self.drop_scratch()
                self.answer(request, "error", f"no process could be started for the job: {e.strerror}")
                continue
            self.send({"op": "started", "id": self.child.id, "pid": self.child.pid})

    def fork(self, request: dict[str, Any], confined: bool) -> Child:
        plans = self.plans.get(_plan_key(request))
        request = {**request, "modes": self.modes.get(_plan_key(request), {})}
        self.wants_standby = True
        if not confined:
            child, self.standby = self.standby, None
            if child:
                try:
                    child.give(request, plans)
                    return child
                except (OSError, ValueError):
                    child.end()
            return Child(request, self.workspaces, (self.fd, self.out), self.apart, self.cuda, plans)
        self.end_standby()  # one job's processes at a time: without namespaces it would be taken for something left behind
        self.make_scratch()
        return Child(
            request, self.workspaces, (self.fd, self.out), self.offer.apart, False, plans, self.offer, self.scratch
        )

    def prepare(self, readable: list[int]) -> None:
        """What is done between jobs.  `readable`: empty when nothing has happened for a while."""
        if self.written and self.written.fd in readable:
            self.pages = self.written.take()
            self.written = None
        elif self.standby and self.fd not in readable:  # it has ended, which it should not have, or waited for too long
            self.end_standby()
        elif not readable:
            self.stand_by()

    def stand_by(self) -> None:
        """Make the process of the next job, in good time."""
        self.wants_standby = False
        with contextlib.suppress(OSError):
            self.standby = Child(None, self.workspaces, (self.fd, self.out), self.apart, self.cuda, pages=self.pages)

    def end_standby(self) -> None:
        if self.standby:
            self.standby.end()
            self.standby = None

    def answer(self, request: dict[str, Any], status: str, message: str | None) -> None:
        self.send({"op": "done", "id": request.get("id"), "status": status, "message": message, "output": ""})

    def turn(self) -> bool:
        """Wait for one thing to happen.  False at the end of the connection."""
        child = self.child
        fds = [self.fd, *(child.descriptors() if child else ())]
        pause = 0 if self.rehearsed else _UNASKED_S
        if not child and self.idle and not select.select(fds, [], [], pause)[0]:
            if next(self.idle, self) is self:
                self.idle = None
                self.wants_standby = self.torch_error is None
                self.written = memory.Written(warmup.warm_up) if self.wants_standby else None
            return True
        timeout = child.timeout() if child else None
        if not child and not self.idle:
            fds += self.standby.descriptors() if self.standby else ()
            fds += [self.written.fd] if self.written else ()
            if self.standby or self.wants_standby and not self.written:
                timeout = _STANDBY_S if self.standby else _QUIET_S
        readable, _, _ = select.select(fds, [], [], timeout)
        if not child:
            self.prepare(readable)
        if child:
            frames, last = child.serve(readable)
            if last:
                self.child = None
                self.drop_scratch()
            if last and child.missed:  # it stood by and was killed: nothing was run
                self.waiting.appendleft(child.request)
                return True
            for frame in frames:
                if frame["op"] in ("plan", "mode"):
                    if child.request.get("sandbox") is not True:  # code we do not trust finds nothing for others
                        self.keep(child.request, frame)
                else:
                    self.send(frame)
        if self.fd in readable:
            request = wire.recv(self.fd, _RECV_TIMEOUT_MS)
            if request is None or request.get("op") == "shutdown":
                return False
            self.take(request)
        return True

    def keep(self, request: dict[str, Any], frame: dict[str, Any]) -> None:
        """Inputs that a job deduced, or the mode of an entry: later jobs of the file begin with them."""
        held: dict[tuple[str, bool], dict[str, Any]] = self.plans if frame["op"] == "plan" else self.modes
        value = frame.get(frame["op"])
        known = held.pop(_plan_key(request), {})
        if isinstance(frame.get("name"), str) and isinstance(value, _KEPT[frame["op"]]):
            known[frame["name"]] = value
        held[_plan_key(request)] = known
        while len(held) > _FILES_WITH_PLANS:
            del held[next(iter(held))]

    def take(self, request: dict[str, Any]) -> None:
        op = request.get("op")
        if op in ("capture", "verify", "write_inputs", "packages", "bench", "graphs"):
            if isinstance(request.get("file"), str):
                self.waiting.append(request)
            else:
                self.answer(request, "error", f"a {op} request needs a file")
        elif op == "cancel":
            if self.child and self.child.id == request.get("id"):
                self.child.cancel()
                return
            for waiting in list(self.waiting):
                if waiting.get("id") == request.get("id"):
                    self.waiting.remove(waiting)
                    self.answer(waiting, "canceled", None)


def _plan_key(request: dict[str, Any]) -> tuple[str, bool]:
    return os.path.realpath(request["file"]), bool(request.get("train"))


def serve(fd: int, out: int, workspaces: list[str]) -> int:
    """Serve jobs read from descriptor `fd`, with frames to `out`, until the connection ends.  Returns the exit status."""
    for each in (fd, out):
        os.set_inheritable(each, False)
        os.set_blocking(each, False)  # the host waits with a deadline
    host.die_with_parent(signal.SIGTERM)
    host.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return Zygote(fd, out, [os.path.realpath(w) for w in workspaces]).run()
    except (BrokenPipeError, ConnectionError, EOFError, TimeoutError):
        return 0
    except ValueError as e:
        sys.stderr.write(f"graphglue-worker: the other side sent no frame of the protocol: {e}\n")
        return 1
