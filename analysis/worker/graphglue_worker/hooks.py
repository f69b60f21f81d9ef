"""Where Dynamo is listened to, and why there.

Breaks are taken where Dynamo commits to them: the method that logs a graph break.  Hooking the raising of ``Unsupported`` alone
over-reports, since some are raised and swallowed on healthy code; the counters miss skipped frames.  At the raise, the chain of live
instruction translators is kept with each one's instruction position: the user's stack with exact columns, through inlined
calls.  A break that wraps another (a loop, a context manager) is reported as its root cause, the wrapping as aggravation.

Private names of torch are used in this file, ``positions`` and ``facts`` only, and looked for before use:

=========  ====================================================================
torch      where a break is logged
=========  ====================================================================
2.13       ``InstructionTranslatorBase.log_graph_break(code_options, reason, exc)``
2.9, 2.10  the same method with ``user_stack`` instead of ``exc``; a loop is told by ``SkipFrame`` afterwards
2.8        the function ``symbolic_convert.log_graph_break(code_options, reason, exc_info, user_stack)``; the same
=========  ====================================================================
"""

import functools
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
import torch._dynamo
from torch._dynamo import convert_frame, exc, symbolic_convert

from graphglue_worker import facts, positions
from graphglue_worker.facts import Fact
from graphglue_worker.positions import Frame

SEPARATOR = "*** While handling this graph break, another graph break occurred: ***"
LOOP_ID = "GB7000"
LIMIT_ID = "GB0039"  # the recompile limit: a limit of ours or of the user's, not a line that breaks
CALLER = "call_compiled"  # the function of this package below which the user's stack begins
_UNKNOWN_ID = "GB0000"
_MISSING = {"Data-dependent branching": "GB0170"}  # the registries of some versions hold the name of a variable instead
_RESUMED = re.compile(positions.RESUME_PREFIX + r"(\w+?)_at_\d+")

Record = dict[str, Any]


@dataclass
class Moment:
    """What was live when an exception was raised."""

    stack: list[Frame] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    value: Fact | None = None


@dataclass
class Conversion:
    """What was heard while Dynamo converts one frame.  Conversions nest: tracing may import a module, whose frames are converted."""

    moments: dict[str, Moment] = field(default_factory=dict)  # by message: a wrapping break quotes its root
    told: set[Any] = field(default_factory=set)
    held: list[Record] = field(default_factory=list)


@dataclass
class Listener:
    """Who is told."""

    on_break: Callable[[Record], None]
    on_error: Callable[[BaseException], None]
    now: Conversion = field(default_factory=Conversion)


_listener: Listener | None = None


@functools.cache
def registry_path() -> str | None:
    """torch's list of break ids."""
    path = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
    return path if os.path.exists(path) else None


@functools.cache
def _ids() -> dict[str, str]:
    """Registry: break type -> id, historical types too."""
    ids = dict(_MISSING)
    try:
        with open(registry_path() or "", encoding="utf-8") as f:
            rows = json.load(f)
    except (OSError, ValueError):
        return ids
    for gb_id, versions in rows.items():
        for row in versions:
            ids.setdefault(row["Gb_type"], gb_id)
    return ids


def _live_translators(frame: FrameType | None) -> list[Any]:
    """Instruction translators now tracing, innermost first."""
    while frame is not None:
        if frame.f_code.co_filename == symbolic_convert.__file__:
            tx = frame.f_locals.get("self")
            if isinstance(tx, symbolic_convert.InstructionTranslatorBase):
                chain = [tx]
                while getattr(chain[-1], "parent", None) is not None:
                    chain.append(chain[-1].parent)
                return chain
        frame = frame.f_back
    return []


def _moment(frame: FrameType | None) -> Moment:
    chain = _live_translators(frame)
    stack = [positions.of_translator(tx) for tx in chain]
    for wanted in ("workspace", "library"):
        for tx, place in zip(chain, stack, strict=True):
            if place["origin"] == wanted:
                return Moment(stack, facts.of_locals(tx), facts.of_stopped(frame))
    return Moment(stack, {}, facts.of_stopped(frame))


def _unindent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _split_message(message: str) -> Record:
    """Type, explanation, hints and context out of what ``format_graph_break_message`` joined."""
    head, _, rest = message.partition("\n  Explanation: ")
    body, _, context = rest.partition("\n  Developer debug context: ")
    explanation, *hints = body.split("\n  Hint: ")
    head = head.partition("\n  Higher Order Operator: ")[0].strip()
    return {
        "type": head.splitlines()[0] if head else "",
        "explanation": _RESUMED.sub(r"\1", _unindent(explanation)),
        "hints": [_unindent(h) for h in hints],
        "context": context.partition("\n\n For more details about")[0].strip(),
    }


def _message(error: BaseException) -> str:
    return getattr(error, "msg", None) or str(error)


def _parts(error: BaseException) -> tuple[BaseException, list[str]]:
    """The root cause of a chain of breaks, and all messages of the chain, the root's first."""
    parts = [p.strip("\n") for p in _message(error).split(SEPARATOR)]
    # Up to torch 2.10 exceptions are chained; later ones join their messages.
    while len(parts) < 8 and isinstance(error.__cause__, exc.Unsupported):
        error = error.__cause__
        if _message(error) not in parts:
            parts.insert(0, _message(error))
    return error, parts


def _record(error: BaseException, moment: Moment, skip: bool) -> Record:
    """The `break` value of the wire protocol."""
    root, parts = _parts(error)
    said = _split_message(parts[0])
    kind = said["type"] or getattr(root, "gb_type", None) or type(root).__name__
    if not isinstance(root, exc.Unsupported) and kind not in _ids():
        kind = type(root).__name__
    around = [_ids().get(_split_message(p)["type"]) for p in parts[1:]]
    return {
        "id": _ids().get(kind, _UNKNOWN_ID),
        "type": kind,
        "reason": f"\n\n{SEPARATOR}\n\n".join(parts),
        "context": said["context"],
        "explanation": said["explanation"],
        "hints": said["hints"],
        "kind": "skip" if skip else "split",
        "in_loop": LOOP_ID in around,
        "aggravations": [a for a in dict.fromkeys(around) if a],
        "stack": positions.stack([*moment.stack, *positions.above_dynamo(convert_frame.__file__, CALLER)]),
        "facts": moment.facts,
        "value": moment.value,
    }


def _remember(error: BaseException, frame: FrameType | None) -> None:
    """At the raise: keep what is live, which is gone when the break is logged.  A wrapping break keeps what its root kept."""
    if _listener is None or hasattr(error, "_graphglue"):
        return
    message = _message(error)
    root = message.partition(SEPARATOR)[0].strip("\n")
    moments = _listener.now.moments
    moment = moments.get(root) if root != message.strip("\n") else None
    moment = moment or _moment(frame)
    error._graphglue = moment  # type: ignore[attr-defined]
    if len(moments) > 256:
        moments.clear()
    moments[message.strip("\n")] = moment


def _moment_of(error: BaseException) -> Moment:
    root = _parts(error)[0]
    return getattr(root, "_graphglue", None) or getattr(error, "_graphglue", None) or Moment()


def _commit(error: BaseException, moment: Moment, skip: bool) -> None:
    if _listener is None or getattr(error, "_graphglue_told", False):
        return
    error._graphglue_told = True  # type: ignore[attr-defined]
    record = _record(error, moment, skip)
    if record["id"] == LIMIT_ID:
        _listener.on_error(error)
        return
    # A conversion that starts over logs the same break again.
    first = record["stack"][0] if record["stack"] else {}
    key = (record["id"], first.get("file"), first.get("line"), first.get("col"))
    if key in _listener.now.told:
        return
    _listener.now.told.add(key)
    if _AT_ONCE:
        _listener.on_break(record)
    else:
        _listener.now.held.append(record)  # whether the frame is skipped is known when its conversion ends


def _wrap_init(cls: type) -> None:
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _remember(self, sys._getframe(1))

    cls.__init__ = __init__  # type: ignore[misc]


def _wrap_log(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``log_graph_break``, method or function."""

    @functools.wraps(original)
    def log_graph_break(*args: Any, **kwargs: Any) -> Any:
        try:
            given = [kwargs.get("exc"), *(a for a in args if isinstance(a, BaseException)), sys.exc_info()[1]]
            error = next((e for e in given if e is not None), None)
            caller = sys._getframe(1)
            if isinstance(error, _breaks()) and not getattr(error, "logged", False):
                # `run` logs what no instruction could handle: the frame as a whole falls to eager.
                _commit(error, _moment_of(error), caller.f_code.co_name == "run")
            elif _listener is not None and not getattr(error, "logged", False):
                reason = kwargs.get("reason") or next((a for a in args if isinstance(a, str)), "")
                _commit(exc.Unsupported(reason), _moment(caller), False)
        except Exception as e:  # noqa: BLE001 - listening must not change what is heard
            if _listener is not None:
                _listener.on_error(e)
        return original(*args, **kwargs)

    return log_graph_break


def _breaks() -> tuple[type, ...]:
    names = ("Unsupported", "UserError", "StepUnsupported")
    return tuple(getattr(exc, n) for n in names if hasattr(exc, n))


def _wrap_converter(original: Callable[..., Any]) -> Callable[..., Any]:
    """One conversion of a frame.  Breaks that were never logged surface here, and internal and backend errors too."""

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _listener is None:
            return original(self, *args, **kwargs)
        listener, outer = _listener, _listener.now
        listener.now = Conversion()
        try:
            return original(self, *args, **kwargs)
        except Exception as e:
            _conversion_failed(e, args[0] if args else None)
            raise
        finally:
            for record in listener.now.held:
                listener.on_break(record)
            listener.now = outer

    # Dynamo walks the stack past its own file name to find `disable(recursive=False)`.
    __call__.__code__ = __call__.__code__.replace(co_filename=convert_frame.__file__)
    return __call__


def _conversion_failed(error: Exception, frame: Any) -> None:
    assert _listener is not None
    if not isinstance(error, _breaks()):
        _listener.on_error(error)
        return
    moment = _moment_of(error)
    if not moment.stack and frame is not None:
        refused = positions.of_code(frame.f_code)
        if refused["origin"] in ("torch", "stdlib"):
            return  # never traced and not the user's: what a call that already broke, or an import, ran on its way
        moment = Moment([refused])
    _commit(error, moment, True)


def _wrap_skip_frame(cls: type) -> None:
    """Up to torch 2.10 a break is logged, and then the frame skipped because the break lies in a loop."""
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        held = _listener.now.held if _listener is not None else []
        if held and args and "for/while loop" in str(args[0]):
            held[-1].update(kind="skip", in_loop=True, aggravations=[LOOP_ID])

    cls.__init__ = __init__  # type: ignore[misc]


_LOG = getattr(symbolic_convert.InstructionTranslatorBase, "log_graph_break", None)
# Where the exception is handed over, it already says whether the frame will be skipped.
_AT_ONCE = _LOG is not None and "exc" in inspect.signature(_LOG).parameters


def listen(on_break: Callable[[Record], None], on_error: Callable[[BaseException], None]) -> None:
    """Tell these of breaks and of errors inside Dynamo from now on.  torch is patched once per process."""
    global _listener
    first = _listener is None
    _listener = Listener(on_break, on_error)
    if not first:
        return
    for cls in _breaks():
        _wrap_init(cls)
    if _LOG is not None:
        symbolic_convert.InstructionTranslatorBase.log_graph_break = _wrap_log(_LOG)  # type: ignore[method-assign]
    elif hasattr(symbolic_convert, "log_graph_break"):
        symbolic_convert.log_graph_break = _wrap_log(symbolic_convert.log_graph_break)
    if not _AT_ONCE and hasattr(exc, "SkipFrame"):
        _wrap_skip_frame(exc.SkipFrame)
    convert_frame.ConvertFrameAssert.__call__ = _wrap_converter(convert_frame.ConvertFrameAssert.__call__)  # type: ignore[method-assign]
    _skip_guard_timing()


def _skip_guard_timing() -> None:
    """Dynamo times its guards after each compilation, for a log line; that costs about a third of a capture."""
    from torch._dynamo import guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *a, **k: 0.0
