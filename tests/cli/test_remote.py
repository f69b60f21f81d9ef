# ruff: noqa: E501 - programs in one line each
"""A worker behind a launcher, in a second environment: another root with a copy of the project, another environment, nothing of ours in its
environment.  What is told is told in our paths."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN, HEAD, cli

MODEL = (
    HEAD
    + "from helper import scale\n\n\ndef f(x):\n    y = scale(x)\n    if y.sum() > 0:\n        y = y + 1\n    else:\n        y = y - 1\n    return y\n\n\n"
    + "def graphglue_inputs():\n    assert 'GRAPHGLUE_LOCAL' not in os.environ\n    yield 'f', f, (torch.randn(4),), {}\n"
)
HELPER_THERE = "def scale(x):\n    print('scaling')\n    return x * 2\n"


class Elsewhere:
    """A folder that stands for another machine, and how to get there."""

    def __init__(self, folder: Path) -> None:
        self.here, self.there = folder / "our project", folder / "machine" / "srv" / "project"
        self.here.mkdir()
        (self.there).mkdir(parents=True)
        bin_folder, self.log = folder / "machine" / "bin", folder / "log"
        bin_folder.mkdir()
        (bin_folder / "graphglue-worker").symlink_to(os.environ.get("GRAPHGLUE_WORKER") or BIN / "graphglue-worker")
        (folder / "machine" / "venv").symlink_to(sys.prefix)
        self.write("model.py", MODEL, MODEL)
        self.write("helper.py", "raise RuntimeError('the one of this machine')\n", HELPER_THERE)
        self.launcher = folder / "gpu 01"
        self.launcher.write_text(
            f"""#!/bin/bash
echo "Last login: never"; echo "reboot at noon" >&2
echo "$@" >>"{self.log}"
cd "{folder}/machine"
exec env -i PATH="{bin_folder}:/usr/bin:/bin" HOME="{folder}/machine" "$@"
"""
        )
        self.launcher.chmod(0o755)

    def write(self, name: str, here: str, there: str | None = None) -> None:
        (self.here / name).write_text(here)
        if there is not None:
            (self.there / name).write_text(there)

    @property
    def flags(self) -> list[str]:
        return ["--worker-command", f"'{self.launcher}'", "--worker-map", f"{self.here}={self.there}"]

    def run(self, command: str, *arguments: str, **options: Any) -> Any:
        options = {"cwd": self.here, "python": "~/venv/bin/python", "env": {"GRAPHGLUE_LOCAL": "1"}} | options
        return cli(command, *self.flags, *arguments, **options)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Elsewhere:
    return Elsewhere(tmp_path)


def test_check_tells_our_paths(elsewhere: Elsewhere) -> None:
    done = elsewhere.run("check", "--json", ".")
    out = json.loads(done.stdout)
    assert done.returncode == 2, "our own helper cannot be imported, and is sent as it is here"
    assert out["interpreter"] == str(elsewhere.there.parents[1] / "venv" / "bin" / "python")
    model = {f["path"]: f for f in out["files"]}["./model.py"]
    sites = {s["id"]: s for s in model["entries"][0]["sites"]}
    assert sites["GB0170"]["file"] == str(elsewhere.here / "model.py")
    assert (
        sites["GB0170"]["range"]["start"] == {"line": 10, "character": 7}
        and sites["GB0170"]["range"]["end"]["character"] == 18
    )
    assert sites["GB0059"]["file"] == str(elsewhere.here / "helper.py"), "found in the helper that lies over there"
    assert str(elsewhere.there) not in done.stdout
    assert elsewhere.log.read_text() == "graphglue-worker --stdio\n", "one worker, and no path on its command line"


def test_an_unsaved_text_and_an_error_over_there(elsewhere: Elsewhere) -> None:
    broken = MODEL.replace("    y = scale(x)\n", "    raise ValueError('not today')\n")
    done = elsewhere.run("check", "--json", "--stdin-filename", "model.py", stdin=broken)
    (entry,) = json.loads(done.stdout)["files"][0]["entries"]
    assert entry["status"] == "eager_error" and "not today" in entry["message"]


def test_fix_proves_over_there_and_writes_here(elsewhere: Elsewhere) -> None:
    elsewhere.write("helper.py", "", "def scale(x):\n    return x * 2\n")
    done = elsewhere.run("fix", "--json", "--apply", "model.py")
    (file,) = json.loads(done.stdout)["files"]
    assert file["error"] is None and done.returncode == 0, file
    assert [(r["rule"], r["file"], r["verdict"]["outputs"]) for r in file["repairs"]] == [
        ("GG002", str(elsewhere.here / "model.py"), "identical")
    ]
    assert "torch.where" in (elsewhere.here / "model.py").read_text()
    assert (elsewhere.there / "model.py").read_text() == MODEL
    assert not list(elsewhere.here.glob("**/.graphglue")), "a stored result would not see files over there change"


def test_a_shared_file_system_needs_no_map(elsewhere: Elsewhere) -> None:
    elsewhere.write("helper.py", HELPER_THERE)
    done = cli(
        "check",
        "--json",
        "--worker-command",
        f"'{elsewhere.launcher}'",
        "model.py",
        cwd=elsewhere.here,
        python="~/venv/bin/python",
    )
    sites = json.loads(done.stdout)["files"][0]["entries"][0]["sites"]
    assert {s["file"] for s in sites} == {str(elsewhere.here / "model.py"), str(elsewhere.here / "helper.py")}


def test_doctor(elsewhere: Elsewhere) -> None:
    done = elsewhere.run("doctor", "--json")
    out = json.loads(done.stdout)
    assert out["ok"] and out["torch"] == "2.13.0" and out["found"] == []
    assert out["registry"].startswith("remote:/")


NET = (
    HEAD
    + """from torch import nn


class Gate(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, x, where, file):
        h = x * 1.5
        if h.abs().max() > 1e6:
            h = h.clamp(-1, 1)
        return self.act(h)[where] * len(file)
"""
)
TRAIN = """import torch
from torch import nn
import helper
from model import Gate

Gate(helper.scale)(torch.randn(4, 3), torch.tensor([3, 1, 1]), file={file!r})
Gate(nn.ReLU())(torch.randn(2, 3), torch.tensor([0, 1]), file="")
"""


def test_recorded_inputs_are_sent_along(elsewhere: Elsewhere) -> None:
    """They lie here alone; paths in them are those over there, and values that only look like paths are left as they are."""
    elsewhere.write("model.py", NET)
    elsewhere.write("helper.py", HELPER_THERE, HELPER_THERE)
    elsewhere.write("train.py", TRAIN.format(file=str(elsewhere.here / "data")))
    ran = cli("record", "--", sys.executable, "train.py", cwd=elsewhere.here, python=None)
    assert ran.returncode == 0, ran.stderr
    (folder,) = elsewhere.here.glob("**/.graphglue/inputs")
    assert list(folder.glob("*.pt")), "indices are kept as they were"
    done = elsewhere.run("check", "--json", "model.py")
    entries = {e["name"]: e for e in json.loads(done.stdout)["files"][0]["entries"]}
    assert {(n, e["inputs"], e["status"]) for n, e in entries.items()} == {
        ("Gate#1", "recorded", "breaks"),
        ("Gate#2", "recorded", "breaks"),
    }, entries
    first = {s["id"]: s for s in entries["Gate#1"]["sites"]}
    assert set(first) == {"GB0170", "GB0059"}, "the helper over there was called"
    assert first["GB0059"]["file"] == str(elsewhere.here / "helper.py")
    assert not list(elsewhere.there.glob("**/.graphglue")), "nothing was written over there"
    fixed = json.loads(elsewhere.run("fix", "--json", "model.py").stdout)["files"][0]
    assert [e["name"] for e in fixed["entries"]] == ["Gate#1", "Gate#2"] and fixed["repairs"], fixed


def test_inputs_recorded_over_there(elsewhere: Elsewhere) -> None:
    elsewhere.write("model.py", NET, NET)
    elsewhere.write("helper.py", HELPER_THERE, HELPER_THERE)
    (elsewhere.there / "train.py").write_text(TRAIN.format(file="data"))
    cli("record", "--", sys.executable, "train.py", cwd=elsewhere.there, python=None)
    entries = json.loads(elsewhere.run("check", "--json", "model.py").stdout)["files"][0]["entries"]
    assert [(e["name"], e["inputs"]) for e in entries] == [("Gate#1", "recorded"), ("Gate#2", "recorded")]


def test_inputs_are_deduced_over_there(elsewhere: Elsewhere) -> None:
    elsewhere.write(
        "model.py",
        HEAD
        + "class Net(torch.nn.Linear):\n    def forward(self, x):\n        print(1)\n        return super().forward(x)\n",
    )
    entries = json.loads(elsewhere.run("check", "--json", "model.py").stdout)["files"][0]["entries"]
    assert [(e["name"], e["inputs"], e["status"]) for e in entries] == [("Net", "deduced", "breaks")]


def test_a_file_outside_of_every_map(elsewhere: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "stray.py").write_text("x = 1\n")
    done = elsewhere.run("check", "--json", str(tmp_path / "stray.py"))
    assert (
        done.returncode == 2 and "lies in no folder that worker.pathMap" in json.loads(done.stdout)["files"][0]["error"]
    )


def test_launchers_that_fail(elsewhere: Elsewhere) -> None:
    for command, words in {
        "/nonexistent/ssh gpu01": "/nonexistent/ssh could not be started",
        "/bin/sh -c 'echo ssh: no route to host >&2; exit 255'": "(exit code 255): ssh: no route to host",
        "/bin/sh -c 'exec no-such-worker'": "no-such-worker: not found",
        "/bin/sh -c 'yes banner'": "they begin with: banner",
    }.items():
        done = cli("check", "--json", "--worker-command", command, "model.py", cwd=elsewhere.here)
        error = json.loads(done.stdout)["files"][0]["error"]
        assert done.returncode == 2 and words in error, (command, error)


def test_flags_that_are_wrong(elsewhere: Elsewhere) -> None:
    for flags, words in {
        ("--worker-command", "ssh 'open"): "--worker-command cannot be split",
        ("--worker-map", "relative=/x"): "--worker-map wants LOCAL=REMOTE",
        ("--worker-start", "0"): "--worker-start wants a number",
    }.items():
        done = cli("check", *flags, "model.py", cwd=elsewhere.here)
        assert done.returncode == 2 and words in done.stderr, done.stderr
