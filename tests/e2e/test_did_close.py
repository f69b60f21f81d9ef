"""textDocument/didClose: diagnostics are withdrawn, and nothing more is said about the file."""

import programs


async def test_withdraws_diagnostics(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    assert await client.saved(uri)
    client.close(uri)
    await client.sync()
    assert list(client.diagnostics[uri]) == []


async def test_closed_during_its_capture(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    client.close(uri)
    await client.sync()
    assert list(client.diagnostics.get(uri, [])) == []


async def test_closing_what_is_not_open(start):
    from lsprotocol import types

    client = await start()
    client.text_document_did_close(
        types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=client.uri("never.py")))
    )
    await client.sync()
