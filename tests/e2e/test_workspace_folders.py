"""workspace/didChangeWorkspaceFolders: several folders, added and removed, or none."""

import asyncio

import programs
from lsprotocol import types
from test_workspace_diagnostic import NET, by_name, ids, pull


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


async def change(client, added=(), removed=()):
    event = types.WorkspaceFoldersChangeEvent(added=list(added), removed=list(removed))
    client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event=event))
    await client.sync()


async def begin_to_hold(client, reports):
    """A request that tells nothing new, and so is not answered until there is."""
    held = asyncio.ensure_future(pull(client, ids(reports)))
    for _ in range(5):
        await asyncio.sleep(0)  # it is sent
    await client.sync()
    assert not held.done()
    return held


async def test_what_is_told_of_a_workspace_follows_its_folders(start, tmp_path):
    """Also the request that is held: its client would wait for what lies in a folder that came, and keep what lay in one that went."""
    client = await start(pull=True, watch=True, folders=[tmp_path / "one"])
    for name in ("one", "two"):
        client.write(f"{name}/net.py", NET)
    first = await pull(client)
    assert by_name(client, first) == {"one/net.py": ["GB0059"]}
    held = await begin_to_hold(client, first)
    await change(client, added=[folder(tmp_path / "two")])
    assert by_name(client, await asyncio.wait_for(held, 10)) == {"one/net.py": "unchanged"}
    second = await pull(client, ids(first))
    assert by_name(client, second) == {"one/net.py": "unchanged", "two/net.py": ["GB0059"]}
    held = await begin_to_hold(client, second)
    await change(client, removed=[folder(tmp_path / "one")])
    await asyncio.wait_for(held, 10)
    third = await pull(client, ids(second))
    assert by_name(client, third) == {"one/net.py": [], "two/net.py": "unchanged"}
    await change(client, added=[folder(tmp_path / "one")], removed=[folder(tmp_path / "one")])
    assert by_name(client, await pull(client, ids(third))) == {"one/net.py": ["GB0059"], "two/net.py": "unchanged"}


async def test_settings_are_of_paths_below_the_folder(start, tmp_path):
    """Also of a file that was open when its folder came."""
    client = await start(folders=[tmp_path / "one"], settings={"exclude": ["sub/net.py"]})
    uri = client.open("two/sub/net.py", NET)
    await client.sync()
    assert "GB0059" in [d.code for d in client.diagnostics[uri]]
    await change(client, added=[folder(tmp_path / "two")])
    assert list(client.diagnostics[uri]) == []
    await change(client, removed=[folder(tmp_path / "two"), folder(tmp_path / "never")])
    assert "GB0059" in [d.code for d in client.diagnostics[uri]]


async def test_two_names_of_a_folder(start, tmp_path):
    """A folder inside another one, one twice, one that ends with a slash, and one that is no file: of the same files one report each."""
    client = await start(pull=True, folders=[tmp_path])
    client.write("sub/net.py", NET)
    slash = types.WorkspaceFolder(uri=tmp_path.as_uri() + "/", name="again")
    odd = types.WorkspaceFolder(uri="vscode-remote://host/a", name="far")
    await change(client, added=[folder(tmp_path / "sub"), folder(tmp_path / "sub"), folder(tmp_path), slash, odd])
    reports = await pull(client)
    assert [(r.uri, len(r.items)) for r in reports] == [(client.uri("sub/net.py"), 1)]
    await change(client, removed=[slash, folder(tmp_path / "sub")])
    assert by_name(client, await pull(client, ids(reports))) == {"sub/net.py": []}
