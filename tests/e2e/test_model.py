"""Language models of a session: the endpoint that settings name, else the one that the editor lends; given up at once, and never told a key of."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import support

sys.path.insert(0, str(support.ROOT / "tests"))
from model_server import THINKING, Answer, Endless, Huge, ModelServer, Silence, Status  # noqa: E402

KEY = "sk-test-0123456789abcdefKEY"
CANCELED = -32800
LENDS = {"experimental": {"graphglue": {"model": True}}}
Launch = Callable[..., support.Raw]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[support.Raw]]:
    """The servers of a test; when all have ended, the key is in nothing that they logged or sent."""
    logged: list[bytes] = []
    servers: list[support.Raw] = []
    check = support.assert_clean_end
    monkeypatch.setattr(support, "assert_clean_end", lambda mark, stderr: (logged.append(stderr), check(mark, stderr)))
    yield servers
    assert len(logged) == len(servers) and not any(KEY.encode() in stderr for stderr in logged)
    assert not any(KEY in json.dumps(message) for server in servers for message in server.queue)


@pytest.fixture
def launch(started: list[support.Raw], raw: Callable[..., support.Raw], tmp_path: Path) -> Launch:
    """launch(settings, capabilities, trusted): a server that logs all it ever does."""

    def start(
        settings: dict[str, Any], capabilities: dict[str, Any] | None = None, trusted: bool = True
    ) -> support.Raw:
        server = raw(env={"GRAPHGLUE_MODEL_KEY": KEY, "GRAPHGLUE_LOG": "debug"})
        started.append(server)
        options = {"trusted": trusted, "capture": {"run": "manual"}, "model": settings}
        folders = [{"uri": tmp_path.as_uri(), "name": "w"}]
        server.initialize(initializationOptions=options, workspaceFolders=folders, capabilities=capabilities or {})
        server.request("ready", "gg/sync")
        return server

    return start


def of(server: ModelServer, **more: Any) -> dict[str, Any]:
    """Settings that name it."""
    return {"url": server.url, "name": "scripted", **more}


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_an_endpoint_is_asked(launch: Launch, api: str) -> None:
    with ModelServer([Answer("one", thinking=THINKING), Status(500), Answer("two", stop="length")]) as model:
        server = launch(of(model, api=api))
        first = server.request(1, "gg/model", {"question": "grüße\n"})["result"]
        assert first == {"text": "one", "inputTokens": 12, "outputTokens": 34, "stop": 0}
        second = server.request(2, "gg/model", {"question": "again"})["result"]
        assert (second["text"], second["stop"]) == ("two", 1)
        assert (len(model.requests), model.connections) == (3, 1), "connections are kept"
        body = model.requests[0].body
        assert body["messages"][-1] == {"role": "user", "content": "grüße\n"}
        assert (body["max_tokens"], body["temperature"], body["top_p"]) == (8192, 0.7, 0.8)
        if api == "openai":
            assert body["messages"][0] == {"role": "system", "content": "a test"}
            assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
        else:
            assert body["system"] == "a test" and body["tools"][0]["input_schema"] == {"type": "object"}


def test_what_fails_is_told_without_the_key(launch: Launch) -> None:
    with ModelServer([Status(401, f"no such key: {KEY}")]) as model:
        error = launch(of(model)).request(1, "gg/model", {"question": "a"})["error"]
    assert error["message"].startswith("unauthorized: ") and "no such key: [key]" in error["message"]


def test_answers_without_measure_stall_nothing(launch: Launch) -> None:
    """finish() fails on a turn of the loop that takes too long."""
    with ModelServer([Endless(piece="x" * 5000), Endless(), Huge()]) as model:
        server = launch(of(model, timeout=10))
        for i in range(3):
            server.send(id=i, method="gg/model", params={"question": "a"})
        for i in range(3):
            assert "answer-too-big" in server.reply(i, 60)["error"]["message"]


def test_certificates_are_read_beside_the_loop(launch: Launch, tmp_path: Path) -> None:
    """The system's take 100 ms and more; finish() fails on a turn of the loop that takes so long."""
    out, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", out]
    subprocess.run([*command, *more], check=True, capture_output=True)
    with ModelServer([Answer("one")], tls=(out, key)) as model:
        server = launch(of(model))
        error = server.request(1, "gg/model", {"question": "a"})["error"]["message"]
        assert error.startswith("certificate: ") and not model.requests
        server.send(
            method="workspace/didChangeConfiguration", params={"settings": {"graphglue": {"model": {"caFile": out}}}}
        )
        assert server.request(2, "gg/model", {"question": "a"})["result"]["text"] == "one"


def test_a_cancel_closes_the_connection_at_once(launch: Launch) -> None:
    with ModelServer([Silence(60)]) as model:
        server = launch(of(model))
        server.send(id=1, method="gg/model", params={"question": "a"})
        while not model.requests:
            time.sleep(0.01)
        start = time.monotonic()
        server.send(method="$/cancelRequest", params={"id": 1})
        assert server.reply(1)["error"]["code"] == CANCELED
        server.request(2, "gg/sync")
        while not model.gone:
            assert time.monotonic() - start < 5, "the connection is still there"
            time.sleep(0.01)


def test_leaving_in_the_middle_of_an_answer(launch: Launch) -> None:
    with ModelServer([Endless(0.01)]) as model:
        server = launch(of(model))
        server.send(id=1, method="gg/model", params={"question": "a"})
        while not model.requests:
            time.sleep(0.01)
        server.request(2, "shutdown")
        start = time.monotonic()
        server.send(method="exit")
        assert server.wait() == 0 and time.monotonic() - start < 2.5


def test_a_workspace_names_an_endpoint_only_when_it_is_trusted(launch: Launch, tmp_path: Path) -> None:
    with ModelServer([Answer("hello")]) as theirs:
        settings = (
            f'[tool.graphglue.model]\nurl = "{theirs.url}"\nname = "m"\nkey = "{KEY}"\nkey-command = ["touch", "run"]\n'
        )
        (tmp_path / "pyproject.toml").write_text(settings)
        server = launch({}, trusted=False)
        error = server.request(1, "gg/model", {"question": "a"})["error"]["message"]
        assert "not trusted" in error and not theirs.requests and not (tmp_path / "run").exists()
        shown = [m["params"]["message"] for m in server.queue if m.get("method") == "window/showMessage"]
        assert len(shown) == 1 and "there is no setting 'model.key'" in shown[0]
        server = launch({"keyCommand": ["printf", "k-of-mine"]})
        assert server.request(1, "gg/model", {"question": "a"})["result"]["text"] == "hello"
        assert theirs.requests[0].headers["authorization"] == "Bearer k-of-mine"


# ---- the editor's model ------------------------------------------------------------------------------------------------------


def asked(server: support.Raw) -> dict[str, Any]:
    """The server's request for the editor's model."""
    while (message := server.read()).get("method") != "graphglue/model":
        server.queue.append(message)
    return message


def test_without_an_endpoint_the_editors_model_is_asked(launch: Launch) -> None:
    server = launch({}, LENDS)
    server.send(id=1, method="gg/model", params={"question": "grüße"})
    message = asked(server)
    assert message["params"] == {
        "system": "a test",
        "messages": [{"role": "user", "content": "grüße"}],
        "schema": {"type": "object"},
        "maxTokens": 8192,
        "temperature": 0.7,
        "topP": 0.8,
    }
    server.send(id=message["id"], result={"text": "one", "inputTokens": 3, "outputTokens": 5, "stop": "length"})
    assert server.reply(1)["result"] == {"text": "one", "inputTokens": 3, "outputTokens": 5, "stop": 1}
    for i, (answer, words) in enumerate(
        [
            ({"result": {"words": "one"}}, "malformed: "),
            ({"result": None}, "malformed: "),
            ({"error": {"code": -32603, "message": "no quota"}}, "editor: the editor's model: no quota"),
            ({"error": {"code": CANCELED, "message": "the user said no"}}, "canceled: "),
            ({"result": {"text": "x" * 2_000_000}}, "answer-too-big: "),
        ]
    ):
        server.send(id=10 + i, method="gg/model", params={"question": "a"})
        server.send(id=asked(server)["id"], **answer)
        assert server.reply(10 + i)["error"]["message"].startswith(words)


def test_an_endpoint_comes_before_the_editors_model(launch: Launch) -> None:
    with ModelServer([Answer("the endpoint's")]) as model:
        server = launch(of(model), LENDS)
        assert server.request(1, "gg/model", {"question": "a"})["result"]["text"] == "the endpoint's"
        assert not [m for m in server.queue if m.get("method") == "graphglue/model"]
    server = launch({}, {})
    assert "no model is configured" in server.request(1, "gg/model", {"question": "a"})["error"]["message"]


def test_a_cancel_reaches_the_editor(launch: Launch) -> None:
    server = launch({}, LENDS)
    server.send(id=1, method="gg/model", params={"question": "a"})
    id = asked(server)["id"]
    server.send(method="$/cancelRequest", params={"id": 1})
    assert server.reply(1)["error"]["code"] == CANCELED
    server.request(2, "gg/sync")
    assert {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}} in server.queue
    server.send(id=id, result={"text": "too late"})  # is nobody's
    server.request(3, "gg/sync")


def test_leaving_while_the_editors_model_is_asked(launch: Launch) -> None:
    server = launch({}, LENDS)
    server.send(id=1, method="gg/model", params={"question": "a"})
    asked(server)
    server.request(2, "shutdown")
    server.send(method="exit")
    assert server.wait() == 0
