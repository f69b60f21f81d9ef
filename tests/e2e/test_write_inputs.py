"""graphglue.writeInputs: a graphglue_inputs() for the open text, proposed as an edit, with which the same breaks are found."""

import asyncio
import os
import subprocess
import sys

import programs
import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from test_code_lens import BROKEN, WHOLE, layer, lenses, titles
from test_execute_command import execute

COMMAND = "graphglue.writeInputs"
MANUAL = {"capture": {"run": "manual"}}
MODEL = programs.HEAD + WHOLE + "\n\n" + BROKEN


def breaks(client, uri):
    return sorted((d.code, d.range.start.line) for d in client.diagnostics[uri] if d.code.startswith("GB"))


async def written(client, uri):
    """The buffer after the command and the edit; the same breaks are found in it."""
    await client.saved(uri)
    before, found = client.texts[uri], breaks(client, uri)
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    (params,) = client.applied
    assert params.label == "Write example inputs"
    added = client.texts[uri]
    assert added != before
    await client.saved(uri)
    assert breaks(client, uri) == found, (added, client.diagnostics[uri])
    assert not [t for found in titles(await lenses(client, uri)).values() for t in found if t.startswith("Write")]
    return added


async def test_what_was_deduced(start):
    client = await start(trusted=True, lens=True)
    uri = client.open("model.py", MODEL)
    new = await written(client, uri)
    assert new.startswith(MODEL) and '    yield "Broken", Broken().eval(), (torch.randn(2, 16, 4),), {}\n' in new
    (edit,) = client.applied[0].edit.document_changes
    assert edit.text_document.version == 1, "the version that the edit is for"
    assert titles(await lenses(client, uri))["class Broken(torch.nn.Module):"] == ["2 graphs · 1 break · Glue all"]


async def test_nothing_is_written_to_disk(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", MODEL)
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert (client.workspace / "model.py").read_text() == MODEL


async def test_line_ends_and_letters_stay(start):
    inner = "".join(f"    {line}\n" if line else "\n" for line in layer("Größe").split("\n"))
    text = (
        "from torch import nn\n\n\nclass Außen:\n"
        + inner.replace("torch.nn", "nn").replace("print(x.sum())", "print('𝒳')")
        + "\n\nAußen.Größe  # 𝒳"
    )
    client = await start(trusted=True, lens=True)
    uri = client.open("größe.py", text.replace("\n", "\r\n"))
    new = await written(client, uri)
    assert new.count("\r\n") == new.count("\n") and "import torch\r\nfrom torch import nn\r\n" in new
    assert "𝒳\r\n\r\n\r\ndef graphglue_inputs():\r\n" in new and '"Außen.Größe", Außen.Größe().eval()' in new


async def test_a_byte_order_mark_stays_first(start):
    client = await start(trusted=True)
    uri = client.open(
        "model.py",
        "\ufeff"
        + MODEL.replace("import torch\n", "import torch.nn\nfrom torch import nn as torch_nn\n").replace(
            "(torch.nn.", "(torch_nn."
        ),
    )
    assert (await written(client, uri)).startswith("\ufeffimport torch")


async def test_unsaved_text_is_what_counts(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", programs.HEAD + WHOLE, on_disk="raise RuntimeError('an older text')\n")
    client.replace(uri, "class Whole(", "class Other(")
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert 'yield "Other", Other().eval()' in client.texts[uri]


async def test_merged_into_what_is_there(start):
    client = await start(trusted=True, settings=MANUAL)
    text = MODEL + "\n\ndef graphglue_inputs():\n    yield 'whole', Whole(8), (torch.randn(3, 8),), {}\n\n\nafter = 1\n"
    uri = client.open("model.py", text)
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert client.texts[uri] == text.replace(
        "8),), {}\n", "8),), {}\n    yield 'Broken', Broken().eval(), (torch.randn(2, 16, 4),), {}\n"
    )


async def test_what_was_recorded(start):
    client = await start(trusted=True, lens=True)
    uri = client.open(
        "model.py",
        programs.HEAD
        + layer("Net", "print(x.sum()) if mode == 'loud' else None").replace("self, x", "self, x, mode, y=None"),
    )
    client.write(
        "train.py", "import torch\nfrom model import Net\nx = torch.ones(3, 8)\nNet(8).eval()(x, mode='loud', y=x)\n"
    )
    command = [support.find_server(), "record", "--", sys.executable, "train.py"]
    subprocess.run(command, cwd=client.workspace, check=True, timeout=120, capture_output=True)
    await client.saved(uri)
    assert titles(await lenses(client, uri)) == {
        "class Net(torch.nn.Module):": ["2 graphs · 1 break · Glue all", "Write example inputs"]
    }
    new = await written(client, uri)
    assert new.endswith(
        "    shared = torch.ones(3, 8)\n    yield 'Net', Net(width=8).eval(), (shared,), {'mode': 'loud', 'y': shared}\n"
    ), new


def record(client, text):
    client.write("train.py", text)
    command = [support.find_server(), "record", "--", sys.executable, "train.py"]
    subprocess.run(command, cwd=client.workspace, check=True, timeout=120, capture_output=True)


async def test_what_was_recorded_and_does_not_run_as_code(start):
    """Values that mean something: random ones of the same range do not do, and so the entry is left out."""
    client = await start(trusted=True, settings=MANUAL)
    check = "assert abs(float(x.sum()) - 1) < 0.01, 'no distribution'"
    uri = client.open("model.py", programs.HEAD + layer("Net", check) + "\n\n" + WHOLE)
    record(client, "import torch\nfrom model import Net\nNet(100).eval()(torch.randn(100).softmax(0))\n")
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    (told,) = client.take_messages()
    assert "Not written for Net: as code it does not run: AssertionError: no distribution" in told.message
    assert "yield 'Whole'" in client.texts[uri] and "    # Net: as code it does not run" in client.texts[uri]


async def test_a_module_of_another_dtype(start):
    client = await start(trusted=True, lens=True)
    uri = client.open("model.py", programs.HEAD + layer("Net", "print(x.dtype)"))
    record(
        client,
        "import torch\nfrom model import Net\nx = torch.zeros(2, 4, dtype=torch.bfloat16).T\nNet(2).bfloat16().eval()(x)\n",
    )
    await execute(client, "graphglue.capture", uri)
    new = await written(client, uri)
    assert "Net(width=2).to(torch.bfloat16).eval()" in new and "dtype=torch.bfloat16" in new, new
    assert "empty_strided((4, 2), (1, 4), dtype=torch.bfloat16).copy_(" in new, new


OBJECTS = """import dataclasses
import torch


@dataclasses.dataclass
class Settings:
    width: int = 4
    rates: tuple = (0.1,)
    deep: bool = False


class Table:
    def __init__(self, rows, name='table'):
        self.rows = rows
        self.name = name


class Net(torch.nn.Module):
    def __init__(self, settings, table, kind):
        super().__init__()
        self.a = torch.nn.Linear(settings.width, table.rows)
        self.kind = kind

    def forward(self, x, tokens, mask, *, bias, more):
        h = self.a(x) * mask + tokens.to(x.dtype) + bias + more['scale']
        print(h.shape)
        return h
"""


async def test_what_was_made_of_objects(start):
    """A person's own classes are constructed; each kind of tensor gets values of its kind."""
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", OBJECTS)
    record(
        client,
        """import torch
from model import Net, Settings, Table
torch.manual_seed(0)
net = Net(Settings(6), Table(5), {'a': [1, 2.5, None]})
mask, tokens = torch.rand(40, 5) > 0.3, torch.randint(2, 9, (40, 5))
net(torch.rand(40, 6, requires_grad=True), tokens, mask, bias=torch.zeros(5), more={'scale': torch.tensor(2.0)})
""",
    )
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    client.take_messages()
    new = client.texts[uri]
    for made in (
        "settings=Settings(width=6, rates=(0.1,)),",
        "table=Table(rows=5, name='table'),",
        "kind={'a': [1, 2.5, None]},",
        "torch.randint(2, 9, (40, 5)),",
        "(torch.rand(40, 5) < 0.67),",
        ").requires_grad_(),",
        "{'bias': torch.zeros(5), 'more': {'scale': torch.full((), 2.0)}},",
    ):
        assert made in new, new


async def test_values_that_are_not_as_they_were_are_told(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", programs.HEAD + layer("Net"))
    record(client, "import torch\nfrom model import Net\nNet(8)(torch.randn(40, 8))\n")
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    (told,) = client.take_messages()
    assert "Net: the elements of its tensors were recorded; random ones of the same range" in told.message
    assert "Net: it ran with gradients" in told.message, told.message
    assert 'yield "Net", Net(width=8), (torch.randn(40, 8),), {}\n' in client.texts[uri], "in training, as it ran"


async def test_what_could_not_be_deduced(start):
    client = await start(trusted=True)
    text = programs.HEAD + layer("Hard").replace("width=4", "path").replace("width, width", "len(open(path).read()), 2")
    uri = client.open("model.py", text)
    await execute(client, COMMAND, uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    (told,) = client.take_messages()
    assert (
        told.type == types.MessageType.Info and "a form to fill in. Hard: it could not be constructed" in told.message
    )
    assert '# yield "Hard", Hard(path).eval(), (x,), {}' in client.texts[uri]
    (said,) = await client.saved(uri)
    assert "still to be filled in" in said.message, said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "no module class"),
        (programs.BRANCH, "already"),
        ("import torch\n\nraise KeyError('weights')\n", "KeyError"),
        ("def f(:\n", "SyntaxError"),
        ("TESTCASES = []\n", "another form"),
    ],
)
async def test_refused_in_plain_words(start, text, words):
    client = await start(trusted=True)
    uri = client.open("model.py", text)
    await client.sync()
    with pytest.raises(JsonRpcException):
        await execute(client, COMMAND, uri)
    (told,) = client.take_messages()
    assert told.message.startswith("graphglue: not applied. ") and words in told.message, told
    assert not client.applied


GATED = "import os\nimport time\n\nwhile not os.path.exists({gate!r}):\n    time.sleep(0.02)\n" + MODEL


async def under_way(client, uri, **options):
    """The command, which the file's import keeps waiting; progress was shown."""
    params = types.ExecuteCommandParams(command=COMMAND, arguments=[uri])
    asked = asyncio.ensure_future(
        client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="write")
    )
    await client.until("progress", lambda: list(client.progress_reports))
    return asked


async def test_a_text_that_changes_meanwhile(start, tmp_path):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", GATED.format(gate=str(tmp_path / "gate")))
    asked = await under_way(client, uri)
    client.replace(uri, "class Whole", "# a line\nclass Whole")
    await client.request("gg/status")
    (tmp_path / "gate").touch()
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wait_for(asked, support.DEADLINE)
    assert refused.value.code == -32801 and "changed" in client.take_messages()[0].message
    assert not client.applied


async def test_a_document_that_is_closed_meanwhile(start, tmp_path):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", GATED.format(gate=str(tmp_path / "gate")))
    asked = await under_way(client, uri)
    client.close(uri)
    (tmp_path / "gate").touch()
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wait_for(asked, support.DEADLINE)
    assert refused.value.code == -32801 and client.take_messages()


async def test_it_can_be_canceled(start, tmp_path):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", GATED.format(gate=str(tmp_path / "gate")))
    asked = await under_way(client, uri)
    client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="write"))
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wait_for(asked, 10)
    assert refused.value.code == -32800
    await client.sync()


async def test_the_server_may_end_meanwhile(start, tmp_path):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", GATED.format(gate=str(tmp_path / "gate")))
    asked = await under_way(client, uri)
    asked.add_done_callback(lambda done: done.exception())
    client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="write"))
    await client.finish(busy=True)


async def test_an_editor_that_refuses_the_edit(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", MODEL)
    client.refuse_edits = True
    await execute(client, COMMAND, uri)
    await client.until("word of it", lambda: client.messages)
    assert "did not apply" in client.take_messages()[0].message and client.texts[uri] == MODEL


async def test_nothing_runs_without_trust(start, tmp_path):
    client = await start(trusted=False)
    uri = client.open("model.py", MODEL + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(JsonRpcException):
        await execute(client, COMMAND, uri)
    assert "not trusted" in client.take_messages()[0].message
    assert not os.path.exists(tmp_path / "ran")


async def test_arguments(start):
    client = await start(trusted=True)
    for arguments in ([], [5], ["file:///not/open.py"]):
        with pytest.raises(JsonRpcException) as refused:
            await execute(client, COMMAND, *arguments)
        assert refused.value.code == -32602


def test_a_client_that_applies_nothing_gets_the_edit(raw, tmp_path):
    server = raw()
    (tmp_path / "model.py").write_text(MODEL)
    uri = (tmp_path / "model.py").as_uri()
    options = {"trusted": True, "python": sys.executable, "capture": {"run": "manual"}}
    server.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
    item = {"uri": uri, "languageId": "python", "version": 1, "text": MODEL}
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    asked = {"command": COMMAND, "arguments": [uri]}
    edit = server.request(1, "workspace/executeCommand", asked, seconds=support.DEADLINE)["result"]
    (change,) = edit["changes"][uri]
    at = {"line": MODEL.count("\n"), "character": 0}
    assert change["range"] == {"start": at, "end": at} and "def graphglue_inputs():" in change["newText"]
