"""Results stored by content: an unchanged file is not run again; whatever it read and has changed makes it run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import os
import torch
from helper import scale

with open(os.environ["RUNS"], "a") as runs:  # each import of this file leaves a mark outside the project
    runs.write("x")


def f(x):
    print("seen")
    return scale(x)


def graphglue_inputs():
    yield "f", f, (torch.ones(2),), {}
"""
HELPER = """
import os

def scale(x):
    try:
        with open(os.path.join(os.path.dirname(__file__), "factor.txt")) as file:
            return x * float(file.read())
    except FileNotFoundError:
        return x
"""


class Project:
    """A folder with one program; `check()` returns how often it was run for that, and its entries."""

    def __init__(self, folder: Path, runs: Path, run_json: Callable[..., Any]) -> None:
        self.folder, self.runs, self.run_json = folder, runs, run_json
        runs.touch()

    def check(self, *arguments: str) -> tuple[int, Any]:
        before = self.runs.stat().st_size
        time.sleep(0.05)  # what changed just before a capture may change again unseen, and is not stored
        _, out = self.run_json("check", *arguments, "program.py", cwd=self.folder)
        self.out = out
        return self.runs.stat().st_size - before, out["files"][0]["entries"]

    @property
    def records(self) -> list[Path]:
        return sorted(self.folder.glob(".graphglue/cache/captures/*"))


@pytest.fixture
def project(tmp_path: Path, run_json: Any, monkeypatch: pytest.MonkeyPatch) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "program.py").write_text(PROGRAM)
    (folder / "helper.py").write_text(HELPER)
    monkeypatch.setenv("RUNS", str(tmp_path / "runs"))
    return Project(folder, tmp_path / "runs", run_json)


def test_an_unchanged_file_is_answered_alike_and_not_run(project: Project) -> None:
    runs, entries = project.check()
    first = project.out
    assert runs > 0 and entries[0]["status"] == "breaks"
    assert len(project.records) == 1
    assert project.check() == (0, entries)
    assert project.out == first, "versions too, though no worker ran"
    os.utime(project.folder / "program.py")
    assert project.check() == (0, entries), "the content counts, not the time"
    assert (project.folder / ".graphglue" / ".gitignore").read_text() == "*\n"


def test_what_it_read_decides(project: Project) -> None:
    assert project.check()[0] > 0
    (project.folder / "factor.txt").write_text("2.0")  # was looked for by a fork of the capture, and not there
    assert project.check()[0] > 0
    (project.folder / "other.py").write_text("x = 1\n")
    assert project.check()[0] == 0, "a file it does not read"
    assert project.check("--train")[0] > 0, "options have results of their own"
    assert project.check("--no-cache")[0] > 0


def test_what_failed_is_tried_again_and_nothing_is_left_outside_of_a_project(project: Project) -> None:
    (project.folder / "helper.py").write_text("def scale(x):\n    raise KeyError('now and then')\n")
    assert project.check()[1][0]["status"] == "eager_error"
    assert project.records == []
    (project.folder / "helper.py").write_text(HELPER)
    (project.folder / "pyproject.toml").unlink()
    assert project.check()[0] > 0
    assert not [p for p in project.folder.glob(".graphglue/**/*") if p.suffix == ".json"]
