"""A conversation that goes through the whole server, with a worker of few words, under faults that tests/faults/faults.c makes.

    python tests/e2e/injected.py [--every 1]        every allocation, one after the other: minutes

What the server promises (docs/adr/0002): out of memory it says so and aborts, and what it has written is whole; where it can do without, all
goes on as ever.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import support

DEADLINE = 60
OUT_OF_MEMORY = "graphglue: out of memory\n"
PROGRAM = """import torch


@torch.compile
def f(x):
    print(x)
    if x.sum() > 0:
        x = x + 1
    return x


def graphglue_inputs():
    yield "f", f, (torch.ones(3),), {}
"""
WORKER = """
    import json, os, struct, sys
    def say(op, **values):
        body = json.dumps({"op": op, **values}).encode()
        os.write(3, struct.pack(">I", len(body)) + body)
    def exactly(n):
        data = b""
        while len(data) < n:
            chunk = os.read(3, n - len(data))
            if not chunk:
                sys.exit(0)
            data += chunk
        return data
    def entry(file, broken):
        frame = {"file": file, "function": "f", "line": 6, "end_line": 6, "col": 4, "end_col": 12, "origin": "workspace"}
        facts = {"x": {"kind": "tensor", "dtype": "torch.float32", "shape": [3], "requires_grad": False, "device": "cpu"}}
        record = {"id": "GB0059", "type": "Failed to trace builtin operator", "reason": "print", "context": "", "explanation": "",
                  "hints": [], "kind": "split", "in_loop": False, "aggravations": [], "eager": None, "stack": [frame], "facts": facts}
        return {"name": "f", "inputs": "graphglue_inputs", "status": "breaks" if broken else "captured", "message": None,
                "graphs": 1 + broken, "ops": [1], "class": None, "line": 4, "file": file, "breaks": [record] if broken else [],
                "recompiles": [], "cuda": None}
    say("hello", protocol=1, version="3.11.7", interpreter=sys.executable, mode="embedded", pid=os.getpid())
    say("ready", torch="2.13.0", torch_error=None, registry=os.path.join(os.path.dirname(__file__), "registry.json"))
    while True:
        request = json.loads(exactly(struct.unpack(">I", exactly(4))[0]))
        job, op, file = request.get("id"), request["op"], request.get("file")
        if op in ("cancel", "shutdown"):
            continue
        say("started", id=job, pid=1)
        if op == "capture":
            say("break", id=job, entry="f", **{"break": entry(file, True)["breaks"][0]})
            say("entry", id=job, entry=entry(file, True))
        if op == "verify":
            both = {"name": "f", "before": entry(file, True), "after": entry(file, False), "glued": True}
            say("verdict", id=job, verdict={"accepted": True, "glued": True, "outputs": "identical", "graphs_before": 2,
                "graphs_after": 1, "breaks_before": 1, "breaks_after": 0, "compared": ["outputs"], "reasons": [], "entries": [both]})
        say("done", id=job, status="ok", message=None, output="", reads=[{"file": file, "origin": "workspace"}])
"""


def faults_library() -> str:
    """Built beside the server."""
    return str(Path(support.find_server()).parents[1] / "faults" / "faults.so")


def faulty(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """The environment of a server with these faults, whose worker lies in the folder."""
    worker = folder / "worker.py"
    if not worker.exists():
        worker.write_text(f"#!{sys.executable} -SE\n{textwrap.dedent(WORKER)}")
        worker.chmod(0o755)
        (folder / "registry.json").write_text("{}")
        (folder / "graphglue_worker").mkdir()  # what a worker is made of is part of a stored result's name
    return {"LD_PRELOAD": faults_library(), "GRAPHGLUE_WORKER": str(worker), **env}


@dataclasses.dataclass
class End:
    """How a conversation ended."""

    status: int
    stderr: str
    replies: dict[Any, Any]
    messages: list[dict[str, Any]]
    asked: list[Any]
    rest: bytes  # behind the last whole message
    stored: int  # results that are kept for the next time
    folder: Path  # it was about a file in there


class Gone(Exception):
    """The server is no more."""


class Conversation:
    """One server and all that is asked of it."""

    def __init__(self, folder: Path, env: dict[str, str], messages: int | None = None) -> None:
        self.folder = folder
        self.file = folder / "model.py"
        self.file.write_text(PROGRAM)
        self.left = messages
        self.raw = support.Raw.start(env=faulty(folder.parent, env), cwd=folder)
        self.asked: list[Any] = []
        self.seen: list[dict[str, Any]] = []

    def send(self, **message: Any) -> None:
        if self.left == 0:
            raise Gone
        self.left = None if self.left is None else self.left - 1
        try:
            self.raw.send(**message)
        except BrokenPipeError as gone:
            raise Gone from gone

    def ask(self, method: str, params: Any = None) -> Any:
        """The reply; the server's own questions are answered on the way."""
        number = len(self.asked)
        self.asked.append(number)
        self.send(id=number, method=method, **({} if params is None else {"params": params}))
        while True:
            try:
                message = self.raw.read(DEADLINE)
            except AssertionError as gone:
                if "closed its output" in str(gone):
                    raise Gone from gone
                raise
            self.seen.append(message)
            if "method" not in message and message.get("id") == number:
                return message.get("result")
            if "method" in message and "id" in message:
                self.send(id=message["id"], result={"applied": True} if "applyEdit" in message["method"] else None)

    def run(self) -> None:
        """What an editor does with a file; see the class's name."""
        uri = self.file.as_uri()
        document = {"textDocument": {"uri": uri}}
        here = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 12}}
        client = support.CONVERTER.unstructure(support.capabilities(pull=True))
        options = {"trusted": True, "python": sys.executable}
        folder = self.folder.as_uri()
        self.ask(
            "initialize",
            {"processId": None, "rootUri": folder, "capabilities": client, "initializationOptions": options},
        )
        self.send(method="initialized", params={})
        item = {"uri": uri, "languageId": "python", "version": 1, "text": PROGRAM}
        self.send(method="textDocument/didOpen", params={"textDocument": item})
        change = [
            {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# é\n"}
        ]
        self.send(
            method="textDocument/didChange",
            params={"textDocument": {"uri": uri, "version": 2}, "contentChanges": change},
        )
        change[0] = {"text": PROGRAM}
        self.send(
            method="textDocument/didChange",
            params={"textDocument": {"uri": uri, "version": 3}, "contentChanges": change},
        )
        self.ask("gg/sync")
        self.ask("textDocument/hover", {**document, "position": here["start"]})
        self.send(method="textDocument/didSave", params=document)
        self.ask("gg/sync")
        self.ask("textDocument/hover", {**document, "position": here["start"]})
        self.ask("textDocument/diagnostic", document)
        self.ask("textDocument/codeLens", document)
        self.ask("workspace/diagnostic", {"previousResultIds": []})
        actions = self.ask("textDocument/codeAction", {**document, "range": here, "context": {"diagnostics": []}}) or []
        for action in actions[:1]:
            self.ask("codeAction/resolve", action)
        self.ask("workspace/executeCommand", {"command": "graphglue.glueAll", "arguments": [uri]})
        self.ask("gg/text", {"uri": uri})
        self.ask("shutdown")
        self.send(method="exit")

    def kill_client(self) -> int:
        """What is seen of a client that is killed: nobody reads, nobody writes.  The server's status; nothing is left of it."""
        process = self.raw.process
        process.stdout.close()
        process.stdin.close()
        status = process.wait(DEADLINE)
        support.assert_clean_end(self.raw.mark, process.stderr.read())
        process.stderr.close()
        return status

    def end(self) -> End:
        """The server's end, proved: nothing is left of it, and it ends in time."""
        process = self.raw.process
        try:
            out, errors = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
        support.assert_clean_end(self.raw.mark, errors)
        rest = self.raw.received + out
        while b"\r\n\r\n" in rest:
            head, _, body = rest.partition(b"\r\n\r\n")
            length = int(head.split(b":")[1])
            if len(body) < length:
                break
            self.seen.append(json.loads(body[:length]))
            rest = body[length:]
        replies: dict[Any, Any] = {}
        for message in self.seen:
            if "method" not in message:
                assert message["id"] not in replies, f"answered twice: {message}"
                replies[message["id"]] = message
        stored = 0
        for record in self.folder.glob(".graphglue/cache/captures/*.json"):
            json.loads(record.read_text())  # a part of one is worse than none
            stored += 1
        return End(
            process.returncode,
            errors.decode(errors="replace"),
            replies,
            self.seen,
            self.asked,
            rest,
            stored,
            self.folder,
        )


def converse(folder: Path, **env: str) -> End:
    """One conversation in a folder of its own; the user's file is as it was in the end."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        talk = Conversation(Path(own), env)
        try:
            talk.run()
        except Gone:
            pass
        end = talk.end()
        assert talk.file.read_text() == PROGRAM, "the user's file was changed"
        names = {path.name for path in Path(own).iterdir()}
        assert names <= {"model.py", ".graphglue"}, names
        ignore = Path(own, ".graphglue/.gitignore")
        assert end.status != 0 or not ignore.exists() or ignore.read_text() == "*\n"
        return end


def judge(end: End) -> str:
    """`went on` or `aborted`; anything else is an AssertionError."""
    if end.status == 0:
        assert set(end.replies) >= set(end.asked), f"not answered: {set(end.asked) - set(end.replies)}\n{end.stderr}"
        assert not end.rest
        return "went on"
    assert end.status == -signal.SIGABRT, f"status {end.status}: {end.stderr}"
    assert end.stderr.endswith(OUT_OF_MEMORY), f"it aborted with other words: {end.stderr!r}"
    return "aborted"


def allocations(folder: Path) -> int:
    """How many an undisturbed conversation makes."""
    count = folder / "count"
    assert judge(converse(folder, FAULT_COUNT=str(count))) == "went on"
    return int(count.read_text())


def main() -> None:
    """Fails allocation after allocation, and tells of those that did not end as promised."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="only each so manyth allocation, from a random one on")
    parser.add_argument("--on", action="store_true", help="and all that come behind it")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ends: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        total = allocations(Path(folder))
        for n in range(1 + random.Random(args.seed).randrange(args.every), total + 1, args.every):
            try:
                how = judge(converse(Path(folder), FAULT_ALLOC=f"{n}{'+' if args.on else ''}"))
            except (AssertionError, subprocess.TimeoutExpired, ValueError) as wrong:
                how = "wrong"
                print(f"allocation {n}: {wrong}", file=sys.__stdout__, flush=True)
            ends[how] = ends.get(how, 0) + 1
    print(f"{total} allocations, of which failed one after the other: {ends}", file=sys.__stdout__)
    sys.exit("wrong" in ends)


if __name__ == "__main__":
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (each server's is echoed there)
    main()
