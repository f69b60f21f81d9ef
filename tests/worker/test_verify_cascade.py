"""A break hides those behind it: mending it is no fault where they come to light, and a fault where the edit brings one of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from verifying import Case, check

BRANCH = "if x.sum() > 0:\n{i}    x = {a}\n{i}else:\n{i}    x = {b}"
WHERE = "x = torch.where(x.sum() > 0, {a}, {b})"


def both(program: str, a: str = "x + 1", b: str = "x - 1", after: str = "") -> tuple[str, str]:
    """The program with a branch at its mark, and with that mended (or `after` there)."""
    line = next(line for line in program.splitlines() if "<" in line and line.strip() == "<>")
    indent = line[: line.index("<")]
    return program.replace("<>", BRANCH.format(a=a, b=b, i=indent)), program.replace(
        "<>", after or WHERE.format(a=a, b=b)
    )


IN_A_CALLEE = "def g(x):\n    <>\n    print('a')\n    return x * 2\n\n\ndef f(x):\n    return g(g(x)) + 1\n"
IN_A_GENERATOR = (
    "def parts(x):\n    for i in range(2):\n        print(i)\n        yield x * i\n\n\n"
    "def f(x):\n    for i in range(2):\n        <>\n    for p in parts(x):\n        x = x + p\n    return x\n"
)
IN_A_FUNCTION_CALLED_THERE = (
    "def late(x):\n    print('late')\n    return x + 1\n\n\n"
    "def f(x):\n    for i in range(2):\n        <>\n        x = late(x)\n    return x\n"
)
AFTER_AN_EARLIER_BREAK = (
    "def f(x):\n    print('first')\n    for i in range(2):\n        if i == 1:\n            print('second')\n"
    "        <>\n    return x\n"
)
BEHIND_IN_THE_CALLER = "def g(x):\n    for i in range(2):\n        <>\n    print('late')\n    return x\n\n\ndef f(x):\n    return g(x * 2) + 1\n"
RIGHT = {
    "behind it in a callee": both(IN_A_CALLEE),
    "in a generator of the function that it hid": both(IN_A_GENERATOR),
    "in a function called from the loop that it hid": both(IN_A_FUNCTION_CALLED_THERE),
    "before it in the loop, behind an earlier break": both(AFTER_AN_EARLIER_BREAK),
    "behind it, seen from two functions": both(BEHIND_IN_THE_CALLER),
}

LOOP = (
    "import os\n\n\ndef h(x):\n    os.getpid()\n    return x - 1\n\n\n"
    "def f(x):\n    for i in range(2):\n        <>\n        x = x * 1\n    return x\n"
)
STRAIGHT = LOOP.replace("    for i in range(2):\n        <>\n        x = x * 1\n", "    <>\n")
WRONG = {
    "the same, otherwise": (both(LOOP, after="x = x + 1 if x.sum().item() > 0 else x - 1"), "new graph break"),
    "one in a call that the edit adds": (both(LOOP, after="x = h(" + WHERE[4:].format(a="x + 2", b="x") + ")"), "GB"),
    "one in an arm that was not reached": (both(STRAIGHT, b="h(x)"), "a new graph break appears: GB0007 in h"),
    "that in a loop": (both(LOOP, b="h(x)"), "a new graph break appears: GB0007 in h"),
    "one on a line that the edit writes": (
        both(LOOP, after=f"os.getpid(); {WHERE.format(a='x + 1', b='x - 1')}"),
        "a new graph break appears: GB0007 in f",
    ),
}


@pytest.mark.parametrize(("before", "after"), RIGHT.values(), ids=RIGHT.keys())
def test_what_comes_to_light_is_no_fault(worker: Any, tmp_path: Path, before: str, after: str) -> None:
    check(worker, tmp_path, Case("cascade", before, after, glued=False))


@pytest.mark.parametrize(("edit", "reason"), WRONG.values(), ids=WRONG.keys())
def test_what_the_edit_brings_is(worker: Any, tmp_path: Path, edit: tuple[str, str], reason: str) -> None:
    check(worker, tmp_path, Case("cascade", *edit, reason, args="(torch.full((4,), 5.0),)"))


SETTING = "torch._dynamo.config.capture_scalar_outputs = True\n\n\n"
TWO_NUMBERS = (
    "def f(x):\n    x = x * x.abs().sum().item()\n    if x.sum().item() > 0:\n        x = x + 1\n    return x\n"
)
TWO_LINES = TWO_NUMBERS.replace("    if x.sum().item() > 0", "    n = x.sum().item()\n    if n > 0")


def test_a_break_that_is_another_on_its_line_is_not_new(worker: Any, tmp_path: Path) -> None:
    check(worker, tmp_path, Case("line", TWO_NUMBERS, SETTING + TWO_NUMBERS, safety="config", glued=False))


def test_a_break_that_is_another_on_another_line_is_new(worker: Any, tmp_path: Path) -> None:
    check(worker, tmp_path, Case("lines", TWO_LINES, SETTING + TWO_LINES, "a new graph break appears", safety="config"))


ASKED = (
    "def is_large(x):\n    return {asked}\n\n\n"
    "def f(x):\n    x = x * 2\n    if is_large(x):\n        x = x / 2\n    x = x + {behind}\n    return x\n"
)
FLAG, TENSOR = "bool(x.abs().sum() > 4)", "x.abs().sum() > 4"


def test_what_the_caller_asks_in_place_of_the_callee_is_not_new(worker: Any, tmp_path: Path) -> None:
    before, after = (ASKED.format(asked=asked, behind="1") for asked in (FLAG, TENSOR))
    check(worker, tmp_path, Case("caller", before, after, glued=False))


def test_what_is_asked_further_down_is_not_new(worker: Any, tmp_path: Path) -> None:
    program = ASKED.replace("if is_large(x):", "large = is_large(x)\n    x = x + 1\n    if large:")
    before, after = (program.format(asked=asked, behind="1") for asked in (FLAG, TENSOR))
    check(worker, tmp_path, Case("further", before, after, glued=False))


def test_one_more_in_the_caller_is_new(worker: Any, tmp_path: Path) -> None:
    before, after = ASKED.format(asked=FLAG, behind="1"), ASKED.format(asked=TENSOR, behind="float(x.sum())")
    check(worker, tmp_path, Case("callers", before, after, "a new graph break appears: GB0124 in f"))


ALIKE = "import numpy as np\n\n\ndef g(x):\n    return x * torch.FloatTensor(np.hanning(4){more})\n\n\n"
BOTH = "(torch.randn(4, 4),), {}\n    yield 'g', g, (torch.randn(4, 4),)"


def test_what_cannot_be_compiled_either_way_is_not_in_the_way(worker: Any, tmp_path: Path) -> None:
    before, after = both("def f(x):\n    <>\n    return x\n")
    alike = ALIKE.format(more="")
    check(worker, tmp_path, Case("alike", alike + before, alike + after, args=BOTH, glued=False))


def test_what_cannot_be_compiled_any_more_is(worker: Any, tmp_path: Path) -> None:
    before, after = both("def f(x):\n    <>\n    return x\n")
    fine = ALIKE.format(more=".astype(np.float32)")
    case = Case("worse", fine + before, ALIKE.format(more="") + after, "the edited code", args=BOTH, glued=False)
    check(worker, tmp_path, case)
