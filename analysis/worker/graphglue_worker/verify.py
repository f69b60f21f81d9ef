"""Is an edit right?  Original and edited code run in forks of their own, on the same inputs, and everything visible is compared.

For each entry, and both sides at the same time, there are these forks:

- *compiled*: the capture itself, and then its compiled code on the other input sets.  It takes nearly all of the time: nothing is
  compiled twice;
- *eager*: the same calls without the compiler, then the other mode (training or evaluation) and gradients;
- *again*, of the original: does it repeat its own results, and what it says?

The original is compiled for other sizes only where the edited code is compiled anew for each, or fails there: does the original, too?

What is observed of a call is in ``observe``, what counts as the same in ``compare``, the verdict in ``judge``.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from graphglue_worker import (
    capture,
    cascade,
    compare,
    devices,
    forks,
    inputs,
    judge,
    observe,
    overlay,
    tampering,
    users_compile,
    wire,
)
from graphglue_worker.inputs import Entry
from graphglue_worker.observe import Gradients, Run

PLANS_DEADLINE_MS = 120_000
CHANCE_SEEDS = 2  # input sets that nobody can know before


@dataclass
class Side:
    """What was measured of one entry on one side.  Runs and gradients by the words of their input set."""

    entry: dict[str, Any]  # as a capture gives it
    eager: dict[str, Run] = field(default_factory=dict)
    compiled: dict[str, Run] = field(default_factory=dict)
    again: dict[str, Run] = field(default_factory=dict)  # once more, in another process: the given inputs at least
    gradients: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)  # which fork was lost, and how
    tampered: set[str] = field(default_factory=set)  # what it replaced that is not its own, where that was watched


@dataclass
class Guard:
    """What is asked besides of code that the user did not write."""

    plans: tuple[observe.Plan, ...]

    @staticmethod
    def new() -> "Guard":
        seeds = [3 + secrets.randbelow(1 << 30) for _ in range(CHANCE_SEEDS)]
        return Guard(tuple(observe.Plan(f"inputs from seed {seed}", seed) for seed in seeds))


@dataclass
class Tampered:
    names: set[str]


def _watched(items: Iterator[Any], watch: tampering.Watch | None) -> Iterator[Any]:
    yield from items
    if watch is not None:
        yield Tampered(watch.changes())


def _compiled(entry: Entry, plans: tuple[observe.Plan, ...]) -> Iterator[Any]:
    """The runs under Dynamo; what the first showed comes behind it."""
    compiled = observe.Compiled()
    for i, run in enumerate(observe.measure(entry, compiled, plans)):
        yield run
        if i == 0:
            yield compiled.outcome or capture.Outcome(error=run.described)


def _measure(
    entry: Entry, original: bool, deadline_ms: int, guard: Guard | None, watch: tampering.Watch | None
) -> Side:
    if entry.make is None:
        return Side(capture.told(capture.blank(entry)))
    deadline = forks.Deadline(deadline_ms)
    chance = guard.plans if guard else ()
    plans = (*observe.PLANS, *chance) if original else (*observe.PLANS, *chance, *observe.MORE_ROWS)
    forked = {
        "compiled": forks.Stream(lambda: _watched(_compiled(entry, plans), watch), quiet=True),
        "eager": forks.Stream(lambda: _watched(observe.eager(entry, chance), watch), quiet=True),
    }
    if original:
        forked["again"] = forks.Stream(lambda: observe.again(entry), quiet=True)
    found = {name: stream.collect(deadline) for name, stream in forked.items()}
    results = {name: items for name, (items, _) in found.items()}
    outcome = next((x for x in results["compiled"] if isinstance(x, capture.Outcome)), None)
    runs = {name: [r for r in items if isinstance(r, Run)] for name, items in results.items()}
    side = Side(
        {},
        {r.plan: r for r in runs["eager"]},
        {r.plan: r for r in runs["compiled"]},
        {r.plan: r for r in runs.get("again", ())},
        # where the original does not run with gradients, nothing is asked of them
        {g.plan: g.of for g in results["eager"] if isinstance(g, Gradients) and not (original and g.raised)},
        {name: lost.message for name, (_, lost) in found.items() if lost},
        {name for items in results.values() for x in items if isinstance(x, Tampered) for name in x.names},
    )
    lost = {name: lost for name, (_, lost) in found.items() if lost}
    side.entry = capture.told(_entry(entry, side, outcome, lost))
    return side


def _compiled_for_sizes(entry: Entry, deadline_ms: int) -> dict[str, Run]:
    """Runs of the original under Dynamo for other sizes, by plan."""
    stream = forks.Stream(lambda: _compiled(entry, (observe.GIVEN, *observe.MORE_ROWS)), quiet=True)
    return {
        r.plan: r
        for r in stream.collect(forks.Deadline(deadline_ms))[0]
        if isinstance(r, Run) and r.plan in observe.RESIZED
    }


def _asks_for_sizes(side: Side) -> bool:
    """Does the edited code under Dynamo do or say, for other sizes, what only the original can excuse?"""
    for plan in observe.RESIZED & side.compiled.keys() & side.eager.keys():
        run = side.compiled[plan]
        if run.error or run.printed != side.eager[plan].printed or (run.graphs and plan == observe.SIZES_LEARNT):
            return True
    return False


def _entry(entry: Entry, side: Side, outcome: Any, lost: dict[str, forks.Lost]) -> dict[str, Any]:
    """The `entry` value of the wire protocol, as a capture would give it."""
    out = capture.blank(entry)
    eager, compiled = (runs.get(observe.GIVEN.words) for runs in (side.eager, side.compiled))
    if eager is None or outcome is None or compiled is None:
        which = "eager" if eager is None else "compiled"
        status, message = (
            ("crashed", "it gave no result") if which not in lost else (lost[which].status, lost[which].message)
        )
        only = "only when compiled: " if which == "compiled" and status != "timeout" else ""
        return {**out, "status": "timeout" if status == "timeout" else "crashed", "message": f"{only}{message}"}
    if eager.error is not None:
        words = devices.headed(f"running it without torch.compile raised {eager.described}")
        return {**out, "status": "eager_error", "message": words}
    note = None
    if outcome.error is None:
        wrong = compare.difference(eager.output, compiled.output)
        again = side.again.get(observe.GIVEN.words)
        changes = again and compare.difference(eager.output, again.output, compiled=False).value
        if wrong.value and not changes:
            note = f"compiled outputs differ from eager ones: {wrong.words}"
    return capture.finished(out, outcome, note)


def _plans(file: str, files: dict[str, str], request: dict[str, Any]) -> dict[str, Any]:
    """Deduced inputs of the original code, which both sides run on; in a fork of their own where any are deduced."""
    with contextlib.suppress(SyntaxError, ValueError):
        if file in files and inputs.gives_inputs(file, files[file].removeprefix("\ufeff")):
            return {}

    def look() -> dict[str, Any]:
        overlay.install(files)
        users_compile.replace()
        plans: dict[str, Any] = {}
        wanted = request.get("entries")
        try:
            if not inputs.gives_inputs(file):
                for entry in inputs.load(file, bool(request.get("train")), plans):
                    if entry.prepare is not None and (wanted is None or entry.name in wanted):
                        entry.prepare()
        except (inputs.ImportFailure, OSError, ValueError, SyntaxError):
            pass  # the side that imports it says so
        return plans

    found = forks.run(look, forks.Deadline(PLANS_DEADLINE_MS), quiet=True)
    return {} if isinstance(found, forks.Lost) else found


def _each(
    file: str,
    files: dict[str, str],
    request: dict[str, Any],
    plans: dict[str, Any],
    measured: Callable[[Entry, int, tampering.Watch | None], Any],
) -> Iterator[Any]:
    """What is measured of all entries of one side; a text when the file cannot be imported."""
    observe.start()
    watch = tampering.Watch() if request.get("sandbox") is True else None
    overlay.install(files)
    users_compile.replace()
    wanted = request.get("entries")
    deadline_ms = request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS
    try:
        for entry in inputs.load(file, bool(request.get("train")), plans, fixed=True):
            if wanted is None or entry.name in wanted:
                yield measured(entry, deadline_ms, watch)
                with contextlib.suppress(wire.ChannelLost):  # the deadline is that of one entry
                    wire.report({"op": "progress", "message": entry.name})
    except inputs.ImportFailure as e:
        yield e.with_line


def run(
    request: dict[str, Any],
    workspaces: list[str],
    send: Callable[[dict[str, Any]], None],
    plans: dict[str, Any] | None = None,
) -> None:
    """Verify the edited overlay against the original one; sends one `verdict` frame.  `plans`: see `job.run`."""
    file = os.path.abspath(request["file"])
    original = {f["file"]: f["text"] for f in request.get("original") or []}
    edited = {**original, **{f["file"]: f["text"] for f in request.get("edited") or []}}
    for path, text in edited.items():
        try:
            compile(text.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as e:
            if original.get(path) != text:
                return send(judge.refusal(f"the edited text does not compile: {e}"))
    if plans is None:
        plans = _plans(file, original, request)
        for name, plan in plans.items():
            send({"op": "plan", "name": name, "plan": plan})
    # The job's own deadline ends both: theirs are by entry.
    deadline = forks.Deadline(1 << 31)
    guard = Guard.new() if request.get("sandbox") is True else None
    streams = [
        forks.Stream(
            lambda: _each(file, original, request, plans, lambda e, ms, watch: _measure(e, True, ms, guard, watch))
        ),
        forks.Stream(
            lambda: _each(file, edited, request, plans, lambda e, ms, watch: _measure(e, False, ms, guard, watch))
        ),
    ]
    sides: list[list[Side]] = []
    for name, stream in zip(("original", "edited"), streams, strict=True):
        results, lost = stream.collect(deadline)
        failure = lost.message if lost else next((r for r in results if isinstance(r, str)), None)
        if failure is not None:
            return send(judge.refusal(f"running the {name} code failed: {failure}"))
        sides.append([r for r in results if isinstance(r, Side)])
    asked = {b.entry["name"] for b in sides[1] if _asks_for_sizes(b)}
    if asked:
        only = {**request, "entries": sorted(asked)}
        stream = forks.Stream(
            lambda: _each(file, original, only, plans, lambda e, ms, _: (e.name, _compiled_for_sizes(e, ms)))
        )
        found = dict(x for x in stream.collect(deadline)[0] if isinstance(x, tuple))
        for side in sides[0]:
            side.compiled.update(found.get(side.entry["name"], {}))
    changed = cascade.Lines(original, edited)
    send(
        {
            "op": "verdict",
            "verdict": judge.judge(
                *sides, request.get("safety") or "exact", changed, request.get("copies") is True, guard is not None
            ),
        }
    )
