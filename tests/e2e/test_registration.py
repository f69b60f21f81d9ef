"""client/registerCapability: what is asked for of a client that says it can be, and nothing of one that does not."""

import pytest
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
