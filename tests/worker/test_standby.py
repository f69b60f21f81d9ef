"""The process of the next job, forked in good time, and its twin, which captures the first entry in place."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from client import Job, Worker
from conftest import Write
from test_faults import drop_namespaces

# What is printed by the compiled run is told; the eager run's is not.
IN_PLACE = """
import os
import torch
{before}

HOME = os.getpid()


@torch._dynamo.disable
def say():
    print("in place", os.getpid() == HOME, flush=True)


def step(x):
    say()
    return x + 1


def graphglue_inputs():
    yield "step", step, (torch.ones(3),), {{}}
"""


@pytest.fixture(scope="module")
def worker(workspace: Path) -> Iterator[Worker]:
    """Of its own: most of these tests wait until it stands by."""
    running = Worker([str(workspace)]).start()
    yield running
    assert running.close() == 0


def captured(worker: Worker, path: str, **keys: object) -> Job:
    """A capture in a process that stood by."""
    pids = worker.standby()
    job = worker.capture(path, **keys)
    assert job.frames[0]["pid"] in pids
    return job


def test_the_next_job_runs_in_what_stood_by(worker: Worker, write: Write) -> None:
    for _ in range(2):
        job = captured(worker, write(IN_PLACE.format(before="")))
        assert job.entry["status"] == "breaks"
        assert job.done["output"] == "in place True\n"
        assert worker.left_behind() == []


def test_one_stands_by(worker: Worker, write: Write) -> None:
    first = worker.standby()
    captured(worker, write(IN_PLACE.format(before="")))
    second = worker.standby()
    assert len(second) == len(first)
    assert not set(first) & set(second)


def test_jobs_in_a_row_need_none(worker: Worker, write: Write) -> None:
    path = write(IN_PLACE.format(before=""))
    captured(worker, path)
    jobs = [worker.submit("capture", path) for _ in range(3)]
    for job in jobs:
        assert list(worker.frames(job))[-1]["status"] == "ok"
    assert len(worker.standby()) <= 3


# Each can be told from outside when it is done twice, or takes too long to be done twice.
@pytest.mark.parametrize(
    "before",
    [
        "open({note!r}, 'a').write('x')",
        "os.mkdir({note!r} + str(os.getpid()))",
        "import socket; socket.socket().close()",
        "import subprocess; subprocess.run(['true'])",
        "import tempfile; tempfile.TemporaryFile().close()",
        "import fcntl; fcntl.flock(os.open(__file__, os.O_RDONLY), fcntl.LOCK_SH)",
        "import time; time.sleep(0.11)",
        "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    ],
)
def test_what_cannot_be_repeated_unseen_is_done_once(worker: Worker, write: Write, tmp_path: Path, before: str) -> None:
    note = tmp_path / "note"
    job = captured(worker, write(IN_PLACE.format(before=before.format(note=str(note)))))
    assert job.entry["status"] == "breaks"
    if "threading" not in before:  # no fork of it would run: then everything is in one process
        assert job.done["output"] == "in place False\n"
    assert worker.left_behind() == []
    if note.exists():
        assert note.read_text() == "x"


def test_what_is_printed_by_the_import_is_told_once(worker: Worker, write: Write) -> None:
    job = captured(worker, write(IN_PLACE.format(before="print('imported'); os.write(1, b'directly\\n')")))
    assert sorted(job.done["output"].splitlines()) == ["directly", "imported", "in place True"]


@pytest.mark.parametrize("value", ["time.monotonic_ns() % 1009 + 2", "os.getpid()", "random.SystemRandom().random()"])
def test_what_the_import_makes_anew_is_no_difference(worker: Worker, write: Write, value: str) -> None:
    """The two processes have other values: the result is that of a fork."""
    source = f"""
import os, random, time
import torch

VALUE = {value}


def step(x):
    return x * VALUE


def graphglue_inputs():
    yield "step", step, (torch.ones(3),), {{}}
"""
    job = captured(worker, write(source))
    assert (job.entry["status"], job.entry["message"], job.entry["graphs"]) == ("captured", None, 1)


def test_random_numbers_of_the_import_are_the_same(worker: Worker, write: Write) -> None:
    source = IN_PLACE.format(before="import random\nVALUE = random.random() + torch.rand(()).item()")
    job = captured(worker, write(source.replace("x + 1", "x + VALUE")))
    assert job.entry["message"] is None
    assert job.done["output"] == "in place True\n"  # a second run would have printed again


def test_other_entries_are_those_of_a_file_just_imported(worker: Worker, write: Write) -> None:
    source = """
import torch

CALLS = []


def count(x):
    CALLS.append(1)
    return x * len(CALLS)


def graphglue_inputs():
    yield "one", count, (torch.ones(3),), {}
    yield "two", count, (torch.ones(4),), {}
"""
    job = captured(worker, write(source))
    one, two = job.entries.values()
    assert (one["status"], two["status"]) == ("captured", "captured")
    assert one["message"] == two["message"] and "failed guard: len(G['CALLS']) == " in one["message"], (
        "each call adds one"
    )


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("os.kill(os.getpid(), 11)", "crashed", "only when compiled"),
        ("raise ValueError('compiled')", "capture_error", "ValueError: compiled"),
        ("import time; time.sleep(600)", "timeout", "1 s, its deadline"),
    ],
)
def test_what_goes_wrong_only_in_the_compiled_run(
    worker: Worker, write: Write, fault: str, status: str, words: str
) -> None:
    source = f"""
import os
import torch


def bad(x):
    print("so far")
    if torch.compiler.is_compiling() or os.environ.get("COMPILED"):
        pass
    return inner(x)


@torch._dynamo.disable
def inner(x):
    import sys
    frame, names = sys._getframe(), []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    if "call_compiled" in names:
        {fault}
    return x


def good(x):
    return x * 2


def graphglue_inputs():
    yield "bad", bad, (torch.ones(3),), {{}}
    yield "good", good, (torch.ones(3),), {{}}
"""
    job = captured(worker, write(source), deadline_ms=1000 if status == "timeout" else 60_000)
    assert (job.entries["bad"]["status"], words in job.entries["bad"]["message"]) == (status, True), job.entries
    assert [b["id"] for b in job.entries["bad"]["breaks"]][:1] == ["GB0059"]
    assert job.entries["good"]["status"] == "captured"
    assert len([f for f in job.streamed if f["break"]["id"] == "GB0059"]) == 1
    assert worker.left_behind() == []


def test_ceilings_and_deadline_are_the_jobs(worker: Worker, write: Write) -> None:
    """They come with the job, not with the process."""
    source = """
import torch


def f(x):
    return x + torch.zeros(1 << 34).fill_(1)[0]


def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {}
"""
    job = captured(worker, write(source), memory_bytes=1 << 29)
    assert "memory" in job.entry["message"]
    job = captured(worker, write("while True: pass"), deadline_ms=300)
    assert (job.done["status"], "0.3 s" in job.done["message"]) == ("timeout", True)


def test_an_import_that_hangs_when_it_is_repeated(worker: Worker, write: Write, tmp_path: Path) -> None:
    """The fifo has one reader's worth of data; opening it to read is no change that is seen."""
    note = tmp_path / "note"
    os.mkfifo(note)
    writer = os.open(note, os.O_RDWR)
    os.write(writer, b"x")
    before = f"os.read(os.open({str(note)!r}, os.O_RDONLY), 1)"
    job = captured(worker, write(IN_PLACE.format(before=before)), deadline_ms=20_000)
    assert (job.entry["status"], job.done["output"]) == ("breaks", "in place False\n")
    os.close(writer)


def test_unsaved_text_reaches_the_twin(worker: Worker, write: Write) -> None:
    path = write("raise ValueError('on disk')")
    text = IN_PLACE.format(before="")
    job = captured(worker, path, overlay=[{"file": path, "text": text}])
    assert (job.entry["status"], job.done["output"]) == ("breaks", "in place True\n")
    assert path not in [f["file"] for f in job.done["reads"] if f["origin"] == "library"]


def test_cancel_ends_the_twin(worker: Worker, write: Write, tmp_path: Path) -> None:
    note = tmp_path / "note"
    os.mkfifo(note)
    source = IN_PLACE.format(before="import time").replace(
        "print(", f"fd = os.open({str(note)!r}, os.O_WRONLY); os.write(fd, b'x'); os.close(fd); time.sleep(600); print("
    )
    worker.standby()
    job = worker.submit("capture", write(source))
    frames = worker.frames(job)
    assert next(frames)["op"] == "started"
    assert note.read_text() == "x"
    worker.send({"op": "cancel", "id": job})
    assert list(frames)[-1]["status"] == "canceled"
    assert worker.left_behind() == []


@pytest.mark.parametrize("which", [0, -2, -1])
def test_one_that_was_killed_is_not_missed(worker: Worker, write: Write, which: int) -> None:
    pid = worker.standby()[which]
    ended = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert select.select([ended], [], [], 20)[0]
    os.close(ended)
    job = worker.capture(write(IN_PLACE.format(before="")))
    assert (job.entry["status"], job.done["status"]) == ("breaks", "ok")


def test_other_jobs_use_it_too(worker: Worker, write: Write) -> None:
    path = write("import torch\n\ndef f(x: torch.Tensor):\n    return x + 1\n\n\nf = torch.compile(f)\n")
    pids = worker.standby()
    frames = list(worker.frames(worker.submit("write_inputs", path)))
    assert frames[0]["pid"] in pids
    assert frames[-1]["status"] == "ok"


def test_sandboxed_jobs_do_not(worker: Worker, write: Write) -> None:
    if worker.ready and not all(worker.ready["sandbox"][k] for k in ("network", "writes", "programs", "outside")):
        pytest.skip("nothing is sandboxed here")
    pids = worker.standby()
    job = worker.capture(write(IN_PLACE.format(before="")), sandbox=True)
    assert job.frames[0]["pid"] not in pids
    assert not set(worker.left_behind(standing_by=True)) & set(pids)


def test_it_ends_with_the_worker() -> None:
    running = Worker().start()
    watched = [os.pidfd_open(pid) for pid in running.standby()]
    running.process.kill()
    running.close()
    for fd in watched:
        assert select.select([fd], [], [], 20)[0]
        os.close(fd)


@pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user has namespaces, or has none to drop")
def test_without_namespaces(workspace: Path, write: Write) -> None:
    """What a job leaves behind is looked for among all processes of the worker."""
    running = Worker([str(workspace)], preexec_fn=drop_namespaces).start()
    try:
        for _ in range(2):
            job = captured(running, write(IN_PLACE.format(before="")))
            assert job.done["output"] == "in place True\n"
            assert running.left_behind() == []
    finally:
        assert running.close() == 0
    assert running.left_behind(standing_by=True) == []
