"""graphglue.showGraph: what an entry of the open text is captured as."""

import programs
import pytest
from pygls.exceptions import JsonRpcException
from test_code_lens import BROKEN, WHOLE
from test_execute_command import execute

COMMAND = "graphglue.showGraph"
MANUAL = {"capture": {"run": "manual"}}
MODEL = (
    programs.HEAD
    + WHOLE
    + "\n\n"
    + BROKEN
    + "\n\ndef graphglue_inputs():\n"
    + "    yield 'whole', Whole(), (torch.randn(2, 16, 4),), {}\n    yield 'broken', Broken(), (torch.randn(2, 16, 4),), {}\n"
)


async def test_the_text_as_it_is(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", MODEL, on_disk="raise RuntimeError\n")
    shown = await execute(client, COMMAND, uri)
    whole, broken = shown["entries"]
    assert (whole["title"], broken["title"]) == ("whole: 1 graph, 0 breaks", "broken: 2 graphs, 1 break")
    assert broken["text"].startswith("# broken: 2 graphs, 1 break\n")
    line = MODEL[: MODEL.index("print(")].count("\n") + 1
    assert f"model.py:{line}](file://{client.workspace}/model.py#L{line})" in broken["text"]
    assert broken["svg"].startswith("<svg") and not client.applied


async def test_one_entry(start):
    client = await start(trusted=True, settings=MANUAL)
    uri = client.open("model.py", MODEL)
    shown = await execute(client, COMMAND, {"uri": uri, "entry": "whole"})
    assert [e["name"] for e in shown["entries"]] == ["whole"]
    with pytest.raises(JsonRpcException, match="no entry of that name"):
        await execute(client, COMMAND, {"uri": uri, "entry": "nope"})


async def test_nothing_runs_untrusted(start):
    client = await start(settings=MANUAL)
    uri = client.open("model.py", MODEL)
    with pytest.raises(JsonRpcException, match="not trusted"):
        await execute(client, COMMAND, uri)
    with pytest.raises(JsonRpcException, match="wants the URI"):
        await execute(client, COMMAND, "file:///nowhere.py")
