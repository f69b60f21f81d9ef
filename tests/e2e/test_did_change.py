"""textDocument/didChange: the server's text is the editor's, whatever the units, the line ends and the order of edits.

What the server holds is seen in `gg/text`, which --test serves beside gg/sync and gg/status.
"""

import random
import time

import pytest
from lsprotocol import types
from support import plain

START = 'import torch\n\ns = "🔥é"\nt = 1\n'


async def held(client, uri):
    answer = plain(await client.request("gg/text", {"uri": uri}))
    return answer["text"], answer["version"]


def whole(text):
    return types.TextDocumentContentChangeWholeDocument(text=text)


def part(line, character, end_line, end_character, text):
    where = types.Range(types.Position(line, character), types.Position(end_line, end_character))
    return types.TextDocumentContentChangePartial(range=where, text=text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_units(start, encoding):
    client = await start(encodings=[encoding])
    uri = client.open("units.py", START)
    client.replace(uri, "é", "ü🌊")
    client.replace(uri, '"\nt', '" + "x"\nt')
    client.replace(uri, "🔥", "")
    assert await held(client, uri) == (client.texts[uri], 4)
    assert 's = "ü🌊" + "x"\n' in client.texts[uri]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_line_ends(start, end):
    client = await start()
    uri = client.open("ends.py", START.replace("\n", end))
    client.edit(uri, [part(3, 4, 3, 5, "2"), part(2, 0, 3, 0, ""), part(2, 5, 2, 5, f"{end}u = 3")])
    text, version = await held(client, uri)
    assert (text, version) == (client.texts[uri], 2)
    assert text == f"import torch{end}{end}t = 2{end}u = 3{end}"


async def test_whole_and_ranged_changes_mixed(start):
    client = await start()
    uri = client.open("mixed.py", START)
    client.edit(uri, [part(0, 0, 0, 0, "# first\n"), whole("a = 1\n"), part(0, 4, 0, 5, "2")])
    assert await held(client, uri) == ("a = 2\n", 2)


async def test_many_edits_without_waiting(start):
    client = await start()
    uri = client.open("many.py", START)
    begun = time.monotonic()
    for i in range(500):
        client.edit(uri, [part(3, 4, 3, len(client.texts[uri].split("\n")[3]), str(i))])
    assert await held(client, uri) == (START.replace("t = 1", "t = 499"), 501)
    await client.sync()
    last = await client.until("the newest version", lambda: [p for p in client.published if p.version == 501])
    a_few = 10 + (time.monotonic() - begun) * 1000 / 10  # one in 10 ms
    assert last and len(client.published) < a_few, "versions that were already old were published"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_random_edits(start, encoding):
    client = await start(encodings=[encoding])
    uri = client.open("random.py", START)
    chooser = random.Random(3)
    alphabet = ["a", "\n", "\r\n", "é", "🔥", '"', "(", ")", "    ", "if x:\n    y\n", ""]
    for _ in range(300):
        text = client.texts[uri]
        places = [i for i in range(len(text) + 1) if text[i - 1 : i + 1] != "\r\n"]
        a, b = sorted(chooser.choices(places, k=2))
        b = min(b, a + 8) if text[min(b, a + 8) - 1 : min(b, a + 8) + 1] != "\r\n" else a
        where = types.Range(*(client.position(uri, i) for i in (a, b)))
        client.edit(uri, [types.TextDocumentContentChangePartial(range=where, text=chooser.choice(alphabet))])
    assert (await held(client, uri))[0] == client.texts[uri]


async def test_positions_out_of_range_are_clamped(start):
    """The protocol says so of a character past the line's end; a line past the end of the text is the end of the text."""
    client = await start()
    uri = client.open("clamp.py", "a\nb\n")
    document = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    changes = [part(0, 99, 0, 99, "!"), part(77, 3, 99, 9, "end")]
    client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=document, content_changes=changes))
    assert await held(client, uri) == ("a!\nb\nend", 2)


async def test_an_edit_whose_end_precedes_its_start(start):
    client = await start()
    uri = client.open("order.py", "abc\n")
    document = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=document, content_changes=[part(0, 3, 0, 1, "x")])
    )
    text, _ = await held(client, uri)
    assert text in ("abc\n", "ax\n"), "neither dropped nor put in order"


async def test_a_change_inside_a_surrogate_pair(start):
    client = await start()
    uri = client.open("pair.py", "🔥a\n")
    document = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=document, content_changes=[part(0, 1, 0, 2, "x")])
    )
    text, _ = await held(client, uri)
    text.encode()  # still valid Unicode


async def test_a_change_of_a_file_that_is_not_open(start):
    client = await start()
    document = types.VersionedTextDocumentIdentifier(uri=client.uri("closed.py"), version=1)
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=document, content_changes=[whole("a = 1\n")])
    )
    await client.sync()


async def test_a_huge_replace_all(start):
    """One message with thousands of changes, as editors send it: from the end to the begin (the run's end tells the longest turns)."""
    client = await start()
    lines = 4000
    uri = client.open("many.py", "x = 1  # words\n" * lines)
    changes = [part(line, 0, line, 1, "yy") for line in reversed(range(0, lines, 2))]
    document = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=document, content_changes=changes))
    text, _ = await held(client, uri)
    assert text == ("yy = 1  # words\n" + "x = 1  # words\n") * (lines // 2)


async def test_a_burst_in_a_large_file(start):
    """Thousands of messages without waiting, all over a large file: a few publications, and no stall."""
    client = await start()
    uri = client.open("burst.py", "x = 1  # words and words\n" * 8000)
    for version in range(2, 3002):
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        change = part(version * 13 % 8000, 0, version * 13 % 8000, 1, "y")
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )
    text, version = await held(client, uri)
    assert version == 3001 and text.count("y = 1") == 3000
    await client.sync()
    assert len([p for p in client.published if p.uri == uri]) < 1500


async def test_an_undo_brings_the_finding_back(start):
    """A line that is edited fades; when it reads as before, it says what it said."""
    import programs

    client = await start(trusted=True)
    uri = client.open("undo.py", programs.BRANCH)
    (found,) = await client.saved(uri)

    async def after(version):
        last = await client.until(
            f"diagnostics of version {version}", lambda: [p for p in client.published if p.version == version]
        )
        return last[-1].diagnostics

    (faded,) = await after(client.replace(uri, "h.sum() > 0", "h.sum() > 10"))
    assert faded.severity is types.DiagnosticSeverity.Hint and list(faded.tags) == [types.DiagnosticTag.Unnecessary]
    assert await client.repairs(uri, faded.range) == []
    (back,) = await after(client.replace(uri, "h.sum() > 10", "h.sum() > 0"))
    assert back == found
    assert await client.repairs(uri, back.range)
    line = client.texts[uri].split("\n")[back.range.start.line] + "\n"
    assert list(await after(client.replace(uri, line, ""))) == []
    where = types.Range(types.Position(back.range.start.line, 0), types.Position(back.range.start.line, 0))
    (back,) = await after(client.edit(uri, [types.TextDocumentContentChangePartial(range=where, text=line)]))
    assert back == found


async def test_diagnostics_follow_the_text(start):
    """A confirmed break stays on its expression while lines are typed above it."""
    import programs

    client = await start(trusted=True)
    uri = client.open("follow.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    client.edit(uri, [part(0, 0, 0, 0, "# 🔥 a comment\n\n")])
    await client.sync()
    (moved,) = await client.until(
        "diagnostics of version 2", lambda: [p for p in client.published if p.version == 2 and p.diagnostics]
    )
    assert moved.diagnostics[0].range == client.find(uri, programs.CONDITION) != found.range
