"""The plugin of editors/neovim in real, headless editors: Debian's 0.7.2 and 0.11 from PyPI."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "editors" / "neovim"
SCENARIOS = Path(__file__).resolve().parent / "neovim"
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tools")]

import gen_settings  # noqa: E402
import programs  # noqa: E402
import support  # noqa: E402

EDITORS = {"0.7": Path("/usr/bin/nvim"), "0.11": Path(sys.prefix, "bin", "nvim")}
MODULE = """import torch


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2
"""


def run(editor: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX", "NVIM", "VIM", "VIMRUNTIME")
    env = {k: v for k, v in os.environ.items() if k not in hidden}
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        env[f"XDG_{kind}_HOME"] = str(folder / "xdg" / kind.lower())
    return subprocess.run(
        [str(editor), "--headless", "-u", "NONE", "-i", "NONE", "-n", *arguments],
        cwd=folder,
        env={**env, **support.warm_workers.environment(Path(support.find_server()).parent), **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(params=list(EDITORS))
def editor(request: pytest.FixtureRequest) -> Path:
    path = EDITORS[request.param]
    assert path.exists(), f"{path} is missing: script/bootstrap --test"
    version = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True).stdout
    if f"v{request.param}." not in version:
        pytest.skip(f"{path} is {version.splitlines()[0]}, not {request.param}")
    return path


class Project:
    """A folder with files, and the server behind a wrapper that notes its process, its stderr and its status."""

    def __init__(self, folder: Path, editor: Path) -> None:
        self.outside, self.folder, self.editor = folder, folder / "project", editor
        self.mark = "neovim-" + folder.name
        self.folder.mkdir()
        self.write("pyproject.toml", "")
        self.wrapper = folder / "server"
        server, stderr = support.find_server(), folder / "stderr"
        self.wrapper.write_text(
            f'#!/bin/sh\necho $$ >>"{self.folder}/pids"\nexec "{server}" "$@" 2>>"{stderr}"\n'  # the one that is killed
        )
        self.wrapper.chmod(0o755)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def trace(self, name: str) -> str:
        """A line that leaves a file behind when it is run."""
        return f"open({str(self.folder / f'{name}-ran')!r}, 'w').close()\n"

    def play(self, *scenarios: str, **environment: str) -> dict[str, Any]:
        result = self.outside / "result.json"
        done = run(
            self.editor,
            self.folder,
            *("--cmd", f"set runtimepath^={PLUGIN}", "--cmd", "filetype plugin on"),
            *("-c", "runtime plugin/graphglue.lua"),
            *("-c", f"autocmd VimEnter * ++nested luafile {SCENARIOS / 'drive.lua'}"),
            RESULT=str(result),
            SCENARIOS=" ".join(str(SCENARIOS / f"{name}.lua") for name in scenarios),
            SERVER=str(self.wrapper),
            PYTHON=sys.executable,
            GRAPHGLUE_TEST_MARK=self.mark,
            **environment,
        )
        assert result.exists(), done.stdout + done.stderr
        seen: dict[str, Any] = json.loads(result.read_text())
        log = self.outside / "stderr"
        stderr = log.read_bytes() if log.exists() else b""
        assert "error" not in seen, f"{seen}\n{stderr.decode(errors='replace')}"
        support.assert_clean_end(self.mark, stderr)
        return seen


@pytest.fixture
def project(editor: Path, tmp_path: Path) -> Project:
    return Project(tmp_path, editor)


def test_the_path_of_a_person(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Open, trust, save, diagnostic, summary, status, hover, explanation, cancel, glue, undo, a refusal; then graphs and their picture, the
    repair log, inputs written and recorded, health, shutdown."""
    project.write("model.py", programs.BRANCH + "\n\n" + project.trace("code"))
    project.write("wrong.py", programs.WRONG)
    project.write("branch.py", programs.BRANCH)
    project.write("module.py", MODULE)
    project.write("train.py", MODULE + "\n\nScale()(torch.ones(2, 3))\n")
    seen = project.play("person", "documents")
    with capsys.disabled():
        words = "{}: {} ms from opening a file to the first static finding, {} ms from save to the confirmed one"
        print("\n" + words.format(project.editor, seen["ms_to_static"], seen["ms_to_confirmed"]))
    assert seen["ran_before_trust"] is False and (project.folder / "code-ran").exists()
    assert seen["notes"].count("nothing is run until you say :GraphglueTrust") == 1
    assert "is trusted: looking for breaks" in seen["notes"]
    assert seen["code"] == "GB0170" and seen["predicted"] == 0, "what a capture found is not predicted any more"
    assert seen["link"] == "https://meta-pytorch.org/compile-graph-break-site/gb/gb0170.html"
    assert seen["covered"] == programs.CONDITION
    assert seen["summary"] == {"above": True, "line": "def scale(x):", "words": "2 graphs · 1 break"}
    assert "GB0170" in seen["hover"]
    assert "GB0170" in seen["explained"] and seen["closed"] is True
    assert "GG002" in seen["rule"]
    assert seen["canceled"] is True
    assert "    h = torch.where(h.sum() > 1, h + 1, h - 1)\n    return h\n" in seen["glued"]
    assert seen["undone"] is True and "asked" not in seen
    assert seen["echoed"] == ["graphglue: mending the file …", "graphglue: mending the file: candidate 1: where", ""]
    assert "graphglue: 1 repair proved: 1 break → 0" in seen["notes"]
    assert seen["glued_all"] == seen["glued"] and seen["undone_all"] is True
    assert seen["kept"] is True

    graphs = seen["graphs"]
    assert graphs["name"].endswith("graphglue://graphs/branch.py") and graphs["modifiable"] is False
    assert "2 graphs, 1 break" in graphs["text"] and "def forward" in graphs["text"]
    assert seen["followed"] == {"buffer": True, "line": f"    if {programs.CONDITION}:"}
    assert seen["same_window"] is True and seen["picture"] == "<svg"
    assert re.search(r"graphglue: .*2 graphs, 1 break: /.*\.svg", seen["notes"])
    assert "this is no Python file" in seen["notes"], "a document is not run"
    assert "No model was asked yet" in seen["repair_log"]
    assert "def graphglue_inputs():" in seen["inputs"] and seen["undone"] is True
    assert seen["terminal"] == "terminal"
    healthy = seen["healthy"]
    assert re.search(r"the option cmd\): graphglue-lsp \d+\.\d+", healthy), healthy
    assert "trusted: its code may be run" in healthy and sys.executable in healthy and "torch 2." in healthy
    assert seen["begun"] == 1
    assert "ERROR" not in healthy and "WARNING" not in healthy and "the server runs" in healthy


def test_an_untrusted_project_runs_nothing(project: Project) -> None:
    """Neither its code nor the interpreter that it brings along: both would leave a file behind."""
    project.write("model.py", programs.BRANCH + "\n\n" + project.trace("code"))
    interpreter = project.write(
        ".venv/bin/python", f'#!/bin/sh\n: >"{project.folder}/python-ran"\nexec "{sys.executable}" "$@"\n'
    )
    interpreter.chmod(0o755)
    project.write(".venv/pyvenv.cfg", f"home = {Path(sys.executable).parent}\n")
    seen = project.play("untrusted")
    assert seen["traces"] == [] and seen["windows"] == 0 and seen["summaries"] == 0
    assert seen["status"] == "not trusted" and ":GraphglueTrust" in seen["first"]
    assert "not trusted" in seen["health"] and ":GraphglueTrust" in seen["health"]
    assert seen["notes"].count("is run before you say :GraphglueTrust") == 7
    too_long = [line for line in seen["notes"].splitlines() if len(line) > 67]
    assert not too_long, "for these Neovim, 80 columns wide, waits for Enter and takes in nothing"
    assert seen["allowed"] == ["code-ran", "python-ran"] and seen["after_distrust"] == []


def test_a_killed_server_comes_back(project: Project) -> None:
    """With what it had said; after too many ends it is left alone, and its user told."""
    project.write("model.py", programs.BRANCH)
    seen = project.play("killed")
    assert seen["back"] == 3 and seen["notes"].count("is started again") == 3
    assert seen["left"] == {"clients": 0, "findings": 0, "summaries": 0}


def test_health(project: Project) -> None:
    """What is missing is named, with what to do about it."""
    project.write("model.py", programs.CLEAN)
    venv.create(project.outside / "bare", symlinks=True)
    seen = project.play("health", BARE=str(project.outside / "bare" / "bin" / "python"))
    assert "graphglue-lsp was not found; looked at: /nowhere/graphglue-lsp" in seen["no_server"]
    assert "pip install ." in seen["no_server"]
    assert "torch cannot be used" in seen["no_torch"] and "no server runs for it" in seen["no_torch"]
    assert str(project.outside / "bare") in seen["no_torch"], "the interpreter that was set"
    assert "torch 2." in seen["not_started"] and "torch cannot be used" not in seen["not_started"]


def test_help(editor: Path, tmp_path: Path) -> None:
    """The manual is valid: no tag is defined twice, and every command, mapping and setting has its own."""
    shutil.copytree(PLUGIN / "doc", tmp_path / "doc")
    done = run(
        editor,
        tmp_path,
        *("--cmd", f"set runtimepath^={tmp_path}", "-c", f"helptags {tmp_path / 'doc'}"),
        *("-c", "help graphglue", "-c", "call writefile([expand('%:t'), getline('.')], 'shown')", "-c", "qall!"),
    )
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    assert (tmp_path / "shown").read_text().startswith("graphglue.txt\n")
    tags = {line.split("\t")[0] for line in (tmp_path / "doc" / "tags").read_text().splitlines()}
    names = re.findall(r'^command\("(\w+)", "(\w+)"', (PLUGIN / "plugin" / "graphglue.lua").read_text(), re.MULTILINE)
    assert len(names) == 12
    for command, function in names:
        assert f":Graphglue{command}" in tags and f"<Plug>(graphglue-{function.replace('_', '-')})" in tags
    settings = gen_settings.read((ROOT / "server" / "settings.def").read_text())
    assert {f"graphglue-{s['key']}" for s in settings if s["scope"] != "START"} <= tags
    too_long = [line for line in (tmp_path / "doc" / "graphglue.txt").read_text().splitlines() if len(line) > 78]
    assert not too_long, "help is read in 78 columns"
