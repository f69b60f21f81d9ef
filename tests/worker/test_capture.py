"""What a capture says of user code: status, breaks with their exact ranges, facts, graphs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import constructs
import pytest
from client import Frame, Worker
from conftest import Write

HEAD = "import torch\nfrom torch import nn\n"
INPUTS = "\ndef graphglue_inputs():\n    yield 'f', {callee}, ({args},), {{}}\n"
FIXTURES = Path(__file__).parent.parent / "fixtures"


def capture(
    worker: Worker, write: Write, body: str, callee: str = "f", args: str = "torch.ones(4, 4)", **keys: Any
) -> Frame:
    """Capture one entry whose code starts on line 3."""
    job = worker.capture(write(HEAD + body + INPUTS.format(callee=callee, args=args)), **keys)
    assert job.done["status"] == "ok", job.done
    return job.entry


def text_of(frame: Frame) -> str:
    """The source a frame's range covers, when it lies on one line; else its lines."""
    lines = Path(frame["file"]).read_bytes().split(b"\n")
    if frame["line"] == frame["end_line"] and frame["col"] is not None:
        return lines[frame["line"] - 1][frame["col"] : frame["end_col"]].decode()
    return b"\n".join(lines[frame["line"] - 1 : frame["end_line"]]).decode()


def sites(entry: Frame) -> list[tuple[str, str]]:
    """(id, source of the innermost frame) of each record."""
    return [(b["id"], text_of(b["stack"][0])) for b in entry["breaks"]]


columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no columns")


def test_whole_capture(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    return (x * 2).sum() + 1\n")
    assert (entry["status"], entry["graphs"], entry["ops"], entry["breaks"]) == ("captured", 1, [3], [])
    assert (entry["name"], entry["inputs"], entry["class"], entry["line"]) == ("f", "graphglue_inputs", None, 3)


def test_nothing_to_capture(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    return x.shape\n")
    assert (entry["status"], entry["graphs"]) == ("nothing_to_capture", 0)


def test_skipped_frame_is_no_empty_capture(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    for i in range(2):\n        x = x + x.sum().item()\n    return x\n")
    assert (entry["status"], entry["graphs"]) == ("breaks", 0)
    record = entry["breaks"][0]
    assert (record["id"], record["kind"], record["in_loop"], record["aggravations"]) == (
        "GB0124",
        "skip",
        True,
        ["GB7000"],
    )


def test_print_as_the_last_line_breaks_one_graph(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    x = x * 2\n    print('end')\n    return x\n")
    assert (entry["status"], entry["graphs"], sites(entry)) == ("breaks", 1, [("GB0059", "print('end')")])


@columns
def test_ranges_are_the_offending_expressions(worker: Worker, write: Write) -> None:
    body = """
class Net(nn.Module):
    def forward(self, x):
        x = x * 2; y = x.sum().item(); x = x + y
        if x.sum() > 0: x = x + 1
        héé = x + len("é" * int((x > 0).sum()))
        return x + héé
"""
    entry = capture(worker, write, body, "Net()")
    assert sites(entry)[:2] == [("GB0124", "x.sum().item()"), ("GB0170", "x.sum() > 0")]
    assert entry["breaks"][0]["kind"] == "split"
    assert {b["stack"][0]["function"] for b in entry["breaks"]} == {"Net.forward"}
    assert all(len(b["stack"]) == 1 for b in entry["breaks"]), "a resumed call is one frame"
    assert sites(entry)[2][1] == "int((x > 0).sum())"


@columns
def test_stack_through_inlined_calls(worker: Worker, write: Write) -> None:
    body = """
def inner(x):
    if x.sum() > 0:
        return x + 1
    return x

class Part(nn.Module):
    def forward(self, x):
        return inner(x) * 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, x):
        return self.part(x * 3)
"""
    entry = capture(worker, write, body, "Net()")
    assert {site for site in sites(entry)} == {("GB0170", "x.sum() > 0")}
    for record in entry["breaks"]:
        users = [f for f in record["stack"] if f["origin"] == "workspace"]
        assert [f["function"] for f in users] == ["inner", "Part.forward", "Net.forward"]
        assert [text_of(f) for f in users[:2]] == ["x.sum() > 0", "inner(x)"]


def test_facts_and_value(worker: Worker, write: Write) -> None:
    body = """
def f(x, n=3, name="a"):
    h = x.half().requires_grad_(False)
    pair, table, none = (h, 1), {"k": h}, None
    later = 1
    if h.sum() > 0:
        h = h + n + len(name) + pair[1] + table["k"] + (0 if none else 1)
    later = 2
    return h + later
"""
    facts = (record := capture(worker, write, body)["breaks"][0])["facts"]
    assert facts["h"] == {
        "kind": "tensor",
        "dtype": "torch.float16",
        "shape": [4, 4],
        "requires_grad": False,
        "device": "cpu",
    }
    kinds = {"n": "int", "name": "str", "pair": "tuple", "table": "dict", "none": "none"}
    assert {k: facts[k]["kind"] for k in kinds} == kinds
    assert (record["value"]["kind"], record["value"]["dtype"], record["value"]["shape"]) == ("tensor", "torch.bool", [])
    assert not [name for name in facts if name.startswith("__")]


def test_parts_of_the_message(worker: Worker, write: Write) -> None:
    record = capture(worker, write, "def f(x):\n    x = x + x.sum().item()\n    return x\n")["breaks"][0]
    assert record["type"] == "Unsupported Tensor.item() call with capture_scalar_outputs=False"
    assert record["reason"].startswith(record["type"])
    assert (
        record["explanation"]
        == "Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False."
    )
    assert "item" in record["context"]
    assert record["hints"]


def test_eager_error(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    return x @ torch.ones(3, 3)\n")
    assert (entry["status"], entry["breaks"]) == ("eager_error", [])
    assert "RuntimeError" in entry["message"]
    assert "line 4" in entry["message"]


@columns
def test_behind_a_break_in_an_expression_of_several_lines(worker: Worker, write: Write) -> None:
    """Dynamo's own table of lines counts the lines of the first break twice in what continues behind it."""
    body = "def f(x):\n    n = (x > 0).nonzero(\n        as_tuple=True\n    )[\n        0\n    ].tolist()\n    return len(n) + x\n"
    entry = capture(worker, write, body)
    frames = [b["stack"][0] for b in entry["breaks"]]
    assert [b["id"] for b in entry["breaks"]] == ["GB0036", "GB0033"]
    assert [(f["line"], f["end_line"], f["col"], f["end_col"]) for f in frames] == [(4, 6, 8, 5), (8, 8, 6, 14)]


@pytest.mark.parametrize("name", ["my.net.py", "my-net 2.py", "1st.py", "größe.py"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_may_have_any_name(worker: Worker, write: Write, name: str, packed: bool) -> None:
    body = "def f(x):\n    return x * 2\n"
    folder = Path(write("")).parent / ("packed" if packed else "not packed")
    folder.mkdir(exist_ok=True)
    if packed:
        (folder / "__init__.py").write_text("")
        (folder / "helper.py").write_text("TWO = 2\n")
        body = "from .helper import TWO\ndef f(x):\n    return x * TWO\n"
    file = folder / name
    file.write_text(HEAD + body + INPUTS.format(callee="f", args="torch.ones(4, 4)"), encoding="utf-8")
    job = worker.capture(str(file))
    assert (job.done["status"], job.entry["status"]) == ("ok", "captured"), job.done


def test_wrong_outputs_are_a_capture_error(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    return x + 1 if torch.compiler.is_compiling() else x\n")
    assert (entry["status"], entry["graphs"]) == ("capture_error", 1)
    assert "differ" in entry["message"]


SIZES = "def f(x):\n    y = torch.FloatTensor(x.size())\n    return {then}\n"


@pytest.mark.parametrize(
    ("then", "status"),
    [("y.fill_(1)", "capture_error"), ("y.fill_(1) @ x.T", "capture_error"), ("x + 0 * y.dim()", "captured")],
    ids=["another result", "an error", "nothing comes of it"],
)
def test_sizes_taken_for_data_are_told_where_something_comes_of_it(
    worker: Worker, write: Write, then: str, status: str
) -> None:
    entry = capture(worker, write, SIZES.format(then=then))
    assert entry["status"] == status
    told = [(b["id"], b["kind"], b["stack"][0]["line"]) for b in entry["breaks"] if b["id"] == "size-as-data"]
    assert told == ([] if status == "captured" else [("size-as-data", "split", 4)])


def test_a_tuple_is_data_to_python_too(worker: Worker, write: Write) -> None:
    entry = capture(
        worker, write, "def f(x):\n    return x + torch.Tensor((2, 3)).sum() + torch.Tensor(2, 3).fill_(0).sum()\n"
    )
    assert (entry["status"], entry["breaks"]) == ("captured", [])


def test_error_only_when_compiled(worker: Worker, write: Write) -> None:
    body = "def f(x):\n    try:\n        return x @ torch.ones(3, 3)\n    except RuntimeError:\n        return x + 1\n"
    entry = capture(worker, write, body)
    assert entry["status"] == "capture_error"
    assert entry["message"].startswith("running it compiled raised TorchRuntimeError")
    assert "\n" not in entry["message"]
    assert "line 5" in entry["message"]
    (record,) = entry["breaks"]
    assert (record["id"], record["kind"], record["stack"][0]["line"]) == ("GB4315", "skip", 5)
    assert record["facts"]["x"]["kind"] == "tensor"


def test_an_operation_that_fails_anyway_is_no_break(worker: Worker, write: Write) -> None:
    entry = capture(worker, write, "def f(x):\n    return x @ torch.ones(3, 3)\n")
    assert (entry["status"], entry["breaks"]) == ("eager_error", [])


def test_an_error_that_a_function_without_dynamo_catches_is_no_break(worker: Worker, write: Write) -> None:
    body = """
def inner(x):
    return x @ torch.ones(3, 3)
def f(x):
    try:
        torch._dynamo.graph_break()
        return inner(x)
    except RuntimeError:
        return x + 1
"""
    entry = capture(worker, write, body)
    assert (entry["status"], [s[0] for s in sites(entry)]) == ("breaks", ["GB0025"])


def test_results_that_change_from_run_to_run_are_not_judged(worker: Worker, write: Write) -> None:
    body = "import os\nSEED = 0\ndef f(x):\n    return x * SEED\ndef build():\n    global SEED\n    SEED = os.getpid()\n    return f\n"
    assert capture(worker, write, body, "build()")["status"] == "captured"


def test_state_of_one_run_does_not_reach_the_next(worker: Worker, write: Write) -> None:
    body = "CALLS = 0\ndef f(x):\n    global CALLS\n    CALLS += 1\n    return x * CALLS\n"
    job = worker.capture(
        write(
            HEAD
            + body
            + INPUTS.format(callee="f", args="torch.ones(2)")
            + "    yield 'again', f, (torch.ones(2),), {}\n"
        )
    )
    assert [e["status"] for e in job.entries.values()] == ["captured", "captured"]
    assert len({str(e["ops"]) for e in job.entries.values()}) == 1


def test_recompiling_is_no_break(worker: Worker, write: Write) -> None:
    body = "def f(x):\n    return g(x) + g(x[:2]).sum()\ndef g(x):\n    return x * x.shape[0]\n"
    assert capture(worker, write, body)["status"] == "captured"


def test_the_users_own_compile_does_not_run(worker: Worker, write: Write) -> None:
    body = """
def backend(gm, inputs):
    raise RuntimeError("the user's backend ran")

@torch.compile(backend=backend, fullgraph=True)
def f(x):
    x = x + 1
    print("a")
    return x

class Net(nn.Module):
    def forward(self, x):
        return f(x) + 1

net = Net()
net.compile(backend=backend)
whole = torch.compile(net, backend=backend)
"""
    entry = capture(worker, write, body)
    assert (entry["status"], entry["graphs"]) == ("breaks", 1)
    assert "fullgraph=True" in entry["message"]
    assert capture(worker, write, body, "whole")["graphs"] == 2


def test_gradients_and_mode_are_as_yielded(worker: Worker, write: Write) -> None:
    body = """
class Net(nn.Module):
    def forward(self, x):
        if self.training: print("training")
        if torch.is_grad_enabled(): print("gradients")
        return x + 1
"""
    assert capture(worker, write, body, "Net().eval()")["breaks"] == []
    assert [b["stack"][0]["line"] for b in capture(worker, write, body, "Net()")["breaks"]] == [6]
    grad = capture(worker, write, body, "Net().eval()", "torch.ones(2, requires_grad=True)")
    assert [b["stack"][0]["line"] for b in grad["breaks"]] == [7]
    assert [b["stack"][0]["line"] for b in capture(worker, write, body, "Net().eval()", train=True)["breaks"]] == [6, 7]


def test_settings_of_the_environment_do_not_switch_dynamo_off(write: Write, workspace: Path) -> None:
    worker = Worker([str(workspace)], env={"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}).start()
    assert capture(worker, write, "def f(x):\n    return x + 1\n")["graphs"] == 1
    assert worker.close() == 0


def test_origin_of_frames(worker: Worker, write: Write, workspace: Path) -> None:
    installed = workspace / "lib" / "site-packages"
    installed.mkdir(parents=True, exist_ok=True)
    (installed / "shelf.py").write_text("def apply(fn, x):\n    return fn(x)\n")
    body = f"""
import functools, sys
sys.path.insert(0, {str(installed)!r})
import shelf
def g(x):
    print("a")
    return x + 1
def f(x):
    return shelf.apply(g, x * 2)
"""
    stack = capture(worker, write, body)["breaks"][0]["stack"]
    assert [(f["function"], f["origin"]) for f in stack] == [
        ("g", "workspace"),
        ("apply", "library"),
        ("f", "workspace"),
    ]


MODELS = {"t5": 4, "whisper": 4, "bart": 4, "biogpt": 3, "layoutlmv3": 3, "phi3_longrope": 6}
CALLS = {"layoutlmv3": "warnings.warn(", "phi3_longrope": "seq_len > original_max_position_embeddings"}


@pytest.mark.parametrize("name", MODELS)
def test_transformers_models(worker: Worker, write: Write, workspace: Path, name: str) -> None:
    pytest.importorskip("transformers")
    shutil.copy(Path(__file__).parents[2] / "bench" / "models.py", workspace / "hf_models.py")
    body = f"import hf_models\ndef graphglue_inputs():\n    m, kwargs = hf_models.{name}()\n    yield {name!r}, m.eval(), (), kwargs\n"
    job = worker.capture(write(body), deadline_ms=120_000)
    entry = job.entry
    assert (entry["status"], entry["graphs"], entry["message"]) == ("breaks", MODELS[name], None)
    expected = CALLS.get(name, "logger.warning_once(")
    for record in entry["breaks"]:
        frame = record["stack"][0]
        assert frame["origin"] == "library"
        assert f"{os.sep}transformers{os.sep}" in frame["file"]
        assert text_of(frame).strip().startswith(expected)
        if name in CALLS and sys.version_info >= (3, 11) and frame["line"] == frame["end_line"]:
            assert text_of(frame) == expected


TABLE = json.loads((FIXTURES / "constructs.json").read_text())
PRELUDE = TABLE.pop("_prelude")


@pytest.mark.parametrize("name", TABLE)
def test_measured_constructs(worker: Worker, workspace: Path, name: str) -> None:
    job = constructs.capture(worker, str(workspace), PRELUDE, name, TABLE[name])
    assert constructs.differences(TABLE[name], job) == []


def test_the_first_job_hears_nothing_that_torch_says_once_per_process(workspace: Path, write: Write) -> None:
    worker = Worker([str(workspace)]).start()
    body = (
        "def f(x):\n    print('told')\n    return torch.sparse_coo_tensor([[0], [1]], [1.0], (4, 4)).to_dense() + x\n"
    )
    job = worker.capture(write(HEAD + body + INPUTS.format(callee="f", args="torch.ones(4, 4)")))
    assert "told" in job.done["output"] and "Sparse invariant checks" not in job.done["output"]
    assert worker.close() == 0
