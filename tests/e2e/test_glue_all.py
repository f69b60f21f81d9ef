"""Glue all: every repair of a file that can be proved, as one edit; by command, from the code lens, and as source.fixAll.graphglue."""

import asyncio

import programs
import pytest
import support
from lsprotocol import types
from places import edits_of
from pygls.exceptions import JsonRpcException
from support import plain
from test_cancel import cancel
from test_code_action import resolve
from test_execute_command import execute

FIX_ALL = "source.fixAll.graphglue"
# A message in a function that another one with a break calls: two sites, one exact and one with effects.
BOTH = (
    programs.HEAD
    + """def told(h):
    print("mean", h.mean())
    return h + 1


def scale(x):
    h = x * 2
    if h.sum() > 0:
        h = h + 1
    else:
        h = h - 1
    return told(h)
"""
    + programs.INPUTS
)
WHERE = "    h = torch.where(h.sum() > 0, h + 1, h - 1)\n"
GUARDED = '    if not torch.compiler.is_compiling():\n        print("mean", h.mean())\n'


async def saved(client, text=BOTH):
    uri = client.open("model.py", text)
    await client.saved(uri)
    return uri


async def fix_all(client, uri):
    everywhere = types.Range(types.Position(0, 0), types.Position(0, 0))
    return await client.actions(uri, everywhere, only=[FIX_ALL])


async def test_the_command_mends_all(start):
    client = await start(trusted=True)
    uri = await saved(client)
    await execute(client, "graphglue.glueAll", uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert WHERE in client.texts[uri] and GUARDED in client.texts[uri]
    assert len(client.applied) == 1, "one edit, and so one undo"
    assert "2 repairs proved: 3 breaks → 0" in client.take_messages()[0].message
    assert list(await client.saved(uri)) == []


async def test_the_lens_is_the_command(start):
    client = await start(trusted=True)
    uri = await saved(client)
    params = types.CodeLensParams(text_document=types.TextDocumentIdentifier(uri=uri))
    (lens,) = await asyncio.wait_for(client.text_document_code_lens_async(params), support.DEADLINE)
    assert lens.command.title == "4 graphs · 3 breaks · Glue all"
    await execute(client, lens.command.command, *lens.command.arguments)
    await client.until("workspace/applyEdit", lambda: client.applied)
    client.take_messages()


async def test_fix_all_is_exact_unless_a_setting_says_more(start):
    client = await start(trusted=True)
    uri = await saved(client)
    (action,) = await fix_all(client, uri)
    assert action.kind == FIX_ALL and action.edit is None and action.data is not None
    resolved = await resolve(client, action)
    ((edited, version, _),) = edits_of(resolved.edit)
    assert edited == uri and version == client.versions[uri]
    client.apply(resolved.edit)
    assert WHERE in client.texts[uri] and GUARDED not in client.texts[uri]
    (action,) = await fix_all(client, uri)
    assert (await resolve(client, action)).edit is None, "what is left has effects"
    client = await start(trusted=True, settings={"maxSafety": "effects"})
    uri = await saved(client)
    (action,) = await fix_all(client, uri)
    client.apply((await resolve(client, action)).edit)
    assert WHERE in client.texts[uri] and GUARDED in client.texts[uri]


async def test_fix_all_for_a_client_that_cannot_resolve(start):
    client = await start(trusted=True, weak=True)
    uri = await saved(client)
    (action,) = await fix_all(client, uri)
    await execute(client, action.command.command, *action.command.arguments)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert WHERE in client.texts[uri] and GUARDED not in client.texts[uri]
    client.take_messages()


async def test_fix_all_only_where_something_breaks_and_when_asked_for(start):
    client = await start(trusted=True)
    uri = await saved(client, programs.CLEAN)
    assert await fix_all(client, uri) == []
    other = client.open("other.py", programs.BRANCH)
    (found, *_) = await client.saved(other)
    assert FIX_ALL not in [a.kind for a in await client.actions(other, found.range)]
    assert [a.kind for a in await client.actions(other, found.range, only=["source"])] == [FIX_ALL]


async def test_nothing_to_mend_is_said(start):
    client = await start(trusted=True)
    uri = await saved(client, programs.CLEAN)
    await execute(client, "graphglue.glueAll", uri)
    assert "no graph break" in client.take_messages()[0].message and not client.applied


async def test_what_would_change_results_is_left(start):
    client = await start(trusted=True)
    uri = await saved(client, programs.WRONG)
    before = client.texts[uri]
    await execute(client, "graphglue.glueAll", uri)
    shown = client.take_messages()[0].message
    assert "none of 2 candidates was proved. Refused: scale: on the given inputs" in shown, shown
    assert not client.applied and client.texts[uri] == before


async def mending(client):
    """A file that is being mended, slowly; the answer that is awaited."""
    slow = BOTH.replace("torch.manual_seed(0)", "torch.manual_seed(0)\n    time.sleep(120 * SLOW)")
    uri = await saved(client, "import time\n\nSLOW = 0\n" + slow)
    client.replace(uri, "SLOW = 0", "SLOW = 1")
    await client.sync()
    before = len(client.progress_reports)
    params = types.ExecuteCommandParams("graphglue.glueAll", [uri])
    pending = asyncio.ensure_future(
        client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="all")
    )
    await client.until("progress", lambda: len(client.progress_reports) > before)
    return uri, pending


async def test_cancel(start):
    client = await start(trusted=True)
    _, pending = await mending(client)
    cancel(client, "all")
    with pytest.raises(JsonRpcException) as canceled:
        await asyncio.wait_for(pending, support.DEADLINE)
    assert canceled.value.code == -32800
    await client.sync()
    assert not client.applied


async def test_an_edit_meanwhile(start):
    client = await start(trusted=True, settings={"capture": {"timeout": 5}})
    uri, pending = await mending(client)
    client.replace(uri, "h + 1", "h + 2")
    with pytest.raises(JsonRpcException) as refused:
        await asyncio.wait_for(pending, support.DEADLINE)
    assert refused.value.code == -32801 and not client.applied
    client.take_messages()


async def test_not_without_trust(start):
    client = await start()
    uri = client.open("model.py", programs.BRANCH)
    with pytest.raises(JsonRpcException):
        await execute(client, "graphglue.glueAll", uri)
    assert await fix_all(client, uri) == []
    assert "not trusted" in client.take_messages()[-1].message
    with pytest.raises(JsonRpcException) as refused:
        await execute(client, "graphglue.glueAll", {"uri": 5})
    assert refused.value.code == -32602


async def test_timed(start):
    """The figures of what Glue all would apply; the text stays as it is."""
    client = await start(trusted=True, env={"CXX": "/nowhere/c++"})
    uri = await saved(client, programs.BRANCH)
    before = client.texts[uri]
    answer = plain(await execute(client, "graphglue.bench", uri))
    (entry,) = answer["bench"]
    assert "1 repair proved" in answer["summary"] and entry["backend"] == "pass-through", answer
    assert (entry["before"]["graphs"], entry["after"]["graphs"]) == (2, 1) and entry["eager"]["median_ms"] > 0
    assert client.texts[uri] == before and not client.applied


ASKED_FOR = (
    programs.HEAD
    + "def scale(x):\n    h = x * 2\n    torch._dynamo.graph_break()\n    return h + 1\n"
    + programs.INPUTS
)


async def test_on_save_nothing_is_undone_that_was_written_on_purpose(start):
    client = await start(trusted=True)
    uri = await saved(client, ASKED_FOR)
    (action,) = await fix_all(client, uri)
    assert (await resolve(client, action)).edit is None
    await execute(client, "graphglue.glueAll", uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert "graph_break" not in client.texts[uri]
    client.take_messages()
