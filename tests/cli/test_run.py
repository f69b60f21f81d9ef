"""`run`, and `import graphglue_overlay`: patched packages are imported where they fit, and only there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import demo_package
import pytest
from conftest import cli

COUNT = """
import sys
import torch
from gluedemo import Block

count = 0


def backend(gm, inputs):
    global count
    count += 1
    return gm.forward


torch.manual_seed(0)
x = torch.randn(3, 4)
block = Block()
same = torch.equal(torch.compile(block, backend=backend)(x), block(x))
print("graphs", count, same, sys.argv[1:])
"""
LOOK = """
import inspect
import traceback
import importlib.resources
import gluedemo.layers as layers

print("class", "torch.where" in inspect.getsource(layers))
print("function", "torch.where" in inspect.getsource(layers.clip))
print("method", inspect.getsource(layers.Gate.fails).strip().splitlines()[-1].strip())
print("whole class", "def fails" in inspect.getsource(layers.Gate))
print("file", layers.__file__)
print("data", importlib.resources.files("gluedemo").joinpath("table.json").read_text())
try:
    layers.Gate().fails()
except KeyError as e:
    print("trace", traceback.extract_tb(e.__traceback__)[-1].filename)
    print("line", traceback.extract_tb(e.__traceback__)[-1].line)
"""


@dataclass
class Demo:
    """A project with an overlay, and the package that it is of."""

    folder: Path
    layers: Path
    env: dict[str, str]

    @property
    def copy(self) -> Path:
        return self.folder / ".graphglue" / "overlay" / "gluedemo-1.2" / "layers.py"

    def run(self, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return cli("run", *options, "--", sys.executable, *arguments, cwd=self.folder, env=self.env)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    _, env = demo_package.install(folder / "env")
    (folder / "pyproject.toml").write_text("")
    (folder / "model.py").write_text(demo_package.MODEL)
    (folder / "count.py").write_text(COUNT)
    (folder / "look.py").write_text(LOOK)
    done = cli("fix", "--package", "gluedemo", "model.py", cwd=folder, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def demo(made: Path, tmp_path: Path) -> Demo:
    folder = tmp_path / "project"
    shutil.copytree(made, folder)
    layers = folder / "env" / "site-packages" / "gluedemo" / "layers.py"
    return Demo(folder, layers, {"PYTHONPATH": str(layers.parents[1])})


def test_one_graph(demo: Demo) -> None:
    plain = subprocess.run(
        [sys.executable, "count.py"],
        cwd=demo.folder,
        env={**demo.env, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "graphs 4 True []" in plain.stdout  # so the patch is what makes it one
    done = demo.run("count.py", "a", "--b")
    assert done.returncode == 0 and "graphs 1 True ['a', '--b']" in done.stdout, done.stdout + done.stderr
    assert done.stderr == ""


def test_as_a_module_and_in_what_it_starts(demo: Demo) -> None:
    (demo.folder / "starts.py").write_text(
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-m', 'count', 'x']) + 7)\n"
    )
    done = demo.run("-m", "starts")
    assert done.returncode == 7 and "graphs 1 True ['x']" in done.stdout, done.stderr


def test_sources_and_traces_are_those_of_the_copy(demo: Demo) -> None:
    done = demo.run("look.py")
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if not line.startswith("whole"))
    assert done.returncode == 0 and "whole class True" in done.stdout, done.stdout + done.stderr
    assert told["class"] == told["function"] == "True" and told["method"] == 'raise KeyError("gate")'
    assert told["trace"] == str(demo.copy) and told["line"] == 'raise KeyError("gate")'
    assert told["file"] == str(demo.layers) and told["data"] == '{"scale": 2.0}'


def change_original(demo: Demo) -> None:
    demo.layers.write_text(demo_package.LAYERS + "\n# changed\n")


def change_version(demo: Demo) -> None:
    demo_package.describe(demo.layers.parents[1], "1.3")


def change_copy(demo: Demo) -> None:
    demo.copy.write_text(demo.copy.read_text() + "\n# changed\n")


def change_manifest(demo: Demo) -> None:
    (demo.copy.parent / "manifest.json").write_text("[]")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_original, "is not the file that was patched"),
        (change_version, "gluedemo 1.3 is installed, and its patches were proved with 1.2"),
        (change_copy, "is not what was proved"),
        (change_manifest, "cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(demo: Demo, change: Callable[[Demo], None], words: str) -> None:
    change(demo)
    done = demo.run("count.py")
    assert done.returncode == 0 and "graphs 4 True" in done.stdout and done.stderr.count(words) == 1, done.stderr
    done = demo.run("count.py", options=("--strict",))
    assert done.returncode == 2 and "graphs" not in done.stdout and words in done.stderr


def test_strict_runs_what_fits(demo: Demo) -> None:
    done = demo.run("count.py", options=("--strict",))
    assert done.returncode == 0 and "graphs 1" in done.stdout and done.stderr == ""


def plain(demo: Demo, program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Without graphglue-lsp: only what the overlay's folder holds."""
    overlay = demo.folder / ".graphglue" / "overlay"
    path = f"{overlay}:{demo.env['PYTHONPATH']}"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=demo.folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_import(demo: Demo) -> None:
    done = plain(demo, "import graphglue_overlay\n" + COUNT + "print(graphglue_overlay.in_force)")
    assert "graphs 1 True" in done.stdout and str({"gluedemo.layers": str(demo.copy)}) in done.stdout, done.stderr


def test_too_late(demo: Demo) -> None:
    done = plain(demo, "import gluedemo\nimport graphglue_overlay\nprint('on')")
    assert "on" in done.stdout and "gluedemo.layers was imported before graphglue_overlay" in done.stderr
    done = plain(demo, "import gluedemo\nimport graphglue_overlay\nprint('on')", GRAPHGLUE_OVERLAY_STRICT="1")
    assert done.returncode == 2 and "on" not in done.stdout


def test_the_overlay_of_the_installed_version_is_used(demo: Demo) -> None:
    other = demo.copy.parent.with_name("gluedemo-1.3")
    shutil.copytree(demo.copy.parent, other)
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "version": "1.3"}))
    assert "graphs 1 True" in demo.run("count.py").stdout


def test_another_sitecustomize_still_runs(demo: Demo) -> None:
    (demo.layers.parents[1] / "sitecustomize.py").write_text("print('theirs')\n")
    done = demo.run("count.py")
    assert "theirs" in done.stdout and "graphs 1" in done.stdout


def test_usage(tmp_path: Path, demo: Demo) -> None:
    done = cli("run", "--", sys.executable, "-c", "pass", cwd=tmp_path)
    assert done.returncode == 2 and "fix --package" in done.stderr
    assert cli("run", cwd=tmp_path).returncode == 2
    overlay = str(demo.folder / ".graphglue" / "overlay")
    done: Any = cli("run", "--overlay", overlay, "--", sys.executable, "count.py", cwd=demo.folder, env=demo.env)
    assert "graphs 1" in done.stdout
    done = cli("run", "--overlay", overlay, "--", str(tmp_path / "nothing"), cwd=demo.folder)
    assert done.returncode == 127
