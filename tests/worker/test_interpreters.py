"""Every CPython at hand, embedded and executed: start, protocol, host module, and what is said where torch or the version does not fit.

A version that this machine lacks is printed as skipped.  Each supported one is met through an environment of its own, as users have it.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from client import Worker
from conftest import Write

OLD = ["2.7", "3.6", "3.7", "3.8", "3.9"]
SUPPORTED = ["3.10", "3.11", "3.12", "3.13", "3.14"]


def find_python(version: str) -> str:
    """A CPython of this version: pyenv's, else pythonX.Y on PATH; skips the test when there is none."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    found = sorted(glob.glob(f"{root}/versions/{version}.*/bin/python{version}"))
    folders = [p for p in os.environ.get("PATH", "").split(":") if not p.endswith("/shims")]
    on_path = shutil.which(f"python{version}", path=":".join(folders))
    if on_path:
        found.append(on_path)
    for python in found:
        if subprocess.run([python, "-c", "pass"], check=False, capture_output=True).returncode == 0:
            return python
    pytest.skip(f"no Python {version} on this machine")


def bare_environment(version: str, folder: Path) -> str:
    made = subprocess.run([find_python(version), "-m", "venv", "--without-pip", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"Python {version} has no venv module")
    return str(folder / "bin" / "python")


@pytest.mark.parametrize("mode", ["embedded", "executed"])
@pytest.mark.parametrize("version", SUPPORTED)
def test_speaks_the_protocol(version: str, mode: str, tmp_path: Path, write: Write) -> None:
    python = bare_environment(version, tmp_path / "bare")
    worker = Worker(python=python, env={"GRAPHGLUE_WORKER_MODE": mode})
    hello = worker.read()
    if hello["op"] == "ready":
        assert "no shared libpython" in hello["torch_error"]
        worker.close()
        pytest.skip(f"Python {version} has no shared libpython")
    worker.ready = worker.read()
    assert (hello["mode"], hello["prefix"]) == (mode, str(tmp_path / "bare"))
    assert hello["version"].startswith(f"{version}.")
    assert hello["interpreter"] == python
    assert worker.ready["torch"] is None
    assert f"torch is not installed in {python}. Install it:  {python} -m ensurepip" in worker.ready["torch_error"]
    done = worker.capture(write("import torch\n")).done
    assert (done["status"], done["message"]) == ("error", worker.ready["torch_error"])
    assert worker.close() == 0


@pytest.mark.parametrize("version", SUPPORTED)
def test_site_packages_of_the_environment_are_used(version: str, tmp_path: Path) -> None:
    """A torch that only its own environment has is the one that is imported."""
    python = bare_environment(version, tmp_path / "bare")
    package = tmp_path / "bare" / "lib" / f"python{version}" / "site-packages" / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')\n")
    worker = Worker(python=python).start()
    assert worker.ready and worker.ready["torch"] is None
    assert "torch could not be imported (libcudart.so.12" in worker.ready["torch_error"]
    assert "--force-reinstall torch" in worker.ready["torch_error"]
    assert worker.close() == 0


@pytest.mark.parametrize("version", OLD)
def test_old_versions_are_refused(version: str) -> None:
    python = find_python(version)
    worker = Worker(python=python)
    ready = worker.read()
    assert (ready["op"], ready["torch"]) == ("ready", None)
    assert f"{python} is Python {version}." in ready["torch_error"]
    assert "needs CPython 3.10 or later" in ready["torch_error"]
    worker.close()


def test_pip_is_named_where_the_environment_has_it(tmp_path: Path) -> None:
    python = bare_environment("3.11", tmp_path / "bare")
    (tmp_path / "bare" / "lib" / "python3.11" / "site-packages" / "pip").mkdir()
    (tmp_path / "bare" / "lib" / "python3.11" / "site-packages" / "pip" / "__init__.py").touch()
    worker = Worker(python=python).start()
    assert worker.ready and worker.ready["torch_error"].endswith(f"  {python} -m pip install torch")
    assert worker.close() == 0


def test_a_python_owned_by_the_system_gets_an_environment_first() -> None:
    python = "/usr/bin/python3"
    ask = "import os, sys, sysconfig; print(os.path.exists(sysconfig.get_path('stdlib') + '/EXTERNALLY-MANAGED'), sys.version_info >= (3, 10))"
    said = (
        subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if os.path.exists(python)
        else None
    )
    if said is None or said.stdout.split() != ["True", "True"]:
        pytest.skip("no system Python that is externally managed")
    worker = Worker(python=python, env={"PYTHONNOUSERSITE": "1"}).start()
    assert worker.ready is not None
    if worker.ready["torch"]:
        worker.close()
        pytest.skip("the system Python has torch")
    assert f"{python} -m venv .venv && .venv/bin/python -m pip install torch" in worker.ready["torch_error"]
    worker.close()
