"""textDocument/hover: the explanation of the break under the cursor."""

import asyncio

import programs
import pytest
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


WITH_A_LIST = """import torch

SEEN = []


class Model(torch.nn.Module):
    def forward(self, h):
        if h.sum() > 0:
            h = h + 1
        else:
            SEEN.append("a`b")
        return h


def graphglue_inputs():
    yield "Model", Model(), (torch.ones(4),), {}
"""


@pytest.mark.parametrize("weak", [False, True], ids=["markdown", "plain"])
async def test_why_no_rule_mends_it(start, weak):
    client = await start(trusted=True, weak=weak)
    uri = client.open("model.py", WITH_A_LIST)
    (found,) = await client.saved(uri)
    said = (await hover(client, uri, found.range.start)).contents.value
    code = '`SEEN.append("a`b")`' if weak else '``SEEN.append("a`b")``'
    why = f"GG010 (select) does not apply: line 11, {code}: runs on one way only"
    assert ("No rule mends it. " if weak else "**No rule mends it.** ") + why in said
    client.replace(uri, "import torch", "\nimport torch")  # the line is another now
    moved = types.Position(found.range.start.line + 1, found.range.start.character)
    assert "does not apply" not in (await hover(client, uri, moved)).contents.value


async def test_of_a_rule_that_applies_none_says_why_not(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    assert "No rule" not in (await hover(client, uri, found.range.start)).contents.value
