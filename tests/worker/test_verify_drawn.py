"""Floating numbers that Python draws: Dynamo of torch 2.13 tells Inductor a wrong dtype of them, which the counting backend does not feel."""

from pathlib import Path
from typing import Any

import pytest
from verifying import Case, check, verify

UNIFORM, PRINT = "random.uniform(0, 1)", "    print('x')\n"
GUARDED = "    if not torch.compiler.is_compiling():\n        print('x')\n"
IF = "    if h.sum() > 0:\n        h = h + 1\n"
WHERE = "    h = torch.where(h.sum() > 0, h + 1, h)\n"


def edit(
    between: str, instead: str, use: str = "h * p", draw: str = UNIFORM, before: str = "x * 2", **more: Any
) -> dict[str, Any]:
    """A function that draws, does something, and uses what was drawn; `instead`: what stands between afterwards."""
    text = f"import random\n\n\ndef f(x):\n    p = {draw}\n    h = {before}\n{{}}    return {use}\n"
    return {"before": text.format(between), "after": text.format(instead), **more}


MISREAD = "`random` draws would be read in another dtype in `return {}`, so it would be another number (pytorch#198187)"

REFUSED = [
    Case("a branch that becomes a selection", **edit(IF, WHERE), reason=MISREAD.format("h * p"), outputs="different"),
    Case(
        "a message that is guarded",
        **edit(PRINT, GUARDED, safety="effects"),
        reason=MISREAD.format("h * p"),
    ),
    Case(
        "within the tolerance nothing is waived",
        **edit(IF, WHERE, use="h.clamp(max=p)", safety="numeric"),
        reason=MISREAD.format("h.clamp(max=p)"),
    ),
    Case(
        "by a generator",
        **edit(IF, WHERE, draw="random.Random(1).uniform(0, 1)"),
        reason=MISREAD.format("h * p"),
    ),
    Case(
        "a use behind the break, where one in front of it is misread anyway",
        **edit(IF, WHERE, use="h + p", before="x * p"),
        reason=MISREAD.format("h + p"),
    ),
    Case(
        "only on other sizes",
        **edit(IF, WHERE, use="h * p if x.shape[0] != 4 else h"),
        reason=MISREAD.format("h * p if x.shape[0] != 4 else h"),
    ),
]

ACCEPTED = [
    Case("it is misread before, too", **edit(IF, WHERE, use="h", before="x * p")),
    Case("it meets no tensor", **edit(IF, WHERE, use="h, p")),
    Case("an integer", **edit(IF, WHERE, draw="random.randint(1, 5)")),
    Case("a number of torch's", **edit(IF, WHERE, draw="torch.rand(())")),
    Case("the break is still between", **edit(IF + PRINT, WHERE + PRINT), glued=False),
]


@pytest.mark.parametrize("case", REFUSED, ids=[c.name for c in REFUSED])
def test_refused(case: Case, worker, tmp_path: Path) -> None:
    assert case.reason
    check(worker, tmp_path, case)


@pytest.mark.parametrize("case", ACCEPTED, ids=[c.name for c in ACCEPTED])
def test_accepted(case: Case, worker, tmp_path: Path) -> None:
    check(worker, tmp_path, case)


def test_in_the_sandbox(worker, tmp_path: Path) -> None:
    verdict = verify(worker, tmp_path, REFUSED[0], sandbox=True)
    assert not verdict["accepted"] and REFUSED[0].reason in " ".join(verdict["reasons"])
