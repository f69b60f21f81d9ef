"""CUDA: devices are asked for outside the zygote, one that is missing is said, and what a call takes is measured.

The devices are those of tests/unit/fake_cudart.c, a CUDA runtime with none behind it, but for the test that a GPU is needed for.
"""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client import PYTHON, Job, Worker, find_worker
from conftest import Write

torch = pytest.importorskip("torch")
BIN = Path(find_worker()).parent
FAKE = BIN.parent / "fake_cuda"
NONE = dict.fromkeys(("device", "name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes", "elapsed_ms"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphglue" / "cuda-runtime"
RUNTIME = {"nvidia-cuda-runtime-cu12": "12.9.79", "nvidia-cuda-runtime": "13.0.96"}  # 2 and 4 MB
has_gpu = torch.cuda.is_available()
without_gpu = pytest.mark.skipif(has_gpu, reason="there is a GPU")
faked = pytest.mark.skipif(
    torch.version.cuda is not None, reason="this torch loads its own CUDA runtime before the fake one"
)

NET = """
    import os
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, device=None):
            super().__init__()
            self.linear = nn.Linear(4, 4, device=device)

        def forward(self, x):
            return self.linear(x)
"""


def fake_runtime(tmp_path: Path, devices: str, built_with_cuda: bool = True, memory: bool = False) -> dict[str, str]:
    """An environment in which there are CUDA devices and, as far as it says itself, a torch that was built for them."""
    assert FAKE.is_dir(), f"{FAKE} is not built"
    (tmp_path / "sitecustomize.py").write_text("import torch\ntorch.version.cuda = '13.0'\n" if built_with_cuda else "")
    return {
        "LD_LIBRARY_PATH": str(FAKE),
        "PYTHONPATH": str(tmp_path),
        "FAKE_CUDART": devices,
        "FAKE_CUDART_LOG": str(tmp_path / "calls"),
        **({"GRAPHGLUE_CUDA_MEMORY": "1"} if memory else {}),
    }


# ---- a device that is not here ---------------------------------------------------------------------------------------------


@without_gpu
def test_ready_says_why_there_is_no_device(worker: Worker) -> None:
    cuda = worker.ready and worker.ready["cuda"]
    assert cuda and cuda["devices"] == []
    if torch.version.cuda is None:
        assert cuda["error"] == f"torch {torch.__version__} is built without CUDA"
    else:
        assert cuda["error"]


ASK = {
    "testcases": 'TESTCASES = [(Net, lambda: (["cuda"], {}), lambda: ([torch.ones(2, 4)], {}))]',
    "get_inputs": 'Model = Net\ndef get_init_inputs():\n    return []\ndef get_inputs():\n    return [torch.ones(2, 4, device="cuda:1")]',
    "in the call": "class Moves(Net):\n    def forward(self, x):\n        return self.linear(x.cuda())\n"
    'TESTCASES = [(Moves, lambda: ([], {}), lambda: ([torch.ones(2, 4)], {}))]',
    "a generator": 'TESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(2, 4, generator=torch.Generator("cuda"))], {}))]',
    "the current device": "TESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(2, torch.cuda.current_device())], {}))]",
    "a default device": 'def build():\n    torch.set_default_device("cuda")\n    return [], {}\n'
    "TESTCASES = [(Net, build, lambda: ([torch.ones(2, 4)], {}))]",
}  # fmt: skip


@without_gpu
@pytest.mark.parametrize("form", ASK)
def test_inputs_that_ask_for_a_missing_device(form: str, worker: Worker, write: Write) -> None:
    job = worker.capture(write(textwrap.dedent(NET) + ASK[form]))
    entry = job.entry
    assert entry["status"] == "eager_error", entry
    assert entry["message"].startswith("no CUDA device: running it without torch.compile raised "), entry["message"]
    assert ".py line " in entry["message"] and "__init__.py" not in entry["message"], "the place is the user's"
    assert entry["cuda"] == NONE
    assert job.done["status"] == "ok" and job.done["reads"] is None, "not stored: the device may come"


@without_gpu
def test_items_before_the_one_that_asks_are_captured(worker: Worker, write: Write) -> None:
    path = write(
        textwrap.dedent(NET) + "def graphglue_inputs():\n"
        '    yield "first", Net(), (torch.ones(2, 4),), {}\n'
        '    yield "second", Net().cuda(), (torch.ones(2, 4, device="cuda"),), {}\n'
    )
    entries = worker.capture(path).entries
    assert {n: e["status"] for n, e in entries.items()} == {"first": "captured", "graphglue_inputs": "eager_error"}
    assert entries["first"]["cuda"] is None
    last = entries["graphglue_inputs"]
    assert last["message"].startswith("no CUDA device: graphglue_inputs() raised ") and last["cuda"] == NONE
    assert Path(path).read_text().splitlines()[last["line"] - 1] == "def graphglue_inputs():"


@without_gpu
def test_an_import_that_asks(worker: Worker, write: Write) -> None:
    done = worker.capture(write("import torch\nmodel = torch.nn.Linear(2, 2).to('cuda')\n")).done
    assert done["status"] == "import_error"
    assert done["message"].startswith("no CUDA device: importing the file failed: ")
    assert done["place"]["line"] == 2


@without_gpu
def test_a_class_that_can_only_run_on_a_gpu_is_not_deduced(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(textwrap.dedent(NET) + "class Moves(Net):\n    def forward(self, x):\n"
                                 "        return self.linear(x.cuda())\n\ndel Net\n")).entry  # fmt: skip
    assert entry["status"] == "no_inputs" and entry["cuda"] == NONE
    assert entry["message"].startswith("no CUDA device: no inputs were given and none could be deduced: ")


def test_other_errors_and_other_inputs_have_nothing_to_do_with_it(worker: Worker, write: Write) -> None:
    path = write(
        textwrap.dedent(NET)
        + "TESTCASES = [(Net, lambda: ([], {}), lambda n=n: ([torch.ones(2, n)], {})) for n in (4, 5)]\n"
    )
    job = worker.capture(path)
    good, bad = job.entries["Net#1"], job.entries["Net#2"]
    assert (good["status"], good["message"], good["cuda"]) == ("captured", None, None)
    assert bad["status"] == "eager_error" and bad["cuda"] is None and "CUDA" not in bad["message"]
    assert job.done["reads"]


@without_gpu
def test_an_edit_is_not_proved_where_the_device_is_missing(worker: Worker, write: Write) -> None:
    source = textwrap.dedent(NET) + ASK["get_inputs"] + "\n"
    path = write(source)
    edited = [{"file": path, "text": source.replace("return self.linear(x)", "return self.linear(x) + 0")}]
    frames = list(worker.frames(worker.submit("verify", path, original=[], edited=edited)))
    verdict = next(f["verdict"] for f in frames if f["op"] == "verdict")
    assert not verdict["accepted"]
    before = verdict["entries"][0]["before"]
    assert before["message"].startswith("no CUDA device: ") and before["cuda"] == NONE


# ---- inputs recorded where there was one -----------------------------------------------------------------------------------


@pytest.fixture
def recorded(workspace: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Job]]:
    """recorded(program, change): record what the program calls, change the text of what was kept, and capture it."""
    folder = workspace / f"recorded_{abs(hash(request.node.name))}"
    folder.mkdir()
    worker = Worker([str(workspace)]).start()

    def run(program: str, change: Callable[[str], str] = str) -> Job:
        (folder / "program.py").write_text(textwrap.dedent(program))
        subprocess.run(
            [str(BIN / "graphglue-lsp"), "record", "-o", str(folder / ".graphglue" / "inputs"), "--", PYTHON, "program.py"],
            cwd=folder, check=True, timeout=240,
        )  # fmt: skip
        for kept in (folder / ".graphglue" / "inputs").glob("*.json"):
            kept.write_text(change(kept.read_text()))
        return worker.capture(str(folder / "program.py"))

    yield run
    assert worker.close() == 0


def on_gpu(text: str) -> str:
    return text.replace('"cpu"', '"cuda:0"')


@without_gpu
@pytest.mark.parametrize("how", ["Net()", "Net(device='cpu')", "Net(device=torch.device('cpu'))"])
def test_recorded_on_a_gpu_runs_on_the_cpu_and_says_so(how: str, recorded: Callable[..., Job]) -> None:
    job = recorded(textwrap.dedent(NET) + f"if __name__ == '__main__':\n    {how}(torch.ones(2, 4))\n", on_gpu)
    entry = job.entry
    assert (entry["inputs"], entry["status"]) == ("recorded", "captured"), entry
    assert entry["message"] == "no CUDA device: recorded on cuda:0, it ran on the CPU"
    assert entry["cuda"] == NONE and job.done["reads"] is None


@without_gpu
def test_what_fails_on_the_stand_in_says_both(recorded: Callable[..., Job]) -> None:
    entry = recorded(
        """
        import torch

        class Net(torch.nn.Module):
            def forward(self, x):
                assert x.is_cuda or __name__ == "__main__", "only for GPUs"
                return x + 1

        if __name__ == "__main__":
            Net()(torch.ones(3))
        """,
        on_gpu,
    ).entry
    assert entry["status"] == "eager_error"
    assert "only for GPUs" in entry["message"]
    assert entry["message"].endswith("; no CUDA device: recorded on cuda:0, it ran on the CPU")


def test_a_module_is_put_where_and_made_what_it_was(recorded: Callable[..., Job]) -> None:
    """What a program does to a module after its construction: here its dtype, on a GPU its device."""
    entry = recorded(
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm, self.last = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)

            def forward(self, x):
                kinds = [p.dtype for p in self.first.parameters()], self.norm.running_mean.dtype, self.norm.num_batches_tracked.dtype
                assert kinds == ([torch.float64] * 2, torch.float64, torch.int64), kinds
                assert self.last.weight.dtype == torch.float32
                return self.last(self.norm(self.first(x)).float())

        if __name__ == "__main__":
            net = Net().double()
            net.last.float()
            net(torch.ones(3, 4, dtype=torch.float64))
        """
    ).entry
    assert (entry["status"], entry["message"]) == ("captured", None), entry


# ---- devices ---------------------------------------------------------------------------------------------------------------


@faked
@pytest.mark.parametrize("memory", [False, True])
def test_devices_are_asked_for_outside_the_zygote(memory: bool, tmp_path: Path, workspace: Path, write: Write) -> None:
    worker = Worker([str(workspace)], env=fake_runtime(tmp_path, "devices=2", memory=memory)).start()
    assert worker.hello and worker.ready
    gib = 1 << 30
    assert worker.ready["cuda"] == {
        "runtime": "12.8",
        "error": None,
        "devices": [
            {
                "index": i,
                "name": f"Fake GPU {i}",
                "total_bytes": 80 * gib,
                "free_bytes": (70 - i) * gib if memory else None,
                "error": None,
            }
            for i in range(2)
        ],
    }
    worker.capture(write(NET))
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    made_context = {"cudaSetDevice", "cudaMemGetInfo"} & {function for _, function in calls}
    assert calls and bool(made_context) == memory, "none but doctor takes memory of all devices"
    assert worker.hello["pid"] not in {int(pid) for pid, _ in calls}
    assert "libcudart" not in Path(f"/proc/{worker.hello['pid']}/maps").read_text()
    assert worker.close() == 0


@without_gpu
@pytest.mark.skipif(torch.version.cuda is None, reason="this torch is built without CUDA")
def test_the_driver_sleeps_in_the_zygote(tmp_path: Path, workspace: Path, write: Write) -> None:
    log = tmp_path / "log"
    driver = {"LD_LIBRARY_PATH": str(BIN.parent / "fake_driver"), "CUDA_FAKE_LOG": str(log)}
    worker = Worker([str(workspace)], env=driver).start()
    assert worker.hello and worker.ready and worker.ready["cuda"]["error"] == "no CUDA-capable device is detected"
    woken = {int(line.split()[0]) for line in log.read_text().splitlines()}
    assert woken and worker.hello["pid"] not in woken
    # Nor in the process that forks the runs of a job, which has imported the file.
    here = "HERE = os.getpid()\nopen({!r}, 'w').write(str(HERE))\n".format(str(tmp_path / "importer"))
    given = "TESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(2, 4)], {}))]\n"
    assert worker.capture(write(textwrap.dedent(NET) + here + given)).entry["status"] == "captured"
    assert (tmp_path / "importer").read_text() not in {
        line.split()[0] for line in log.read_text().splitlines()[len(woken) :]
    }
    assert worker.close() == 0


def test_cuda_is_left_alone_while_dynamo_is_warmed(tmp_path: Path, workspace: Path, write: Write) -> None:
    """Fake tensors would replace CUDA's device guard for good where no device is visible; jobs must not inherit that."""
    log = tmp_path / "CUDA_log"
    (tmp_path / "sitecustomize.py").write_text(
        "import os, torch\n"
        "def ensure(original=torch._C._ensureCUDADeviceGuardSet):\n"
        f"    open({str(log)!r}, 'a').write(f'{{os.getpid()}}\\n')\n    original()\n"
        "torch._C._ensureCUDADeviceGuardSet = ensure\n"
    )
    worker = Worker([str(workspace)], env={"PYTHONPATH": str(tmp_path)}).start()
    assert worker.hello and not log.exists()
    worker.capture(
        write(textwrap.dedent(NET) + "TESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(2, 4)], {}))]\n")
    )
    assert has_gpu or log.exists(), "in jobs it is torch's own affair"
    assert worker.close() == 0


@faked
def test_what_torch_remembers_of_having_seen_no_device_is_forgotten(
    tmp_path: Path, workspace: Path, write: Write
) -> None:
    worker = Worker([str(workspace)], env=fake_runtime(tmp_path, "devices=1")).start()
    path = write(
        textwrap.dedent(NET) + "from torch.utils import _triton\n"
        "KEPT = [n for n, f in vars(_triton).items() if hasattr(f, 'cache_info') and f.cache_info().currsize]\n"
        "def graphglue_inputs():\n    yield ' '.join(KEPT) or 'nothing', Net(), (torch.ones(2, 4),), {}\n"
    )
    assert {n: e["status"] for n, e in worker.capture(path).entries.items()} == {"nothing": "captured"}
    assert worker.close() == 0


@faked
@pytest.mark.parametrize(
    ("devices", "error", "of_device"),
    [
        ("count=35", "CUDA driver version is insufficient for CUDA runtime version", None),
        ("count=100", "no CUDA-capable device is detected", None),
        ("devices=1 memory=46", None, "CUDA-capable device(s) is/are busy or unavailable"),
        ("hang_count=1", "the CUDA driver did not answer within 20 s", None),
        ("die_count=1", "the process that asked the CUDA driver ended without an answer", None),
    ],
    ids=["old driver", "no device", "busy", "hangs", "dies"],
)
def test_a_driver_that_fails_is_told(
    devices: str, error: str | None, of_device: str | None, tmp_path: Path, workspace: Path, write: Write
) -> None:
    worker = Worker([str(workspace)], env=fake_runtime(tmp_path, devices, memory=True)).start()
    cuda = worker.ready and worker.ready["cuda"]
    assert cuda and cuda["error"] == error
    assert [d["error"] for d in cuda["devices"]] == ([of_device] if of_device else [])
    if of_device:
        assert cuda["devices"][0]["free_bytes"] is None
    path = write(textwrap.dedent(NET) + "TESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(2, 4)], {}))]\n")
    assert worker.capture(path).entry["status"] == "captured", "everything works all the same"
    assert worker.close() == 0
    assert not worker.left_behind()


@faked
def test_a_torch_without_cuda_is_told_before_anything_else(tmp_path: Path, workspace: Path) -> None:
    worker = Worker([str(workspace)], env=fake_runtime(tmp_path, "devices=1", built_with_cuda=False)).start()
    cuda = worker.ready and worker.ready["cuda"]
    assert cuda and len(cuda["devices"]) == 1 and cuda["error"].endswith("is built without CUDA")
    assert worker.close() == 0


@faked
def test_where_there_is_a_device_inputs_are_listed_in_a_fork(tmp_path: Path, workspace: Path, write: Write) -> None:
    """What lists them may initialise CUDA, and what has it cannot fork."""
    worker = Worker([str(workspace)], env=fake_runtime(tmp_path, "devices=1")).start()
    listed = textwrap.dedent(NET) + "HERE = os.getpid()\ndef graphglue_inputs():\n"
    entries = worker.capture(
        write(listed + '    yield f"the same process: {os.getpid() == HERE}", Net(), (torch.ones(2, 4),), {}\n')
    ).entries
    assert {n: e["status"] for n, e in entries.items()} == {"the same process: False": "captured"}
    lost = worker.capture(write(listed + "    os.kill(os.getpid(), 11)\n    yield\n")).done
    assert lost["status"] == "import_error"
    assert lost["message"].startswith("graphglue_inputs() could not be run: ") and "SIGSEGV" in lost["message"]
    bad = worker.capture(write(listed + "    yield 1\n")).done
    assert (bad["status"], bad["message"].split(" (")[0]) == ("import_error", "graphglue_inputs() item 1 must be")
    entry = worker.capture(write(listed + '    yield "x", Net(), (torch.ones(2, 4, device="cuda:3"),), {}\n')).entry
    assert entry["message"].startswith("no such CUDA device (there is 1): graphglue_inputs() raised ")
    assert worker.close() == 0


def runtime_library(package: str) -> Path:
    """The folder of a real libcudart.  Skips the test when it cannot be had."""
    folder = CACHE / f"{package}-{RUNTIME[package]}"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        fetch = [PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
        try:
            subprocess.run([*fetch, f"{package}=={RUNTIME[package]}"], check=False, capture_output=True, timeout=180)
            with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
                wheel.extractall(folder, [n for n in wheel.namelist() if "/lib/libcudart.so" in n])
        except (StopIteration, subprocess.TimeoutExpired):
            folder.rmdir()
            pytest.skip(f"{package} could not be downloaded")
    return next(folder.rglob("libcudart.so.*")).parent


def asked(script: str, folder: Path) -> Any:
    """What a script prints as JSON, in a fresh process with the host module and the libraries of a folder."""
    done = subprocess.run(
        [PYTHON, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(BIN), "LD_LIBRARY_PATH": str(folder)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="there is a CUDA driver")
@pytest.mark.parametrize("package", RUNTIME)
def test_a_real_runtime_without_a_driver_is_no_device(package: str) -> None:
    folder = runtime_library(package)
    runtime, error, devices, memory, watch, timer, maps = asked(
        f"""
        import json, ctypes
        ctypes.CDLL({str(next(folder.glob("libcudart.so.*")))!r})  # as torch does: it is that of the process
        import _graphglue_host as host

        def said(call, *args):
            try:
                return call(*args)
            except RuntimeError as e:
                return str(e)

        found = host.cuda_devices()
        print(json.dumps([*found, said(host.cuda_memory, 0), said(host.cuda_watch, 0, 1000), said(host.cuda_timer, 0),
                          [l.split()[-1] for l in open("/proc/self/maps") if "libcudart" in l]]))
        """,
        folder,
    )
    assert runtime == ".".join(RUNTIME[package].split(".")[:2])
    assert devices == [] and error in (
        "CUDA driver version is insufficient for CUDA runtime version", "no CUDA-capable device is detected",
    )  # fmt: skip
    assert [memory, watch, timer] == [error] * 3
    assert {Path(m).parent for m in maps} == {folder}, "no other one is opened beside it"


MEASURE = """
    import contextlib, ctypes, json, time, types
    import torch
    import _graphglue_host as host
    from graphglue_worker import devices

    fake = ctypes.CDLL("libcudart.so.13")
    fake.fake_cudart_work.argtypes = [ctypes.c_double]
    fake.fake_cudart_use.argtypes = [ctypes.c_size_t]
    fake.fake_cudart_set(SETTINGS.encode())
    # torch has no device here; what it is asked is what torch has under these names.
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "get_device_name", "max_memory_allocated", "current_stream", "device"):
        assert callable(getattr(torch.cuda, name))
    torch.cuda.synchronize = torch.cuda.empty_cache = torch.cuda.reset_peak_memory_stats = lambda *_: None
    torch.cuda.get_device_name = lambda index: f"GPU {index}"
    torch.cuda.max_memory_allocated = lambda index: 123
    torch.cuda.device = lambda index: contextlib.nullcontext()
    torch.cuda.current_stream = lambda index: types.SimpleNamespace(cuda_stream=0)
    calls = []

    def make():
        def call():
            calls.append(len(calls))
            if len(calls) == FAILS:
                raise ValueError("user code")
            if len(calls) == 1:
                fake.fake_cudart_use(3 << 30)
                time.sleep(0.2)
                fake.fake_cudart_use(1 << 30)
            else:
                fake.fake_cudart_work(80.0)
        return call

    print(json.dumps(devices.measure(make, "cuda:0", SECONDS)))
"""


@faked
@pytest.mark.parametrize(
    ("settings", "fails", "seconds", "known"),
    [
        ("devices=1", 0, 60, ("name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes", "elapsed_ms")),
        ("devices=1", 1, 60, ("name", "total_bytes", "free_bytes")),
        ("devices=1", 2, 60, ("name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes")),
        ("devices=1 memory=46", 0, 60, ("name",)),
        ("devices=1 record=719", 0, 60, ("name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes")),
        ("devices=1 busy=1", 0, 2, ("name", "total_bytes", "free_bytes", "peak_bytes", "tensor_bytes")),
        ("devices=1 hang_memory=3", 0, 2, ("name", "total_bytes", "free_bytes")),
    ],
    ids=["well", "first call fails", "second call fails", "memory fails", "timer fails", "never ends", "hangs"],
)
def test_what_a_call_takes_is_measured(settings: str, fails: int, seconds: float, known: tuple[str, ...]) -> None:
    head = f"SETTINGS, FAILS, SECONDS = {settings!r}, {fails}, {seconds}\n"
    figures = asked(head + textwrap.dedent(MEASURE), FAKE)
    assert {k for k, v in figures.items() if v is not None} == {"device", *known}
    gib = 1 << 30
    expected = {
        "device": "cuda:0",
        "name": "GPU 0",
        "total_bytes": 80 * gib,
        "free_bytes": 70 * gib,
        "peak_bytes": 13 * gib,
    }
    expected["tensor_bytes"] = 123
    assert {k: v for k, v in figures.items() if k in expected and v is not None} == {
        k: v for k, v in expected.items() if k in ("device", *known)
    }
    if "elapsed_ms" in known:
        assert 60 < figures["elapsed_ms"] < 60_000


@pytest.mark.skipif(not has_gpu, reason="no CUDA device")
def test_a_capture_runs_on_the_device_the_inputs_ask_for(worker: Worker, write: Write) -> None:
    """One capture on a GPU; its figures are printed (pytest -s)."""
    assert worker.ready and worker.ready["cuda"]["devices"] and worker.ready["cuda"]["error"] is None
    path = write(
        textwrap.dedent(NET) + 'assert not torch.cuda.is_initialized() and not torch.cuda._is_in_bad_fork(), "CUDA in the zygote"\n'
        "class Breaks(Net):\n    def forward(self, x):\n        assert x.is_cuda\n        x = self.linear(x)\n"
        '        print("here")\n        return x @ x.T\n\n'
        "def graphglue_inputs():\n"
        '    yield "gpu", Breaks("cuda"), (torch.randn(4096, 4, device="cuda"),), {}\n'
        '    yield "cpu", Net(), (torch.randn(2, 4),), {}\n'
    )  # fmt: skip
    for _ in range(2):  # each in a fork of its own
        job = worker.capture(path)
        gpu, cpu = job.entries["gpu"], job.entries["cpu"]
        assert (gpu["status"], gpu["graphs"], len(gpu["breaks"])) == ("breaks", 2, 1), gpu
        assert (cpu["status"], cpu["cuda"]) == ("captured", None)
        cuda = gpu["cuda"]
        print("\n", json.dumps(cuda), file=sys.stderr)
        assert cuda["device"] == "cuda:0" and cuda["name"] == torch.cuda.get_device_name(0)
        assert 4096 * 4096 * 4 <= cuda["tensor_bytes"] <= cuda["peak_bytes"] <= cuda["total_bytes"]
        assert 0 < cuda["elapsed_ms"] < 60_000 and 0 < cuda["free_bytes"] <= cuda["total_bytes"]
    wrong = worker.capture(
        write(
            textwrap.dedent(NET) + 'TESTCASES = [(Net, lambda: (["cuda:99"], {}), lambda: ([torch.ones(2, 4)], {}))]\n'
        )
    ).entry
    assert wrong["message"].startswith("no such CUDA device (there ") and wrong["cuda"] == NONE
