"""A running job, seen from the zygote: its process, its channel, what it printed, and how it ended."""

import contextlib
import os
import resource
import select
import signal
import socket
import time
import traceback
from typing import Any

import _graphglue_host as host

from graphglue_worker import environment, forks, sandbox, wire

OUTPUT_KEPT_BYTES = 4096
DEFAULT_DEADLINE_MS = 60_000
DEFAULT_MEMORY_BYTES = min(16 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4)
MAX_REPORTED_BYTES = 64 << 20  # of all frames of a job
MAX_PROCESSES = 128  # more, and the job is ended; the kernel stops it at MAX_TASKS where it can
MAX_TASKS = 1024  # processes and threads; host_process.c's too
GRACE_S = 2.0  # the job ends an entry that is over its deadline; the zygote ends the job that did not
SILENT_S = 1.0  # for a job to end that can no longer report
WATCH_S = 0.1
_OPS = (
    "bench",
    "break",
    "entry",
    "graphs",
    "inputs",
    "mode",
    "package",
    "plan",
    "progress",
    "verdict",
    "widening",
    "done",
)
_TAKEN = "taken"  # goes no further than the zygote
_STATUSES = ("ok", "import_error", "timeout", "crashed", "memory", "error")


class Child:
    """Forks the job at construction.  The zygote selects on `descriptors()` and calls `serve`.

    `request`: the job; None for a process that stands by until `give` is called, once, and does in advance what it can.
    `pages`: see `twin.Twin`.  `apart`: what the job is apart in (forks.py).  `offer`: the sandbox to confine it in, with a scratch folder; None
    for the user's own code.  `plans`: see `job.run`.
    Raises OSError when it cannot be forked.
    """

    def __init__(
        self,
        request: dict[str, Any] | None,
        workspaces: list[str],
        zygote_fds: tuple[int, int],
        apart: int,
        cuda: bool,
        plans: dict[str, Any] | None = None,
        offer: sandbox.Offer | None = None,
        scratch: str | None = None,
        pages: list[tuple[int, int]] | None = None,
    ) -> None:
        self.output = b""
        self.ended_as: tuple[str, str | None] | None = None  # set when we ended it: status and message
        self.cuda = cuda
        self.offer, self.scratch = offer, scratch
        self.pages = pages or []
        self.request: dict[str, Any] = {}
        self.id: Any = None
        self.taken = request is not None  # the process has its job
        order = None if request is None else self._take(request, plans)
        ours, theirs = socket.socketpair()  # unlike a pipe's, its other end cannot be opened through /proc
        ours.setblocking(False)
        theirs.setblocking(False)  # the host waits with a deadline
        token = os.urandom(wire.TOKEN_BYTES)
        self.channel: wire.Channel | None = wire.Channel(ours.detach(), token)
        self.printed, printed_w = os.pipe()
        self.name = forks.name(forks.STANDBY) if order is None else ""
        try:
            fork = forks.start(apart, scratch if apart else None, sandbox.SCRATCH_BYTES)
        except OSError:
            self._restore_name()
            theirs.close()
            for fd in (printed_w, self.printed, self.channel.fd):
                os.close(fd)
            raise
        if fork is None:
            self._become(workspaces, zygote_fds, theirs.detach(), token, printed_w, apart, order)
        assert fork is not None
        self._restore_name()
        self.fork = fork
        theirs.close()
        os.close(printed_w)
        self.ended = forks.watch(fork.pid)

    def give(self, request: dict[str, Any], plans: dict[str, Any] | None) -> None:
        """Hand the job to a process that stood by.  Raises OSError or ValueError when it has ended: then `end` it.  It may have ended and its twin
        not: then it ends without having `taken` the job."""
        assert self.channel
        wire.send(self.channel.fd, self._take(request, plans))

    def _take(self, request: dict[str, Any], plans: dict[str, Any] | None) -> dict[str, Any]:
        """From here on this is the process of that job.  Returns the order for it."""
        self.request = request
        self.id = request.get("id")
        self.seconds = (request.get("deadline_ms") or DEFAULT_DEADLINE_MS) / 1000
        self.memory_bytes = request.get("memory_bytes") or DEFAULT_MEMORY_BYTES
        self.own_bytes = forks.memory_bytes([os.getpid()], 1 << 62)
        self.restart_deadline()
        tasks = forks.user_tasks() + MAX_TASKS if os.getuid() else None  # the limit does not bind root
        limits = {
            "tasks": tasks,
            "memory_bytes": 0 if self.cuda else self.memory_bytes,
        }  # CUDA reserves far more addresses
        return {"request": request, "plans": plans, "limits": limits}

    def _become(
        self,
        workspaces: list[str],
        zygote_fds: tuple[int, int],
        channel: int,
        token: bytes,
        printed: int,
        apart: int,
        order: dict[str, Any] | None,
    ) -> None:
        code = forks.EXIT_UNCAUGHT
        try:
            os.setsid()
            host.die_with_parent(signal.SIGKILL)
            null = os.open(os.devnull, os.O_RDONLY)
            for target, fd in ((0, null), (1, printed), (2, printed)):
                os.dup2(fd, target)
            assert self.channel is not None
            for fd in {null, printed, *zygote_fds, self.channel.fd, self.printed}:
                if fd > 2:
                    os.close(fd)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            resource.setrlimit(
                resource.RLIMIT_CORE, (1, 1)
            )  # with 0 a program that collects cores would still be started
            if not apart and host.landlock_abi() >= 6:
                host.scope_signals()  # the zygote is among the processes it sees
            with (
                contextlib.suppress(OSError),
                open("/proc/self/oom_score_adj", "w") as f,
            ):  # not writable in the sandbox
                f.write("1000")  # when the machine runs out of memory, this goes first
            host.open_channel(channel, token)
            if not (self.offer and self.scratch):
                environment.restore()
            from graphglue_worker import job

            ahead: Any = None
            if order is None:
                ahead = None if self.cuda else self._twin(workspaces)  # with CUDA it would list what it may not
                order = wire.recv(channel)
                if order is None:
                    os._exit(0)  # not wanted any more
                wire.report({"op": _TAKEN})
                self._restore_name()
            _limit(order["limits"])
            if self.offer and self.scratch:
                self._confine(order, workspaces, channel)
            if ahead:
                ahead.order = order
            code = job.run(order["request"], workspaces, order["plans"], ahead)
        except BaseException:  # noqa: BLE001 - the exit status tells the zygote, the output the user
            traceback.print_exc()
        finally:
            os._exit(code)

    def _restore_name(self) -> None:
        if self.name:
            forks.name(self.name)

    def _twin(self, workspaces: list[str]) -> Any:
        from graphglue_worker import job, twin

        def begin(order: dict[str, Any]) -> None:
            self._restore_name()
            _limit(order["limits"])
            job.begin(order["request"], workspaces)
            job.begin_capture(order["request"])

        return twin.Twin(begin, self.pages)

    def _confine(self, order: dict[str, Any], workspaces: list[str], channel: int) -> None:
        from graphglue_worker import devices

        assert self.offer and self.scratch
        devices.count = 0  # none is visible
        readable = [*workspaces, os.path.dirname(os.path.realpath(self.request["file"]))]
        try:
            sandbox.enter(self.offer, self.scratch, readable, [channel], self.seconds, order["limits"]["tasks"])
        except OSError as e:
            wire.report({"op": "done", "status": "error", "message": f"the job could not be confined: {e}"})
            os._exit(forks.EXIT_UNCAUGHT)

    @property
    def pid(self) -> int:
        """The process whose end is the end of the job."""
        return self.fork.pid

    @property
    def missed(self) -> bool:
        """Has it ended before it began with its job?"""
        return not (self.taken or self.ended_as)

    def restart_deadline(self) -> None:
        """Each entry has the whole deadline for itself."""
        self.deadline = time.monotonic() + self.seconds + GRACE_S

    def descriptors(self) -> list[int]:
        """What to wait for."""
        fds = [self.channel.fd if self.channel else -1, self.printed, -1 if self.ended is None else self.ended]
        return [fd for fd in fds if fd >= 0]

    def timeout(self) -> float:
        """How long to wait at most before `serve` is called."""
        return min(max(0.0, self.deadline - time.monotonic()), WATCH_S)

    def cancel(self) -> None:
        """End the job; `done` will say that it was canceled."""
        self._end("canceled", None)

    def serve(self, readable: list[int]) -> "tuple[list[dict[str, Any]], bool]":
        """Do what is due.  Returns frames to pass on, and whether the last of them was the job's last."""
        if self.printed in readable:
            self._take_output()
        if self.channel and self.channel.fd in readable:
            frames, last = self._take_frames(self.channel)
            if frames or last:
                return frames, last
        elif self.ended in readable:
            return [self._finish(None)], True
        self._watch()
        if self.ended_as and self.ended is None:  # nothing will tell us that it is over
            return [self._finish(None)], True
        return [], False

    def _take_frames(self, channel: wire.Channel) -> "tuple[list[dict[str, Any]], bool]":
        try:
            got = channel.read()
        except wire.Forged:
            self._end("crashed", "your code wrote to the descriptor that graphglue-lsp reports through")
            return self._close_channel(), False
        if got is None:
            if self.ended is None:
                return [self._finish(None)], True
            if self.ended_as is None:
                self.deadline = min(self.deadline, time.monotonic() + SILENT_S)
            return self._close_channel(), False
        if channel.total_bytes > MAX_REPORTED_BYTES:
            self._end("error", f"stopped when it had reported {MAX_REPORTED_BYTES >> 20} MiB")
            return self._close_channel(), False
        frames = []
        for frame in got:
            if frame.get("op") == _TAKEN:
                self.taken = True
            if frame.get("op") not in _OPS:
                continue
            frame["id"] = self.id
            if frame["op"] == "done":
                return [*frames, self._finish(frame)], True
            frames.append(frame)
            if frame["op"] in ("bench", "entry", "graphs", "mode", "plan", "progress", "widening"):
                self.restart_deadline()
        return frames, False

    def _close_channel(self) -> "list[dict[str, Any]]":
        if self.channel:
            os.close(self.channel.fd)
            self.channel = None
        return []

    def _watch(self) -> None:
        if self.ended_as:
            return
        if time.monotonic() >= self.deadline:
            if self.channel:
                self._end("timeout", f"stopped after {self.seconds:g} s, its deadline")
            else:
                self._end("crashed", forks.CHANNEL_WORDS)
            return
        processes = [self.pid, *forks.descendants(self.pid)]
        ceiling = self.memory_bytes + self.own_bytes
        if len(processes) > MAX_PROCESSES:
            self._end("crashed", f"your code started more than {MAX_PROCESSES} processes")
        elif forks.memory_bytes(processes, ceiling) > ceiling:
            self._end("memory", f"stopped at {self.memory_bytes / (1 << 30):g} GiB, its memory ceiling")

    def _end(self, status: str, message: str | None) -> None:
        self.ended_as = self.ended_as or (status, message)
        self.deadline = time.monotonic() + 3600
        self.fork.kill()

    def _take_output(self) -> bool:
        data = os.read(self.printed, 1 << 16)
        self.output += data[: OUTPUT_KEPT_BYTES - len(self.output)]
        if not data:
            os.close(self.printed)
            self.printed = -1
        return bool(data)

    def _finish(self, done: dict[str, Any] | None) -> dict[str, Any]:
        """Reap the process, end what it left behind, and say how the job ended."""
        while (
            self.printed >= 0 and len(self.output) < OUTPUT_KEPT_BYTES and select.select([self.printed], [], [], 0)[0]
        ):
            self._take_output()
        try:
            wait_status = self.fork.reap()
        except forks.NotApart as e:
            self.ended_as = self.ended_as or ("error", f"the job could not be isolated: {e}")
            wait_status = 0
        for fd in self.descriptors():
            os.close(fd)
        status, message = self.ended_as or ("", None)
        if not status and done is not None:
            status, message = done.get("status"), done.get("message")
            if status not in _STATUSES or not isinstance(message, (str, type(None))):
                status, message = "error", "the job ended with a malformed report"
        elif not status:
            how = forks.lost(wait_status)
            status, message = how.status, how.message
        output = self.output.decode("utf-8", "replace")
        told = {"op": "done", "id": self.id, "status": status, "message": message, "output": output}
        if done and not self.ended_as:
            told["reads" if status == "ok" else "place"] = done.get("reads" if status == "ok" else "place")
        return told

    def end(self) -> None:
        """Kill and reap, when nobody is left to tell."""
        self.cancel()
        self._finish(None)


def _limit(limits: dict[str, int | None]) -> None:
    """What the kernel holds a process of the job to, from its size now on."""
    if limits["tasks"] is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        tasks = limits["tasks"] if hard == resource.RLIM_INFINITY else min(limits["tasks"], hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    if limits["memory_bytes"]:
        ceiling = forks.virtual_bytes() + limits["memory_bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
