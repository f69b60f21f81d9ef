"""The worker does not grow from job to job: memory, descriptors, processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from client import Worker
from conftest import Write

SOURCE = """
import torch


def step(x):
    if x.sum() > {number}:
        x = x * {number}
    return x + 1


def graphglue_inputs():
    yield "step", step, (torch.ones({number}, 4),), {{}}
"""
SLACK_KIB = 256  # caches of Python's own that fill at first; a capture left behind would be megabytes


def held(worker: Worker) -> tuple[int, int, int]:
    """Resident memory in KiB, descriptors, and processes below the worker but for the one that stands by."""
    worker.standby()  # which is part of what it holds, once it is there
    pid = worker.process.pid
    status = Path(f"/proc/{pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0])
    return resident, len(os.listdir(f"/proc/{pid}/fd")), len(worker.left_behind())


def huge_kib(worker: Worker) -> int:
    text = Path(f"/proc/{worker.process.pid}/smaps_rollup").read_text()
    return int(text.partition("AnonHugePages:")[2].split()[0])


@pytest.fixture
def settled(worker: Worker) -> Worker:
    """A worker that has put its memory into huge pages, which it does while it has nothing else to do, and which rounds it up."""
    before, now = -1, huge_kib(worker)
    while now != before:
        time.sleep(0.2)
        before, now = now, huge_kib(worker)
    return worker


def test_many_captures_leave_nothing(settled: Worker, write: Write) -> None:
    sizes = []
    for number in range(2, 34):
        job = settled.capture(write(SOURCE.format(number=number)))
        assert job.entry["graphs"] == 2 and len(job.entry["breaks"]) == 1
        sizes.append(held(settled))
    resident, descriptors, processes = zip(*sizes[4:], strict=True)
    assert len(set(descriptors)) == 1 and set(processes) == {0}
    assert resident[-1] - resident[0] <= SLACK_KIB


def test_failed_jobs_leave_nothing(settled: Worker, write: Write) -> None:
    sizes = []
    for number in range(2, 26):
        path = write(
            SOURCE.format(number=number) + ("\nraise ValueError" if number % 2 else "\nimport os; os._exit(3)")
        )
        assert settled.capture(path).done["status"] in ("import_error", "crashed")
        sizes.append(held(settled))
    resident, descriptors, processes = zip(*sizes[4:], strict=True)
    assert len(set(descriptors)) == 1 and set(processes) == {0}
    assert resident[-1] - resident[0] <= SLACK_KIB
