"""One run of an entry under Dynamo with a backend that only counts, in default mode.

The compiled run and the eager run it is compared with each have a fork of their own: earlier runs change what is traced and what
module-level state holds.  The process that calls `run` is left as it was.
"""

import contextlib
import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo

from graphglue_worker import compare, forks, hooks
from graphglue_worker.inputs import Call, Entry, ImportFailure, _describe

DEFAULT_DEADLINE_MS = 60_000
OPTIONS = "_graphglue_compile_options"
_PLACE = re.compile(r'File "(.+)", line (\d+)')
_compile = torch.compile
OnBreak = Callable[[dict[str, Any]], None]


class Counter:
    """The pass-through backend: counts graphs and the call nodes of each, and runs the graph as it is."""

    def __init__(self) -> None:
        self.ops: list[int] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.ops.append(sum(n.op in ("call_function", "call_method", "call_module") for n in gm.graph.nodes))
        return gm.forward


class Watch:
    """Breaks and errors heard while one callable ran."""

    def __init__(self, on_break: OnBreak | None) -> None:
        self.breaks: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []
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
    inner_errors: list[str] = field(default_factory=list)
    fullgraph: bool = False


def replace_compile() -> None:
    """User code that calls torch.compile or Module.compile would run its own backend: keep its options, return the callable."""

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return functools.partial(compile, **options)
        try:
            setattr(model, OPTIONS, options)
        except AttributeError:
            pass
        return model

    torch.compile = compile
    torch.nn.Module.compile = lambda self, *a, **k: setattr(self, OPTIONS, k)  # type: ignore[method-assign]


def options_of(fn: Any) -> dict[str, Any]:
    """Options of the user's own torch.compile site, if the callable passed through one."""
    return getattr(fn, OPTIONS, None) or getattr(getattr(fn, "forward", None), OPTIONS, None) or {}


def call_compiled(compiled: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call itself; the user's stack is read up to this frame."""
    return compiled(*args, **kwargs)


def run_callable(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    on_break: OnBreak | None = None,
    again: Counter | None = None,
) -> tuple[Any, Counter, Watch]:
    """Call `fn` compiled with the counting backend.  Returns its result, the graphs and what was heard; raises what it raises.

    `again`: the counter of an earlier call of the same entry, whose compiled code is used again where its guards hold.
    """
    if again is None:
        torch._dynamo.reset()
    counter, watch = again or Counter(), Watch(on_break)
    hooks.listen(watch.on_break, watch.on_error)
    options = {k: v for k, v in options_of(fn).items() if k == "dynamic"}
    try:
        result = call_compiled(_compile(fn, backend=counter, **options), args, kwargs)
    except BaseException as e:
        e._graphglue_run = (counter, watch)  # type: ignore[attr-defined]
        raise
    return result, counter, watch


def grad_mode(call: Call) -> contextlib.AbstractContextManager[Any]:
    """No gradients unless the call wants them."""
    return contextlib.nullcontext() if call.grad else torch.no_grad()


def blank(entry: Entry) -> dict[str, Any]:
    """The `entry` value of the wire protocol before anything ran."""
    return {
        "name": entry.name, "inputs": entry.inputs, "status": "no_inputs", "message": entry.message, "graphs": 0, "ops": [],
        "class": entry.cls, "file": os.path.abspath(entry.file) if entry.file else None, "line": entry.line, "breaks": [],
    }  # fmt: skip


def run(entry: Entry, on_break: OnBreak | None = None, deadline_ms: int | None = None) -> dict[str, Any]:
    """Capture one entry.  Returns the `entry` value of the wire protocol."""
    out = blank(entry)
    if entry.make is None:
        return out
    deadline = forks.Deadline(deadline_ms or DEFAULT_DEADLINE_MS)
    compiled = forks.run(lambda: _compiled(entry, on_break), deadline)
    if isinstance(compiled, forks.Lost) and compiled.status == "timeout":
        return {**out, "status": "timeout", "message": compiled.message}
    eager = forks.run(lambda: _eager(entry), deadline, quiet=True)
    if isinstance(eager, forks.Lost):
        return {**out, "status": "timeout" if eager.status == "timeout" else "crashed", "message": eager.message}
    if eager.error is not None:
        return {**out, "status": "eager_error", "message": eager.error}
    if isinstance(compiled, forks.Lost):
        return {**out, "status": "crashed", "message": f"only when compiled: {compiled.message}"}
    out.update(graphs=len(compiled.ops), ops=compiled.ops, breaks=compiled.breaks)
    note = None
    if compiled.error is None:
        note = _difference(entry, eager.result, compiled.result, deadline)
    out["status"], out["message"] = _judge(compiled, note)
    return out


def _eager(entry: Entry) -> Outcome:
    assert entry.make is not None
    try:
        call = entry.make(0)
        with grad_mode(call):
            return Outcome(compare.snapshot(call.fn(*call.args, **call.kwargs)))
    except ImportFailure as e:
        return Outcome(error=str(e))
    except MemoryError:
        raise
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        return Outcome(error="running it without torch.compile raised " + _describe(e))


def _compiled(entry: Entry, on_break: OnBreak | None) -> Outcome:
    assert entry.make is not None
    outcome = Outcome()
    counter, watch = Counter(), Watch(None)
    try:
        call = entry.make(0)
        outcome.fullgraph = bool(options_of(call.fn).get("fullgraph"))
        with grad_mode(call):
            result, counter, watch = run_callable(call.fn, call.args, call.kwargs, on_break)
        outcome.result = compare.snapshot(result)
    except MemoryError:
        raise
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        outcome.error = _words(e)
        counter, watch = getattr(e, "_graphglue_run", (counter, watch))
    outcome.ops, outcome.breaks = counter.ops, watch.breaks
    outcome.inner_errors = [_words(e) for e in watch.errors]
    return outcome


def _words(error: BaseException) -> str:
    """Type, first paragraph and place of an error of Dynamo's, or of user code."""
    if not isinstance(error, torch._dynamo.exc.TorchDynamoException):
        return _describe(error)
    said, _, after = str(error).partition("\n\nfrom user code:")
    text = " ".join(line.strip() for line in said.split("\n\n")[0].partition("\n  Hint:")[0].splitlines())
    places = _PLACE.findall(after)
    where = f" ({os.path.basename(places[-1][0])} line {places[-1][1]})" if places else ""
    return f"{type(error).__name__}: {text}{where}"


def _difference(entry: Entry, expected: Any, got: Any, deadline: forks.Deadline) -> str | None:
    """In which way the compiled run's result is wrong; None when it is right, or differs from one eager run to the next."""
    found = compare.difference(expected, got)
    if found.same:
        return None
    again = forks.run(lambda: _eager(entry), deadline, quiet=True)
    if not isinstance(again, forks.Lost) and not compare.difference(expected, again.result).same:
        return None
    return f"compiled outputs differ from eager ones: {found.words}"


def _judge(compiled: Outcome, note: str | None) -> tuple[str, str | None]:
    if compiled.error is not None:
        return "capture_error", f"running it compiled raised {compiled.error}"
    if compiled.breaks:
        words = [note] if note else []
        if compiled.fullgraph:
            words.insert(0, f"this call is compiled with fullgraph=True and would raise: {compiled.breaks[0]['type']}")
        words += compiled.inner_errors[:1]
        return "breaks", "; ".join(words) or None
    if compiled.inner_errors:
        return "capture_error", f"Dynamo failed inside: {compiled.inner_errors[0]}"
    if note:
        return "capture_error", note
    if not compiled.ops:
        return "nothing_to_capture", "no tensor operation was found to capture"
    if len(compiled.ops) == 1:
        return "captured", None
    return "breaks", f"captured as {len(compiled.ops)} graphs, with no graph break reported by Dynamo"
