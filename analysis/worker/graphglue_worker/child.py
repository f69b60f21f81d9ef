"""A running job, seen from the zygote: its process, its pipes, what it printed, and how it ended."""

import os
import resource
import select
import signal
import sys
import time
from typing import Any

import _graphglue_host as host

from graphglue_worker import forks, warmup, wire

OUTPUT_KEPT_BYTES = 4096
DEFAULT_DEADLINE_MS = 60_000
DEFAULT_MEMORY_BYTES = 16 << 30
GRACE_S = 2.0  # the job ends an entry that is over its deadline; the zygote ends the job that did not
WATCH_S = 0.1


class Child:
    """Forks the job at construction.  The zygote selects on `descriptors()` and calls `serve`."""

    def __init__(self, request: dict[str, Any], workspaces: list[str], zygote_fd: int, cuda: bool) -> None:
        self.request = request
        self.id = request.get("id")
        self.output = b""
        self.status: str | None = None  # set when we ended it
        self.seconds = (request.get("deadline_ms") or DEFAULT_DEADLINE_MS) / 1000
        self.memory_bytes = request.get("memory_bytes") or DEFAULT_MEMORY_BYTES
        # CUDA reserves far more addresses than memory, so there resident memory is watched instead.
        self.watched = cuda
        self.frames, frames_w = os.pipe()
        os.set_blocking(frames_w, False)  # the host waits with a deadline
        self.printed, printed_w = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(workspaces, zygote_fd, frames_w, printed_w)
        os.close(frames_w)
        os.close(printed_w)
        self.ended = forks.watch(self.pid)
        self.resident_bytes = forks.resident_bytes(self.pid) if cuda else 0
        self.restart_deadline()

    def _become(self, workspaces: list[str], zygote_fd: int, frames: int, printed: int) -> None:
        code = 70
        try:
            os.setsid()
            host.die_with_parent(signal.SIGKILL)
            null = os.open(os.devnull, os.O_RDONLY)
            for target, fd in ((0, null), (1, printed), (2, printed)):
                os.dup2(fd, target)
            for fd in (null, printed, zygote_fd, self.frames, self.printed):
                if fd > 2:
                    os.close(fd)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if not self.watched:
                ceiling = forks.virtual_bytes() + self.memory_bytes
                resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
            warmup.restore_devices()
            from graphglue_worker import job

            code = job.run(self.request, workspaces, frames)
        finally:
            os._exit(code)

    def restart_deadline(self) -> None:
        """Each entry has the whole deadline for itself."""
        self.deadline = time.monotonic() + self.seconds + GRACE_S

    def descriptors(self) -> list[int]:
        """What to wait for."""
        return [fd for fd in (self.frames, self.printed, self.ended) if fd is not None and fd >= 0]

    def timeout(self) -> float:
        """How long to wait at most before `serve` is called."""
        left = max(0.0, self.deadline - time.monotonic())
        return min(left, WATCH_S) if self.watched or self.ended is None else left

    def kill(self, status: str) -> None:
        """End the whole process group; `status` is what `done` will say."""
        self.status = self.status or status
        self.deadline = time.monotonic() + 3600
        for end in (os.killpg, os.kill):
            try:
                end(self.pid, signal.SIGKILL)
                return
            except (ProcessLookupError, PermissionError):
                continue

    def serve(self, readable: list[int]) -> "tuple[dict[str, Any] | None, bool]":
        """Do what is due.  Returns a frame to pass on, if any, and whether that was the job's last."""
        if time.monotonic() >= self.deadline:
            self.kill("timeout")
        if self.watched and forks.resident_bytes(self.pid) - self.resident_bytes > self.memory_bytes:
            self.kill("memory")
        if self.printed in readable:
            self._take_output()
        if self.frames in readable:
            try:
                frame = wire.recv(self.frames, 5000)
            except (EOFError, TimeoutError, ValueError, OSError):
                self.kill("crashed")
                frame = None
            if frame is None or frame.get("op") == "done":
                return self._finish(frame), True
            if frame.get("op") == "entry":
                self.restart_deadline()
            return frame, False
        if self.ended in readable:  # someone it started may still hold the pipe
            return self._finish(None), True
        return None, False

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
        self._end_group()
        _, wait_status = os.waitpid(self.pid, 0)
        for orphan in forks.children(os.getpid()):  # the zygote adopts what left the group
            self._reap(orphan)
        for fd in self.descriptors():
            os.close(fd)
        if done is None:
            message = {
                "canceled": None,
                "timeout": f"stopped after {self.seconds:g} s, its deadline",
                "memory": f"stopped at {self.memory_bytes / (1 << 30):g} GiB, its memory ceiling",
            }.get(self.status or "", forks.describe_end(wait_status))
            done = {"op": "done", "id": self.id, "status": self.status or "crashed", "message": message}
        done["output"] = self.output.decode("utf-8", "replace")
        return done

    def end(self) -> None:
        """Kill and reap, when nobody is left to tell."""
        self.kill("canceled")
        self._finish(None)

    def _end_group(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)  # the child is not reaped yet, so its group is still ours to name
        except (ProcessLookupError, PermissionError):
            pass

    @staticmethod
    def _reap(pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError, PermissionError):
            pass
