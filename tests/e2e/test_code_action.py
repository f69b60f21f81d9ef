"""textDocument/codeAction and codeAction/resolve: offered cheaply, verified when chosen, refused with the reason."""

import asyncio

import programs
import pytest
import support
from lsprotocol import types
from places import edits_of
from pygls.exceptions import JsonRpcException
from support import plain


async def resolve(client, action):
    return await asyncio.wait_for(client.code_action_resolve_async(action), support.DEADLINE)


async def broken(client, text=programs.BRANCH, name="model.py"):
    uri = client.open(name, text)
    found = await client.saved(uri)
    assert found
    return uri, found[0]


async def test_offered_without_the_edit(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    assert glue.kind == types.CodeActionKind.QuickFix and "lue this graph" in glue.title
    assert glue.edit is None and glue.command is None and glue.data is not None
    assert [d.code for d in glue.diagnostics] == ["GB0170"]


async def test_resolved_with_a_verified_edit(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    resolved = await resolve(client, glue)
    ((edited, version, _),) = edits_of(resolved.edit)
    assert edited == uri and version == client.versions[uri]
    client.apply(resolved.edit)
    assert "    h = torch.where(h.sum() > 0, h + 1, h - 1)\n    return h\n" in client.texts[uri]
    assert list(await client.saved(uri)) == [], "it said that the graph is whole"


async def test_wants_a_look_where_asked_for(start):
    client = await start(trusted=True, settings={"preview": True})
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    edit = (await resolve(client, glue)).edit
    ((name, annotation),) = edit.change_annotations.items()
    assert annotation.needs_confirmation and annotation.label == "Glue this graph" and annotation.description
    assert {e.annotation_id for change in edit.document_changes for e in change.edits} == {name}


async def test_only_other_kinds(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    assert await client.repairs(uri, found.range, only=[types.CodeActionKind.Refactor]) == []
    assert await client.repairs(uri, found.range, only=[types.CodeActionKind.QuickFix])


async def test_both_kinds_at_once(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    both = [types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
    offered = [a.kind for a in await client.repairs(uri, found.range, only=both)]
    assert offered[0] == types.CodeActionKind.QuickFix and offered.count("source.fixAll.graphglue") == 1
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    assert "source.fixAll.graphglue" in [a.kind for a in await client.repairs(uri, top, only=both)]
    assert "source.fixAll.graphglue" not in [a.kind for a in await client.repairs(uri, found.range)], "by name only"


async def test_nothing_offered_elsewhere(start):
    client = await start(trusted=True)
    uri, _ = await broken(client)
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    assert [a for a in await client.repairs(uri, top) if "lue" in a.title] == []


async def test_weaker_edits_only_where_allowed(start):
    """A message that is skipped while compiling is an effect."""
    client = await start(trusted=True, settings={"maxSafety": "exact"})
    uri, found = await broken(client, programs.PRINT)
    assert await client.repairs(uri, found.range) == []
    client = await start(trusted=True, settings={"maxSafety": "effects"})
    uri, found = await broken(client, programs.PRINT)
    (glue, *_) = await client.repairs(uri, found.range)
    client.apply((await resolve(client, glue)).edit)
    assert "if not torch.compiler.is_compiling():\n        print(" in client.texts[uri]


async def test_an_edit_that_would_change_results_is_refused(start):
    client = await start(trusted=True)
    uri, found = await broken(client, programs.WRONG)
    (glue, *_) = await client.repairs(uri, found.range)
    before = client.texts[uri]
    with pytest.raises(JsonRpcException) as refused:
        await resolve(client, glue)
    assert "elements differ" in refused.value.message
    await client.sync()
    shown = " ".join(m.message for m in client.take_messages())
    assert "Refused" in shown and "elements differ" in shown, shown
    assert client.texts[uri] == before
    assert plain(await client.request("gg/text", {"uri": uri}))["text"] == before


async def test_a_change_meanwhile_discards_the_edit(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    pending = asyncio.ensure_future(client.code_action_resolve_async(glue))
    await asyncio.sleep(0)  # lets the request be written before the change
    client.replace(uri, "h = x * 2", "h = x * 3")
    with pytest.raises(JsonRpcException) as stale:
        await asyncio.wait_for(pending, support.DEADLINE)
    assert stale.value.code == -32801
    client.take_messages()


async def assert_stale(client, glue):
    """Refused as out of date, and the user is told."""
    with pytest.raises(JsonRpcException) as stale:
        await resolve(client, glue)
    assert stale.value.code == -32801
    (message,) = await client.until("word of it", client.take_messages)
    assert "changed" in message.message


async def test_chosen_after_a_change(start):
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    client.replace(uri, "import torch", "import torch ")
    await assert_stale(client, glue)


async def test_chosen_after_the_file_was_closed(start):
    """And opened again: at the version it had, with another text in the same place."""
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    client.close(uri)
    await assert_stale(client, glue)
    client.replace(client.open("model.py", programs.BRANCH), "import torch", "import torch")
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
    await assert_stale(client, glue)
    client.close(uri)
    other = client.open("model.py", programs.BRANCH.replace("h + 1", "h + 9"))
    assert [d.range for d in await client.saved(other)] == [found.range]
    assert client.versions[other] == 1
    await assert_stale(client, glue)


async def test_chosen_after_another_was_applied(start):
    client = await start(trusted=True)
    text = programs.BRANCH.replace(
        "    return h\n", "    if h.mean() > 3:\n        h = h * 2\n    else:\n        h = h * 5\n    return h\n"
    )
    uri, _ = await broken(client, text)
    first, second = [(await client.repairs(uri, d.range))[0] for d in client.diagnostics[uri]]
    client.apply((await resolve(client, first)).edit)
    await assert_stale(client, second)


async def test_chosen_after_another_capture_of_the_same_text(start):
    """The menu was open while the file was saved."""
    client = await start(trusted=True)
    uri, found = await broken(client)
    (glue, *_) = await client.repairs(uri, found.range)
    assert list(await client.saved(uri)) == [found]
    client.apply((await resolve(client, glue)).edit)
    assert "torch.where(" in client.texts[uri]


async def test_half_a_surrogate_pair_is_never_moved(start):
    """What stands for it in our text is not what the editor holds."""
    client = await start(trusted=True)
    uri, found = await broken(
        client, programs.entry('assert x.isfinite().all() and (x < 99).all(), "\ufffd"\nreturn x')
    )
    (glue, *_) = await client.repairs(uri, found.range)
    with pytest.raises(JsonRpcException) as refused:
        await resolve(client, glue)
    assert "no text" in refused.value.message
    client.take_messages()


async def test_resolve_of_what_is_not_ours(start):
    client = await start(trusted=True)
    unknown = types.CodeAction(title="Somebody else's", kind=types.CodeActionKind.QuickFix)
    assert (await resolve(client, unknown)).title == "Somebody else's"  # a client may ask for any action it was given
    broken_data = types.CodeAction(title="Glue this graph", data={"uri": 3, "site": "x"})
    with pytest.raises(JsonRpcException) as refused:
        await resolve(client, broken_data)
    assert refused.value.code == -32602


async def test_nothing_before_a_capture(start):
    client = await start()
    uri = client.open("model.py", programs.BRANCH)
    assert [a for a in await client.repairs(uri, client.find(uri, programs.CONDITION)) if a.edit] == []
