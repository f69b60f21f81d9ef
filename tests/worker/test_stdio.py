"""The protocol on stdin and stdout, as behind ssh: options in the first frame, nothing printed gets between frames."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from client import PYTHON, find_worker

LOUD = """
import os, sys, torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = x * 2
        print("printed")
        os.write(1, b"raw")
        return x + 1

assert sys.stdin.read() == ""

def graphglue_inputs():
    yield "net", Net(), (torch.ones(2),), {}
"""


class Pipes:
    """`graphglue-worker --stdio` over two pipes; every byte it writes on stdout must be of a frame."""

    def __init__(self, *options: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [find_worker(), "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.write(b"".join(os.fsencode(o) + b"\0" for o in options))

    def write(self, body: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(struct.pack(">I", len(body)) + body)
        self.process.stdin.flush()

    def send(self, **frame: Any) -> None:
        self.write(json.dumps(frame).encode())

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        size = struct.unpack(">I", self.process.stdout.read(4))[0]
        body = self.process.stdout.read(size)
        assert body.endswith(b"\n"), "a launcher that passes on whole lines only would keep it"
        return json.loads(body)

    def end(self) -> int:
        """Ends its input; whatever else it wrote is no frame, and so an error."""
        out, err = self.process.communicate(timeout=60)
        assert out == b"", out
        self.err = err.decode()
        return self.process.returncode


def test_a_job_on_stdio(tmp_path: Path) -> None:
    folder = tmp_path / "a folder with 'quotes' $HOME\n"
    folder.mkdir()
    file = folder / "loud.py"
    file.write_text(LOUD)
    worker = Pipes("--python", PYTHON, "--workspace", str(folder))
    assert worker.read()["op"] == "hello"
    ready = worker.read()
    assert ready["torch_error"] is None
    assert json.loads(ready["registry_text"]) == json.loads(Path(ready["registry"]).read_text())
    worker.send(op="capture", id=1, file=str(file))
    frames = [worker.read()]
    while frames[-1]["op"] != "done":
        frames.append(worker.read())
    assert [f["op"] for f in frames] == ["started", "break", "break", "entry", "done"]
    assert frames[1]["break"]["stack"][0] | {"file": str(file), "origin": "workspace"} == frames[1]["break"]["stack"][0]
    assert "printed" in frames[-1]["output"] and "raw" in frames[-1]["output"]
    assert worker.end() == 0


@pytest.mark.parametrize("name", ["python", "~/bin/python"])
def test_the_interpreter_is_found_over_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.symlink_to(PYTHON)
    worker = Pipes("--python", name, env={"PATH": f"relative:/nonexistent:{tmp_path}/bin", "HOME": str(tmp_path)})
    assert worker.read()["interpreter"] == str(python)
    worker.process.terminate()
    worker.process.communicate()


def test_no_interpreter_over_there() -> None:
    worker = Pipes("--python", "python9", env={"PATH": "/nonexistent"})
    frame = worker.read()
    assert frame["op"] == "ready" and "no python9 on PATH" in frame["torch_error"]
    assert worker.end() == 1


@pytest.mark.parametrize("sent", [b"", b"\xff\xff\xff\xffGET / HTTP/1.1", b"\0\0"], ids=["nothing", "other", "cut"])
def test_a_launcher_that_changes_what_is_sent(sent: bytes) -> None:
    done = subprocess.run([find_worker(), "--stdio"], input=sent, capture_output=True, timeout=60)
    frame = json.loads(done.stdout[4:])
    assert done.returncode == 1 and "a launcher between us changed it" in frame["torch_error"]
    assert struct.unpack(">I", done.stdout[:4])[0] == len(done.stdout) - 4


def test_wrong_options_are_told() -> None:
    worker = Pipes("--python")
    assert worker.end() == 2 and "usage: graphglue-worker" in worker.err
