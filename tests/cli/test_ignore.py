"""`# graphglue: ignore[…]`: what a file's author does not want to hear of, predicted or met by a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, cli

INPUTS = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(1),), {}\n"
CODE = HEAD + "@torch.compile\ndef f(x):\n    print(x)\n    return x + x.item()\n" + INPUTS


@pytest.mark.parametrize(
    "comment", ["  # graphglue: ignore", "  # graphglue: ignore[GB0059]", "  # graphglue: ignore[skipped-builtin]"]
)
def test_alike_predicted_and_met(tmp_path: Path, run_json: Callable[..., Any], comment: str) -> None:
    (tmp_path / "a.py").write_text(CODE.replace("print(x)", "print(x)" + comment))
    _, out = run_json("check", "--static", "a.py", cwd=tmp_path)
    assert [f["id"] for f in out["files"][0]["findings"]] == ["GB0124"]
    code, out = run_json("check", "a.py", cwd=tmp_path)
    (entry,) = out["files"][0]["entries"]
    assert code == 1 and [s["id"] for s in entry["sites"]] == ["GB0124"]
    assert entry["graphs"] == 1 and entry["status"] == "breaks"  # what is true stays so


def test_not_in_the_exit_code_but_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# graphglue: ignore-file\n" + CODE)
    for option, kept in (
        ("--static", "0 certain findings, 0 conditional, 2 ignored"),
        ("--no-cache", "0 break sites, 2 ignored"),
    ):
        done = cli("check", option, "a.py", cwd=tmp_path)
        assert done.returncode == 0 and kept in done.stdout, done.stdout


def test_a_comment_in_another_file_counts_there(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text("def show(x):\n    print(x)  # graphglue: ignore[GB0059]\n    return x\n")
    (tmp_path / "a.py").write_text(HEAD + "from helper import show\n\n\ndef f(x):\n    return show(x) * 2\n" + INPUTS)
    code, out = run_json("check", "a.py", cwd=tmp_path)
    (entry,) = out["files"][0]["entries"]
    assert code == 0 and entry["sites"] == [] and entry["status"] == "breaks"


def test_fix_leaves_it(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    ignored = "    if x.sum() > 0:  # graphglue: ignore[GB0170]\n        x = -x\n"
    (tmp_path / "a.py").write_text(
        HEAD + "def f(x):\n" + ignored + "    if x.sum() > 1:\n        x = x + 1\n    return x * 2\n" + INPUTS
    )
    code, out = run_json("fix", "a.py", cwd=tmp_path)
    (file,) = out["files"]
    assert code == 0 and ignored in file["patched"] and "torch.where(x.sum() > 1" in file["patched"]
