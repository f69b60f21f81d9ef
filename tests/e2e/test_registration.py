"""client/registerCapability: what is asked for of a client that says it can be, and nothing of one that does not; and answers of any shape."""

import pytest
import shapes
import support
from lsprotocol import types

CONFIGURATION, FILES = types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.WORKSPACE_DID_CHANGE_WATCHED_FILES


def announcing(*methods):
    def dynamic(method, cls):
        return cls(dynamic_registration=True) if method in methods else None

    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            did_change_configuration=dynamic(CONFIGURATION, types.DidChangeConfigurationClientCapabilities),
            did_change_watched_files=dynamic(FILES, types.DidChangeWatchedFilesClientCapabilities),
        )
    )


@pytest.mark.parametrize("methods", [(), (CONFIGURATION,), (FILES,), (CONFIGURATION, FILES)])
async def test_of_what_was_announced(start, methods):
    client = await start(capabilities=announcing(*methods))
    await client.sync()
    assert sorted(r.method for r in client.registrations) == sorted(methods)
    assert len({r.id for r in client.registrations}) == len(methods)
    patterns = [
        w["globPattern"] for r in client.registrations if r.method == FILES for w in r.register_options["watchers"]
    ]
    assert patterns == (["**/pyproject.toml", "**/*.py"] if FILES in methods else [])


def test_a_client_that_refuses(raw):
    """It announced it, and does not do it after all: the server does without."""
    server = raw()
    capabilities = support.CONVERTER.unstructure(announcing(CONFIGURATION, FILES))
    server.initialize(capabilities={**capabilities, "workspace": {**capabilities["workspace"], "configuration": True}})
    for method in ("client/registerCapability", "workspace/configuration"):
        asked = server.read()
        assert asked["method"] == method
        server.send(id=asked["id"], error={"code": -32601, "message": f"no {method}"})
    assert server.request(1, "gg/sync")["result"] is None


def test_answers_of_any_shape(raw):
    """Settings that are none change nothing, whatever comes in their place."""
    server = raw()
    server.initialize(capabilities={"workspace": {"configuration": True}})
    first = server.read()
    server.send(id=first["id"], result=[{"capture": {"run": "manual"}}])
    setting = [{}], [None], [[]], [{"capture": 7, "unheardOf": {}}], [{"worker": 7}], [{}, {}]
    for answer in (*shapes.KINDS, *setting):
        server.send(method="workspace/didChangeConfiguration", params={"settings": None})
        asked = server.read()
        while asked.get("method") != "workspace/configuration":
            asked = server.read()
        server.send(id=str(asked["id"]), result=[{"maxSafety": 7}])  # of nobody: the number is awaited
        server.send(id=asked["id"], result=answer)
        server.send(id=asked["id"], result=answer)
    assert server.request("done", "gg/sync")["result"] is None
