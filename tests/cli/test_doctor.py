"""`doctor`: what a capture would run with, why, and what mends what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conftest import cli


def test_all_is_well(tmp_path: Path) -> None:
    done = cli("doctor", cwd=tmp_path)
    assert done.returncode == 0, done
    assert sys.executable in done.stdout and "chosen by" in done.stdout
    assert "2.13.0" in done.stdout and "captures can run" in done.stdout
    assert "no CUDA device" in done.stdout or "GiB" in done.stdout
    assert "\nsandbox " in done.stdout


def test_json(tmp_path: Path) -> None:
    out = json.loads(cli("doctor", "--json", cwd=tmp_path).stdout)
    assert (out["version"], out["interpreter"], out["ok"], out["torch_error"]) == (1, sys.executable, True, None)
    assert isinstance(out["sandbox"]["network"], bool) and isinstance(out["sandbox"]["how"], list)
    assert out["mode"] in ("embedded", "executed") and out["ready_seconds"] > 0


def test_an_environment_without_torch_is_told_where_there_is_one(tmp_path: Path) -> None:
    """The environment of the workspace is chosen; the one that has torch is named."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    (tmp_path / "good" / "bin").mkdir(parents=True)
    (tmp_path / "good" / "pyvenv.cfg").touch()
    (tmp_path / "good" / "bin" / "python").symlink_to(sys.executable)
    package = tmp_path / "good" / "lib" / "python3.11" / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "version.py").write_text("__version__ = '2.12.0+cpu'\n")
    done = cli("doctor", cwd=tmp_path, python=None)
    assert done.returncode == 1
    assert f"{tmp_path}/.venv/bin/python" in done.stdout
    assert "-m pip install torch" in done.stdout and "captures cannot run" in done.stdout
    assert f"doctor --python {tmp_path}/good/bin/python" in done.stdout
    out = json.loads(cli("doctor", "--json", cwd=tmp_path, python=None).stdout)
    assert out["ok"] is False and out["why"] == ".venv of the workspace"
    assert {"interpreter": f"{tmp_path}/good/bin/python", "why": "good of the workspace", "torch": "2.12.0+cpu"} in out[
        "found"
    ]


def test_no_interpreter_at_all(tmp_path: Path) -> None:
    done = cli("doctor", cwd=tmp_path, python="/no/such/python")
    assert done.returncode != 0
    assert "/no/such/python is no executable file" in done.stderr
