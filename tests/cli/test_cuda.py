"""CUDA on the command line: what `doctor` and `check` say with devices, without one, and of what a call took."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN, cli

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.own_worker("devices are looked for at its start")
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
faked = pytest.mark.skipif(torch.version.cuda is not None, reason="this torch loads its own CUDA runtime first")

PROGRAM = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1


if __name__ == "__main__":
    Net()(torch.ones(3))
"""
GIB = 1 << 30


def fake_runtime(tmp_path: Path, devices: str) -> dict[str, str]:
    """An environment with the runtime of tests/unit/fake_cudart.c, and a torch that says it was built for CUDA."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import torch\ntorch.version.cuda = '13.0'\n")
    return {"LD_LIBRARY_PATH": str(BIN.parent / "fake_cuda"), "PYTHONPATH": str(folder), "FAKE_CUDART": devices}


@without_gpu
def test_doctor_says_that_there_is_none_and_why(tmp_path: Path) -> None:
    done = cli("doctor", cwd=tmp_path)
    cuda = json.loads(cli("doctor", "--json", cwd=tmp_path).stdout)["cuda"]
    assert done.returncode == 0 and cuda["devices"] == [] and cuda["error"]
    assert f"no CUDA device ({cuda['error']})" in done.stdout


@faked
def test_doctor_lists_devices(tmp_path: Path) -> None:
    done = cli("doctor", cwd=tmp_path, env=fake_runtime(tmp_path, "devices=2"))
    lines = [line.split(None, 1)[1] for line in done.stdout.splitlines() if line.startswith("CUDA ")]
    assert lines == [
        "Fake GPU 0, 80.0 GiB (70.0 free), runtime 12.8",
        "Fake GPU 1, 80.0 GiB (69.0 free), runtime 12.8",
    ]


@faked
def test_doctor_names_a_device_that_cannot_be_used(tmp_path: Path) -> None:
    done = cli("doctor", cwd=tmp_path, env=fake_runtime(tmp_path, "memory=46"))
    assert "Fake GPU 0, cannot be used: CUDA-capable device(s) is/are busy or unavailable" in done.stdout


@without_gpu
def test_inputs_recorded_on_a_gpu_run_without_one(tmp_path: Path, run_json: Any) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [str(BIN / "graphglue-lsp"), "record", "--", sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=240, capture_output=True)
    for kept in (tmp_path / ".graphglue" / "inputs").glob("*.json"):
        kept.write_text(kept.read_text().replace('"cpu"', '"cuda:0"'))
    done = cli("check", "program.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "program.py: note: Net: no CUDA device: recorded on cuda:0, it ran on the CPU\n" in done.stdout
    status, out = run_json("check", "program.py", cwd=tmp_path)
    entry = out["files"][0]["entries"][0]
    assert (status, entry["status"], entry["inputs"]) == (0, "captured", "recorded")
    assert set(entry["cuda"].values()) == {None}


@without_gpu
def test_inputs_that_ask_for_one_fail_without(tmp_path: Path, run_json: Any) -> None:
    given = "\n\ndef get_init_inputs():\n    return []\n\n\ndef get_inputs():\n    return [torch.ones(3).cuda()]\n\n\nModel = Net\n"
    (tmp_path / "program.py").write_text(PROGRAM + given)
    status, out = run_json("check", "program.py", cwd=tmp_path)
    entry = out["files"][0]["entries"][0]
    assert (status, entry["status"]) == (2, "eager_error") and set(entry["cuda"].values()) == {None}
    assert "(program.py line 19)" in entry["message"] and entry["message"].startswith("no CUDA device: ")


WORKER = """#!{python}
import json, socket, struct, sys

connection = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))


def send(**frame):
    body = json.dumps(frame).encode()
    connection.sendall(struct.pack(">I", len(body)) + body)


send(op="hello", protocol=1, version="3.11.7", prefix="/", interpreter="/python", mode="executed", pid=1)
send(op="ready", torch="2.13.0", torch_error=None, registry=None, cuda=None)
entry = dict(inputs="graphglue_inputs", status="captured", message=None, graphs=1, ops=[3], line=1, file=None, breaks=[])
for figures in {figures!r}:
    send(op="entry", id=1, entry=dict(entry, name=figures and figures.get("name") or "none", cuda=figures))
send(op="done", id=1, status="ok", message=None, output="", reads=None)
connection.recv(1)
"""
FIGURES = [
    {"device": "cuda:1", "name": "NVIDIA H200", "total_bytes": 140 * GIB, "free_bytes": 139 * GIB, "peak_bytes": 3 * GIB // 2,
     "tensor_bytes": 12 << 20, "elapsed_ms": 0.4213},
    {"device": "cuda:0", "name": None, "total_bytes": None, "free_bytes": None, "peak_bytes": None, "tensor_bytes": None, "elapsed_ms": None},
    None,
]  # fmt: skip


def test_what_a_call_took_is_shown(tmp_path: Path, run_json: Any) -> None:
    """The worker is a script: its figures are known."""
    (tmp_path / "net.py").write_text("x = 1\n")
    worker = tmp_path / "worker"
    worker.write_text(textwrap.dedent(WORKER.format(python=sys.executable, figures=FIGURES)))
    worker.chmod(0o755)
    env = {"GRAPHGLUE_WORKER": str(worker)}
    status, out = run_json("check", "--no-cache", "net.py", cwd=tmp_path, env=env)
    assert status == 0 and [e["cuda"] for e in out["files"][0]["entries"]] == FIGURES
    text = cli("check", "--no-cache", "net.py", cwd=tmp_path, env=env).stdout
    assert (
        "ok NVIDIA H200: captured whole; on cuda:1 (NVIDIA H200), 0.421 ms a call, up to 12.0 MiB in tensors, "
        "up to 1.5 of 140.0 GiB in use\n" in text
    )
    assert "captured whole; on cuda:0\n" in text and "ok none: captured whole\n" in text
