"""Glue with a model: offered where one is configured, asked over HTTP or through the editor, proved in the sandbox, applied as one edit."""

from __future__ import annotations

import asyncio
import sys

import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from test_cancel import cancel
from test_execute_command import execute

sys.path.insert(0, str(support.ROOT / "tests"))
from model_server import Answer, ModelServer, Silence, Status  # noqa: E402

CLASS = """class Net(nn.Module):
    def forward(self, x):
        h = x * 2  # doubled
        ordered = {ordered}
        return ordered + 1
"""
BROKEN, RIGHT, WRONG = (
    CLASS.format(ordered=text)
    for text in ("torch.tensor(sorted(h.tolist()), dtype=h.dtype)", "torch.sort(h).values", "h")
)
OTHER = BROKEN.replace("Net", "Other")
MODEL = (
    "import torch\nfrom torch import nn\n\n\n"
    + BROKEN
    + "\n\n"
    + OTHER
    + "\n\ndef graphglue_inputs():\n    x = torch.randint(0, 50, (8,))\n"
    + '    yield "net", Net(), (x,), {}\n    yield "other", Other(), (x,), {}\n'
)


def said(code: str) -> Answer:
    return Answer(f"<Optimized Code>\n{code}</Optimized Code>\n")


async def opened(start, server: ModelServer | None, **more):
    """A client, the open file after its capture, and the actions on its first break."""
    settings = {"model": {"url": server.url, "name": "scripted"}} if server else {}
    client = await start(trusted=True, settings=settings, **more)
    uri = client.open("model.py", MODEL)
    await client.saved(uri)
    return client, uri, await client.actions(uri, client.find(uri, "h.tolist()"))


def with_model(actions) -> list[types.CodeAction]:
    return [a for a in actions if a.title.startswith("Glue this graph with ")]


async def question(server: ModelServer) -> None:
    """Waits until the model was asked: no message to the client tells."""
    async with asyncio.timeout(support.DEADLINE):
        while not server.requests:
            await asyncio.sleep(0.02)


async def test_it_is_offered_where_a_model_is(start):
    client, _, actions = await opened(start, None)
    assert with_model(actions) == []
    with ModelServer([]) as server:
        client, _, actions = await opened(start, server)
        (action,) = with_model(actions)
        assert "scripted" in action.title and action.command.command == "graphglue.glueWithModel"
        assert server.requests == [], "looking costs nothing"


async def test_the_edit_of_one_class_comes_after_its_proof(start):
    with ModelServer([said(WRONG), said(RIGHT)]) as server:
        client, uri, actions = await opened(start, server)
        (action,) = with_model(actions)
        await execute(client, action.command.command, *action.command.arguments)
        await client.until("workspace/applyEdit", lambda: client.applied)
        assert client.texts[uri] == MODEL.replace(BROKEN, RIGHT), "the other class is another question"
        assert len(server.requests) == 2 and "Other" not in server.requests[0].body["messages"][-1]["content"]
        log = (await execute(client, "graphglue.showRepairLog"))["text"]
        assert log.count("### Round") == 2 and "elements differ" in log
    (params,) = client.applied
    assert params.label == "Glue with a model"
    assert (client.workspace / "model.py").read_text() == MODEL, "nothing is written"
    assert "torch.sort" in (client.workspace / ".graphglue" / "lessons.jsonl").read_text()


async def test_what_it_proposes_to_try_refuses_what_ours_do_not(start):
    nearly = RIGHT.replace("torch.sort(h).values", "torch.where(h.sum() != -6, torch.sort(h).values, h)")
    proposal = "(torch.tensor([0, 0, 0, 0, 0, 0, 0, -3]),)"
    with ModelServer([said(nearly), said(RIGHT)], inputs=[Answer(f"<Input>{proposal}</Input>")]) as server:
        client, uri, actions = await opened(start, server)
        (action,) = with_model(actions)
        await execute(client, action.command.command, *action.command.arguments)
        await client.until("workspace/applyEdit", lambda: client.applied)
        assert client.texts[uri] == MODEL.replace(BROKEN, RIGHT)
        assert len(server.requests) == len(server.proposals) == 2
        assert proposal in server.requests[1].body["messages"][-1]["content"], "the verdict on it goes back"
        log = (await execute(client, "graphglue.showRepairLog"))["text"]
        assert f"{proposal}: compared" in log and "does not hold on them" in log and "holds on them" in log


async def test_what_would_be_sent_is_shown_and_not_sent(start):
    with ModelServer([said(RIGHT)]) as server:
        client, _, actions = await opened(start, server)
        (action,) = with_model(actions)
        shown = await execute(client, "graphglue.showPrompt", *action.command.arguments)
        assert "<Break Code>h.tolist()</Break Code>" in shown["text"]
        assert server.requests == [] and not client.applied


@pytest.mark.parametrize("action", [Status(401), said(WRONG)], ids=["no answer", "no right one"])
async def test_nothing_is_applied_where_nothing_was_proved(start, action):
    with ModelServer([action]) as server:
        client, uri, actions = await opened(start, server)
        (offered,) = with_model(actions)
        await execute(client, "graphglue.glueWithModel", *offered.command.arguments)
        assert client.texts[uri] == MODEL and not client.applied
        words = " ".join(m.message for m in client.take_messages())
        assert ("gave no answer" in words) == (len(server.requests) == 1)


async def test_it_can_be_given_up(start):
    with ModelServer([Silence(60)]) as server:
        client, uri, actions = await opened(start, server)
        (action,) = with_model(actions)
        params = types.ExecuteCommandParams("graphglue.glueWithModel", action.command.arguments)
        sent = client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="model")
        asked = asyncio.ensure_future(sent)
        await question(server)
        cancel(client, "model")
        with pytest.raises(JsonRpcException, match="cancel"):
            await asked
        assert client.texts[uri] == MODEL
        await client.sync()


async def test_an_edit_meanwhile_discards_the_answer(start):
    with ModelServer([said(RIGHT)]) as server:
        client, uri, actions = await opened(start, server)
        (action,) = with_model(actions)
        asked = asyncio.ensure_future(execute(client, "graphglue.glueWithModel", *action.command.arguments))
        await question(server)
        client.replace(uri, "# doubled", "# twice")
        with pytest.raises(JsonRpcException, match="changed"):
            await asked
        assert "the document changed" in client.take_messages()[0].message
        assert not client.applied


async def test_untrusted_nothing_is_asked(start):
    with ModelServer([said(RIGHT)]) as server:
        client = await start(settings={"model": {"url": server.url, "name": "scripted"}})
        uri = client.open("model.py", MODEL)
        with pytest.raises(JsonRpcException, match="not trusted"):
            await execute(client, "graphglue.glueWithModel", {"uri": uri, "enclosing": "Net"})
        assert "not trusted" in client.take_messages()[0].message
        assert server.requests == []
