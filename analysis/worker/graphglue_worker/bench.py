"""How long an entry takes and how much memory its tensors hold: without the compiler, compiled as it was, and compiled as it was mended.

Each figure has a fork of its own, one after the other, so that none takes processor time from another.  The compiler is Inductor where it can
work, else the pass-through backend, and then the figures say what Dynamo alone does.
"""

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphglue_worker import devices, forks, inputs, modes, overlay, streams, users_compile, wire
from graphglue_worker.inputs import Entry

DEFAULT_DEADLINE_MS = 300_000
WARM_UPS = 3  # calls before the ones that count; the first compiles
MIN_RUNS, MAX_RUNS = 7, 200
RUNS_S = 2.0  # as many calls as fit, between those

Figures = dict[str, Any]
Found = tuple[str, str, Figures]  # entry, which, figures
_MODE = "mode"  # the entry runs with gradients though nothing asks for them


def run(request: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Send one `bench` frame for each entry that can be run."""
    file = os.path.abspath(request["file"])
    original = {f["file"]: f["text"] for f in request.get("original") or []}
    edited = {**original, **{f["file"]: f["text"] for f in request.get("edited") or []}}
    found: list[Found] = []
    known: modes.Modes = dict(request.get("modes") or {})
    for files, which in ((original, ("eager", "before")), (edited, ("after",))):

        def side(files: dict[str, str] = files, which: tuple[str, ...] = which) -> Iterator[Found]:
            return _side(file, files, request, which, known)

        results, lost = streams.Stream(side).collect(forks.Deadline(1 << 31))  # the job's own deadline ends it
        if lost:
            raise RuntimeError(lost.message)
        found += [r for r in results if r[1] != _MODE]
        known.update((name, True) for name, which, _ in results if which == _MODE)
    for name in dict.fromkeys(name for name, _, _ in found):
        figures = {which: f for n, which, f in found if n == name}
        told = {"name": name, **{which: _told(figures.get(which)) for which in ("eager", "before", "after")}}
        compiled = figures.get("after") or figures.get("before") or {}
        told.update(device=compiled.get("device"), backend=compiled.get("backend"), note=compiled.get("note"))
        send({"op": "bench", "bench": told})


def _told(figures: Figures | None) -> Figures:
    keys = ("graphs", "runs", "first_ms", "median_ms", "spread_ms", "peak_bytes", "error")
    return {key: (figures or {}).get(key) for key in keys}


def _side(
    file: str, files: dict[str, str], request: dict[str, Any], which: tuple[str, ...], known: modes.Modes
) -> Iterator[Found]:
    overlay.install(files)
    users_compile.replace()
    wanted = request.get("entries")
    deadline_ms = request.get("deadline_ms") or DEFAULT_DEADLINE_MS
    for entry in inputs.load(file, bool(request.get("train")), known=known):
        if entry.prepare is not None:
            entry.prepare()
        if entry.make is None or (wanted is not None and entry.name not in wanted):
            continue
        for each in which:
            compiles = each != "eager"

            def work(entry: Entry = entry, compiles: bool = compiles) -> Figures:
                return _measure(entry, compiles)

            with contextlib.suppress(wire.ChannelLost):  # the deadline is that of one figure
                wire.report({"op": "progress", "message": f"{entry.name}: {each}"})
            figures = forks.run(work, forks.Deadline(deadline_ms), quiet=True)
            if not (compiles or isinstance(figures, forks.Lost)):
                if modes.wants(entry, figures.get("error"), forks.Deadline(deadline_ms)):
                    yield entry.name, _MODE, {}
                    figures = forks.run(work, forks.Deadline(deadline_ms), quiet=True)
            yield entry.name, each, {"error": figures.message} if isinstance(figures, forks.Lost) else figures


def _measure(entry: Entry, compiles: bool) -> Figures:
    try:
        call = entry.build(0)
        device = devices.used_by(call, None) or "cpu"
        out: Figures = {"device": device}
        fn = call.fn
        if compiles:
            backend = Backend(device)
            out.update(backend=backend.name, note=backend.note)
            torch._dynamo.reset()
            fn = users_compile.compiled(call.fn, backend, users_compile.options_of(call.fn))
        with modes.grad_mode(call):
            out.update(_timed(lambda: fn(*call.args, **call.kwargs), device))
        return {**out, "graphs": backend.graphs if compiles else None}
    except MemoryError:
        raise
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code, or the compiler
        return {"error": inputs._describe(e)}


class Backend:
    """The compiler for a device; counts the graphs it is given."""

    def __init__(self, device: str) -> None:
        self.graphs = 0
        missing = _missing(device)
        self.name = "pass-through" if missing else "inductor"
        self.note = f"{missing}: graphs run as they are" if missing else None
        if not missing:
            import torch._inductor.config

            torch._inductor.config.compile_threads = 1  # type: ignore[attr-defined]  # no processes that outlive the fork

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        if self.name != "inductor":
            return gm.forward
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(gm, example_inputs)  # type: ignore[return-value]


def _missing(device: str) -> str | None:
    """What Inductor lacks for a device; None when it can compile."""
    from torch._inductor import config
    from torch._inductor.cpp_builder import get_cpp_compiler

    named = os.environ.get("CXX")
    if named:  # the worker had read these settings before it had the user's environment
        config.cpp.cxx = (None, named)
    try:
        get_cpp_compiler()
    except Exception:  # noqa: BLE001 - of a type that differs between versions
        return "no C++ compiler was found"
    if device != "cpu":
        from torch.utils._triton import has_triton

        return None if has_triton() else "Triton cannot be used"
    return None


def _timed(call: Callable[[], Any], device: str) -> Figures:
    start = time.perf_counter()
    call()
    _wait(device)
    first = time.perf_counter() - start
    for _ in range(WARM_UPS - 1):
        call()
    _wait(device)
    clock = _cuda_ms if device != "cpu" else _cpu_ms
    times: list[float] = []
    end = time.perf_counter() + RUNS_S
    while len(times) < MIN_RUNS or (len(times) < MAX_RUNS and time.perf_counter() < end):
        times.append(clock(call))
    low, _, high = statistics.quantiles(times, n=4)
    return {
        "runs": len(times),
        "first_ms": first * 1000,
        "median_ms": statistics.median(times),
        "spread_ms": high - low,
        "peak_bytes": _peak_bytes(call, device),
        "error": None,
    }


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def _cpu_ms(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def _cuda_ms(call: Callable[[], Any]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def _peak_bytes(call: Callable[[], Any], device: str) -> int | None:
    """The most that tensors made by one call hold at a time, by torch's count."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        _wait(device)
        return torch.cuda.max_memory_allocated(device) - before
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            call()
        events = profile.profiler.kineto_results.events()  # type: ignore[union-attr]
        sizes = sorted((e.start_ns(), i, e.nbytes()) for i, e in enumerate(events) if e.name() == "[memory]")
    except (AttributeError, RuntimeError):  # a torch that tells it otherwise
        return None
    held = peak = 0
    for _, _, size in sizes:
        held += size
        peak = max(peak, held)
    return peak
