"""Edits that keep a branch or a loop inside the graph: torch.cond and torch.while_loop trace all of it, and AOTAutograd takes less than Dynamo."""

from pathlib import Path

import pytest
from verifying import Case, check

IF = "    if x.sum() > 0:\n        y = {a}\n    else:\n        y = {b}\n    return y\n"
COND = (
    "    c = x.sum() > 0\n\n    def a():\n        return {a}\n\n    def b():\n        return {b}\n\n"
    "    if torch.compiler.is_compiling():\n        return torch.cond(c, a, b)\n    return a() if c else b()\n"
)
LOOP = "    h = x.abs() + 1\n    while h.sum() < 100:\n        h = h + 10\n    return h\n"
WHILE_LOOP = (
    "    h = x.abs() + 1\n    if torch.compiler.is_compiling():\n"
    "        (h,) = torch.while_loop(lambda h: h.sum() < 100, lambda h: (h + 10,), (h,))\n"
    "    else:\n        while h.sum() < 100:\n            h = h + 10\n    return h\n"
)
COUNTS_IN_EVALUATION = (
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('n', torch.zeros(()))\n\n"
    "    def other(self, x):\n        if not self.training:\n            self.n.add_(1)\n        return x * 2\n\n    def forward(self, x):\n"
)

SCALED = (
    "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(3))\n\n"
    "    def forward(self, x):\n        p = (x * self.w).exp()\n"
)


def branch(a: str, b: str) -> dict[str, str]:
    """A branch, and torch.cond in its place."""
    head = "def f(x):\n"
    return {"before": head + IF.format(a=a, b=b), "after": head + COND.format(a=a, b=b)}


def indented(text: str) -> str:
    """As the body of a method."""
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


CASES = [
    Case("a branch that is not taken may fail", **branch("torch.sqrt(x - 9) @ x", "x @ x")),
    Case(
        "what is drawn is drawn anew for the gradient",
        **branch("torch.dropout(x, 0.5, True)", "torch.dropout(x, 0.1, True)"),
        reason="compiled: the gradient of input 0",
    ),
    Case(
        "drawn where there is no gradient",
        before="def f(x):\n" + IF.format(a="torch.dropout(x, 0.5, True)", b="torch.rand_like(x)"),
        after="def f(x):\n" + COND.format(a="torch.dropout(x, 0.5, True)", b="torch.rand_like(x)").replace(
            "is_compiling()", "is_compiling() and not x.requires_grad"
        ),
    ),
    Case("a loop", before="def f(x):\n" + LOOP, after="def f(x):\n" + WHILE_LOOP),
    Case(
        "gradients of other strides",
        **branch("torch.sqrt(x - 9).sum()", "x.sum() * 0"),
        reason="compiled: the original returns, the edited code raises BackendCompilerFailed",
    ),
    Case(
        "a change in place of what a gradient is made of",
        before=SCALED + "        torch._dynamo.graph_break()\n        p[0] = 0\n        return p\n",
        after=SCALED + "        p[0] = 0\n        return p\n",
        args="(torch.randn(3),)",
        entry="M()",
        reason="compiled: the original returns, the edited code raises BackendCompilerFailed",
    ),
    Case(
        "a change in place of what no gradient is made of",
        before=SCALED + "        torch._dynamo.graph_break()\n        q = p + 1\n        q[0] = 0\n        return q\n",
        after=SCALED + "        q = p + 1\n        q[0] = 0\n        return q\n",
        args="(torch.randn(3),)",
        entry="M()",
    ),
    Case("another dtype on one way", **branch("x.double()", "x * 2"), reason="compiled: the original returns, the edited code raises"),
    Case(
        "a change in evaluation mode only",
        before=COUNTS_IN_EVALUATION + indented(IF.format(a="self.other(x)", b="x * 3")),
        after=COUNTS_IN_EVALUATION + indented(COND.format(a="self.other(x)", b="x * 3")),
        entry="M()",
        reason="with gradients",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_verdict(case: Case, worker, tmp_path: Path) -> None:
    check(worker, tmp_path, case)
