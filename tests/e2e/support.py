"""What the end-to-end tests share: the server under test, driven by pytest-lsp's client or by raw frames, and the proof of a clean end.

Every wait is for an event (a reply, a notification, an exit) and has a deadline; nothing sleeps.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

import conformance
from lsprotocol import types
from places import edits_of, overlap, position, splice
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features
from pytest_lsp.protocol import LanguageClientProtocol

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import warm_workers  # noqa: E402

DEADLINE = 120.0  # seconds: torch is imported under load, on two cores
CONVERTER = conformance.CONVERTER


def find_server() -> str:
    """The built program: in $GRAPHGLUE_BIN, else the newest in build/*/bin."""
    given = os.environ.get("GRAPHGLUE_BIN")
    found = [Path(given, "graphglue-lsp")] if given else list(ROOT.glob("build/*/bin/graphglue-lsp"))
    found = [p for p in found if os.access(p, os.X_OK)]
    if not found:
        raise FileNotFoundError("no graphglue-lsp in build/*/bin: build it, or set GRAPHGLUE_BIN")
    return str(max(found, key=lambda p: p.stat().st_mtime))


# ---- the end of a server ------------------------------------------------------------------------------------------------


def marked_processes(mark: str) -> list[int]:
    """Processes whose environment holds the mark: the server, and whatever it left behind."""
    wanted, found = f"GRAPHGLUE_TEST_MARK={mark}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass  # gone, or not ours
    return found


def wait_gone(pids: Sequence[int], seconds: float) -> list[int]:
    """Waits for processes to exit; those that did not."""
    end, left = time.monotonic() + seconds, []
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if not select.select([fd], [], [], max(0.0, end - time.monotonic()))[0]:
            left.append(pid)
        os.close(fd)
    return left


def describe(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip() or str(
            pid
        )
    except OSError:
        return f"{pid} (gone meanwhile)"


def assert_clean_end(mark: str, stderr: bytes) -> None:
    """No process left (killed here, if so), nothing of a sanitizer on stderr."""
    text = stderr.decode(errors="replace")
    sys.stderr.write(text)
    left = wait_gone(marked_processes(mark), 5)
    names = [describe(pid) for pid in left]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not names, f"the server left processes behind: {names}"
    for trace in ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "Assertion `"):
        assert trace not in text, text


def environment(mark: str, extra: dict[str, str] | None = None) -> dict[str, str]:
    """The tests' own interpreter is nobody's choice by accident: what would name it is taken out."""
    env = {k: v for k, v in os.environ.items() if k not in warm_workers.LEFT_OUT and k != "GRAPHGLUE_LOG"}
    return {**env, **warm_workers.environment(Path(find_server()).parent), "GRAPHGLUE_TEST_MARK": mark, **(extra or {})}


# ---- pytest-lsp ---------------------------------------------------------------------------------------------------------


class Protocol(LanguageClientProtocol):
    """Tells the client of every message, of what the protocol or the client does not know in it, and of replies that nobody asked for."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        if "jsonrpc" in data:  # it is called for each object in a message, too
            self._server.unread += self._server.judge.of(data)
        return super().structure_message(data)

    def send_request(self, method: str, params: Any = None, callback: Any = None, msg_id: Any = None) -> Any:
        msg_id = msg_id or str(uuid.uuid4())
        self._server.judge.sent(msg_id, method, params)
        return super().send_request(method, params, callback, msg_id)

    def handle_message(self, message: Any) -> None:
        super().handle_message(message)
        self._server.on_message(message)

    def _handle_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if msg_id not in self._request_futures:
            self._server.unread.append(f"a reply to unknown id {msg_id!r}: {result or error}")
        super()._handle_response(msg_id, result, error)


def make_converter() -> Any:
    """pygls's, but that lsprotocol takes every code action with a command for a command."""

    def code_action(value: Any, _: type) -> types.Command | types.CodeAction:
        is_command = isinstance(value.get("command"), str)
        return converter.structure(value, types.Command if is_command else types.CodeAction)

    converter = default_converter()
    converter.register_structure_hook(Union[types.Command, types.CodeAction], code_action)  # noqa: UP007
    return converter


class Client(LanguageClient):
    """pytest-lsp's client with deadlines, every publication kept, and answers to what a server may ask."""

    def __init__(self, **options: Any) -> None:
        super().__init__(protocol_cls=Protocol, converter_factory=make_converter, **options)
        ours = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
        register_lsp_features(self, {k: v for k, v in DEFAULT_CLIENT_FEATURES.items() if k != ours})
        self.mark = uuid.uuid4().hex
        self.workspace = Path()
        self.encoding = "utf-16"
        self.stderr = bytearray()
        self.published: list[types.PublishDiagnosticsParams] = []
        self.texts: dict[str, str] = {}  # what the editor's buffers hold
        self.versions: dict[str, int] = {}
        self.applied: list[types.ApplyWorkspaceEditParams] = []
        self.refuse_edits = False
        self.unread: list[str] = []
        self.judge = conformance.Judge()
        self.ended = False
        self.lens_refreshes = 0
        self.hint_refreshes = 0
        self.registrations: list[types.Registration] = []
        self._changed = asyncio.Event()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: types.PublishDiagnosticsParams) -> None:
            self.published.append(params)
            self.diagnostics[params.uri] = params.diagnostics

        @self.feature(types.WORKSPACE_APPLY_EDIT)
        def _(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            if self.refuse_edits:
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the user said no")
            self.apply(params.edit)
            self.applied.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

        @self.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def _(*_: Any) -> None:
            self.lens_refreshes += 1

        @self.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
        def _(*_: Any) -> None:
            self.hint_refreshes += 1

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def _(params: types.RegistrationParams) -> None:
            self.registrations += params.registrations

    # -- life

    async def start_io(self, cmd: str, *args: str, **kwargs: Any) -> None:
        await super().start_io(cmd, *args, **kwargs)
        assert self._stderr_forwarder is not None
        self._stderr_forwarder.cancel()
        self._stderr_forwarder = None
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    async def _read_stderr(self) -> None:
        assert self._server is not None and self._server.stderr is not None
        while chunk := await self._server.stderr.read(65536):
            self.stderr += chunk

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    async def finish(self, busy: bool = False) -> None:
        """shutdown, exit, and the proof that nothing is left: status 0, children, messages, handles, no wait in the loop, sanitizers.
        `busy`: something is still being done, and is to be dropped."""
        assert self._server is not None
        self.ended = True
        try:
            if self._server.returncode is None:
                if not busy:
                    await self.sync()  # predictions may be under way
                status = await self.request("gg/status")
                seen = len(self.published) + len(self.messages)
                await asyncio.wait_for(self.shutdown_async(None), DEADLINE)
                assert not self.protocol._request_futures, "requests that were never answered"
                assert len(self.published) + len(self.messages) == seen, "messages after shutdown was answered"
                self.exit(None)
                assert await asyncio.wait_for(self._server.wait(), 10) == 0
                assert_status(status, busy)
        finally:
            if self._server.returncode is None:
                self._server.kill()
            await asyncio.wait_for(self._stderr_reader, 10)
            await self.stop()
            assert_clean_end(self.mark, bytes(self.stderr))
        assert self.error is None, self.error
        assert not self.unread, self.unread
        loud = [m.message for m in self.messages if m.type in (types.MessageType.Error, types.MessageType.Warning)]
        assert not loud, f"messages to the user that the test did not expect: {loud}"

    # -- waiting

    def on_message(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if (
            method is not None
            and method not in self.protocol.fm.features
            and method not in self.protocol.fm.builtin_features
        ):
            self.unread.append(f"a message nobody handles: {method}")
        self._changed.set()

    async def until(self, what: str, predicate: Callable[[], Any], seconds: float = DEADLINE) -> Any:
        """Waits until the predicate is truthy, which can only change when a message arrives."""
        end = time.monotonic() + seconds
        while not (value := predicate()):
            self._changed.clear()
            assert self._server is not None and self._server.returncode is None, f"the server ended; waited for {what}"
            try:
                await asyncio.wait_for(self._changed.wait(), end - time.monotonic())
            except TimeoutError:
                raise AssertionError(
                    f"waited {seconds} s for {what}; published: {self.published[-3:]}; messages: {self.messages}"
                ) from None
        return value

    async def request(self, method: str, params: Any = None, seconds: float = DEADLINE) -> Any:
        return await asyncio.wait_for(self.protocol.send_request_async(method, params), seconds)

    async def sync(self) -> None:
        """Returns when the server has done everything it was asked for before, captures included."""
        await self.request("gg/sync")

    def take_messages(self) -> list[types.ShowMessageParams]:
        """What was shown to the user since the last call."""
        messages, self.messages = self.messages, []
        return messages

    # -- documents, as an editor has them

    def uri(self, name: str) -> str:
        return (self.workspace / name).as_uri()

    def write(self, name: str, text: str) -> str:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path.as_uri()

    def open(self, name: str, text: str, on_disk: str | None = None) -> str:
        """Writes the file (unless it holds something else on disk) and opens it."""
        uri = self.write(name, text if on_disk is None else on_disk)
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def edit(self, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> int:
        """Sends changes and makes them here too; the new version."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self.texts[uri] = splice(self.texts[uri], change.range, change.text, self.encoding)
            else:
                self.texts[uri] = change.text
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=identifier, content_changes=list(changes))
        )
        return self.versions[uri]

    def replace(self, uri: str, old: str, new: str) -> int:
        """An incremental change of the first occurrence of `old`."""
        change = types.TextDocumentContentChangePartial(range=self.find(uri, old), text=new)
        return self.edit(uri, [change])

    def find(self, uri: str, part: str) -> types.Range:
        text = self.texts[uri]
        start = text.index(part)
        return types.Range(position(text, start, self.encoding), position(text, start + len(part), self.encoding))

    def position(self, uri: str, at: int) -> types.Position:
        return position(self.texts[uri], at, self.encoding)

    def save(self, uri: str) -> None:
        Path(uri.removeprefix("file://")).write_bytes(self.texts[uri].encode())
        self.text_document_did_save(
            types.DidSaveTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
        )

    def close(self, uri: str) -> None:
        del self.texts[uri], self.versions[uri]
        self.text_document_did_close(
            types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
        )

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """What an editor does with an edit: refuses one for another version, applies it from the end, sends didChange."""
        for uri, version, edits in edits_of(edit):
            assert version is None or version == self.versions[uri], (
                f"an edit for version {version} of {self.versions[uri]}"
            )
            ordered = sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True)
            self.edit(uri, [types.TextDocumentContentChangePartial(range=e.range, text=e.new_text) for e in ordered])

    # -- what the tests ask for again and again

    async def saved(self, uri: str) -> Sequence[types.Diagnostic]:
        """Saves and returns the diagnostics that the capture led to."""
        before = len(self.published)
        self.save(uri)
        await self.sync()
        await self.until("diagnostics after a save", lambda: any(p.uri == uri for p in self.published[before:]))
        return self.diagnostics[uri]

    async def actions(self, uri: str, where: types.Range, only: Sequence[str] | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext(
            diagnostics=[d for d in self.diagnostics.get(uri, []) if overlap(d.range, where)],
            only=only,  # type: ignore[arg-type]
        )
        document = types.TextDocumentIdentifier(uri=uri)
        params = types.CodeActionParams(text_document=document, range=where, context=context)
        found = await asyncio.wait_for(self.text_document_code_action_async(params), DEADLINE)
        assert all(isinstance(a, types.CodeAction) for a in found or [])
        return list(found or [])  # type: ignore[arg-type]

    async def repairs(self, uri: str, where: types.Range, only: Sequence[str] | None = None) -> list[types.CodeAction]:
        """The actions that mend: all but *Ignore … here*."""
        return [a for a in await self.actions(uri, where, only) if not a.title.startswith("Ignore ")]


BLOCKED_US = 1_000_000  # no work for the loop takes that long: something was waited for
longest_turns: list[tuple[int, str]] = []  # of each server's loop, in microseconds, and the test it served


def assert_status(status: Any, busy: bool = False) -> None:
    """The loop waited for nobody, and when everything was done nothing was left to do; the one pending request is this one.
    How long its turns are is told, not judged: that is the machine's doing, too."""
    values = plain(status)
    values.pop("methods")
    longest_turns.append((values["longest_turn_us"], os.environ.get("PYTEST_CURRENT_TEST", "")))
    assert values["longest_turn_us"] < BLOCKED_US, values
    if not busy:
        left = {key: values[key] for key in ("pending", "jobs", "captures", "verifications", "writings")}
        assert left == {"pending": 1, "jobs": 0, "captures": 0, "verifications": 0, "writings": 0}, values


def confirmed(diagnostics: Sequence[types.Diagnostic] | None) -> list[types.Diagnostic]:
    """Without what is only predicted from the text."""
    return [d for d in diagnostics or [] if "(predicted" not in d.message]


def plain(value: Any) -> Any:
    """pygls makes named tuples of what it has no type for."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


def capabilities(
    weak: bool = False,
    encodings: Sequence[str] | None = None,
    pull: bool = False,
    refresh: bool = True,
    lens: bool = False,
    hints: bool = False,
    watch: bool = False,
) -> types.ClientCapabilities:
    """Those of a capable editor, or of one that has neither resolve, progress nor Markdown; `pull`: it asks for diagnostics;
    `lens`: for code lenses, `hints`: for inlay hints, again when told to; `watch`: it says when files change."""
    general = types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind(e) for e in encodings] if encodings else None
    )
    if weak:
        return types.ClientCapabilities(
            general=general,
            workspace=types.WorkspaceClientCapabilities(apply_edit=True),
            text_document=types.TextDocumentClientCapabilities(
                publish_diagnostics=types.PublishDiagnosticsClientCapabilities(),
                hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText]),
                code_action=types.CodeActionClientCapabilities(
                    code_action_literal_support=types.ClientCodeActionLiteralOptions(
                        code_action_kind=types.ClientCodeActionKindOptions(value_set=[types.CodeActionKind.QuickFix])
                    )
                ),
            ),
        )
    return types.ClientCapabilities(
        general=general,
        window=types.WindowClientCapabilities(work_done_progress=True),
        workspace=types.WorkspaceClientCapabilities(
            apply_edit=True,
            configuration=True,
            workspace_folders=True,
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
            if watch
            else None,
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=refresh) if pull else None,
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True) if lens else None,
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True) if hints else None,
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=True, change_annotation_support=types.ChangeAnnotationsSupportOptions()
            ),
        ),
        text_document=types.TextDocumentClientCapabilities(
            synchronization=types.TextDocumentSyncClientCapabilities(did_save=True),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True,
                version_support=True,
                tag_support=types.ClientDiagnosticsTagOptions(value_set=[types.DiagnosticTag.Unnecessary]),
                code_description_support=True,
                data_support=True,
            ),
            diagnostic=types.DiagnosticClientCapabilities() if pull else None,
            code_lens=types.CodeLensClientCapabilities() if lens else None,
            inlay_hint=types.InlayHintClientCapabilities() if hints else None,
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText]),
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    code_action_kind=types.ClientCodeActionKindOptions(
                        value_set=[types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]
                    )
                ),
                is_preferred_support=True,
                disabled_support=True,
                data_support=True,
                resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"]),
            ),
        ),
    )


# ---- raw frames -----------------------------------------------------------------------------------------------------------


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@dataclasses.dataclass
class Raw:
    """A server spoken to in bytes, for what no well-behaved client sends.  Blocking; every wait has a deadline."""

    process: subprocess.Popen[bytes]
    mark: str
    received: bytes = b""
    queue: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    judge: conformance.Judge = dataclasses.field(default_factory=conformance.Judge)
    faults: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def start(cls, *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> Raw:
        mark = uuid.uuid4().hex
        command = [find_server(), "--stdio", "--test", *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(mark, env), cwd=cwd, bufsize=0
        )
        return cls(process, mark)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send_body(self, body: bytes) -> None:
        self.send_bytes(framed(body))

    def send(self, **message: Any) -> None:
        if "method" in message and isinstance(message.get("id"), int | str):
            self.judge.sent(message["id"], message["method"], message.get("params"))
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read(self, seconds: float = 30) -> dict[str, Any]:
        """The next message of the server."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while True:
            head, separator, rest = self.received.partition(b"\r\n\r\n")
            if separator:
                length = int(re.fullmatch(rb"(?i)content-length: *(\d+)(\r\n.*)?", head, re.S).group(1))  # type: ignore[union-attr]
                if len(rest) >= length:
                    self.received = rest[length:]
                    message = json.loads(rest[:length])
                    self.faults += self.judge.of(message)
                    return message
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no message within {seconds} s; have {self.received[:200]!r}"
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            assert chunk, f"the server closed its output; have {self.received[:200]!r}"
            self.received += chunk

    def reply(self, id: Any, seconds: float = 30) -> dict[str, Any]:
        """The reply to a request; other messages on the way are kept in `queue`."""
        for i, message in enumerate(self.queue):
            if message.get("id", ...) == id and "method" not in message:
                return self.queue.pop(i)
        while True:
            message = self.read(seconds)
            if message.get("id", ...) == id and "method" not in message:
                return message
            self.queue.append(message)

    def request(self, id: Any, method: str, params: Any = None, seconds: float = 30) -> dict[str, Any]:
        self.send(id=id, method=method, **({} if params is None else {"params": params}))
        return self.reply(id, seconds)

    def initialize(self, **params: Any) -> dict[str, Any]:
        reply = self.request(
            "init", "initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}, **params}
        )
        self.send(method="initialized", params={})
        return CONVERTER.structure(reply, types.InitializeResponse) and reply

    def wait(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)

    def finish(self) -> None:
        """Ends the server as an editor does, when it still runs."""
        if self.process.poll() is None and not self.process.stdin.closed:  # type: ignore[union-attr]
            self.request("quiet", "gg/sync")  # predictions may be under way
            status = self.request("status", "gg/status")
            assert self.request("bye", "shutdown")["result"] is None
            self.send(method="exit")
            assert self.wait() == 0
            assert_status(status["result"])
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        assert self.process.stderr is not None
        stderr = self.process.stderr.read()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()  # type: ignore[union-attr]
        self.process.wait(20)
        assert_clean_end(self.mark, stderr)
        assert not self.faults, self.faults
