"""`graph`: the graphs of a file's entries, with the breaks between them, as Markdown, JSON and SVG."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import cli

NET = """import torch
from torch import nn


class Net(nn.Module):
    def helper(self, x):
        if x.sum() > 0:
            x = x + 1
        return x

    def forward(self, x):
        x = self.helper(torch.relu(x))
        print("<a> & ``` b")
        return x.cos()


def graphglue_inputs():
    yield "net", Net(), (torch.ones(2, 4),), {}
    yield "whole", lambda x: x * 2, (torch.ones(2),), {}
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(NET)
    return path


def test_markdown(net: Path) -> None:
    done = cli("graph", str(net))
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert lines[0] == "# net: 4 graphs, 3 breaks"
    assert lines[1].startswith("## Graph 1 of 4: 1 operation, 1 input")
    assert lines[2] == f"### GB0170 at [net.py:7](file://{net}#L7)"
    assert f"### GB0059 at [net.py:13](file://{net}#L13)" in lines
    assert lines[-2:] == ["# whole: 1 graph, 0 breaks", "## Graph 1 of 1: 1 operation, 1 input"]
    assert "torch.relu(l_x_)" in done.stdout


def test_one_entry_and_no_break(net: Path) -> None:
    done = cli("graph", "--entry", "whole", str(net))
    assert done.returncode == 0 and done.stdout.startswith("# whole: 1 graph, 0 breaks\n")


def test_a_picture_is_well_formed(net: Path) -> None:
    done = cli("graph", "--svg", "--entry", "net", str(net))
    picture = ElementTree.fromstring(done.stdout)
    said = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert said[0] == "net: 4 graphs, 3 breaks"
    assert [line.split(":")[0] for line in said if line.startswith("graph ")] == [
        "graph 1",
        "graph 2",
        "graph 3",
        "graph 4",
    ]
    assert any(line.startswith("GB0059 net.py:13") and "<a> &" in line for line in said)


def test_json(net: Path) -> None:
    done = cli("graph", "--json", str(net))
    out = json.loads(done.stdout)
    assert out["version"] == 1
    assert [(e["name"], e["graphs"], e["breaks"]) for e in out["entries"]] == [("net", 4, 3), ("whole", 1, 0)]
    assert out["entries"][0]["text"].startswith("# net") and out["entries"][0]["svg"].startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--svg"], "choose one with --entry"),
        (["--entry", "nope"], "no entry of that name"),
        (["--svg", "--json"], "exclude each other"),
    ],
)
def test_what_cannot_be_shown_is_said(net: Path, arguments: list[str], words: str) -> None:
    done = cli("graph", *arguments, str(net))
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import torch\nraise ValueError('no')\n")
    done = cli("graph", str(tmp_path / "wrong.py"))
    assert done.returncode == 2 and "ValueError: no" in done.stderr
    assert cli("graph", str(tmp_path / "absent.py")).returncode == 2
