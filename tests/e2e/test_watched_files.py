"""workspace/didChangeWatchedFiles: files that came, changed and went behind the editor's back."""

import asyncio

import programs
from lsprotocol import types
from test_predictions import NET, PRINT, open_net, predicted
from test_workspace_diagnostic import by_name, ids, pull

CREATED, CHANGED, DELETED = types.FileChangeType.Created, types.FileChangeType.Changed, types.FileChangeType.Deleted
IGNORE = '[tool.graphglue]\nignore = ["GB0059"]\n'


async def say(client, kind, *names):
    events = [types.FileEvent(uri=client.uri(name), type=kind) for name in names]
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=events))
    await client.sync()


def severities(client, uri):
    return [d.severity for d in predicted(client, uri)]


async def test_settings_of_a_folder(start):
    client = await start(watch=True)
    uri = await open_net(client, PRINT)
    assert severities(client, uri) == [types.DiagnosticSeverity.Warning]
    client.write("pyproject.toml", IGNORE)
    await say(client, CREATED, "pyproject.toml")
    assert severities(client, uri) == []
    client.write("pyproject.toml", '[tool.graphglue]\nrules = { skipped-builtin = "error" }\n')
    await say(client, CHANGED, "pyproject.toml")
    assert severities(client, uri) == [types.DiagnosticSeverity.Error]
    client.write("pyproject.toml", "[tool.graphglue\n")
    await say(client, CHANGED, "pyproject.toml")
    (message,) = client.take_messages()
    assert "pyproject.toml" in message.message
    (client.workspace / "pyproject.toml").unlink()
    await say(client, DELETED, "pyproject.toml")
    assert severities(client, uri) == [types.DiagnosticSeverity.Warning]


async def test_settings_in_between(start):
    """The nearest one counts, and another one when it goes."""
    client = await start(watch=True)
    client.write("pyproject.toml", IGNORE)
    uri = await open_net(client, PRINT, "sub/net.py")
    assert severities(client, uri) == []
    client.write("sub/pyproject.toml", "[tool.graphglue]\n")
    await say(client, CREATED, "sub/pyproject.toml")
    assert severities(client, uri) == [types.DiagnosticSeverity.Warning]
    (client.workspace / "sub/pyproject.toml").unlink()
    await say(client, DELETED, "sub/pyproject.toml")
    assert severities(client, uri) == []


async def test_files_that_are_not_open(start):
    client = await start(pull=True, watch=True)
    text = NET.format(body=PRINT)
    client.write("changed.py", text)
    client.write("deleted.py", text)
    first = await pull(client)
    assert by_name(client, first) == {"changed.py": ["GB0059"], "deleted.py": ["GB0059"]}
    client.write("changed.py", "x = 1\n")
    client.write("created.py", text)
    (client.workspace / "deleted.py").unlink()
    await say(client, CHANGED, "changed.py")
    await say(client, CREATED, "created.py")
    await say(client, DELETED, "deleted.py", "never.py", "sub")
    second = await pull(client, ids(first))
    assert by_name(client, second) == {"changed.py": [], "created.py": ["GB0059"], "deleted.py": []}


async def test_an_open_file_is_what_its_buffer_says(start):
    client = await start(watch=True)
    uri = await open_net(client, PRINT)
    client.write("net.py", "x = 1\n")
    await say(client, CHANGED, "net.py")
    (client.workspace / "net.py").unlink()
    await say(client, DELETED, "net.py")
    assert severities(client, uri) == [types.DiagnosticSeverity.Warning]


async def test_names_that_are_no_files(start):
    client = await start(watch=True)
    events = [types.FileEvent(uri=u, type=CHANGED) for u in ("", "untitled:1", "file://", "file:///%00", "git:/a.py")]
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=events))
    await client.sync()


QUIET = "def twice(x):\n    return x * 2\n"
LOUD = "def twice(x):\n    print(x)\n    return x * 2\n"
MODEL = """import torch
from layers import twice

with open("runs", "a") as runs:
    runs.write("x")


def scale(x):
    return twice(x) + 1
"""


async def test_what_an_open_file_imports(start):
    """A capture says what is so on disk; what it did not read, and what is being edited, is nobody's business."""
    client = await start(trusted=True, watch=True)
    client.write("layers.py", LOUD)
    client.write("other.py", QUIET)
    await asyncio.sleep(0.05)  # what changes within a tick of the file system's clock is not stored

    def runs():
        return len((client.workspace / "runs").read_text())

    async def changed(text, *others):
        client.write("layers.py", text)
        await say(client, CHANGED, "layers.py", *others)
        return [d.code for d in client.diagnostics[uri] if d.code]

    uri = client.open("model.py", MODEL + programs.INPUTS)
    await client.sync()
    ran = runs()
    client.close(uri)
    client.open("model.py", MODEL + programs.INPUTS)
    await client.sync()
    assert [d.code for d in client.diagnostics[uri] if d.code] == ["GB0059"] and runs() == ran, "it was stored"
    assert await changed(QUIET, "other.py", "runs") == []
    ran = runs()
    await say(client, CHANGED, "other.py", "model.py")
    client.open("layers.py", QUIET)
    await say(client, CHANGED, "layers.py")
    client.close(client.uri("layers.py"))
    client.replace(uri, "twice(x) + 1", "twice(x) + (")
    await changed(LOUD)
    assert runs() == ran
    client.replace(uri, "twice(x) + (", "twice(x) + 1")
    (client.workspace / "layers.py").unlink()
    await say(client, DELETED, "layers.py")
    (failed,) = [d for d in client.diagnostics[uri] if d.severity is types.DiagnosticSeverity.Error]
    assert "layers" in failed.message
