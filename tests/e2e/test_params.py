"""Params as the LSP model has them (shapes.py): whatever a client may send is taken, and each field that is missing or of another type is refused.

One server takes all of them, one after the other: it stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shapes
import support
from lsprotocol import types

INVALID_PARAMS = -32602
NO_PARAMS = ("exit", "shutdown", "initialize", "initialized")  # the first request has tests of its own
LINES = (support.ROOT / "protocol" / "methods.txt").read_text().split("\n")
SPOKEN = [line for line in LINES if line and not line.startswith("#")]
OURS = [m for m in SPOKEN if types.message_direction(m) != "serverToClient"]
METHODS = [m for m in OURS if m not in (*NO_PARAMS, "$/progress")]
REQUESTS = [m for m in METHODS if types.METHOD_TO_TYPES[m][1]]
# What data and arguments mean is not the protocol's to say: these may fail, in words, whatever the shape.
MAY_FAIL = {"codeAction/resolve": (-32801, -32803, INVALID_PARAMS)}
TAKEN = {  # all the same
    "codeAction/resolve": ("edit.", "no edit."),  # goes back as it came
    "textDocument/didChange": (
        "no contentChanges.0.range",
        "contentChanges.0.range = None",
    ),  # then it is the whole text
}


def params_of(method: str) -> type:
    return types.METHOD_TO_TYPES[method][2]  # type: ignore[no-any-return]


class Session:
    """A raw server; its messages are judged as they are read."""

    def __init__(self, server: support.Raw, folder: Path) -> None:
        self.server, self.folder, self.sent = server, folder, 0
        capabilities = server.initialize(rootUri=folder.as_uri())["result"]["capabilities"]
        self.commands = capabilities["executeCommandProvider"]["commands"]
        (folder / "a.py").write_text("x = 1\n")

    def strings(self, method: str) -> dict[str, str]:
        of_file, of_folder = (self.folder / "a.py").as_uri(), self.folder.as_uri()
        uri = of_folder if method == "workspace/didChangeWorkspaceFolders" else of_file
        return {"uri": uri, "languageId": "python", "text": "y = 2\n", "command": "graphglue.status"}

    def send(self, method: str, params: Any) -> dict[str, Any] | None:
        """The answer to a request."""
        if method not in REQUESTS:
            self.server.send(method=method, params=params)
            return None
        self.sent += 1
        answer = self.server.request(self.sent, method, params)
        self.server.queue.clear()
        return answer

    def counted(self, method: str) -> tuple[int, int]:
        """How often a method was called, and how often its params were refused."""
        row = self.server.request("status", "gg/status")["result"]["methods"].get(method, {})
        return row.get("calls", 0), row.get("errors", 0)


@pytest.fixture
def session(raw, tmp_path: Path) -> Session:
    return Session(raw(), tmp_path)


def valid(session: Session, method: str) -> Iterator[tuple[str, Any]]:
    strings, cls = session.strings(method), params_of(method)
    yield "least", shapes.Maker(strings).of(cls)
    for turn in range(4):  # no union has more alternatives that are told apart here
        whole = shapes.Maker(strings, full=True, turn=turn).of(cls)
        yield f"most, {turn}", whole
        yield f"more than the protocol knows, {turn}", shapes.extended(whole)


def test_what_the_model_allows_is_taken(session: Session) -> None:
    wrong = []
    for method in METHODS:
        before = session.counted(method)
        cases = list(valid(session, method))
        for name, params in cases:
            answer = session.send(method, params)
            if answer and "error" in answer and answer["error"]["code"] not in MAY_FAIL.get(method, ()):
                wrong.append(f"{method}, {name}: {answer['error']}")
        calls, errors = session.counted(method)
        if calls - before[0] != len(cases) or errors != before[1] and method not in MAY_FAIL:
            wrong.append(f"{method}: of {len(cases)} {calls - before[0]} were taken, {errors - before[1]} refused")
    assert not wrong, "\n".join(wrong)


def test_what_the_model_forbids_is_refused(session: Session) -> None:
    """A request gets words that begin with the path; a notification has no answer, and is counted as refused."""
    wrong = []
    for method in METHODS:
        before, count = session.counted(method), 0
        for turn in range(2):
            cls, strings = params_of(method), {**session.strings(method), "uri": "file:///never.py"}
            whole = shapes.Maker(strings, full=True, turn=turn).of(cls)
            for name, params in shapes.wrong(cls, whole):
                if name.startswith(TAKEN.get(method, "?")):
                    continue
                answer, count = session.send(method, params), count + 1
                error = (answer or {}).get("error", {})
                if answer and (error.get("code") != INVALID_PARAMS or not error["message"].startswith("params")):
                    wrong.append(f"{method}, {name}: {answer}")
        calls, errors = session.counted(method)
        if (calls - before[0], errors - before[1]) != (0, count):
            wrong.append(f"{method}: of {count} {calls - before[0]} were taken, {errors - before[1]} refused")
    assert not wrong, "\n".join(wrong)


def test_initialize(raw) -> None:
    """Each wrong one is refused and leaves the server as new; what a client says of itself is read where it is looked at."""
    server, wrong = raw(), []
    whole = shapes.Maker({}, full=True).of(types.InitializeParams)
    whole["capabilities"] = {}
    for name, params in shapes.wrong(types.InitializeParams, whole):
        error = server.request(name, "initialize", params).get("error", {})
        if error.get("code") != INVALID_PARAMS or not error["message"].startswith("params"):
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)
    assert "result" in server.initialize()


def test_arguments_of_commands(session: Session) -> None:
    """What a command is given is the server's own affair: nothing, or the wrong things, are refused in words."""
    uri = (session.folder / "a.py").as_uri()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": "x = 1\n"}
    session.send("textDocument/didOpen", {"textDocument": item})
    keys = ("revision", "site", "start", "end", "rule", "entry", "enclosing", "fixAll")
    whole = {"uri": uri, "revision": 1, "site": 0, "start": 0, "end": 1, "rule": "GG012", "enclosing": "f"}
    unknown = [[v] for v in (*shapes.KINDS, "file:///never.py", {"uri": "file:///never.py"})]
    known = [[{**whole, key: value}] for key in keys for value in (*shapes.KINDS, 1 << 62)]
    wrong = []
    for command in session.commands:
        for given in [None, [], *unknown, *known]:
            params = {"command": command, **({} if given is None else {"arguments": given})}
            answer = session.send("workspace/executeCommand", params)
            error = answer.get("error")
            takes_none = command in ("graphglue.status", "graphglue.showRepairLog")
            codes = (INVALID_PARAMS,) if given not in known else (INVALID_PARAMS, -32801, -32803)
            if bool(error) == takes_none or error and (error["code"] not in codes or not error["message"]):
                wrong.append(f"{command} {given}: {answer}")
    assert not wrong, "\n".join(wrong)


def test_the_page_names_each_method() -> None:
    page = (support.ROOT / "docs" / "conformance.md").read_text()
    rows = [line.split("|")[1] for line in page.split("\n") if line.startswith("| `")]
    named = {word.strip("` ") for row in rows for word in row.split(",")}
    short = {"didChange", "didSave", "didClose"}  # behind textDocument/didOpen
    assert (named - short) | {f"textDocument/{m}" for m in short} == {*SPOKEN, "graphglue/model"}
