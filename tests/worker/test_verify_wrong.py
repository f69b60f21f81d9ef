"""Edits that are wrong somewhere the given inputs do not show, and edits that are right where a careless check would refuse them."""

from pathlib import Path

import pytest
from verifying import BRANCH, Case, F, check

NET = "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n\n    def forward(self, x):\n        {body}\n"


def net(before: str, after: str, init: str = "self.calls = 0", head: str = "") -> dict[str, str]:
    """A module before and after, its entry, and a print that the edit guards."""
    shown, guarded = "print('x')\n        ", "if not torch.compiler.is_compiling():\n            print('x')\n        "
    return {
        "before": head + NET.format(init=init, body=shown + before),
        "after": head + NET.format(init=init, body=guarded + after),
        "entry": "N().eval()",
        "safety": "effects",
    }


def function(before: str, after: str, head: str = "", **more: str) -> dict[str, str]:
    """The same for a function of x."""
    shown, guarded = "    print('x')\n", "    if not torch.compiler.is_compiling():\n        print('x')\n"
    return {
        "before": f"{head}def f(x):\n{shown}    {before}\n",
        "after": f"{head}def f(x):\n{guarded}    {after}\n",
        "safety": "effects",
        **more,
    }


SCRIPTED = (
    "class Count(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = 0\n\n"
    "    def forward(self, x):\n        {}\n        return x * 2\n\n\n"
    "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.count = {}\n\n"
    "    def forward(self, x):\n        return self.count(x)\n"
)

RAISE = "if x.isnan().any():\n        raise {0}\n    return x * 2"

# The loop makes it eager as a whole, and an eager number is no guard.
STEP = "for _ in x:\n            {0}\n        self.step += 1\n        return x * self.step"

WRONG = [
    Case(
        "only for values that are not numbers",
        F + "    if not h.sum() > 0:\n        h = h + 1\n    return h\n",
        F + "    return torch.where(h.sum() <= 0, h + 1, h)\n",
        "on values that are not finite, eager: the result",
    ),
    Case(
        "only for infinity",
        F + "    if h.max() < float('inf'):\n        return h * 2\n    return h\n",
        F + "    return h * 2\n",
        "on values that are not finite, eager",
    ),
    Case(
        "only for large values",
        F + "    if h.abs().max() > 50:\n        h = h / 2\n    return h\n",
        F + "    return h\n",
        "on large values, eager",
    ),
    Case(
        "only for this number of rows",
        F + "    if h.sum() > 0:\n        h = h + 1\n    return h\n",
        F + "    return torch.where(h.sum() > 0, h + torch.ones(4, 1), h)\n",
        "on inputs of one more row, eager",
    ),
    Case(
        "only for this length",
        F + "    if h.sum() > 0:\n        h = h + 1\n    return h\n",
        F + "    return torch.where(h.sum() > 0, h + torch.ones(4), h)\n",
        "on inputs longer in the second dimension, eager",
    ),
    Case(
        "an element that fewer rows do not have",
        F + BRANCH.format(a="h[3]", b="h[0]"),
        F + "    return torch.where(h.sum() > 0, h[3], h[0])\n",
        "on inputs of a single row, eager: the original returns, the edited code raises IndexError",
        args="(torch.tensor([-1.0, 2.0, 3.0, 4.0]),)",
    ),
    Case(
        "compiled for each size",
        F + "    if h.sum() > 0:\n        h = h * 2\n    return h\n",
        F + "    for _ in range(x.shape[0]):\n        h = h.clone()\n    return torch.where(h.sum() > 0, h * 2, h)\n",
        "compiled anew for each size",
    ),
    Case(
        "compiled on each call",
        **net(
            STEP.format("print('y')"),
            STEP.format("if not torch.compiler.is_compiling():\n                print('y')"),
            init="self.step = 0",
        ),
        reason="compiled anew on each call",
    ),
    Case(
        "only for zeros",
        F + "    if h.abs().max() == 0:\n        h = h + 1\n    return h\n",
        F + "    return h * 1\n",
        "on zeros, eager",
    ),
    Case(
        "only for parameters of another size",
        **net(
            "y = self.a(x)\n        return y if y.abs().max() < 50 else y / 2",
            "return self.a(x)",
            "self.a = nn.Embedding(9, 4)",
        ),
        reason="on large values, eager",
        args="(torch.arange(4),)",
    ),
    Case(
        "only in training mode",
        **net("return x * (3 if self.training else 2)", "return x * 2"),
        reason="in the other mode, eager: the result",
    ),
    Case(
        "gradients only in training mode",
        **net("return x * 2", "return (x.detach() if self.training else x) * 2"),
        reason="in the other mode: ",
        args="(torch.randn(4, requires_grad=True),)",
    ),
    Case(
        "only on the second call",
        **net("self.calls += 1\n        return x * self.calls", "self.calls += 1\n        return x * 1"),
        reason="on a second call of the same instance, eager: the result",
    ),
    Case(
        "only when compiled",
        F + "    print('x')\n    return h\n",
        F + "    return h + int(torch.compiler.is_compiling())\n",
        "compiled: the result",
        safety="effects",
    ),
    Case(
        "the results of one seed written down",
        **function("return x * 2", "return torch.tensor(2.0).expand(4) * 1"),
        reason="on inputs from seed 1, eager",
        args="(torch.ones(4) if torch.initial_seed() == 0 else torch.randn(4),)",
    ),
    Case(
        "an attribute",
        **net("self.calls += 1\n        return x * 2", "return x * 2"),
        reason="self.calls after the call differs",
    ),
    Case(
        "an attribute of a module that TorchScript runs",
        before=SCRIPTED.format("self.n = self.n + 1", "torch.jit.script(Count())"),
        after=SCRIPTED.format("pass", "Count()"),
        entry="N()",
        reason="self.count.n after the call differs",
        safety="effects",
    ),
    Case(
        "an attribute of an object that is no module",
        before="class O:\n    n = 0\n\n    def f(self, x):\n        print('x')\n        self.n += 1\n        return x * 2\n",
        after="class O:\n    n = 0\n\n    def f(self, x):\n        return x * 2\n",
        entry="O().f",
        reason="self.n after the call differs",
        safety="effects",
    ),
    Case(
        "a tensor kept for later",
        **net("self.kept = x + 1\n        return x * 2", "self.kept = x + 2\n        return x * 2", "self.kept = None"),
        reason="self.kept after the call differs",
    ),
    Case(
        "a global",
        **function("SEEN.append(len(SEEN))\n    return x * 2", "return x * 2", "SEEN = []\n\n\n"),
        reason="SEEN after the call differs",
    ),
    Case(
        "an attribute of a class",
        **net("T.total += 1\n        return x * 2", "return x * 2", head="class T:\n    total = 0\n\n\n"),
        reason="T.total after the call",
    ),
    Case(
        "a buffer",
        **net("self.seen += 1\n        return x * 2", "return x * 2", "self.register_buffer('seen', torch.zeros(1))"),
        reason="parameters and buffers after the call",
    ),
    Case(
        "an input changed in place", **function("return x + 1", "return x.add_(1)"), reason="the inputs after the call"
    ),
    Case(
        "an input not changed",
        **function("return x.add_(1) * 2", "return (x + 1) * 2"),
        reason="the inputs after the call",
    ),
    Case("the input itself", **function("return x * 1", "return x"), reason="now shares memory with the result"),
    Case("a view of it", **function("return x[0] * 1", "return x[0]"), reason="now shares memory with the result"),
    Case("a copy of it", **function("return x", "return x.clone()"), reason="no longer shares memory with the result"),
    Case(
        "outputs that share memory",
        **function("y = x + 1\n    return y, y * 1", "y = x + 1\n    return y, y"),
        reason="now shares memory",
    ),
    Case(
        "an early return that gave the input itself",
        "def f(x):\n    if x.abs().max() < 9:\n        return x\n    return x * 2\n",
        "def f(x):\n    return torch.where(x.abs().max() < 9, x, x * 2)\n",
        "no longer shares memory with the result",
    ),
    Case(
        "values that differ, where an early return gave the input itself",
        "def f(x):\n    if x.abs().max() < 9:\n        return x\n    return x * 2\n",
        "def f(x):\n    return torch.where(x.abs().max() < 9, x * 3, x * 2)\n",
        "elements differ",
        copies=True,
    ),
    Case(
        "the input itself, though the rule speaks of copies",
        **function("return x * 1", "return x"),
        reason="now shares memory with the result",
        copies=True,
    ),
    Case(
        "another input, though the rule speaks of copies",
        "def f(x, y):\n    if x.abs().max() < 9:\n        return x\n    return y\n",
        "def f(x, y):\n    return y if torch.compiler.is_compiling() else y\n",
        "shares memory with the result",
        args="(torch.zeros(4), torch.zeros(4))",
        copies=True,
    ),
    Case(
        "results that share memory now, though the rule speaks of copies",
        **function("y = x + 1\n    return y, y * 1", "y = x + 1\n    return y, y"),
        reason="now shares memory",
        copies=True,
    ),
    Case(
        "an attribute that shared memory with the input, though the rule speaks of copies of results",
        **net(
            "self.kept = x.detach()\n        return x * 2",
            "self.kept = x.detach().clone()\n        return x * 2",
            "self.register_buffer('kept', torch.zeros(4, 4))",
        ),
        reason="no longer shares memory",
        copies=True,
    ),
    Case(
        "the input list",
        **function("x.append(1)\n    return x", "x.append(1)\n    return list(x)", args="([torch.ones(2)],)"),
        reason="no longer the object it was",
    ),
    Case(
        "random numbers of torch",
        **function("torch.rand(1)\n    return x * 2", "return x * 2"),
        reason="torch's random state after the call differs",
    ),
    Case(
        "random numbers of Python",
        **function("random.random()\n    return x * 2", "return x * 2", "import random\n"),
        reason="Python's random state",
    ),
    Case(
        "random numbers of NumPy",
        **function("np.random.rand()\n    return x * 2", "return x * 2", "import numpy as np\n"),
        reason="NumPy's random state",
    ),
    Case(
        "what is printed",
        F + "    print('x')\n    return h\n",
        F + "    if not torch.compiler.is_compiling():\n        print('y')\n    return h\n",
        "printed",
        safety="effects",
    ),
    Case(
        "what is written without Python's streams",
        "import os\n\n\n" + F + "    os.write(1, b'x')\n    return h\n",
        "import os\n\n\n" + F + "    return h\n",
        "eager: what is printed",
        safety="effects",
    ),
    Case(
        "what is warned",
        **function("warnings.warn('a')\n    return x * 2", "return x * 2", "import warnings\n"),
        reason="eager: what is printed or logged",
    ),
    Case(
        "the text of an exception",
        **function(RAISE.format("ValueError('a')"), RAISE.format("ValueError('b')")),
        reason="on values that are not finite, eager: the original raises ValueError: a, the edited code raises ValueError: b",
    ),
    Case(
        "the type of an exception",
        **function(RAISE.format("ValueError('a')"), RAISE.format("KeyError('a')")),
        reason="raises KeyError",
    ),
    Case(
        "an exception that the given inputs do not raise",
        F + "    assert torch.isfinite(h).all() and (h < 1e30).all(), 'no'\n    return h\n",
        F + "    return h\n",
        "on values that are not finite, eager: the original raises AssertionError: no, the edited code returns",
        safety="effects",
    ),
    Case(
        "what was done before an exception",
        **net(
            "self.calls += 1\n        if x.isnan().any():\n            raise ValueError\n        return x * 2",
            "if x.isnan().any():\n            raise ValueError\n        self.calls += 1\n        return x * 2",
        ),
        reason="self.calls after the call differs",
    ),
    Case("strides", **function("return x.t() * 1", "return (x.t() * 1).contiguous()"), reason="has strides"),
    Case(
        "the order of keys",
        **function("return {'a': x + 1, 'b': x}", "return {'b': x, 'a': x + 1}"),
        reason="has its keys in another order",
    ),
    Case(
        "items of a generator",
        **function("return (x + i for i in range(3))", "return (x + i for i in range(1, 4))"),
        reason="the result[0]: 16 of 16 elements differ",
    ),
    Case(
        "an object's attribute",
        **function(
            "return R(x + 1)", "return R(x + 2)", "class R:\n    def __init__(self, x):\n        self.x = x\n\n\n"
        ),
        reason="the result[x]",
    ),
    Case(
        "requires gradients",
        **function("return x * 2", "return x.detach() * 2", args="(torch.randn(4, requires_grad=True),)"),
        reason="does not require gradients",
    ),
    Case(
        "it does not end for large values",
        **function("return x * 2", "while x.abs().max() > 50:\n        x = x * 1\n    return x * 2"),
        reason="on large values, eager: the edited code does not end",
    ),
    Case(
        "it crashes for NaN",
        **function(
            "return x * 2", "y = x * 2\n    if y.isnan().any():\n        os.abort()\n    return y", "import os\n"
        ),
        reason="on values that are not finite, eager: the process that ran your code was killed by SIGABRT",
    ),
    Case(
        "a global that only the edited call makes",
        **function("return x * 2", "globals()['seen'] = 1\n    return x * 2"),
        reason="seen after the call differs",
    ),
    Case(
        "a global of the edited file that its call changes",
        **function("return x * 2", "Seen.by = 3\n    return x * 2", "class Seen:\n    by = 2\n\n\n")
        | {"before": function("return x * 2", "")["before"]},
        reason="Seen.by after the call differs",
    ),
    Case(
        "raises where gradients are wanted and the original does not",
        **function("return x * 2", "x.numpy()\n    return x * 2"),
        reason="differentiable only before",
    ),
    Case(
        "differentiable where the original is not for any input",
        **function("return (x > 0).float()", "return torch.where(x > 0, (x * 0).abs() + 1, (x * 0).abs())"),
        reason="differentiable only before",
    ),
    Case(
        "a gradient that is not zero where the original has none",
        "def f(x):\n    t = torch.zeros((), dtype=x.dtype)\n    if x.sum() > 0:\n        t = t + x.sum()\n    return t\n",
        "def f(x):\n    y = torch.atan(x).nan_to_num().sum()\n    return torch.where(x.sum() > 0, x.sum(), y - y.detach())\n",
        reason="the entry is differentiable only before",
    ),
]

PRINTS = "    for i in range(2):\n        {a}\n        x = x + 1\n        {b}\n    return x\n"
GUARDED = "if not torch.compiler.is_compiling(): print('{0}')"
CALLS_IN_A_LOOP = "def f(x):\n    for i in range(2):\n        x = g(x)\n        print('b')\n    return x\n"

RIGHT = [
    Case(
        "zeros where no way is taken that has gradients",
        "def f(x):\n    t = torch.zeros((), dtype=x.dtype)\n    if x.sum() > 0:\n        t = t + x.sum()\n    return t\n",
        "def f(x):\n    t = torch.zeros((), dtype=x.dtype)\n    return torch.where(x.sum() > 0, t + x.sum(), t)\n",
    ),
    Case(
        "a value that changes from run to run",
        **net(
            "self.at = time.time()\n        return x * 2",
            "self.at = time.time()\n        return x * 2",
            head="import time\n\n\n",
        ),
        glued=False,
    ),
    Case(
        "attributes that are kept",
        **net("self.calls += 1\n        return x * 2", "self.calls += 1\n        return x * 2"),
    ),
    Case(
        "a logger of its own",
        **function("return x * 2", "return x * 2", "import logging\n\nlogger = logging.getLogger(__name__)\n\n\n"),
    ),
    Case("exceptions as before", **function("return x.view(-1, 4) * 2", "return x.view(-1, 4) * 2")),
    Case("a generator", **function("return (x + i for i in range(3))", "return (x + i for i in range(3))")),
    Case(
        "a number of NumPy",
        **function("return x * 2, np.float64(1.5) * 2", "return x * 2, np.float64(1.5) * 2", "import numpy as np\n"),
    ),
    Case("the input itself, as before", **function("return x, x * 2", "return x, x * 2")),
    Case(
        "an exception's address",
        **function(RAISE.format("ValueError(object())"), RAISE.format("ValueError(object())")),
        glued=False,
    ),
    Case(
        "the original does not end for infinity",
        **function(
            "while x.abs().max() > 1:\n        x = x / 2\n    return x",
            "while x.abs().max() > 1:\n        x = x / 2\n    return x",
        ),
        glued=False,
    ),
    Case(
        "the original crashes for NaN",
        **function(
            "if x.isnan().any():\n        os.abort()\n    return x * 2",
            "if x.isnan().any():\n        os.abort()\n    return x * 2",
            "import os\n",
        ),
        glued=False,
    ),
    Case(
        "the original asks for too much memory for large values",
        **function(
            "return torch.zeros(10 ** int(x.max() * 9 / 40))",
            "return torch.zeros(10 ** int(x.max() * 9 / 40))",
            args="(torch.ones(4),)",
        ),
        glued=False,
    ),
    Case(
        "a copy where an arm is the input itself, as the rule said",
        "def f(x):\n    if x.abs().max() < 9:\n        return x\n    return x * 2\n",
        "def f(x):\n    return torch.where(x.abs().max() < 9, x, x * 2)\n",
        copies=True,
    ),
    Case(
        "a copy that is returned twice, with the input, where all were one, as the rule said",
        "def f(x):\n    y = x * 2\n    if x.abs().max() < 9:\n        y = x\n    return y, x, y.view(-1)\n",
        "def f(x):\n    y = x * 2\n    y = torch.where(x.abs().max() < 9, x, y)\n    return y, x, y.view(-1)\n",
        copies=True,
    ),
    Case(
        "a copy of a buffer, as the rule said",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('b', torch.ones(4))\n\n"
        "    def forward(self, x):\n        return self.b if x.abs().max() < 9 else self.b * 2\n",
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('b', torch.ones(4))\n\n"
        "    def forward(self, x):\n        return torch.where(x.abs().max() < 9, self.b, self.b * 2)\n",
        entry="N()",
        copies=True,
    ),
    Case(
        "one of two in a loop that hid the other",
        "def f(x):\n" + PRINTS.format(a="print('a')", b="print('b')"),
        "def f(x):\n" + PRINTS.format(a=GUARDED.format("a"), b="print('b')"),
        safety="effects",
        glued=False,
    ),
    Case(
        "one in a callee of a loop that hid another in the caller",
        "def g(x):\n    print('a')\n    return x + 1\n\n\n" + CALLS_IN_A_LOOP,
        f"def g(x):\n    {GUARDED.format('a')}\n    return x + 1\n\n\n" + CALLS_IN_A_LOOP,
        safety="effects",
        glued=False,
    ),
    Case(
        "the original raises where its input requires gradients",
        "def f(x):\n    h = x * 2\n    h.apply_(lambda a: a + 1)\n    return h\n",
        F + "    h.add_(1)\n    return h\n",
    ),
    Case(
        "a class that the edit defines for all calls",
        **function("return x * 2", "return x * By.k")
        | {"after": function("", "return x * By.k", "class By:\n    k = 2\n\n\n")["after"]},
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
