"""Warm workers are what a worker of its own is: started, ended and killed as such, or not warm at all."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "worker")]
import warm_workers  # noqa: E402
from client import Worker, find_worker  # noqa: E402

MODEL = """
import ctypes, os, sys, time, torch

def f(x):
    {body}
    if x.sum() > 0:
        print(x.shape)
    return x + 1

def graphglue_inputs():
    yield "f", f, (torch.ones(3),), {{}}
"""


Template = tuple[dict[str, str], Callable[[], None]]


@pytest.fixture(autouse=True)
def plain_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests of other files import torch in this process, which sets variables; and nohup ignores a signal, which a server sees to."""
    for name in warm_workers.LEFT_OUT:
        monkeypatch.delenv(name, raising=False)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    """What makes a program use it, and what ends it."""
    found, end = warm_workers.start(Path(find_worker()).with_name("warm_worker"))
    assert found, "no template"
    yield found, end
    end()


@pytest.fixture
def warm(template: Template) -> dict[str, str]:
    """The environment of a warm worker."""
    return template[0]


def begin(warm: dict[str, str], folder: Path, **env: str) -> Worker:
    return Worker([str(folder)], env={**warm, **env}, program=warm["GRAPHGLUE_WORKER"]).start()


def is_warm(worker: Worker) -> bool:
    """Does another process stand for it?"""
    assert worker.hello
    return worker.hello["pid"] != worker.process.pid


def write(folder: Path, body: str = "pass") -> str:
    path = folder / "model.py"
    path.write_text(MODEL.format(body=textwrap.indent(body, "    ").strip()))
    return str(path)


def wait_gone(pids: list[int], seconds: float = 5) -> list[int]:
    """Those that have not ended."""
    left = []
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        left += [] if select.select([fd], [], [], seconds)[0] else [pid]
        os.close(fd)
    return left


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not k.endswith(("_ms", "_us"))}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def test_what_it_finds_is_what_a_worker_of_its_own_finds(warm: dict[str, str], tmp_path: Path) -> None:
    file, found = write(tmp_path), []
    for env in (warm, {**warm, **warm_workers.OWN}):
        worker = begin(env, tmp_path)
        assert is_warm(worker) == (env is warm)
        hello = {k: v for k, v in (worker.hello or {}).items() if k != "pid"}
        job = worker.capture(file)
        found.append((hello, worker.ready, without_times(job.entry), without_times(job.done)))
        assert worker.close() == 0
    assert found[0] == found[1]


def test_it_has_the_arguments_environment_folder_and_descriptors_that_it_was_started_with(
    warm: dict[str, str], tmp_path: Path
) -> None:
    body = """
    if not torch.compiler.is_compiling():
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_char_p
        said = [getenv(b"OURS"), getenv(b"GRAPHGLUE_LOG"), os.environ["OURS"], sorted(n for n in os.environ if "WARM" in n)]
        print(*said, os.umask(0o22), os.getcwd(), file=open("said", "w"))
    """
    ours, theirs = os.pipe()
    file = write(tmp_path, textwrap.dedent(body).strip())
    before = os.getcwd(), os.umask(0o27)
    try:
        os.chdir(tmp_path)
        worker = begin(warm, tmp_path, OURS="1", GRAPHGLUE_LOG="debug")
    finally:
        os.chdir(before[0])
        os.umask(before[1])
    assert is_warm(worker) and worker.hello
    assert worker.capture(file).done["status"] == "ok"
    assert (tmp_path / "said").read_text() == f"b'1' b'debug' 1 [] 23 {tmp_path}\n"
    process = Path("/proc", str(worker.hello["pid"]))
    assert f"GRAPHGLUE_TEST_MARK={worker.mark.split('=')[1]}" in (process / "environ").read_text().split("\0")
    sockets = [fd for fd in os.listdir(process / "fd") if int(fd) > 2]
    assert len([fd for fd in sockets if int(fd) < 256]) == 2, "its connection and the environment held back"
    os.close(ours)
    os.close(theirs)
    assert worker.close() == 0


@pytest.mark.parametrize(
    "env",
    [{"TORCH_LOGS": ""}, {"PYTHONPATH": "/nowhere"}, {"CUDA_VISIBLE_DEVICES": "0"}, {"TMPDIR": "/var/tmp"}],
    ids=str,
)
def test_an_environment_that_differs_gets_a_worker_of_its_own(
    warm: dict[str, str], tmp_path: Path, env: dict[str, str]
) -> None:
    worker = Worker([str(tmp_path)], env={**warm, **env}, program=warm["GRAPHGLUE_WORKER"])
    worker.hello = worker.read()
    assert not is_warm(worker)
    assert os.readlink(f"/proc/{worker.process.pid}/exe") == find_worker()
    worker.process.kill()
    worker.close()


def test_limits_and_options_that_differ_get_a_worker_of_its_own(warm: dict[str, str], tmp_path: Path) -> None:
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    program = warm["GRAPHGLUE_WORKER"]
    worker = Worker([str(tmp_path)], env=warm, program=program, preexec_fn=limit)
    worker.hello = worker.read()
    assert not is_warm(worker)
    worker.process.kill()
    worker.close()
    done = subprocess.run(
        [program, "--python"], env={**os.environ, **warm}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr.startswith("usage: graphglue-worker")


def test_a_killed_one_takes_its_job_with_it(warm: dict[str, str], tmp_path: Path) -> None:
    worker = begin(warm, tmp_path)
    assert worker.hello
    job = worker.submit("capture", write(tmp_path, "time.sleep(60)"))
    while (frame := worker.read())["op"] != "started":
        pass
    assert frame["id"] == job
    worker.process.kill()
    assert wait_gone([worker.hello["pid"], frame["pid"]]) == []
    assert worker.left_behind() == []
    assert worker.close() == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_that_ends_it_is_told(warm: dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    worker = begin(warm, tmp_path)
    assert worker.hello
    os.kill(worker.hello["pid"], number)
    assert worker.process.wait(10) == -number
    worker.close()


def test_an_exit_status_is_told(warm: dict[str, str], tmp_path: Path) -> None:
    worker = begin(warm, tmp_path)
    worker.socket.sendall(b"\0\0\0\2{x")  # no frame of the protocol
    worker.process.send_signal(signal.SIGINT)
    assert worker.process.stderr
    told = worker.process.stderr.read().decode()
    assert worker.process.wait(10) == 1, told
    worker.close()


def test_without_a_template_it_is_a_worker_of_its_own(template: Template, tmp_path: Path) -> None:
    """The last one: the template is gone afterwards."""
    found, end = template
    worker = begin(found, tmp_path)
    assert is_warm(worker) and worker.hello
    end()
    assert wait_gone([worker.hello["pid"]]) == [], "it ends with the template"
    assert worker.close() == -signal.SIGKILL
    worker = Worker([str(tmp_path)], env=found, program=found["GRAPHGLUE_WORKER"])
    worker.hello = worker.read()
    assert not is_warm(worker)
    worker.process.kill()
    worker.close()
