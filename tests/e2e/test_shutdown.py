"""shutdown and exit: the statuses an editor and a supervisor look at."""

import json
import os
import sys

import programs
import pytest
from lsprotocol import types
from support import framed

INVALID_REQUEST = -32600
pytestmark = pytest.mark.own_worker("what the end of the server leaves of it")


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


def test_nothing_is_sent_after_shutdown_was_answered(raw):
    """All in one write: the publication that the edit led to would come in the next turn of the loop."""
    server = raw()
    server.initialize()
    item = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": "x = 1\n"}
    opened = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}
    body, bye = json.dumps(opened).encode(), b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}'
    server.send_bytes(b"".join(framed(b) for b in (body, bye)))
    assert server.reply(1)["result"] is None
    answers = [server.request(i, "no/such/method")["error"]["code"] for i in range(2, 5)]
    assert answers == [INVALID_REQUEST] * 3, "a method that is not known is refused like any other"
    assert not [m for m in server.queue if "method" in m]
    server.send(method="exit")
    assert server.wait() == 0


def test_initialize_after_shutdown(raw):
    server = raw()
    server.initialize()
    assert server.request(1, "shutdown")["result"] is None
    again = server.request(2, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert again["error"]["code"] == INVALID_REQUEST
    assert server.request(3, "shutdown")["error"]["code"] == INVALID_REQUEST
    server.send(method="exit")
    assert server.wait() == 0


async def test_progress_ends_before_shutdown_is_answered(start):
    client = await start(trusted=True)
    uri = client.open("hangs.py", programs.HANGS)
    client.save(uri)
    await client.until("the capture to begin", lambda: client.progress_reports)
    await client.finish(busy=True)
    for reports in client.progress_reports.values():
        assert isinstance(reports[-1], types.WorkDoneProgressEnd)


# ---- leaving while something else does not ----------------------------------------------------------------------------


def begin(raw, tmp_path, text, python=sys.executable):
    """A server that captures a file; the program of the file or the interpreter says when it has got somewhere."""
    server = raw()
    options = {"trusted": True, "python": str(python)}
    server.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
    (tmp_path / "model.py").write_text(text)
    item = {"uri": (tmp_path / "model.py").as_uri(), "languageId": "python", "version": 1, "text": text}
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    return server


def reached(tmp_path, server):
    """Waits until the file `reached` is opened for reading: by the program, through a FIFO, so that nothing is polled."""
    with open(tmp_path / "reached", "rb") as fifo:
        assert fifo.read(4), "ended before it got there"


HERE = "os.write(os.open({fifo!r}, os.O_WRONLY), b'here')\n"
WAYS = {
    "exit": lambda server: server.send(method="exit"),
    "end": lambda server: server.process.stdin.close(),
    "terminated": lambda server: server.process.terminate(),
    "killed": lambda server: server.process.kill(),
}


@pytest.mark.parametrize("way", WAYS)
def test_leaves_while_a_job_hangs(raw, tmp_path, way):
    """In C, holding the GIL, deaf to signals: the fixture's end proves that all of it is gone."""
    os.mkfifo(tmp_path / "reached")
    here = HERE.format(fifo=str(tmp_path / "reached"))
    body = f"signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\n{here}x.clone().fill_(1)\nre.match('(a+)+$', 'a' * 64 + 'b')\nreturn x"
    server = begin(raw, tmp_path, "import re\nimport signal\n" + programs.entry(body))
    reached(tmp_path, server)
    WAYS[way](server)
    server.wait(20)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", ["sleeps", "is deaf"])
def test_leaves_while_an_interpreter_starts(raw, tmp_path, way, what):
    """A Python that never says hello."""
    os.mkfifo(tmp_path / "reached")
    python = tmp_path / "python"
    trap = "trap '' TERM INT HUP\n" if what == "is deaf" else ""
    python.write_text(f"#!/bin/sh\n{trap}echo here >'{tmp_path}/reached'\nexec sleep 600\n")
    python.chmod(0o755)
    server = begin(raw, tmp_path, programs.BRANCH, python)
    reached(tmp_path, server)
    WAYS[way](server)
    server.wait(20)


@pytest.mark.parametrize("way", WAYS)
def test_leaves_while_torch_is_imported(raw, tmp_path, way):
    """After hello, before ready: PYTHONPATH gives the worker a torch that takes for ever."""
    os.mkfifo(tmp_path / "reached")
    (tmp_path / "fake" / "torch").mkdir(parents=True)
    here = HERE.format(fifo=str(tmp_path / "reached"))
    (tmp_path / "fake" / "torch" / "__init__.py").write_text(
        f"import os\n{here}import time\nwhile True:\n    time.sleep(60)\n"
    )
    server = raw(env={"PYTHONPATH": str(tmp_path / "fake")})
    options = {"trusted": True, "python": sys.executable}
    server.initialize(rootUri=tmp_path.as_uri(), initializationOptions=options)
    reached(tmp_path, server)
    WAYS[way](server)
    server.wait(20)
