"""initialize: what is advertised, and the order of life."""

import os
import signal

from lsprotocol import types

BEFORE_INITIALIZE, INVALID_REQUEST = -32002, -32600


async def test_capabilities(start):
    client = await start()
    capabilities = client.server_capabilities
    sync = capabilities.text_document_sync
    assert isinstance(sync, types.TextDocumentSyncOptions)
    assert sync.open_close and sync.change is types.TextDocumentSyncKind.Incremental and sync.save
    assert capabilities.hover_provider
    assert isinstance(capabilities.code_action_provider, types.CodeActionOptions)
    assert capabilities.code_action_provider.resolve_provider
    assert types.CodeActionKind.QuickFix in capabilities.code_action_provider.code_action_kinds
    assert capabilities.diagnostic_provider is not None
    assert "graphglue.glue" in capabilities.execute_command_provider.commands
    assert capabilities.workspace.workspace_folders.supported


async def test_positions_are_utf16_unless_utf8_is_offered(start):
    assert (await start()).server_capabilities.position_encoding in (None, types.PositionEncodingKind.Utf16)
    assert (await start(encodings=["utf-16"])).encoding == "utf-16"
    assert (await start(encodings=["utf-16", "utf-8"])).encoding == "utf-8"
    assert (await start(encodings=["utf-32", "utf-16"])).encoding == "utf-16"


def test_says_who_it_is(raw):
    info = raw().initialize()["result"]["serverInfo"]
    assert info["name"] == "graphglue-lsp" and info["version"]


def test_nothing_else_is_answered_before(raw):
    """And nothing else is done: a notification is dropped, an answer is to nobody, and what is no message is refused as ever."""
    server = raw()
    hover = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
    early = [("textDocument/hover", hover), ("no/such/method", {}), ("$/optional", {}), ("shutdown", None)]
    for id, (method, params) in enumerate(early):
        assert server.request(id, method, params)["error"]["code"] == BEFORE_INITIALIZE
    item = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": "x = 1\n"}
    server.send(method="textDocument/didOpen", params={})
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    server.send(method="initialized", params={})
    server.send(method="$/cancelRequest", params={"id": 0})
    server.send(id=1, result=None)
    server.send_body(b"{")
    assert server.reply(None)["error"]["code"] == -32700
    assert "result" in server.initialize()
    assert "error" in server.request(9, "gg/text", {"uri": "file:///a.py"}), "it was opened before initialize"
    assert not [m for m in server.queue if "id" in m and "method" not in m]


def test_only_once(raw):
    server = raw()
    server.initialize()
    again = server.request(2, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert again["error"]["code"] == INVALID_REQUEST


def test_wrong_params_can_be_mended(raw):
    server = raw()
    refused = server.request(1, "initialize", {"processId": "many", "rootUri": None, "capabilities": {}})
    assert refused["error"]["code"] == -32602 and "processId" in refused["error"]["message"]
    assert "result" in server.initialize()


def test_exits_with_its_parent(raw):
    """An editor that is killed sends nothing; its process id was in initialize."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    server = raw()
    server.initialize(processId=pid)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert server.wait(20) == 1
