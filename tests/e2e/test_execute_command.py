"""workspace/executeCommand: the way to an edit for clients that cannot resolve, and what a person asks for by name."""

import asyncio

import programs
import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from support import plain


async def execute(client, command, *arguments):
    params = types.ExecuteCommandParams(command=command, arguments=list(arguments))
    return await asyncio.wait_for(client.workspace_execute_command_async(params), support.DEADLINE)


async def offered(client, text=programs.BRANCH):
    uri = client.open("model.py", text)
    (found, *_) = await client.saved(uri)
    (glue, *_) = await client.actions(uri, found.range)
    assert glue.edit is None and glue.command.command == "graphglue.glue"
    return uri, glue


async def test_glue_ends_in_apply_edit(start):
    client = await start(trusted=True, weak=True)
    uri, glue = await offered(client)
    await execute(client, glue.command.command, *glue.command.arguments)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert "torch.where(h.sum() > 0, h + 1, h - 1)" in client.texts[uri]
    assert client.applied[0].label
    assert list(await client.saved(uri)) == []


async def test_an_editor_that_refuses_the_edit(start):
    client = await start(trusted=True, weak=True)
    uri, glue = await offered(client)
    client.refuse_edits, before = True, client.texts[uri]
    await execute(client, glue.command.command, *glue.command.arguments)
    await client.until("word of it", lambda: client.messages)
    assert "did not apply" in client.take_messages()[0].message
    assert client.texts[uri] == before


async def test_an_edit_that_would_change_results(start):
    client = await start(trusted=True, weak=True)
    uri, glue = await offered(client, programs.WRONG)
    before = client.texts[uri]
    with pytest.raises(JsonRpcException):
        await execute(client, glue.command.command, *glue.command.arguments)
    shown = " ".join(m.message for m in client.take_messages())
    assert "Refused" in shown and "elements differ" in shown, shown
    assert not client.applied and client.texts[uri] == before


async def test_capture_by_name(start):
    client = await start(trusted=True, settings={"capture": {"run": "manual"}})
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    await client.sync()
    assert not client.diagnostics.get(uri), "captured although told not to"
    await execute(client, "graphglue.capture", uri)
    await client.sync()
    await client.until("the break", lambda: client.diagnostics.get(uri))


async def test_status(start):
    client = await start()
    status = plain(await execute(client, "graphglue.status"))
    assert "initialize" in str(status)


async def test_unknown_commands_and_arguments(start):
    client = await start()
    for command, arguments in (
        ("no.such.command", []),
        ("graphglue.glue", []),
        ("graphglue.glue", [{"uri": 5}]),
        ("graphglue.capture", [{}]),
    ):
        with pytest.raises(JsonRpcException) as refused:
            await execute(client, command, *arguments)
        assert refused.value.code == -32602, command
