"""textDocument/inlayHint: what the last capture found of each entry, behind the line of its class or function, where no code lens says it."""

import asyncio

import places
import programs
import support
from lsprotocol import types

WHOLE = """class Größe(torch.nn.Module):  # \U0001f600
    def forward(self, x):
        return x * 2


"""


async def hints(client, uri, first=0, last=1000):
    span = types.Range(types.Position(first, 0), types.Position(last, 0))
    params = types.InlayHintParams(text_document=types.TextDocumentIdentifier(uri=uri), range=span)
    found = await asyncio.wait_for(client.text_document_inlay_hint_async(params), support.DEADLINE)
    return [(hint.position.line, hint.position.character, hint.label) for hint in found]


async def test_the_state_of_each_entry(start):
    client = await start(trusted=True, hints=True)
    uri = client.open("model.py", programs.HEAD + WHOLE + programs.BRANCH.replace(programs.HEAD, ""))
    assert await hints(client, uri) == []
    await client.saved(uri)
    lines = client.texts[uri].split("\n")
    scale = next(n for n, line in enumerate(lines) if line.startswith("def scale"))
    assert (scale, len(lines[scale]), "2 graphs, 1 break") in await hints(client, uri)
    assert await hints(client, uri, 0, 1) == [] and len(await hints(client, uri, scale, scale)) == 1
    await client.until("a request to ask again", lambda: client.hint_refreshes)


async def test_characters_are_counted_as_the_client_does(start):
    for encoding in ("utf-16", "utf-8"):
        client = await start(trusted=True, hints=True, encodings=[encoding])
        uri = client.open(
            "model.py",
            programs.HEAD + WHOLE + "def graphglue_inputs():\n    yield 'a', Größe(), (torch.ones(2),), {}\n",
        )
        await client.saved(uri)
        line = client.texts[uri].split("\n").index(WHOLE.split("\n")[0])
        text = WHOLE.split("\n")[0]
        assert await hints(client, uri) == [(line, places.units(text, encoding), "one graph")]


def test_a_client_with_code_lenses_is_not_told_twice(raw):
    lens, hint = {"textDocument": {"codeLens": {}, "inlayHint": {}}}, {"textDocument": {"inlayHint": {}}}
    assert "inlayHintProvider" not in raw().initialize(capabilities=lens)["result"]["capabilities"]
    assert raw().initialize(capabilities=hint)["result"]["capabilities"]["inlayHintProvider"] is True
