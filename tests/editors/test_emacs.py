"""Emacs with Eglot and with lsp-mode, real ones in batch, with the settings that docs/editors.md tells people to use."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = Path(__file__).resolve().parent / "emacs"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import programs  # noqa: E402
import support  # noqa: E402

EMACS = Path("/usr/bin/emacs")


def settings(*headings: str) -> str:
    """The Lisp that docs/editors.md has under these headings."""
    page = (ROOT / "docs" / "editors.md").read_text()
    parts = {part.split("\n", 1)[0]: part for part in re.split(r"^#+ ", page, flags=re.MULTILINE)}
    return "\n".join(re.search(r"```elisp\n(.*?)```", parts[name], re.DOTALL)[1] for name in headings)  # type: ignore[index]


@pytest.mark.parametrize("client", ["Eglot", "lsp-mode"])
def test_the_path_of_a_person(client: str, tmp_path: Path) -> None:
    """Open, diagnostic, hover, code action, one undo, and what the page's own functions do."""
    assert EMACS.exists(), f"{EMACS} is missing: script/bootstrap --test"
    project, home, bin_ = tmp_path / "project", tmp_path / "home", tmp_path / "bin"
    for folder in (project / ".git", home, bin_):
        folder.mkdir(parents=True)
    model = project / "model.py"
    model.write_text(programs.BRANCH)
    (project / "pyproject.toml").write_text(f'[tool.graphglue]\npython = "{sys.executable}"\n')
    mark, result = "emacs-" + tmp_path.name, tmp_path / "result.json"
    server = bin_ / "graphglue-lsp"
    server.write_text(f'#!/bin/sh\nexec "{support.find_server()}" "$@" --test 2>>"{tmp_path}/stderr"\n')
    server.chmod(0o755)
    lisp = settings("Emacs", client).replace("~/src/my-project/", f"{project}/")
    (tmp_path / "init.el").write_text(f"(package-initialize)\n{lisp}")
    env = support.environment(mark, {"HOME": str(home), "PATH": f"{bin_}:{os.environ['PATH']}", "TERM": "dumb"})
    done = subprocess.run(
        [str(EMACS), "--batch", "-l", str(tmp_path / "init.el"), "-l", str(SCENARIOS / f"{client.lower()}.el")],
        cwd=project,
        env={**env, "MODEL": str(model), "RESULT": str(result)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.exists(), done.stdout + done.stderr
    seen = json.loads(result.read_text())
    log = tmp_path / "stderr"
    stderr = log.read_bytes() if log.exists() else b""
    assert "error" not in seen, f"{seen}\n{done.stderr[-4000:]}\n{stderr.decode(errors='replace')}"
    assert seen["covered"] == programs.CONDITION and "GB0170" in seen["message"]
    assert "Data-dependent branching" in seen["hover"]
    assert "    h = torch.where(h.sum() > 0, h + 1, h - 1)\n    return h\n" in seen["glued"]
    assert seen["undone"] is True
    if client == "Eglot":
        assert "2 graphs, 1 break" in seen["graphs"] and seen["back"] is True and "edit" in seen["asked"]
    else:
        assert seen["glued-all"] == seen["glued"]
    support.assert_clean_end(mark, stderr)
