"""Verification in two parts: that an edit holds so far is told before gradients and other sizes are compared; what fails by then is refused then."""

from pathlib import Path
from typing import Any

import pytest
from verifying import BRANCH, HEAD, Case, F

MANY = 5  # entries; more than pause at once
RIGHT = F + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n"
WRONG = F + "    return torch.where(h.sum() > 0, h + 1, h - 2)\n"
BROKEN = F + BRANCH.format(a="h + 1", b="h - 1")
ROOTS = "    return torch.where(x.min() > 0, {}, x * 1)\n"
CRASHING = """class Ends(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        return h.clone()

    @staticmethod
    def backward(ctx, g):
        import os
        os._exit(3)


def f(x):
    if torch.is_grad_enabled():
        return Ends.apply(torch.where((x * 2).sum() > 0, x * 2 + 1, x * 2 - 1))
    return torch.where((x * 2).sum() > 0, x * 2 + 1, x * 2 - 1)
"""


def frames(worker: Any, folder: Path, case: Case, entries: int = 1) -> list[dict[str, Any]]:
    file = str(folder / "program.py")
    tail = "\n\ndef graphglue_inputs():\n" + "".join(
        f"    yield 'e{i}', {case.entry}, {case.args}, {{}}\n" for i in range(entries)
    )
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": HEAD + case.before + tail}],
        edited=[{"file": file, "text": HEAD + case.after + tail}],
        safety=case.safety,
        deadline_ms=120_000,
    )
    return list(worker.frames(job, 240))


def told(found: list[dict[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """The kinds of frames that matter, in order, and the verdict."""
    return [f["op"] for f in found if f["op"] in ("widening", "verdict")], next(
        f["verdict"] for f in found if f["op"] == "verdict"
    )


def test_a_right_edit_is_told_to_hold_before_the_rest_is_compared(worker: Any, tmp_path: Path) -> None:
    found = frames(worker, tmp_path, Case("", BROKEN, RIGHT))
    ops, verdict = told(found)
    assert ops == ["widening", "verdict"] and verdict["accepted"]
    words = next(f["message"] for f in found if f["op"] == "widening")
    assert words == "holds on 8 input sets; comparing gradients and other sizes"
    assert {"other sizes", "gradients"} <= set(verdict["compared"]) and verdict["compared"][0] == "on 12 input sets"


def test_what_holds_so_far_may_still_be_refused(worker: Any, tmp_path: Path) -> None:
    before = "def f(x):\n" + "    if x.min() > 0:\n        y = x.sqrt()\n    else:\n        y = x * 1\n    return y\n"
    after = "def f(x):\n" + ROOTS.format("x.sqrt()")
    ops, verdict = told(frames(worker, tmp_path, Case("", before, after, args="(torch.randn(4, requires_grad=True),)")))
    assert ops == ["widening", "verdict"] and not verdict["accepted"]
    assert all("gradient" in reason for reason in verdict["reasons"]), verdict["reasons"]


def test_a_wrong_edit_is_refused_without_the_rest(worker: Any, tmp_path: Path) -> None:
    ops, verdict = told(frames(worker, tmp_path, Case("", BROKEN, WRONG)))
    assert ops == ["verdict"] and not verdict["accepted"] and verdict["outputs"] == "different"
    assert verdict["compared"][0] == "on 8 input sets" and "gradients" not in verdict["compared"]


def test_what_says_something_is_judged_when_all_is_known(worker: Any, tmp_path: Path) -> None:
    said = '    print("seen")\n'
    head, rest = F.split("\n", 1)
    ops, verdict = told(
        frames(worker, tmp_path, Case("", BROKEN.replace(rest, said + rest), WRONG.replace(rest, said + rest)))
    )
    assert head and ops == ["verdict"] and not verdict["accepted"]
    assert "gradients" in verdict["compared"], "further runs might have shown what the original does not repeat"


def test_many_entries_are_measured_one_after_the_other(worker: Any, tmp_path: Path) -> None:
    ops, verdict = told(frames(worker, tmp_path, Case("", BROKEN, RIGHT), MANY))
    assert ops == ["verdict"] and verdict["accepted"] and len(verdict["entries"]) == MANY
    assert {"other sizes", "gradients"} <= set(verdict["compared"])


@pytest.mark.parametrize("entries", (2, MANY))
def test_each_entry_is_compared_to_its_end(worker: Any, tmp_path: Path, entries: int) -> None:
    after = RIGHT.replace("return torch", "h = h if x.size(0) == 4 else h + 1\n    return torch")
    _, verdict = told(frames(worker, tmp_path, Case("", BROKEN, after), entries))
    assert not verdict["accepted"]
    for i in range(min(entries, 4)):
        assert any(r.startswith(f"e{i}: on inputs of one more row") for r in verdict["reasons"]), verdict["reasons"]


def test_an_edit_that_does_not_survive_its_gradients_is_refused(worker: Any, tmp_path: Path) -> None:
    ops, verdict = told(frames(worker, tmp_path, Case("", BROKEN, CRASHING)))
    assert ops[-1] == "verdict" and not verdict["accepted"]
    assert any("gradients" in reason and "exit code 3" in reason for reason in verdict["reasons"]), verdict["reasons"]
