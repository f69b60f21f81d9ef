"""textDocument/hover: the explanation of the break under the cursor."""

import asyncio

import programs
import support
from lsprotocol import types


async def hover(client, uri, position):
    params = types.HoverParams(text_document=types.TextDocumentIdentifier(uri=uri), position=position)
    return await asyncio.wait_for(client.text_document_hover_async(params), support.DEADLINE)


async def test_explanation_in_markdown(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    answer = await hover(client, uri, found.range.start)
    assert answer.contents.kind is types.MarkupKind.Markdown
    assert "GB0170" in answer.contents.value and "scale" in answer.contents.value
    assert answer.range == found.range
    assert await hover(client, uri, types.Position(0, 0)) is None


async def test_plain_text_for_a_client_without_markdown(start):
    client = await start(trusted=True, weak=True)
    uri = client.open("model.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    answer = await hover(client, uri, found.range.start)
    assert answer.contents.kind is types.MarkupKind.PlainText
    assert "GB0170" in answer.contents.value
    assert "**" not in answer.contents.value and "```" not in answer.contents.value


async def test_nothing_to_hover_over(start):
    client = await start()
    uri = client.open("clean.py", programs.CLEAN)
    assert await hover(client, uri, types.Position(3, 6)) is None
    assert await hover(client, uri, types.Position(9999, 9999)) is None
    assert await hover(client, client.uri("never-opened.py"), types.Position(0, 0)) is None
