"""Positions behind characters of one to four bytes, of two units, and of several code points: in the units that were agreed on, both ways."""

import pytest
from lsprotocol import types
from places import covered
from test_predictions import NET, predicted
from test_workspace_diagnostic import pull

WIDE = '"é🔥 e\u0301 👩\u200d🚀 中"'
TEXT = NET.format(body=f"        name = {WIDE}; print(x.shape); x.item()  # 🔥\n")
OFFERED = {
    "nothing": (None, "utf-16"),
    "utf-8": (["utf-8"], "utf-8"),
    "utf-32": (["utf-32"], "utf-16"),  # which every client must know
    "as Emacs": (["utf-32", "utf-8", "utf-16"], "utf-8"),
}


async def hover(client, uri, where):
    params = types.HoverParams(types.TextDocumentIdentifier(uri=uri), where)
    return await client.text_document_hover_async(params)


@pytest.mark.parametrize("offered", OFFERED)
async def test_ranges(start, offered):
    encodings, chosen = OFFERED[offered]
    client = await start(encodings=encodings)
    assert client.encoding == chosen
    uri = client.open("net.py", TEXT)
    await client.sync()
    found = predicted(client, uri)
    assert [covered(TEXT, d.range, chosen) for d in found] == ["print(x.shape)", "x.item()"]
    start_of_print, end_of_item = TEXT.index("print"), TEXT.index("x.item()") + len("x.item()")
    assert "print" in (await hover(client, uri, found[0].range.start)).contents.value
    assert "item" in (await hover(client, uri, client.position(uri, end_of_item))).contents.value
    assert await hover(client, uri, client.position(uri, start_of_print - 1)) is None
    assert await hover(client, uri, client.position(uri, end_of_item + 1)) is None
    (ignore, *_) = await client.actions(uri, found[0].range)
    client.apply(ignore.edit)
    assert client.texts[uri].split("\n")[5] == TEXT.split("\n")[5] + "  # graphglue: ignore[GB0059]"
    client.replace(uri, WIDE, WIDE + " + 'ü🔥'")
    await client.sync()
    assert [covered(client.texts[uri], d.range, chosen) for d in predicted(client, uri)] == ["x.item()"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_ranges_in_a_file_that_is_not_open(start, encoding):
    client = await start(pull=True, encodings=[encoding])
    client.write("net.py", TEXT)
    (report,) = await pull(client)
    assert [covered(TEXT, d.range, encoding) for d in report.items] == ["print(x.shape)", "x.item()"]
