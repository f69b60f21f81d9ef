"""What holds every message of every test here to the protocol (conformance.py, support.Protocol) finds what is wrong with one."""

from typing import Any

import pytest
from conformance import Judge
from conftest import Start
from lsprotocol import types

RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}


def diagnostics(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    params = {"uri": "file:///a.py", "diagnostics": list(items), **more}
    return {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}


def announcing(**text_document: Any) -> Judge:
    judge = Judge()
    judge.capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(**text_document),
        workspace=types.WorkspaceClientCapabilities(apply_edit=True),
    )
    return judge


@pytest.mark.parametrize(
    "item, fault",
    [
        ({"range": RANGE}, "diagnostics[0].message is missing"),
        ({"range": RANGE, "message": "m", "weight": 1}, "Diagnostic has no weight"),
        ({"range": RANGE, "message": "m", "severity": 9}, "DiagnosticSeverity has no 9"),
        ({"range": RANGE, "message": 1}, "diagnostics[0].message is no str: 1"),
        ({"range": {**RANGE, "end": {"line": -1, "character": 0}}, "message": "m"}, "range.end.line is negative"),
        ({"range": {**RANGE, "end": {"line": 0.5, "character": 0}}, "message": "m"}, "range.end.line is no integer"),
    ],
)
def test_a_shape_that_is_wrong(item: dict[str, Any], fault: str) -> None:
    (found,) = Judge().of(diagnostics(item))
    assert fault in found


def test_a_right_one() -> None:
    publish = types.PublishDiagnosticsClientCapabilities(version_support=True)
    judge = announcing(publish_diagnostics=publish)
    assert judge.of(diagnostics({"range": RANGE, "message": "m", "code": "GB0170", "severity": 2}, version=3)) == []


def test_what_the_client_did_not_announce() -> None:
    judge = announcing(publish_diagnostics=types.PublishDiagnosticsClientCapabilities())
    (found,) = judge.of(diagnostics(version=3))
    assert "text_document.publish_diagnostics.version_support" in found
    edit = {"documentChanges": [{"textDocument": {"uri": "a", "version": 1}, "edits": []}]}
    apply = {"jsonrpc": "2.0", "id": 1, "method": "workspace/applyEdit", "params": {"edit": edit}}
    (found,) = judge.of(apply)
    assert "workspace.workspace_edit.document_changes" in found
    judge.sent(7, "textDocument/hover", None)
    (found,) = judge.of({"jsonrpc": "2.0", "id": 7, "result": {"contents": {"kind": "markdown", "value": "**a**"}}})
    assert "markdown was not among the formats" in found


def test_methods_that_are_not_the_servers() -> None:
    hover = {"textDocument": {"uri": "a"}, "position": RANGE["start"]}
    (found,) = Judge().of({"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": hover})
    assert "the client's to send" in found
    assert Judge().of({"jsonrpc": "2.0", "method": "textDocument/sing", "params": {}})


def asking(method: str, params: dict[str, Any] | None = None) -> Judge:
    judge = Judge()
    judge.sent(7, method, params)
    return judge


@pytest.mark.parametrize(
    "answer",
    [{"result": None, "error": {"code": 1, "message": "m"}}, {}, {"error": {"code": "1", "message": "m"}}],
)
def test_answers_that_are_none(answer: dict[str, Any]) -> None:
    (found,) = asking("shutdown").of({"jsonrpc": "2.0", "id": 7, **answer})
    assert "either a result or an error" in found or "error of shutdown.code is no integer" in found
    (found,) = asking("shutdown").of({"id": 7, "result": None})
    assert "no jsonrpc" in found


def test_what_may_be_null_must_be_there() -> None:
    report = {"uri": "file:///a.py", "kind": "full", "items": []}
    (found,) = asking("workspace/diagnostic").of({"jsonrpc": "2.0", "id": 7, "result": {"items": [report]}})
    assert "version is missing" in found
    whole = {"items": [{**report, "version": None}]}
    assert asking("workspace/diagnostic").of({"jsonrpc": "2.0", "id": 7, "result": whole}) == []


def progress(token: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": value}}


BEGIN, REPORT, END = {"kind": "begin", "title": "t"}, {"kind": "report"}, {"kind": "end"}


@pytest.mark.parametrize(
    "values, fault",
    [
        ([BEGIN, REPORT, REPORT, END], None),
        ([REPORT], "report after create"),
        ([BEGIN, BEGIN], "begin after begin"),
        ([BEGIN, END, REPORT], "report after end"),
        ([{"kind": "begin"}], "title is missing"),
        ([{"items": []}], "of no kind"),
    ],
)
def test_progress(values: list[dict[str, Any]], fault: str | None) -> None:
    judge = Judge()
    create = {"jsonrpc": "2.0", "id": 1, "method": "window/workDoneProgress/create", "params": {"token": 3}}
    assert judge.of(create) == []
    found = [f for value in values for f in judge.of(progress(3, value))]
    assert len(found) == bool(fault) and (fault or "") in "".join(found)
    (found,) = judge.of(progress(4, BEGIN))
    assert "begin after None" in found, "nobody made this token"


def test_partial_results() -> None:
    judge = asking("workspace/diagnostic", {"previousResultIds": [], "partialResultToken": "p"})
    assert judge.of(progress("p", {"items": []})) == []
    assert any("uri is missing" in f for f in judge.of(progress("p", {"items": [{}]})))
    assert judge.of({"jsonrpc": "2.0", "id": 7, "result": {"items": []}}) == []
    (found,) = judge.of(progress("p", {"items": []}))
    assert "after the whole" in found
    (found,) = asking("textDocument/codeLens", {"partialResultToken": "p"}).of(progress("p", []))
    assert "textDocument/codeLens" in found


def test_registrations() -> None:
    one = {"id": "1", "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": [{"glob": "*.py"}]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "client/registerCapability", "params": {"registrations": [one]}}
    assert any("globPattern is missing" in f for f in Judge().of(message))


async def test_each_message_of_a_session_is_judged(start: Start) -> None:
    client = await start()
    assert client.judge.judged == 1  # the answer to initialize
    client.open("a.py", "x = 1\n")
    await client.sync()
    assert client.judge.judged >= 3 and client.judge.asked == {}
