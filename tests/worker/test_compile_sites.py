"""Whatever a file compiles at its top is an entry: with deduced inputs, or with words on how to give some."""

from __future__ import annotations

from client import Worker
from conftest import Write

PROGRAM = """
import functools
import torch
from torch import nn


def timed(f):
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


@torch.compile
def plain(x):
    return x + 1


@torch.compile(fullgraph=True)
def strange(thing):
    return thing.frobnicate()


@torch.no_grad()
@torch.compile()
def under_no_grad(x):
    return x * 2


@timed
@torch.compile
def decorated(x):
    return x + 1


def base(x, n):
    return x * n


nameless = torch.compile(lambda x: x + 1)
partial = torch.compile(functools.partial(base, n=3))
model = torch.compile(nn.Sequential(nn.Linear(6, 3), nn.ReLU()))
relu = torch.compile(nn.functional.relu)


class Trainer:
    @torch.compile
    def step(self, batch):
        return batch.sum()

    @staticmethod
    @torch.compile
    def scale(x):
        return x / 2


class Net(nn.Module):
    def forward(self, x):
        return x - 1


net = torch.compile(Net())


def main():
    return torch.compile(base)


main()
"""
CAPTURED = ["plain", "under_no_grad", "nameless", "partial", "model", "relu", "Trainer.scale", "Net"]
LISTED = ["strange", "decorated", "Trainer.step"]


def test_what_is_compiled_at_the_top_is_listed(worker: Worker, write: Write) -> None:
    job = worker.capture(write(PROGRAM))
    assert sorted(job.entries) == sorted([*CAPTURED, *LISTED, "base"])
    for name in CAPTURED:
        entry = job.entries[name]
        assert (entry["status"], entry["inputs"]) == ("captured", "deduced"), entry
    for name in LISTED:
        entry = job.entries[name]
        assert (entry["status"], entry["inputs"]) == ("no_inputs", "none"), entry
        assert "graphglue_inputs()" in entry["message"] and "graphglue-lsp record" in entry["message"]
    lines = [(e["line"], e["file"]) for e in job.entries.values()]
    assert lines == sorted(lines) and None not in {line for line, _ in lines}


def test_what_a_file_imports_is_not_its_own(worker: Worker, write: Write) -> None:
    write(
        "import torch\n\n\n@torch.compile\ndef theirs(x):\n    return x\n\n\nmade = torch.compile(torch.relu)\n",
        "sites_lib.py",
    )
    job = worker.capture(
        write(
            "import torch\nfrom sites_lib import made, theirs\n\n\n@torch.compile\ndef ours(x):\n    return theirs(x) + 1\n"
        )
    )
    assert list(job.entries) == ["ours"]


def test_an_edit_of_one_is_proved(worker: Worker, write: Write) -> None:
    source = (
        "import torch\n\n\ndef outer(f):\n    return lambda x: f(x)\n\n\nbranch = torch.compile(lambda x: first(x))\n\n\ndef first(x):\n"
        "{body}    return y\n"
    )
    file = write(source.format(body="    if x.sum() > 0:\n        y = x + 1\n    else:\n        y = x - 1\n"))
    edited = source.format(body="    y = torch.where(x.sum() > 0, x + 1, x - 1)\n")
    job = worker.submit("verify", file, original=[], edited=[{"file": file, "text": edited}])
    verdict = next(f["verdict"] for f in worker.frames(job) if f["op"] == "verdict")
    assert verdict["accepted"] and verdict["glued"], verdict["reasons"]
