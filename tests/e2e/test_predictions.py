"""What the text alone tells: before anything runs, while typing, and until a capture knows better."""

import asyncio

import pytest
from lsprotocol import types
from programs import HEAD
from pygls.exceptions import JsonRpcException
from support import confirmed

NET = HEAD + "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n{body}        return x\n\n\n"
PRINT = "        print(x.shape)\n"
GUARDED = "        if self.training:\n            print(x.shape)\n"


def predicted(client, uri):
    return [d for d in client.diagnostics.get(uri, []) if "(predicted" in d.message]


async def open_net(client, body, name="net.py"):
    uri = client.open(name, NET.format(body=body))
    await client.sync()
    return uri


async def test_nothing_need_run(start, tmp_path):
    client = await start(trusted=False)
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + NET.format(body=PRINT)
    uri = client.open("net.py", text, on_disk=text)
    await client.sync()
    (found,) = predicted(client, uri)
    assert (found.code, found.severity, found.source) == ("GB0059", types.DiagnosticSeverity.Warning, "graphglue")
    assert found.range == client.find(uri, "print(x.shape)")
    assert any(d.code == "untrusted" for d in client.diagnostics[uri]) and not (tmp_path / "ran").exists()


async def test_a_condition_is_named(start):
    client = await start()
    (found,) = predicted(client, await open_net(client, GUARDED))
    assert found.severity == types.DiagnosticSeverity.Hint and "only if: self.training" in found.message


async def test_it_follows_the_text(start):
    client = await start()
    uri = await open_net(client, PRINT)
    (opened,) = predicted(client, uri)
    top = types.Range(start=types.Position(line=0, character=0), end=types.Position(line=0, character=0))
    client.edit(uri, [types.TextDocumentContentChangePartial(range=top, text="# \U0001f600\n\n")])
    await client.sync()
    opened.range = client.find(uri, "print(x.shape)")
    assert predicted(client, uri) == [opened]
    client.edit(uri, [types.TextDocumentContentChangePartial(range=client.find(uri, PRINT), text="")])
    await client.sync()
    assert predicted(client, uri) == []
    client.edit(uri, [types.TextDocumentContentChangeWholeDocument(text=NET.format(body=PRINT + "        x.item()\n"))])
    await client.sync()
    assert [d.code for d in predicted(client, uri)] == ["GB0059", "GB0124"]


async def test_a_capture_knows_better(start):
    """It confirms what it meets, and retracts what it does not; what is new since then is said again."""
    client = await start(trusted=True, settings={"capture": {"run": "manual"}})
    inputs = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(4),), {}\n"
    text = HEAD + "def f(x):\n    print(x)\n    if x.shape[0] > 100:\n        print('many')\n    return x\n" + inputs
    uri = client.open("f.py", text)
    await client.sync()
    assert len(predicted(client, uri)) == 2
    capture = types.ExecuteCommandParams(command="graphglue.capture", arguments=[uri])
    await client.workspace_execute_command_async(capture)
    await client.sync()
    assert [d.code for d in confirmed(client.diagnostics[uri])] == ["GB0059"] and predicted(client, uri) == []
    client.edit(
        uri,
        [
            types.TextDocumentContentChangePartial(
                range=client.find(uri, "    return x"), text="    x.item()\n    return x"
            )
        ],
    )
    await client.sync()
    assert [d.code for d in predicted(client, uri)] == ["GB0124"]
    assert [d.code for d in confirmed(client.diagnostics[uri])] == ["GB0059"]


async def test_a_capture_that_failed_retracts_nothing(start):
    client = await start(trusted=True)
    uri = client.open("f.py", "import no_such_module\n" + NET.format(body=PRINT))
    await client.saved(uri)
    assert [d.code for d in predicted(client, uri)] == ["GB0059"]
    assert confirmed(client.diagnostics[uri])


async def test_hover(start):
    client = await start()
    uri = await open_net(client, PRINT)
    where = types.TextDocumentPositionParams(
        text_document=types.TextDocumentIdentifier(uri=uri), position=client.find(uri, "print").start
    )
    hover = await client.text_document_hover_async(
        types.HoverParams(text_document=where.text_document, position=where.position)
    )
    assert "print(x.shape)" in hover.contents.value and "GB0059" in hover.contents.value


@pytest.mark.parametrize("pull", [False, True])
async def test_switched_off_and_on(start, pull):
    client = await start(settings={"predict": False}, pull=pull)
    uri = await open_net(client, PRINT)

    async def found():
        await client.sync()
        if not pull:
            return predicted(client, uri)
        document = types.TextDocumentIdentifier(uri=uri)
        report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
        return [d for d in report.items if "(predicted" in d.message]

    assert await found() == []
    for wanted in (True, False):
        client.set_configuration({"predict": wanted}, section="graphglue")
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
        assert len(await found()) == wanted
    assert bool(client.diagnostic_refresh_count) == pull


async def test_half_typed_and_closed(start):
    client = await start()
    uri = await open_net(client, PRINT)
    client.edit(
        uri, [types.TextDocumentContentChangePartial(range=client.find(uri, "print(x.shape)"), text="print(x.sh")]
    )
    await client.sync()
    for _ in range(20):
        client.edit(uri, [types.TextDocumentContentChangeWholeDocument(text=NET.format(body=PRINT) * 50)])
    client.text_document_did_close(
        types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
    )
    await client.sync()
    assert list(client.diagnostics.get(uri, [])) == []


async def pull(client, uri):
    document = types.TextDocumentIdentifier(uri=uri)
    report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
    return [d for d in report.items if "(predicted" in d.message]


async def test_what_is_pulled_is_of_the_text_as_it_is(start):
    """A text that is being looked at is waited for, and the client is not told to ask again for what it got."""
    client = await start(pull=True)
    uri = client.open("net.py", NET.format(body=PRINT))
    for n in range(20):
        client.replace(uri, "x.shape", "x.shape, 1")
        (found,) = await pull(client, uri)
        assert found.range.end.character == 22 + 3 * (n + 1)
    await client.sync()
    assert client.diagnostic_refresh_count <= 1, "for its settings"


async def test_a_pull_that_waits_can_be_canceled(start):
    client = await start(pull=True)
    uri = client.open("net.py", NET.format(body=PRINT) + "x = 1\n" * 3000)
    await client.sync()
    client.replace(uri, "import torch\n", "import torch\n'''\n")
    params = types.DocumentDiagnosticParams(text_document=types.TextDocumentIdentifier(uri=uri))
    pending = asyncio.ensure_future(
        client.protocol.send_request_async(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="pull")
    )
    await asyncio.sleep(0)
    client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="pull"))
    with pytest.raises(JsonRpcException) as canceled:
        await pending
    assert canceled.value.code == -32800
    client.replace(uri, "'''\n", "")
    assert [d.code for d in await pull(client, uri)] == ["GB0059"]


async def test_each_version_is_published_once(start):
    client = await start()
    uri = await open_net(client, PRINT)
    for n in range(10):
        client.replace(uri, "x.shape", "x.shape, 1")
        await client.sync()
        last = client.published[-1]
        assert last.version == n + 2
        assert [d.range.end.character for d in last.diagnostics if "(predicted" in d.message] == [22 + 3 * (n + 1)]
    assert len(client.published) <= 2 + 10


async def test_what_was_found_fades_on_an_edited_line_and_another_break_there_is_said(start):
    client = await start(trusted=True)
    inputs = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(1),), {}\n"
    uri = client.open("f.py", HEAD + "@torch.compile\ndef f(x):\n    print(x)\n    return x\n" + inputs)
    (found,) = await client.saved(uri)
    client.replace(uri, "print(x)", "print(x, 1)")
    await client.sync()
    (faded,) = client.diagnostics[uri]
    assert (faded.code, faded.severity, list(faded.tags)) == (
        "GB0059",
        types.DiagnosticSeverity.Hint,
        [types.DiagnosticTag.Unnecessary],
    )
    client.replace(uri, "print(x, 1)", "x.item()")
    await client.sync()
    assert [(d.code, d.severity.name) for d in client.diagnostics[uri]] == [("GB0059", "Hint"), ("GB0124", "Warning")]
    client.replace(uri, "x.item()", "print(x)")
    await client.sync()
    assert list(client.diagnostics[uri]) == [found]
    client.replace(uri, "print(x)", "x.item()")
    assert [(d.code, d.tags) for d in await client.saved(uri)] == [("GB0124", None)]
