"""Whatever user code does costs its own job, or its own entry, and nothing else: each test runs a job after the fault."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
from client import Closed, Job, Worker
from conftest import Write

HEAD = "import ctypes, os, signal, sys, time, torch\n"
CRASH = "ctypes.string_at(0)"
FAULT = """
def f(x):
    x = x + 1
    {fault}
    return x

def good(x):
    return x * 2

def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {{}}
    yield "good", good, (torch.ones(2),), {{}}
"""


def healthy(worker: Worker, write: Write) -> None:
    """The worker still captures."""
    path = write(HEAD + FAULT.format(fault="pass"), "healthy.py")
    assert worker.capture(path).entries["f"]["status"] == "captured"


def run_fault(worker: Worker, write: Write, fault: str, **keys: object) -> Job:
    job = worker.capture(write(HEAD + FAULT.format(fault=fault)), **keys)
    healthy(worker, write)
    return job


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (CRASH, "SIGSEGV"),
        ("os.abort()", "SIGABRT"),
        ("os._exit(0)", "exit code 0"),
        ("os._exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ],
)
def test_a_dying_entry_loses_itself_only(worker: Worker, write: Write, fault: str, words: str) -> None:
    job = run_fault(worker, write, fault)
    assert job.entries["f"]["status"] == "crashed"
    assert words in job.entries["f"]["message"]
    assert job.entries["good"]["status"] == "captured"
    assert job.done["status"] == "ok"


def test_endless_loop_in_an_entry(worker: Worker, write: Write) -> None:
    started = time.monotonic()
    job = run_fault(worker, write, "\n    while True: time.sleep(0.01)", deadline_ms=1500)
    assert job.entries["f"]["status"] == "timeout"
    assert "1.5 s" in job.entries["f"]["message"]
    assert job.entries["good"]["status"] == "captured"
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("source", "words"),
    [(CRASH, "SIGSEGV"), ("os._exit(5)", "exit code 5"), ("os.killpg(0, signal.SIGKILL)", "SIGKILL")],
)
def test_dying_in_the_import_loses_the_job(worker: Worker, write: Write, source: str, words: str) -> None:
    done = worker.capture(write(HEAD + source + "\n")).done
    assert done["status"] == "crashed"
    assert words in done["message"]
    healthy(worker, write)


def test_hang_in_the_import(worker: Worker, write: Write) -> None:
    done = worker.capture(write(HEAD + "while True: pass\n"), deadline_ms=500).done
    assert done["status"] == "timeout"
    assert "0.5 s" in done["message"]
    healthy(worker, write)


def test_exit_in_the_import(worker: Worker, write: Write) -> None:
    done = worker.capture(write(HEAD + "sys.exit(4)\n")).done
    assert done["status"] == "import_error"
    assert "sys.exit(4)" in done["message"]
    healthy(worker, write)


def test_exit_in_an_entry(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "sys.exit(4)")
    assert job.entries["f"]["status"] == "eager_error"
    assert "SystemExit: 4" in job.entries["f"]["message"]


def test_input_reads_nothing(worker: Worker, write: Write) -> None:
    assert "EOFError" in run_fault(worker, write, "input()").entries["f"]["message"]


def test_memory_blow_up_in_an_entry(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "hog = [bytearray(1 << 26) for _ in range(400)]", memory_bytes=1 << 29)
    assert job.entries["f"]["status"] in ("crashed", "eager_error")
    assert "memory" in job.entries["f"]["message"].lower()
    assert job.entries["good"]["status"] == "captured"


def test_memory_blow_up_in_a_tensor(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "torch.zeros(1 << 34).fill_(1)", memory_bytes=1 << 29)
    assert job.entries["f"]["status"] == "eager_error"
    assert "memory" in job.entries["f"]["message"]


def test_memory_blow_up_in_the_import(worker: Worker, write: Write) -> None:
    done = worker.capture(write(HEAD + "hog = [bytearray(1 << 26) for _ in range(400)]\n"), memory_bytes=1 << 29).done
    assert done["status"] in ("memory", "import_error")
    assert "memory" in done["message"].lower()
    healthy(worker, write)


def test_flood_is_cut_and_does_not_block(worker: Worker, write: Write) -> None:
    job = run_fault(worker, write, "\n    for _ in range(20000): os.write(1, b'y' * 4096)")
    assert job.entries["f"]["status"] == "breaks"
    assert len(job.done["output"]) == 4096
    assert job.done["output"].endswith("y" * 1024)  # after a warning of Dynamo's


def test_endless_flood_ends_at_the_deadline(worker: Worker, write: Write) -> None:
    done = worker.capture(write(HEAD + "while True: os.write(2, b'z' * 65536)\n"), deadline_ms=500).done
    assert (done["status"], len(done["output"])) == ("timeout", 4096)
    healthy(worker, write)


def test_recursion_without_end(worker: Worker, write: Write) -> None:
    job = worker.capture(write(HEAD + "def f(x):\n    return f(x) + 1\n" + FAULT.partition("\n\n")[2].format()))
    assert job.entries["f"]["status"] == "eager_error"
    assert "RecursionError" in job.entries["f"]["message"]
    healthy(worker, write)


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until_gone(pid: int, seconds: float = 20) -> None:
    """The kernel tells of the end of a child only to its parent: ask until the deadline."""
    end = time.monotonic() + seconds
    while alive(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)


@pytest.mark.parametrize("leave", ["", "os.setsid(); "])
def test_what_a_job_leaves_behind_is_ended(worker: Worker, write: Write, tmp_path: Path, leave: str) -> None:
    note = tmp_path / "pid"
    source = f"""
if os.fork() == 0:
    {leave}open({str(note)!r}, "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists({str(note)!r}) or not open({str(note)!r}).read(): time.sleep(0.01)
def graphglue_inputs():
    yield "good", abs, (torch.ones(2),), {{}}
"""
    assert worker.capture(write(HEAD + source)).done["status"] == "ok"
    wait_until_gone(int(note.read_text()))
    healthy(worker, write)


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_jobs_end_with_their_worker(write: Write, tmp_path: Path, how: str) -> None:
    note = tmp_path / "pid"
    fault = f"""
    with open({str(note)!r}, "w") as out: out.write(str(os.getpid()))
    os.rename({str(note)!r}, {str(note) + ".done"!r})
    time.sleep(600)"""
    worker = Worker().start()
    frames = worker.frames(worker.submit("capture", write(HEAD + FAULT.format(fault=fault))))
    child = next(frames)["pid"]
    end = time.monotonic() + 30
    while not os.path.exists(f"{note}.done"):
        assert time.monotonic() < end
        time.sleep(0.01)
    entry = int(Path(f"{note}.done").read_text())
    if how == "killed":
        worker.process.send_signal(signal.SIGKILL)
        with pytest.raises((Closed, ConnectionError)):
            list(frames)
    worker.close()
    for pid in (child, entry):
        wait_until_gone(pid)


def test_threads_started_by_the_import(worker: Worker, write: Write) -> None:
    source = """
import threading, queue
asked, answered = queue.Queue(), queue.Queue()
def serve():
    while True: answered.put(asked.get() * 2)
threading.Thread(target=serve, daemon=True).start()
def f(x):
    asked.put(3)
    return x * answered.get()
def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {}
"""
    job = worker.capture(write(HEAD + source), deadline_ms=20000)
    assert job.entry["status"] == "breaks", job.entry["message"]
    healthy(worker, write)
