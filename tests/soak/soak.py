#!/usr/bin/env python3
"""A week of editing, compressed: one server, a hundred files, and everything that goes wrong around it, drawn by a seed.

    python tests/soak/soak.py [--messages 200000] [--files 100] [--seed 1] [--bin build/release/bin] [--python PYTHON]

The client edits (typing, pasting, whole texts, half-typed brackets), asks for what editors ask for, takes requests back, saves, closes
and opens again.  Meanwhile workers are killed and stopped, the disk is full now and then (when this may mount a small tmpfs: as root), and
the language model's endpoint resets, drips, hangs and lies (tests/model_server.py).  Every `--check` messages everything is let come to
rest, and must be as it ought to be:

- each request was answered once, each progress that began has ended;
- the server's text of each open file is the client's, byte for byte;
- no job, capture, verification or handle is left over, and no file descriptor more than at the first rest;
- the memory of the last third of the rests is at most a tenth more than that of the middle third.

Prints a line for each rest, the counts in the end, and `nothing lost`; anything else ends with status 1 and what was lost.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import queue
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
from lsp_client import CAPS, bodies, framed, generate, tree  # noqa: E402
from model_server import ModelServer, drawn  # noqa: E402

REST_S = 600  # everything that was begun ends within this: a capture's deadline, a worker's start, the model's time
END_S = 10
DISK_BYTES = 24 << 20
PIECES = [
    "x",
    "(",
    ")",
    '"""',
    "\n",
    "    ",
    "print(x)\n",
    "é",
    "😀",
    "if x.sum() > 0:\n        x = -x\n",
    "#",
    "\\",
    "item()",
    "\r\n",
]
SMALL = """import torch
from torch import nn


class Net{n}(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        if x.sum() > {n}:
            x = x * 2
        ordered = torch.tensor(sorted(x.flatten().tolist()))  # no rule mends that: a model is asked
        return x + ordered[-1]


def graphglue_inputs():
    yield "net", Net{n}(), (torch.ones(2, 4),), {{}}
"""


NOTHING = """

def graphglue_inputs():
    return []
"""


class Lost(Exception):
    """What a person would have missed."""


class Client:
    """Everything that is sent, and what is still owed."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str], log: Path) -> None:
        self.stderr = log.open("wb")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, cwd=folder, env=env
        )
        self.next_id, self.sent = 0, collections.Counter[str]()
        self.owed: dict[int, str] = {}
        self.replies: dict[int, Any] = {}
        self.kept: set[int] = set()
        self.progress: dict[Any, str] = {}
        self.received = collections.Counter[str]()
        self.wrong: list[str] = []
        self.changed = threading.Condition()
        self.outbox: queue.Queue[bytes] = queue.Queue(1000)
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            while True:
                self.process.stdin.write(self.outbox.get())
                self.process.stdin.flush()

    def _read(self) -> None:
        for body in bodies(self.process.stdout):
            message = json.loads(body)
            with self.changed:
                self._take(message)
                self.changed.notify_all()
        with self.changed:
            self.wrong.append("the server closed its output")
            self.changed.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        self.received[method or ("error" if "error" in message else "result")] += 1
        if method and "id" in message:
            answer: Any = None
            if method == "workspace/configuration":
                answer = [None for _ in params["items"]]
            if method == "workspace/applyEdit":
                answer = {"applied": False}  # what it held of the files stays known to us
            if method == "window/workDoneProgress/create":
                self.progress[params["token"]] = "created"
            self._send({"id": message["id"], "result": answer})
        elif method == "$/progress":
            kind = params["value"].get("kind")
            if kind == "begin":
                self.progress[params["token"]] = params["value"]["title"]
            if kind == "end" and self.progress.pop(params["token"], None) is None:
                self.wrong.append(f"a progress ended twice: {params['token']}")
        elif method is None:
            of = self.owed.pop(message["id"], None)
            if of is None:
                self.wrong.append(f"an answer that nobody waits for: {str(message)[:200]}")
            if message["id"] in self.kept:
                self.replies[message["id"]] = message

    def _send(self, message: dict[str, Any]) -> None:
        self.outbox.put(framed(message))

    def notify(self, method: str, params: Any) -> None:
        self.sent[method] += 1
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any, keep: bool = False) -> int:
        with self.changed:
            self.next_id += 1
            self.owed[self.next_id] = method
            if keep:
                self.kept.add(self.next_id)
        self.sent[method] += 1
        self._send({"id": self.next_id, "method": method, "params": params})
        return self.next_id

    def ask(self, method: str, params: Any = None, seconds: float = REST_S) -> Any:
        number = self.request(method, params, keep=True)
        self.wait(lambda: number in self.replies or self.wrong, seconds, f"an answer to {method}")
        if self.wrong:
            raise Lost(self.wrong[0])
        reply = self.replies.pop(number)
        self.kept.discard(number)
        if "error" in reply:
            raise Lost(f"{method}: {reply['error']}")
        return reply["result"]

    def wait(self, ready: Any, seconds: float, what: str) -> None:
        with self.changed:
            if not self.changed.wait_for(ready, seconds):
                raise Lost(
                    f"waited {seconds} s for {what}; owed: {list(self.owed.values())[:5]}; progress: {list(self.progress.values())[:5]}"
                )


class Editor:
    """A hundred buffers, and a person who is in a hurry."""

    def __init__(self, client: Client, folder: Path, count: int, dice: random.Random) -> None:
        self.client, self.folder, self.dice = client, folder, dice
        self.texts: dict[str, str] = {}
        self.versions = collections.Counter[str]()
        self.names = [f"m{i:03}.py" for i in range(count)]
        self.small = self.names[::3]  # with something to capture
        self.waiting: set[str] = set()  # what an edit was asked for: a person waits for it, until the next rest
        self.first = {
            n: generate("python", dice.choice([60, 200, 600]), i) + NOTHING if i % 3 else SMALL.format(n=i)
            for i, n in enumerate(self.names)
        }
        for name in self.names:
            (folder / name).write_text(self.first[name])
            self.open(name)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str) -> dict[str, Any]:
        return {"uri": self.uri(name)}

    def open(self, name: str) -> None:
        self.texts[name] = self.first[name]
        self.versions[name] += 1
        item = {**self.document(name), "languageId": "python", "version": self.versions[name], "text": self.texts[name]}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    def close(self, name: str) -> None:
        del self.texts[name]
        self.client.notify("textDocument/didClose", {"textDocument": self.document(name)})

    def position(self, text: str, at: int) -> dict[str, int]:
        """In the units that were agreed on, UTF-8; `at` is between two characters and not inside a \\r\\n."""
        head = text[:at].replace("\r\n", "\n").replace("\r", "\n")
        return {"line": head.count("\n"), "character": len(head.rpartition("\n")[2].encode())}

    def edit(self, name: str) -> None:
        if name in self.waiting:
            return
        dice, changes = self.dice, []
        text = self.texts[name]
        if len(text) > 60_000 or dice.random() < 0.01:  # a formatter, or another branch
            text = self.first[name]
            changes.append({"text": text})
        for _ in range(dice.choice([1, 1, 1, 2, 4])):
            start = dice.randrange(len(text) + 1)
            end = min(len(text), start + dice.choice([0, 0, 0, 1, 3, 40]))
            while text[start - 1 : start + 1] == "\r\n":
                start -= 1
            while text[end - 1 : end + 1] == "\r\n":
                end += 1
            new = dice.choice(PIECES)
            if text[start - 1 : start] == "\r" and new[:1] == "\n" or new[-1:] == "\r" and text[end : end + 1] == "\n":
                new = "x"
            if text[start - 1 : start] == "\r" and new == "" and text[end : end + 1] == "\n":
                continue
            changes.append(
                {"range": {"start": self.position(text, start), "end": self.position(text, end)}, "text": new}
            )
            text = text[:start] + new + text[end:]
        self.texts[name] = text
        self.versions[name] += 1
        self.client.notify(
            "textDocument/didChange",
            {"textDocument": {**self.document(name), "version": self.versions[name]}, "contentChanges": changes},
        )

    def restore(self, name: str) -> None:
        """What can be captured, not what a draw left of it."""
        self.texts[name] = self.first[name]
        self.versions[name] += 1
        change = {"text": self.texts[name]}
        self.client.notify(
            "textDocument/didChange",
            {"textDocument": {**self.document(name), "version": self.versions[name]}, "contentChanges": [change]},
        )

    def save(self, name: str) -> None:
        if name not in self.texts:
            self.open(name)
        if self.dice.random() < 0.7 and name not in self.waiting:
            self.restore(name)
        with contextlib.suppress(OSError):  # the disk may be full: editors keep the buffer
            (self.folder / name).write_text(self.texts[name], newline="")
        self.client.notify("textDocument/didSave", {"textDocument": self.document(name)})

    def somewhere(self, name: str) -> dict[str, Any]:
        return self.position(self.texts[name], self.dice.randrange(len(self.texts[name]) + 1))

    def look(self, name: str) -> None:
        at, document = self.somewhere(name), self.document(name)
        number = self.client.request(
            *self.dice.choice(
                [
                    ("textDocument/hover", {"textDocument": document, "position": at}),
                    ("textDocument/diagnostic", {"textDocument": document}),
                    ("textDocument/codeLens", {"textDocument": document}),
                    (
                        "textDocument/inlayHint",
                        {"textDocument": document, "range": {"start": {"line": 0, "character": 0}, "end": at}},
                    ),
                    (
                        "textDocument/codeAction",
                        {"textDocument": document, "range": {"start": at, "end": at}, "context": {"diagnostics": []}},
                    ),
                    ("workspace/executeCommand", {"command": "graphglue.status", "arguments": []}),
                ]
            )
        )
        if self.dice.random() < 0.1:
            self.client.notify("$/cancelRequest", {"id": number})

    def command(self, name: str) -> None:
        uri = self.uri(name)
        if name in self.waiting:
            return
        if name not in self.texts:
            self.open(name)
        if self.dice.random() < 0.7:
            self.restore(name)
            self.waiting.add(name)
        command, argument = self.dice.choice(
            [
                ("graphglue.glueAll", uri),
                ("graphglue.capture", uri),
                ("graphglue.showGraph", uri),
                ("graphglue.writeInputs", uri),
                *[("graphglue.glueWithModel", {"uri": uri, "enclosing": f"Net{int(name[1:4])}"})] * 3,
                ("graphglue.nothing", uri),
            ]
        )
        number = self.client.request("workspace/executeCommand", {"command": command, "arguments": [argument]})
        if self.dice.random() < 0.3:
            self.client.notify("$/cancelRequest", {"id": number})


class World:
    """What goes wrong around a server."""

    def __init__(self, client: Client, folder: Path, dice: random.Random, small_disk: bool) -> None:
        self.client, self.folder, self.dice, self.small_disk = client, folder, dice, small_disk
        self.done = collections.Counter[str]()
        self.filler = folder / "filler"

    def workers(self) -> list[int]:
        return tree(self.client.process.pid)[1:]

    def hurt_a_worker(self) -> None:
        workers = self.workers()
        if workers:
            how = self.dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP])
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.dice.choice(workers), how)
                self.done[how.name] += 1

    def wake(self) -> None:
        for worker in self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)

    def change_disk(self) -> None:
        if not self.small_disk:
            return
        if self.filler.exists():
            self.filler.unlink()
            return
        with contextlib.suppress(OSError), self.filler.open("wb") as out:
            while True:
                out.write(bytes(1 << 16))
                out.flush()
        self.done["disk filled"] += 1

    def settle(self) -> None:
        self.filler.unlink(missing_ok=True)
        self.wake()


def memory_mb(pid: int) -> float:
    """Resident, of the server itself: what its workers take is Python's and torch's."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise Lost("no Rss in smaps_rollup")


def rest(client: Client, editor: Editor, world: World) -> tuple[float, int, int]:
    """Lets everything come to rest and compares; memory in MB, descriptors, handles."""
    world.settle()
    client.ask("gg/sync")
    editor.waiting.clear()
    client.wait(lambda: not client.owed and not client.progress or client.wrong, REST_S, "answers and ends of progress")
    if client.wrong:
        raise Lost(client.wrong[0])
    for name, text in editor.texts.items():
        held = client.ask("gg/text", {"uri": editor.uri(name)})
        if held != {"text": text, "version": editor.versions[name]}:
            raise Lost(f"{name}: the server holds another text, version {held['version']} of {editor.versions[name]}")
    status = client.ask("gg/status")
    left = {key: status[key] for key in ("jobs", "captures", "verifications", "writings") if status[key]}
    world.done["stalls of the loop over 20 ms"] = status["stalls"]
    world.done["longest turn, ms"] = status["longest_turn_us"] // 1000
    if left or status["pending"] != 1 or status["documents"] != len(editor.texts):
        raise Lost(
            f"left over: {left}, {status['pending']} calls, {status['documents']} documents of {len(editor.texts)}"
        )
    pid = client.process.pid
    return memory_mb(pid), len(os.listdir(f"/proc/{pid}/fd")), status["handles"]


def drive(options: argparse.Namespace, client: Client, editor: Editor, world: World) -> list[tuple[float, int, int]]:
    """Until the messages are sent; what each rest measured."""
    dice, rests = editor.dice, []
    next_rest, begun = options.check, time.monotonic()
    while (sent := sum(client.sent.values())) < options.messages:
        name = dice.choice(editor.names)
        what = dice.random()
        if name not in editor.texts:
            editor.open(name)
        elif what < 0.70:
            editor.edit(name)
        elif what < 0.985:
            editor.look(name)
        elif what < 0.9925:
            if name not in editor.waiting:
                editor.close(name)
        elif what < 0.996:
            editor.save(name if dice.random() < 0.05 else dice.choice(editor.small))
        elif what < 0.9975:
            editor.command(dice.choice(editor.small))
        elif what < 0.9985:
            watched = {"uri": editor.uri(name), "type": dice.choice([1, 2, 3])}
            client.notify("workspace/didChangeWatchedFiles", {"changes": [watched]})
        elif what < 0.9990:
            client.notify("workspace/didChangeConfiguration", {"settings": None})
        elif what < 0.9996:
            world.hurt_a_worker()
        elif what < 0.9998:
            world.change_disk()
        else:
            world.wake()
        if sent >= next_rest:
            rests.append(rest(client, editor, world))
            next_rest = sent + options.check
            mb, descriptors, handles = rests[-1]
            minutes = (time.monotonic() - begun) / 60
            print(
                f"{sent:7} messages, {minutes:5.1f} min: {mb:.1f} MB, {descriptors} descriptors, {handles} handles",
                flush=True,
            )
    return [*rests, rest(client, editor, world)]


def judge(rests: list[tuple[float, int, int]]) -> None:
    third = len(rests) // 3
    if third:
        middle = statistics.median(mb for mb, _, _ in rests[third : 2 * third])
        last = statistics.median(mb for mb, _, _ in rests[2 * third :])
        if last > middle * 1.1 + 1:
            raise Lost(f"memory grows: {middle:.1f} MB in the middle, {last:.1f} in the end")
    if rests[-1][1] > rests[0][1] + 3:
        raise Lost(f"descriptors: {rests[0][1]} at the first rest, {rests[-1][1]} at the last")


def run(options: argparse.Namespace, folder: Path, small_disk: bool, log: Path) -> None:
    dice = random.Random(options.seed)
    with ModelServer(drawn(options.seed, "no answer")) as model:
        env = os.environ | {"GRAPHGLUE_MODEL_KEY": "soak"}
        client = Client([str(Path(options.bin).resolve() / "graphglue-lsp"), "--stdio", "--test"], folder, env, log)
        settings: dict[str, Any] = {"python": options.python, "capture": {"timeout": 20}}
        settings["model"] = {"url": model.url, "name": "soak", "timeout": 5, "idleTimeout": 3, "connectTimeout": 2}
        caps = json.loads(json.dumps(CAPS)) | {"general": {"positionEncodings": ["utf-8"]}}
        caps["textDocument"]["diagnostic"] = {}
        client.ask(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": "soak"}],
                "capabilities": caps,
                "initializationOptions": {"trusted": True, **settings},
            },
        )
        client.notify("initialized", {})
        editor = Editor(client, folder, options.files, dice)
        world = World(client, folder, dice, small_disk)
        try:
            rests = drive(options, client, editor, world)
            judge(rests)
            client.ask("shutdown")
            client.notify("exit", None)
            left = tree(client.process.pid)[1:]
            if (code := client.process.wait(30)) != 0:
                raise Lost(f"it exited with {code}")
            late = time.monotonic() + END_S
            while (alive := [p for p in left if os.path.exists(f"/proc/{p}")]) and time.monotonic() < late:
                time.sleep(0.1)  # what was killed gives its memory back first, and is reaped by init
            if alive:
                raise Lost(f"it left processes behind: {alive}")
        finally:
            client.process.kill()
            print(
                json.dumps(
                    {"sent": dict(client.sent), "received": dict(client.received), "done": dict(world.done)}, indent=1
                )
            )
            print(f"asked of the model: {len(model.requests)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", type=int, default=10_000, help="messages between two rests")
    parser.add_argument("--bin", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "release" / "bin"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="soak-"))
    folder, log = scratch / "workspace", scratch / "stderr"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "soak", str(folder)]
    small_disk = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    print(
        f"seed {options.seed}, {options.files} files in {folder}, the disk {'fills' if small_disk else 'is never full'}",
        flush=True,
    )
    try:
        run(options, folder, small_disk, log)
    except Lost as lost:
        print(f"LOST: {lost}\nits stderr: {log}\n{log.read_text(errors='replace')[-2000:]}")
        return 1
    finally:
        if small_disk:
            subprocess.run(["umount", "-l", str(folder)], check=False)
    print("nothing lost")
    shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
