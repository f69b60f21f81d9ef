"""textDocument/diagnostic: pulled, the same findings as pushed."""

import asyncio

import programs
import support
from lsprotocol import types
from support import confirmed


async def pull(client, uri, previous=None):
    document = types.TextDocumentIdentifier(uri=uri)
    params = types.DocumentDiagnosticParams(text_document=document, previous_result_id=previous)
    return await asyncio.wait_for(client.text_document_diagnostic_async(params), support.DEADLINE)


async def test_same_as_pushed(start):
    client = await start(trusted=True)
    pushed = await client.saved(client.open("model.py", programs.BRANCH))
    client = await start(trusted=True, pull=True)
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    await client.sync()
    report = await pull(client, uri)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [(d.code, d.range, d.message) for d in report.items] == [(d.code, d.range, d.message) for d in pushed]
    assert not client.published, "a client that asks is not told as well"


async def test_refresh_is_asked_for_after_a_capture(start):
    client = await start(trusted=True, pull=True)
    uri = client.open("model.py", programs.BRANCH)
    assert confirmed((await pull(client, uri)).items) == []
    client.save(uri)
    await client.until("workspace/diagnostic/refresh", lambda: client.diagnostic_refresh_count)
    await client.sync()
    assert [d.code for d in (await pull(client, uri)).items] == ["GB0170"]


async def test_unchanged(start):
    client = await start(trusted=True, pull=True)
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    await client.sync()
    first = await pull(client, uri)
    again = await pull(client, uri, first.result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    assert again.result_id == first.result_id
    client.edit(
        uri, [types.TextDocumentContentChangePartial(range=client.find(uri, "import torch"), text="import torch ")]
    )
    assert isinstance(await pull(client, uri, first.result_id), types.RelatedFullDocumentDiagnosticReport)


async def test_of_what_is_not_open(start):
    client = await start(pull=True)
    assert list((await pull(client, client.uri("never.py"))).items) == []


async def test_not_offered_to_a_client_that_cannot_be_told_to_ask_again(start):
    """It would show what it asked for while typing beside what is pushed after a capture."""
    client = await start(trusted=True, pull=True, refresh=False)
    assert client.server_capabilities.diagnostic_provider is None
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
