"""`fix --bench`: eager, compiled before and compiled after, measured by the worker; with the pass-through backend where there is no compiler."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import demo_package
import pytest
from conftest import HEAD, cli

PROGRAM = (
    HEAD
    + """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        h = self.linear(x)
        if h.sum() > 0:
            y = h + 1.0
        else:
            y = h - 1.0
        return y.relu()


def graphglue_inputs():
    yield "net", Net().eval(), (torch.randn(32, 64),), {}
"""
)
NO_COMPILER = {"CXX": "/nowhere/c++"}
ONE_TENSOR = 32 * 64 * 4


def check_figures(entry: dict[str, Any], before: int) -> None:
    for which in ("eager", "before", "after"):
        figures = entry[which]
        assert figures["error"] is None and figures["runs"] >= 7, entry
        assert 0 < figures["median_ms"] and 0 <= figures["spread_ms"] and figures["median_ms"] <= figures["first_ms"]
        assert ONE_TENSOR <= figures["peak_bytes"] <= 8 * ONE_TENSOR
    assert [entry[which]["graphs"] for which in ("eager", "before", "after")] == [None, before, 1]


def test_without_a_compiler(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    code, out = run_json("fix", "--bench", str(file), env=NO_COMPILER)
    (entry,) = out["files"][0]["bench"]
    assert code == 0 and (entry["name"], entry["backend"], entry["device"]) == ("net", "pass-through", "cpu")
    assert "no C++ compiler" in entry["note"]
    check_figures(entry, 2)
    assert file.read_text() == PROGRAM


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler, and g++ is not here")
def test_inductor_in_text(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PROGRAM)
    done = cli("fix", "--bench", str(file))
    assert done.returncode == 0 and "net: inductor on cpu\n" in done.stdout, done.stdout + done.stderr
    assert "compiled before" in done.stdout and "2 graphs" in done.stdout and "of the time before" in done.stdout


def test_a_package_before_and_after(tmp_path: Path, run_json: Any) -> None:
    _, env = demo_package.install(tmp_path / "env")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(demo_package.MODEL)
    arguments = ("fix", "--bench", "--package", "gluedemo", "model.py")
    _, out = run_json(*arguments, cwd=tmp_path, env={**env, **NO_COMPILER})
    (entry,) = out["files"][0]["bench"]
    assert (entry["before"]["graphs"], entry["after"]["graphs"]) == (4, 1), entry


def test_what_fails_is_told(tmp_path: Path, run_json: Any) -> None:
    """A figure that cannot be taken leaves the others, and without --bench nothing is timed."""
    program = PROGRAM.replace(
        "return y.relu()", "for _ in range(CALLS.pop()):\n            pass\n        return y.relu()"
    )
    program = program.replace("class Net", "CALLS = [0] * 4\n\n\nclass Net", 1)
    file = tmp_path / "net.py"
    file.write_text(program)
    _, out = run_json("fix", "--bench", str(file), env=NO_COMPILER)
    (entry,) = out["files"][0]["bench"]
    assert "IndexError" in entry["eager"]["error"] and entry["eager"]["median_ms"] is None
    _, out = run_json("fix", str(file))
    assert out["files"][0]["bench"] is None
