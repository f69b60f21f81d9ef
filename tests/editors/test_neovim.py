"""The plugin of editors/neovim in real, headless editors: Debian's 0.7.2 and 0.11 from PyPI."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import programs  # noqa: E402
import support  # noqa: E402

EDITORS = {"0.7": Path("/usr/bin/nvim"), "0.11": Path(sys.prefix, "bin", "nvim")}


def run(editor: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "NVIM", "VIM", "VIMRUNTIME")}
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        env[f"XDG_{kind}_HOME"] = str(folder / "xdg" / kind.lower())
    return subprocess.run(
        [str(editor), "--headless", "-u", "NONE", "-i", "NONE", "-n", *arguments],
        cwd=folder,
        env={**env, **environment},
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


def test_the_path_of_a_person(editor: Path, tmp_path: Path) -> None:
    """Open, trust, save, diagnostic, hover, cancel, glue, undo, shutdown."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    ran = f"open({str(folder / 'ran')!r}, 'w').close()\n"
    (folder / "model.py").write_text(programs.BRANCH + "\n\n" + ran)
    mark, statuses = "neovim-" + tmp_path.name, tmp_path / "statuses"
    wrapper = tmp_path / "server"
    wrapper.write_text(f'#!/bin/sh\n"{support.find_server()}" "$@" 2>>"{tmp_path}/stderr"\necho $? >>"{statuses}"\n')
    wrapper.chmod(0o755)
    result = tmp_path / "result.json"

    done = run(
        editor,
        folder,
        "--cmd",
        f"set runtimepath^={ROOT / 'editors' / 'neovim'}",
        "--cmd",
        "filetype plugin on",
        "-c",
        "runtime plugin/graphglue.lua",
        "-c",
        f"autocmd VimEnter * ++nested luafile {HERE / 'drive.lua'}",
        RESULT=str(result),
        SERVER=str(wrapper),
        PYTHON=sys.executable,
        GRAPHGLUE_TEST_MARK=mark,
    )
    assert result.exists(), done.stdout + done.stderr
    seen = json.loads(result.read_text())
    stderr = (tmp_path / "stderr").read_bytes()
    assert "error" not in seen, f"{seen}\n{stderr.decode(errors='replace')}"
    assert seen["ran_before_trust"] is False and "may be run" in seen["trust_notes"]
    assert seen["trust_notes"].count("nothing is run until you say :GraphglueTrust") == 1
    assert seen["code"] == "GB0170" and seen["predicted"] == 0, "what a capture found is not predicted any more"
    assert seen["link"] == "https://meta-pytorch.org/compile-graph-break-site/gb/gb0170.html"
    assert seen["covered"] == programs.CONDITION
    assert "GB0170" in seen["hover"]
    assert seen["canceled"] is True
    assert "    h = torch.where(h.sum() > 0, h + 1, h - 1)\n    return h\n" in seen["glued"]
    assert seen["undone"] is True
    assert statuses.read_text().split() == ["0", "0"], "before and after :GraphglueTrust"
    support.assert_clean_end(mark, stderr)


def test_help_tags(editor: Path, tmp_path: Path) -> None:
    """The manual is valid: its tags are found, none is defined twice."""
    shutil.copytree(ROOT / "editors" / "neovim" / "doc", tmp_path / "doc")
    done = run(editor, tmp_path, "-c", f"helptags {tmp_path / 'doc'}", "-c", "qall!")
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    tags = (tmp_path / "doc" / "tags").read_text()
    assert ":GraphglueTrust" in tags and "graphglue-settings" in tags
