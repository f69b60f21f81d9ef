"""workspace/diagnostic: files that are not open from disk, by their text alone; open ones from their buffers."""

import asyncio
import subprocess

import pytest
import support
from lsprotocol import types
from programs import HEAD
from pygls.exceptions import JsonRpcException

NET = (
    HEAD
    + "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        print(x.shape)\n        return x\n"
)


async def pull(client, previous=None, token=None):
    """The reports by file name, of the reply and of partial results together; and the ids to send next time."""
    ids = [types.PreviousResultId(uri=uri, value=value) for uri, value in (previous or {}).items()]
    params = types.WorkspaceDiagnosticParams(previous_result_ids=ids, partial_result_token=token)
    reply = await asyncio.wait_for(client.workspace_diagnostic_async(params), support.DEADLINE)
    return list(reply.items)


def by_name(client, reports):
    root = client.workspace.as_uri() + "/"
    return {r.uri.removeprefix(root): [d.code for d in r.items] if r.kind == "full" else "unchanged" for r in reports}


def ids(reports, before=None):
    return {**(before or {}), **{r.uri: r.result_id for r in reports}}


async def changed(client, *names):
    events = [types.FileEvent(uri=client.uri(name), type=types.FileChangeType.Changed) for name in names]
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=events))


async def test_of_files_that_are_not_open(start, tmp_path):
    """No capture, no trust; what git and settings leave out is left out; an open file is what its buffer says."""
    client = await start(pull=True)
    assert client.server_capabilities.diagnostic_provider.workspace_diagnostics
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    client.write(".gitignore", "generated.py\n")
    client.write("pyproject.toml", '[tool.graphglue]\nexclude = ["old"]\n')
    client.write("sub/pyproject.toml", '[tool.graphglue]\nrules = { skipped-builtin = "error" }\n')
    for name in ("a.py", "sub/b.py", "generated.py", "old/c.py", ".venv/lib/d.py", "text.txt"):
        client.write(name, NET)
    client.write("clean.py", "x = 1\n")
    client.write("ignored.py", NET.replace("print(x.shape)", "print(x.shape)  # graphglue: ignore"))
    uri = client.open("open.py", NET.replace("print(x.shape)", "x.item()"), on_disk=NET)
    await client.sync()
    reports = await pull(client)
    assert by_name(client, reports) == {"a.py": ["GB0059"], "sub/b.py": ["GB0059"], "open.py": ["untrusted", "GB0124"]}
    severities = {r.uri: d.severity for r in reports for d in r.items}
    assert severities[client.uri("sub/b.py")] is types.DiagnosticSeverity.Error
    assert severities[client.uri("a.py")] is types.DiagnosticSeverity.Warning
    assert {r.uri: r.version for r in reports}[uri] == 1 and {r.uri: r.version for r in reports}[
        client.uri("a.py")
    ] is None
    document = types.TextDocumentIdentifier(uri=uri)
    single = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
    assert single.result_id == ids(reports)[uri]


async def test_what_the_client_has_is_not_sent_again(start):
    client = await start(pull=True)
    for name in ("a.py", "b.py", "c.py"):
        client.write(name, NET)
    first = await pull(client)
    assert by_name(client, first) == dict.fromkeys(("a.py", "b.py", "c.py"), ["GB0059"])
    assert by_name(client, await pull(client, ids(first))) == dict.fromkeys(("a.py", "b.py", "c.py"), "unchanged")
    client.write("a.py", NET + "\n# the same is found\n")
    client.write("b.py", "x = 1\n")
    (client.workspace / "c.py").unlink()
    client.write("d.py", NET)
    second = await pull(client, ids(first))
    assert by_name(client, second) == {"a.py": "unchanged", "b.py": [], "c.py": [], "d.py": ["GB0059"]}
    third = await pull(client, ids(second, ids(first)))
    assert by_name(client, third) == {"a.py": "unchanged", "b.py": "unchanged", "d.py": "unchanged"}
    client.write("pyproject.toml", "[tool.graphglue]\nignore = ['GB0059']\n")
    assert by_name(client, await pull(client, ids(third))) == {"a.py": [], "b.py": "unchanged", "d.py": []}


async def test_partial_results(start):
    client = await start(pull=True)
    for i in range(100):
        client.write(f"m{i:03}.py", NET)
    parts = []
    client.protocol.fm.features.pop("$/progress", None)

    @client.feature("$/progress")
    def _(params):
        parts.append(params)

    assert await pull(client, token="part") == []
    reported = [item for p in parts for item in p.value["items"]]
    assert {p.token for p in parts} == {"part"} and len(parts) > 2
    assert sorted(item["uri"] for item in reported) == [client.uri(f"m{i:03}.py") for i in range(100)]


async def test_held_until_something_changes(start):
    client = await start(pull=True, watch=True)
    client.write("a.py", NET)
    first = await pull(client)
    waiting = asyncio.ensure_future(pull(client, ids(first)))
    for _ in range(5):
        await asyncio.sleep(0)  # it is sent
    await client.sync()
    assert not waiting.done()
    client.write("b.py", NET)
    await changed(client, "b.py")
    assert by_name(client, await waiting) == {"a.py": "unchanged"}
    second = await pull(client, ids(first))
    assert by_name(client, second) == {"a.py": "unchanged", "b.py": ["GB0059"]}
    await client.sync()


@pytest.mark.parametrize("when", ["running", "held"])
async def test_canceled(start, when):
    client = await start(pull=True, watch=True)
    for i in range(300 if when == "running" else 1):
        client.write(f"m{i:03}.py", NET * 20)
    previous = ids(await pull(client)) if when == "held" else {}
    sent = [types.PreviousResultId(uri=uri, value=value) for uri, value in previous.items()]
    params = types.WorkspaceDiagnosticParams(previous_result_ids=sent)
    pending = asyncio.ensure_future(
        client.protocol.send_request_async(types.WORKSPACE_DIAGNOSTIC, params, msg_id="scan")
    )
    for _ in range(5):
        await asyncio.sleep(0)  # it is sent
    if when == "held":
        await client.sync()
    client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id="scan"))
    with pytest.raises(JsonRpcException):
        await asyncio.wait_for(pending, 10)
    await client.sync()
    if when == "running":
        assert len(await pull(client)) == 300


async def test_two_at_once(start):
    client = await start(pull=True)
    for i in range(20):
        client.write(f"m{i:03}.py", NET)
    one, two = await asyncio.gather(pull(client), pull(client))
    assert by_name(client, one) == by_name(client, two) and len(one) == 20
