# ruff: noqa: E501 - programs in one line each
"""What `check` and `fix` tell people: order, excerpts, hints, and no advice that was already tried."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, cli

# The break that Dynamo meets first lies below the other one; one range spans three lines.
PROGRAM = (
    HEAD
    + "def late(x):\n    print(\n        x.shape,\n    )\n    return x\n\n\n"
    + "def f(x):\n    h = g(x)\n    return late(h)\n\n\n"
    + "def g(x):\n    if x.sum() > 0:\n        x = x + 1\n    else:\n        x = x - 1\n    print(x.shape)\n    return x\n\n\n"
    + "def graphglue_inputs():\n    yield 'f', f, (torch.randn(4),), {}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    (path / "p.py").write_text(PROGRAM)
    return path


def places(text: str) -> list[tuple[int, str]]:
    return [(int(line), code) for line, code in re.findall(r"^p\.py:(\d+):\d+: (GB\d+)", text, re.MULTILINE)]


def test_sites_are_told_from_top_to_bottom(folder: Path) -> None:
    done = cli("check", "./p.py", cwd=folder)
    lines = [line for line, _ in places(done.stdout)]
    assert len(lines) == 3 and lines == sorted(lines), done.stdout
    assert "   print(\n" in done.stdout and "^^^^^^ and on to line 9\n" in done.stdout
    assert re.search(r"^-- f: \d graphs, 5 breaks at 3 sites$", done.stdout, re.MULTILINE)
    assert not done.stdout.startswith("\n")


def test_a_command_that_helps_is_complete(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "it's here.py"
    file.write_text(PROGRAM)
    done = cli("check", "--train", file.name, cwd=tmp_path)
    commands = re.findall(r"= help: .*: (graphglue-lsp fix .*)$", done.stdout, re.MULTILINE)
    assert commands, done.stdout
    assert all("--python " in c and "--train " in c and c.endswith("'it'\\''s here.py'") for c in commands), commands


def test_places_of_repairs_are_those_of_the_file_as_it_is(folder: Path) -> None:
    checked = {p for p in places(cli("check", "p.py", cwd=folder).stdout)}
    done = cli("fix", "--max-safety", "effects", "p.py", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert sorted(places(done.stdout)) == sorted(checked), "each once: also one that was proved at its second try"
    assert "nothing was written; --apply writes the proved edits" in done.stdout


def test_what_a_weaker_class_may_mend_is_told(folder: Path) -> None:
    done = cli("fix", "p.py", cwd=folder)
    assert "help: 2 more sites may be mended with --max-safety effects" in done.stdout
    assert "graphglue-lsp fix --python" in done.stdout


def test_a_refused_repair_is_not_advised_again(tmp_path: Path) -> None:
    """The first call says that both arms are alike, the second that they are not."""
    file = tmp_path / "p.py"
    file.write_text(
        HEAD
        + "def f(a, b):\n    if a.sum() > b.sum():\n        return a * 2\n    return b * 2\n\n\n"
        + "def g(x):\n    return f(x, x + 1).sum() + f(x[:1], x).numel()\n\n\n"
        + "def graphglue_inputs():\n    yield 'g', g, (-torch.ones(4),), {}\n"
    )
    done = cli("fix", "--max-safety", "effects", "p.py", cwd=tmp_path)
    assert done.returncode == 1 and "Refused" in done.stdout
    assert "= help" not in done.stdout and "may be mended" not in done.stdout, done.stdout


def test_only_selected_breaks_are_mended(folder: Path, run_json: Any) -> None:
    code, out = run_json("fix", "--max-safety", "effects", "--select", "GB0059", "p.py", cwd=folder)
    repairs = out["files"][0]["repairs"]
    assert repairs and {r["id"] for r in repairs} == {"GB0059"}
    assert "is_compiling" in out["files"][0]["patched"] and "torch.where" not in out["files"][0]["patched"]


MODULE = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.unknown()\n"


@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [
        ("x = 1\n", (), "no torch module or example inputs were found"),
        ("while True:\n    pass\n", ("--timeout", "2"), 'put training under `if __name__ == "__main__":`'),
        (MODULE, (), "note: Net: no inputs were given and none could be deduced"),
    ],
    ids=["nothing", "for ever", "no inputs"],
)
def test_hints(text: str, flags: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(text)
    done = cli("check", *flags, "p.py", cwd=tmp_path)
    assert words in done.stdout, done.stdout


def test_an_error_names_the_path_once(tmp_path: Path) -> None:
    done = cli("check", "gone.py", cwd=tmp_path)
    assert done.stdout.startswith("gone.py: error: No such file or directory\n")
    assert "1 could not be run" in done.stdout


PLACES = {
    "syntax.py": ("x = 1\ny = 'é' + (1 =\n", 2, 11, "SyntaxError: "),
    "import.py": (
        "import os\n\nimport no_such_module\n",
        3,
        1,
        "ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "inputs.py": ("X = 1\n\nTESTCASES = {}\n", 3, 1, "TESTCASES must be a list of (class, init, forward)"),
    "endless.py": ("while True:\n    x = 1\n", 2, 5, "importing the file did not end within 3 s"),
}


def test_a_file_that_cannot_be_imported_is_told_with_its_place(tmp_path: Path, run_json: Any) -> None:
    for name, (text, *_) in PLACES.items():
        (tmp_path / name).write_text(text)
    done = cli("check", "--timeout", "3", *PLACES, cwd=tmp_path)
    _, out = run_json("check", "--timeout", "3", *PLACES, cwd=tmp_path)
    for (name, (_, line, column, words)), file in zip(PLACES.items(), out["files"], strict=True):
        told = re.search(rf"^{re.escape(name)}:(\d+):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
        assert told is not None and words in told[3], done.stdout
        assert (int(told[1]), int(told[2])) == (line, column) or (name == "endless.py" and told[1] in "12")
        assert re.match(rf"{re.escape(name)}:\d+:\d+: .*{re.escape(words)}", file["error"]), file["error"]
