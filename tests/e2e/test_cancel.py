"""$/cancelRequest: the request is answered at once, and what it began is ended."""

import asyncio

import programs
import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException

CANCELED = -32800


def cancel(client, id):
    client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id=id))


async def test_a_verification(start):
    client = await start(trusted=True)
    slow = programs.BRANCH.replace("torch.manual_seed(0)", "torch.manual_seed(0)\n    time.sleep(120 * SLOW)")
    uri = client.open("model.py", "import time\n\nSLOW = 0\n" + slow)
    (found, *_) = await client.saved(uri)
    client.replace(uri, "SLOW = 0", "SLOW = 1")
    await client.sync()
    (glue, *_) = await client.repairs(uri, client.find(uri, programs.CONDITION))
    before = len(client.progress_reports)
    pending = asyncio.ensure_future(
        client.protocol.send_request_async(types.CODE_ACTION_RESOLVE, glue, msg_id="verify")
    )
    await client.until("progress of the verification", lambda: len(client.progress_reports) > before)
    cancel(client, "verify")
    with pytest.raises(JsonRpcException) as canceled:
        await asyncio.wait_for(pending, 10)
    assert canceled.value.code == CANCELED
    await client.sync()


def test_before_it_is_begun(raw):
    """A cancel that arrives with its request: either answer is right, and there is exactly one."""
    server = raw()
    server.initialize()
    for i in range(50):
        server.send(id=i, method="gg/status")
        server.send(method="$/cancelRequest", params={"id": i})
    for i in range(50):
        reply = server.reply(i)
        assert "result" in reply or reply["error"]["code"] == CANCELED


def test_of_nothing(raw):
    server = raw()
    server.initialize()
    for id in (99, "what", -1):
        server.send(method="$/cancelRequest", params={"id": id})
    assert "result" in server.request(1, "gg/status")


async def test_progress_canceled_by_the_user(start):
    """window/workDoneProgress/cancel ends a capture; the next one runs."""
    client = await start(trusted=True)
    uri = client.open("hangs.py", programs.HANGS)
    client.save(uri)
    (token,) = await client.until("progress", lambda: list(client.progress_reports))
    client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=token))
    await asyncio.wait_for(client.sync(), 30)
    clean = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(clean)] == ["GB0170"]
    client.take_messages()
    assert support.plain(await client.request("gg/status"))["jobs"] == 0
