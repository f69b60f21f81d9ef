"""One run of an entry under Dynamo with a backend that only counts, in default mode."""

import contextlib
import functools
import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo

from graphglue_worker import compare, hooks
from graphglue_worker.inputs import Call, Entry, ImportFailure, _describe

_compile = torch.compile
OPTIONS = "_graphglue_compile_options"


class Counter:
    """The pass-through backend: counts graphs and the call nodes of each, and runs the graph as it is."""

    def __init__(self) -> None:
        self.ops: list[int] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.ops.append(sum(n.op in ("call_function", "call_method", "call_module") for n in gm.graph.nodes))
        return gm.forward


class Watch:
    """Breaks and errors heard while one callable ran."""

    def __init__(self, on_break: Callable[[dict[str, Any]], None] | None) -> None:
        self.breaks: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []
        self._on_break = on_break

    def on_break(self, record: dict[str, Any]) -> None:
        self.breaks.append(record)
        if self._on_break:
            self._on_break(record)

    def on_error(self, error: BaseException) -> None:
        self.errors.append(error)


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
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], on_break: Callable[[dict[str, Any]], None] | None = None
) -> tuple[Any, Counter, Watch]:
    """Call `fn` compiled with the counting backend.  Returns its result, the graphs and what was heard; raises what it raises."""
    torch._dynamo.reset()
    counter, watch = Counter(), Watch(on_break)
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
    """The `entry` value before anything was run."""
    return {
        "name": entry.name,
        "inputs": entry.inputs,
        "status": "no_inputs",
        "message": entry.message,
        "graphs": 0,
        "ops": [],
        "class": entry.cls,
        "file": os.path.abspath(entry.file) if entry.file else None,
        "line": entry.line,
        "breaks": [],
    }


def run(entry: Entry, on_break: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
    """Capture one entry: eager once for what is right, then compiled.  Returns the `entry` value of the wire protocol."""
    out = blank(entry)
    if entry.make is None:
        return out
    try:
        call = entry.make(0)
        with grad_mode(call):
            expected = compare.snapshot(call.fn(*call.args, **call.kwargs))
    except (Exception, SystemExit) as e:
        what = "" if isinstance(e, ImportFailure) else "running it without torch.compile raised "
        return {**out, "status": "eager_error", "message": what + _describe(e)}
    counter, watch, error, got = None, None, None, None
    try:
        call = entry.make(0)
        with grad_mode(call):
            result, counter, watch = run_callable(call.fn, call.args, call.kwargs, on_break)
        got = compare.snapshot(result)
    except (Exception, SystemExit) as e:
        error = e
        counter, watch = getattr(e, "_graphglue_run", (Counter(), Watch(None)))
    out.update(graphs=len(counter.ops), ops=counter.ops, breaks=watch.breaks)
    out["status"], out["message"] = _judge(out, watch, error, expected, got)
    if options_of(call.fn).get("fullgraph") and out["breaks"]:
        out["message"] = "this call is compiled with fullgraph=True and would raise: " + out["breaks"][0]["type"]
    return out


def _judge(out: dict[str, Any], watch: Watch, error: BaseException | None, expected: Any, got: Any) -> tuple[str, str | None]:
    if error is not None:
        return "capture_error", "running it compiled raised " + "".join(
            traceback.format_exception_only(type(error), error)
        ).strip().split("\n\nSet TORCHDYNAMO_VERBOSE")[0]
    difference = compare.difference(expected, got)
    note = None if difference.same else f"compiled outputs differ from eager ones: {difference.words}"
    if out["breaks"]:
        return "breaks", note
    if watch.errors:
        return "capture_error", f"Dynamo failed inside: {_describe(watch.errors[0])}"
    if note:
        return "capture_error", note
    if out["graphs"] == 0:
        return "nothing_to_capture", "no tensor operation was found to capture"
    if out["graphs"] == 1:
        return "captured", None
    return "breaks", f"captured as {out['graphs']} graphs, with no graph break reported by Dynamo"
