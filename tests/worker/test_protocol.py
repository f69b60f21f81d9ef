"""The wire: hello and ready, order of frames, the queue, cancel, the overlay, the ends of the connection."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from client import PYTHON, Closed, Worker, find_worker
from conftest import Write

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            x = x * 2
            print("seen")
            return x + 1

    def graphglue_inputs():
        yield "one", Net(), (torch.ones(2),), {}
        yield "two", Net(), (torch.ones(3),), {}
"""
SLEEPY = """
    import time

    def graphglue_inputs():
        print("waiting")
        time.sleep(600)
        yield
"""


def test_hello_and_ready(worker: Worker) -> None:
    hello, ready = worker.hello, worker.ready
    assert hello and ready
    assert hello["protocol"] == 1
    ask = "import sys; print(sys.version.split()[0], sys.prefix)"
    said = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    assert f"{hello['version']} {hello['prefix']}" == said
    assert hello["mode"] in ("embedded", "executed")
    assert ready["torch_error"] is None
    assert ready["torch"].split(".")[0] == "2"
    assert os.path.exists(ready["registry"])
    assert isinstance(ready["cuda"]["devices"], list)


@pytest.mark.parametrize("mode", ["embedded", "executed"])
def test_both_modes_answer_alike(mode: str, write: Write, workspace: Path) -> None:
    path = write(NET)
    worker = Worker([str(workspace)], env={"GRAPHGLUE_WORKER_MODE": mode})
    hello = worker.read()
    if hello["op"] == "ready":
        assert mode == "embedded"
        assert "libpython" in hello["torch_error"]
        pytest.skip("this interpreter has no shared libpython")
    assert hello["mode"] == mode
    assert hello["interpreter"] == PYTHON
    worker.ready = worker.read()
    job = worker.capture(path)
    assert [e["graphs"] for e in job.entries.values()] == [2, 2]
    assert worker.close() == 0


def test_frames_of_a_job_come_in_order(worker: Worker, write: Write) -> None:
    job = worker.capture(write(NET))
    assert [f["op"] for f in job.frames] == ["started", "break", "entry", "break", "entry", "done"]
    assert job.done["status"] == "ok"
    assert job.done["message"] is None
    assert job.done["output"].count("seen") == 2, "once for each entry"
    assert job.streamed[0]["entry"] == "one"
    assert job.streamed[0]["break"] == job.entries["one"]["breaks"][0]


def test_only_the_entries_asked_for_run(worker: Worker, write: Write) -> None:
    assert list(worker.capture(write(NET), entries=["two"]).entries) == ["two"]


def test_overlay_hides_the_disk(worker: Worker, write: Write) -> None:
    helper = write("def f(x):\n    raise RuntimeError('from the disk')\n", "overlaid_helper.py")
    path = write("raise RuntimeError('from the disk')\n")
    main = "import torch, inspect\nfrom overlaid_helper import f\nassert 'return x' in inspect.getsource(f)\n"
    main += "def graphglue_inputs():\n    yield 'f', f, (torch.ones(2),), {}\n"
    buffers = [{"file": path, "text": main}, {"file": helper, "text": "def f(x):\n    print(1)\n    return x + 1\n"}]
    job = worker.capture(path, overlay=buffers)
    assert job.done["status"] == "ok", job.done
    assert job.entry["breaks"][0]["stack"][0]["line"] == 2
    assert job.entry["breaks"][0]["stack"][0]["file"] == helper


def test_jobs_queue_and_cancel(worker: Worker, write: Write) -> None:
    sleepy, quick = write(SLEEPY, "sleepy.py"), write(NET)
    running, waiting, last = (worker.submit("capture", p) for p in (sleepy, quick, quick))
    assert next(worker.frames(running))["op"] == "started"
    worker.send({"op": "cancel", "id": waiting})
    frames = list(worker.frames(waiting))
    assert [(f["op"], f.get("status")) for f in frames] == [("done", "canceled")]
    worker.send({"op": "cancel", "id": running})
    done = list(worker.frames(running))[-1]
    assert (done["status"], done["message"]) == ("canceled", None)
    assert list(worker.frames(last))[-1]["status"] == "ok"


def test_capture_before_ready_is_queued(write: Write, workspace: Path) -> None:
    worker = Worker([str(workspace)])
    job = worker.submit("capture", write(NET))
    assert [worker.read()["op"] for _ in range(2)] == ["hello", "ready"]
    assert list(worker.frames(job))[-1]["status"] == "ok"
    worker.send({"op": "shutdown"})
    with pytest.raises(Closed):
        worker.read()
    assert worker.process.wait(20) == 0
    worker.close()


def test_text_of_user_code_is_made_valid(worker: Worker, write: Write) -> None:
    source = "import torch\ndef f(x): return x + 1\ndef graphglue_inputs():\n    yield 'bad \\ud800', f, (torch.ones(1),), {}\n"
    assert worker.capture(write(source)).entry["name"] == "bad \\ud800"


def test_frames_larger_than_a_pipe(worker: Worker, write: Write) -> None:
    source = "import torch\nNAME = 'n' * (1 << 20)\ndef f(x): return x + 1\ndef graphglue_inputs():\n"
    path = write(source + "    yield NAME, f, (torch.ones(1),), {}\n")
    job = worker.capture(path, overlay=[{"file": "/nowhere/big.py", "text": "#" * (8 << 20)}])
    assert job.entry["name"] == "n" * (1 << 20)


def test_unknown_keys_and_ops_are_ignored(worker: Worker, write: Write) -> None:
    worker.send({"op": "no_such_thing", "id": 99})
    assert worker.capture(write(NET), color="blue").done["status"] == "ok"


def test_request_without_a_file_is_refused(worker: Worker) -> None:
    worker.last_id += 1
    worker.send({"op": "capture", "id": worker.last_id})
    assert next(worker.frames(worker.last_id))["status"] == "error"


def test_import_error_says_where(worker: Worker, write: Write) -> None:
    job = worker.capture(write("import torch\nx = 1 / 0\n"))
    assert job.done["status"] == "import_error"
    assert "ZeroDivisionError" in job.done["message"]
    assert job.done["place"]["line"] == 2 and job.done["place"]["col"] in (4, None)  # no columns before Python 3.11


def test_oversized_frame_ends_the_worker() -> None:
    worker = Worker().start()
    worker.socket.sendall(struct.pack(">I", 1 << 30))
    with pytest.raises(Closed):
        worker.read()
    assert worker.process.wait(20) == 1
    worker.close()


@pytest.mark.parametrize("python", ["/bin/true", "/bin/sh", "/no/such/python", "/bin/sleep"])
def test_what_is_no_python_is_told(python: str) -> None:
    worker = Worker(python=python)
    ready = worker.read()
    assert ready["op"] == "ready"
    assert ready["torch"] is None
    assert python in ready["torch_error"]
    assert worker.process.wait(20) == 1
    worker.close()


def test_missing_host_module_is_told(tmp_path: Path) -> None:
    built = Path(find_worker()).parent
    installed = built.parent / "lib" / "graphglue"
    shutil.copy(built / "graphglue-worker", tmp_path)
    support = installed if installed.exists() else built
    shutil.copytree(support / "graphglue_worker", tmp_path / "graphglue_worker")
    worker = Worker(program=str(tmp_path / "graphglue-worker"))
    ready = worker.read()
    assert (ready["op"], ready["torch"]) == ("ready", None)
    assert "reinstall graphglue-lsp" in ready["torch_error"]
    assert worker.process.wait(20) == 1
    worker.close()


def test_a_program_that_only_says_it_is_free_threaded(tmp_path: Path) -> None:
    fake = tmp_path / "python3t"
    fake.write_text("#!/bin/sh\nprintf 'version 3.13.1\\nminor True\\nexec False\\nthreads True\\n'\n")
    fake.chmod(0o755)
    worker = Worker(python=str(fake))
    assert "free-threaded" in worker.read()["torch_error"]
    worker.close()


def test_usage_is_told_on_stderr() -> None:
    ran = subprocess.run([find_worker(), "--nonsense"], capture_output=True, text=True, timeout=20, check=False)
    assert ran.returncode == 2
    assert "usage" in ran.stderr
