"""Rewrites a careless rule would make of programs the rules refuse: the worker refuses them too, each for what it changes.

The programs are those of tests/fixtures/repair (untouched_*), run.
"""

from pathlib import Path

import pytest
from verifying import Case, check

ARMS = "def f(h, w):\n    if h.sum() > 0:\n        y = {a}\n    else:\n        y = {b}\n    {c}return y\n"
WHERE = "def f(h, w):\n    y = torch.where(h.sum() > 0, {a}, {b})\n    {c}return y\n"
BOTH = "(torch.rand(4) + 0.1, {w})"


def where(name: str, a: str, b: str, reason: str, w: str = "torch.rand(4)", c: str = "", args: str = "") -> Case:
    """A branch, and its arms in torch.where."""
    given = args or BOTH.format(w=w)
    return Case(name, ARMS.format(a=a, b=b, c=c), WHERE.format(a=a, b=b, c=c), reason, given)


def item(name: str, before: str, after: str, reason: str, args: str = "(torch.randn(257) + 3,)", **more: str) -> Case:
    """A function of h, and s where `{s}` is."""
    source = "def f(h, *more):\n    return {0}\n"
    return Case(name, source.format(before), source.format(after), reason, args, **more)


GUARD = "    if not torch.compiler.is_compiling():\n        {0}\n"


def message(name: str, statement: str, rest: str, reason: str, args: str, head: str = "") -> Case:
    """A message, and the same under a guard."""
    before = f"{head}def f(x, *more):\n    {statement}\n{rest}"
    return Case(name, before, f"{head}def f(x, *more):\n{GUARD.format(statement)}{rest}", reason, args, "effects")


CAUGHT = "def f(x):\n    try:\n        {body}\n    except {kind}:\n        x = x.abs() * 3\n    return x + 1\n"
WARN = "warnings.simplefilter('error'), warnings.warn('x')"
NEGATIVE = "(x < 0).any()"
ASYNCHRONOUS = f"if torch.compiler.is_compiling():\n            torch._assert_async(~{NEGATIVE}, 'no')\n"

CASES = [
    where("integers promote", "w.sigmoid()", "w", "dtype", "torch.arange(4)"),
    where(
        "a batch of one",
        "h",
        "w",
        "shape",
        args="(torch.rand(2, 4) if torch.initial_seed() else torch.rand(1, 4), torch.rand(1, 4))",
    ),
    where("an alias that shows", "h", "h * 2", "the inputs after the call", c="y += 1\n    "),
    where("an alias of another name", "w", "w * 2", "the result", c="h.view(-1).mul_(0)\n    w.mul_(2)\n    "),
    where(
        "an option that works in place",
        "h",
        "h * 2",
        "the inputs after the call",
        c="torch.nn.functional.relu(y.neg_(), inplace=True)\n    ",
    ),
    where("random numbers in one arm", "h * torch.rand(4)", "h * 1", "random state"),
    where(
        "poisoned where it is not finite",
        "h * 1",
        "(w - w.std() * 0).exp() * h",
        "gradient",
        "torch.full((4,), 800.0, requires_grad=True)",
    ),
    Case(
        "a list that only one arm changes",
        "def f(x, seen):\n    if x.sum() > 0:\n        seen.append(1)\n        return x + 1\n    return x * 1\n",
        "def f(x, seen):\n    seen.append(1)\n    return torch.where(x.sum() > 0, x + 1, x * 1)\n",
        "the inputs after the call",
        "(torch.ones(4), [])",
    ),
    Case(
        "an exception in one arm",
        "def f(x):\n    if x.sum() > 99:\n        raise ValueError\n    return x * 1\n",
        "def f(x):\n    return torch.where(x.sum() > 99, x + 1, x * 1)\n",
        "on large values, eager: the original raises ValueError",
        "(torch.ones(4),)",
    ),
    Case(
        "a branch taken on no number",
        "def f(x):\n    if not x.max() <= 5:\n        return x * 2\n    return x * 1\n",
        "def f(x):\n    return torch.where(x.max() > 5, x * 2, x * 1)\n",
        "on values that are not finite",
        "(torch.ones(4),)",
    ),
    item("a number over a tensor", "h.max().item() / h", "h.max().detach() / h", "differ"),
    item("counted in single precision", "h * (h.max().item() * 0.1)", "h * (h.max().detach() * 0.1)", "differ"),
    item(
        "division by zero",
        "h * (h.max().item() / more[0])",
        "h * (h.max().detach() / more[0])",
        "raises ZeroDivisionError",
        "(torch.ones(4), 0.0)",
    ),
    item(
        "a number of no dimension",
        "more[0] * h.max().item()",
        "more[0] * h.max().detach()",
        "dtype",
        "(torch.rand(4), torch.rand(()).half())",
    ),
    item("an integer tensor", "h.int() * h.double().max().item()", "h.int() * h.double().max().detach()", "dtype"),
    item(
        "a name that is something else by then",
        "[h := h.int(), h * more[0].item()]",
        "[h := h.int(), h * more[0].detach()]",
        "dtype",
        "(torch.rand(4), torch.rand((), dtype=torch.float64))",
    ),
    item(
        "floor division",
        "h // h.mean().item()",
        "(h / h.mean().detach()).trunc()",
        "differ",
        "(torch.randn(64) - 0.5,)",
    ),
    item(
        "an integer of it",
        "h[int(h.max().item()) :]",
        "h[h.max().detach().round().int() :]",
        "shape",
        "(torch.full((9,), 1.6),)",
    ),
    item("a key", "{h.max().item(): h * 2}", "{h.max().detach(): h * 2}", "keys"),
    item("a text", "f'{h.max().item():.3f}', h * 2", "f'{h.max().detach()}', h * 2", "the result[0]"),
    item("a number that is returned", "h * 2, h.max().item()", "h * 2, h.max().detach()", "a tensor instead of float"),
    item(
        "a changed source",
        "(s := more[0].item(), more[0].zero_(), h * s)[2]",
        "(s := more[0].detach(), more[0].zero_(), h * s)[2]",
        "differ",
        "(torch.rand(4), torch.rand(()))",
    ),
    message(
        "an argument taken off",
        "print(more[0].pop())",
        "    return x * len(more[0])\n",
        "compiled: the result",
        "(torch.ones(4), [1, 2])",
    ),
    message(
        "a message somebody reads",
        "print('x', file=more[0])",
        "    return x * len(more[0].getvalue())\n",
        "compiled: the result",
        "(torch.ones(4), io.StringIO())",
        "import io\n\n\n",
    ),
    message(
        "an argument that draws",
        "print(torch.rand(1).shape)",
        "    return x * 2\n",
        "compiled: torch's random state",
        "(torch.ones(4),)",
    ),
    Case(
        "a message that is caught",
        "import warnings\n\n\n" + CAUGHT.format(body=WARN, kind="UserWarning"),
        "import warnings\n\n\n"
        + CAUGHT.format(body="if not torch.compiler.is_compiling():\n            " + WARN, kind="UserWarning"),
        "compiled: the result",
        "(torch.ones(4),)",
        "effects",
    ),
    Case(
        "an exception that is caught",
        CAUGHT.format(body=f"if {NEGATIVE}:\n            raise ValueError", kind="ValueError"),
        CAUGHT.format(body=ASYNCHRONOUS + f"        elif {NEGATIVE}:\n            raise ValueError", kind="ValueError"),
        "compiled: the original returns, the edited code raises",
        "(torch.ones(4),)",
        "effects",
    ),
    Case(
        "a statement that slipped under the guard",
        "def f(x):\n    print('x'); x = x * 2\n    return x + 1\n",
        "def f(x):\n    if not torch.compiler.is_compiling():\n        print('x'); x = x * 2\n    return x + 1\n",
        "compiled: the result",
        "(torch.ones(4),)",
        "effects",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_refused(case: Case, worker, tmp_path: Path) -> None:
    assert case.reason
    check(worker, tmp_path, case)
