"""[tool.graphglue] in pyproject.toml: found as linters find theirs, read for predictions, runs and repairs, and second to options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, cli

INPUTS = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(1),), {}\n"
CODE = HEAD + "@torch.compile\ndef f(x):\n    print(x)\n    return x + x.item()\n" + INPUTS


def project(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text("[tool.graphglue]\n" + text)


@pytest.mark.parametrize(
    ("settings", "ids", "static", "run"),
    [
        ('ignore = ["59"]', ["GB0124"], 1, 1),
        ('select = ["skipped-builtin"]', ["GB0059"], 1, 1),
        ('rules = { skipped-builtin = "off", GB0124 = "hint" }', ["GB0124"], 0, 0),
        ('rules = { GB0059 = "off", scalar-from-tensor = "error" }', ["GB0124"], 1, 1),
        ('select = ["GB0001"]', [], 0, 0),
    ],
)
def test_levels(
    tmp_path: Path, run_json: Callable[..., Any], settings: str, ids: list[str], static: int, run: int
) -> None:
    project(tmp_path, settings)
    (tmp_path / "a.py").write_text(CODE)
    code, out = run_json("check", "--static", "a.py", cwd=tmp_path)
    assert ([f["id"] for f in out["files"][0]["findings"]], code) == (ids, static)
    code, out = run_json("check", "a.py", cwd=tmp_path)
    (entry,) = out["files"][0]["entries"]
    assert ([s["id"] for s in entry["sites"]], code, entry["status"]) == (ids, run, "breaks")


def test_each_file_has_its_nearest(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    project(tmp_path, 'ignore = ["GB0059"]\n')
    project(tmp_path / "sub", 'ignore = ["GB0124"]\n')
    for name in ("a.py", "sub/b.py", "sub/deep/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(CODE)
    found = {
        Path(f["path"]).name: [g["id"] for g in f["findings"]]
        for f in run_json("check", "--static", ".", cwd=tmp_path)[1]["files"]
    }
    assert found == {"a.py": ["GB0124"], "b.py": ["GB0059"], "c.py": ["GB0059"]}
    found = run_json("check", "--static", "--ignore", "GB0001", "sub", cwd=tmp_path)[1]["files"]
    assert [len(f["findings"]) for f in found] == [2, 2]  # an option takes the setting's place


def test_excluded_unless_it_is_named(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    project(tmp_path, 'exclude = ["old", "sub/*_pb2.py"]\n')
    for name in ("a.py", "old/b.py", "sub/c_pb2.py", "d_pb2.py", "sub/old/e.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")

    def names(*paths: str) -> list[str]:
        return [f["path"] for f in run_json("check", "--static", *paths, cwd=tmp_path)[1]["files"]]

    assert names(".") == ["./a.py", "./d_pb2.py"]
    assert names("old/b.py", "sub") == ["old/b.py"]
    assert names("old") == ["old/b.py"]


def test_a_broken_file_is_told_once_and_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.graphglue\nignore = []\n")
    for name in ("a.py", "b.py", "c/d.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(CODE)
    done = cli("check", "--static", ".", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("pyproject.toml:1:") == 1 and "6 certain" in done.stdout, (
        done.stderr
    )


def test_safety_and_interpreter(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    project(tmp_path, 'max-safety = "effects"\n')
    (tmp_path / "a.py").write_text(HEAD + "def f(x):\n    print(x.shape)\n    return x * 2\n" + INPUTS)
    assert run_json("fix", "a.py", cwd=tmp_path)[0] == 0
    assert run_json("fix", "--max-safety", "exact", "a.py", cwd=tmp_path)[0] == 1
    project(tmp_path, 'python = "./no/such/python"\n')
    done = cli("check", "a.py", cwd=tmp_path, python=None)
    assert done.returncode == 2 and "no/such/python" in done.stderr, done.stderr
