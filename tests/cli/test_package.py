"""`fix --package`: breaks inside an installed package are mended in an overlay, and the package stays as it is."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import demo_package
import pytest
from conftest import ROOT, cli


@pytest.fixture
def demo(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(demo_package.MODEL)
    (tmp_path / "gate.py").write_text(demo_package.GATE)
    return demo_package.install(tmp_path / "env")


def manifest_of(folder: Path, package: str = "gluedemo") -> dict[str, Any]:
    return json.loads((folder / ".graphglue" / "overlay" / f"{package}-1.2" / "manifest.json").read_text())


def test_json_has_the_overlay_and_writes_nothing(tmp_path: Path, demo: Any, run_json: Any) -> None:
    layers, env = demo
    code, out = run_json("fix", "--package", "gluedemo", "model.py", cwd=tmp_path, env=env)
    result = out["files"][0]
    assert code == 0 and result["patched"] == demo_package.MODEL
    (entry,) = result["entries"]
    assert entry["glued"] and entry["before"]["graphs"] > 1 and entry["after"]["graphs"] == 1
    (site,) = entry["before"]["sites"]
    assert site["file"] == str(layers) and site["enclosing"] == "clip"
    (repair,) = [r for r in result["repairs"] if r["verdict"]["accepted"]]
    assert repair["file"] == str(layers) and repair["verdict"]["outputs"] == "identical"
    (overlay,) = result["overlay"]
    assert (overlay["package"], overlay["version"], overlay["file"]) == ("gluedemo", "1.2", str(layers))
    assert "torch.where" in overlay["text"] and "torch.where" in overlay["diff"]
    assert not (tmp_path / ".graphglue").exists() and layers.read_text() == demo_package.LAYERS


def test_without_the_package_nothing_is_mended(tmp_path: Path, demo: Any, run_json: Any) -> None:
    _, env = demo
    code, out = run_json("fix", "model.py", cwd=tmp_path, env=env)
    assert code == 1 and out["files"][0]["repairs"] == [] and out["files"][0]["overlay"] == []


def test_the_overlay_is_written(tmp_path: Path, demo: Any) -> None:
    layers, env = demo
    done = cli("fix", "--package", "gluedemo", "model.py", cwd=tmp_path, env=env)
    assert done.returncode == 0 and "run -- python script.py" in done.stdout, done.stdout + done.stderr
    assert "--apply" not in done.stdout  # nothing of the user's own was mended
    folder = tmp_path / ".graphglue" / "overlay" / "gluedemo-1.2"
    assert layers.read_text() == demo_package.LAYERS
    manifest = manifest_of(tmp_path)
    assert (manifest["package"], manifest["version"], manifest["distribution"]) == ("gluedemo", "1.2", "gluedemo")
    (row,) = manifest["files"]
    assert (row["file"], row["module"]) == ("layers.py", "gluedemo.layers")
    assert row["sha256"] == hashlib.sha256(layers.read_bytes()).hexdigest()
    patched = (folder / "layers.py").read_bytes()
    assert row["patched_sha256"] == hashlib.sha256(patched).hexdigest()
    assert [r["verdict"]["outputs"] for r in row["repairs"]] == ["identical"]
    site = layers.parents[1]
    subprocess.run(["patch", "-p1", "-i", str(folder / "layers.py.diff")], cwd=site, check=True, capture_output=True)
    assert layers.read_bytes() == patched
    assert (tmp_path / ".graphglue" / ".gitignore").read_text() == "*\n"


def test_two_files_patch_one(tmp_path: Path, demo: Any) -> None:
    _, env = demo
    for files in (["model.py"], ["gate.py"]):
        done = cli("fix", "--package", "gluedemo", *files, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout
    (row,) = manifest_of(tmp_path)["files"]
    assert [Path(p).name for p in row["for"]] == ["model.py", "gate.py"] and len(row["repairs"]) == 2
    text = (tmp_path / ".graphglue" / "overlay" / "gluedemo-1.2" / "layers.py").read_text()
    assert text.count("torch.where") == 2


def test_what_is_no_longer_mended_is_dropped(tmp_path: Path, demo: Any) -> None:
    _, env = demo
    copy = tmp_path / ".graphglue" / "overlay" / "gluedemo-1.2" / "layers.py"
    assert cli("fix", "--package", "gluedemo", "model.py", cwd=tmp_path, env=env).returncode == 0
    assert copy.exists()
    (tmp_path / "model.py").write_text(demo_package.MODEL.replace("Block()", "torch.nn.Linear(4, 4)"))
    assert cli("fix", "--package", "gluedemo", "model.py", cwd=tmp_path, env=env).returncode == 0
    assert not copy.exists() and manifest_of(tmp_path)["files"] == []


def test_own_file_and_package_at_once(tmp_path: Path, demo: Any, run_json: Any) -> None:
    layers, env = demo
    own = """import torch
from torch import nn
from gluedemo.layers import clip


class Net(nn.Module):
    def forward(self, x):
        if x.max() > 0:
            y = x + 1.0
        else:
            y = x - 1.0
        return clip(y)


def graphglue_inputs():
    yield "net", Net().eval(), (-torch.rand(3, 4),), {}
"""
    file = tmp_path / "own.py"
    file.write_text(own)
    code, out = run_json("fix", "--apply", "--package", "gluedemo", "own.py", cwd=tmp_path, env=env)
    result = out["files"][0]
    accepted = [r["file"] for r in result["repairs"] if r["verdict"]["accepted"]]
    assert accepted == [str(layers), str(file)], result["repairs"]  # what is called comes first
    assert code == 0 and result["entries"][0]["after"]["graphs"] == 1
    assert file.read_text() == result["patched"] != own
    assert manifest_of(tmp_path)["files"][0]["repairs"]


def test_a_package_of_one_file(tmp_path: Path, demo: Any) -> None:
    _, env = demo
    (tmp_path / "picks.py").write_text(
        "import torch\nimport onefile\n\n\ndef graphglue_inputs():\n"
        '    yield "pick", onefile.pick, (torch.randn(3),), {}\n'
    )
    done = cli("fix", "--package", "onefile", "picks.py", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = manifest_of(tmp_path, "onefile")["files"]
    assert (row["file"], row["module"]) == ("onefile.py", "onefile")
    assert "torch.where" in (tmp_path / ".graphglue" / "overlay" / "onefile-1.2" / "onefile.py").read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nosuchpackage", "is installed"),
        ("torch", "part of torch"),
        ("json", "standard library"),
        ("numpy", "imported by torch itself"),
    ],
)
def test_what_cannot_be_mended(tmp_path: Path, demo: Any, name: str, words: str) -> None:
    _, env = demo
    done = cli("fix", "--package", name, "model.py", cwd=tmp_path, env=env)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_bart(tmp_path: Path, run_json: Any) -> None:
    """The model that bench/models.py makes, in half precision (whose clamp of infinities breaks too), with transformers as it is installed."""
    pytest.importorskip("transformers", reason="the package transformers is not installed: pip install transformers")
    (tmp_path / "bart.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'bench')!r})\nimport models\n\n\ndef graphglue_inputs():\n"
        "    model, inputs = models.bart()\n    yield 'bart', model.half().eval(), (), inputs\n"
    )
    code, out = run_json("fix", "--package", "transformers", "--max-safety", "effects", "bart.py", cwd=tmp_path)
    (entry,) = out["files"][0]["entries"]
    assert code == 0 and entry["before"]["graphs"] > 1 and entry["after"]["graphs"] == 1
    assert all(r["verdict"]["outputs"] == "identical" for r in out["files"][0]["repairs"] if r["verdict"]["accepted"])
    assert {r["rule"] for r in out["files"][0]["repairs"]} >= {"GG001", "GG010"}
    assert out["files"][0]["overlay"]
