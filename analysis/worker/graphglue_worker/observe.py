"""Everything visible of calls of an entry: on several input sets, once more on the same instance, in the other mode, and its gradients.

What a call leaves behind is compared too: its arguments, parameters and buffers, what the module and the user's modules hold, random
state, what it printed, logged or warned, and the exception it raised.

Values are varied because an edit is often wrong for some only: a branch is not taken, a divisor is never zero, nothing is NaN.
"""

import contextlib
import io
import logging
import os
import pdb
import re
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree

from graphglue_worker import (
    capture,
    forks,
    inputs,
    left_behind,
    modes,
    proposed,
    restored,
    snapshot,
    streams,
    varied,
)
from graphglue_worker.inputs import Call, Entry

CPU_LIMIT_S, CPU_LIMIT_TIMES = (
    1.0,
    20,
)  # of a call on values that are not the user's: this, and so many times what others took
VARIED_S = 0.25  # of processor time for variations of the given inputs
FILL, OTHER_FILL = 0x5A, 0xA5
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_made_once: tuple[Entry, restored.State] | None = None  # torch modules that are globals, before the entry's first call


@dataclass(frozen=True)
class Plan:
    """One input set.  `change`: applied to floating inputs (to floating parameters where there are none); the others stay."""

    words: str
    seed: int = 0
    change: varied.Change | None = None
    foreign: bool = False  # values a program may not expect: it may loop without end or ask for much memory
    longer: tuple[int, int] | None = (
        None  # a dimension, and by how much (down to one): asked only of what the original can do
    )
    expression: proposed.Expression | None = None  # by a model: asked only of what the original can do, too
    steps: tuple[varied.Step, ...] = ()  # a variation of the given inputs: asked only of what the original can do, too


@dataclass
class Run:
    """Everything visible of one call.

    `error`: type and text; `described`: with its place.  `held`: attributes of modules and globals of the workspace, by name.  `ended`:
    false when it was over its limit."""

    plan: str
    output: Any = None
    error: tuple[str, str] | None = None
    described: str = ""
    inputs: Any = None
    state: Any = None
    state_keys: list[str] = field(default_factory=list)
    held: dict[str, bytes] = field(default_factory=dict)
    before: dict[str, bytes] = field(default_factory=dict)  # what was held before any call, of the first run
    random: dict[str, bytes] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    ended: bool = True
    graphs: int = 0  # compiled in this call
    misread: list[str] = field(default_factory=list)  # lines that use a drawn number, which Inductor would misread
    seconds: float = 0.0  # that the call took


@dataclass
class Gradients:
    """Of the sum of all floating outputs, for parameters and floating inputs by name; None when the call is not differentiable.
    `raised`: the call itself did, because its inputs require gradients."""

    plan: str
    of: dict[str, Any] | None
    raised: bool = False


LARGE = Plan("large values", 0, varied.hundredfold, foreign=True)
PLANS = (
    Plan("the given inputs"),
    Plan("inputs from seed 1", 1),
    Plan("inputs from seed 2", 2),
    Plan("other values of the same shapes", 0, varied.mirrored),
    Plan("zeros", 0, torch.zeros_like),
    LARGE,
    Plan("values that are not finite", 0, varied.not_finite, foreign=True),
)
MORE_ROWS = (
    Plan("inputs of one more row", 0, foreign=True, longer=(0, 1)),
    Plan("inputs of two more rows", 0, foreign=True, longer=(0, 2)),
)
LONGER = Plan("inputs longer in the second dimension", 0, foreign=True, longer=(1, 1))
SINGLE = Plan("inputs of a single row", 0, foreign=True, longer=(0, -sys.maxsize))
OTHER_SIZES = (*MORE_ROWS, LONGER, SINGLE)
GIVEN, AGAIN, OTHER, ZEROS = PLANS[0], "a second call of the same instance", PLANS[3], PLANS[4]
TWO_CALLS, COMPILED = ", two calls of one instance", ", compiled"
DIFFERENTIATED = (GIVEN, OTHER, ZEROS)
IN_THE_OTHER_MODE = f"{GIVEN.words}, in the other mode"
BRANCHES = (
    "the given inputs, with gradients",
    "the given inputs, with gradients in the other mode",
)  # of graphs with control flow
FURTHER, FURTHER_TIMES = "further calls of the same instance", 2
UNUSUAL = {plan.words for plan in PLANS if plan.foreign}  # values that are not the user's
RESIZED = {plan.words for plan in OTHER_SIZES}
_PROPOSED = "the proposed inputs "
SIZES_LEARNT = MORE_ROWS[1].words  # Dynamo has met another size before this one
SHORT_S = 1.0  # what takes longer to compile is not compiled for other sizes


class Timeout(BaseException):
    """The call used up its time."""


def plan_of(expression: proposed.Expression) -> Plan:
    """The input set that a model proposes; its words are not those of another one."""
    return Plan(f"{_PROPOSED}`{expression.words}`", 0, foreign=True, expression=expression)


def is_optional(words: str) -> bool:
    """Is that input set asked only of what the original can do?"""
    return words in RESIZED or words.startswith((_PROPOSED, varied.GIVEN_WITH))


def is_unusual(words: str) -> bool:
    """Are its values not the user's?"""
    return words in UNUSUAL or words.startswith((_PROPOSED, varied.GIVEN_WITH))


def is_extra(words: str) -> bool:
    """Is it one of other sizes, or a variation of the given inputs?  Then it is asked only of what the original repeats."""
    return words in RESIZED or is_varied(words)


def is_varied(words: str) -> bool:
    """Is it a variation of the given inputs?"""
    return words.startswith(varied.GIVEN_WITH)


def is_strided(words: str) -> bool:
    """Has it strides that are not the user's?"""
    return is_varied(words) and varied.STRIDES in words


def rounded_to(words: str) -> torch.dtype | None:
    """The dtype that its tensors have and the user's have not, or that they are rounded to on the way: what is exact in one dtype need not be so in
    another."""
    return next((dtype for name, dtype in varied.DTYPES.items() if is_varied(words) and name in words), None)


def is_large(words: str) -> bool:
    """Are its values far larger than the user's?"""
    return words == LARGE.words


def is_without_rows(words: str) -> bool:
    """Has it no rows?"""
    return is_varied(words) and varied.NO_ROWS in words


# Warns, once in a process, of calls that it cannot trace: which it comes to depends on the breaks before them.
_TRACER = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "variables", "")


class _Effects(contextlib.AbstractContextManager["_Effects"]):
    """Collects what is printed (by C code too), logged (outside torch) and warned (not by Dynamo) while it is active.  A stop in Python's debugger
    is noted, and the program goes on as when somebody types `continue`: the debugger would show line numbers, which an edit may move."""

    def __enter__(self) -> "_Effects":
        self.lines: list[str] = []
        self._saved = (sys.stdout, sys.stderr, logging.Logger.callHandlers, warnings.showwarning, pdb.Pdb.set_trace)
        self._out, self._err = io.StringIO(), io.StringIO()
        forks.flush()
        self._descriptors, self._memory = [os.dup(1), os.dup(2)], forks.memory_file()
        os.dup2(self._memory, 1)
        os.dup2(self._memory, 2)
        sys.stdout, sys.stderr = self._out, self._err
        lines = self.lines

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            if record.name.split(".")[0] != "torch":
                lines.append(f"{record.name} {record.levelname} {record.getMessage()}")

        logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]

        def show(message: Warning | str, category: type[Warning], filename: str, *_: Any) -> None:
            if not filename.startswith(_TRACER):
                lines.append(f"{category.__name__} {message}")

        warnings.showwarning = show  # type: ignore[assignment]
        pdb.Pdb.set_trace = lambda *_, **__: lines.append("stopped in the debugger")  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr, logging.Logger.callHandlers, warnings.showwarning, pdb.Pdb.set_trace = self._saved  # type: ignore[method-assign]
        forks.flush()  # what was written past them belongs to this call
        for target, saved in enumerate(self._descriptors, 1):
            os.dup2(saved, target)
            os.close(saved)
        os.lseek(self._memory, 0, os.SEEK_SET)
        with os.fdopen(self._memory, "rb") as f:
            written = f.read().decode("utf-8", "replace")
        self.lines[:0] = [text for text in (self._out.getvalue(), self._err.getvalue(), written) if text]


@contextlib.contextmanager
def _cpu_limit(seconds: float | None) -> Iterator[None]:
    """Raise Timeout in the code below when it has used this much processor time.  Only where the process has one thread."""
    if seconds is None:
        yield
        return

    def over(*_: object) -> None:
        raise Timeout

    previous = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _build(entry: Entry, plan: Plan) -> Call | None:
    """The entry's callable and arguments, anew, or, what the file made once, as it was before the entry's first call; None when the plan cannot be
    had of them."""
    global _made_once  # noqa: PLW0603 - of this process, which is nearly always a fork for one entry
    made = _made_once[1] if _made_once is not None and _made_once[0] is entry else None
    if made is not None:
        made.restore()
    call = entry.build(plan.seed)
    if made is None:  # lazy modules have their parameters by now
        _made_once = (entry, restored.State(left_behind.global_modules()))
    if plan.expression is not None:
        try:
            call.args, call.kwargs = plan.expression.arguments(call.args, call.kwargs, plan.seed)
        except proposed.Refused:
            return None
        inputs.seed_all(plan.seed)
        return call
    if plan.longer is not None:
        return call if varied.resize(call, *plan.longer) else None
    if plan.change is not None:
        varied.change_floats(call, plan.change)
    return call if all(step(call) for step in plan.steps) else None


class Compiled:
    """Calls under Dynamo with the counting backend; the input sets share compiled code, as the calls of a program do."""

    def __init__(self) -> None:
        self.counter = capture.Counter()
        self.outcome: capture.Outcome | None = None  # of the first call, as a capture gives it

    def call(self, call: Call) -> Any:
        """Returns what the call returns, raises what it raises."""
        error, watch = None, capture.Watch(None)
        first = self.outcome is None
        try:
            result, self.counter, watch = capture.run_callable(
                call.fn, call.args, call.kwargs, earlier=None if first else self.counter, lowers=True
            )
            return result
        except BaseException as e:
            error = e
            if first:
                self.counter, watch = getattr(e, "_graphglue_run", (self.counter, watch))
            raise
        finally:
            if first:
                self.outcome = capture.outcome(call, self.counter, watch, error)


def measure(
    entry: Entry, compiled: Compiled | None = None, plans: tuple[Plan, ...] = (*PLANS, *OTHER_SIZES)
) -> Iterator[Run | type[streams.Pause]]:
    """Call the entry on the input sets, the first time on the given ones, and on those a second time.  Stops where a call does not end.
    Pauses before what is only asked of an edit that holds so far: other sizes, and whether it is compiled anew each time.

    Under the compiler, what was compiled for the second call is tried once more at the end: is it compiled anew each time?  What takes long
    to compile is not compiled for other sizes."""
    limit, anew, unsettled, short, paused = None, None, None, True, False
    for i, plan in enumerate(plans):
        if (plan.longer or plan.expression) and compiled and not short:
            continue
        if plan.longer and not paused:
            paused = True
            yield streams.Pause
        before = time.process_time()
        try:
            call = _build(entry, plan)
        except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
            yield _failed(Run(plan.words), e)
            continue
        if call is None:
            continue
        held = left_behind.held(varied.owner(call.fn)) if i == 0 else {}
        run = _observe(
            call, plan.words, 100 + plan.seed, compiled, (anew if plan.longer else limit) if plan.foreign else None
        )
        run.before = held
        yield run
        if not run.ended:
            return
        if i == 0:
            took = time.process_time() - before
            short = took < SHORT_S
            anew = CPU_LIMIT_S + CPU_LIMIT_TIMES * took  # another size may be compiled anew
        if i == 0 and run.error is None:
            second = _again(entry, call, compiled)
            yield second
            unsettled = call if second.graphs else None
        if i == 1:
            limit = CPU_LIMIT_S + CPU_LIMIT_TIMES * (time.process_time() - before)
            if run.graphs and not plan.longer:
                break  # every new instance is compiled anew: that would cost more than it shows
    if unsettled is not None:
        if not paused:
            paused = True
            yield streams.Pause
        runs = [_again(entry, unsettled, compiled) for _ in range(FURTHER_TIMES)]
        yield Run(FURTHER, graphs=min(run.graphs for run in runs))
    if compiled and compiled.counter.branches:
        if not paused:
            yield streams.Pause
        yield from _of_branches(entry, compiled, anew)


def _again(entry: Entry, call: Call, compiled: Compiled | None) -> Run:
    """The same instance called with the given inputs, made anew."""
    again = entry.build(GIVEN.seed)
    again.fn = call.fn
    return _observe(again, AGAIN, 200, compiled, None)


def _failed(run: Run, error: BaseException) -> Run:
    run.error = (type(error).__name__, _ADDRESS.sub("0x…", str(error)))
    run.described = str(error) if isinstance(error, inputs.ImportFailure) else inputs._describe(error)
    return run


def _observe(call: Call, plan: str, seed: int, compiled: Compiled | None, limit: float | None) -> Run:
    run, seen = Run(plan), snapshot.Run()
    owner, graphs = varied.owner(call.fn), len(compiled.counter.ops) if compiled else 0
    misread = len(compiled.counter.misread) if compiled else 0
    inputs.seed_all(seed)
    begun = time.monotonic()
    with _Effects() as effects, modes.grad_mode(call), warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            with _cpu_limit(limit), call.under():
                result = compiled.call(call) if compiled is not None else call.fn(*call.args, **call.kwargs)
                run.output = snapshot.take(result, seen)
        except Timeout:
            run.ended = False
            run.error = ("Timeout", "it does not end")
        except MemoryError:
            if limit is None:
                raise
            run.ended = False
            run.error = ("MemoryError", "")
        except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
            _failed(run, e)
    run.seconds = time.monotonic() - begun
    run.graphs = len(compiled.counter.ops) - graphs if compiled else 0
    run.misread = compiled.counter.misread[misread:] if compiled else []
    run.printed = [_ADDRESS.sub("0x…", line) for line in effects.lines]
    run.inputs = snapshot.take((call.args, call.kwargs), seen)
    if isinstance(owner, torch.nn.Module):
        state = dict((*owner.named_parameters(), *owner.named_buffers()))
        state.update((f"{k}.grad", v.grad) for k, v in [*state.items()] if v.is_leaf and v.grad is not None)
        run.state = snapshot.take(state, seen)
        run.state_keys = list(owner.state_dict())
    run.held = left_behind.held(owner)
    run.random = left_behind.random_state()
    return run


def gradients(
    entry: Entry, plan: Plan, flip: bool = False, calls: int = 1, compiled: Compiled | None = None
) -> Gradients:
    """Gradients on one input set, in eager mode without `compiled`.  `flip`: in training mode when the entry is in evaluation mode, and the other way
    round.  `calls`: of the sum of so many calls of one instance: what one leaves behind may be needed by another's backward pass."""
    words = f"{plan.words}, in the other mode" if flip else plan.words
    words += TWO_CALLS if calls > 1 else ""
    words += COMPILED if compiled else ""
    call = _build(entry, plan)
    assert call is not None
    owner = varied.module(call.fn)
    if flip and owner is not None:
        owner.train(not owner.training)
    tensors = [x for x in _pytree.tree_leaves((call.args, call.kwargs)) if isinstance(x, torch.Tensor)]
    wanted = [x for x in tensors if x.is_leaf and (x.is_floating_point() or x.is_complex())]
    ran = False
    with _Effects(), torch.enable_grad(), warnings.catch_warnings():
        try:
            for x in wanted:
                x.requires_grad_(True)
            named = [(f"input {i}", x) for i, x in enumerate(wanted)]
            if owner is not None:
                named += [(n, p) for n, p in owner.named_parameters() if p.requires_grad]
            inputs.seed_all(7)
            results = [compiled.call(call) if compiled else call.fn(*call.args, **call.kwargs) for _ in range(calls)]
            leaves = _pytree.tree_leaves(results)
            ran = True
            outputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad and x.is_floating_point()]
            if not outputs or not named:
                return Gradients(words, None)
            grads = torch.autograd.grad([x.sum() for x in outputs], [x for _, x in named], allow_unused=True)
        except (Exception, SystemExit):  # noqa: BLE001 - not differentiable, or it changes its inputs in place: outputs were compared
            return Gradients(words, None, not ran)
    return Gradients(
        words, {name: None if g is None else snapshot.take(g) for (name, _), g in zip(named, grads, strict=True)}
    )


def eager(
    entry: Entry, more: tuple[Plan, ...] = (), fill: int = FILL
) -> Iterator[Run | Gradients | type[streams.Pause]]:
    """What needs no compiler: the calls (on `more` input sets, too), and after the pause one more in the other mode, and gradients.  `fill`: what
    memory holds from there on that nobody has written to: what a program leaves uninitialised for sizes that are not the user's shows where two
    processes have other fillings."""
    paused = False
    for run in measure(entry, None, (*PLANS, *more, *OTHER_SIZES)):
        yield run
        if run is streams.Pause:
            paused = True
            forks.fill_memory(fill)
    if not paused:
        yield streams.Pause
        forks.fill_memory(fill)
    other = _in_mode(entry, IN_THE_OTHER_MODE, True)
    if other is not None:
        yield other
        yield gradients(entry, GIVEN, flip=True)
    yield from (gradients(entry, plan) for plan in DIFFERENTIATED)
    if _has_buffers(entry.build(GIVEN.seed)):
        yield gradients(entry, GIVEN, calls=2)
        yield gradients(entry, GIVEN, flip=True, calls=2)
    yield from _varied(entry, True)


def _in_mode(entry: Entry, words: str, flip: bool, compiled: Compiled | None = None, grad: bool = False) -> Run | None:
    """A call on the given inputs; with gradients where `grad`; None where there is no mode to `flip`."""
    call = _build(entry, GIVEN)
    assert call is not None
    if flip:
        owner = varied.module(call.fn)
        if owner is None:
            return None
        owner.train(not owner.training)
    call.grad = call.grad or grad
    return _observe(call, words, 100, compiled, None)


def _of_branches(entry: Entry, compiled: Compiled, limit: float | None) -> Iterator[Run | Gradients]:
    """What is wrong in a branch of a graph is an error when it is traced, and no graph break: so in the other mode, with gradients in both, and in
    other dtypes, each for `limit` seconds.  And its gradients are computed by code of its own, which runs the branch again: it draws anew."""
    for words, flip, grad in (
        (IN_THE_OTHER_MODE, True, False),
        (BRANCHES[0], False, True),
        (BRANCHES[1], True, True),
    ):
        torch._dynamo.reset()  # each way is compiled anew: there is a limit to how often
        run = _in_mode(entry, words, flip, compiled, grad)
        if run is not None:
            yield run
            if grad:
                yield from (gradients(entry, plan, flip, compiled=compiled) for plan in DIFFERENTIATED)
    torch._dynamo.reset()
    for variation in varied.of(entry.build(GIVEN.seed)):
        plan = Plan(variation.words, foreign=True, steps=variation.steps)
        if not variation.behind and rounded_to(plan.words):
            with contextlib.suppress(Exception):  # user code, or a tensor that cannot be made so
                call = _build(entry, plan)
                if call is not None:
                    yield _observe(call, plan.words, 100, compiled, limit)


def _has_buffers(call: Call) -> bool:
    owner = varied.module(call.fn)
    return owner is not None and next(owner.buffers(), None) is not None


def _varied(entry: Entry, differentiate: bool, first: tuple[Plan, ...] = ()) -> Iterator[Run | Gradients]:
    """Variations of the given inputs, as many as there is time for, `first` in front; and gradients of some."""
    end = time.process_time() + VARIED_S
    try:
        given = entry.build(GIVEN.seed)
        variations = list(varied.of(given))
        twice = differentiate and _has_buffers(given)
    except (Exception, SystemExit):  # noqa: BLE001 - user code; the given inputs told
        return
    known = {v.words: v for v in variations}
    raised: set[str] = set()
    for plan in (*first, *(Plan(v.words, foreign=True, steps=v.steps) for v in variations)):
        variation = known.get(plan.words)
        if time.process_time() > end:
            return
        if variation and not raised.isdisjoint(variation.behind):
            continue
        try:
            call = _build(entry, plan)
        except (Exception, SystemExit):  # noqa: BLE001 - user code, or a tensor that cannot be made so
            continue
        if call is None:
            continue
        run = _observe(call, plan.words, 100, None, CPU_LIMIT_S)
        yield run
        if not run.ended:
            return
        if run.error is not None:
            raised.add(plan.words)
        elif differentiate and variation and variation.differentiate:
            yield gradients(entry, plan)
            if twice:
                yield gradients(entry, plan, calls=2)


def again(entry: Entry, plans: tuple[Plan, ...] | None = None, more: tuple[Plan, ...] = ()) -> Iterator[Any]:
    """Does it repeat what another process saw?  The call on the given inputs; where it says something, all the others too (`plans`, where there are
    some); and, without `plans`, other sizes and the variations of the given inputs.  Where a call finds what the ones before it have left behind,
    it is made behind the same ones as there: all that `eager` does with `more`.

    Forks have the same addresses as long as they do the same; here they are others, so that a program that shows some is known by it."""
    held = [(bytearray(size), torch.empty(size)) for size in range(16, 1040, 16) for _ in range(16)]
    runs = eager(entry, more, OTHER_FILL) if plans is None else measure(entry, None, plans)
    first = next(runs)
    yield first
    silent = not first.printed
    if plans is not None:
        if not silent:
            yield from runs
            other = _in_mode(entry, IN_THE_OTHER_MODE, True)
            if other is not None:
                yield other
        return
    if silent:
        yield streams.Pause
    if not silent or _carries_over(entry, first):
        yield from (run for run in runs if not (silent and run is streams.Pause))
    else:
        runs.close()
        forks.fill_memory(OTHER_FILL)
        yield from _varied(entry, False, OTHER_SIZES)
    del held


def _carries_over(entry: Entry, first: Run) -> bool:
    """Is something left of a call for the next: in a module that the file made once, in a global?"""
    if first.held != first.before:
        return True
    try:
        one, another = (varied.owner(entry.build(GIVEN.seed).fn) for _ in range(2))
    except (Exception, SystemExit):  # noqa: BLE001 - user code; the given inputs told
        return False
    return one is not None and one is another
