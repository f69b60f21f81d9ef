"""Explain with a model: asked when somebody asks, shown in hovers as the model's words while the text reads as it did."""

from __future__ import annotations

import asyncio
import sys

import pytest
import support
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from test_cancel import cancel
from test_execute_command import execute
from test_glue_model import MODEL, opened, question
from test_hover import hover

sys.path.insert(0, str(support.ROOT / "tests"))
from model_server import Answer, ModelServer, Silence, Status  # noqa: E402

WORDS = "The list of `h.tolist()` lives in Python."
SAID = Answer(f"<Explanation>{WORDS}</Explanation>")


def explaining(actions) -> types.Command:
    (action,) = (a for a in actions if a.title.startswith("Explain this break with scripted"))
    return action.command


async def hovered(client, uri: str) -> str:
    return (await hover(client, uri, client.find(uri, "tolist").start)).contents.value


async def test_hover_has_its_words_above_ours_until_the_text_changes(start):
    with ModelServer([SAID]) as server:
        client, uri, actions = await opened(start, server)
        ours = await hovered(client, uri)
        command = explaining(actions)
        assert command.command == "graphglue.explain" and server.requests == []
        reply = await execute(client, command.command, *command.arguments)
        assert WORDS in reply["text"] and "in the words of a model, `scripted`" in reply["text"]
        assert "Other" not in server.requests[0].body["messages"][-1]["content"]
        words = await hovered(client, uri)
        assert words.endswith(ours) and words.startswith("**In the words of a model**, `scripted`:\n\n> " + WORDS)
        assert await execute(client, command.command, *command.arguments) == reply
        assert len(server.requests) == 1, "it is kept"
        client.replace(uri, "h.tolist()", "h.tolist( )")
        assert WORDS not in await hovered(client, uri)
        client.replace(uri, "h.tolist( )", "h.tolist()")
        await client.saved(uri)
        assert WORDS in await hovered(client, uri), "the text is what it was"


@pytest.mark.parametrize("action", [Status(401), Answer("I would rather not.")], ids=["no answer", "no use"])
async def test_our_words_stay_where_it_has_none(start, action):
    with ModelServer([action]) as server:
        client, uri, actions = await opened(start, server)
        ours = await hovered(client, uri)
        command = explaining(actions)
        reply = await execute(client, command.command, *command.arguments)
        assert "in our own words" in reply["text"] and await hovered(client, uri) == ours
        assert "not explained by the model" in client.take_messages()[0].message


async def test_it_can_be_given_up(start):
    with ModelServer([Silence(60)]) as server:
        client, _, actions = await opened(start, server)
        params = types.ExecuteCommandParams("graphglue.explain", explaining(actions).arguments)
        sent = client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id="words")
        asked = asyncio.ensure_future(sent)
        await question(server)
        cancel(client, "words")
        with pytest.raises(JsonRpcException, match="cancel"):
            await asked
        await client.sync()


async def test_untrusted_nothing_is_asked(start):
    with ModelServer([SAID]) as server:
        client = await start(settings={"model": {"url": server.url, "name": "scripted"}})
        uri = client.open("model.py", MODEL)
        whole = {"uri": uri, "site": "GB0033", "enclosing": "Net.forward"}
        for argument, words in ((whole, "not trusted"), ({"uri": uri}, "site"), (None, "uri")):
            with pytest.raises(JsonRpcException, match=words):
                await execute(client, "graphglue.explain", argument)
        assert server.requests == []
