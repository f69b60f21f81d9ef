"""workspace/executeCommand: the way to an edit for clients that cannot resolve, and what a person asks for by name."""

import asyncio
import sys

import programs
import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from support import confirmed, plain


async def execute(client, command, *arguments):
    params = types.ExecuteCommandParams(command=command, arguments=list(arguments))
    return await asyncio.wait_for(client.workspace_execute_command_async(params), support.DEADLINE)


async def offered(client, text=programs.BRANCH):
    uri = client.open("model.py", text)
    (found, *_) = await client.saved(uri)
    (glue, *_) = await client.repairs(uri, found.range)
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
    assert not confirmed(client.diagnostics.get(uri)), "captured although told not to"
    await execute(client, "graphglue.capture", uri)
    await client.sync()
    await client.until("the break", lambda: confirmed(client.diagnostics.get(uri)))


async def test_capture_by_name_starts_a_worker_that_was_given_up(start, tmp_path):
    """Told once and left alone; a person who asks by name does not wait for the rest to be over."""
    python, mended = tmp_path / "python", tmp_path / "mended"
    python.write_text(f'#!/bin/sh\n[ -e "{mended}" ] || exit 3\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    client = await start(trusted=True, python=str(python))
    uri = client.open("model.py", programs.BRANCH)
    assert "did not answer as a Python interpreter" in (await client.saved(uri))[0].message
    mended.touch()
    assert "did not answer as a Python interpreter" in (await client.saved(uri))[0].message
    await execute(client, "graphglue.capture", uri)
    await client.until("the break", lambda: [d.code for d in client.diagnostics[uri]] == ["GB0170"])


async def test_status(start):
    client = await start()
    status = plain(await execute(client, "graphglue.status"))
    assert "initialize" in str(status)


async def test_status_tells_of_trust_and_workers(start, tmp_path):
    """What an editor's status line shows."""
    client = await start(trusted=False)
    status = plain(await execute(client, "graphglue.status"))
    assert status["trusted"] is False
    assert [w["state"] for w in status["workers"]] == ["off"]
    client = await start(trusted=True)
    await client.saved(client.open("model.py", programs.BRANCH))
    status = plain(await execute(client, "graphglue.status"))
    (worker,) = status["workers"]
    assert status["trusted"] is True and worker["folder"] == str(tmp_path)
    assert (worker["state"], worker["error"]) == ("ready", None) and worker["torch"] and worker["python"]


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


def test_a_client_that_can_nothing(raw, tmp_path):
    """Not even apply an edit: actions are commands, and when it refuses the edit, that is the command's result."""
    server = raw()
    (tmp_path / "model.py").write_text(programs.BRANCH)
    uri = (tmp_path / "model.py").as_uri()
    server.initialize(rootUri=tmp_path.as_uri(), initializationOptions={"trusted": True, "python": sys.executable})
    item = {"uri": uri, "languageId": "python", "version": 1, "text": programs.BRANCH}
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    assert server.request(1, "gg/sync", seconds=support.DEADLINE)["result"] is None
    *_, last = [m["params"] for m in server.queue if m.get("method") == "textDocument/publishDiagnostics"]
    (found,) = last["diagnostics"]
    asked = {"textDocument": {"uri": uri}, "range": found["range"], "context": {"diagnostics": []}}
    (glue, *_) = server.request(2, "textDocument/codeAction", asked)["result"]
    assert glue["command"] == "graphglue.glue", "a Command, no CodeAction"
    asked = {"command": glue["command"], "arguments": glue["arguments"]}
    server.send(id=3, method="workspace/executeCommand", params=asked)
    while "id" not in (wanted := server.read(support.DEADLINE)):
        pass
    assert wanted["method"] == "workspace/applyEdit", "the one thing that it is asked for"
    server.send(id=wanted["id"], error={"code": -32601, "message": "there is no such method"})
    edit = server.reply(3)["result"]
    assert "torch.where(" in edit["changes"][uri][0]["newText"]
    asked["arguments"][0]["revision"] += 1
    assert server.request(4, "workspace/executeCommand", asked)["error"]["code"] == -32801
