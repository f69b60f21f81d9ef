"""How long until a changed function's break is known, next to bare Dynamo and to a new Python process, and whether the worker grows.

    python bench/capture.py [--rounds 200] [--support build/release/bin] [--python PYTHON] [--new-every 40]

Each round writes the same two-layer transformer with other numbers in its functions, other line numbers and another input shape, so that no cache has
the answer, and captures it in each of these, in an order that changes by round:

- *worker*: graphglue-worker, warm, over its protocol, some tenths of a second after the last capture: from the request until the frame arrives;
- *bare, forked*: a process that imported torch and compiled this very model once forks; the child executes the file, compiles with a
  backend that does nothing, and says when Dynamo logs the break, and when the call is over;
- *bare, in process*: the same without the fork; every round makes it warmer, and nothing of a round is undone but `torch._dynamo.reset()`;
- *new process*: `python` from its start, in some rounds.

Run it with any Python 3.10 or later; `--python` is the one whose torch is measured (default: the same).
"""

import argparse
import contextlib
import json
import os
import platform
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WAIT_S = 60.0
SETTLE_S = 2.0  # for what the worker does when it has no job
MODEL = """\
import torch
import torch.nn.functional as F
from torch import nn
{lines}

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + {number}.5 * self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)))) / {number}.25


class Model(nn.Module):
    def __init__(self, width=64, heads=4, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 32)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if x.abs().amax() > {number}e6:
            x = x / {number}
        return self.head(self.norm(x))


def graphglue_inputs():
    yield "block", Model().eval(), (torch.randn(2, {length}, 64),), {{}}
"""


def write_model(path: Path, number: int) -> None:
    """The file of one round; a new file each time, as after a save by an editor."""
    fresh = path.with_suffix(".new")
    fresh.write_text(MODEL.format(number=number + 1, length=number + 16, lines="\n" * (number % 17)))
    fresh.replace(path)


# ---- bare Dynamo: this part runs in the measured Python -----------------------------------------------------------------------


def bare_capture(path: str, out: int) -> None:
    """Execute the file and run its entry compiled; writes `b` to `out` at each break that Dynamo logs, `e` at the end."""
    import torch
    import torch._dynamo
    from torch._dynamo import symbolic_convert

    translator = symbolic_convert.InstructionTranslatorBase
    log = translator.log_graph_break

    def log_graph_break(*args: Any, **kwargs: Any) -> Any:
        os.write(out, b"b")
        return log(*args, **kwargs)

    space: dict[str, Any] = {"__name__": "model"}
    translator.log_graph_break = log_graph_break  # type: ignore[method-assign]
    try:
        exec(compile(Path(path).read_text(), path, "exec", dont_inherit=True), space)
        torch.manual_seed(0)
        _, fn, args, kwargs = next(space["graphglue_inputs"]())
        torch._dynamo.reset()
        with torch.no_grad():
            torch._dynamo.optimize(lambda gm, _: gm.forward)(fn)(*args, **kwargs)
    finally:
        translator.log_graph_break = log  # type: ignore[method-assign]
    os.write(out, b"e")


def bare_serve(first: str, forked: bool) -> None:
    """Warm up with one file, say so, then capture each file that is named on standard input."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    import torch

    torch.set_num_threads(1)
    bare_capture(first, nowhere)
    os.write(1, b"r")
    for line in sys.stdin:
        if not forked:
            bare_capture(line.rstrip("\n"), 1)
        elif pid := os.fork():
            os.waitpid(pid, 0)
        else:
            bare_capture(line.rstrip("\n"), 1)
            os._exit(0)


# ---- what is compared ---------------------------------------------------------------------------------------------------------


class Bare:
    """A process that runs `bare_serve`."""

    def __init__(self, python: str, first: Path, forked: bool) -> None:
        how = "forked" if forked else "here"
        self.process = subprocess.Popen(
            [python, __file__, "--bare", str(first), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        _bytes_until(self.process.stdout.fileno(), b"r")

    def capture(self, path: Path) -> tuple[float, float]:
        """Seconds until the first break, and until the end."""
        assert self.process.stdin and self.process.stdout
        start = time.perf_counter()
        self.process.stdin.write(f"{path}\n".encode())
        times = _bytes_until(self.process.stdout.fileno(), b"e")
        return times[0][1] - start, times[-1][1] - start

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def new_process(python: str, path: Path) -> tuple[float, float]:
    """The same for a Python that is started for it."""
    start = time.perf_counter()
    with subprocess.Popen([python, __file__, "--once", str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        times = _bytes_until(process.stdout.fileno(), b"e")
        found = times[0][1] - start, times[-1][1] - start
    return found


def _bytes_until(fd: int, last: bytes) -> list[tuple[bytes, float]]:
    """Bytes with the time at which each arrived, up to the one that is `last`."""
    found: list[tuple[bytes, float]] = []
    while not found or found[-1][0] != last:
        if not select.select([fd], [], [], WAIT_S)[0]:
            raise TimeoutError(f"no answer in {WAIT_S:g} s")
        data = os.read(fd, 64)
        if not data:
            raise RuntimeError("the process ended without an answer")
        found += [(data[i : i + 1], time.perf_counter()) for i in range(len(data))]
    if len(found) < 2 and last == b"e":
        raise RuntimeError("no break was logged")
    return found


class Worker:
    """The real worker and its protocol (docs/worker-protocol.md)."""

    def __init__(self, program: Path, python: str, workspace: Path) -> None:
        ours, theirs = socket.socketpair()
        command = [str(program), "--python", python, "--fd", str(theirs.fileno()), "--workspace", str(workspace)]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.socket = ours
        self.received = b""
        self.jobs = 0
        while (frame := self.read())["op"] != "ready":
            pass
        if frame["torch_error"]:
            raise RuntimeError(frame["torch_error"])
        self.torch = frame["torch"]

    def read(self) -> dict[str, Any]:
        while True:
            if len(self.received) >= 4:
                end = 4 + struct.unpack(">I", self.received[:4])[0]
                if len(self.received) >= end:
                    body, self.received = self.received[4:end], self.received[end:]
                    return json.loads(body)
            if not select.select([self.socket], [], [], WAIT_S)[0]:
                raise TimeoutError(f"no frame in {WAIT_S:g} s")
            data = self.socket.recv(1 << 16)
            if not data:
                raise RuntimeError("the worker ended")
            self.received += data

    def run(self, op: str, path: Path, **keys: Any) -> dict[str, tuple[float, dict[str, Any]]]:
        """The first frame of each kind, and the seconds until it was there."""
        self.jobs += 1
        body = json.dumps({"op": op, "id": self.jobs, "file": str(path), **keys}).encode()
        found: dict[str, tuple[float, dict[str, Any]]] = {}
        start = time.perf_counter()
        self.socket.sendall(struct.pack(">I", len(body)) + body)
        while "done" not in found:
            frame = self.read()
            found.setdefault(frame["op"], (time.perf_counter() - start, frame))
        if found["done"][1]["status"] != "ok":
            raise RuntimeError(f"the job failed: {found['done'][1]}")
        return found

    def capture(self, path: Path) -> tuple[float, float]:
        """Seconds until the first break, and until the entry is finished."""
        found = self.run("capture", path)
        seconds, frame = found["entry"]
        entry = frame["entry"]
        if (entry["status"], len(entry["breaks"]), entry["graphs"]) != ("breaks", 1, 2):
            raise RuntimeError(f"not the entry that was written: {entry}")
        return found["break"][0], seconds

    def size(self) -> dict[str, int]:
        """What is held between jobs: memory in KiB, of the process and of those that stand by; open descriptors; processes below it."""
        pid = self.process.pid
        time.sleep(SETTLE_S)
        sizes, below = _memory(pid), _descendants(pid)
        return {
            "rss": sizes["Rss"],
            "private": sizes["Private_Dirty"],
            "pss": sizes["Pss"] + sum(_memory(p)["Pss"] for p in below),
            "standby": sum(_memory(p)["Private_Dirty"] for p in below),
            "fds": len(os.listdir(f"/proc/{pid}/fd")),
            "below": len(below),
        }

    def close(self) -> None:
        self.socket.close()
        self.process.wait()


def _memory(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    parts = [line.partition(":") for line in lines if line.endswith("kB")]
    return {key: int(value.split()[0]) for key, _, value in parts}


def _descendants(pid: int) -> list[int]:
    found = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [p for child in found for p in _descendants(child)]


# ---- the tables ---------------------------------------------------------------------------------------------------------------


def row(name: str, seconds: list[float]) -> str:
    """n, minimum, median, 95th percentile and maximum of times, in milliseconds."""
    ms = sorted(1000 * s for s in seconds)
    p95 = ms[min(len(ms) - 1, round(0.95 * (len(ms) - 1)))]
    return f"| {name} | {len(ms)} | {ms[0]:.0f} | {statistics.median(ms):.0f} | {p95:.0f} | {ms[-1]:.0f} |"


def machine() -> str:
    """Processor and number of cores."""
    name = platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{os.cpu_count()} cores, {name}"


def show(times: dict[str, list[tuple[float, float]]], rounds: dict[str, list[int]]) -> None:
    for at, what in enumerate(("first break", "entry finished")):
        print(f"\n| {what}, ms | n | min | p50 | p95 | max |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        for name, found in times.items():
            if found:
                print(row(name, [t[at] for t in found]))
        worker = dict(zip(rounds["worker"], times["worker"], strict=True))
        for name in ("bare, forked", "bare, in process"):
            paired = [worker[r][at] / t[at] for r, t in zip(rounds[name], times[name], strict=True)]
            if paired:
                print(f"worker / {name}: median of {len(paired)} rounds {statistics.median(paired):.2f}")


def measure(options: argparse.Namespace, folder: Path) -> None:
    path = folder / "block.py"
    write_model(path, 0)
    worker = Worker(Path(options.support) / "graphglue-worker", options.python, folder)
    bare = {"bare, forked": Bare(options.python, path, True), "bare, in process": Bare(options.python, path, False)}
    print(f"{machine()}; torch {worker.torch}; {options.rounds} rounds", flush=True)
    captures = {"worker": worker.capture, **{name: b.capture for name, b in bare.items()}}
    captures["new process"] = lambda p: new_process(options.python, p)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in captures}
    rounds: dict[str, list[int]] = {name: [] for name in captures}
    sizes = {0: worker.size()}
    for number in range(1, options.rounds + 1):
        write_model(path, number)
        names = [n for n in captures if n != "new process" or number % options.new_every == 0]
        for i in range(len(names)):
            name = names[(number + i) % len(names)]
            times[name].append(captures[name](path))
            rounds[name].append(number)
        if number % 50 == 0 or number == options.rounds:
            sizes[number] = worker.size()
    show(times, rounds)
    print(
        "\n| captures | RSS, KiB | its own, KiB | of what stands by, KiB | PSS of all, KiB | descriptors | processes below |"
    )
    print("|" + " ---: |" * 7)
    for number, s in sizes.items():
        print(f"| {number} | {s['rss']} | {s['private']} | {s['standby']} | {s['pss']} | {s['fds']} | {s['below']} |")
    worker.close()
    for b in bare.values():
        b.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--new-every", type=int, default=40, help="rounds between two new processes")
    parser.add_argument("--support", default=str(ROOT / "build" / "release" / "bin"), help="folder of graphglue-worker")
    parser.add_argument("--python", default=sys.executable, help="the Python whose torch is measured")
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--once", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.bare:
        bare_serve(options.bare[0], options.bare[1] == "forked")
    elif options.once:
        bare_capture(options.once, 1)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(options, Path(folder).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
