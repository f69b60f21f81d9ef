"""Is an edit right?  Original and edited code run in forks of their own, on the same inputs, and everything visible is compared.

First what tells most edits from right ones is measured: the same shapes, without the compiler and under it.  A wrong edit is refused then.
What is left (gradients, the other mode, other sizes, whether it is compiled anew each time) follows in the same forks, which pause between.

For each entry, and both sides at the same time, there are these forks:

- *compiled*: the capture itself, and then its compiled code on the other input sets.  It takes nearly all of the time: nothing is
  compiled twice;
- *eager*: the same calls without the compiler, then the other mode (training or evaluation) and gradients;
- *again*, of the original: does it repeat its own results, and what it says?

The original is compiled last, once a processor is free of its other forks: whether the edited code gives the original's results in one graph is
known without that, which only tells how many breaks there were, and excuses what the compiler makes of the original, too.  It is compiled for other
sizes only where the edited code is compiled anew for each, or fails there: does the original, too?

What is observed of a call is in ``observe``, what counts as the same in ``compare``, the verdict in ``judge``.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import _graphglue_host as host

from graphglue_worker import (
    capture,
    cascade,
    compare,
    devices,
    forks,
    inputs,
    judge,
    left_behind,
    modes,
    observe,
    overlay,
    proposed,
    reached,
    streams,
    tampering,
    users_compile,
    wire,
)
from graphglue_worker.inputs import Entry
from graphglue_worker.observe import Gradients, Run

PLANS_DEADLINE_MS = 120_000
CHANCE_SEEDS = 2  # input sets that nobody can know before, for code that the user did not write
MAX_PAUSED = 4  # entries whose forks wait for the second part, some 30 MiB each


@dataclass
class Side:
    """What was measured of one entry on one side.  Runs and gradients by the words of their input set."""

    entry: dict[str, Any]  # as a capture gives it; nothing before it was compiled
    eager: dict[str, Run] = field(default_factory=dict)
    compiled: dict[str, Run] = field(default_factory=dict)
    again: dict[str, Run] = field(default_factory=dict)  # once more, in another process: the given inputs at least
    gradients: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)  # which fork was lost, and how
    tampered: set[str] = field(default_factory=set)  # what it replaced that is not its own, where that was watched
    kinds: reached.Seen = field(default_factory=dict)  # of the original, where they are watched

    def add(self, more: "Side") -> None:
        """Take what was measured of the same entry since."""
        for part in ("eager", "compiled", "again", "gradients", "lost", "tampered"):
            getattr(self, part).update(getattr(more, part))
        self.entry = more.entry or self.entry


@dataclass(frozen=True)
class Asked:
    """On which input sets, beside those that are always asked: `chance`, of seeds that nobody knows.  `proposed`, where it is not None: on these
    and the given ones only, of an edit that holds on the others."""

    chance: tuple[observe.Plan, ...] = ()
    proposed: tuple[observe.Plan, ...] | None = None
    places: reached.Places = field(default_factory=dict)  # where the kinds of tensors are watched

    def _narrow(self) -> tuple[observe.Plan, ...]:
        return (*observe.PLANS[:2], *(self.proposed or ()))

    def compiled(self, original: bool) -> tuple[observe.Plan, ...]:
        """For the runs under the compiler."""
        if self.proposed is not None:
            return self._narrow()
        return (*observe.PLANS, *self.chance, *(() if original else observe.MORE_ROWS))

    def eager(self, entry: Entry) -> Iterator[Any]:
        """And without it, with what is seen there only."""
        if self.proposed is not None:
            return observe.measure(entry, None, self._narrow())
        return observe.eager(entry, self.chance)

    def again(self, entry: Entry) -> Iterator[Any]:
        """And once more, of the original."""
        runs = observe.again(entry, None if self.proposed is None else self._narrow(), self.chance)
        with reached.watch(self.places) if self.places else contextlib.nullcontext() as seen:
            first = next(runs, None)  # on the given inputs
        if seen is not None:
            yield seen
        if first is not None:
            yield first
            yield from runs


@dataclass
class Tampered:
    names: set[str]


def _watched(items: Iterator[Any], watch: tampering.Watch | None) -> Iterator[Any]:
    yield from items
    if watch is not None:
        yield Tampered(watch.changes())


def _compiled(entry: Entry, plans: tuple[observe.Plan, ...]) -> Iterator[Any]:
    """The runs under Dynamo, and a pause; what the first showed comes behind it."""
    compiled = observe.Compiled()
    for i, run in enumerate(observe.measure(entry, compiled, plans)):
        yield run
        if i == 0:
            yield compiled.outcome or capture.Outcome(error=run.described)


class _Forks:
    """The forks of one entry on one side, which pause when the first part is measured."""

    def __init__(
        self,
        entry: Entry,
        original: bool,
        deadline_ms: int,
        asked: Asked,
        watch: tampering.Watch | None,
    ) -> None:
        self._works: dict[str, Callable[[], Iterator[Any]]] = {
            "compiled": lambda: _watched(_compiled(entry, asked.compiled(original)), watch),
            "eager": lambda: _watched(asked.eager(entry), watch),
            "again": lambda: asked.again(entry),
        }
        self._entry, self._original = entry, original
        self._deadline = forks.Deadline(deadline_ms)
        self._so_far = Side({})
        self._lost: dict[str, forks.Lost] = {}
        self._open: dict[str, streams.Stream] = {}
        for name in ("eager", "again") if original else ("compiled", "eager"):
            self._start(name)

    def _start(self, name: str) -> None:
        self._open[name] = streams.Stream(self._works[name], quiet=True)

    def first(self) -> Side:
        """What is measured before the pause; of the original that is nothing compiled yet."""
        side = self._collect()
        if self._original:
            self._start("compiled")
        else:
            self._deadline.hold()
        return side

    def compiled(self) -> Side:
        """What the original is under the compiler, before the pause.  Call behind `first`."""
        side = self._collect()
        self._deadline.hold()
        return side

    def resume(self) -> None:
        """Let them measure the rest."""
        self._deadline.go_on()
        for stream in self._open.values():
            stream.resume()

    def rest(self) -> Side:
        """What is measured after `resume`, as a Side without its entry."""
        return self._collect()

    def _collect(self) -> Side:
        """What is measured by the forks that do not pause, until they do; with its entry as soon as that is known."""
        running = {name: stream for name, stream in self._open.items() if not stream.paused}
        found = {name: stream.collect(self._deadline) for name, stream in running.items()}
        self._open = {name: stream for name, stream in self._open.items() if stream.paused}
        self._lost.update({name: lost for name, (_, lost) in found.items() if lost})
        side = self._side(found)
        self._so_far.add(side)
        if "compiled" in found and not self._so_far.entry:
            outcome = next((x for x in found["compiled"][0] if isinstance(x, capture.Outcome)), None)
            side.entry = self._so_far.entry = capture.told(_entry(self._entry, self._so_far, outcome, self._lost))
        return side

    def _side(self, found: dict[str, tuple[list[Any], forks.Lost | None]]) -> Side:
        runs = {name: {r.plan: r for r in items if isinstance(r, Run)} for name, (items, _) in found.items()}
        return Side(
            {},
            runs.get("eager", {}),
            runs.get("compiled", {}),
            runs.get("again", {}),
            # where the original does not run with gradients, nothing is asked of them
            {
                g.plan: g.of
                for name in ("eager", "compiled")
                for g in found.get(name, ([], None))[0]
                if isinstance(g, Gradients) and not (self._original and g.raised)
            },
            {name: lost.message for name, (_, lost) in found.items() if lost},
            {name for items, _ in found.values() for x in items if isinstance(x, Tampered) for name in x.names},
            next((x.seen for x in found.get("again", ([], None))[0] if isinstance(x, reached.Kinds)), {}),
        )


def _measured(
    entries: list[Entry],
    deadline_ms: int,
    watch: tampering.Watch | None,
    original: bool,
    asked: Asked,
) -> Iterator[Any]:
    """A Side of each entry; where they are few a pause, and (index, what else was measured) of each; of the original in two steps, with a pause
    between.  Else all of one entry is measured before the next, since what pauses holds memory."""
    pauses = len(entries) <= MAX_PAUSED
    held = []
    for i, entry in enumerate(entries):
        if entry.make is None:
            yield Side(capture.told(capture.blank(entry)))
            continue
        measured = _Forks(entry, original, deadline_ms, asked, watch)
        side = measured.first()
        if pauses:
            held.append((i, measured))
        else:
            if original:
                side.add(measured.compiled())
            measured.resume()
            side.add(measured.rest())
        yield streams.Progress
        yield side
    if pauses:
        yield streams.Pause
    if pauses and original:
        for i, measured in held:
            yield i, measured.compiled()
            yield streams.Progress
        yield streams.Pause
    for i, measured in held:
        measured.resume()
        yield i, measured.rest()
        yield streams.Progress


def _progress() -> None:
    with contextlib.suppress(wire.ChannelLost):  # the deadline is that of one entry
        wire.report({"op": "progress", "message": None})


def _compiled_for_sizes(entries: list[Entry], deadline_ms: int, _: Any) -> Iterator[tuple[str, dict[str, Run]]]:
    """Runs of the original under Dynamo for other sizes, by plan; each with the entry's name."""
    plans = (observe.GIVEN, *observe.MORE_ROWS)
    for entry in entries:
        measured = _compiled(entry, plans)
        stream = streams.Stream(lambda runs=measured: (r for r in runs if r is not streams.Pause), quiet=True)
        runs = stream.collect(forks.Deadline(deadline_ms))[0]
        yield entry.name, {r.plan: r for r in runs if isinstance(r, Run) and r.plan in observe.RESIZED}
        yield streams.Progress


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


def _modes(file: str, files: dict[str, str], request: dict[str, Any], plans: dict[str, Any]) -> modes.Modes:
    """Of the original, for each wanted entry: does it run with gradients though nothing asks for them?  In a fork of its own."""

    def look() -> modes.Modes:
        overlay.install(files)
        users_compile.replace()
        wanted = request.get("entries")
        deadline = forks.Deadline(request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS)
        try:
            entries = inputs.load(file, bool(request.get("train")), plans, fixed=True)
        except inputs.ImportFailure:
            return {}  # the side that imports it says so
        asked = [e for e in entries if e.make is not None and (wanted is None or e.name in wanted)]
        return {e.name: modes.settle(e, deadline) for e in asked}

    found = forks.run(look, forks.Deadline(PLANS_DEADLINE_MS), quiet=True)
    return {} if isinstance(found, forks.Lost) else found


def _lacks_gradients(sides: list[Side]) -> bool:
    """Did an entry of the original raise for want of them?"""
    given = (side.eager.get(observe.GIVEN.words) for side in sides)
    return any(run and run.error and modes.lacks(": ".join(run.error)) for run in given)


def _each(
    file: str,
    files: dict[str, str],
    request: dict[str, Any],
    plans: dict[str, Any],
    measured: Callable[[list[Entry], int, tampering.Watch | None], Iterator[Any]],
) -> Iterator[Any]:
    """What is measured of the entries of one side; a text when the file cannot be imported."""
    left_behind.start()
    watch = tampering.Watch() if request.get("sandbox") is True else None
    overlay.install(files)
    users_compile.replace()
    wanted = request.get("entries")
    try:
        entries = inputs.load(file, bool(request.get("train")), plans, fixed=True, known=request.get("modes"))
    except inputs.ImportFailure as e:
        yield e.with_line
        return
    deadline_ms = request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS
    yield from measured([e for e in entries if wanted is None or e.name in wanted], deadline_ms, watch)


def _collect(both: list[streams.Stream], sides: list[list[Side]]) -> str | None:
    """Put what the two sides (or the original alone) gave, until they pause or end, to the rest.  Returns what failed."""
    # The job's own deadline ends both: theirs are by entry.
    deadline = forks.Deadline(1 << 31)
    for name, stream, side in zip(("original", "edited"), both, sides, strict=False):
        results, lost = stream.collect(deadline)
        failure = lost.message if lost else next((r for r in results if isinstance(r, str)), None)
        if failure is not None:
            return f"running the {name} code failed: {failure}"
        side += [r for r in results if isinstance(r, Side)]
        for i, more in [r for r in results if isinstance(r, tuple)]:
            side[i].add(more)
    return None


def _begin(
    file: str,
    original: dict[str, str],
    edited: dict[str, str],
    request: dict[str, Any],
    plans: dict[str, Any],
    ask: Asked,
) -> list[streams.Stream]:
    """Start measuring the original and the edited code."""
    guarded = request.get("sandbox") is True
    # What nobody trusts is forked first: it has nothing of the other side, and cannot look into what is forked behind it.
    second = streams.Stream(
        lambda: _each(file, edited, request, plans, lambda *of: _measured(*of, False, ask)),
        on_progress=_progress,
        kinds={"Side": Side} if guarded else None,
    )
    if guarded:
        host.hide()
    first = streams.Stream(
        lambda: _each(file, original, request, plans, lambda *of: _measured(*of, True, ask)), on_progress=_progress
    )
    return [first, second]


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
    guarded = request.get("sandbox") is True
    known: modes.Modes = request.get("modes") or {}
    if guarded and not (known and known.keys() >= set(request.get("entries") or ())):  # no capture told
        request = {**request, "modes": _modes(file, original, request, plans)}
    seeds = [3 + secrets.randbelow(1 << 30) for _ in range(CHANCE_SEEDS if guarded else 0)]
    chance = tuple(observe.Plan(f"inputs from seed {seed}", seed) for seed in seeds)
    wider, proposals = _proposals(request.get("more_inputs") or [])
    classes = {request.get("safety") or "exact", *(request.get("also") or ())}
    copies = request.get("copies") is True
    changed = cascade.Lines(original, edited)
    computes = (request.get("safety") or "exact") in ("exact", "numeric")
    ask = Asked(chance, wider if proposals else None, reached.places(original, changed) if computes else {})
    sides: list[list[Side]] = [[], []]
    both = _begin(file, original, edited, request, plans, ask)
    failure = _collect(both, sides)
    if failure is None and not guarded and _lacks_gradients(sides[0]):
        found = _modes(file, original, request, plans)
        for name, grad in found.items():
            send({"op": "mode", "name": name, "mode": grad})
        if any(grad and not known.get(name) for name, grad in found.items()):
            for stream in (s for s in both if s.paused):
                stream.drop()
            request, sides = {**request, "modes": found}, [[], []]
            both = _begin(file, original, edited, request, plans, ask)
            failure = _collect(both, sides)
    second = both[1]
    if failure is None and any(stream.paused for stream in both):
        holds = judge.holds(*sides, classes, copies)
        if holds:
            _tell_that_it_holds(send, holds)
            second.resume()
        both[0].resume()
        failure = _collect(both[:1], sides[:1])
        if failure is None and not holds:
            verdict = judge.judge(*sides, classes, changed, copies)  # what is asked of foreign code is known at the end
            if verdict["accepted"]:
                _tell_that_it_holds(send, verdict["compared"][0])
            elif not (guarded or _says(sides[0])):  # what the rest shows can only add to the reasons
                for stream in both:
                    stream.drop()
                return send({"op": "verdict", "verdict": verdict})
            second.resume()
        if failure is None:
            both[0].resume()
            failure = _collect(both, sides)
    if failure is not None:
        return send(judge.refusal(failure))
    resized = {b.entry["name"] for b in sides[1] if _asks_for_sizes(b)}
    if resized:
        only = {**request, "entries": sorted(resized)}
        stream = streams.Stream(lambda: _each(file, original, only, plans, _compiled_for_sizes), on_progress=_progress)
        found = dict(x for x in stream.collect(forks.Deadline(1 << 31))[0] if isinstance(x, tuple))
        for side in sides[0]:
            side.compiled.update(found.get(side.entry["name"], {}))
    verdict = judge.judge(*sides, classes, changed, copies, guarded)
    if proposals:
        verdict["proposed"] = [f"{text}: {why or judge.tried(sides[0], plan)}" for text, plan, why in proposals]
    send({"op": "verdict", "verdict": verdict})


def _proposals(texts: list[str]) -> tuple[tuple[observe.Plan, ...], list[tuple[str, str, str]]]:
    """The input sets that a model proposes, and of each proposal its text, its plan's words, and why it is none."""
    plans: dict[str, observe.Plan] = {}
    told = []
    for text in texts[: proposed.MOST]:
        try:
            plan = observe.plan_of(proposed.read(text))
            told.append((text, plan.words, "left out: it reads like one before" if plan.words in plans else ""))
            plans.setdefault(plan.words, plan)
        except proposed.Refused as e:
            told.append((text, "", f"left out: {e}"))
    return tuple(plans.values()), told


def _tell_that_it_holds(send: Callable[[dict[str, Any]], None], where: str) -> None:
    send({"op": "widening", "message": f"holds {where}; comparing gradients and other sizes"})


def _says(sides: list[Side]) -> bool:
    """Does the original code say something?  Then each further run may show what it does not repeat."""
    return any(run.printed for side in sides for run in side.again.values())
