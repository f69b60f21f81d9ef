"""pyproject.toml in an editor: before anything is published, again when it changes, and behind what the editor itself says."""

import sys

from lsprotocol import types
from programs import HEAD
from support import confirmed

INPUTS = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(1),), {}\n"
CODE = HEAD + "@torch.compile\ndef f(x):\n    print(x)\n    return x + x.item()\n" + INPUTS


def found(client, uri):
    return sorted((d.code, d.severity.name) for d in client.diagnostics.get(uri, []) if str(d.code).startswith("GB"))


def project(folder, text):
    (folder / "pyproject.toml").write_text("[tool.graphglue]\n" + text)


async def changed(client):
    event = types.FileEvent(uri=client.uri("pyproject.toml"), type=types.FileChangeType.Changed)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=[event]))
    await client.sync()


async def test_read_before_anything_is_said_and_when_it_changes(start, tmp_path):
    project(tmp_path, 'rules = { skipped-builtin = "off", GB0124 = "error" }\n')
    client = await start()
    uri = client.open("f.py", CODE)
    await client.sync()
    assert found(client, uri) == [("GB0124", "Error")]
    assert not any(d.code == "GB0059" for p in client.published for d in p.diagnostics)
    project(tmp_path, 'rules = { GB0059 = "information" }\n')
    await changed(client)
    assert found(client, uri) == [("GB0059", "Information"), ("GB0124", "Warning")]
    project(tmp_path, "predict = false\n")
    await changed(client)
    assert found(client, uri) == []
    project(tmp_path, 'exclude = ["f.py"]\n')
    await changed(client)
    assert not client.diagnostics[uri]
    (tmp_path / "pyproject.toml").unlink()
    await changed(client)
    assert found(client, uri) == [("GB0059", "Warning"), ("GB0124", "Warning")]


async def test_what_a_capture_found_and_a_save_reads_anew(start, tmp_path):
    client = await start(trusted=True)
    project(tmp_path, 'rules = { skipped-builtin = "off" }\n')
    uri = client.open("f.py", CODE)
    await client.saved(uri)
    assert [d.code for d in confirmed(client.diagnostics[uri])] == ["GB0124"]
    project(tmp_path, 'rules = { scalar-from-tensor = "hint" }\n')
    await client.saved(uri)
    assert found(client, uri) == [("GB0059", "Warning"), ("GB0124", "Hint")]


async def test_the_editor_goes_before_it(start, tmp_path):
    project(tmp_path, 'ignore = ["GB0124"]\nrules = { GB0124 = "hint" }\n')
    client = await start(settings={"ignore": ["GB0059"]})
    uri = client.open("f.py", CODE)
    await client.sync()
    assert found(client, uri) == [("GB0124", "Hint")]
    client.set_configuration({"ignore": [], "rules": {"GB0124": "error"}}, section="graphglue")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.sync()
    assert found(client, uri) == [("GB0059", "Warning"), ("GB0124", "Error")]


async def test_a_broken_one_is_told_once(start, tmp_path):
    client = await start()
    client.write("pyproject.toml", "[tool.graphglue]\nignore = [\n")
    client.open("a.py", CODE)
    client.open("sub/b.py", CODE)
    await client.sync()
    await changed(client)
    (told,) = client.take_messages()
    assert "pyproject.toml:" in told.message and told.type is types.MessageType.Warning
    assert len(found(client, client.uri("a.py"))) == 2
    project(tmp_path, 'ignore = ["GB59", "nothing"]\n')
    await changed(client)
    (told,) = client.take_messages()
    assert "'nothing'" in told.message and found(client, client.uri("a.py")) == [("GB0124", "Warning")]


async def test_it_names_the_interpreter_of_a_trusted_workspace(start, tmp_path):
    (tmp_path / "pyproject.toml").write_text(f'[tool.graphglue]\npython = "{sys.executable}"\n')
    client = await start(trusted=True, python=None, env={"VIRTUAL_ENV": "", "PATH": "/usr/bin"})
    uri = client.open("f.py", CODE)
    await client.saved(uri)
    assert len(confirmed(client.diagnostics[uri])) == 2
    project(tmp_path, 'python = "./nothing-here"\n')
    await changed(client)
    await client.sync()
    assert any("nothing-here" in d.message for d in client.diagnostics[uri])
    client.take_messages()
