"""workspace/configuration and didChangeConfiguration: settings are asked for, used, and changed while running."""

import sys

import programs
from lsprotocol import types
from support import confirmed


async def test_asked_for_and_used(start):
    """initializationOptions say nothing of the interpreter; the client's configuration does."""
    client = await start(trusted=True, python=None)
    client.set_configuration({"python": sys.executable, "capture": {"run": "onSave"}}, section="graphglue")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.sync()
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]


async def test_changed_while_running(start):
    client = await start(trusted=True, settings={"capture": {"run": "manual"}})
    uri = client.open("model.py", programs.BRANCH)
    client.save(uri)
    await client.sync()
    assert not confirmed(client.diagnostics.get(uri))
    client.set_configuration({"python": sys.executable, "capture": {"run": "onSave"}}, section="graphglue")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.sync()
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]


async def test_pushed_settings_of_a_client_that_cannot_be_asked(start):
    client = await start(trusted=True, weak=True, settings={"capture": {"run": "manual"}})
    uri = client.open("model.py", programs.BRANCH)
    settings = {"graphglue": {"python": sys.executable, "capture": {"run": "onSave"}}}
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=settings))
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]


async def test_a_wrong_setting_is_told_and_the_default_kept(start):
    client = await start(trusted=True, settings={"capture": {"run": "sometimes"}, "maxSafety": 7})
    await client.sync()
    told = " ".join(m.message for m in client.take_messages())
    assert "capture.run" in told and "maxSafety" in told, told
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
    client.take_messages()


async def test_trust_cannot_come_from_settings(start):
    """A workspace may carry settings files: they must not be able to allow what only the person may."""
    client = await start(trusted=False, settings={"trusted": False})
    client.set_configuration({"trusted": True, "python": sys.executable}, section="graphglue")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    uri = client.open("model.py", programs.entry("open('ran', 'w').close()\nreturn x"))
    client.save(uri)
    await client.sync()
    assert not (client.workspace / "ran").exists()
    client.take_messages()
