"""workspace/didChangeWorkspaceFolders: several folders, added and removed, or none."""

import programs
from lsprotocol import types


def folder(path):
    path.mkdir(exist_ok=True)
    return types.WorkspaceFolder(uri=path.as_uri(), name=path.name)


async def test_two_folders_with_modules_of_one_name(start, tmp_path):
    first, second = tmp_path / "one", tmp_path / "two"
    first.mkdir()
    second.mkdir()
    client = await start(trusted=True, folders=[first, second])
    body = "import torch\nfrom layers import twice\n\n\ndef scale(x):\n    return twice(x) + 1\n" + programs.INPUTS
    client.write("one/layers.py", "def twice(x):\n    return x * 2\n")
    client.write("two/layers.py", "def twice(x):\n    print(x)\n    return x * 2\n")
    clean, broken = client.open("one/model.py", body), client.open("two/model.py", body)
    assert not [d for d in await client.saved(clean) if d.source == "graphglue" and d.code]
    await client.saved(broken)
    assert any("two/" in p.uri and p.diagnostics for p in client.published)


async def test_added_and_removed(start, tmp_path):
    client = await start(trusted=True, folders=[tmp_path / "one"])
    event = types.WorkspaceFoldersChangeEvent(added=[folder(tmp_path / "two")], removed=[folder(tmp_path / "one")])
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event=event))
    uri = client.open("two/model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
    event = types.WorkspaceFoldersChangeEvent(added=[], removed=[folder(tmp_path / "two")])
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event=event))
    await client.sync()


async def test_none(start):
    client = await start(trusted=True, folders=[])
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
