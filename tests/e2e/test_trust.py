"""Trust: running a capture runs the user's code, so nothing runs until the client says so."""

import programs


async def test_nothing_runs_and_the_first_diagnostic_says_how_to_allow_it(start):
    client = await start(trusted=False)
    uri = client.open(
        "model.py", programs.entry("open('ran', 'w').close()\nreturn x") + "\nopen('imported', 'w').close()\n"
    )
    client.save(uri)
    await client.sync()
    assert not (client.workspace / "ran").exists() and not (client.workspace / "imported").exists()
    said = [d.message for d in client.diagnostics[uri]] + [m.message for m in client.take_messages()]
    assert any("trust" in text for text in said), said


async def test_said_once(start):
    client = await start(trusted=False)
    for name in ("a.py", "b.py"):
        client.save(client.open(name, programs.BRANCH))
    await client.sync()
    messages = client.take_messages()
    notes = [d for p in client.diagnostics.values() for d in p if "trust" in d.message]
    assert len(messages) + len(notes) <= 1


async def test_a_capture_by_name_is_refused(start):
    import pytest
    from lsprotocol import types
    from pygls.exceptions import JsonRpcException

    client = await start(trusted=False)
    uri = client.open("model.py", programs.BRANCH)
    with pytest.raises(JsonRpcException) as refused:
        await client.workspace_execute_command_async(
            types.ExecuteCommandParams(command="graphglue.capture", arguments=[uri])
        )
    assert "trust" in refused.value.message
    client.take_messages()
