"""Verification: edits that change something visible are refused with the reason, right ones are accepted.

Each row is a program, an edit of it that a naive rewrite would make, and what the verdict must say.  The programs break, so a wrong
edit can only be refused for what it changes.
"""

from pathlib import Path

import pytest
from verifying import BRANCH, HEAD, TAIL, Case, F, check

CLAMPED = "    if torch.compiler.is_compiling():\n        h = h.clamp(max={})\n"
CASES = [
    Case("where", F + BRANCH.format(a="h + 1", b="h - 1"), F + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n"),
    Case(
        "wrong factor",
        F + BRANCH.format(a="h + 1", b="h - 1"),
        F + "    return torch.where(h.sum() > 0, h + 1, h - 2)\n",
        "differ",
    ),
    Case(
        "promotion",
        "def f(x, n):\n    if x.sum() > 0:\n        y = n\n    else:\n        y = x\n    return y\n",
        "def f(x, n):\n    return torch.where(x.sum() > 0, n, x)\n",
        "dtype",
        args="(torch.ones(4), torch.arange(4))",
    ),
    Case(
        "broadcast arms",
        F + BRANCH.format(a="h", b="h[0]"),
        F + "    return torch.where(h.sum() > 0, h, h[0])\n",
        "shape",
    ),
    Case(
        "rebinding instead of in place",
        "def f(x):\n    if x.sum() > 0:\n        x += 1\n    return x * 2\n",
        "def f(x):\n    x = torch.where(x.sum() > 0, x + 1, x)\n    return x * 2\n",
        "inputs after the call",
    ),
    Case(
        "nan gradient of an arm that is not selected",
        "def f(x):\n    if x.min() > 0:\n        y = x.sqrt()\n    else:\n        y = x * 1\n    return y\n",
        "def f(x):\n    return torch.where(x.min() > 0, x.sqrt(), x * 1)\n",
        "gradient",
        args="(torch.tensor([-1.0, 2.0], requires_grad=True),)",
    ),
    Case(
        "double scalar in half arithmetic",
        "def f(h, s):\n    return h * s.item()\n",
        "def f(h, s):\n    return h * s.detach()\n",
        "dtype",
        args="(torch.arange(4), torch.tensor(0.5, dtype=torch.float64))",
    ),
    Case(
        "item detaches",
        "def f(x):\n    return x * x.mean().item()\n",
        "def f(x):\n    return x * x.mean()\n",
        "gradient",
        args="(torch.randn(4, requires_grad=True),)",
    ),
    Case(
        "an assert that fails for some values",
        F + "    assert torch.isfinite(h).all() and (h < 1e30).all(), 'no'\n    return h\n",
        F + "    assert torch.isfinite(h).all(), 'no'\n    assert (h < 1e30).all(), 'no'\n    return h\n",
    ),
    Case(
        "an assert that fails with other words",
        F + "    assert torch.isfinite(h).all() and (h < 1e30).all(), 'no'\n    return h\n",
        F
        + "    if torch.compiler.is_compiling():\n        torch._assert_async(torch.isfinite(h).all(), 'yes')\n"
        + "        torch._assert_async((h < 1e30).all(), 'yes')\n    else:\n"
        + "        assert torch.isfinite(h).all() and (h < 1e30).all(), 'no'\n    return h\n",
        "raises AssertionError: no, the edited code raises RuntimeError: yes",
    ),
    Case("item as tensor", "def f(x):\n    return x * x.mean().item()\n", "def f(x):\n    return x * x.mean().detach()\n"),
    Case(
        "zero division",
        "def f(x):\n    return x * (1.0 / (x.sum() + 1.5).item())\n",
        "def f(x):\n    return x * (1.0 / (x.sum() + 1.5).detach())\n",
        "raises ZeroDivisionError",
        args="(torch.ones(1),)",
    ),
    Case(
        "truncation",
        "def f(x):\n    return x * int(x[0])\n",
        "def f(x):\n    return x * x[0].detach().floor()\n",
        "differ",
        args="(torch.tensor([-1.5, 2.0]),)",
    ),
    Case(
        "nan leaks through a product",
        "def f(x):\n    return x[x > 0].sum()\n",
        "def f(x):\n    return (x * (x > 0)).sum()\n",
        "differ",
        args="(torch.tensor([1.0, float('-inf')]),)",
    ),
    Case(
        "random numbers drawn elsewhere",
        "def f(x):\n    if x.sum() > 1e9:\n        x = x * torch.rand(4)\n    return x * 2\n",
        "def f(x):\n    x = torch.where(x.sum() > 1e9, x * torch.rand(4), x)\n    return x * 2\n",
        "random state",
    ),
    Case(
        "state dict",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n\n"
        "    def forward(self, x):\n        print('x')\n        return self.a(x)\n",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.b = nn.Linear(4, 4)\n\n"
        "    def forward(self, x):\n        return self.b(x)\n",
        "state dict",
        entry="N()",
        safety="effects",
    ),
    Case("dropped print", F + "    print('x')\n    return h\n", F + "    return h\n", "printed", safety="effects"),
    Case(
        "guarded print is not exact",
        F + "    print('x')\n    return h\n",
        F + "    if not torch.compiler.is_compiling():\n        print('x')\n    return h\n",
        "printed",
    ),
    Case(
        "guarded print",
        F + "    print('x')\n    return h\n",
        F + "    if not torch.compiler.is_compiling():\n        print('x')\n    return h\n",
        safety="effects",
    ),
    Case(
        "exception lost",
        "def f(x):\n    if (x < 0).any():\n        raise ValueError('negative')\n    return x * 2\n",
        "def f(x):\n    return x * 2\n",
        "raises ValueError",
        args="(torch.ones(4),)",
        safety="effects",
    ),
    Case(
        "asynchronous check",
        "def f(x):\n    if (x < 0).any():\n        raise ValueError('negative')\n    return x * 2\n",
        "def f(x):\n    if torch.compiler.is_compiling():\n        torch._assert_async(~(x < 0).any(), 'negative')\n"
        "    elif (x < 0).any():\n        raise ValueError('negative')\n    return x * 2\n",
        args="(torch.ones(4),)",
        safety="effects",
    ),
    Case(
        "rounding is close, not identical",
        "def f(x):\n    print(end='')\n    return x.sum(0)\n",
        "def f(x):\n    return x.flip(0).cumsum(0)[-1]\n",
        "differ",
        args="(torch.randn(999, 4),)",
        outputs="close",
    ),
    Case("syntax error", F + "    print('x')\n    return h\n", F + "    print('x'\n    return h\n", "does not compile"),
    Case("nothing mended", F + "    print('x')\n    return h\n", F + "    print( 'x')\n    return h\n", "no graph break was removed"),
    Case(
        "another break instead",
        F + "    print('x')\n    return h\n",
        F + "    import os\n    os.getpid()\n    return h if h.sum() > 0 else h * 1\n",
        "new graph break",
        safety="effects",
    ),
    Case(
        "not repeatable",
        "import os\n\n" + F + "    print(end='')\n    return h + os.urandom(1)[0]\n",
        "import os\n\n" + F + "    return h + os.urandom(1)[0]\n",
        "repeat",
    ),
    Case(
        "unusual values on which compiling the original differs, too",
        F + CLAMPED.format(50) + BRANCH.format(a="h + 1", b="h - 1"),
        F + CLAMPED.format(50) + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n",
    ),
    Case(
        "and those on which the edit differs from that",
        F + CLAMPED.format(50) + BRANCH.format(a="h + 1", b="h - 1"),
        F + CLAMPED.format(60) + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n",
        "large values, compiled",
    ),
    Case(
        "usual values on which compiling the original differs, too",
        F + CLAMPED.format(0.5) + BRANCH.format(a="h + 1", b="h - 1"),
        F + CLAMPED.format(0.5) + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n",
        "differ",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_verdict(case: Case, worker, tmp_path: Path) -> None:
    check(worker, tmp_path, case)


def test_a_crash_of_the_edited_code_is_told(worker, tmp_path: Path) -> None:
    file = str(tmp_path / "program.py")
    tail = TAIL.format(entry="f", args="(torch.randn(4),)")
    original = HEAD + F + "    print('x')\n    return h\n" + tail
    edited = "import os\n" + HEAD + F + "    os._exit(3)\n    return h\n" + tail
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": original}],
        edited=[{"file": file, "text": edited}],
        safety="effects",
    )
    frames = list(worker.frames(job))
    verdict = next(f["verdict"] for f in frames if f["op"] == "verdict")
    assert not verdict["accepted"] and "exit code 3" in " ".join(verdict["reasons"])
    assert frames[-1]["status"] == "ok"
