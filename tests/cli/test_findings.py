"""What `check` says of a text that it could not run: predictions that no run confirmed or took back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import HEAD, cli

NET = "class Net(nn.Module):\n    def __init__(self, size, **more):\n        super().__init__()\n        self.more = more['no such key']\n\n"
NET += "    def forward(self, x: torch.Tensor):\n{body}        return x\n\n\n"
F = "@torch.compile\ndef f(x):\n    print(x)\n    if x.shape[0] > 100:\n        print('many')\n    return x\n\n\n"
INPUTS = "def graphglue_inputs():\n    yield 'f', f, (torch.randn(4),), {}\n"


def check(
    run_json: Callable[..., Any], folder: Path, text: str, *options: str
) -> tuple[int, list[str], list[tuple[str, int]]]:
    """Exit code, ids of the sites, and of the findings with their 1-based lines."""
    (folder / "a.py").write_text(text)
    code, out = run_json("check", *options, "a.py", cwd=folder)
    (file,) = out["files"]
    sites = [s["id"] for e in file["entries"] for s in e["sites"]]
    return code, sites, [(f["certainty"], f["range"]["start"]["line"] + 1) for f in file["findings"]]


def test_a_whole_run_settles_all(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    assert check(run_json, tmp_path, HEAD + F + INPUTS) == (1, ["GB0059"], [])


def test_where_something_did_not_run(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    """g fails before its print: that stays, as does what the run of f did not meet; what f met is a site alone."""
    failing = (
        "@torch.compile\ndef g(x):\n    table = {}\n    x = table['no such key']\n    print(x)\n    return x\n\n\n"
    )
    text = HEAD + F + failing + INPUTS + "    yield 'g', g, (torch.randn(4),), {}\n"
    code, sites, findings = check(run_json, tmp_path, text)
    assert (code, sites, findings) == (2, ["GB0059"], [("conditional", 10), ("certain", 18)])


def test_certain_without_inputs_fails_conditional_does_not(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    code, sites, findings = check(run_json, tmp_path, HEAD + NET.format(body="        print(x)\n"))
    assert (code, sites, findings) == (1, [], [("certain", 12)])
    code, sites, findings = check(
        run_json, tmp_path, HEAD + NET.format(body="        if self.training:\n            print(x)\n")
    )
    assert (code, sites, findings) == (0, [], [("conditional", 13)])
    done = cli("check", "a.py", cwd=tmp_path)
    assert "only if: self.training" in done.stdout and "predicted only: 0 certain, 1 conditional" in done.stdout


def test_a_file_that_cannot_be_imported(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    text = "import no_such_module_at_all\n" + HEAD + F + INPUTS
    assert check(run_json, tmp_path, text) == (2, [], [("certain", 9), ("conditional", 11)])
    (tmp_path / "pyproject.toml").write_text("[tool.graphglue]\npredict = false\n")
    assert check(run_json, tmp_path, text) == (2, [], [])
    (tmp_path / "pyproject.toml").write_text("[tool.graphglue]\nignore = ['skipped-builtin']\n")
    assert check(run_json, tmp_path, text) == (2, [], [])
