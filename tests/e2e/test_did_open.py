"""textDocument/didOpen: whatever the file holds, the server publishes for its version and stays."""

import asyncio

import programs
import pytest
from lsprotocol import types
from support import confirmed, plain


async def published(client, uri):
    await client.sync()
    return await client.until("a publication", lambda: [p for p in client.published if p.uri == uri])


async def test_publishes_the_version(start):
    client = await start()
    uri = client.open("clean.py", programs.CLEAN)
    last = (await published(client, uri))[-1]
    assert last.version == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\ufeff" + programs.BRANCH,
        programs.BRANCH.replace("\n", "\r\n"),
        programs.BRANCH.replace("    ", "\t"),
        programs.BRANCH.replace("h = x * 2", 'h = x * 2  # 🔥 "température"'),
        programs.BRANCH.replace("h = x * 2", "h = x * 2  # \x00"),
        programs.HALF_TYPED,
        "(" * 20000,
        "x = '" + "a" * 200_000,
        "é" * 1000 + "\r" + "🔥" * 1000,
    ],
    ids=["empty", "newline", "bom", "crlf", "tabs", "emoji", "nul", "half-typed", "brackets", "long-string", "lone-cr"],
)
async def test_any_text(start, text):
    client = await start()
    uri = client.open("any.py", text)
    assert (await published(client, uri))[-1].version == 1


async def test_a_huge_file(start):
    """10,000 functions: parsed off the loop (the run's end tells the longest turns)."""
    client = await start()
    body = "".join(f"def f{i}(x):\n    h = x * {i}\n    return h\n\n\n" for i in range(10_000))
    uri = client.open("huge.py", "import torch\n\n\n" + body)
    assert (await published(client, uri))[-1].version == 1
    client.replace(uri, "def f5000(x)", "def g5000(x)")
    await client.sync()
    await client.until("the next version", lambda: [p for p in client.published if p.version == 2])


async def test_a_file_of_several_megabytes(start):
    """Read, edited and closed without a stall; what comes behind the large message is done behind it."""
    client = await start()
    text = ("x = 1  # " + "words and 🔥 " * 8 + "\n") * 40_000
    uri = client.open("large.py", text)
    client.replace(uri, "x = 1", "yy = 1")
    client.edit(uri, [types.TextDocumentContentChangeWholeDocument(text="z = 1\n" + text)])
    assert (await published(client, uri))[-1].version == 3
    client.replace(uri, text, "")
    assert plain(await client.request("gg/text", {"uri": uri})) == {"text": "z = 1\n", "version": 4}


async def test_a_file_over_the_ceiling_is_told(start):
    client = await start()
    client.open("over.py", "# " + "x" * (17 * 1024 * 1024))
    await client.sync()
    (message,) = client.take_messages()
    assert "over.py" in message.message and "over the limit" in message.message


async def test_a_document_that_is_no_file(start):
    """An unsaved buffer, as editors have them: no capture, no harm."""
    client = await start(trusted=True)
    item = types.TextDocumentItem(uri="untitled:Untitled-1", language_id="python", version=1, text=programs.BRANCH)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    await client.sync()


async def test_opened_twice(start):
    """A second didOpen without a didClose is an error of the client; the newest text wins."""
    client = await start()
    uri = client.open("twice.py", programs.BRANCH)
    client.open("twice.py", programs.CLEAN)
    await client.sync()
    assert uri in client.diagnostics


async def test_what_is_saved_goes_before_what_was_opened(start, tmp_path):
    """Of many open files one is captured at a time: those that a person waits for, then the one that was opened last."""
    go, order = tmp_path / "go", tmp_path / "order"
    text = f"""import time
from pathlib import Path

with open({str(order)!r}, "a") as out:
    out.write(Path(__file__).stem + "\\n")
while NAME == "first" and not Path({str(go)!r}).exists():
    time.sleep(0.02)

"""
    client = await start(trusted=True)
    uris = {}
    for name in ("first", "second", "third", "fourth"):
        uris[name] = client.open(f"{name}.py", text.replace("NAME", repr(name)) + programs.BRANCH)
        while not order.exists():  # the first one runs
            await asyncio.sleep(0.02)
    client.save(uris["second"])
    await client.request("gg/status")  # everything before it was taken
    go.touch()
    await client.sync()
    captured = list(dict.fromkeys(order.read_text().split()))
    assert captured == ["first", "second", "fourth", "third"]
    assert all(confirmed(client.diagnostics[uri]) for uri in uris.values())


async def test_a_stored_result_waits_for_nobody(start, tmp_path):
    """What was captured before is shown while another file's capture is stuck."""
    client = await start(trusted=True)
    await client.saved(client.open("known.py", programs.BRANCH))
    client.close(client.uri("known.py"))
    go = tmp_path / "go"
    stuck = f"import os\nimport time\n\nwhile not os.path.exists({str(go)!r}):\n    time.sleep(0.02)\n\n"
    client.open("stuck.py", stuck + programs.BRANCH)
    uri = client.open("known.py", programs.BRANCH)
    await client.until("the stored result", lambda: confirmed(client.diagnostics.get(uri)))
    assert not confirmed(client.diagnostics.get(client.uri("stuck.py")))
    go.touch()
    await client.sync()
