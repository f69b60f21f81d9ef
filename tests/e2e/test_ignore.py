"""Comments that say what not to show: predictions and what captures found alike, as the text is now; and the action that writes them."""

import pytest
from lsprotocol import types
from programs import HEAD
from support import confirmed

INPUTS = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(1),), {}\n"
CODE = HEAD + "@torch.compile\ndef f(x):\n    print(x)\n    return x + x.item()\n" + INPUTS


def codes(client, uri):
    return sorted(d.code for d in client.diagnostics.get(uri, []) if str(d.code).startswith("GB"))


async def ignore(client, uri, diagnostic):
    """What the editor does with *Ignore … here*."""
    actions = await client.actions(uri, diagnostic.range)
    (action,) = [a for a in actions if a.title == f"Ignore {diagnostic.code} here"]
    assert (
        action.kind == types.CodeActionKind.QuickFix
        and not action.is_preferred
        and [d.code for d in action.diagnostics] == [diagnostic.code]
    )
    client.apply(action.edit)
    await client.sync()


async def test_a_prediction(start):
    client = await start(trusted=False)
    uri = client.open("f.py", CODE)
    await client.sync()
    assert codes(client, uri) == ["GB0059", "GB0124"]
    (found,) = [d for d in client.diagnostics[uri] if d.code == "GB0059"]
    await ignore(client, uri, found)
    assert codes(client, uri) == ["GB0124"] and "    print(x)  # graphglue: ignore[GB0059]\n" in client.texts[uri]
    client.replace(uri, "  # graphglue: ignore[GB0059]", "")
    await client.sync()
    assert codes(client, uri) == ["GB0059", "GB0124"]


@pytest.mark.parametrize("predict", [True, False])
async def test_what_a_capture_found(start, predict):
    client = await start(trusted=True, settings={"predict": predict})
    uri = client.open("f.py", CODE)
    await client.saved(uri)
    assert sorted(d.code for d in confirmed(client.diagnostics[uri])) == ["GB0059", "GB0124"]
    for code in ("GB0059", "GB0124"):
        (found,) = [d for d in client.diagnostics[uri] if d.code == code]
        await ignore(client, uri, found)
    assert codes(client, uri) == []
    await client.saved(uri)
    assert codes(client, uri) == []
    hover = types.HoverParams(
        text_document=types.TextDocumentIdentifier(uri=uri), position=client.find(uri, "print").start
    )
    assert await client.text_document_hover_async(hover) is None
    client.replace(uri, "ignore[GB0059]", "ignore[GB0007]")
    await client.sync()
    assert codes(client, uri) == ["GB0059"]


async def test_a_list_grows(start):
    client = await start(trusted=False)
    uri = client.open("f.py", CODE.replace("print(x)", "print(x.item())"))
    await client.sync()
    assert codes(client, uri) == ["GB0059", "GB0124", "GB0124"]
    for code in ("GB0059", "GB0124"):
        found = [d for d in client.diagnostics[uri] if d.code == code][0]
        await ignore(client, uri, found)
    assert "    print(x.item())  # graphglue: ignore[GB0059, GB0124]\n" in client.texts[uri]
    assert codes(client, uri) == ["GB0124"]
