"""The graphs of an entry, as they are shown: code, operations, and the break that ended each."""

from client import Worker
from conftest import Write

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def helper(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            y = y + 1
        return y
    def forward(self, x):
        x = self.helper(torch.relu(x))
        print("between")
        return x.cos()
def whole(x):
    return x.sin() * 2
def wrong(x):
    return x.sin() @ torch.ones(3, 3)
def graphglue_inputs():
    x = torch.ones(2, 4)
    yield "net", Net(), (x,), {}
    yield "whole", whole, (x,), {}
    yield "wrong", wrong, (x,), {}
"""


def graphs(worker: Worker, path: str, **keys) -> list[dict]:
    frames = list(worker.frames(worker.submit("graphs", path, **keys)))
    assert frames[-1]["status"] == "ok", frames[-1]
    return [f["graphs"] for f in frames if f["op"] == "graphs"]


def test_graphs_and_what_ends_them(worker: Worker, write: Write) -> None:
    net, whole, wrong = graphs(worker, write(NET))
    assert [g["ops"] for g in net["graphs"]] == [1, 3, 1]
    lines = [None if g["ended"] is None else net["breaks"][g["ended"]]["stack"][0]["line"] for g in net["graphs"]]
    assert lines == [10, 10, None]
    heard = {b["stack"][0]["line"]: n for b, n in zip(net["breaks"], net["before"], strict=True)}
    assert heard[15] == 2  # it ended no graph: nothing was in it yet
    assert [b["id"] for b in net["breaks"]].count("GB0170") >= 1
    assert "torch.relu" in net["graphs"][0]["code"] and "x.cos()" in net["graphs"][-1]["code"]
    assert net["message"] is None
    assert [(g["ops"], g["ended"]) for g in whole["graphs"]] == [(2, None)] and whole["breaks"] == []
    assert wrong["graphs"] == [] and "reduction dim" in wrong["message"]


def test_only_what_is_asked_for(worker: Worker, write: Write) -> None:
    (whole,) = graphs(worker, write(NET), entries=["whole"])
    assert whole["name"] == "whole"


def test_an_overlay_is_what_is_shown(worker: Worker, write: Write) -> None:
    path = write("raise RuntimeError")
    (whole,) = graphs(worker, path, overlay=[{"file": path, "text": NET}], entries=["whole"])
    assert len(whole["graphs"]) == 1


def test_long_code_is_cut(worker: Worker, write: Write) -> None:
    path = write(
        "import torch\ndef f(x):\n"
        + "    x = x + 1\n" * 2_000
        + "    return x\ndef graphglue_inputs(): yield 'f', f, (torch.ones(2),), {}\n"
    )
    (f,) = graphs(worker, path)
    assert f["graphs"][0]["ops"] == 2_000
    assert len(f["graphs"][0]["code"]) < 66_000 and f["graphs"][0]["code"].endswith("# … the rest is left out\n")
