"""Code of a job with ``"sandbox": true`` gets at nothing of the user's: every way out is tried, on machines that offer more and less."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import breakouts
import pytest
from breakouts import NUMBERS
from client import Job, Worker
from conftest import Write
from test_faults import BOMB, FAULT, HEAD

SECRET = {"GRAPHGLUE_TEST_API_KEY": "geheim-4711", "HF_TOKEN": "geheim-4712"}
NAMESPACES = 0x7E020000
READS = {"read_secret", "read_shadow", "list_outside"}  # by Landlock alone


def lacking(*calls: str) -> Callable[[], None]:
    """A machine whose kernel has not these system calls; "namespaces": clone does not make any."""

    def confine() -> None:
        load, equal, mask, answer = 0x20, 0x15, 0x54, 0x06
        enosys, eperm, allow = 0x50000 | 38, 0x50000 | 1, 0x7FFF0000
        code = [(load, 0, 0, 0)]
        for name in calls:
            if name != "namespaces":
                code += [(equal, 0, 1, NUMBERS[name]), (answer, 0, 0, enosys)]
        if "namespaces" in calls:
            code += [(equal, 0, 4, NUMBERS["clone"]), (load, 0, 0, 16), (mask, 0, 0, NAMESPACES), (equal, 1, 0, 0)]
            code += [(answer, 0, 0, eperm)]
        code += [(answer, 0, 0, allow)]
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
        whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
        libc = ctypes.CDLL(None)
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, whole) == 0

    return confine


MACHINES = {"all": None, "no_namespaces": lacking("namespaces"), "no_landlock": lacking("landlock")}


class Tried:
    """What came of every way out on one machine."""

    def __init__(self, machine: str, home: Path) -> None:
        self.machine = machine
        self.outside, workspace = home / ".ssh", home / "workspace"
        for folder in (self.outside, workspace):
            folder.mkdir(parents=True)
        for name in ("id_rsa", "file", "keep"):
            (self.outside / name).write_text(name)
        self.before = self.look()
        worker = Worker([str(workspace)], env={**SECRET, "HOME": str(home)}, preexec_fn=MACHINES[machine]).start()
        self.facts = worker.ready["sandbox"]
        file = workspace / "candidate.py"
        file.write_text(breakouts.program(str(self.outside), worker.process.pid))
        self.job = worker.capture(str(file), sandbox=True)
        self.results = dict(line.split("=", 1) for line in self.job.done["output"].splitlines() if "=" in line)
        self.inside = sorted(p.name for p in workspace.iterdir())
        self.left = worker.left_behind()
        self.status = worker.close()

    def look(self) -> dict[str, tuple[str, int, int]]:
        return {p.name: (p.read_text(), p.stat().st_mode, p.stat().st_mtime_ns) for p in self.outside.iterdir()}


@pytest.fixture(scope="module", params=list(MACHINES))
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    yield Tried(request.param, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("way", breakouts.names())
def test_no_way_out(tried: Tried, way: str) -> None:
    if way in READS and not tried.facts["reads"]:
        pytest.skip("reads are not kept from it without Landlock, and that is said")
    assert tried.results.get(way) not in (None, "DONE"), (tried.results, tried.job.done)


def test_nothing_has_changed_and_the_worker_lives(tried: Tried) -> None:
    assert tried.look() == tried.before
    assert tried.inside == ["candidate.py"]
    assert (tried.job.done["status"], tried.job.entry["status"]) == ("ok", "captured")
    assert (tried.left, tried.status) == ([], 0)


def test_the_ways_lead_out_without_a_sandbox(tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "id_rsa").touch()
    (outside / "file").touch()
    worker = Worker([str(tmp_path)], env=SECRET).start()
    file = tmp_path / "own.py"
    file.write_text(breakouts.program(str(outside), worker.process.pid, breakouts.HARMLESS))
    done = worker.capture(str(file)).done
    assert done["output"].split() == [f"{name}=DONE" for name in breakouts.HARMLESS]
    assert worker.close() == 0


MODEL = """
import os, tempfile, torch
with tempfile.NamedTemporaryFile("w") as f: f.write("scratch")
print(sorted(k for k in os.environ if "KEY" in k or "TOKEN" in k))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        h = self.linear(x)
        {line}
        return h * 2
def graphglue_inputs(): yield "net", Net(), (torch.ones(2, 4),), {{}}
"""


def test_capture_and_verify_work_inside(worker: Worker, write: Write) -> None:
    before, after = (
        MODEL.format(line="if x.sum() > 100: h = h + 1"),
        MODEL.format(line="h = torch.where(x.sum() > 100, h + 1, h)"),
    )
    path = write(before)
    job = worker.capture(path, sandbox=True)
    assert (job.entry["status"], job.done["message"]) == ("breaks", None), job.done
    overlays = {"original": [{"file": path, "text": before}], "edited": [{"file": path, "text": after}]}
    frames = list(worker.frames(worker.submit("verify", path, sandbox=True, safety="exact", **overlays)))
    outside = list(worker.frames(worker.submit("verify", path, safety="exact", **overlays)))
    (verdict,) = [f["verdict"] for f in frames if f["op"] == "verdict"]
    (expected,) = [f["verdict"] for f in outside if f["op"] == "verdict"]
    assert (verdict["accepted"], verdict["glued"], verdict["reasons"]) == (True, True, expected["reasons"])
    assert verdict["entries"][0]["after"]["status"] == "captured"


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        (BOMB, "crashed", "more than 128 processes"),
        ("hog = bytearray(1 << 40)", "import_error", "MemoryError"),
        ("while True: pass", "timeout", "0.5 s"),
        ("ctypes.string_at(0)", "crashed", "SIGSEGV"),
    ],
    ids=["processes", "memory", "time", "crash"],
)
def test_ceilings(worker: Worker, write: Write, source: str, status: str, words: str) -> None:
    path = write(HEAD + source + "\n" + FAULT.format(fault="pass"))
    deadline = 500 if status == "timeout" else 60_000
    done = worker.capture(path, sandbox=True, deadline_ms=deadline).done
    assert (done["status"], words in done["message"]) == (status, True), done
    assert worker.left_behind() == []


def test_what_cannot_be_confined_is_not_run(workspace: Path, write: Write) -> None:
    worker = Worker([str(workspace)], preexec_fn=lacking("namespaces", "landlock", "seccomp")).start()
    try:
        path = write(HEAD + "print('it ran')\n" + FAULT.format(fault="pass"))
        job: Job = worker.capture(path, sandbox=True)
        assert (job.done["status"], job.done["output"], job.entries) == ("error", "", {})
        assert "model-written code is not run" in job.done["message"] and "network" in job.done["message"]
        assert worker.ready["sandbox"]["how"] == []
        assert worker.capture(path, entries=["good"]).entry["status"] == "captured"
    finally:
        assert worker.close() == 0


def test_no_scratch_folder_is_left(tmp_path: Path, write: Write) -> None:
    worker = Worker(env={"TMPDIR": str(tmp_path)}).start()
    path = write(HEAD + "import tempfile\nopen(tempfile.mkstemp()[1], 'w').write('x')\n" + FAULT.format(fault="pass"))
    for _ in range(2):
        assert worker.capture(path, sandbox=True, entries=["good"]).entry["status"] == "captured"
        # Between jobs, too: a worker is often killed there.  torch makes a folder of its own.
        assert [n for n in os.listdir(tmp_path) if n.startswith(("graphglue", "tmp"))] == []
    assert worker.close() == 0
