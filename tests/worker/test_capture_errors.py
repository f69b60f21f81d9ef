"""What is no break: recompilations, limits, errors inside Dynamo, runs that end badly, and the user's own torch.compile sites."""

from __future__ import annotations

import time

import pytest
from client import Worker
from conftest import Write
from test_capture import HEAD, INPUTS, capture, sites

# The loop makes `run` eager, so that each call of `g` is compiled by itself.
LOOP = """
torch._dynamo.config.automatic_dynamic_shapes = False
def g(x, i):
    x = x * i
    return x + note(i)
def note(i):
    print(i)
    return 1
def run(x):
    for i in range(5):
        x = g(x, i + 2)
    return x
"""


def test_recompilations_are_told_apart_from_breaks(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, LOOP, "run")
    # `run` is skipped, `g` is split: two functions meet the break, however often one of them is compiled.
    assert (entry["status"], [s[0] for s in sites(entry)]) == ("breaks", ["GB0059", "GB0059"])
    assert [r["function"] for r in entry["recompiles"]].count("g") == 4
    assert {r["line"] for r in entry["recompiles"] if r["function"] == "g"} == {5}
    assert "compiled again for other arguments: g 4 times (failed guard: i == 5)" in entry["message"]


def test_the_recompile_limit_is_an_error_in_plain_words(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "torch._dynamo.config.recompile_limit = 2\n" + LOOP, "run")
    said = "g was compiled 2 times, as often as torch._dynamo.config.recompile_limit allows; for other arguments"
    assert entry["message"].startswith(said)
    assert {b["id"] for b in entry["breaks"]} == {"GB0059"}, "a limit is no break"
    assert [r["function"] for r in entry["recompiles"]] == ["g"]


COUNTING = """
import sys
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0
    def forward(self, x):
        self.step += {by}
        return x * self.step
net = Net()
def f(x):
    {before}
    return net(x)
"""


@pytest.mark.parametrize("by", [1, 0])
def test_what_is_compiled_anew_on_each_call(worker: Worker, write: Write, by: int) -> None:
    """A module's number is a guard, and each call changes it."""
    entry = capture(worker, write, COUNTING.format(by=by, before="pass"))
    each = [r for r in entry["recompiles"] if r["each_call"]]
    assert (entry["status"], entry["graphs"], len(each)) == ("captured", 1, by)
    told = "compiled anew on each call, also for the same arguments: f (failed guard: "
    assert (entry["message"] or "").startswith(told) == bool(by)


def test_a_size_that_is_learnt_to_change_is_no_matter(worker: Worker, write: Write) -> None:
    body = "KEPT = [torch.ones(2, 4)]\ndef f(x):\n    KEPT[0] = torch.cat([KEPT[0], x])\n    return KEPT[0].sum() + x\n"
    entry = capture(worker, write, body)
    assert (entry["status"], entry["recompiles"], entry["message"]) == ("captured", [], None)


def test_further_calls_are_neither_seen_nor_waited_for(worker: Worker, write: Write) -> None:
    """They print nothing, and what they raise, or where they hang, takes nothing of what was found."""
    later = "CALLS.append(1)\n    if len(CALLS) > 1 and torch.compiler.is_compiling() is False: {then}"
    for then in ("time.sleep(60)", "sys.exit(3)", "print('again', flush=True)"):
        source = "import sys, time\nCALLS = []\n@torch.compiler.disable\ndef note():\n    " + later.format(then=then)
        source += "\ndef f(x):\n    note()\n    return x * 2\n"
        start = time.monotonic()
        job = worker.capture(write(HEAD + source + INPUTS.format(callee="f", args="torch.ones(4, 4)")))
        assert (job.entry["status"], len(job.entry["breaks"]) > 0, job.done["status"]) == ("breaks", True, "ok")
        assert job.done["output"].count("again") <= 1, "the eager run may say it"
        assert time.monotonic() - start < 30


WRONG_SHAPES = (
    "def f(x):\n    try:\n        return x @ torch.ones(3, 3)\n    except RuntimeError:\n        return x + 1\n"
)


def test_suppressed_errors_are_told(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "torch._dynamo.config.suppress_errors = True\n" + WRONG_SHAPES)
    assert (entry["status"], entry["graphs"], entry["breaks"]) == ("capture_error", 0, [])
    assert entry["message"].startswith("Dynamo failed inside: TorchRuntimeError: ")
    assert "line 6" in entry["message"]


def test_errors_that_dynamo_adds_the_stack_to_are_one_line(worker: Worker, write: Write) -> None:
    body = """
async def later(x):
    return x * x.sum().item()
def f(x):
    coroutine = later(x)
    try:
        coroutine.send(None)
    except StopIteration as e:
        return e.value
"""
    entry = capture(worker, write, body)
    assert (entry["status"], [s[0] for s in sites(entry)]) == ("capture_error", ["GB0124", "GB0124"])
    assert "\n" not in entry["message"]


@pytest.mark.parametrize("end", ["os.abort()", "os._exit(0)", "while True: pass"])
def test_breaks_heard_before_the_end_are_kept(worker: Worker, write: Write, end: str) -> None:
    body = f"""
import os
def f(x):
    x = x * 2
    print("heard")
    x = x + 1
    try:
        open("/dev/null")
    finally:
        {end}
    return x
"""
    entry = capture(worker, write, body, deadline_ms=5000)
    assert entry["status"] == ("timeout" if "while" in end else "crashed")
    assert [s[0] for s in sites(entry)][0] == "GB0059"
    assert entry["graphs"] == len(entry["ops"]) >= 1


def test_a_break_says_what_runs_eagerly(worker: Worker, write: Write) -> None:
    body = """
def whole(x):
    for i in range(2):
        print(i)
    return x + 1
def rest(x):
    print("first")
    x = x + 1
    for i in range(2):
        print(i)
    return x
def going_back(x):
    x = x * 2 + 1
    try:
        print("in try")
    finally:
        x = x - 1
    return x
def caller(x):
    for i in range(2):
        x = inner(x)
    return x
def inner(x):
    print("inner")
    return x + 1
"""
    expected = {
        "whole": [("skip", {"function": "whole", "rest": False})],
        "rest": [("split", None), ("skip", {"function": "rest", "rest": True})],
        "going_back": [("split", {"function": "going_back", "rest": True})],
        "caller": [("skip", {"function": "caller", "rest": False}), ("split", None)],
    }
    for name, found in expected.items():
        entry = capture(worker, write, body, name)
        assert [(b["kind"], b["eager"]) for b in entry["breaks"]] == found, name


# ---- the user's own torch.compile ----


def test_options_are_respected_and_shown(worker: Worker, write: Write) -> None:
    body = "@torch.compile(dynamic=True, mode='max-autotune')\ndef f(x):\n    return x * (x.shape[0] == 4)\n"
    entry = capture(worker, write, body)
    assert (entry["status"], entry["message"]) == (
        "captured",
        "your code compiles it with dynamic=True, mode='max-autotune'",
    )
    assert capture(worker, write, "@torch.compile\n" + body.partition("\n")[2])["message"] is None


def test_options_of_a_bound_method(worker: Worker, write: Write) -> None:
    body = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = torch.compile(self.inner, dynamic=False)
    def inner(self, x):
        return x * 2
net = Net()
"""
    assert capture(worker, write, body, "net.step")["message"] == "your code compiles it with dynamic=False"


def test_compiling_within_traced_code_does_nothing(worker: Worker, write: Write) -> None:
    body = """
class Net(nn.Module):
    def inner(self, x):
        return x * 2
    def forward(self, x):
        g = torch.compile(self.inner, mode="max-autotune")
        return g(x + 1) - 1
"""
    entry = capture(worker, write, body, "Net()")
    assert (entry["status"], entry["ops"]) == ("captured", [3])


def test_the_older_way_to_compile_does_not_run_either(worker: Worker, write: Write) -> None:
    body = """
import torch._dynamo
def backend(gm, inputs):
    raise RuntimeError("ran")
@torch._dynamo.optimize(backend)
def f(x):
    return x + 1
"""
    assert capture(worker, write, body)["status"] == "captured"


def test_a_break_in_a_function_that_must_be_one_graph(worker: Worker, write: Write) -> None:
    body = """
@torch.compile(fullgraph=True)
def whole(x):
    print("a")
    return x + 1
def f(x):
    return whole(x) * 2
"""
    entry = capture(worker, write, body)
    said = "whole is compiled with fullgraph=True and would raise: Failed to trace builtin operator (GB0059)"
    assert (entry["status"], entry["message"]) == ("breaks", said)


def test_disabled_and_wrong_options(worker: Worker, write: Write) -> None:
    assert (
        capture(worker, write, "@torch.compile(disable=True, dynamic=True)\ndef f(x):\n    return x + 1\n")["message"]
        is None
    )
    job = worker.capture(write(HEAD + "@torch.compile(dynamical=True)\ndef f(x):\n    return x + 1\n"))
    assert job.done["status"] == "import_error"
    assert "dynamical" in job.done["message"]
