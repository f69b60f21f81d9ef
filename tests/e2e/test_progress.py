"""$/progress: what takes longer is shown from begin to end; a client without it is left alone."""

import sys
import textwrap

import programs
import pytest
from lsprotocol import types
from test_execute_command import execute


@pytest.mark.own_worker("a warm one may be done before anything is shown")
async def test_a_capture_begins_and_ends(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    assert client.progress_reports, "starting torch takes seconds"
    for reports in client.progress_reports.values():
        assert isinstance(reports[0], types.WorkDoneProgressBegin) and reports[0].title
        assert isinstance(reports[-1], types.WorkDoneProgressEnd)
        assert all(isinstance(r, types.WorkDoneProgressReport) for r in reports[1:-1])


async def test_not_for_a_client_without_it(start):
    client = await start(trusted=True, weak=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    assert not client.progress_reports


async def test_a_verification_tells_what_holds_before_the_edit_comes(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    await execute(client, "graphglue.glueAll", uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    said = [getattr(report, "message", None) for reports in client.progress_reports.values() for report in reports]
    assert "holds on 8 input sets; comparing gradients and other sizes" in said


NEVER_DONE = """
    import json, os, struct
    def say(op, **values):
        body = json.dumps({"op": op, **values}).encode()
        os.write(3, struct.pack(">I", len(body)) + body)
    say("hello", protocol=1, version="3.11.7")
    say("ready", torch="2.13.0")
    while head := os.read(3, 4):
        request = json.loads(os.read(3, struct.unpack(">I", head)[0]))
        if request["op"] == "cancel":
            say("done", id=request["id"], status="canceled")
"""


def ended_before_the_client_agreed(raw, tmp_path):
    """A server that waits for the client's answer about a progress that is over; and its request."""
    worker = tmp_path / "worker"
    worker.write_text(f"#!{sys.executable} -SE\n{textwrap.dedent(NEVER_DONE)}")
    worker.chmod(0o755)
    server = raw(env={"GRAPHGLUE_WORKER": str(worker)})
    options = {"trusted": True, "python": sys.executable}
    server.initialize(capabilities={"window": {"workDoneProgress": True}}, initializationOptions=options)
    document = {"textDocument": {"uri": (tmp_path / "model.py").as_uri()}}
    item = {**document["textDocument"], "languageId": "python", "version": 1, "text": programs.BRANCH}
    server.send(method="textDocument/didOpen", params={"textDocument": item})
    server.send(method="textDocument/didSave", params=document)
    while (create := server.read()).get("method") != "window/workDoneProgress/create":
        pass
    server.send(method="textDocument/didClose", params=document)
    server.request("quiet", "gg/sync")
    return server, create


def test_shutdown_before_the_client_agreed_to_show_what_is_over(raw, tmp_path):
    server, _ = ended_before_the_client_agreed(raw, tmp_path)
    assert server.request("bye", "shutdown")["result"] is None
    server.send(method="exit")
    assert server.wait() == 0


def test_what_is_over_when_the_client_agrees_to_show_it_begins_and_ends(raw, tmp_path):
    """A client keeps what it made for a token until its end."""
    server, create = ended_before_the_client_agreed(raw, tmp_path)
    server.send(id=create["id"], result=None)
    reports = [server.read() for _ in range(2)]
    assert [(r["params"]["token"], r["params"]["value"]["kind"]) for r in reports] == [
        (create["params"]["token"], kind) for kind in ("begin", "end")
    ]


def test_what_is_over_when_the_client_refuses_to_show_it_is_let_go(raw, tmp_path):
    server, create = ended_before_the_client_agreed(raw, tmp_path)
    server.send(id=create["id"], error={"code": -32603, "message": "no room"})
    assert server.request("bye", "shutdown")["result"] is None
    server.send(method="exit")
    assert server.wait() == 0
