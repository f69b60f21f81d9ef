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


async def test_in_the_words_of_the_editor(start):
    client = await start(trusted=False, trustHelp="press the green button")
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    await client.sync()
    (said,) = [d.message for d in client.diagnostics[uri] if "trust" in d.message]
    assert said.endswith("To allow it, press the green button."), said


async def test_said_once_in_each_file(start):
    client = await start(trusted=False)
    uris = [client.open(name, programs.BRANCH) for name in ("a.py", "b.py")]
    for uri in uris:
        client.save(uri)
    await client.sync()
    assert not client.take_messages(), "nor in a window"
    assert [len([d for d in client.diagnostics[uri] if "trust" in d.message]) for uri in uris] == [1, 1]


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
