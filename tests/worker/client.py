"""A small client of the worker's protocol, for the tests: starts the real program over a socket pair and talks frames."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

PYTHON = os.environ.get("GRAPHGLUE_TEST_PYTHON") or sys.executable  # whose torch is tested
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
Frame = dict[str, Any]


def find_worker() -> str:
    """The built program: $GRAPHGLUE_WORKER, else the newest in build/*/bin."""
    given = os.environ.get("GRAPHGLUE_WORKER")
    if given:
        return os.path.abspath(given)
    build = os.path.join(ROOT, "build")
    found = [
        os.path.join(build, d, "bin", "graphglue-worker") for d in (os.listdir(build) if os.path.isdir(build) else [])
    ]
    found = [p for p in found if os.access(p, os.X_OK)]
    if not found:
        raise FileNotFoundError("no graphglue-worker in build/*/bin: build it, or set GRAPHGLUE_WORKER")
    return max(found, key=os.path.getmtime)


def landlock_abi() -> int:
    """0 where the kernel has none."""
    create_ruleset, version = 444, 1
    return max(0, ctypes.CDLL(None).syscall(create_ruleset, None, ctypes.c_size_t(0), version))


class Closed(Exception):
    """The worker ended the connection."""


class Worker:
    """One running worker.  Every wait has a deadline; frames of other jobs than the one waited for are kept."""

    def __init__(
        self,
        workspaces: Sequence[str] = (),
        python: str = PYTHON,
        env: dict[str, str] | None = None,
        program: str | None = None,
        preexec_fn: Callable[[], None] | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        command = [program or find_worker(), "--python", python, "--fd", str(theirs.fileno())]
        for folder in workspaces:
            command += ["--workspace", str(folder)]
        self.socket = ours
        self.received = b""
        self.kept: list[Frame] = []
        self.last_id = 0
        self.mark = f"GRAPHGLUE_TEST_MARK={uuid.uuid4().hex}"
        self.process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {}), **dict([self.mark.split("=")])},
            preexec_fn=preexec_fn,
        )
        theirs.close()
        self.hello: Frame | None = None
        self.ready: Frame | None = None

    def start(self, timeout: float = 120) -> Worker:
        """Wait for `hello` and `ready`."""
        self.hello = self.read(timeout)
        assert self.hello["op"] == "hello", self.hello
        self.ready = self.read(timeout)
        assert self.ready["op"] == "ready", self.ready
        return self

    def send(self, frame: Frame) -> None:
        body = json.dumps(frame).encode()
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def read(self, timeout: float = 120) -> Frame:
        """The next frame.  Raises TimeoutError, or Closed at the end of the connection."""
        deadline = time.monotonic() + timeout
        while True:
            if len(self.received) >= 4:
                size = struct.unpack(">I", self.received[:4])[0]
                if len(self.received) >= 4 + size:
                    body, self.received = self.received[4 : 4 + size], self.received[4 + size :]
                    return json.loads(body.decode("utf-8", "strict"))
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise TimeoutError(f"no frame within {timeout} s")
            data = self.socket.recv(1 << 16)
            if not data:
                raise Closed
            self.received += data

    def submit(self, op: str, file: str, **keys: Any) -> int:
        """Send a job; returns its id."""
        self.last_id += 1
        self.send({"op": op, "id": self.last_id, "file": str(file), **keys})
        return self.last_id

    def frames(self, job: int, timeout: float = 120) -> Iterator[Frame]:
        """Frames of a job as they come, `done` last."""
        while True:
            frame = next((f for f in self.kept if f.get("id") == job), None)
            if frame is not None:
                self.kept.remove(frame)
            else:
                frame = self.read(timeout)
                if frame.get("id") != job:
                    self.kept.append(frame)
                    continue
            yield frame
            if frame["op"] == "done":
                return

    def capture(self, file: str, timeout: float = 120, **keys: Any) -> Job:
        """Run one capture to its end."""
        return Job(list(self.frames(self.submit("capture", file, **keys), timeout)))

    def left_behind(self, standing_by: bool = False) -> list[int]:
        """Processes that stem from this worker, itself excepted, in whatever namespace or session they are.

        `standing_by`: those that wait for the next job, which are no job's; else the others."""
        found = []
        for pid in (int(p) for p in os.listdir("/proc") if p.isdigit()):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/environ", "rb") as f,
                open(f"/proc/{pid}/comm") as name,
            ):  # a zombie's environment is empty
                if pid != self.process.pid and self.mark.encode() in f.read().split(b"\0"):
                    if (name.read() == "gg-standby\n") == standing_by:
                        found.append(pid)
        return found

    def standby(self, timeout: float = 60) -> list[int]:
        """Wait until the process of the next job, and its twin, stand by.  Returns all that belong to it, the oldest first."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = self.left_behind(standing_by=True)
            time.sleep(0.05)  # the twin comes last
            if len(found) > 1 and found == self.left_behind(standing_by=True) and self._sleep(found):
                return sorted(found)
        raise TimeoutError(f"nothing stands by within {timeout} s")

    def _sleep(self, pids: list[int]) -> bool:
        """Do all of them wait?"""
        states = []
        for pid in pids:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
                states.append(f.read().rpartition(")")[2].split()[0])
        return states == ["S"] * len(pids)

    def close(self, timeout: float = 20) -> int:
        """End the connection; returns the exit status."""
        self.socket.close()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            if self.process.stderr:
                self.process.stderr.close()


class Job:
    """All frames of one job."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames
        self.done = frames[-1]
        self.entries: dict[str, Frame] = {f["entry"]["name"]: f["entry"] for f in frames if f["op"] == "entry"}
        self.streamed = [f for f in frames if f["op"] == "break"]

    @property
    def entry(self) -> Frame:
        """The only entry."""
        assert len(self.entries) == 1, (list(self.entries), self.done)
        return next(iter(self.entries.values()))
