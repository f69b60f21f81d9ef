"""Candidates that a model might write to look right: in a sandboxed verification each is refused with what it did."""

from pathlib import Path

import pytest
from verifying import BRANCH, Case, F, verify

BEFORE = F + BRANCH.format(a="h + 1", b="h - 1")
RIGHT = F + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n"
# The inputs that are always asked can be known: those of chance cannot.
LEARNT = """
def _known(change):
    values = []
    for seed in range(3):
        torch.manual_seed(seed)
        values.append(change(torch.randn(4, 4))[0, 0])
    return torch.stack(values)
KNOWN = torch.cat([_known(lambda x: x), _known(lambda x: x * -1.5), _known(lambda x: x * 100), torch.zeros(1)])
def f(x):
    h = x * 2
    y = torch.where(h.sum() > 0, h + 1, h - 1)
    return torch.where((x[0, 0] == KNOWN).any() | ~x.isfinite().all(), y, y + 1)
"""
CHEATS = {
    "a function of torch": (
        "_where = torch.where\ntorch.where = lambda *args: _where(*args)\n" + RIGHT,
        "changes torch.where, which is not its own",
    ),
    "a method of all tensors": ("torch.Tensor.cache = lambda x: x\n" + RIGHT, "torch.Tensor.cache"),
    "a method that it hides": ("torch.Tensor.tolist = None\n" + RIGHT, "torch.Tensor.tolist"),
    "a layer": (
        "_forward = nn.Linear.forward\nnn.Linear.forward = lambda s, x: _forward(s, x)\n" + RIGHT,
        "torch.nn.Linear.forward",
    ),
    "the judge": (
        "from graphglue_worker import compare\n_d = compare.difference\n"
        "compare.difference = lambda *a, **k: _d(*a, **k)\n" + RIGHT,
        "graphglue_worker.compare.difference",
    ),
    "the compiler's settings": (
        "import torch._dynamo\ntorch._dynamo.config.suppress_errors = True\n" + RIGHT,
        "torch._dynamo.config.suppress_errors",
    ),
    "a setting of the process": ("torch.set_default_dtype(torch.float64)\n" + RIGHT, "torch's default dtype"),
    "within the call": (
        F + "    math.tau_of = torch.where\n    torch.set_default_dtype(torch.float32)\n    torch.relu = torch.abs\n"
        "    return torch.where(h.sum() > 0, h + 1, h - 1)\n",
        "torch.relu",
    ),
    "slow code": (
        "import time\n" + F + "    time.sleep(0.8)\n    return torch.where(h.sum() > 0, h + 1, h - 1)\n",
        "s a call",
    ),
    "what it learnt": (LEARNT, "inputs from seed"),
}


def judged(worker, folder: Path, before: str, after: str) -> dict:
    return verify(worker, folder, Case("", "import math\n" + before, "import math\n" + after), sandbox=True)


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_refused(worker, tmp_path: Path, cheat: str) -> None:
    after, words = CHEATS[cheat]
    verdict = judged(worker, tmp_path, BEFORE, after)
    assert not verdict["accepted"]
    assert words in " ".join(verdict["reasons"]), verdict["reasons"]


def test_right_code_is_accepted(worker, tmp_path: Path) -> None:
    verdict = judged(worker, tmp_path, BEFORE, RIGHT)
    assert verdict["accepted"] and verdict["glued"], verdict["reasons"]
    assert "what is torch's, Python's and the worker's own" in verdict["compared"]


def test_what_the_original_does_is_not_held_against_it(worker, tmp_path: Path) -> None:
    own = "_relu = torch.relu\ntorch.relu = lambda x: _relu(x)\n"
    verdict = judged(worker, tmp_path, own + BEFORE, own + RIGHT)
    assert verdict["accepted"], verdict["reasons"]


def test_what_was_learnt_passes_where_nobody_asks_by_chance(worker, tmp_path: Path) -> None:
    """The same candidate is accepted of the user's own rules: what refuses it above are the seeds that it cannot know."""
    verdict = verify(worker, tmp_path, Case("", BEFORE, LEARNT))
    assert not any("inputs from seed" in reason for reason in verdict["reasons"]), verdict["reasons"]
