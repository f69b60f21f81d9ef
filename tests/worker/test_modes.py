"""Entries run without gradients, but for what takes gradients itself: that runs with them, in every job alike."""

from __future__ import annotations

from typing import Any

import pytest
from client import Worker
from conftest import Write

HEAD = "import torch\nfrom torch import nn\n\n\n"
NOTE = "run with gradients, since it takes some itself"
ENERGY = (
    HEAD
    + """class EnergyForce(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, pos):
        pos = pos.detach().requires_grad_(True)
        energy = self.net(pos).sum()
        (grad,) = torch.autograd.grad(energy, pos, create_graph=True)
        return energy, -grad


"""
)
BACKWARD = (
    HEAD
    + """def step(x):
    w = torch.ones(3, requires_grad=True)
    (x * w).pow(2).sum().backward()
    return w.detach() - 0.1 * w.grad


"""
)
INNER = (
    HEAD
    + """class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        w = self.w
        for _ in range(2):
            (g,) = torch.autograd.grad((x @ w).pow(2).mean(), (w,), create_graph=True)
            w = w - 0.1 * g
        return x @ w


"""
)
# No tensor of it ever requires gradients.
NEITHER = (
    HEAD
    + """def f(x):
    y = x.detach() * 2
    (g,) = torch.autograd.grad(y.sum(), y)
    return g


"""
)
# It gets further with gradients, and fails there as in the program itself.
FURTHER = (
    HEAD
    + """def f(x):
    w = torch.ones(3, requires_grad=True)
    (x * w).sum().backward()
    raise ValueError("not yet written")


"""
)
NORMAL = (
    HEAD
    + """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        return y + float(y.requires_grad)


"""
)
HOOK = (
    HEAD
    + """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        y.register_hook(lambda g: g * 2)
        return y * 2


"""
)
GIVEN = "def graphglue_inputs():\n    yield 'e', {}, (torch.randn(4, 3),), {{}}\n"
MODEL = "Model, get_init_inputs, get_inputs = {}, lambda: [], lambda: [torch.randn(4, 3)]\n"
SETTING = "torch._dynamo.config.trace_autograd_ops = True\n\n\n"


def _verify(worker: Worker, file: str, before: str, after: str, **keys: Any) -> dict[str, Any]:
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": before}],
        edited=[{"file": file, "text": after}],
        deadline_ms=120_000,
        **keys,
    )
    frames = list(worker.frames(job, 240))
    return next((f["verdict"] for f in frames if f["op"] == "verdict"), frames[-1])


@pytest.mark.parametrize(
    ("source", "site"),
    [
        (ENERGY + GIVEN.format("EnergyForce()"), "autograd.grad"),
        (ENERGY + MODEL.format("EnergyForce"), "autograd.grad"),
        (BACKWARD + GIVEN.format("step"), "backward"),
    ],
    ids=["energy", "model", "backward"],
)
def test_what_takes_gradients_runs_with_them(worker: Worker, write: Write, source: str, site: str) -> None:
    entry = worker.capture(write(source)).entry
    assert entry["status"] == "breaks" and NOTE in entry["message"]
    assert any(site in b["reason"] + b["explanation"] + str(b["context"]) for b in entry["breaks"]), entry["breaks"]


def test_hooks_are_for_gradients_too(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(HOOK + GIVEN.format("Net()"))).entry
    assert entry["status"] in ("captured", "breaks") and NOTE in entry["message"]


def test_deduced_inputs_are_found_for_it(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(ENERGY)).entry
    assert entry["inputs"] == "deduced" and entry["status"] == "breaks"
    assert "inputs deduced" in entry["message"] and NOTE in entry["message"]


def test_an_error_in_both_modes_is_that_without(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(NEITHER + GIVEN.format("f"))).entry
    assert entry["status"] == "eager_error" and "does not require grad" in entry["message"]
    assert NOTE not in entry["message"]


def test_an_error_of_its_own_is_told(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(FURTHER + GIVEN.format("f"))).entry
    assert entry["status"] == "eager_error" and "ValueError: not yet written" in entry["message"]


def test_others_run_without(worker: Worker, write: Write) -> None:
    before = NORMAL + GIVEN.format("Net()")
    file = write(before)
    entry = worker.capture(file).entry
    assert entry["status"] == "captured" and entry["message"] is None
    # ... and so it is verified: with gradients it would return one more
    verdict = _verify(worker, file, before, before.replace("y + float(y.requires_grad)", "y + 0.0"))
    assert "returns" not in " ".join(verdict["reasons"]) and verdict["outputs"] == "identical"


@pytest.mark.parametrize("told", [True, False], ids=["told", "not_told"])
@pytest.mark.parametrize("sandbox", [True, False], ids=["sandboxed", "own"])
def test_both_sides_of_a_verification(worker: Worker, write: Write, told: bool, sandbox: bool) -> None:
    after = ENERGY + GIVEN.format("EnergyForce()")
    before = after.replace("        return", "        torch._dynamo.graph_break()\n        return")
    file = write(before)
    if told:
        assert worker.capture(file).entry["status"] == "breaks"
    verdict = _verify(worker, file, before, after, sandbox=sandbox)
    assert verdict["accepted"] and verdict["outputs"] == "identical", verdict
    assert verdict["breaks_before"] > verdict["breaks_after"] > 0


def test_an_inner_loop_is_glued(worker: Worker, write: Write) -> None:
    before = INNER + GIVEN.format("Inner()")
    verdict = _verify(worker, write(before), before, before.replace("class ", SETTING + "class ", 1), safety="config")
    assert verdict["accepted"] and verdict["glued"] and verdict["outputs"] == "identical", verdict


def test_a_wrong_force_is_refused(worker: Worker, write: Write) -> None:
    before = ENERGY + GIVEN.format("EnergyForce()")
    after = before.replace("class ", SETTING + "class ", 1).replace("-grad", "grad")
    verdict = _verify(worker, write(before), before, after, safety="config")
    assert not verdict["accepted"] and "result" in " ".join(verdict["reasons"])


def test_a_force_without_its_gradient_is_refused(worker: Worker, write: Write) -> None:
    """The edited code would not need gradients: it is run with them, as the original is."""
    before = ENERGY + GIVEN.format("EnergyForce()")
    after = before.replace("return energy, -grad", "return energy, -grad.detach()")
    verdict = _verify(worker, write(before), before, after, safety="config")
    assert not verdict["accepted"]


def test_each_capture_finds_out_anew(worker: Worker, write: Write) -> None:
    file = write(ENERGY + GIVEN.format("EnergyForce()"))
    assert NOTE in worker.capture(file).entry["message"]
    text = NORMAL + GIVEN.format("Net()")
    entry = worker.capture(file, overlay=[{"file": file, "text": text}]).entry
    assert entry["status"] == "captured" and entry["message"] is None


def test_its_graphs(worker: Worker, write: Write) -> None:
    file = write(ENERGY + GIVEN.format("EnergyForce()"))
    frames = list(worker.frames(worker.submit("graphs", file)))
    graphs = next(f["graphs"] for f in frames if f["op"] == "graphs")
    assert graphs["graphs"] and graphs["message"] is None and graphs["breaks"]


def test_its_figures(worker: Worker, write: Write) -> None:
    before = ENERGY + GIVEN.format("EnergyForce()")
    file = write(before)
    job = worker.submit(
        "bench",
        file,
        original=[{"file": file, "text": before}],
        edited=[{"file": file, "text": before.replace("class ", SETTING + "class ", 1)}],
    )
    bench = next(f["bench"] for f in worker.frames(job, 240) if f["op"] == "bench")
    for which in ("eager", "before", "after"):
        assert bench[which]["error"] is None and bench[which]["median_ms"] > 0, (which, bench[which])
