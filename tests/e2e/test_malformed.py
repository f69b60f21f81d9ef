"""What is no frame, no JSON or no request: the documented error, and the server stays."""

import json

import pytest
from support import framed

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


def alive(server) -> bool:
    return server.request("alive", "gg/status").get("result") is not None


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown"',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
        b"[" * 5000 + b"]" * 5000,
        b'{"a":1}{"b":2}',
    ],
    ids=["cut", "empty", "words", "unclosed", "no-utf8", "deep", "two-values"],
)
def test_what_is_no_json(raw, body):
    server = raw()
    server.initialize()
    server.send_body(body)
    reply = server.reply(None)
    assert reply["error"]["code"] == PARSE_ERROR and reply["error"]["message"]
    assert alive(server)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"1",
        b'"text"',
        b"null",
        b'{"id":1}',
        b'{"jsonrpc":"2.0","id":{},"method":"shutdown"}',
        b'{"jsonrpc":"2.0","method":7,"id":4}',
    ],
)
def test_what_is_no_request(raw, body):
    server = raw()
    server.initialize()
    server.send_body(body)
    message = server.read()
    while "method" in message:
        message = server.read()
    assert message["error"]["code"] == INVALID_REQUEST
    assert alive(server)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b"no header at all\r\n\r\n",
        b"\r\n\r\n",
        b"X-Long: " + b"x" * 20000 + b"\r\n\r\n",
    ],
    ids=["words", "negative", "huge", "no-length", "no-header", "empty", "long"],
)
def test_what_is_no_header(raw, header):
    server = raw()
    server.initialize()
    server.send_bytes(header)
    assert alive(server)


def test_a_frame_in_single_bytes(raw):
    server = raw()
    server.initialize()
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "gg/status"}).encode()
    for byte in b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s" % (
        len(body),
        body,
    ):
        server.send_bytes(bytes([byte]))
    assert "result" in server.reply(7)


def test_many_frames_in_one_write(raw):
    server = raw()
    server.initialize()
    frames = b""
    for i in range(200):
        body = json.dumps({"jsonrpc": "2.0", "id": i, "method": "gg/status"}).encode()
        frames += framed(body)
    server.send_bytes(frames)
    for i in range(200):
        assert "result" in server.reply(i)


def test_unknown_methods(raw):
    server = raw()
    server.initialize()
    assert server.request(1, "textDocument/rename", {})["error"]["code"] == METHOD_NOT_FOUND
    assert server.request("two", "no/such", [1])["error"]["code"] == METHOD_NOT_FOUND
    server.send(method="no/such/notification", params={})
    server.send(method="$/optional", params={})
    assert alive(server)


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("textDocument/hover", None, ""),
        ("textDocument/hover", {"textDocument": {"uri": "file:///a.py"}}, "position"),
        (
            "textDocument/hover",
            {"textDocument": {"uri": "file:///a.py"}, "position": {"line": "one", "character": 0}},
            "position.line",
        ),
        (
            "textDocument/codeAction",
            {
                "textDocument": {"uri": "file:///a.py"},
                "range": {"start": {"line": 0}, "end": {"line": 0, "character": 0}},
                "context": {"diagnostics": []},
            },
            "range.start.character",
        ),
        ("workspace/executeCommand", {"command": 3}, "command"),
        ("codeAction/resolve", {"kind": "quickfix"}, "title"),
    ],
)
def test_wrong_params(raw, method, params, path):
    server = raw()
    server.initialize()
    error = server.request(1, method, params)["error"]
    assert error["code"] == INVALID_PARAMS and path in error["message"], error
    assert alive(server)


def test_wrong_params_of_a_notification_are_dropped(raw):
    server = raw()
    server.initialize()
    for method in (
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didSave",
        "textDocument/didClose",
        "$/cancelRequest",
    ):
        server.send(method=method, params={"textDocument": 5})
        server.send(method=method)
    assert alive(server)


def test_replies_to_nothing_are_ignored(raw):
    server = raw()
    server.initialize()
    server.send(id=4711, result=None)
    server.send(id="what", error={"code": 1, "message": "?"})
    server.send(id=None, error={"code": 1, "message": "?"})
    assert alive(server)


def test_half_a_surrogate_pair(raw):
    """JavaScript's strings may hold it, and its JSON says so; positions behind it must agree."""
    server = raw()
    server.initialize()
    item = b'{"uri":"file:///a.py","languageId":"python","version":1,"text":"a\\ud83db"}'
    server.send_body(b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":' + item + b"}}")
    where = {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}
    changed(server, [{"range": where, "text": "c"}])
    assert held(server)["text"] == "a\ufffdc"


def changed(server, changes, **document):
    identifier = {"uri": "file:///a.py", "version": 2, **document}
    server.send(method="textDocument/didChange", params={"textDocument": identifier, "contentChanges": changes})


def held(server):
    return server.request("text", "gg/text", {"uri": "file:///a.py"})["result"]


def opened(server, text):
    item = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": text}
    server.send(method="textDocument/didOpen", params={"textDocument": item})


def shown(server):
    """What was shown to the user, in order."""
    server.request("sync", "gg/sync")
    return [m["params"]["message"] for m in server.queue if m.get("method") == "window/showMessage"]


WHOLE = {"text": "whole\n"}
PART = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
NO_UTF8 = (
    b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.py","version":3},'
    b'"contentChanges":[{"text":"caf\xe9"}]}}'
)


def send_too_big(server):
    changed(server, [{**PART, "text": "x" * (17 * 1024 * 1024)}])


@pytest.mark.parametrize(
    "send",
    [
        lambda server: changed(server, [{"range": {"start": {"line": -1, "character": 0}}, "text": "x"}]),
        lambda server: changed(server, [{"range": PART["range"]}]),
        lambda server: changed(server, [PART], version=None),
        lambda server: changed(server, {"0": PART}),
        send_too_big,
        lambda server: server.send_body(NO_UTF8),
    ],
    ids=["range", "no-text", "version", "no-list", "too-big", "no-utf8"],
)
def test_a_change_that_cannot_be_made(raw, send):
    """From then on the editor's text is not known: that is told once, and nothing is said until it is."""
    server = raw()
    server.initialize(initializationOptions={"trusted": True})
    opened(server, "first\n")
    send(server)
    changed(server, [PART], version=4)
    changed(server, [PART], version=5)
    (message,) = shown(server)
    assert "a.py" in message and "opened anew" in message
    assert "x" not in held(server)["text"], "a change was made to a text that is not the editor's"
    changed(server, [WHOLE, PART], version=6)
    assert held(server) == {"text": "xwhole\n", "version": 6}
    assert len(shown(server)) == 1
    if send is send_too_big:  # to move 17 MB from pipe to memory may take longer than a turn may
        server.process.kill()
        server.process.wait()


def test_a_file_that_is_no_utf8(raw):
    """Some editors send its bytes as they are."""
    server = raw()
    server.initialize()
    server.send_body(
        b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":'
        b'{"uri":"file:///a.py","languageId":"python","version":1,"text":"name = \'\xe9\'\\n"}}}'
    )
    changed(server, [PART])
    (message,) = shown(server)
    assert "a.py" in message and "UTF-8" in message
    opened(server, "name = 1\n")
    changed(server, [PART])
    assert held(server)["text"] == "xname = 1\n"
