"""Written inputs: the code is a person's, runs, and a capture with it finds what a capture without it found."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from client import Frame, Job, Worker
from conftest import Write
from undescribed import HEAD, RUN

FORWARD = "\n\n    def forward(self, x):\n        return self.a(x)\n"


def ask(worker: Worker, file: str, **keys: Any) -> Frame:
    """The `inputs` frame for a file."""
    job = Job(list(worker.frames(worker.submit("write_inputs", file, **keys))))
    assert job.done["status"] == "ok", job.done
    (found,) = [f for f in job.frames if f["op"] == "inputs"]
    return found


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text with the edits: whole lines, before a line or at the end."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
    for edit in sorted(edits, key=lambda e: e["line"], reverse=True):
        at = starts[edit["line"]] if edit["line"] < len(starts) else len(text)
        text = text[:at] + edit["text"] + text[at:]
    return text


def told(job: Job) -> dict[str, Any]:
    """What a capture found, but for how the inputs came about."""
    return {
        name: (e["status"], e["graphs"], [(b["id"], b["stack"][0]["line"], b["kind"]) for b in e["breaks"]])
        for name, e in job.entries.items()
    }


def written(worker: Worker, file: str) -> str:
    """The file's text with its inputs written, with which the same is found as without."""
    text = Path(file).read_bytes().decode()
    before, frame = worker.capture(file), ask(worker, file, overlay=[{"file": file, "text": text}])
    assert frame["refusal"] is None and not frame["left_out"] and not frame["form"], frame
    new = edited(text, frame["edits"])
    after = worker.capture(file, overlay=[{"file": file, "text": new}])
    assert after.done["status"] == "ok", (after.done, new)
    assert {e["inputs"] for e in after.entries.values()} == {"graphglue_inputs"}, new
    assert told(after) == told(before), new
    assert Path(file).read_bytes().decode() == text, "the file was written"
    again = ask(worker, file, overlay=[{"file": file, "text": new}])
    assert again["refusal"] and not again["edits"], "there is nothing left to write"
    return new


@pytest.mark.parametrize("name", RUN)
def test_what_was_deduced(worker: Worker, write: Write, name: str) -> None:
    new = written(worker, write(HEAD + RUN[name]))
    assert new.count("def graphglue_inputs():") == 1 and set(HEAD.split("\n")) <= set(new.split("\n"))
    assert "torch.manual_seed" not in new, "reseeding is for the verification to do"


def test_what_a_person_would_write(worker: Worker, write: Write) -> None:
    source = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, width, depth=2):\n        super().__init__()\n"
        "        self.a = torch.nn.Linear(width, 4)" + FORWARD + "\n\nnet = Net(8, depth=3)\n"
    )
    new = written(worker, write(source))
    assert new == source + (
        "\n\ndef graphglue_inputs():\n"
        '    """Example inputs for graphglue-lsp: (name, callable, args, kwargs)."""\n'
        '    yield "Net", Net(8, depth=3).eval(), (torch.randn(2, 16, 8),), {}\n'
    )


def net(head: str, layer: str, tail: str = "", base: str = "Module") -> str:
    return f"{head}\n\nclass Net({base}):\n    def __init__(self):\n        super().__init__()\n        self.a = {layer}{FORWARD}{tail}"


STYLES = {
    "no_torch": (net("import os\nfrom torch.nn import Linear, Module\nimport sys\n", "Linear(4, 4)"), "import os\nimport torch\nfrom torch.nn"),
    "future_only": (
        net("'''Doc.'''\nfrom __future__ import annotations\nimport torch.nn as nn\n", "nn.Linear(4, 4)", base="nn.Module"),
        "annotations\nimport torch\nimport torch.nn as nn\n",
    ),
    "behind_parentheses": (
        net("from torch.nn import (\n    Linear,\n    Module,\n)  # what is needed\n", "Linear(4, 4)"),
        "import torch\nfrom torch.nn import (\n",
    ),
    "tabs": (net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)").replace("    ", "\t"), "():\n\t\"\"\"Example"),
    "two_spaces": (net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)").replace("    ", "  "), '():\n  """Example'),
    "single_quotes": (net("import torch\nfrom torch.nn import *\nNAME = 'a'\n", "Linear(4, 4)"), "yield 'Net', Net()"),
    "no_last_line_end": (net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)").rstrip(), "self.a(x)\n\n\ndef graph"),
    "blank_lines_at_the_end": (net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)", "\n\n\n\n\n"), "\n\ndef graphglue"),
    "torch_is_another_thing": (net("from torch.nn import *\n", "Linear(4, 4)", "\n\nthree = 3\n"), "import torch\nfrom torch.nn import *"),
    "unicode": (net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)").replace("Net", "Größe"), "Größe().eval()"),
    "a_class_in_a_class": (
        "import torch\nfrom torch import nn\n\nclass Outer:\n    class Net(nn.Module):\n        def forward(self, x):\n            return x * 2\n",
        '"Outer.Net", Outer.Net().eval()',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STYLES)
def test_in_the_files_own_style(worker: Worker, write: Write, name: str) -> None:
    source, expected = STYLES[name]
    assert expected in written(worker, write(source))


def test_line_ends_stay_as_they_are(worker: Worker, workspace: Path) -> None:
    file = workspace / "line_ends.py"
    file.write_bytes(net("from torch.nn import *\n", "Linear(4, 4)").replace("\n", "\r\n").encode())
    new = written(worker, str(file))
    assert new.count("\n") == new.count("\r\n") and "import torch\r\n" in new


def test_long_calls_are_laid_out(worker: Worker, write: Write) -> None:
    source = net(
        "import torch\nfrom torch.nn import *\n\n\nclass Wide(Module):\n"
        "    def __init__(self, first_features, second_features, third_features, fourth_features):\n        super().__init__()\n"
        "        self.a = Linear(first_features, second_features)\n\n"
        "    def forward(self, x, mask=None):\n        return self.a(x)\n",
        "Wide(first_features=16, second_features=32, third_features=64, fourth_features=128)",
    )
    new = written(worker, write(source))
    assert max(map(len, new.split("def graphglue_inputs")[1].splitlines())) <= 88
    assert '    yield (\n        "Wide",\n' in new and "\n        {},\n    )\n" in new


def test_names_from_elsewhere_are_imported(worker: Worker, workspace: Path, write: Write) -> None:
    package = workspace / "shelf"
    (package / "inner").mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("from shelf.inner.settings import Config\n")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "settings.py").write_text(
        "import dataclasses\n\n@dataclasses.dataclass\nclass Config:\n    width: int = 12\n"
    )
    source = (
        "import os\n\nimport shelf\nimport torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, config: shelf.Config):\n"
        "        super().__init__()\n        self.a = nn.Linear(config.width, 2)" + FORWARD
    )
    assert "shelf.Config()" in written(worker, write(source))
    source = source.replace("import shelf\n", "").replace("shelf.Config", '"shelf.Config"')
    source = source.replace("import os\n", "import os\nfrom typing import TYPE_CHECKING\n").replace(
        "\n\nclass Net", "\nimport importlib\n_get = importlib.import_module('shelf').Config\n\n\nclass Net"
    )
    source = source.replace('"shelf.Config"', "_get")
    assert "_get()" in written(worker, write(source, "other_name.py")), "by the name the file has for it"


MERGE = (
    net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)")
    + "\n\nclass Other(Net):\n    pass\n\n\ndef graphglue_inputs():\n  rows = 3\n  yield 'net', Net(), (torch.randn(rows, 4),), {}\n"
)


def test_merged_into_what_is_there(worker: Worker, write: Write) -> None:
    file = write(MERGE + "  # the end\n\n\nafter = 1\n")
    frame = ask(worker, file)
    assert frame["written"] == ["Other"] and len(frame["edits"]) == 1
    new = edited(Path(file).read_text(), frame["edits"])
    assert new == MERGE + "  yield 'Other', Other().eval(), (torch.randn(2, 16, 4),), {}\n  # the end\n\n\nafter = 1\n"
    job = worker.capture(file, overlay=[{"file": file, "text": new}])
    assert {n: e["status"] for n, e in job.entries.items()} == {"net": "captured", "Other": "captured"}


def test_not_merged_where_a_local_name_is_in_the_way(worker: Worker, write: Write) -> None:
    frame = ask(worker, write(MERGE.replace("  rows = 3\n", "  rows, Other = 3, None\n")))
    assert not frame["edits"] and "another thing has this name" in frame["refusal"], frame


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("TESTCASES = []\n", "another form"),
        ("def graphglue_inputs():\n    return [('n', Net(), (torch.randn(4),), {})]\n", "does not yield"),
        ("def graphglue_inputs(): yield 'n', Linear(4, 4), (torch.randn(4),), {}\n", "on one line"),
        ("if True:\n    def graphglue_inputs():\n        yield 'n', Linear(4, 4), (torch.randn(4),), {}\n", "level of the module"),
        ("from elsewhere_inputs import graphglue_inputs\n", "comes from another file"),
    ],
)  # fmt: skip
def test_refused_in_words(worker: Worker, workspace: Path, write: Write, text: str, words: str) -> None:
    (workspace / "elsewhere_inputs.py").write_text("def graphglue_inputs():\n    yield from ()\n")
    frame = ask(worker, write(net("import torch\nfrom torch.nn import *\n", "Linear(4, 4)", "\n\n" + text)))
    assert words in frame["refusal"] and frame["edits"] == [], frame


def test_a_file_without_anything_to_capture(worker: Worker, write: Write) -> None:
    assert "no module class" in ask(worker, write("x = 1\n"))["refusal"]


def test_a_file_that_cannot_be_imported(worker: Worker, write: Write) -> None:
    job = Job(list(worker.frames(worker.submit("write_inputs", write("import torch\nx = 1 / 0\n")))))
    assert job.done["status"] == "import_error" and "ZeroDivisionError" in job.done["message"]


HARD = HEAD + (
    "class Net(nn.Module):\n    def __init__(self, path):\n        super().__init__()\n        self.a = nn.Linear(len(open(path).read()), 2)\n\n"
    "    def forward(self, tokens, *, mask=None):\n        return self.a(tokens)\n"
)


def test_what_could_not_be_deduced_is_a_form(worker: Worker, write: Write) -> None:
    file = write(HARD)
    frame = ask(worker, file)
    assert frame["form"] and frame["written"] == [] and [x["name"] for x in frame["left_out"]] == ["Net"]
    new = edited(HARD, frame["edits"])
    function = ast.unparse(ast.parse(new).body[-1])
    assert '# yield "Net", Net(path).eval(), (tokens,), {}' in new and "NotImplementedError" in function
    job = worker.capture(file, overlay=[{"file": file, "text": new}])
    assert job.done["status"] == "import_error" and "still to be filled in" in job.done["message"]


def test_what_could_not_be_deduced_beside_what_could(worker: Worker, write: Write) -> None:
    source = HARD + "\n\nclass Easy(nn.Linear):\n    def __init__(self):\n        super().__init__(3, 3)\n"
    file = write(source)
    frame = ask(worker, file)
    assert frame["written"] == ["Easy"] and not frame["form"]
    new = edited(source, frame["edits"])
    assert "    # Net: it could not be constructed" in new
    job = worker.capture(file, overlay=[{"file": file, "text": new}])
    assert {n: e["status"] for n, e in job.entries.items()} == {"Easy": "captured"}
