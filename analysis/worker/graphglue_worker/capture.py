"""One run of an entry under Dynamo with a backend that only counts, in default mode.

The compiled run and the eager run it is compared with each have a fork of their own: earlier runs change what is traced and what
module-level state holds.  The process that calls `run` is left as it was.
"""

import contextlib
import json
import operator
import os
import re
import time
import warnings
from collections import Counter as Counted
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
import torch._dynamo
from torch._dynamo.source import RandomValueSource

from graphglue_worker import again, compare, devices, forks, hooks, modes, records, snapshot, streams, users_compile
from graphglue_worker.inputs import Call, Entry, ImportFailure, _describe

if TYPE_CHECKING:
    from graphglue_worker.twin import Twin

DEFAULT_DEADLINE_MS = 60_000
MEASURED_TIMES = 4  # so many times what the eager run took must be left to measure another
_PLACE = re.compile(r'File "(.+)", line (\d+)')
OnBreak = Callable[[dict[str, Any]], None]


class Counter:
    """The pass-through backend: counts graphs and the call nodes of each, and runs the graph as it is.

    A backend that compiles trusts the dtypes that Dynamo tells of the inputs.  Of a floating number that Python's `random` draws torch 2.13 tells
    float32 and gives a float64 (pytorch/pytorch#198187).  Here that changes nothing, so it is noted.

    `lowers`: a graph with control flow of its own (torch.cond, torch.while_loop) is given to AOTAutograd, too, as on its way to Inductor, which
    takes less than Dynamo does: branches whose gradients have other strides, say, are an error there.  So is a change in place of what a gradient is
    made of, in one graph; in eager mode, and behind a graph break, it is one only where somebody asks for that gradient."""

    def __init__(self, journal: "Journal | None" = None, lowers: bool = False) -> None:
        self.lowers, self.branches = lowers, False  # there was such a graph
        self.ops: list[int] = []
        self.misread: list[str] = []  # each use of a drawn number of another dtype than told, at each call: its line
        self._journal = journal

    def forget_journal(self) -> None:
        """What comes from here on is no part of the capture."""
        self._journal = None

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.ops.append(sum(n.op in ("call_function", "call_method", "call_module") for n in gm.graph.nodes))
        if self._journal:
            self._journal.write("ops", self.ops[-1])
        if self.lowers and _branches(gm):
            self.branches = True
            _lower(gm, example_inputs)
        elif self.lowers and _changes_in_place(gm) and _requires_gradients(example_inputs):
            _lower_changes(gm, example_inputs)
        drawn = _drawn(gm)
        if not drawn:
            return gm.forward

        def run(*args: Any) -> Any:
            for i, dtype, lines in drawn:
                if getattr(args[i], "dtype", dtype) != dtype:
                    self.misread += lines
            return gm.forward(*args)

        return run


def _branches(gm: torch.fx.GraphModule) -> bool:
    """Has the graph control flow of its own?"""
    operators = (torch.ops.higher_order.cond, torch.ops.higher_order.while_loop)
    parts = (m for m in gm.modules() if isinstance(m, torch.fx.GraphModule))
    return any(n.target in operators for part in parts for n in part.graph.nodes if n.op == "call_function")


# A buffer that is changed in place has no gradient, nor has what is only there without; and of a loop Dynamo makes a break, and no error.
_WITHOUT_GRADIENTS = ("a leaf Variable", "derivative for", "_local_scalar_dense")


def _lower(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> None:
    """AOTAutograd's errors: without gradients, with those of parameters, and with those of all inputs that may have some.  What it makes of the graph
    is not run: it rounds otherwise."""
    from torch._dynamo.backends.debugging import aot_eager

    aot_eager(gm, example_inputs)
    leaves = [
        x.detach().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in example_inputs
    ]
    with torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (example_inputs, leaves):
            try:
                aot_eager(gm, given)
            except RuntimeError as e:
                if not any(words in str(e) for words in _WITHOUT_GRADIENTS):
                    raise


def _changes_in_place(gm: torch.fx.GraphModule) -> bool:
    def changes(node: torch.fx.Node) -> bool:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        by_name = name.endswith("_") and not name.endswith("__")
        return node.op in ("call_function", "call_method") and (by_name or node.target is operator.setitem)

    return any(changes(node) for node in gm.graph.nodes)


def _requires_gradients(example_inputs: list[Any]) -> bool:
    tensors = (x for x in example_inputs if isinstance(x, torch.Tensor))
    return any(x.requires_grad for x in tensors)


def _lower_changes(gm: torch.fx.GraphModule, example_inputs: list[Any]) -> None:
    """AOTAutograd's error where what a gradient is made of is changed in place; others are not asked for."""
    from torch._dynamo.backends.debugging import aot_eager

    try:
        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            aot_eager(gm, example_inputs)
    except Exception as e:  # noqa: BLE001 - of a compiler
        if "modified by an inplace operation" in str(e):
            raise


def _drawn(gm: torch.fx.GraphModule) -> list[tuple[int, torch.dtype, list[str]]]:
    """Of each input that is a number drawn by Python: its place, the dtype that Dynamo tells, and the line of each use."""
    return [
        (i, node.meta["example_value"].dtype, [_line(user) for user in node.users])
        for i, node in enumerate(n for n in gm.graph.nodes if n.op == "placeholder")
        if isinstance(getattr(node.meta.get("grapharg"), "source", None), RandomValueSource)
        and isinstance(node.meta.get("example_value"), torch.Tensor)
    ]


def _line(node: torch.fx.Node) -> str:
    """The text of the line that a node is of; empty where nobody knows."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    places = [i for i, line in enumerate(lines) if _PLACE.match(line)]
    return "".join(lines[places[-1] + 1 : places[-1] + 2]) if places else ""


class Journal:
    """What a fork has found so far, for the case that it never comes back.  Close it."""

    def __init__(self) -> None:
        self._memory = forks.memory_file()
        self._place = forks.identity(self._memory)

    def write(self, what: str, value: Any) -> None:
        """Append one value; in the fork, whose user code may have closed what is not its own."""
        if self.whole():
            os.write(self._memory, json.dumps([what, value]).encode() + b"\n")

    def whole(self) -> bool:
        """Is it still there?  User code may have closed it."""
        return forks.identity(self._memory) == self._place

    def take(self, what: str) -> list[Any]:
        """All values of one kind; a line that was cut off is left out."""
        with os.fdopen(os.dup(self._memory), "rb") as f:
            f.seek(0)
            lines = f.read().splitlines()
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return [value for kind, value in found if kind == what]

    def close(self) -> None:
        """Forget it."""
        os.close(self._memory)


class Watch:
    """Breaks and errors heard while one callable ran."""

    def __init__(self, on_break: OnBreak | None) -> None:
        self.breaks: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []
        self.recompiles: list[hooks.Recompile] = []
        self.suspects: list[dict[str, Any]] = []
        self._on_break = on_break

    def on_break(self, record: dict[str, Any]) -> None:
        self.breaks.append(record)
        if self._on_break:
            self._on_break(record)

    def on_error(self, error: BaseException) -> None:
        self.errors.append(error)


@dataclass
class Outcome:
    """What one run in a fork gave."""

    result: Any = None  # snapshot
    error: str | None = None
    ops: list[int] = field(default_factory=list)
    breaks: list[dict[str, Any]] = field(default_factory=list)
    suspects: list[dict[str, Any]] = field(default_factory=list)  # breaks where the run failed, or gave other results
    inner_errors: list[str] = field(default_factory=list)
    recompiles: list[dict[str, Any]] = field(default_factory=list)  # Recompile, and whether it happens on each call
    options: list[str] = field(default_factory=list)  # the user's own, in words
    notes: list[str] = field(default_factory=list)  # of the inputs
    device: str | None = None  # the CUDA device it ran on
    would_raise: str | None = None


def call_compiled(compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call itself; the user's stack is read up to this frame."""
    return compiled(*args, **kwargs)


def run_callable(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    on_break: OnBreak | None = None,
    earlier: Counter | None = None,
    journal: Journal | None = None,
    lowers: bool = False,
) -> tuple[Any, Counter, Watch]:
    """Call `fn` compiled with the counting backend.  Returns its result, the graphs and what was heard; raises what it raises.

    `earlier`: the counter of an earlier call of the same entry, whose compiled code is used again where its guards hold.
    """
    if earlier is None:
        torch._dynamo.reset()
    counter, watch = earlier or Counter(journal, lowers), Watch(on_break)
    hooks.listen(watch.on_break, watch.on_error, watch.recompiles.append, watch.suspects.append)
    try:
        compiled = users_compile.compiled(fn, counter, users_compile.options_of(fn))
        result = call_compiled(compiled, args, kwargs)
    except BaseException as e:
        failure = getattr(e, hooks.FAILURE, None)
        if failure and records.is_known(failure):  # nobody caught it: where it works without Dynamo, that is a break
            watch.breaks.append(failure)
        e._graphglue_run = (counter, watch)  # type: ignore[attr-defined]
        raise
    return result, counter, watch


def blank(entry: Entry) -> dict[str, Any]:
    """The `entry` value of the wire protocol before anything ran."""
    return {
        "name": entry.name, "inputs": entry.inputs, "status": "no_inputs", "message": entry.message, "graphs": 0, "ops": [],
        "class": entry.cls, "file": os.path.abspath(entry.file) if entry.file else None, "line": entry.line, "breaks": [],
        "recompiles": [], "cuda": None,
    }  # fmt: skip


def run(
    entry: Entry, on_break: OnBreak | None = None, deadline_ms: int | None = None, ahead: "Twin | None" = None
) -> dict[str, Any]:
    """Capture one entry, with gradients where it takes some itself.  Returns the `entry` value of the wire protocol.

    `ahead`: a process that was told to capture it in place.  Where it could not, failed, or gave other results than the eager run, a fork is asked.
    """
    if entry.prepare is not None:
        entry.prepare()
    if entry.make is None:
        return told(blank(entry))
    deadline = forks.Deadline(deadline_ms or DEFAULT_DEADLINE_MS)
    found = _captured(entry, on_break, deadline, ahead)
    if found["status"] == "eager_error" and modes.wants(entry, found["message"], deadline):
        found = _captured(entry, None, deadline, None)  # what it met until then was told
    return found


def _captured(entry: Entry, on_break: OnBreak | None, deadline: forks.Deadline, ahead: "Twin | None") -> dict[str, Any]:
    out, journal = blank(entry), Journal()

    def in_a_fork(tell: OnBreak | None) -> "Outcome | forks.Lost":
        def note_break(record: dict[str, Any]) -> None:
            journal.write("break", record)
            if tell:
                tell(record)

        return forks.run(lambda: _compiled(entry, note_break, journal), deadline)

    try:
        found = ahead.capture(deadline) if ahead else None
        if ahead is None or found is None:
            return told(_judged(entry, out, in_a_fork(on_break), journal, deadline)[0])
        if not _failed(found):
            judged, right = _judged(entry, dict(out), found, ahead.journal, deadline)
            if right:
                return told(judged)
        return told(_judged(entry, out, in_a_fork(None), journal, deadline)[0])  # its breaks were told
    finally:
        journal.close()


def _failed(found: "Outcome | forks.Lost") -> bool:
    return found.status != "timeout" if isinstance(found, forks.Lost) else found.error is not None


def told(out: dict[str, Any]) -> dict[str, Any]:
    """The value, with the missing CUDA device where it is about one."""
    return {**out, "cuda": devices.NONE} if out["cuda"] is None and devices.missing(out["message"]) else out


def _judged(
    entry: Entry, out: dict[str, Any], compiled: "Outcome | forks.Lost", journal: Journal, deadline: forks.Deadline
) -> tuple[dict[str, Any], bool]:
    """The `entry` value for what the compiled run gave, next to an eager run; and whether the two agree, as far as can be said."""
    if isinstance(compiled, forks.Lost):
        ops = journal.take("ops")
        out.update(graphs=len(ops), ops=ops, breaks=journal.take("break"))
        if compiled.status == "timeout":
            return {**out, "status": "timeout", "message": compiled.message}, True
    else:
        out.update(graphs=len(compiled.ops), ops=compiled.ops, breaks=compiled.breaks, recompiles=compiled.recompiles)
    results, lost = streams.Stream(lambda: _eager_measured(entry, deadline), quiet=True).collect(deadline)
    if not results:
        assert lost
        status = "timeout" if lost.status == "timeout" else "crashed"
        return {**out, "status": status, "message": lost.message}, True
    eager = results[0]
    if eager.error is not None:
        return {**blank(entry), "status": "eager_error", "message": "; ".join([eager.error, *eager.notes])}, True
    if eager.device:
        out["cuda"] = results[1] if len(results) > 1 else {**devices.NONE, "device": eager.device}
    if isinstance(compiled, forks.Lost):
        return {**out, "status": "crashed", "message": f"only when compiled: {compiled.message}"}, True
    note = None
    if compiled.error is None:
        note = _difference(entry, eager.result, compiled.result, deadline)
    return finished(out, compiled, note), note is None


def finished(blank: dict[str, Any], compiled: Outcome, note: str | None) -> dict[str, Any]:
    """The `entry` value of the wire protocol.  `note`: what is wrong with the outputs."""
    status, words = _judge(compiled, note)
    wrong = compiled.error is not None or note is not None
    said = [blank["message"]] if blank["message"] else []  # of the inputs
    return {
        **blank,
        "status": status,
        "message": "; ".join([*words, *_recompiled(compiled.recompiles), *compiled.options, *compiled.notes, *said])
        or None,
        "graphs": len(compiled.ops),
        "ops": compiled.ops,
        "breaks": [*(compiled.suspects if wrong else []), *compiled.breaks],
        "recompiles": compiled.recompiles,
    }


def _eager(entry: Entry) -> Outcome:
    notes: list[str] = []
    try:
        call = entry.build(0)
        notes = call.notes
        with modes.grad_mode(call):
            result = call.fn(*call.args, **call.kwargs)
            return Outcome(snapshot.take(result), device=devices.used_by(call, result))
    except ImportFailure as e:
        return Outcome(error=str(e))
    except MemoryError:
        raise
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        words = devices.headed("running it without torch.compile raised " + _describe(e))
        return Outcome(error=words, notes=notes)


def _eager_measured(entry: Entry, deadline: forks.Deadline) -> "Iterator[Outcome | dict[str, Any]]":
    """The eager run, and behind it what it took of its CUDA device, where there is one and time enough."""
    start = time.monotonic()
    done = _eager(entry)
    yield done
    if done.device and deadline.left() > MEASURED_TIMES * (time.monotonic() - start):
        yield devices.measure(lambda: _caller(entry), done.device, deadline.left() / 2)


def _caller(entry: Entry) -> Callable[[], Any]:
    call = entry.build(0)

    def run() -> None:
        with modes.grad_mode(call):
            call.fn(*call.args, **call.kwargs)

    return run


def _compiled(entry: Entry, on_break: OnBreak, journal: Journal) -> Outcome:
    call = None
    try:
        call = entry.build(0)
        start, clock = time.process_time(), time.monotonic()
        with modes.grad_mode(call):
            result, counter, watch = run_callable(call.fn, call.args, call.kwargs, on_break, journal=journal)
        seconds, waited = time.process_time() - start, time.monotonic() - clock
        done = outcome(call, counter, watch, None)
        done.result = snapshot.take(result)
        if done.ops:
            done.recompiles += again.on_each_call(lambda: _recompiles(call, counter), seconds, waited)
        return done
    except MemoryError:
        raise
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        return outcome(call, *getattr(e, "_graphglue_run", (Counter(), Watch(None))), e)


def _recompiles(call: Call, counter: Counter) -> list[hooks.Recompile]:
    counter.forget_journal()
    with modes.grad_mode(call):
        return run_callable(call.fn, call.args, call.kwargs, earlier=counter)[2].recompiles


def outcome(call: Call | None, counter: Counter, watch: Watch, error: BaseException | None) -> Outcome:
    """What a run gave, but for its result."""
    options = users_compile.options_of(call.fn) if call else {}
    return Outcome(
        error=None if error is None else _words(error),
        ops=list(counter.ops),
        breaks=watch.breaks,
        suspects=watch.suspects,
        inner_errors=list(dict.fromkeys(map(_inner_words, watch.errors))),
        recompiles=[{**vars(r), "each_call": False} for r in watch.recompiles],
        options=users_compile.words_of(options),
        notes=call.notes if call else [],
        would_raise=_would_raise(watch.breaks, bool(options.get("fullgraph"))),
    )


def _would_raise(breaks: list[dict[str, Any]], fullgraph: bool) -> str | None:
    for record in breaks:
        whole = "this call" if fullgraph else users_compile.must_be_whole(record)
        if whole:
            return f"{whole} is compiled with fullgraph=True and would raise: {record['type']} ({record['id']})"
    return None


def _words(error: BaseException) -> str:
    """Type, first paragraph and place of an error of Dynamo's, or of user code."""
    said, told, after = str(error).partition("\n\nfrom user code:")  # added by Dynamo to whatever it raises
    if not told and not isinstance(error, torch._dynamo.exc.TorchDynamoException):
        return _describe(error)
    text = " ".join(line.strip() for line in said.split("\n\n")[0].partition("\n  Hint:")[0].splitlines())
    places = _PLACE.findall(after)
    where = f" ({os.path.basename(places[-1][0])} line {places[-1][1]})" if places else ""
    return f"{type(error).__name__}: {text}{where}"


def _inner_words(error: BaseException) -> str:
    return str(error) if isinstance(error, hooks.RecompileLimit) else f"Dynamo failed inside: {_words(error)}"


def _recompiled(recompiles: list[dict[str, Any]]) -> list[str]:
    """Phrases on functions that were compiled again, which is no break; none when there were none."""
    each = [r for r in recompiles if r["each_call"]]
    words = _recompiled_words("compiled again for other arguments", [r for r in recompiles if not r["each_call"]])
    return words + _recompiled_words("compiled anew on each call, also for the same arguments", each, count=False)


def _recompiled_words(what: str, recompiles: list[dict[str, Any]], count: bool = True) -> list[str]:
    last = {(r["file"], r["function"]): r["reason"] for r in recompiles}
    times = Counted((r["file"], r["function"]) for r in recompiles)
    told = [
        f"{key[1]}{f' {n} time' * count}{'s' * (n > 1 and count)}{f' (failed guard: {last[key]})' * bool(last[key])}"
        for key, n in times.most_common(3)
    ]
    more = f" and {len(times) - 3} more" if len(times) > 3 else ""
    return [f"{what}: {', '.join(told)}{more}"] if told else []


def _difference(entry: Entry, expected: Any, got: Any, deadline: forks.Deadline) -> str | None:
    """In which way the compiled run's result is wrong; None when it is right, or differs from one eager run to the next."""
    found = compare.difference(expected, got)
    if not found.value:  # how memory is laid out and shared is not judged here
        return None
    again = forks.run(lambda: _eager(entry), deadline, quiet=True)
    if not isinstance(again, forks.Lost) and compare.difference(expected, again.result, compiled=False).value:
        return None
    return f"compiled outputs differ from eager ones: {found.words}"


def _judge(compiled: Outcome, note: str | None) -> tuple[str, list[str]]:
    """The entry's status, and what there is to say of it.  `note`: what is wrong with the outputs."""
    notes = [note] if note else []
    if compiled.error is not None:
        return "capture_error", [f"running it compiled raised {compiled.error}"]
    if compiled.breaks:
        whole = [compiled.would_raise] if compiled.would_raise else []
        return "breaks", [*whole, *notes, *compiled.inner_errors[:1]]
    if compiled.inner_errors or note:
        return "capture_error", [*compiled.inner_errors[:1], *notes]
    if not compiled.ops:
        return "nothing_to_capture", ["no tensor operation was found to capture"]
    if len(compiled.ops) == 1:
        return "captured", []
    return "breaks", [f"captured as {len(compiled.ops)} graphs, with no graph break reported by Dynamo"]
