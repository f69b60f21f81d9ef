"""Malformed example inputs: each form says what is wanted, what was found, and where."""

from __future__ import annotations

import pytest
from client import Worker
from conftest import Write

NET = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.layer = nn.Linear(n, n)

    def forward(self, x):
        return self.layer(x)


X = torch.randn(1, 3)
"""
LINE = NET.count("\n") + 1
ITEM = "(name, callable, args, kwargs)"
MODEL = "Model, get_init_inputs, get_inputs = Net, lambda: {init}, lambda: {inputs}"
FILE = {
    "graphglue_inputs = [('n', Net(), (X,), {})]": ["a function without parameters", "a list of 1 (tuple)"],
    "def graphglue_inputs(device): yield 1": ["without arguments", "device"],
    "def graphglue_inputs(): pass": [f"must yield {ITEM}", "returns None"],
    "def graphglue_inputs(): return X": [f"must yield {ITEM}", "returns a Tensor"],
    "def graphglue_inputs(): return ('n', Net(), (X,), {})": ["return a list of it"],
    "def graphglue_inputs(): yield Net(), (X,)": [f"item 1 must be {ITEM}", "a tuple of 2 (Net, tuple)"],
    "def graphglue_inputs(): yield 1, Net(), (X,), {}": ["the name in graphglue_inputs() item 1", "an int"],
    "def graphglue_inputs(): yield 'n', X, (X,), {}": ["the callable in graphglue_inputs() item 1", "a Tensor"],
    "def graphglue_inputs(): yield 'n', Net(), X, {}": [
        "args in graphglue_inputs() item 1",
        "a Tensor; one argument is (x,)",
    ],
    "def graphglue_inputs(): yield 'n', Net(), (X,), None": ["kwargs in graphglue_inputs() item 1", "None", "{}"],
    "TESTCASES = {'a': 1}": ["TESTCASES must be a list of (class, init, forward)", "a dict"],
    "TESTCASES = (Net, lambda: ([], {}), lambda: ([X], {}))": ["item 1", "the class Net", "one case"],
    "TESTCASES = [(Net, lambda: ([], {}))]": ["item 1 must be (class, init, forward)", "a tuple of 2 (type, function)"],
    "TESTCASES = [('Net', lambda: ([], {}), lambda: ([], {}))]": ["the class in TESTCASES item 1", "a str"],
    "TESTCASES = [(Net, ([], {}), lambda: ([X], {}))]": [
        "init in TESTCASES item 1",
        "lambda: ([], {})",
        "a tuple of 2",
    ],
    "get_inputs, Model, get_init_inputs = [X], Net, list": ["get_inputs must be a function", "a list of 1 (Tensor)"],
    "get_inputs, Model, get_init_inputs = lambda n: [X], Net, list": ["get_inputs() is called without arguments", "n"],
    "get_inputs, Model, get_init_inputs = lambda: [X], Net(), list": ["Model must be a module class", "a Net"],
}
ENTRY = {
    "TESTCASES = [(Net, list, lambda: ([X], {}))]": [
        "init in TESTCASES item 1 must return (args, kwargs)",
        "an empty list",
    ],
    "TESTCASES = [(Net, lambda: ([], {}), lambda: X)]": ["forward in TESTCASES item 1", "a Tensor"],
    "TESTCASES = [(Net, lambda: ([], {}), lambda: (X, {}))]": ["a list and a dict", "a Tensor and a dict"],
    MODEL.format(init="3", inputs="[X]"): ["get_init_inputs() must return", "[list, dict]", "an int"],
    MODEL.format(init="[]", inputs="X"): ["get_inputs() must return a list", "a Tensor; one argument is [x]"],
    MODEL.format(init="[]", inputs="None"): ["get_inputs() must return a list", "None"],
}


@pytest.mark.parametrize("source", FILE)
def test_what_the_file_gives(worker: Worker, write: Write, source: str) -> None:
    done = worker.capture(write(f"{NET}{source}\n")).done
    assert done["status"] == "import_error"
    assert all(words in done["message"] for words in FILE[source]), done["message"]
    assert done["place"]["line"] == LINE and done["place"]["col"] == 0


@pytest.mark.parametrize("source", ENTRY)
def test_what_its_functions_return(worker: Worker, write: Write, source: str) -> None:
    entry = worker.capture(write(f"{NET}{source}\n")).entry
    assert entry["status"] == "eager_error"
    assert all(words in entry["message"] for words in ENTRY[source]), entry["message"]


@pytest.mark.parametrize("inputs", ["iter([X])", "(X,)", "{'x': X}"])
@pytest.mark.parametrize("init", ["[]", "{'n': 3}", "[[], {'n': 3}]", "(3,)"])
def test_every_way_to_give_a_model(worker: Worker, write: Write, init: str, inputs: str) -> None:
    entry = worker.capture(write(f"{NET}{MODEL.format(init=init, inputs=inputs)}\n")).entry
    assert (entry["status"], entry["inputs"]) == ("captured", "get_inputs"), entry


PLACES = {
    "x = 'é' + (1 =\n": ("SyntaxError", 1, 11, None),
    "def f():\n  pass\n pass\n": ("IndentationError", 3, 5, None),
    "import os\nx = os.nothing + 1\n": ("AttributeError", 2, 4, 14),
    "def f():\n    return 1 / 0\n\n\nf()\n": ("ZeroDivisionError", 2, 11, 16),
    "import sys\nsys.exit(4)\n": ("sys.exit(4)", 2, 0, 11),
    "import place_broken\n": ("SyntaxError: invalid syntax (place_broken.py line 2)", 1, 0, 19),
    "def graphglue_inputs():\n    yield 1 @ 2\n": ("TypeError", 2, 10, 15),
}


@pytest.mark.parametrize("source", PLACES)
def test_where_an_import_fails(worker: Worker, write: Write, source: str) -> None:
    write("x = 1\nx =\n", "place_broken.py")
    done = worker.capture(write(source)).done
    words, line, col, end_col = PLACES[source]
    place = done["place"]
    assert words in done["message"] and "\n" not in done["message"], done
    assert (place["line"], place["col"], place["end_col"]) == (line, col, end_col) or place["col"] is None, place


@pytest.mark.parametrize(
    ("source", "words", "line"),
    [
        ("import time\nwhile True:\n    time.sleep(0.01)\n", "importing the file did not end within 2 s", (2, 3)),
        ("def f():\n    while True:\n        pass\n\n\nf()\n", "importing the file did not end within 2 s", (2, 3)),
        ("import place_endless\n", "importing the file did not end within 2 s", (1,)),
        (
            "def graphglue_inputs():\n    while True:\n        pass\n    yield\n",
            "graphglue_inputs() did not end",
            (2, 3),
        ),
        ("import time\ntry:\n    time.sleep(60)\nexcept BaseException:\n    pass\n", "did not end within 2 s", (3,)),
    ],
)
def test_where_an_import_does_not_end(
    worker: Worker, write: Write, source: str, words: str, line: tuple[int, ...]
) -> None:
    write("while True:\n    pass\n", "place_endless.py")
    done = worker.capture(write(source), deadline_ms=2000).done
    assert done["status"] == "timeout" and words in done["message"], done
    assert done["place"]["line"] in line
