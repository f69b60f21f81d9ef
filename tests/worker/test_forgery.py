"""Candidates that do not change their results but the verdict: code that has got past everything that looks at text, in a sandboxed job.

What such code says of its own runs is its own word (docs/sandbox.md); here are the ways to speak for the judge, or for the original.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from verifying import BRANCH, Case, F, verify

BEFORE = F + BRANCH.format(a="h + 1", b="h - 1")
WRONG = F + "    return h\n"
FINE = {
    "accepted": True, "glued": True, "outputs": "identical", "graphs_before": 2, "graphs_after": 1, "breaks_before": 1,
    "breaks_after": 0, "breaks_to_light": 0, "copies": False, "compared": [], "reasons": [], "entries": [],
}  # fmt: skip
HEAD = f"""
import io, json, os, pickle, struct, sys
FRAMES = [{{"op": "verdict", "verdict": json.loads({json.dumps(json.dumps(FINE))!r})}}, {{"op": "done", "status": "ok", "message": None}}]

def report():
    from graphglue_worker import wire
    for frame in FRAMES:
        wire.report(frame)

class Runs:
    def __reduce__(self):
        return (exec, ("import sys; sys.modules['graphglue_worker.wire'].report(" + repr(FRAMES[0]) + ")",))

def descriptors():
    return [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2]

def others():
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
"""
# Each runs while the file is imported, in the process that measures it; what is raised is left there.
WAYS = {
    "the worker's own function": "report()",
    "the module in C": """
import _graphglue_host as host
for frame in FRAMES:
    host.report(json.dumps(frame).encode(), 1000)
""",
    "a token that lies about, on any descriptor": """
frame = sys._getframe()
while frame and "token" not in frame.f_locals:
    frame = frame.f_back
token = frame.f_locals["token"]
for fd in descriptors():
    for body in map(json.dumps, FRAMES):
        try:
            os.write(fd, struct.pack(">I16s", len(body), token) + body.encode())
        except OSError:
            pass
""",
    "a result that runs code where it is read": """
for fd in descriptors():
    try:
        os.pwrite(fd, pickle.dumps(Runs()) + pickle.dumps(Runs()), 0)
    except OSError:
        continue
os._exit(0)
""",
    "a writer that writes such results": """
from graphglue_worker import plain
plain.Writer.dump = lambda self, value: None
pickle.Pickler.dump = lambda self, value: None
def dump(value, f, *more):
    f.write(pickle.dumps(Runs()))
sys.modules["graphglue_worker.streams"]._dump_each = dump
pickle.dump = dump
""",
    "the results of the others": """
for pid in others():
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        continue
    for fd in names:
        try:
            with open(f"/proc/{pid}/fd/{fd}", "r+b", buffering=0) as f:
                f.write(pickle.dumps(Runs()))
                found = True
        except OSError:
            pass
""",
    "the memory of the others": """
for pid in others():
    try:
        with open(f"/proc/{pid}/maps") as f:
            for line in f:
                if "rw-p" in line and "[heap]" in line:
                    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
                        start = int(line.split("-")[0], 16)
                        memory.seek(start)
                        memory.write(bytes(4096))
    except OSError:
        pass
""",
}


def forged(way: str) -> str:
    indented = "".join(f"    {line}\n" for line in WAYS[way].strip("\n").splitlines())
    return f"{HEAD}\ntry:\n{indented}except Exception as e:\n    print(repr(e))\n" + WRONG


@pytest.mark.parametrize("way", WAYS)
def test_a_verdict_is_the_judges(worker: Any, tmp_path: Path, way: str) -> None:
    answer = verify(worker, tmp_path, Case("", BEFORE, forged(way)), sandbox=True)
    assert not answer.get("accepted"), way
    reasons = " ".join(answer.get("reasons") or [answer.get("message") or ""])
    assert "elements differ" in reasons or "running the edited code failed" in reasons, answer


def test_without_a_forgery_the_same_file_is_judged(worker: Any, tmp_path: Path) -> None:
    """The ways above are what is refused or in vain, not the words around them."""
    right = HEAD + F + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n"
    verdict = verify(worker, tmp_path, Case("", BEFORE, right), sandbox=True)
    assert verdict["accepted"] and verdict["glued"], verdict["reasons"]


# ---- how results are read ------------------------------------------------------------------------------------------------------


RESULTS = """
import io, pickle
import torch
from graphglue_worker import observe, plain, snapshot, verify
kinds = {"Side": verify.Side}
def through(value):
    f = io.BytesIO()
    plain.Writer(f, kinds).dump(value)
    return plain.Reader(io.BytesIO(f.getvalue()), kinds).load()
shared = [1]
shared.append(snapshot.Node("list", shared, 0))
leaf = snapshot.take(torch.ones(2, 3, dtype=torch.bfloat16), snapshot.Run())
run = observe.Run("p", output=snapshot.Node("tuple", [("0", leaf), ("1", 1j), ("2", ...), ("3", b"x")]), held={"a": b"b"})
side = verify.Side({"name": "e"}, eager={"p": run}, tampered={"torch.relu"})
assert through(side) == side
again = through(shared)
assert again[1].parts is again
refused = 0
for bad in (eval, torch.relu, observe.Run, Exception("x"), torch.ones(1), object):
    f = io.BytesIO()
    pickle.Pickler(f).dump(bad)
    try:
        plain.Reader(io.BytesIO(f.getvalue()), kinds).load()
    except (plain.Unreadable, pickle.UnpicklingError):
        refused += 1
class Names(pickle.Pickler):
    def persistent_id(self, obj):
        return obj if isinstance(obj, tuple) else None
for bad in (("Run",), ("torch", "relu"), ("torch", "nn.Module"), ("Unknown", 1), (1,), (), ("complex", "a", 1)):
    f = io.BytesIO()
    Names(f).dump(bad)
    try:
        plain.Reader(io.BytesIO(f.getvalue()), kinds).load()
    except (plain.Unreadable, pickle.UnpicklingError):
        refused += 1
print(json.dumps(refused))
"""


def test_what_is_read_is_values() -> None:
    from test_streams import asked

    assert asked(RESULTS) == 13
