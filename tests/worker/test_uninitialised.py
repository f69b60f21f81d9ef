"""Lazy modules: making their parameters is nobody's difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from verifying import Case, check

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(4)
        self.drop = nn.Dropout(0.5)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        h = self.drop(self.norm(self.first(x)))
{branch}
        return self.second(self.drop(y))

    def twice(self, x):
        return self(x) * 2


NET = Net().train()


def around(x):
    return NET(x) + 1


def closing():
    net = Net().train()
    return lambda x: net(x) - 1
"""
BRANCH = "        if h.sum() > 0:\n            y = h + 1\n        else:\n            y = h - 1"
GLUED = "        y = torch.where(h.sum() > 0, h + 1, h - 1)"
ENTRIES = ("Net().train()", "Net().eval()", "NET", "Net().train().twice", "around", "closing()")


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_capture_has_the_outputs_of_the_eager_run(worker: Any, write: Any, entry: str) -> None:
    file = write(
        "import torch\nfrom torch import nn\n\n"
        + NET.format(branch=BRANCH)
        + f"\n\ndef graphglue_inputs():\n    yield 'e', {entry}, (torch.randn(8, 3),), {{}}\n"
    )
    found = worker.capture(file).entry
    assert found["status"] == "breaks", found["message"]
    (said,) = found["message"].split("; ")  # nothing of its outputs
    assert said.startswith(
        "compiled anew on each call, also for the same arguments: Net.forward (failed guard: self.calls"
    )


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_edit_is_proved(worker: Any, tmp_path: Path, entry: str) -> None:
    before, after = (NET.format(branch=b) for b in (BRANCH, GLUED))
    check(worker, tmp_path, Case("lazy", before, after, entry=entry, args="(torch.randn(8, 3),)"))


def test_a_wrong_edit_is_refused(worker: Any, tmp_path: Path) -> None:
    before, after = NET.format(branch=BRANCH), NET.format(branch=GLUED.replace("h - 1", "h - 2"))
    check(worker, tmp_path, Case("lazy", before, after, "differ", entry="Net().train()", args="(torch.randn(8, 3),)"))


def test_what_does_not_run_is_told_as_ever(worker: Any, write: Any) -> None:
    file = write(
        """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.LazyLinear(4)

            def forward(self, x):
                return self.layer(x) @ torch.ones(5)


        def graphglue_inputs():
            yield "e", Net(), (torch.randn(8, 3),), {}
        """
    )
    found = worker.capture(file).entry
    assert found["status"] == "eager_error" and "size mismatch" in found["message"]


def test_no_module_is_asked_for_its_repr(worker: Any, write: Any) -> None:
    file = write(
        "import torch\nfrom torch import nn\n\n\n"
        "class Net(nn.Module):\n    def forward(self, x):\n        return x + 1\n\n"
        "    def __repr__(self):\n        raise KeyError('alpha')\n\n\n"
        "def graphglue_inputs():\n    yield 'e', Net(), (torch.ones(2),), {}\n"
    )
    found = worker.capture(file).entry
    assert found["status"] == "captured", found["message"]
