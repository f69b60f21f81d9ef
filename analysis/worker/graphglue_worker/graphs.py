"""The graphs that an entry is captured as, to be looked at: the FX code of each, and which break ended it."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo

from graphglue_worker import capture, forks, inputs, modes, overlay, streams, users_compile, wire
from graphglue_worker.inputs import Entry

MAX_CODE = 64 << 10  # characters of one graph's code
MAX_ALL = 512 << 10  # … of an entry's graphs together
_CUT = "\n# … the rest is left out\n"


class Recorder(capture.Counter):
    """The counting backend, which keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[dict[str, Any]] = []
        self._left = MAX_ALL

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        run = super().__call__(gm, example_inputs)
        code = gm.print_readable(print_output=False) if self._left > 0 else ""
        ceiling = min(MAX_CODE, self._left)
        self._left -= len(code)
        reason = getattr(gm, "compile_subgraph_reason", None)
        stack = reason.user_stack if reason is not None and reason.graph_break else ()
        ended = {"file": os.path.abspath(stack[-1].filename), "line": stack[-1].lineno} if stack else None
        self.kept.append(
            {
                "ops": self.ops[-1],
                "inputs": sum(n.op == "placeholder" for n in gm.graph.nodes),
                "code": code if len(code) <= ceiling else code[:ceiling] + _CUT,
                "ended": ended,
            }
        )
        return run


def run(request: dict[str, Any], file: str, plans: dict[str, Any] | None) -> None:
    """One `graphs` frame for each wanted entry of the file."""
    users_compile.replace()
    overlay.install({f["file"]: f["text"] for f in request.get("overlay") or []})
    wanted = request.get("entries")
    known = dict(plans or {})
    for entry in inputs.load(file, bool(request.get("train")), known, known=request.get("modes")):
        if wanted is None or entry.name in wanted:
            if entry.prepare is not None:
                entry.prepare()
            deadline = forks.Deadline(request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS)
            found = _of(entry, deadline)
            if modes.wants(entry, found["message"], deadline):
                found = _of(entry, deadline)
            wire.report({"op": "graphs", "graphs": found})


def _of(entry: Entry, deadline: forks.Deadline) -> dict[str, Any]:
    """The value of the frame: `breaks` are records as a capture has them, `before` how many graphs there were when each was heard; `ended` of a
    graph is the index of the break that ended it."""
    out: dict[str, Any] = {"name": entry.name, "graphs": [], "breaks": [], "before": [], "message": entry.message}
    if entry.make is None:
        return {**out, "message": entry.message or "it has no inputs to run with"}
    items, lost = streams.Stream(lambda: _recorded(entry), quiet=True).collect(deadline)
    if not items:
        return {**out, "message": lost.message if lost else "it gave no result"}
    found = {**out, **items[0]}
    unused = list(range(len(found["breaks"])))
    for graph in found["graphs"]:
        graph["ended"] = _take(graph["ended"], found["breaks"], unused)
    return found


def _recorded(entry: Entry) -> Iterator[dict[str, Any]]:
    recorder, error = Recorder(), None
    breaks: list[dict[str, Any]] = []
    before: list[int] = []
    torch._dynamo.reset()
    try:
        call = entry.build(0)
        with modes.grad_mode(call):
            heard = lambda _: before.append(len(recorder.kept))  # noqa: E731
            breaks = capture.run_callable(call.fn, call.args, call.kwargs, heard, earlier=recorder)[2].breaks
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        _, watch = getattr(e, "_graphglue_run", (None, None))
        breaks = watch.breaks if watch else []
        error = str(e) if isinstance(e, inputs.ImportFailure) else capture._words(e)
    before += [len(recorder.kept)] * (len(breaks) - len(before))
    yield {"graphs": recorder.kept, "breaks": breaks, "before": before, "message": error}


def _take(place: dict[str, Any] | None, breaks: list[dict[str, Any]], unused: list[int]) -> int | None:
    """The first break at that place that no graph before ended at; else the last that did."""
    if place is None:
        return None
    at = [
        i
        for i, b in enumerate(breaks)
        if any(f["file"] == place["file"] and f["line"] == place["line"] for f in b["stack"])
    ]
    free = [i for i in at if i in unused]
    if free:
        unused.remove(free[0])
    return (free or at[-1:] or [None])[0]
