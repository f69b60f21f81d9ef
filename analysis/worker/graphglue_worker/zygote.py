"""The zygote: imports torch once, warms Dynamo on a toy module, then forks one child per job.

One thread before the fork, CUDA never initialised here.  Everything user code can do (crash, hang, exit, print without end,
fill memory) happens in a child with its own process group, deadline, memory and output ceiling, and loses that job only.
"""

import gc
import logging
import os
import resource
import select
import signal
import sys
import time
from collections import deque
from typing import Any

import _graphglue_host as host

from graphglue_worker import wire

OUTPUT_KEPT_BYTES = 4096
DEFAULT_DEADLINE_MS = 60_000
DEFAULT_MEMORY_BYTES = 16 << 30
GRACE_S = 2.0  # the job ends an entry that is over its deadline; the zygote ends the job that did not
CONFIRM_EXIT_S = 5.0


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


def warm_up() -> None:
    """Run Dynamo once over what models are made of, so that a child finds its caches and imports ready."""
    import torch
    from torch import nn

    from graphglue_worker import capture

    class Toy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(8, 16)
            self.norm = nn.LayerNorm(16)
            self.conv = nn.Conv1d(16, 16, 1)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
            self.out = nn.Linear(16, 16)

        def forward(self, ids: "torch.Tensor") -> "torch.Tensor":
            x = self.norm(self.embed(ids))
            x = x + self.attention(x, x, x, need_weights=False)[0]
            x = self.conv(x.transpose(1, 2)).transpose(1, 2)
            if x.sum().item() > 1e9:
                x = x * 2
            print(end="")
            return self.out(x)

    logging.disable(logging.WARNING)  # Dynamo warns about the toy's own breaks
    try:
        with torch.no_grad():
            capture.run_callable(Toy().eval(), (torch.arange(8).reshape(1, 8),), {})
    finally:
        logging.disable(logging.NOTSET)
    torch._dynamo.reset()


def cuda_info() -> dict[str, Any] | None:
    """Devices, asked for in a child so that this process never initialises CUDA.  None when the child fails."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            restore_devices()
            runtime, devices = host.cuda_devices()
            keys = ("index", "name", "total_bytes", "free_bytes")
            wire.send(w, {"runtime": runtime, "devices": [dict(zip(keys, d, strict=True)) for d in devices]})
        finally:
            os._exit(0)
    os.close(w)
    try:
        return wire.recv(r, 10_000)
    except (OSError, EOFError, TimeoutError):
        return None
    finally:
        os.close(r)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def restore_devices() -> None:
    """Give a child the user's own CUDA_VISIBLE_DEVICES back."""
    visible = os.environ.pop("GRAPHGLUE_CUDA_VISIBLE_DEVICES", None)
    if visible is None:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible


def ready() -> dict[str, Any]:
    """Import torch and warm Dynamo; when that fails, say why and how to mend it."""
    frame: dict[str, Any] = {"op": "ready", "torch": None, "torch_error": None, "registry": None, "cuda": None}
    try:
        import torch
        import torch._dynamo

        torch.set_num_threads(1)
        frame["torch"] = str(torch.__version__).split("+")[0]
        registry = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
        frame["registry"] = registry if os.path.exists(registry) else None
        warm_up()
        frame["cuda"] = cuda_info()
    except ImportError as e:
        what = "torch is not installed" if getattr(e, "name", None) == "torch" else f"torch could not be imported ({e})"
        frame["torch_error"] = f"{what} in {sys.executable}. Install it:  {sys.executable} -m pip install torch"
    except Exception as e:  # a broken torch must be told, not crash the worker
        frame["torch_error"] = f"TorchDynamo could not start in {sys.executable}: {type(e).__name__}: {e}"
    gc.collect()
    gc.freeze()
    return frame


class Child:
    """A running job: its process, its pipes, what it printed."""

    def __init__(self, request: dict[str, Any], workspaces: list[str], zygote_fd: int) -> None:
        self.request = request
        self.id = request.get("id")
        self.output = b""
        self.done: dict[str, Any] | None = None  # the child's own `done` frame
        self.status: str | None = None  # set when we ended it
        self.seconds = (request.get("deadline_ms") or DEFAULT_DEADLINE_MS) / 1000 + GRACE_S
        self.deadline = time.monotonic() + self.seconds
        self.frames, frames_w = os.pipe()
        self.stdout, stdout_w = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(request, workspaces, zygote_fd, frames_w, stdout_w)
        os.close(frames_w)
        os.close(stdout_w)
        self.open = {self.frames, self.stdout}

    def _become(self, request: dict[str, Any], workspaces: list[str], zygote_fd: int, frames: int, stdout: int) -> None:
        code = 70
        try:
            os.setsid()
            host.die_with_parent(signal.SIGKILL)
            null = os.open(os.devnull, os.O_RDONLY)
            for target, fd in ((0, null), (1, stdout), (2, stdout)):
                os.dup2(fd, target)
            for fd in (null, stdout, zygote_fd, self.frames, self.stdout):
                if fd > 2:
                    os.close(fd)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open("/proc/self/statm") as f:
                now = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            ceiling = now + (request.get("memory_bytes") or DEFAULT_MEMORY_BYTES)
            resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
            restore_devices()
            from graphglue_worker import job

            code = job.run(request, workspaces, frames)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def kill(self, status: str) -> None:
        """End the whole process group; `status` is what `done` will say."""
        self.status = self.status or status
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self, fd: int) -> None:
        if fd in self.open:
            self.open.discard(fd)
            os.close(fd)

    def finish(self) -> dict[str, Any]:
        """Reap the process and say how the job ended.  Descendants it left behind are killed too."""
        try:
            os.killpg(self.pid, signal.SIGKILL)  # a finished child is a zombie: its group is still ours to name
        except (ProcessLookupError, PermissionError):
            pass
        _, wait_status = os.waitpid(self.pid, 0)
        for fd in list(self.open):
            self.close(fd)
        done = self.done or {"op": "done", "id": self.id, "status": "crashed", "message": describe_end(wait_status)}
        if self.status and self.done is None:
            done["status"] = self.status
            if self.status == "canceled":
                done["message"] = None
            elif self.status == "timeout":
                done["message"] = f"stopped after {self.seconds - GRACE_S:g} s, its deadline"
        done["output"] = self.output.decode("utf-8", "replace")
        return done


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


class Zygote:
    """The loop over the connection and the running child.  Jobs run one after the other, in order of arrival."""

    def __init__(self, fd: int, workspaces: list[str]) -> None:
        self.fd = fd
        self.workspaces = workspaces
        self.waiting: deque[dict[str, Any]] = deque()
        self.child: Child | None = None
        self.torch_error: str | None = None

    def send(self, frame: dict[str, Any]) -> None:
        wire.send(self.fd, frame)

    def run(self) -> int:
        self.send(hello())
        frame = ready()
        self.torch_error = frame["torch_error"]
        self.send(frame)
        try:
            while True:
                self.start_next()
                if not self.turn():
                    return 0
        finally:
            if self.child:
                self.child.kill("canceled")
                self.child.finish()

    def start_next(self) -> None:
        while self.child is None and self.waiting:
            request = self.waiting.popleft()
            if self.torch_error:
                self.answer(request, "error", self.torch_error)
                continue
            self.child = Child(request, self.workspaces, self.fd)
            self.send({"op": "started", "id": self.child.id, "pid": self.child.pid})

    def answer(self, request: dict[str, Any], status: str, message: str | None) -> None:
        self.send({"op": "done", "id": request.get("id"), "status": status, "message": message, "output": ""})

    def turn(self) -> bool:
        """Wait for one thing to happen.  False at the end of the connection."""
        child = self.child
        fds = [self.fd, *(child.open if child else ())]
        timeout = None if child is None else max(0.0, child.deadline - time.monotonic())
        readable, _, _ = select.select(fds, [], [], timeout)
        if child:
            self.serve_child(child, readable)
        if self.fd in readable:
            request = wire.recv(self.fd)
            if request is None or request.get("op") == "shutdown":
                return False
            self.take(request)
        return True

    def take(self, request: dict[str, Any]) -> None:
        op = request.get("op")
        if op in ("capture", "verify"):
            self.waiting.append(request)
        elif op == "cancel":
            if self.child and self.child.id == request.get("id"):
                self.child.kill("canceled")
                return
            for waiting in list(self.waiting):
                if waiting.get("id") == request.get("id"):
                    self.waiting.remove(waiting)
                    self.answer(waiting, "canceled", None)

    def serve_child(self, child: Child, readable: list[int]) -> None:
        if time.monotonic() >= child.deadline:
            child.kill("timeout")
            child.deadline = time.monotonic() + CONFIRM_EXIT_S
        if child.stdout in readable:
            data = os.read(child.stdout, 65536)
            child.output += data[: OUTPUT_KEPT_BYTES - len(child.output)]
            if not data:
                child.close(child.stdout)
        if child.frames in readable:
            try:
                frame = wire.recv(child.frames, 5000)
            except (EOFError, TimeoutError, ValueError, OSError):
                frame = None
                child.kill("crashed")
            if frame is None or frame.get("op") == "done":
                child.done = frame
                while child.stdout in child.open and select.select([child.stdout], [], [], 0)[0]:
                    data = os.read(child.stdout, 65536)  # what it printed last; a flood ends here, with its process
                    child.output += data[: OUTPUT_KEPT_BYTES - len(child.output)]
                    if not data or len(child.output) >= OUTPUT_KEPT_BYTES:
                        child.close(child.stdout)
                self.child = None
                self.send(child.finish())
            else:
                if frame.get("op") == "entry":  # each entry has the whole deadline for itself
                    child.deadline = time.monotonic() + child.seconds
                self.send(frame)


def serve(fd: int, workspaces: list[str]) -> int:
    """Serve jobs on descriptor `fd` until the connection ends.  Returns the exit status."""
    os.set_inheritable(fd, False)
    host.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return Zygote(fd, [os.path.realpath(w) for w in workspaces]).run()
    except (BrokenPipeError, ConnectionError, EOFError):
        return 0
