"""shutdown and exit: the statuses an editor and a supervisor look at."""

import programs

INVALID_REQUEST = -32600


def test_requests_after_shutdown_are_refused(raw):
    server = raw()
    server.initialize()
    assert server.request(1, "shutdown")["result"] is None
    hover = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
    assert server.request(2, "textDocument/hover", hover)["error"]["code"] == INVALID_REQUEST
    server.send(method="exit")
    assert server.wait() == 0


def test_exit_without_shutdown_is_a_failure(raw):
    server = raw()
    server.initialize()
    server.send(method="exit")
    assert server.wait() == 1


def test_exit_before_initialize(raw):
    server = raw()
    server.send(method="exit")
    assert server.wait() == 1


def test_leaves_when_its_input_ends(raw):
    server = raw()
    server.initialize()
    server.process.stdin.close()
    assert server.wait() == 1


def test_leaves_when_its_input_ends_within_a_frame(raw):
    server = raw()
    server.initialize()
    server.send_bytes(b"Content-Length: 100\r\n\r\n{")
    server.process.stdin.close()
    assert server.wait() == 1


async def test_shutdown_during_a_capture(start):
    """The fixture's end proves that the worker and its job are gone."""
    client = await start(trusted=True)
    uri = client.open("hangs.py", programs.HANGS)
    client.save(uri)
    await client.until("the capture to begin", lambda: client.progress_reports)
    await client.finish(busy=True)
