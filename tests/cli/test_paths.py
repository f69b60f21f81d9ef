"""Which files a command is about: `check --static` names them and runs nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import cli


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in [
        "b.py", "a.py", "note.txt", "pkg/m.py", "pkg/deep/er/n.py", "pkg/__pycache__/c.py", ".hidden/h.py", "venv/v.py", "own/pyvenv.cfg", "own/o.py",
        "node_modules/x/y.py", "é 'quoted' $(touch x)/z.py", "ignored/i.py", "kept/secret.py", "kept/shown.py",
    ]:  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def listed(run_json: Any, folder: Path, *arguments: str) -> list[str]:
    _, out = run_json("check", "--static", *arguments, cwd=folder)
    return [f["path"] for f in out["files"]]


ALL = [
    "a.py",
    "b.py",
    "ignored/i.py",
    "kept/secret.py",
    "kept/shown.py",
    "pkg/deep/er/n.py",
    "pkg/m.py",
    "é 'quoted' $(touch x)/z.py",
]


def test_a_folder_is_walked_in_order(tree: Path, run_json: Any) -> None:
    assert listed(run_json, tree, ".") == [f"./{p}" for p in ALL]
    assert listed(run_json, tree, "pkg/") == ["pkg/deep/er/n.py", "pkg/m.py"]
    assert listed(run_json, tree, str(tree / "pkg")) == [str(tree / "pkg/deep/er/n.py"), str(tree / "pkg/m.py")]
    assert not (tree / "x").exists(), "a folder's name is no command"


def test_what_git_ignores_is_skipped_unless_named(tree: Path, run_json: Any) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tree, check=True)
    (tree / ".gitignore").write_text("ignored/\nkept/*\n!kept/shown.py\n")
    kept = [f"./{p}" for p in ALL if p not in ("ignored/i.py", "kept/secret.py")]
    assert listed(run_json, tree, ".") == kept
    assert listed(run_json, tree, "ignored/i.py") == ["ignored/i.py"], "a file that is named is meant"


def test_each_file_once_as_first_given(tree: Path, run_json: Any) -> None:
    (tree / "link.py").symlink_to("a.py")
    assert listed(run_json, tree, "a.py", "./a.py", str(tree / "a.py"), "link.py", "b.py") == ["a.py", "b.py"]


def test_exclude(tree: Path, run_json: Any) -> None:
    assert listed(run_json, tree, "--exclude", "*.py", ".") == []
    assert listed(run_json, tree, "--exclude", "pkg", "--exclude=kept/*", "--exclude", "./ignored", ".") == [
        "./a.py", "./b.py", "./kept/secret.py", "./kept/shown.py", "./é 'quoted' $(touch x)/z.py",
    ]  # fmt: skip
    assert listed(run_json, tree, "--exclude", "*/kept/*", "kept", "./kept") == ["kept/secret.py", "kept/shown.py"]


def test_links_that_go_round_end(tree: Path, run_json: Any) -> None:
    (tree / "pkg" / "again").symlink_to(tree)
    assert listed(run_json, tree, "pkg") == ["pkg/deep/er/n.py", "pkg/m.py"]


def test_a_pipe_or_device_does_not_hang(tmp_path: Path, run_json: Any) -> None:
    os.mkfifo(tmp_path / "fifo.py")
    code, out = run_json("check", "--static", "fifo.py", cwd=tmp_path)
    assert code == 2
    assert "fifo.py" in out["files"][0]["error"]
    assert listed(run_json, tmp_path, ".") == []


def test_missing_and_unreadable(tmp_path: Path) -> None:
    done = cli("check", "--static", "gone.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "gone.py" in done.stdout and "No such file" in done.stdout


def test_text_from_standard_input(tmp_path: Path, run_json: Any) -> None:
    _, out = run_json("check", "--static", "--stdin-filename", "not/there.py", cwd=tmp_path, stdin="x = 1\n")
    assert [(f["path"], f["error"]) for f in out["files"]] == [("not/there.py", None)]
