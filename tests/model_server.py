#!/usr/bin/env python3
"""A language model's HTTP endpoint that does what a script says: OpenAI's `chat/completions` and Anthropic's `messages`, over real sockets.

In a test::

    from model_server import Answer, ModelServer, Status

    with ModelServer([Status(429, retry_after=1), Answer("<Optimized Code>…</Optimized Code>")]) as server:
        run(url=server.url)                    # http://127.0.0.1:PORT/v1, for either API
    assert server.requests[1].body["messages"][-1]["content"] == "…"

The script is a list of actions, one for each request in the order of their coming (the last one goes on for ever; an empty list answers
`Answer("ok")`), or a function that is given the `Request` and returns an action: so a scripted model can look at what it was asked.  Actions:

    Answer(text, …)        the streamed answer of the API that was asked, cut in `pieces`, `thinking` before it; `stop` is end, length or refused
    Whole(text, …)         the same answer as one JSON object, whatever was asked for
    Status(code, …)        an error with its JSON body and, if given, Retry-After: seconds, or any text (a date)
    Redirect(url)          302 to `url`
    Raw(body, …)           these bytes with this content type: malformed events, invalid UTF-8, wrong JSON
    Truncated(text, …)     the beginning of an answer, then the connection is closed without the end of the chunks
    Reset(after)           the connection is reset: at once, or after `after` bytes of an answer
    Drip(text, every)      an answer of which a byte comes every so many seconds
    Endless(every, …)      an answer that never ends
    Huge(size)             an answer of that many bytes, at once
    Silence(seconds)       nothing at all for so long, then the connection is closed
    Wait(seconds, then)    another action, later

The repair agent asks about what was proved for more inputs: `inputs` is the script for those questions, which are in `server.proposals` and not
among the others; by itself it knows of none.

`server.requests` has every request as it came (path, headers in lower case, body as JSON, the bytes), `server.connections` how many connections there
were (keep-alive), `server.gone` how often a client left in the middle of an answer.  `ModelServer(…, tls=(certificate, key))` speaks TLS.

By hand, or from a test that is no Python::

    python tests/model_server.py [--port N] [--faults SEED] [--text TEXT]    prints its URL; ends when its standard input does

`--faults` answers each request with an action that the seed draws, most of them faults.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

THINKING = "SECRET-THOUGHT"
OPENAI_STOPS = {"end": "stop", "length": "length", "refused": "content_filter"}  # of an answer's `stop`
ANTHROPIC_STOPS = {"end": "end_turn", "length": "max_tokens", "refused": "refusal"}


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    at: float

    @property
    def body(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    @property
    def api(self) -> str:
        """openai or anthropic, by the path."""
        return "anthropic" if self.path.split("?")[0].endswith("/messages") else "openai"


class Action:
    """What is done with one request: the parts of the answer, each sent as it is, with waits between."""

    def play(self, request: Request, out: Connection) -> None:
        """Answers; a client that leaves is an OSError."""
        raise NotImplementedError


def openai_events(
    text: str, pieces: int, thinking: str, stop: str, tokens: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """The chunks of a chat completion."""

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {"id": "c1", "object": "chat.completion.chunk", "model": "scripted", "choices": choices, **more}

    yield chunk({"role": "assistant", "content": ""})
    if thinking:
        yield chunk({"reasoning_content": thinking})
    for piece in cut(text, pieces):
        yield chunk({"content": piece})
    yield chunk({}, OPENAI_STOPS[stop])
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    yield {"id": "c1", "object": "chat.completion.chunk", "model": "scripted", "choices": [], "usage": usage}


def anthropic_events(
    text: str, pieces: int, thinking: str, stop: str, tokens: tuple[int, int], tool: bool
) -> Iterator[dict[str, Any]]:
    """The events of a message; as the input of a tool when the request asks for one."""
    start = {"id": "m1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**start, "usage": {"input_tokens": tokens[0], "output_tokens": 1}}}
    index = 0
    if thinking:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": thinking}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}
        yield {"type": "content_block_stop", "index": 0}
        index = 1
    block = {"type": "tool_use", "id": "t1", "name": "answer", "input": {}} if tool else {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "ping"}
    for piece in cut(text, pieces):
        delta = {"type": "input_json_delta", "partial_json": piece} if tool else {"type": "text_delta", "text": piece}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if tool and stop == "end" else ANTHROPIC_STOPS[stop]
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens[1]}}
    yield {"type": "message_stop"}


def cut(text: str, pieces: int) -> list[str]:
    """The text in about so many pieces."""
    step = max(1, -(-len(text) // max(1, pieces)))
    return [text[i : i + step] for i in range(0, len(text), step)]


@dataclass
class Answer(Action):
    """A whole answer."""

    text: str = "ok"
    input_tokens: int = 12
    output_tokens: int = 34
    stop: str = "end"
    thinking: str = ""
    pieces: int = 5
    pause: float = 0.0  # between events

    def events(self, request: Request) -> list[bytes]:
        """The answer as server-sent events, one in each item."""
        tokens = (self.input_tokens, self.output_tokens)
        if request.api == "anthropic":
            tool = isinstance(request.body, dict) and "tools" in request.body
            events = anthropic_events(self.text, self.pieces, self.thinking, self.stop, tokens, tool)
            return [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]
        events = openai_events(self.text, self.pieces, self.thinking, self.stop, tokens)
        return [b": a comment\n\n", *(f"data: {json.dumps(e)}\n\n".encode() for e in events), b"data: [DONE]\n\n"]

    def play(self, request: Request, out: Connection) -> None:
        out.head(200, "text/event-stream")
        for event in self.events(request):
            out.chunk(event)
            out.sleep(self.pause)
        out.end()


@dataclass
class Whole(Answer):
    """A whole answer that is no stream: some servers know no other."""

    def play(self, request: Request, out: Connection) -> None:
        if request.api == "anthropic":
            reason = ANTHROPIC_STOPS[self.stop]
            blocks = [{"type": "thinking", "thinking": self.thinking}] if self.thinking else []
            if isinstance(request.body, dict) and "tools" in request.body:
                blocks.append({"type": "tool_use", "id": "t1", "name": "answer", "input": json.loads(self.text)})
            else:
                blocks.append({"type": "text", "text": self.text})
            usage = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
            body = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": reason, "usage": usage}
        else:
            reason = OPENAI_STOPS[self.stop]
            message = {"role": "assistant", "content": self.text, "reasoning_content": self.thinking or None}
            usage = {"prompt_tokens": self.input_tokens, "completion_tokens": self.output_tokens}
            choices = [{"index": 0, "message": message, "finish_reason": reason}]
            body = {"id": "c1", "object": "chat.completion", "choices": choices, "usage": usage}
        out.whole(200, "application/json", json.dumps(body, indent=2).encode(), {})


@dataclass
class Status(Action):
    """An error of the endpoint's."""

    code: int
    message: str = "scripted"
    retry_after: float | str | None = None
    kind: str = "scripted_error"

    def play(self, request: Request, out: Connection) -> None:
        more = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        error = {"type": "error", "error": {"type": self.kind, "message": self.message}}
        out.whole(self.code, "application/json", json.dumps(error).encode(), more)


@dataclass
class Redirect(Action):
    """To somewhere else, where the key must not go."""

    url: str

    def play(self, request: Request, out: Connection) -> None:
        out.whole(302, "text/plain", b"over there", {"Location": self.url})


@dataclass
class Raw(Action):
    """These bytes."""

    body: bytes
    content_type: str = "text/event-stream"
    code: int = 200

    def play(self, request: Request, out: Connection) -> None:
        out.head(self.code, self.content_type)
        for i in range(0, len(self.body), 1000):
            out.chunk(self.body[i : i + 1000])
        out.end()


@dataclass
class Truncated(Action):
    """The first part of an answer; then the connection is closed."""

    text: str = "the beginning of an answer"
    part: float = 0.5

    def play(self, request: Request, out: Connection) -> None:
        whole = b"".join(Answer(self.text).events(request))
        out.head(200, "text/event-stream")
        out.chunk(whole[: int(len(whole) * self.part)])
        out.close()


@dataclass
class Reset(Action):
    """RST."""

    after: int = 0

    def play(self, request: Request, out: Connection) -> None:
        if self.after:
            out.head(200, "text/event-stream")
            out.chunk(b"".join(Answer("x" * self.after).events(request))[: self.after])
            out.sleep(0.05)
        out.reset()


@dataclass
class Drip(Action):
    """A byte at a time."""

    text: str = "slowly"
    every: float = 0.05

    def play(self, request: Request, out: Connection) -> None:
        out.head(200, "text/event-stream")
        for byte in b"".join(Answer(self.text).events(request)):
            out.chunk(bytes([byte]))
            out.sleep(self.every)
        out.end()


@dataclass
class Endless(Action):
    """An answer without an end."""

    every: float = 0.0
    piece: str = "and on "

    def play(self, request: Request, out: Connection) -> None:
        events = Answer(self.piece, pieces=1).events(request)
        text = next(e for e in events if self.piece.encode() in e)
        out.head(200, "text/event-stream")
        for event in events[: events.index(text)]:
            out.chunk(event)
        while True:
            out.chunk(text if self.every else text * 100)
            out.sleep(self.every)


@dataclass
class Huge(Action):
    """One event that is far too large."""

    size: int = 64 * 1024 * 1024

    def play(self, request: Request, out: Connection) -> None:
        out.head(200, "text/event-stream")
        out.chunk(b'data: {"choices":[{"delta":{"content":"')
        for _ in range(0, self.size, 65536):
            out.chunk(b"x" * 65536)
        out.end()


@dataclass
class Silence(Action):
    """Nothing."""

    seconds: float = 60.0

    def play(self, request: Request, out: Connection) -> None:
        out.sleep(self.seconds)
        out.close()


@dataclass
class Wait(Action):
    """Another action, later."""

    seconds: float
    then: Action = field(default_factory=Answer)

    def play(self, request: Request, out: Connection) -> None:
        out.sleep(self.seconds)
        self.then.play(request, out)


class Connection:
    """One client's connection, read and written by a thread of its own."""

    def __init__(self, server: ModelServer, sock: socket.socket) -> None:
        self.server, self.sock = server, sock
        self.read = sock.makefile("rb")
        self.closed = False

    def head(self, code: int, content_type: str, more: dict[str, str] | None = None) -> None:
        """Status and headers of an answer whose body comes in chunks."""
        self.start(code, {"Content-Type": content_type, "Transfer-Encoding": "chunked", **(more or {})})

    def start(self, code: int, headers: dict[str, str]) -> None:
        """Status line and headers."""
        lines = [f"HTTP/1.1 {code} Scripted", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        self.sock.sendall("\r\n".join(lines).encode())

    def whole(self, code: int, content_type: str, body: bytes, more: dict[str, str]) -> None:
        """An answer at once."""
        self.start(code, {"Content-Type": content_type, "Content-Length": str(len(body)), **more})
        self.sock.sendall(body)

    def chunk(self, data: bytes) -> None:
        """A part of the body."""
        self.sock.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def end(self) -> None:
        """The end of the body; the connection stays."""
        self.sock.sendall(b"0\r\n\r\n")

    def sleep(self, seconds: float) -> None:
        """Until then, or until the client has gone, or the server is to end."""
        until = time.monotonic() + seconds
        while not self.server.ending and (left := until - time.monotonic()) > 0:
            self.sock.settimeout(min(left, 0.2))
            try:
                if not isinstance(self.sock, ssl.SSLSocket) and self.sock.recv(1, socket.MSG_PEEK) == b"":
                    raise ConnectionResetError
                time.sleep(min(left, 0.01))
            except TimeoutError:
                continue
            finally:
                self.sock.settimeout(None)

    def close(self) -> None:
        """No more of it."""
        self.closed = True
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def reset(self) -> None:
        """Closed so that the client sees a reset."""
        self.closed = True
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.read.close()
        self.sock.close()

    def request(self) -> Request | None:
        """The next request; None: there is none."""
        line = self.read.readline(65536).decode("latin-1").split()
        if len(line) < 2:
            return None
        headers: dict[str, str] = {}
        while (text := self.read.readline(65536).decode("latin-1").strip()) != "":
            name, _, value = text.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw = self.read.read(int(headers.get("content-length", "0")))
        return Request(line[0], line[1], headers, raw, time.monotonic())

    def serve(self) -> None:
        """Answers until the client has enough."""
        try:
            while not self.closed and (request := self.request()) is not None:
                action = self.server.take(request)
                try:
                    action.play(request, self)
                except (OSError, ValueError):
                    self.server.gone += 1
                    return
        except (OSError, ValueError):
            return
        finally:
            self.read.close()
            self.sock.close()
            self.server.forget(self)


Script = Sequence[Action] | Callable[[Request], Action]


class ModelServer:
    """Listens on 127.0.0.1 from `with` (or start()) on."""

    def __init__(
        self,
        script: Script = (),
        port: int = 0,
        tls: tuple[str, str] | None = None,
        inputs: Script = (),
    ) -> None:
        self.script, self.inputs = script, inputs or (Answer("I know of none."),)
        self.requests: list[Request] = []
        self.proposals: list[Request] = []
        self.connections = 0
        self.gone = 0
        self.ending = False
        self.lock = threading.Lock()
        self.open: list[Connection] = []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)
        port = self.listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{port}/v1"  # the base that is configured
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def take(self, request: Request) -> Action:
        """Notes a request; what is to be done with it."""
        wants_inputs = b"Propose up to " in request.raw
        script, asked = (self.inputs, self.proposals) if wants_inputs else (self.script, self.requests)
        with self.lock:
            asked.append(request)
            if callable(script):
                return script(request)
            if not script:
                return Answer()
            return script[min(len(asked), len(script)) - 1]

    def forget(self, connection: Connection) -> None:
        """It has ended."""
        with self.lock:
            if connection in self.open:
                self.open.remove(connection)

    def accept(self) -> None:
        """Until the listener is closed."""
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.welcome, args=(sock,), daemon=True).start()

    def welcome(self, sock: socket.socket) -> None:
        """One connection."""
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, self.tls.wrap_socket(sock, server_side=True) if self.tls else sock)
        except OSError:
            sock.close()
            return
        with self.lock:
            self.connections += 1
            self.open.append(connection)
        connection.serve()

    def start(self) -> ModelServer:
        """Begins to listen."""
        self.thread.start()
        return self

    def stop(self) -> None:
        """Ends every connection."""
        self.ending = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            still = list(self.open)
        for connection in still:
            connection.close()
        self.thread.join(5)

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.stop()


INVALID_UTF8 = b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n'
WRONG_JSON = b'data: {"choices":[{"delta":{"content":"a"\n\n'
MALFORMED_EVENTS = b"data\n\n:\n\nfield: x\ndata: [DONE]\n\n\xef\xbb\xbfdata: {}"


def drawn(seed: int, text: str) -> Callable[[Request], Action]:
    """A script that draws each action: a third are right."""
    rng = random.Random(seed)

    def draw(_: Request) -> Action:
        return rng.choice(
            [
                lambda: Answer(text, pieces=rng.randint(1, 40)),
                lambda: Answer(text, thinking=THINKING, pause=0.002),
                lambda: Answer(text, stop="length"),
                lambda: Whole(text),
                lambda: Wait(rng.random() * 0.05, Answer(text)),
                lambda: Status(429, retry_after=0),
                lambda: Status(500),
                lambda: Status(503, retry_after=0),
                lambda: Status(401),
                lambda: Status(400),
                lambda: Redirect("http://127.0.0.1:9/v1"),
                lambda: Truncated(text, rng.random()),
                Reset,
                lambda: Reset(rng.randint(1, 400)),
                lambda: Drip(text, 0.02),
                lambda: Endless(0.002),
                lambda: Endless(piece="and on " * 500),
                lambda: Huge(1024 * 1024),
                lambda: Silence(1.0),
                lambda: Raw(INVALID_UTF8),
                lambda: Raw(WRONG_JSON),
                lambda: Raw(MALFORMED_EVENTS),
                lambda: Raw(b"<html>", "text/html"),
            ]
        )()

    return draw


def main() -> int:
    """Serves until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", type=int, metavar="SEED")
    parser.add_argument("--text", default="ok")
    arguments = parser.parse_args()
    script = drawn(arguments.faults, arguments.text) if arguments.faults is not None else [Answer(arguments.text)]
    with ModelServer(script, arguments.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
