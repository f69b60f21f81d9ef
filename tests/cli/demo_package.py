"""A small package with graph breaks, installed into a folder for speed: what `fix --package` and `run` are tried on."""

from pathlib import Path

LAYERS = """import json
import os

import torch
from torch import nn

with open(os.path.join(os.path.dirname(__file__), "table.json")) as f:
    TABLE = json.load(f)


def clip(x):
    if x.sum() > 0:
        y = x * 2.0
    else:
        y = x - 1.0
    return y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = clip(self.linear(x))
        return x.relu() * TABLE["scale"]


class Gate(nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            y = x + 1.0
        else:
            y = x * 2.0
        return y

    def fails(self):
        raise KeyError("gate")
"""
MODEL = """import torch
from gluedemo import Block


def graphglue_inputs():
    yield "block", Block().eval(), (torch.randn(3, 4),), {}
"""
GATE = MODEL.replace("Block", "Gate").replace('"block"', '"gate"')
ONE = """import torch


def pick(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y
"""


def install(folder: Path, version: str = "1.2") -> tuple[Path, dict[str, str]]:
    """Install gluedemo, and onefile.py, into folder/site-packages.  Returns its layers.py and the environment that finds it."""
    site = folder / "site-packages"
    package = site / "gluedemo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .layers import Block, Gate\n")
    (package / "layers.py").write_text(LAYERS)
    (package / "table.json").write_text('{"scale": 2.0}')
    (site / "onefile.py").write_text(ONE)
    describe(site, version)
    return package / "layers.py", {"PYTHONPATH": str(site)}


def describe(site: Path, version: str) -> None:
    """Say which version is installed."""
    for name in ("gluedemo", "onefile"):
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
