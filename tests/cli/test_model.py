"""`doctor --model`: every way in which an endpoint can fail ends in time, with its own words, and never with the key in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN, ROOT, cli

sys.path.insert(0, str(ROOT / "tests"))
from model_server import (  # noqa: E402
    INVALID_UTF8,
    MALFORMED_EVENTS,
    THINKING,
    WRONG_JSON,
    Action,
    Answer,
    Drip,
    Endless,
    Huge,
    ModelServer,
    Raw,
    Redirect,
    Reset,
    Silence,
    Status,
    Truncated,
    Whole,
)

KEY = "sk-test-0123456789abcdefKEY"
CLEAN = {"GRAPHGLUE_LOG": "debug"}


def project(folder: Path, **model: Any) -> None:
    """A pyproject.toml with these settings of [tool.graphglue.model]."""
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}" for name, value in model.items()]
    (folder / "pyproject.toml").write_text("[tool.graphglue.model]\n" + "\n".join(lines) + "\n")


def ask(folder: Path, env: dict[str, str] | None = None, key: str | None = KEY) -> dict[str, Any]:
    """The answer of doctor --model --json, which has no key in it, nor has what was logged."""
    keys = {"GRAPHGLUE_MODEL_KEY": key} if key else {}
    done = cli("doctor", "--model", "--json", cwd=folder, env={**CLEAN, **keys, **(env or {})})
    assert KEY not in done.stdout and KEY not in done.stderr
    out = json.loads(done.stdout)
    assert done.returncode == (0 if out["ok"] else 2)
    return out


def against(folder: Path, script: list[Action], **settings: Any) -> tuple[dict[str, Any], ModelServer]:
    """Asks a server with this script."""
    with ModelServer(script) as server:
        project(folder, url=server.url, name="scripted", **settings)
        return ask(folder), server


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_an_answer(tmp_path: Path, api: str) -> None:
    out, server = against(
        tmp_path, [Answer("OK", thinking=THINKING)], api=api, input_price=1000000, output_price=500000
    )
    assert (out["ok"], out["failure"], out["tries"]) == (True, None, 1)
    assert (out["input_tokens"], out["output_tokens"], out["cost"]) == (12, 34, 12 + 34 / 2)
    assert out["model"] == {
        "name": "scripted",
        "endpoint": server.url,
        "from": "pyproject.toml",
        "api": api,
        "key": "the variable GRAPHGLUE_MODEL_KEY",
    }
    (request,) = server.requests
    assert request.api == api and request.body["model"] == "scripted" and request.body["stream"] is True
    assert request.body["messages"][-1]["role"] == "user" and request.body["max_tokens"] > 0
    assert (request.body["temperature"], request.body["top_p"]) == (0.7, 0.8)
    if api == "openai":
        assert request.headers["authorization"] == f"Bearer {KEY}" and "x-api-key" not in request.headers
    else:
        assert request.headers["x-api-key"] == KEY and "authorization" not in request.headers
        assert request.headers["anthropic-version"]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_an_answer_that_is_no_stream(tmp_path: Path, api: str) -> None:
    """Some servers know no stream, and answer with one JSON object."""
    out, server = against(tmp_path, [Whole("OK", thinking=THINKING)], api=api)
    assert (out["ok"], out["tries"], out["input_tokens"], out["output_tokens"]) == (True, 1, 12, 34)
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_stream_by_another_name(tmp_path: Path, kind: str) -> None:
    events = b': hello\n\ndata: {"choices":[{"delta":{"content":"OK"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    out, _ = against(tmp_path, [Raw(events, kind)])
    assert (out["ok"], out["tries"]) == (True, 1)


def test_for_people(tmp_path: Path) -> None:
    with ModelServer([Answer("OK")]) as server:
        project(tmp_path, url=server.url, name="scripted")
        done = cli("doctor", "--model", cwd=tmp_path)
    assert done.returncode == 0 and "the model answers" in done.stdout and "12 tokens read, 34 written" in done.stdout
    done = cli("doctor", "--model", cwd=tmp_path)
    assert done.returncode == 2 and "nobody answers at" in done.stdout and "tried 5 times" in done.stdout


FAULTS: list[tuple[str, list[Action], str, str, int]] = [
    (
        "401",
        [Status(401, f"Incorrect key {KEY} given")],
        "unauthorized",
        "it came from the variable GRAPHGLUE_MODEL_KEY",
        1,
    ),
    (
        "401 with half a key where the words are cut",
        [Status(401, "x" * 390 + KEY)],
        "unauthorized",
        "xxx[key]",
        1,
    ),
    ("403", [Status(403)], "unauthorized", "does not accept the key", 1),
    ("404", [Status(404, "no such model")], "not-found", "has no model 'scripted'", 1),
    ("400", [Status(400, "odd request")], "bad-request", "refused the request (HTTP 400: odd request)", 1),
    ("too long", [Status(400, "maximum context length is 8 tokens")], "too-long", "more than 'scripted' can read", 1),
    ("413", [Status(413)], "too-long", "more than 'scripted' can read", 1),
    ("429 for long", [Status(429, retry_after=3600)], "rate-limited", "asks to be left alone for 3600 s", 1),
    ("429", [Status(429, retry_after=1)], "rate-limited", "no time is left", 2),
    ("500", [Status(500)], "server-error", "no time is left", 2),
    ("redirect", [Redirect("https://elsewhere.example/v1?x=y")], "redirect", "https://elsewhere.example/v1, where", 1),
    ("truncated", [Truncated()], "broken-off", "before its answer was complete", 2),
    ("cut", [Raw(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')], "broken-off", "without saying", 2),
    ("reset", [Reset()], "broken-off", "no time is left", 2),
    ("reset later", [Reset(300)], "broken-off", "no time is left", 2),
    ("invalid UTF-8", [Raw(INVALID_UTF8)], "malformed", "not UTF-8", 1),
    ("wrong JSON", [Raw(WRONG_JSON)], "malformed", "no JSON object", 1),
    ("malformed events", [Raw(MALFORMED_EVENTS)], "malformed", "no JSON object", 1),
    ("no stream", [Raw(b"<html></html>", "text/html")], "malformed", "is model.url right", 1),
    ("no events", [Raw(b"")], "malformed", "is model.url right", 1),
    ("another object", [Raw(b' {"hello": "world"}', "application/json")], "malformed", "but no answer", 1),
    ("half an object", [Raw(b'{"choices": [', "application/json")], "malformed", "no JSON object", 1),
    ("an error that is no stream", [Raw(b'{"error": {"message": "no"}}')], "server-error", "its answer: no", 1),
    ("a huge object", [Raw(b'{"choices": "' + b"x" * (2 << 20) + b'"}')], "answer-too-big", "over", 1),
    ("huge", [Huge()], "answer-too-big", "over", 1),
    ("endless", [Endless(piece="x" * 5000)], "answer-too-big", "answer", 1),
    (
        "error in the stream",
        [Raw(b'data: {"error":{"message":"no"}}\n\n')],
        "server-error",
        "broke off its answer: no",
        1,
    ),
]


@pytest.mark.parametrize(("script", "failure", "words", "tries"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_faults(tmp_path: Path, script: list[Action], failure: str, words: str, tries: int) -> None:
    """What may pass is tried again for as long as there is time; `tries` is the least then."""
    out, server = against(tmp_path, script, timeout=60 if tries == 1 else 2.5)
    assert (out["ok"], out["failure"]) == (False, failure)
    assert words in out["error"], out["error"]
    assert len(server.requests) == out["tries"] and (out["tries"] == 1 if tries == 1 else out["tries"] >= tries)


@pytest.mark.parametrize(
    ("script", "settings", "words"),
    [
        ([Silence()], {"idle_timeout": 1}, "said nothing for 1 s"),
        ([Endless(0.3)], {"timeout": 2}, "did not answer in 2 s"),
        ([Drip("slowly", 0.1)], {"timeout": 2, "idle_timeout": 1}, "did not answer in 2 s"),
        ([Status(503, retry_after=5)], {"timeout": 2}, "no time is left to try again"),
    ],
)
def test_deadlines(tmp_path: Path, script: list[Action], settings: dict[str, Any], words: str) -> None:
    out, _ = against(tmp_path, script, **settings)
    assert words in out["error"] and out["seconds"] < 4, out


@pytest.mark.parametrize(
    "fault",
    [Status(429, retry_after=1), Status(500), Status(529), Status(503), Truncated(), Reset(), Reset(200)],
    ids=lambda f: f"{type(f).__name__}{getattr(f, 'code', '')}",
)
def test_what_passes_is_tried_again(tmp_path: Path, fault: Action) -> None:
    out, server = against(tmp_path, [fault, Answer("OK")])
    assert (out["ok"], out["tries"], len(server.requests)) == (True, 2, 2)
    assert server.requests[0].raw == server.requests[1].raw
    if isinstance(fault, Status):
        assert server.connections == 1
    if isinstance(fault, Status) and fault.retry_after:
        assert server.requests[1].at - server.requests[0].at >= 0.95


def test_retry_after_may_be_a_date(tmp_path: Path) -> None:
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3))
    out, server = against(tmp_path, [Status(429, retry_after=date), Answer("OK")])
    assert out["ok"] and 1 < server.requests[1].at - server.requests[0].at < 5


def test_a_slow_answer_is_waited_for(tmp_path: Path) -> None:
    out, _ = against(tmp_path, [Drip("OK", 0.002)], idle_timeout=1)
    assert out["ok"] and out["output_tokens"] == 34


def test_a_whole_answer_counts_however_the_connection_ends(tmp_path: Path) -> None:
    out, _ = against(tmp_path, [Truncated("OK", 1.0)])
    assert (out["ok"], out["tries"]) == (True, 1)


def test_what_an_endpoint_does_not_know_is_left_out(tmp_path: Path) -> None:
    script: list[Action] = [
        Status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Status(400, "Unsupported value: 'temperature' does not support 0.7 with this model."),
        Answer("OK"),
    ]
    out, server = against(tmp_path, script)
    assert out["ok"]
    first, second, third = (r.body for r in server.requests)
    assert (
        "max_tokens" in first and "max_tokens" not in second and second["max_completion_tokens"] == first["max_tokens"]
    )
    assert "temperature" in second and "temperature" not in third and "top_p" in third
    out, server = against(tmp_path, [Status(400, "bad temperature")])
    assert (out["failure"], len(server.requests)) == ("bad-request", 2)


def test_nothing_is_configured(tmp_path: Path) -> None:
    out = ask(tmp_path, {"OPENAI_API_KEY": KEY})
    assert (out["failure"], out["model"]) == ("not-configured", None) and "model.url" in out["error"]
    project(tmp_path, url="http://127.0.0.1:9/v1")
    assert (ask(tmp_path)["failure"], "model.name" in ask(tmp_path)["error"]) == ("settings", True)
    for url in (
        "ftp://127.0.0.1/",
        "no url",
        "https:///v1",
        "https://user:pass@example.org/v1",
        "http://127.0.0.1@example.org/v1",
        "http://127.0.0.1\\@example.org/v1",
        "http://127.0.0.1:80@example.org/v1",
        "http://[::1]example.org/v1",
        "https://exa%6dple.org/v1",
        "https://example.org/a b",
    ):
        project(tmp_path, url=url, name="m")
        out = ask(tmp_path)
        assert out["failure"] == "settings" and "model.url" in out["error"] and "pass@" not in out["error"]


def test_the_environment_comes_before_the_project(tmp_path: Path) -> None:
    with ModelServer() as server:
        project(tmp_path, url="http://127.0.0.1:9/v1", name="theirs")
        out = ask(tmp_path, {"GRAPHGLUE_MODEL_URL": server.url, "GRAPHGLUE_MODEL_NAME": "mine"})
    assert out["ok"] and out["model"]["from"] == "the environment" and server.requests[0].body["model"] == "mine"


def test_a_makers_key_goes_to_that_maker_only(tmp_path: Path) -> None:
    with ModelServer() as server:
        project(tmp_path, url=server.url, name="m")
        out = ask(tmp_path, {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, key=None)
        assert out["ok"] and "authorization" not in server.requests[0].headers
        project(tmp_path, url=server.url, name="m", key_env="OPENAI_API_KEY")
        assert ask(tmp_path, {"OPENAI_API_KEY": KEY}, key=None)["ok"]
        assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"
        out = ask(tmp_path, {"OPENAI_API_KEY": ""}, key=None)
        assert out["failure"] == "no-key" and "OPENAI_API_KEY" in out["error"] and len(server.requests) == 2


def test_a_key_may_come_from_a_program(tmp_path: Path) -> None:
    with ModelServer() as server:
        project(tmp_path, url=server.url, name="m", key_command=["sh", "-c", f"sleep 0.1; echo '{KEY}  '"])
        out = ask(tmp_path, key=None)
        assert out["ok"] and out["model"]["key"] == "the program sh"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        for command, words in (
            (["sh", "-c", f"echo {KEY} >&2; exit 3"], "failed (exit status 3)"),
            (["no-such-program-anywhere"], "could not be started"),
            (["true"], "it is empty"),
            (["printf", f"{KEY}\\nEvil: header"], "more than one word"),
            (["sh", "-c", "yes | head -c 100000"], "model.keyCommand"),
        ):
            project(tmp_path, url=server.url, name="m", key_command=command)
            out = ask(tmp_path, key=None)
            assert out["failure"] == "no-key" and words in out["error"], out
        assert len(server.requests) == 1


def test_a_key_is_not_sent_in_the_open(tmp_path: Path) -> None:
    project(tmp_path, url="http://model.invalid/v1", name="m", timeout=3)
    out = ask(tmp_path)
    assert (out["failure"], out["tries"]) == ("plain-http", 0) and "https://" in out["error"]
    assert ask(tmp_path, key=None)["failure"] == "no-host"
    for host in ("127.0.0.1.evil.invalid", "127.0.0.1.", "localhost.invalid", "127.evil.invalid", "128.0.0.1"):
        project(tmp_path, url=f"http://{host}/v1", name="m")
        assert ask(tmp_path)["failure"] == "plain-http"
    for host in ("localhost", "127.0.0.1", "127.8.7.6", "[::1]"):
        project(tmp_path, url=f"http://{host}:9/v1", name="m", timeout=1)
        assert ask(tmp_path)["failure"] == "no-connection"


def test_this_machine_is_asked_without_the_environments_proxy(tmp_path: Path) -> None:
    with ModelServer() as proxy, ModelServer() as server:
        project(tmp_path, url=server.url, name="m")
        assert ask(tmp_path, {"http_proxy": proxy.url, "ALL_PROXY": proxy.url})["ok"]
        assert not proxy.requests and len(server.requests) == 1


def test_other_hosts_are_asked_through_a_proxy(tmp_path: Path) -> None:
    with ModelServer() as proxy:
        for settings, env in (({}, {"http_proxy": proxy.url[:-3], "no_proxy": ""}), ({"proxy": proxy.url[:-3]}, {})):
            project(tmp_path, url="http://model.invalid/v1", name="m", **settings)
            assert ask(tmp_path, env, key=None)["ok"]
        project(tmp_path, url="https://model.invalid/v1", name="m", proxy=proxy.url[:-3], timeout=1)
        proxy.script = [Status(407)]
        out = ask(tmp_path)
        assert out["failure"] == "broken-off" and "407" in out["error"], out
        tunnels = [r for r in proxy.requests if r.method == "CONNECT"]
        assert tunnels and not any("authorization" in r.headers for r in tunnels)
    assert [r.path for r in proxy.requests if r.method == "POST"] == ["http://model.invalid/v1/chat/completions"] * 2


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that its own key signed."""
    folder = tmp_path_factory.mktemp("tls")
    out, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", out]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return out, key


def test_certificates_are_checked(tmp_path: Path, certificate: tuple[str, str]) -> None:
    with ModelServer(tls=certificate) as server:
        project(tmp_path, url=server.url, name="m")
        out = ask(tmp_path)
        assert (out["failure"], out["tries"]) == ("certificate", 1) and "model.caFile" in out["error"]
        assert "self-signed certificate" in out["error"]
        assert not server.requests
        project(tmp_path, url=server.url, name="m", ca_file=certificate[0])
        assert ask(tmp_path)["ok"] and len(server.requests) == 1
        project(tmp_path, url=server.url.replace("127.0.0.1", "localhost"), name="m", ca_file=certificate[0])
        assert ask(tmp_path)["failure"] == "certificate"  # it is another host's


def test_the_key_is_in_no_file(tmp_path: Path) -> None:
    """Nor is it among the arguments of a process."""
    with ModelServer([Drip("OK", 0.001)]) as server:
        project(tmp_path, url=server.url, name="m")
        child = subprocess.Popen(
            [str(BIN / "graphglue-lsp"), "doctor", "--model"],
            cwd=tmp_path,
            env={**os.environ, "GRAPHGLUE_MODEL_KEY": KEY},
            stdout=subprocess.PIPE,
            text=True,
        )
        while not server.requests:
            time.sleep(0.01)
        assert KEY not in Path(f"/proc/{child.pid}/cmdline").read_text()
        assert KEY not in (child.communicate(timeout=60)[0] or "")
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
