# ruff: noqa: E501 - programs in one line each
"""`record`: the program runs as it would alone, and what it called can be captured afterwards with the same breaks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN

LAYERS = """
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width, act=nn.functional.relu, *, limit: float = 4.0):
        super().__init__()
        self.linear, self.act, self.limit = nn.Linear(width, width), act, limit

    def forward(self, x, scale=1.0):
        if x.abs().max() > self.limit:
            x = x.clamp(-self.limit, self.limit)
        return self.act(self.linear(x)) * scale


class Net(nn.Module):
    def __init__(self, cfg, body):
        super().__init__()
        self.body = body
        self.gate = Gate(cfg.width, limit=cfg.limit)
        self.head = nn.Linear(cfg.width, cfg.classes)

    def forward(self, tokens, labels=None, *, mask=None):
        h = self.gate(self.body(tokens), scale=0.5)
        if mask is not None:
            h = h * mask[..., None]
        logits = self.head(h.mean(1))
        if labels is None:
            return logits
        loss = nn.functional.cross_entropy(logits, labels)
        print("loss", loss.item())
        return loss
"""
TRAIN = """
import dataclasses
import sys
import torch
from torch import nn
from layers import Net


@dataclasses.dataclass
class Config:
    width: int = 8
    classes: int = 3
    limit: float = 2.5
    device: torch.device = torch.device("cpu")


@torch.compile(backend="eager")
def penalty(weights, power):
    if weights.abs().sum() > 1:
        return weights.pow(power).sum()
    return weights.sum()


def main():
    torch.manual_seed(0)
    model = Net(Config(), nn.Sequential(nn.Embedding(50, 8), nn.LayerNorm(8)))
    compiled = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for size in (4, 4, 2):
        tokens = torch.randint(0, 50, (size, 6))
        loss = compiled(tokens, torch.randint(0, 3, (size,)), mask=tokens > 3) + penalty(model.head.weight, 2) * 0.01
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return int(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
"""


def record(
    folder: Path, *command: str, flags: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "graphglue-lsp"), "record", *flags, "--", *command],
        cwd=folder, capture_output=True, text=True, timeout=240, check=False, env={**os.environ, **(env or {})},
    )  # fmt: skip


def documents(folder: Path) -> dict[str, Any]:
    found = [json.loads(p.read_text()) for p in sorted((folder / ".graphglue" / "inputs").glob("*.json"))]
    return {d["target"]["name"]: d for d in found}


def breaks_of_run(folder: Path, *command: str) -> set[tuple[str, int]]:
    """(file, line) of what TorchDynamo itself logs while the program runs compiled."""
    env = {**os.environ, "TORCH_LOGS": "graph_breaks"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False, env=env)
    return {(Path(f).name, int(n)) for f, n in re.findall(r"Graph break in user code at (\S+?):(\d+)", done.stderr)}


def breaks_found(run_json: Any, folder: Path, *files: str) -> tuple[set[tuple[str, int]], Any]:
    _, out = run_json("check", *files, cwd=folder)
    entries = {e["name"]: e for f in out["files"] for e in f["entries"]}
    sites = [s for e in entries.values() for s in e["sites"]]
    return {(Path(s["file"]).name, s["range"]["start"]["line"] + 1) for s in sites}, entries


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    (folder / "layers.py").write_text(LAYERS)
    (folder / "train.py").write_text(TRAIN)
    return folder


def test_a_training_loop_is_captured_with_the_breaks_of_its_run(project: Path, run_json: Any) -> None:
    alone = subprocess.run([sys.executable, "train.py", "5"], cwd=project, capture_output=True, text=True, check=False)
    done = record(project, sys.executable, "train.py", "5")
    assert (done.returncode, done.stdout) == (5, alone.stdout), "the program runs as it would alone"
    assert "recorded 5 input sets of 3 entries" in done.stderr
    assert f"graphglue-lsp check {project}/train.py" in done.stderr
    assert (project / ".graphglue" / ".gitignore").read_text() == "*\n"

    found, entries = breaks_found(run_json, project, "layers.py", "train.py")
    assert list(entries) == ["Gate#1", "Gate#2", "Net#1", "Net#2", "penalty"]
    assert {e["inputs"] for e in entries.values()} == {"recorded"}
    assert {e["status"] for e in entries.values()} == {"breaks"}, {n: e["message"] for n, e in entries.items()}
    assert found == breaks_of_run(project, sys.executable, "train.py", "5") != set()


def test_a_library_model_belongs_to_the_script_that_calls_it(tmp_path: Path, run_json: Any) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "run.py").write_text(
        "import torch\nfrom transformers import T5Config, T5ForConditionalGeneration\n\n\ndef main():\n"
        "    config = T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0)\n"
        "    torch.manual_seed(0)\n    model = torch.compile(T5ForConditionalGeneration(config), backend='eager')\n"
        "    ids = torch.randint(0, 64, (2, 5))\n    loss = model(input_ids=ids, labels=ids).loss\n    loss.backward()\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    done = record(tmp_path, sys.executable, "run.py")
    assert done.returncode == 0, done.stderr
    assert list(documents(tmp_path)) == ["T5ForConditionalGeneration"], "its parts are not called by the user"
    found, entries = breaks_found(run_json, tmp_path, "run.py")
    assert entries["T5ForConditionalGeneration"]["status"] == "breaks", entries
    assert found == breaks_of_run(tmp_path, sys.executable, "run.py") != set()


def test_pytest_and_child_interpreters(project: Path, tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "test_gate.py").write_text(
        "import torch\nfrom layers import Gate\n\n\ndef test_gate():\n    assert Gate(4)(torch.ones(2, 4)).shape == (2, 4)\n"
    )
    (tmp_path / "outer.py").write_text(
        f"import subprocess, sys\nsys.exit(subprocess.call([{sys.executable!r}, '-m', 'pytest', '-q', 'test_gate.py']))\n"
    )
    done = record(tmp_path, sys.executable, "outer.py")
    assert done.returncode == 0 and "1 passed" in done.stdout
    assert documents(tmp_path)["Gate"]["sets"][0]["made"]["kwargs"]["width"] == 4


def test_what_is_kept_of_values(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x, ids, note):\n        return x.sum() + ids.sum()\n\n\n"
        "Net()(torch.full((2000,), 7.25), torch.tensor([3, 9]), 'secret ' * 100)\nNet()(torch.ones(3, 4).t(), torch.ones(2, 2).expand(3, 2, 2), note='short')\n"
    )
    record(tmp_path, sys.executable, "p.py", flags=("--values", "none"))
    assert not list(tmp_path.glob(".graphglue/inputs/*.pt"))
    record(tmp_path, sys.executable, "p.py")
    first, second = documents(tmp_path)["Net"]["sets"]
    assert first["args"][0]["tensor"] == {
        "shape": [2000],
        "dtype": "float32",
        "device": "cpu",
        "range": [7.25, 7.25],
        "mean": 7.25,
        "std": 0.0,
    }
    assert first["args"][1]["tensor"]["value"] == "t1" and first["args"][2] == {"text": 700}
    assert all(b"secret" not in p.read_bytes() for p in tmp_path.glob(".graphglue/inputs/*"))
    assert (
        second["args"][0]["tensor"]["stride"] == [1, 4]
        and second["args"][1]["tensor"]["stride"] == [0, 2, 1]
        and second["kwargs"] == {"note": "short"}
    )
    record(tmp_path, sys.executable, "p.py", flags=("--values", "all", "-o", "elsewhere"))
    assert any(b"secret" in p.read_bytes() for p in tmp_path.glob("elsewhere/*.json"))


def test_what_cannot_be_kept_is_said(tmp_path: Path, run_json: Any) -> None:
    (tmp_path / "p.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, file):\n        super().__init__()\n        self.file = file\n\n    def forward(self, x):\n        return x + 1\n\n\n"
        "if __name__ == '__main__':\n    Net(open(__file__))(torch.ones(2))\n"
    )
    done = record(tmp_path, sys.executable, "p.py")
    assert "Net could not be kept: it was made with a value of type _io.TextIOWrapper" in done.stderr
    _, out = run_json("check", "p.py", cwd=tmp_path)
    entry = out["files"][0]["entries"][0]
    assert entry["status"] == "no_inputs" and "TextIOWrapper" in entry["message"]


def test_ends_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text(LAYERS)
    call = "import os, torch\nfrom layers import Gate\nGate(4)(torch.ones(2, 4))\n"
    for text, status in (
        (call + "os._exit(7)\n", 7),
        (call + "os.kill(os.getpid(), 9)\n", 137),
        (call + "raise SystemExit('no')\n", 1),
    ):
        (tmp_path / "p.py").write_text(text)
        assert record(tmp_path, sys.executable, "p.py").returncode == status
        assert len(documents(tmp_path)["Gate"]["sets"]) == 1
    assert record(tmp_path, "no-such-program").returncode == 127
    assert "No such file" in record(tmp_path, "no-such-program").stderr
    done = record(tmp_path, sys.executable, "-I", "-c", "print('alone')")
    assert (done.returncode, done.stdout) == (0, "alone\n") and "nothing was recorded" in done.stderr


def test_a_signal_reaches_the_program(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(3))\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [str(BIN / "graphglue-lsp"), "record", "--", sys.executable, "p.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None and process.stdout.readline() == b"up\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 3


def test_a_sitecustomize_of_the_users_own_still_runs(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("print('mine')\n")
    done = record(tmp_path, sys.executable, "-c", "print('program')", env={"PYTHONPATH": str(tmp_path / "mine")})
    assert done.stdout == "mine\nprogram\n"
