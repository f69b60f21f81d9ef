"""An edit is proven for the kinds of tensors that were met first: where a later iteration or call has others, it is refused."""

from pathlib import Path
from typing import Any

import pytest
from verifying import Case, check

LOOP = "def f(ts):\n    out = []\n    for t in ts:\n{body}        out.append(t * 1)\n    return out\n"
BRANCH = LOOP.format(body="        if t.sum() > 1e6:\n            t = t + 1\n")
WHERE = LOOP.format(body="        t = torch.where(t.sum() > 1e6, t + 1, t)\n")
TWICE = "def g(t):\n{body}    return t * 1\n\n\ndef f(x):\n    return g(x), g({second})\n"
CALLED = "    if t.sum() > 1e6:\n        t = t + 1\n"
SELECTED = "    t = torch.where(t.sum() > 1e6, t + 1, t)\n"
SAID = "    if not torch.compiler.is_compiling():\n        print('here')\n"


def twice(name: str, second: str, reason: str = "") -> Case:
    """A function that is called with x, and with something else."""
    before, after = (TWICE.format(body=body, second=second) for body in (CALLED, SELECTED))
    return Case(name, before, after, reason, "(torch.randn(3),)")


CASES = [
    Case("loop", BRANCH, WHERE, args="([torch.randn(3), torch.randn(3)],)"),
    Case("loop-sizes", BRANCH, WHERE, args="([torch.randn(3), torch.randn(5)],)"),
    Case(
        "loop-dtype", BRANCH, WHERE, "`t` in line 8 is float32 with 1 dimension", "([torch.randn(3), torch.arange(3)],)"
    ),
    Case("loop-rank", BRANCH, WHERE, "float32 with 2 dimensions", "([torch.randn(3), torch.randn(2, 3)],)"),
    twice("calls", "x * 2"),
    twice("calls-dtype", "x.long()", "int64 with 1 dimension"),
    twice("calls-rank", "x[0]", "float32 with 0 dimensions"),
    Case(
        "messages",
        TWICE.format(body="    print('here')\n", second="x.long()"),
        TWICE.format(body=SAID, second="x.long()"),
        args="(torch.randn(3),)",
        safety="effects",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict(worker: Any, tmp_path: Path, case: Case) -> None:
    check(worker, tmp_path, case)


def test_attributes(worker: Any, tmp_path: Path) -> None:
    """What an attribute holds is watched, too, and nothing that a class computes is asked for."""
    head = (
        "class M(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.register_buffer('b', n)\n\n"
        "    @property\n    def x(self):\n        raise RuntimeError\n\n    def forward(self, x):\n        h = x * 2\n"
    )
    tail = "        return h\n\n\nA, B = M(torch.zeros(())), M(torch.zeros((), dtype=torch.int64))\n\n\ndef f(x):\n    return A(x), B(x)\n"
    before = f"{head}        if self.b < h.sum():\n            h = h + 1\n{tail}"
    after = f"{head}        h = torch.where(self.b < h.sum(), h + 1, h)\n{tail}"
    check(worker, tmp_path, Case("attribute", before, after, "`self.b` in line", "(torch.randn(3),)"))
