"""textDocument/codeLens: what the last capture found of each entry, on the line of its class or function, and never anything else."""

import asyncio

import places
import programs
import support
from lsprotocol import types
from test_execute_command import execute

LAYER = """class {name}(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.a = torch.nn.Linear(width, width)

    def forward(self, x):
        {body}
        return self.a(x)
"""


def layer(name, body="pass"):
    return LAYER.format(name=name, body=body)


WHOLE, BROKEN = layer("Whole"), layer("Broken", "print(x.sum())")
TWICE = layer("Twice", "print(x.sum()); x = self.a(x); print(x.mean())")


async def lenses(client, uri):
    """Titles by line, as the server gives them."""
    params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=uri))
    found = await asyncio.wait_for(client.text_document_code_lens_async(params), support.DEADLINE)
    lines = client.texts[uri].split("\n")
    told = {}
    for lens in found:
        at = lens.range.start
        assert places.covered(client.texts[uri], lens.range, client.encoding) == lines[at.line].strip()
        assert list(lens.command.arguments) == [uri]
        told.setdefault(lines[at.line].strip(), []).append((lens.command.title, lens.command.command))
    return told


def titles(told):
    return {line: [title for title, _ in found] for line, found in told.items()}


async def test_the_state_of_each_entry(start):
    client = await start(trusted=True, lens=True)
    uri = client.open("model.py", programs.HEAD + WHOLE + "\n\n" + BROKEN + "\n\n" + TWICE)
    await client.saved(uri)
    found = await lenses(client, uri)
    write = ("Write example inputs", "graphglue.writeInputs")
    assert found == {
        "class Whole(torch.nn.Module):": [("one graph", "graphglue.capture"), write],
        "class Broken(torch.nn.Module):": [("2 graphs · 1 break · Glue all", "graphglue.glueAll"), write],
        "class Twice(torch.nn.Module):": [("3 graphs · 2 breaks · Glue all", "graphglue.glueAll"), write],
    }, found
    await client.until("a request to ask again", lambda: client.lens_refreshes)


async def test_inputs_that_were_written_need_no_offer(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    assert titles(await lenses(client, uri)) == {"def scale(x):": ["2 graphs · 1 break · Glue all"]}
    assert client.lens_refreshes == 0, "a client that cannot ask again was told to"


async def test_below_decorators_and_with_several_input_sets(start):
    text = programs.HEAD + "@torch.no_grad()\ndef scale(x):\n    return x * 2\n\n\n" + WHOLE
    text += "\n\ndef graphglue_inputs():\n    yield 'a', scale, (torch.randn(4),), {}\n    yield 'b', scale, (torch.randn(2),), {}\n"
    text += "    for n in range(4):\n        yield f'w{n}', Whole(n + 1), (torch.randn(n + 1),), {}\n"
    client = await start(trusted=True)
    uri = client.open("model.py", text)
    await client.saved(uri)
    assert titles(await lenses(client, uri)) == {
        "def scale(x):": ["a: one graph", "b: one graph"],
        "class Whole(torch.nn.Module):": ["4 input sets: 4 graphs, no break"],
    }


async def test_what_failed_is_said(start):
    hard = layer("Hard").replace("width=4", "path").replace("width, width", "len(open(path).read()), 2")
    client = await start(trusted=True)
    uri = client.open("model.py", programs.HEAD + hard)
    await client.saved(uri)
    assert titles(await lenses(client, uri)) == {
        "class Hard(torch.nn.Module):": ["no example inputs", "Write example inputs"]
    }
    raises = client.open("raises.py", programs.RAISES)
    await client.saved(raises)
    assert titles(await lenses(client, raises)) == {"def scale(x):": ["fails, also without torch.compile"]}
    crashes = client.open("crashes.py", programs.CRASHES)
    await client.saved(crashes)
    assert titles(await lenses(client, crashes)) == {"def scale(x):": ["crashed"]}
    broken = client.open("broken.py", programs.IMPORT_FAILS)
    await client.saved(broken)
    assert await lenses(client, broken) == {}


async def test_a_class_in_a_class_and_names_of_other_scripts(start):
    inner = "".join(f"    {line}\n" if line else "\n" for line in layer("Größe").split("\n"))
    text = (
        programs.HEAD
        + "class Außen:\n"
        + inner
        + "\n\ndef graphglue_inputs():\n    yield None, Außen.Größe(), (torch.randn(4),), {}\n"
    )
    client = await start(trusted=True, encodings=["utf-8"])
    assert client.encoding == "utf-8"
    uri = client.open("größe.py", text)
    await client.saved(uri)
    assert titles(await lenses(client, uri)) == {"class Größe(torch.nn.Module):": ["one graph"]}


async def test_while_the_text_changes(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.HEAD + WHOLE + "\n\n" + BROKEN)
    await client.saved(uri)
    client.replace(uri, "import torch\n", "import os\nimport torch\n")
    edited = {
        "class Whole(torch.nn.Module):": ["one graph (edited since)", "Write example inputs"],
        "class Broken(torch.nn.Module):": ["2 graphs, 1 break (edited since)", "Write example inputs"],
    }
    assert titles(await lenses(client, uri)) == edited
    client.replace(uri, "class Broken(", "class Renamed(")
    del edited["class Broken(torch.nn.Module):"]
    assert titles(await lenses(client, uri)) == edited, "said of a class that is another one now"
    client.replace(uri, "class Renamed(", "class Broken(")
    client.replace(uri, "import os\n", "")
    assert titles(await lenses(client, uri))["class Whole(torch.nn.Module):"][0] == "one graph"
    client.edit(uri, [types.TextDocumentContentChangeWholeDocument(text="x = 1\n")])
    assert await lenses(client, uri) == {}


async def test_nothing_is_said_where_nothing_was_run(start):
    client = await start(trusted=False, lens=True)
    uri = client.open("model.py", programs.HEAD + BROKEN)
    client.save(uri)
    await client.sync()
    assert await lenses(client, uri) == {} and client.lens_refreshes == 0
    params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri="file:///no.py"))
    assert not await client.text_document_code_lens_async(params)


async def test_a_click_on_the_state_captures(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    client.replace(uri, "if h.sum() > 0:", "if True:")
    ((_, command),) = (await lenses(client, uri))["def scale(x):"]
    await execute(client, command, uri)
    await client.sync()
    assert titles(await lenses(client, uri)) == {"def scale(x):": ["one graph"]}


def test_a_client_that_announced_no_edits_is_offered_them_too(raw, tmp_path):
    server = raw()
    text = programs.HEAD + BROKEN
    (tmp_path / "model.py").write_text(text)
    uri = (tmp_path / "model.py").as_uri()
    reply = server.initialize(
        rootUri=tmp_path.as_uri(), initializationOptions={"trusted": True, "python": support.sys.executable}
    )
    assert reply["result"]["capabilities"]["codeLensProvider"] == {"resolveProvider": False}
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    server.request(1, "gg/sync", seconds=support.DEADLINE)
    found = server.request(2, "textDocument/codeLens", {"textDocument": {"uri": uri}})["result"]
    titles = [lens["command"]["title"] for lens in found]
    assert titles == ["2 graphs · 1 break · Glue all", "Write example inputs"]
