"""The verdict on an edit, from what was measured of the original and the edited code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphglue_worker import cascade, compare, fits, observe, proposed, reached, varied
from graphglue_worker.observe import Run
from graphglue_worker.said import Unsteady

if TYPE_CHECKING:
    from graphglue_worker.verify import Side

COMPARED = (
    "outputs, eager and compiled",
    "input mutation",
    "parameters and buffers",
    "attributes and globals",
    "state-dict keys",
    "random state",
    "exceptions",
)
SLOWER_TIMES, SLOWER_S = 10, 0.5  # than the original, a call of code that the user did not write
_LINE = re.compile(r"\bline \d+")
_VARIED = f"on {varied.GIVEN_WITH}"
_OF_NOTHING = "reduction dim to be specified for input.numel() == 0"
_QUIET = {"effects", "opaque"}  # what is said under the compiler, and which exception, is waived
Found = tuple[str, str]  # words, and what it makes of the outputs: "close", "different" or "error"


def refusal(reason: str) -> dict[str, Any]:
    """The frame of a verdict when nothing could be measured."""
    verdict = {
        "accepted": False, "glued": False, "outputs": "error", "graphs_before": 0, "graphs_after": 0, "breaks_before": 0,
        "breaks_after": 0, "breaks_to_light": 0, "copies": False, "compared": [], "reasons": [reason], "entries": [],
    }  # fmt: skip
    return {"op": "verdict", "verdict": verdict}


def judge(
    before: list[Side],
    after: list[Side],
    classes: set[str],
    lines: cascade.Lines,
    copies: bool = False,
    guarded: bool = False,
) -> dict[str, Any]:
    """The verdict.  `classes`: the safety of this edit and of those before it, each of which waives something.
    `copies`: the rule says that a result may be a new tensor where the original gives back one that others hold.
    `guarded`: the edited code is not the user's."""
    reasons: list[str] = []
    further: list[str] = []  # on variations of the given inputs: what else is wrong is told first
    closeness: set[str] = set()
    if [s.entry["name"] for s in before] != [s.entry["name"] for s in after]:
        reasons.append("the entries of the file changed")
    pairs = list(zip(before, after, strict=False))
    for a, b in pairs:
        reasons += [f"{a.entry['name']}: {r}" for r in (_unfair(a, b) if guarded else ())]
        for reason, outputs in _compare_sides(a, b, classes, copies):
            (further if reason.startswith(_VARIED) else reasons).append(f"{a.entry['name']}: {reason}")
            closeness.add(outputs)
        reasons += [f"{a.entry['name']}: {r}" for r in _worse(a.entry, b.entry, lines)]
    reasons += reached.conflicts([a.kinds for a in before])
    totals = {
        f"{what}_{when}": sum(_count(s.entry, what) for s in sides)
        for what in ("graphs", "breaks")
        for when, sides in (("before", before), ("after", after))
    }
    to_light = sum(cascade.of(a.entry, b.entry, lines).to_light for a, b in pairs)
    if not any(_ran(a) for a in before):
        reasons.append("no entry of the file could be run, so nothing was proved")
    elif totals["breaks_before"] == 0:
        reasons.append("the original code has no graph break")
    elif totals["breaks_after"] - to_light >= totals["breaks_before"]:
        reasons.append(f"no graph break was removed ({totals['breaks_before']} before, {totals['breaks_after']} after)")
    reasons += further
    broken = [(a, b) for a, b in pairs if a.entry["breaks"]]
    accepted = not reasons
    return {
        "accepted": accepted,
        "glued": accepted and bool(broken) and all(_glued(b, classes) for _, b in broken),
        "outputs": next((o for o in ("error", "different", "close") if o in closeness), "identical"),
        **totals,
        "breaks_to_light": to_light,
        "copies": copies,
        "compared": _compared(before, classes) + ["what is torch's, Python's and the worker's own"] * guarded,
        "reasons": list(dict.fromkeys(reasons))[:16],
        "entries": [
            {
                "name": a.entry["name"],
                "before": a.entry,
                "after": b.entry,
                "glued": _glued(b, classes),
                "arguments": _arguments(a),
            }  # fmt: skip
            for a, b in pairs
        ],
    }


def holds(before: list[Side], after: list[Side], classes: set[str], copies: bool = False) -> str | None:
    """Has the edited code, in one graph, the results of the original, of which nothing is compiled yet?  Then on which input sets, in words; else
    None: what the compiler makes of the original may excuse it."""
    if [s.entry.get("status") for s in after] != ["captured"] * len(before) or not any(_ran(a) for a in before):
        return None
    differences = (found for a, b in zip(before, after, strict=True) for found in _compare_sides(a, b, classes, copies))
    if next(differences, None) or next(reached.conflicts([a.kinds for a in before]), None):
        return None
    return _compared(before, classes)[0]


def tried(sides: list[Side], plan: str) -> str:
    """What came of an input set that a model proposed, of the original's sides: in words."""
    runs = [side.eager[plan] for side in sides if plan in side.eager]
    if not runs:
        return "left out: no entry is called like that"
    errors = [run.error for run in runs if run.error]
    if len(errors) == len(runs):
        return f"left out: the original raises {errors[0][0]}"
    return "compared"


def _worse(a: dict[str, Any], b: dict[str, Any], lines: cascade.Lines) -> Iterator[str]:
    if b["status"] in ("eager_error", "capture_error", "crashed", "timeout") and b["status"] != a["status"]:
        yield f"the edited code ends as {b['status']}: {b['message']}"
    found = cascade.of(a, b, lines)
    for gb_id, function in found.new:
        yield f"a new graph break appears: {gb_id} in {function}"
    fewer = len(b["breaks"]) < len(a["breaks"])  # a part that Python computed, between two of them, is a graph then
    if b["graphs"] > a["graphs"] > 0 and not found.uncovered and not fewer:
        yield f"the number of graphs rises from {a['graphs']} to {b['graphs']}"


def _unfair(a: Side, b: Side) -> Iterator[str]:
    """What a right result does not excuse."""
    names = sorted(b.tampered - a.tampered)
    if names:
        yield f"the edited code changes {', '.join(names[:4])}{' …' if names[4:] else ''}, which is not its own"
    times = [
        (a.eager[p].seconds, b.eager[p].seconds) for p in a.eager.keys() & b.eager.keys() if not observe.is_unusual(p)
    ]
    if times and all(y > SLOWER_S + SLOWER_TIMES * x for x, y in times):
        x, y = min(times, key=lambda both: both[1])
        yield f"the edited code takes {y:.1f} s a call, the original {x:.1f} s"


def _quiet(classes: set[str]) -> bool:
    return not _QUIET.isdisjoint(classes)


def _glued(side: Side, classes: set[str]) -> bool:
    """One graph; not when code was hidden from the compiler to get it."""
    return side.entry["status"] == "captured" and "opaque" not in classes


def _arguments(side: Side) -> str:
    given = side.eager.get(observe.GIVEN.words)
    return "" if given is None else proposed.described(given.inputs)


def _ran(side: Side) -> bool:
    given = side.eager.get(observe.GIVEN.words)
    return given is not None and given.error is None


def _count(entry: dict[str, Any], what: str) -> int:
    return entry["graphs"] if what == "graphs" else len(entry["breaks"])


def _compared(before: list[Side], classes: set[str]) -> list[str]:
    counted = [
        [plan for plan, run in a.eager.items() if run.ended and not (run.error and observe.is_optional(plan))]
        for a in before
    ]
    sets = [[plan for plan in plans if not observe.is_varied(plan)] for plans in counted]
    words = [f"on {max(map(len, sets), default=0)} input sets", *COMPARED]
    more = max((len(plans) - len(of) for plans, of in zip(counted, sets, strict=True)), default=0)
    if more:
        words.append(f"{more} variations of the given inputs, eager only")
    if any(plan in observe.RESIZED for plans in counted for plan in plans):
        words.append("other sizes")
    unsteady = any(_unsteady(a).any for a in before)
    words.append(
        "printed and logged output"
        + (", but for what the original itself says in other words each time" if unsteady else "")
        + (", eager only" if _quiet(classes) else "")
    )
    if any(g for a in before for g in a.gradients.values()):
        words.append("gradients")
    return words


# ---- what the calls did -----------------------------------------------------------------------------------------------


def _compare_sides(a: Side, b: Side, classes: set[str], copies: bool) -> Iterator[Found]:
    given = a.eager.get(observe.GIVEN.words)
    if given is None:
        return
    again = a.again.get(observe.GIVEN.words)
    kept, unsteady = _repeating(given, again), _unsteady(a)
    if again is not None:
        changes = _Comparison(kept).differences(given, again)
        if changes:
            yield f"the original code does not repeat its own results ({changes[0][0]})", "different"
            return
    if observe.GIVEN.words not in b.eager:
        yield f"the edited code could not be run: {b.entry['message']}", "error"
        return
    defined = b.eager[observe.GIVEN.words].before
    undefined = {plan for plan, x in a.eager.items() if _is_undefined(x, a.again.get(plan), kept)}
    for compiled, runs, originals in ((False, b.eager, a.eager), (True, b.compiled, a.compiled)):
        how = "compiled" if compiled else "eager"
        comparison = _Comparison(kept, defined, compiled, compiled and _quiet(classes), copies, given)
        first = originals.get(observe.GIVEN.words)
        # messages that the original itself keeps from the compiler, by `is_compiling()`
        skips = compiled and first is not None and len(first.printed) < len(given.printed)
        for plan, x in a.eager.items():
            y, was = runs.get(plan), originals.get(plan)
            if not x.ended or (y is None and how not in b.lost) or (x.error and observe.is_optional(plan)):
                continue  # nothing to compare with, or left out (what made that so is told where it happened)
            if plan in undefined:
                continue
            if y is None or not y.ended:
                if was is not None and was.ended:
                    yield f"on {plan}, {how}: {b.lost.get(how, 'the edited code does not end')}", "error"
                continue
            found = comparison.differences(x, y, was if compiled else None)
            if not (comparison.quiet or (compiled and (x.error or y.error))):
                before = compiled and was and unsteady.agree(was.printed, y.printed, x.printed)
                if was is None and skips:  # the original was not compiled for these inputs
                    before = set(y.printed) <= set(x.printed)
                if not before and not unsteady.agree(x.printed, y.printed):
                    found.append(("what is printed or logged differs", "different"))
            for words, outputs in found:
                if outputs != "close" or not ("numeric" in classes or observe.rounded_to(plan)):
                    yield f"on {plan}, {how}: {words}", outputs
    yield from _misread(a, b)
    yield from _compiled_more_often(a, b)
    for plan in observe.BRANCHES:
        run = b.compiled.get(plan)
        if run is not None and run.error:
            yield f"on {plan}, compiled: the edited code {_raises(run.described)}", "error"
    differentiable = any(gradients is not None for gradients in a.gradients.values())
    for plan, gradients in a.gradients.items():
        if plan.removesuffix(observe.TWO_CALLS) in undefined or (gradients is None and _extra(plan)):
            continue
        if differentiable and gradients is None and _are_zero(b.gradients.get(plan)):
            continue  # it took no way that has gradients, and what is selected from has zeros there
        if plan in b.gradients:
            for words, outputs in _compare_gradients(gradients, b.gradients[plan]):
                yield f"on {plan}: {words}", outputs
        elif "eager" in b.lost:
            yield f"gradients on {plan}: {b.lost['eager']}", "error"
        compiled = plan + observe.COMPILED  # of a graph with control flow
        if gradients is not None and compiled in b.gradients and compiled not in a.gradients:
            for words, outputs in _compare_gradients(gradients, b.gradients[compiled]):
                yield f"on {compiled}: {words}", outputs


def _misread(a: Side, b: Side) -> Iterator[Found]:
    """Does the edited code use more drawn numbers in a graph that Inductor would read in another dtype?  The counting backend computes with the
    right ones.  On sizes where the original was not compiled, it counts where the original never does so."""
    ever = any(run.misread for run in a.compiled.values())
    for plan, run in b.compiled.items():
        was = a.compiled.get(plan)
        if len(run.misread) > len(was.misread) if was else run.misread and not ever:
            line = next((x for x in run.misread if not was or x not in was.misread), run.misread[0])
            yield (
                f"compiled by Inductor, the number that Python's `random` draws would be read in another dtype{f' in `{line}`' * bool(line)}, "
                "so it would be another number (pytorch#198187)",
                "different",
            )
            return


def _compiled_more_often(a: Side, b: Side) -> Iterator[Found]:
    """Is the edited code compiled anew where the original is not?  For other sizes that counts where the original was compiled at all."""
    for plan, words, counts in (
        (observe.FURTHER, "it is compiled anew on each call, also for the same arguments", True),
        (observe.SIZES_LEARNT, "it is compiled anew for each size of its inputs", a.entry.get("graphs", 0) > 0),
    ):
        was, run = a.compiled.get(plan), b.compiled.get(plan)
        if counts and run and run.graphs and not run.error and not (was and was.graphs):
            yield f"{words}, which the original code is not", "identical"


def _extra(plan: str) -> bool:
    """Gradients that are asked only where the original has some."""
    return observe.is_varied(plan) or plan.endswith(observe.TWO_CALLS)


def _is_undefined(run: Run, again: Run | None, kept: set[str]) -> bool:
    """Of other sizes and variations of the given inputs: does the original do something else in another process, whose memory holds something else?
    A variation that was not tried there counts as such."""
    if again is None or not observe.is_extra(run.plan):
        return observe.is_varied(run.plan)
    return not again.ended or bool(_Comparison(kept).differences(run, again))


def _repeating(run: Run, again: Run | None) -> set[str]:
    """Names of what is held that is the same in two runs of the original: times and counters of processes are not."""
    if again is None:
        return set(run.held)
    return {name for name in {*run.held, *again.held} if run.held.get(name) == again.held.get(name)}


def _unsteady(side: Side) -> Unsteady:
    """What the original says that it does not repeat."""
    runs = ((side.eager.get(plan), run) for plan, run in side.again.items())
    return Unsteady((once.printed, run.printed) for once, run in runs if once and once.ended and run.ended)


@dataclass
class _Comparison:
    """How runs are compared.  `kept`: names of what is held that the original repeats.  `defined`: what the edited code held before any call.
    `quiet`: which exception is raised is waived.  `given`: the original on the given inputs."""

    kept: set[str]
    defined: dict[str, bytes] = field(default_factory=dict)
    compiled: bool = False
    quiet: bool = False
    copies: bool = False
    given: Run | None = None

    def differences(self, x: Run, y: Run, was: Run | None = None) -> list[Found]:
        """Of two runs, but for what they said.  `was`: the original compiled, whose exceptions and attributes may depend on that already."""
        found: list[Found] = []
        if x.error or y.error:
            same_type = bool(x.error and y.error and y.error[0] in (x.error[0], was and was.error and was.error[0]))
            same_type = same_type or (self.compiled and _is_assert(x.error, y.error))
            if self.compiled and was and _fail_alike(was.error, y.error):  # the compiler cannot do either
                return []
            if _reduces_nothing(x, y) or (
                self.given and observe.is_extra(x.plan) and fits.does_not_fit(self.given, x, y)
            ):
                return []
            if not (same_type and (self.compiled or x.error == y.error) or self.quiet and x.error and y.error):
                said = [e and f"{e[0]}: {e[1].strip()[:120]}" for e in (x.error, y.error)]
                return [(f"the original {_raises(said[0])}, the edited code {_raises(said[1])}", "error")]
            if self.compiled:  # where it stopped is not the same place
                return []
        copies = compare.Copies(x.output, x.inputs, x.state) if self.copies else None
        admitted = compare.Admitted(
            copies, observe.is_strided(x.plan), observe.rounded_to(x.plan), observe.is_large(x.plan)
        )
        for where, p, q, r in (
            ("the result", x.output, y.output, was and was.output),
            ("the inputs after the call", x.inputs, y.inputs, was and was.inputs),
            ("parameters and buffers after the call", x.state, y.state, was and was.state),
        ):
            d = compare.difference(p, q, where, self.compiled, admitted)
            compilers = was and (
                not d.value or observe.is_unusual(x.plan)
            )  # may be what compiling makes of the original, too
            if not d.same and not (compilers and compare.difference(r, q, where, self.compiled).same):
                found.append((d.words, "close" if d.close else "different"))
        found += [
            (f"{name} after the call differs", "different") for name in x.random if x.random[name] != y.random.get(name)
        ]
        if x.state_keys != y.state_keys:
            found.append(("the keys of the state dict differ", "different"))
        for name in sorted({*x.held, *y.held}):
            p, q = x.held.get(name), y.held.get(name)
            new = name not in x.held and (name.startswith("self.") or q != self.defined.get(name))
            known = name in self.kept or (new and not self.compiled)
            if p != q and known and not (was and was.held.get(name) == q):
                found.append((f"{name} after the call differs", "different"))
        return found


def _reduces_nothing(x: Run, y: Run) -> bool:
    """Of inputs without rows: does the edited code look for the largest of nothing, where the original does not come to it?  Rules compute what is
    not wanted, too, and know nothing of empty tensors; it raises, so nothing wrong comes of it."""
    return observe.is_without_rows(x.plan) and not x.error and bool(y.error) and _OF_NOTHING in y.error[1]


def _fail_alike(was: tuple[str, str] | None, error: tuple[str, str] | None) -> bool:
    """Are both the same exception, but for the lines it tells of?"""
    if not was or not error:
        return False
    return was[0] == error[0] and _LINE.sub("", was[1]) == _LINE.sub("", error[1])


def _is_assert(was: tuple[str, str] | None, error: tuple[str, str] | None) -> bool:
    """Is the second what Dynamo makes of the first, a failed assert on a tensor?  It does so with the author's own asserts too."""
    if not was or not error or (was[0], error[0]) != ("AssertionError", "RuntimeError"):
        return False
    return error[1].strip() == (was[1].strip() or "assertion error")


def _raises(said: str | None) -> str:
    return f"raises {said}" if said else "returns"


def _are_zero(gradients: Any) -> bool:
    """Is there some, and nothing but zeros?"""
    if gradients is None:
        return False
    parts = [g.elements() for g in gradients.values() if g is not None]
    return all(rest is not None and not bool((rest != 0).any()) for rest in parts)


def _compare_gradients(x: Any, y: Any) -> Iterator[Found]:
    """Gradients agree within tolerance; a missing one equals zeros."""
    if x is None and y is None:
        return
    if x is None or y is None:
        yield "the entry is differentiable only before or only after the edit", "different"
        return
    for name, g in x.items():
        h = y.get(name)
        if g is None or h is None:
            rest = (g or h) and (g or h).elements()
            if rest is not None and bool((rest != 0).any()):
                yield f"the gradient of {name} {'appears' if g is None else 'is lost'}", "different"
            continue
        d = compare.difference(g, h, f"the gradient of {name}")
        if d.value and not d.close:
            yield d.words, "different"
