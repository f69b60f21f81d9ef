"""What a forked child does: one capture, one verification, the timing of an edit, the writing of inputs, a look at graphs or at installed
packages."""

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from graphglue_worker import (
    bench,
    capture,
    forks,
    graphs,
    inputs,
    overlay,
    packages,
    positions,
    reads,
    recorded,
    twin,
    users_compile,
    verify,
    wire,
    write_inputs,
)
from graphglue_worker.twin import Twin

MAX_NAME = 200


def begin(request: dict[str, Any], workspaces: list[str]) -> str:
    """What comes before any user code.  Returns the file's absolute path."""
    file = os.path.abspath(request["file"])
    positions.set_roots([*workspaces, os.path.dirname(file)])
    positions.set_packages([] if request["op"] == "packages" else request.get("packages") or [])
    sys.argv[:] = [file]  # what user code that reads its arguments at import finds
    recorded.install(request.get("recorded"))
    return file


def begin_capture(request: dict[str, Any]) -> None:
    """What comes before the file of a capture is imported."""
    users_compile.replace()
    overlay.install({f["file"]: f["text"] for f in request.get("overlay") or []})
    reads.watch()


def run(
    request: dict[str, Any], workspaces: list[str], plans: dict[str, Any] | None = None, ahead: Twin | None = None
) -> int:
    """Run the job and report its frames, `done` last.  Returns the child's exit status.

    `plans`: inputs deduced for this file before, by entry name; None where they could not be; None as a whole when nothing was tried.
    `ahead`: a process that may import the file too.
    """
    err = sys.stderr  # user code may replace it
    status, message, place, repeats = "ok", None, None, False
    file = begin(request, workspaces)
    if ahead and request["op"] != "capture":
        ahead.dismiss()
    try:
        if request["op"] == "capture":
            repeats = _capture(request, file, plans, ahead)
        elif request["op"] == "write_inputs":
            write_inputs.run({**request, "file": file}, plans)
        elif request["op"] == "graphs":
            graphs.run(request, file, plans)
        elif request["op"] == "bench":
            bench.run(request, wire.report)
        elif request["op"] == "packages":
            packages.run(request, wire.report)
        else:
            verify.run(request, workspaces, wire.report, plans)
    except wire.ChannelLost:
        return forks.EXIT_CHANNEL
    except inputs.ImportFailure as e:
        status, message, place = "import_error", str(e), e.place
    except MemoryError:
        status, message = "memory", "the job ran into its memory ceiling"
    except SystemExit as e:
        status, message = "crashed", f"your code called sys.exit({inputs.safe_repr(e.code)})"
    except BaseException as e:  # noqa: BLE001 - whatever user code raises must end as a frame
        status, message = "error", inputs._describe(e)
        with contextlib.suppress(Exception):
            traceback.print_exc(file=err)
    forks.flush()
    read = None
    with contextlib.suppress(Exception):  # user code may have replaced what this calls
        read = reads.collect() if status == "ok" and repeats else None
    try:
        wire.report({"op": "done", "status": status, "message": message, "place": place, "reads": read})
    except wire.TooLarge:
        wire.report({"op": "done", "status": status, "message": f"{message[:MAX_NAME]}… (cut)" if message else None})
    except wire.ChannelLost:
        return forks.EXIT_CHANNEL
    return 0


def _capture(request: dict[str, Any], file: str, plans: dict[str, Any] | None, ahead: Twin | None) -> bool:
    """Report all entries.  Returns whether the same files give the same again: not where a CUDA device was missing, which may come."""
    repeats = True
    begin_capture(request)
    wanted = request.get("entries")
    known = dict(plans or {})
    start = time.monotonic()
    with _watched(file, request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS):
        entries = inputs.load(file, bool(request.get("train")), known)
    if ahead and not twin.may_repeat(entries, time.monotonic() - start):
        ahead.dismiss()
        ahead = None
    for entry in entries:
        if wanted is None or entry.name in wanted:
            name = entry.name
            if entry.prepare is not None:
                entry.prepare()
                wire.report({"op": "plan", "name": name, "plan": known.get(name)})

            def on_break(record: dict[str, Any], name: str = name) -> None:
                with contextlib.suppress(wire.ChannelLost, wire.TooLarge):  # told by the entry, below
                    wire.report({"op": "break", "entry": name, "break": record})

            if ahead:
                ahead.order.update(names=[e.name for e in entries], name=name)
            found = capture.run(entry, on_break, request.get("deadline_ms"), ahead)
            if ahead:
                ahead.dismiss()  # its memory is that of the first entry now
                ahead = None
            if entry.make is not None:
                with contextlib.suppress(wire.TooLarge):  # told by the entry, below
                    wire.report({"op": "mode", "name": name, "mode": entry.grad})
            repeats = repeats and (found["cuda"] is None or found["cuda"]["device"] is not None)
            _report_entry(found)
    return repeats


@contextlib.contextmanager
def _watched(file: str, deadline_ms: int) -> Iterator[None]:
    """While the file is imported: at the deadline say where it stands, and end.  Code that does not come back to Python is ended by the zygote."""

    def over(_: int, frame: FrameType | None) -> None:
        own = []  # frames of the file, innermost first
        while frame is not None:
            if frame.f_code.co_filename == file:
                own.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        what = "graphglue_inputs()"  # it may run in a fork
        if own:
            what = "importing the file" if own[-1][0] == "<module>" else f"{own[-1][0]}()"
        message = f"{what} did not end within {deadline_ms / 1000:g} s, the deadline"
        place = {"line": own[0][1], "end_line": own[0][1], "col": None, "end_col": None} if own else None
        with contextlib.suppress(wire.ChannelLost):
            wire.report({"op": "done", "status": "timeout", "message": message, "place": place})
        os._exit(0)

    previous = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, deadline_ms / 1000)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _report_entry(entry: dict[str, Any]) -> None:
    try:
        wire.report({"op": "entry", "entry": entry})
    except wire.TooLarge as e:
        short = {
            **entry,
            "name": entry["name"][:MAX_NAME],
            "status": "capture_error",
            "message": str(e),
            "breaks": [],
            "ops": [],
        }
        wire.report({"op": "entry", "entry": short})
