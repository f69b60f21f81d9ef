"""Edits that are wrong only for other integers, flags, sizes or strides than the inputs at hand have; and right ones where those are undefined."""

from pathlib import Path

import pytest
from verifying import Case, check

COUNT = "(torch.ones(4, 4), torch.tensor(1))"
VIEW = "def f(x, n):\n    t = x * 2\n    u = t[0]\n    {}\n    return t + u\n"
FLAG = "def f(x, y, clear=False):\n    h = x + 1\n    {}\n    if clear:\n        y.zero_()\n    return h * 2\n"
LIST = "def f(xs, w):\n    out = []\n    for x in xs:\n        {}\n        out.append(x)\n    return out\n"
SLICE = "def f(x, n):\n    h = x * 2\n    {}\n    return h\n"
NET = "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('scale', torch.ones(3))\n\n"
STEP = NET + "    def forward(self, x, step):\n        {}\n        return x * self.scale\n"
LARGE = """class Net(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        h = self.net(x)
        if h.sum() > 0:
            h = h + 1
        {}
"""
MADE = """class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4, 1))

    def forward(self, x, n):
        self.count.add_(1)
        h = x * 2
        {}
        return h


made = N()
"""
KEPT = MADE.replace(
    "self.count.add_(1)\n        h = x * 2",
    "self.count.mul_(0.5).add_(x.detach().mean())\n        h = x * 2 + self.count",
)
USER = "\n\ndef f(x, n):\n    h = x * 2\n    {}\n    return h\n"
MASKED = "def f(x, m, v=-5):\n    t = x * 2\n    {}\n    return t\n"

WRONG = [
    Case(
        "a view of what is no longer changed in place, for larger integers only",
        VIEW.format("if n > 10:\n        t += 1"),
        VIEW.format("t = torch.where(n > 10, t + 1, t)"),
        "on the given inputs with larger integers, eager: the result",
        args=COUNT,
    ),
    Case(
        "the same for negative ones only",
        VIEW.format("if n < 0:\n        t += 1"),
        VIEW.format("t = torch.where(n < 0, t + 1, t)"),
        "on the given inputs with negated integers, eager: the result",
        args=COUNT,
    ),
    Case(
        "a mask without an element, and a number that its dtype does not hold",
        MASKED.format("if m.any():\n        t[m] = v"),
        MASKED.format("t[m] = v"),
        "on the given inputs with `v` = 1012 and zero integers, eager: the original returns",
        args="(torch.arange(6, dtype=torch.int8), torch.tensor([True, False] * 3))",
    ),
    Case(
        "behind a flag that is at its default",
        FLAG.format("if x.sum() > 0:\n        h = y"),
        FLAG.format("h = torch.where(x.sum() > 0, y, h)"),
        "on the given inputs with `clear` = True, eager: the result",
        args="(torch.ones(3), torch.ones(3) * 5)",
        copies=True,
    ),
    Case(
        "the same with a flag that is given, and larger integers",
        "def f(x, y, n, k):\n    h = x * 2\n    if n > 10:\n        h = y\n    if k:\n        y += k\n    return h + 1\n",
        "def f(x, y, n, k):\n    h = x * 2\n    h = torch.where(n > 10, y, h)\n    if k:\n        y += k\n    return h + 1\n",
        "on the given inputs with argument 4 = 1 and larger integers, eager: the result",
        args="(torch.ones(3), torch.ones(3) * 5, torch.tensor(1), 0)",
    ),
    Case(
        "a number of features that no layer has asked for",
        SLICE.format("if n > 10:\n        h = h.view(-1, 5, 2).flatten(1) + 1"),
        SLICE.format("h = torch.where(n > 10, h.view(-1, 5, 2).flatten(1) + 1, h)"),
        "on inputs longer in the second dimension, eager: the original returns, the edited code raises RuntimeError",
        args="(torch.ones(2, 10), torch.tensor(1))",
    ),
    Case(
        "gradients where a number is zero",
        "def f(x, n, k=2.0):\n    h = x * 2\n    if n > 10:\n        h = h / k\n    return h\n",
        "def f(x, n, k=2.0):\n    h = x * 2\n    return torch.where(n > 10, h / k, h)\n",
        "on the given inputs with `k` = 0.0: the gradient of input 0",
        args=COUNT,
    ),
    Case(
        "one of a list has another size",
        LIST.format("if x.sum() > 0:\n            x = x * w"),
        LIST.format("x = torch.where(x.sum() > 0, x * w, x)"),
        "on the given inputs with a single row in part 1 and other values, eager: the result[0] has shape (3,) instead of (1,)",
        args="([torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, 2.0, 3.0])], torch.tensor([2.0, 3.0, 4.0]))",
        copies=True,
    ),
    Case(
        "a longer last dimension of three",
        SLICE.format("if n > 10:\n        h = h[..., :4] * 2"),
        SLICE.format("h = torch.where(n > 10, h[..., :4] * 2, h)"),
        "on the given inputs with a longer last dimension, eager: the original returns, the edited code raises",
        args="(torch.ones(2, 3, 4), torch.tensor(1))",
    ),
    Case(
        "no rows",
        SLICE.format("if n > 10:\n        h = h - h[0]"),
        SLICE.format("h = torch.where(n > 10, h - h[0], h)"),
        "on the given inputs with no rows, eager: the original returns, the edited code raises IndexError",
        args=COUNT,
    ),
    Case(
        "a row that is not there, where other values do not ask for it",
        SLICE.format("if x.max() > 0:\n        h = h + h[3]"),
        SLICE.format("h = torch.where(x.max() > 0, h + h[3], h)"),
        "on the given inputs with a single row and other values, eager: the original returns, the edited code raises IndexError",
        args=COUNT,
    ),
    Case(
        "the same of the second dimension",
        SLICE.format("if x.max() > 0:\n        h = h + h[:, 2].sum()"),
        SLICE.format("h = torch.where(x.max() > 0, h + h[:, 2].sum(), h)"),
        "on the given inputs with a second dimension of one and other values, eager: the original returns, the edited code",
        args="(torch.ones(2, 3, 4), torch.tensor(1))",
    ),
    Case(
        "gradients where a number is zero, of other values",
        "def f(x, k=2.0):\n    h = x * 2\n    if x.sum() > 0:\n        h = h / k\n    return h\n",
        "def f(x, k=2.0):\n    h = x * 2\n    return torch.where(x.sum() > 0, h / k, h)\n",
        "on the given inputs with `k` = 0.0 and other values: the gradient of input 0",
        args="(torch.ones(4, 4),)",
    ),
    Case(
        "strides of a copy",
        "import copy\n\n\ndef f(x):\n    return copy.deepcopy(x)\n",
        "def f(x):\n    return x.clone()\n",
        "on the given inputs with other strides, eager: the result has strides (1,) instead of (2,)",
        args="(torch.arange(6.0),)",
    ),
    Case(
        "a buffer that two calls of one instance need",
        STEP.format("if step % 100 == 0:\n            self.scale.mul_(0.9)"),
        STEP.format("self.scale.copy_(torch.where(step % 100 == 0, self.scale * 0.9, self.scale))"),
        "two calls of one instance: the entry is differentiable only before or only after the edit",
        args="(torch.ones(2, 3), torch.tensor(1))",
        entry="N()",
    ),
    Case(
        "rows that a buffer does not have, of a module that keeps count and is made once",
        MADE.format("if n > 10:\n            h = h + self.count"),
        MADE.format("h = torch.where(n > 10, h + self.count, h)"),
        "on inputs of one more row, eager: the original returns, the edited code raises RuntimeError",
        args=COUNT,
        entry="made",
    ),
    Case(
        "a row that is not there, behind a global that counts calls",
        "calls = [0]\n\n\ndef f(x, n):\n    calls[0] += 1\n    h = x * 2\n    if n > 10:\n        h = h + h[3]\n    return h\n",
        "calls = [0]\n\n\ndef f(x, n):\n    calls[0] += 1\n    h = x * 2\n    return torch.where(n > 10, h + h[3], h)\n",
        "on inputs of a single row, eager: the original returns, the edited code raises IndexError",
        args=COUNT,
    ),
    Case(
        "a larger integer, of a module that is made once and keeps an average, which was not a number before",
        KEPT.format("if n > 10:\n            h = h * 2"),
        KEPT.format("h = torch.where(n > 100, h * 2, h)"),
        "on the given inputs with larger integers, eager: the result",
        args=COUNT,
        entry="made",
    ),
    Case(
        "other strides, behind bfloat16, of a large module that is made once",
        "net = nn.Linear(512, 512)\n\n\n" + LARGE.format("return h * 2"),
        "net = nn.Linear(512, 512)\n\n\n"
        + LARGE.replace("if h.sum() > 0:\n            h = h + 1", "h = torch.where(h.sum() > 0, h + 1, h)").format(
            "return h * (2 if x.is_contiguous() else 3)"
        ),
        "on the given inputs with other strides, eager: the result",
        args="(torch.ones(4, 512),)",
        entry="Net(net)",
    ),
    Case(
        "a dtype that is the usual one in float32 only",
        STEP.format("x = x * self.scale\n        if x.sum() > 0:\n            x = x.float() * 2"),
        STEP.format("x = x * self.scale\n        x = torch.where(x.sum() > 0, x.float() * 2, x)"),
        "on the given inputs with bfloat16, the module too and other values, eager: the result has dtype torch.float32",
        args="(torch.ones(2, 3), 1)",
        entry="N()",
    ),
    Case(
        "a dtype that is torch's default one only as long as that is another",
        "def f(x, n):\n    h = torch.zeros(4, 4)\n    if n > 10:\n        h = h + 1\n    return h\n",
        "def f(x, n):\n    h = torch.zeros(4, 4, dtype=torch.float32)\n    return torch.where(n > 10, h + 1, h)\n",
        "on the given inputs with float64, also for torch's default dtype, eager: the result has dtype torch.float32",
        args=COUNT,
    ),
    Case(
        "a dtype that is the usual one in single precision only, of a function",
        "def f(x, n):\n    h = x * 2\n    if n > 10:\n        h = h.float()\n    return h.sum()\n",
        "def f(x, n):\n    h = (x * 2).float()\n    h = torch.where(n > 10, h, h)\n    return h.sum()\n",
        "on the given inputs with float64, eager: the result has dtype torch.float32",
        args=COUNT,
    ),
    Case(
        "a dtype that autocast changes",
        "def f(x, n):\n    h = x * 2\n    if n > 10:\n        h = x @ x\n    return h\n",
        "def f(x, n):\n    h = x * 2\n    return torch.where(n > 10, x @ x, h).to(torch.float32)\n",
        "with autocast to bfloat16",
        args="(torch.ones(4, 4), torch.tensor(11))",
    ),
    Case(
        "a buffer of a module that is a global",
        MADE.format("pass") + USER.format("made(h, n)\n    if n > 10:\n        h = h * 2"),
        MADE.format("pass") + USER.format("h = torch.where(n > 10, h * 2, h)"),
        "made.count after the call differs",
        args=COUNT,
    ),
    Case(
        "a root of zero, where another tensor decides",
        "def f(x, w):\n    r = torch.sqrt(x.abs())\n    if w.sum() > 0:\n        return x * 2\n    return x + r\n",
        "def f(x, w):\n    r = torch.sqrt(x.abs())\n    return torch.where(w.sum() > 0, x * 2, x + r)\n",
        "the given inputs with zeros in floating tensor 1: the gradient of input 0",
        args="(torch.rand(3) + 1, torch.ones(3))",
    ),
    Case(
        "what overflows where it is not wanted",
        "def f(x):\n    s = x.abs() + 1\n    if s.amax() > 50:\n        return x * s\n    return x + torch.exp(s)\n",
        "def f(x):\n    s = x.abs() + 1\n    return torch.where(s.amax() > 50, x * s, x + torch.exp(s))\n",
        "the given inputs with a hundred times as much: the gradient of input 0",
        args="(torch.rand(3) + 1,)",
    ),
]

LAYER = """class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, n):
        {}
        return x * 2
"""

RIGHT = [
    Case(
        "a layer whose turn it is not, and features that it does not take",
        LAYER.format("if n > 10:\n            x = x + self.layer(x)"),
        LAYER.format("x = torch.where(n > 10, x + self.layer(x), x)"),
        args="(torch.ones(2, 4), torch.tensor(1))",
        entry="N()",
    ),
    Case(
        "what is added in an arm, and is as long as the features were",
        "def f(x, y, n):\n    if n > 10:\n        x = x + y\n    return x * 2\n",
        "def f(x, y, n):\n    return torch.where(n > 10, x + y, x) * 2\n",
        args="(torch.ones(2, 4), torch.ones(4), torch.tensor(1))",
    ),
    Case(
        "the largest of nothing, in what is not wanted",
        SLICE.format("if n > 10:\n        h = h - h.max()"),
        SLICE.format("h = torch.where(n > 10, h - h.max(), h)"),
        args=COUNT,
    ),
    Case(
        "in order where the original has the order of its argument",
        SLICE.format("h = [h * 1, h * 2][int(n > 10)]"),
        SLICE.format("h = torch.stack([h * 1, h * 2])[(n > 10).long()[None]][0]"),
        args=COUNT,
    ),
    Case(
        "memory that is not initialised where a number is larger",
        "def f(x, n, k=4):\n    h = torch.empty(max(k, 4))\n    h[:4] = x[0]\n    if n > 10:\n        h = h * 2\n    return h\n",
        "def f(x, n, k=4):\n    h = torch.empty(max(k, 4))\n    h[:4] = x[0]\n    return torch.where(n > 10, h * 2, h)\n",
        args=COUNT,
    ),
    Case(
        "what only the original can do for a number",
        "def f(x, n, k=1):\n    h = x.sum(k)\n    if n > 10:\n        h = h * 2\n    return h\n",
        "def f(x, n, k=1):\n    h = x.sum(k)\n    return torch.where(n > 10, h * 2, h)\n",
        args=COUNT,
    ),
    Case(
        "the original does not end for negative integers",
        "def f(x, n):\n    while n != 9:\n        n = n + 1\n    return x * n\n",
        "def f(x, n):\n    return x * torch.full_like(n, 9)\n",
        args=COUNT,
    ),
    Case(
        "buffers that are normalised with, twice",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.bn = nn.BatchNorm1d(4)\n\n"
        "    def forward(self, x):\n        h = self.bn(x)\n        if h.sum() > 0:\n            h = h * 2\n        return h\n",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.bn = nn.BatchNorm1d(4)\n\n"
        "    def forward(self, x):\n        h = self.bn(x)\n        return torch.where(h.sum() > 0, h * 2, h)\n",
        entry="N().eval()",
    ),
]


@pytest.mark.parametrize("case", WRONG, ids=[c.name for c in WRONG])
def test_refused(case: Case, worker, tmp_path: Path) -> None:
    assert case.reason
    check(worker, tmp_path, case)


@pytest.mark.parametrize("case", RIGHT, ids=[c.name for c in RIGHT])
def test_accepted(case: Case, worker, tmp_path: Path) -> None:
    assert not case.reason
    check(worker, tmp_path, case)
