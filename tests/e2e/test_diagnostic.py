"""textDocument/diagnostic: pulled, the same findings as pushed."""

import asyncio

import programs
import support
from lsprotocol import types


async def pull(client, uri, previous=None):
    params = types.DocumentDiagnosticParams(
        text_document=types.TextDocumentIdentifier(uri=uri), previous_result_id=previous
    )
    return await asyncio.wait_for(client.text_document_diagnostic_async(params), support.DEADLINE)


async def test_same_as_pushed(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    pushed = await client.saved(uri)
    report = await pull(client, uri)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [(d.code, d.range) for d in report.items] == [(d.code, d.range) for d in pushed]


async def test_refresh_is_asked_for_after_a_capture(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    await client.until("workspace/diagnostic/refresh", lambda: client.diagnostic_refresh_count)


async def test_of_what_is_not_open(start):
    client = await start()
    report = await pull(client, client.uri("never.py"))
    assert list(report.items) == []
