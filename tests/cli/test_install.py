"""What `cmake --install` and pip put where, run from there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BIN, HEAD


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with torch, and the programs installed into it, as pip does."""
    own, theirs = tmp_path_factory.mktemp("installed") / "env", Path(sys.prefix)
    (own / "bin").mkdir(parents=True)
    (own / "lib").mkdir()
    (own / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (own / "pyvenv.cfg").write_bytes((theirs / "pyvenv.cfg").read_bytes())
    version = f"python3.{sys.version_info.minor}"
    (own / "lib" / version).symlink_to(theirs / "lib" / version)
    (own.parent / "project").mkdir()
    subprocess.run(["cmake", "--install", BIN.parent, "--prefix", own], check=True, capture_output=True)
    return own


def installed(environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program from a shell where no environment is active."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("GRAPHGLUE", "VIRTUAL_ENV", "CONDA", "PYENV"))}
    outside |= {"PATH": "/usr/bin:/bin", "HOME": str(environment.parent)}
    program, project = environment / "bin" / "graphglue-lsp", environment.parent / "project"
    return subprocess.run([program, *arguments], env=outside, cwd=project, capture_output=True, text=True)


def test_the_environment_it_is_installed_in_is_chosen_for_its_torch(environment: Path) -> None:
    file = environment.parent / "project" / "breaks.py"
    file.write_text(
        HEAD + "def f(x):\n    return x * 2 if x.sum() > 0 else x\n\n\n"
        'def graphglue_inputs():\n    yield "f", f, (torch.ones(3),), {}\n'
    )
    done = installed(environment, "check", "--json", str(file))
    assert done.returncode == 1, done.stderr
    (entry,) = json.loads(done.stdout)["files"][0]["entries"]
    assert [s["id"] for s in entry["sites"]] == ["GB0170"]


def test_where_it_was_chosen_from_is_told(environment: Path) -> None:
    done = installed(environment, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{environment}/bin/python" in done.stdout
    assert "the environment that graphglue-lsp is installed in" in done.stdout


def test_nothing_of_the_build_is_needed(environment: Path) -> None:
    names = {p.name for p in (environment / "lib" / "graphglue").iterdir()}
    assert names == {"_graphglue_host.abi3.so", "graphglue_worker", "graphglue_record", "graphglue_overlay"}
    assert not [p for p in (environment / "lib" / "graphglue").rglob("*") if p.is_symlink()]
    assert (environment / "share" / "doc" / "graphglue-lsp" / "THIRD_PARTY_NOTICES.md").is_file()


def test_the_programs_it_starts_are_found(environment: Path) -> None:
    """`record` puts a folder of ours on PYTHONPATH."""
    script = environment.parent / "project" / "script.py"
    script.write_text("import torch\nprint(torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape)\n")
    done = installed(environment, "record", "--", str(environment / "bin" / "python"), str(script))
    assert done.returncode == 0 and done.stdout == "torch.Size([1, 3])\n", done.stderr
