"""Facts of attributes: what a function reads through its locals, without running anything of the user's."""

from __future__ import annotations

from typing import Any

from client import Worker
from conftest import Write

HEAD = "import torch\nfrom torch import nn\n"
INPUTS = "\ndef graphglue_inputs():\n    yield 'f', {}, (torch.ones(4, 4),), {{}}\n"

MODULE = """
def twice(x):
    return x * 2


class Config:
    eps = 1e-5

    def __init__(self):
        self.heads = 4


class Net(nn.Module):
    limit = 4.0
    read = []

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.lin = nn.Linear(4, 4)
        self.register_buffer("buf", torch.zeros(2, 3).T)
        self.config = Config()
        self.scale = 0.5
        self.twice = twice
        self.changed = 1

    @property
    def threshold(self):
        self.read.append(1)
        return 0.0

    def forward(self, x):
        self.changed = torch.zeros(2, 4, 4)
        h = self.twice(self.lin(x)) * self.weight * self.scale + self.limit + self.config.heads + self.config.eps
        if h.sum() > self.threshold:
            h = h + self.lin.weight + self.changed.sum() + self.buf.sum() + (1 if self.training else 2)
        return h
"""


def facts_of(worker: Worker, write: Write, body: str, callee: str) -> dict[str, Any]:
    job = worker.capture(write(HEAD + body + INPUTS.format(callee)))
    assert job.done["status"] == "ok", job.done
    return job.entry["breaks"][0]["facts"]


def test_attributes(worker: Worker, write: Write) -> None:
    facts = facts_of(worker, write, MODULE, "Net()")
    tensors = {n: (facts[n]["dtype"], facts[n]["shape"]) for n in ("self.weight", "self.lin.weight", "self.buf")}
    assert tensors == {
        "self.weight": ("torch.float32", [4]),
        "self.lin.weight": ("torch.float32", [4, 4]),
        "self.buf": ("torch.float32", [3, 2]),
    }
    assert facts["self.buf"]["layout"] == "dense"
    assert "layout" not in facts["self.weight"]
    numbers = {n: f["number"] for n, f in facts.items() if "." in n and "number" in f}
    assert numbers == {
        "self.scale": 0.5,
        "self.limit": 4.0,
        "self.config.heads": 4,
        "self.config.eps": 1e-5,
        "self.training": 1,
    }
    assert facts["self.training"]["kind"] == "bool"
    assert facts["self.config"]["type"] == "Config"
    assert facts["self.twice"]["type"] == "function"


def test_an_attribute_set_on_the_way_is_as_it_was_set(worker: Worker, write: Write) -> None:
    assert facts_of(worker, write, MODULE, "Net()")["self.changed"]["shape"] == [2, 4, 4]


def test_no_property_is_read(worker: Worker, write: Write) -> None:
    body = MODULE + "\nclass Silent(Net):\n    def forward(self, x):\n        if x.sum() > 0:\n"
    body += "            return x * self.threshold\n        return x * len(self.read)\n"
    facts = facts_of(worker, write, body, "Silent()")
    assert "self.threshold" not in facts
    assert facts["self.read"]["kind"] == "list"


OF_A_PROPERTY = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.ones(3))

    @property
    def ready(self):
        return self.seen.sum() > 0

    def forward(self, x):
        if self.ready:
            x = x + 1
        return x
"""


def test_what_a_property_reads(worker: Worker, write: Write) -> None:
    facts = facts_of(worker, write, OF_A_PROPERTY, "Net()")
    assert facts["self.seen"]["shape"] == [3] and "self.ready" not in facts


def test_an_attribute_that_a_function_answers_for_is_not_read(worker: Worker, write: Write) -> None:
    body = """
class Odd:
    def __init__(self):
        self.n = 2

    def __getattribute__(self, name):
        return 3 if name == "n" else object.__getattribute__(self, name)


ODD = Odd()


def f(x, odd=ODD):
    if x.sum() > 0:
        x = x * odd.n
    return x
"""
    assert "odd.n" not in facts_of(worker, write, body, "f")


def test_layouts(worker: Worker, write: Write) -> None:
    body = """
def f(x):
    a, b, c, d = x.T, x[:, :2], x[:2], x.expand(3, 4, 4)
    one = x[:, :1].T
    if x.sum() > 0:
        x = a + b.sum() + c.sum() + d.sum() + one.sum()
    return x
"""
    facts = facts_of(worker, write, body, "f")
    said = {n: facts[n].get("layout") for n in ("x", "a", "b", "c", "d", "one")}
    assert said == {"x": None, "a": "dense", "b": "strided", "c": None, "d": "strided", "one": "strided"}


SPECIAL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(4), requires_grad=False)
        self.buf = nn.Buffer(torch.ones(4))
        self.register_buffer("plain", torch.ones(4))

    def forward(self, x):
        q, y = self.p, x * 2
        if x.sum() > 0:
            x = y + self.p + self.buf + self.plain + q
        return x
"""


def test_tensors_that_are_no_plain_ones(worker: Worker, write: Write) -> None:
    facts = facts_of(worker, write, SPECIAL, "Net()")
    said = {n: facts[n].get("type") for n in ("x", "y", "q", "self.p", "self.buf", "self.plain")}
    special = {"q": "Parameter", "self.p": "Parameter", "self.buf": "Tensor with attributes"}
    assert said == {"x": None, "y": None, "self.plain": None, **special}


COUNTER = """
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x):
        if x.sum() > 0:
            self.count += 1
        return x
"""


def test_attributes_that_are_only_changed_in_place(worker: Worker, write: Write) -> None:
    assert facts_of(worker, write, COUNTER, "Counter()")["self.count"]["dtype"] == "torch.int64"


AGAIN = """
def halved(t, act):
    if t.sum() > 0:
        t = act.of(t / 2)
    return t


class Act:
    def __init__(self, of):
        self.of = of


def f(x):
    a = halved(x, Act(nn.ReLU()))
    b = halved(x.t(), Act(nn.Dropout(0.5)))
    return a + b + halved(x.clone().requires_grad_(), Act(nn.ReLU()))
"""


def test_what_is_not_so_at_a_later_time_is_not_told(worker: Worker, write: Write) -> None:
    breaks = worker.capture(write(HEAD + AGAIN + INPUTS.format("f"))).entry["breaks"]
    of_its_own = next(b["facts"] for b in breaks if b["facts"]["t"]["requires_grad"])  # compiled thrice
    assert of_its_own["t"]["layout"] == "strided"
    assert "steps" not in of_its_own["act.of"]
