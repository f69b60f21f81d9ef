"""Files that give no inputs: constructor and arguments are deduced, or it is said why not and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from client import Worker
from conftest import Write
from undescribed import HEAD, RUN


@pytest.mark.parametrize("name", RUN)
def test_what_can_be_deduced(worker: Worker, write: Write, name: str) -> None:
    job = worker.capture(write(HEAD + RUN[name]))
    entry = job.entries["Net"]
    assert entry["inputs"] == "deduced" and entry["status"] == "captured", entry
    assert entry["message"].startswith("inputs deduced: Net("), entry


INSIDE = (
    HEAD
    + """class Inner(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.a = nn.Linear(table.pick('wide'), 8)

    def forward(self, h, where):
        if where.sum() > 0:
            h = h + 1
        return self.a(h)


class Table:
    def pick(self, name):
        return {'wide': 20}[name]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 20)
        self.inner = Inner(Table())

    def forward(self, tokens):
        return self.inner(self.e(tokens), tokens > 3)
"""
)


def test_inside_the_class_that_contains_it(worker: Worker, write: Write) -> None:
    job = worker.capture(write(INSIDE))
    inner = job.entries["Inner"]
    assert inner["inputs"] == "deduced" and inner["message"].startswith("inputs deduced: Net().inner("), inner
    assert [b["id"] for b in inner["breaks"]] == ["GB0170"]


FUNCTIONS = (
    HEAD
    + """@torch.compile
def attend(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value)


def plain(x):
    return x


@torch.compile(dynamic=True)
def mix(a: torch.Tensor, rate: float, n: int) -> torch.Tensor:
    print('mixing')
    return a * rate + n


later = torch.compile(plain)
"""
)


def test_compiled_functions(worker: Worker, write: Write) -> None:
    job = worker.capture(write(FUNCTIONS))
    assert {n: (e["inputs"], e["status"]) for n, e in job.entries.items()} == {
        "attend": ("deduced", "captured"),
        "plain": ("deduced", "nothing_to_capture"),
        "mix": ("deduced", "breaks"),
    }


REFUSED = (
    HEAD
    + """class Asks(nn.Module):
    def __init__(self, service):
        super().__init__()
        self.rows = service.connect(port=8080).rows()

    def forward(self, x):
        return x


class Refuses(nn.Module):
    def forward(self, x):
        raise RuntimeError('only on the cluster')


class Exits(nn.Module):
    def forward(self, x):
        os._exit(3)


class Hangs(nn.Module):
    def forward(self, x):
        while True:
            pass


class Whole(nn.Module):
    def forward(self, x):
        return x + 1
"""
)


def test_what_cannot_be_deduced_says_why_and_harms_nothing_else(worker: Worker, write: Write) -> None:
    job = worker.capture(write(REFUSED), deadline_ms=60_000)
    assert job.done["status"] == "ok", job.done
    said = {n: e["message"] for n, e in job.entries.items()}
    for name, words in {
        "Asks": "connect",
        "Refuses": "only on the cluster",
        "Exits": "exit code 3",
        "Hangs": "time was up",
    }.items():
        entry = job.entries[name]
        assert (entry["inputs"], entry["status"]) == ("none", "no_inputs"), entry
        assert words in said[name] and "graphglue_inputs()" in said[name] and "graphglue-lsp record" in said[name]
    assert job.entries["Whole"]["status"] == "captured"


BRANCH = (
    HEAD
    + """class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.a(x)
        if h.sum() > 0:
            h = h + 1
        return h
"""
)
WHERE = ("        if h.sum() > 0:\n            h = h + 1\n", "        h = torch.where(h.sum() > 0, h + 1, h)\n")
WRONG = (WHERE[0], "        h = torch.where(h.sum() > 0, h + 1, h - 1)\n")


@pytest.mark.parametrize(("edit", "accepted"), [(WHERE, True), (WRONG, False)])
@pytest.mark.parametrize("captured_before", [True, False])
def test_edits_are_verified_on_deduced_inputs(
    worker: Worker, write: Write, edit: tuple[str, str], accepted: bool, captured_before: bool
) -> None:
    file = write(BRANCH)
    if captured_before:
        assert worker.capture(file).entry["status"] == "breaks"
    edited = [{"file": file, "text": BRANCH.replace(*edit)}]
    job = worker.submit("verify", file, original=[{"file": file, "text": BRANCH}], edited=edited, safety="exact")
    frames: list[Any] = list(worker.frames(job))
    verdict = next(f["verdict"] for f in frames if f["op"] == "verdict")
    assert (verdict["accepted"], verdict["glued"]) == (accepted, accepted), verdict["reasons"]
    assert not any(f["op"] == "plan" for f in frames), "what the worker keeps for itself was sent on"


UNWRITTEN = BRANCH.replace(
    "        self.a = nn.Linear(dim, dim)\n",
    "        before = torch.full((dim, dim), time.time())\n"
    "        del before  # the next of its size gets its memory\n"
    "        self.a = nn.Linear(dim, dim)\n"
    "        self.a.weight = nn.Parameter(torch.empty(dim, dim))\n",
)


def test_parameters_that_nobody_writes_hold_the_same_every_time(worker: Worker, write: Write) -> None:
    file, text = write(UNWRITTEN), UNWRITTEN
    edited = [{"file": file, "text": text.replace(*WHERE)}]
    job = worker.submit("verify", file, original=[{"file": file, "text": text}], edited=edited, safety="exact")
    verdict = next(f["verdict"] for f in worker.frames(job) if f["op"] == "verdict")
    assert verdict["accepted"] and verdict["glued"], verdict["reasons"]


def test_the_same_inputs_every_time(worker: Worker, write: Write) -> None:
    file = write(BRANCH)
    first, second = worker.capture(file).entry, worker.capture(file).entry
    assert first == second


def test_a_changed_program_gets_other_inputs(worker: Worker, write: Write) -> None:
    file = write(BRANCH)
    assert "Net(dim=32)(torch.randn(2, 16, 32))" in worker.capture(file).entry["message"]
    changed = BRANCH.replace("nn.Linear(dim, dim)", "nn.Conv2d(3, dim, 3)")
    entry = worker.capture(file, overlay=[{"file": file, "text": changed}]).entry
    assert entry["status"] == "breaks" and "torch.randn(2, 3, 32, 32)" in entry["message"], entry


def test_train(worker: Worker, write: Write) -> None:
    file = write(
        HEAD
        + RUN["convolution"].replace(
            "        return",
            "        if self.training and torch.is_grad_enabled():\n            print()\n        return",
        )
    )
    assert worker.capture(file).entry["status"] == "captured"
    assert worker.capture(file, train=True).entry["status"] == "breaks"


LONG = (
    HEAD
    + """class Net(nn.Module):
    def forward(self, x):
        big = torch.ones(4000, 4000)
        for _ in range(1000):
            big = big @ big
        return x + big[0, 0]
"""
)


def test_one_long_operation_after_another(worker: Worker, write: Write) -> None:
    entry = worker.capture(write(LONG)).entry
    assert entry["status"] == "no_inputs" and "time was up" in entry["message"], entry


def test_the_unsaved_file_itself_is_among_what_was_read(worker: Worker, write: Write) -> None:
    """Else a stored "no inputs" would be served for whatever the file becomes."""
    file = write("")
    text = (
        HEAD
        + "class Net(nn.Module):\n    def __init__(self, path):\n        open(path)\n\n    def forward(self, x):\n        pass\n"
    )
    done = worker.capture(file, overlay=[{"file": file, "text": text}]).done
    assert {"file": file, "origin": "workspace"} in done["reads"], done


def test_classes_in_classes(worker: Worker, write: Write) -> None:
    text = "class Outer:\n    class Net(nn.Module):\n        def forward(self, x):\n            print(x.sum())\n            return x * 2\n"
    entry = worker.capture(write(HEAD + text)).entries["Outer.Net"]
    assert entry["status"] == "breaks" and entry["message"].startswith("inputs deduced: Outer.Net()("), entry


def test_only_what_returns_the_object_is_called(worker: Worker, write: Write) -> None:
    path = write(HEAD + RUN["factory"])
    message = worker.capture(path).entries["Net"]["message"]
    assert "Net(widths=[4, 8, 12], head='linear')" in message, message
    assert not Path(f"{path}.ran").exists()
