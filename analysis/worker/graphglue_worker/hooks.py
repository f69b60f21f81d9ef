"""Where Dynamo is listened to, and why there.

Breaks are taken where Dynamo commits to them: the method that logs a graph break.  Hooking the raising of ``Unsupported`` alone
over-reports, since some are raised and swallowed on healthy code; the counters miss skipped frames.  At the raise, the chain of live
instruction translators is kept with each one's instruction position: the user's stack with exact columns, through inlined
calls.  A break that wraps another (a loop, a context manager) is reported as its root cause, the wrapping as aggravation.

Private names of torch are used in this file, ``positions`` and ``facts`` only, and looked for before use:

===========  ==================================================================
torch        where a break is logged
===========  ==================================================================
2.11 on      ``InstructionTranslatorBase.log_graph_break(code_options, reason, exc)``
2.10         the same method with ``user_stack`` instead of ``exc``
2.6 to 2.9   the function ``symbolic_convert.log_graph_break(code_options, reason, exc_info, user_stack)``
2.4, 2.5     nowhere that could be replaced: taken where the graph is split, ``OutputGraph.compile_subgraph``
===========  ==================================================================

Up to 2.10 a loop is told by ``SkipFrame`` after the log; up to 2.8 or so going back to an earlier point is not logged, and taken
where the graph is split too.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch._dynamo
from torch._dynamo import convert_frame, exc, output_graph, symbolic_convert
from torch._dynamo.variables import user_defined

from graphglue_worker import facts, positions, records
from graphglue_worker.records import Cost, Moment, Record

FAILURE = "_graphglue_failure"  # attribute of an operation's error that a conversion ended with: its record
CALLER = "call_compiled"  # the function of this package below which the user's stack begins
# Dynamo's functions that split a graph at a break that was logged before.
_REASONS = ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason")
_JUMP = "Data-dependent branching"
# Metaclasses: of torch.FloatTensor and the like, of torch.Tensor.
_CONSTRUCTORS = (type(torch.FloatTensor), type(torch.Tensor))
_HANDLERS = ("handle_graph_break", "step_graph_break", "jump_graph_break")


class RecompileLimit(Exception):
    """Dynamo compiled a function so often that it gave up; the text says so in plain words."""


@dataclass
class Recompile:
    """A function that was compiled again."""

    function: str
    file: str
    line: int
    reason: str


@dataclass
class Conversion:
    """What was heard while Dynamo converts one frame.  Conversions nest: tracing may import a module, whose frames are converted."""

    code: CodeType | None = None
    moments: dict[str, Moment] = field(default_factory=dict)  # by message: a wrapping break quotes its root
    last: Record | None = None
    recompile: Recompile | None = None
    held: list[Record] = field(default_factory=list)


@dataclass
class Listener:
    """Who is told, and what was told already."""

    on_break: Callable[[Record], None]
    on_error: Callable[[BaseException], None]
    on_recompile: Callable[[Recompile], None]
    on_suspect: Callable[[Record], None]
    now: Conversion = field(default_factory=Conversion)
    told: dict[Any, Record] = field(default_factory=dict)  # by function and place


_listener: Listener | None = None


def _live_translators(frame: FrameType | None) -> list[Any]:
    """Instruction translators now tracing, innermost first."""
    while frame is not None:
        if frame.f_code.co_filename == symbolic_convert.__file__:
            tx = frame.f_locals.get("self")
            if isinstance(tx, symbolic_convert.InstructionTranslatorBase):
                chain = [tx]
                while getattr(chain[-1], "parent", None) is not None:
                    chain.append(chain[-1].parent)
                return [tx for tx in chain if getattr(tx, "instruction_pointer", None) != 0]  # has begun
        frame = frame.f_back
    return []


def _is_handling(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_filename == symbolic_convert.__file__ and code.co_name in _HANDLERS:
            return True
        frame = frame.f_back
    return False


def _moment(frame: FrameType | None) -> Moment:
    chain = _live_translators(frame)
    stack = [positions.of_translator(tx) for tx in chain]
    moment = Moment(stack, {}, facts.of_stopped(frame), handling=_is_handling(frame))
    # Only the translator that would split the graph is in its way, or with nested graph breaks each one.
    splitting = chain if getattr(torch._dynamo.config, "nested_graph_breaks", False) else chain[-1:]
    moment.managed = any(getattr(tx, "active_generic_context_managers", None) for tx in splitting)
    for wanted in ("workspace", "library"):
        for tx, place in zip(chain, stack, strict=True):
            if place["origin"] == wanted:
                moment.facts = {**facts.of_locals(tx), **facts.of_attributes(tx)}
                return moment
    return moment


def _remember(error: BaseException, frame: FrameType | None) -> None:
    """At the raise: keep what is live, which is gone when the break is logged.  A wrapping break keeps what its root kept."""
    if _listener is None or hasattr(error, "_graphglue"):
        return
    message = records.message_of(error)
    root = message.partition(records.SEPARATOR)[0].strip("\n")
    moments = _listener.now.moments
    moment = moments.get(root) if root != message.strip("\n") else None
    moment = moment or _moment(frame)
    error._graphglue = moment  # type: ignore[attr-defined]
    if len(moments) > 256:
        moments.clear()
    moments[message.strip("\n")] = moment


def _moment_of(error: BaseException) -> Moment:
    root = records.parts_of(error)[0]
    return getattr(root, "_graphglue", None) or getattr(error, "_graphglue", None) or Moment()


def _cost(given_up: str) -> Cost:
    """`given_up`: what of the frame that is being converted falls to eager: `nothing`, `rest` or `frame`."""
    code = _listener.now.code if _listener is not None else None
    if given_up == "nothing":
        return Cost()
    function = positions.function_name(code) if code is not None else "?"
    resumed = code is not None and code.co_name.startswith(positions.RESUME_PREFIX)
    return Cost(function, rest=resumed or given_up == "rest", whole_frame=given_up == "frame")


def _above() -> list[positions.Frame]:
    return positions.above_dynamo(convert_frame.__file__, CALLER)


def _commit(error: BaseException, moment: Moment, given_up: str) -> None:
    """Dynamo stops here."""
    if _listener is None or getattr(error, "_graphglue_told", False):
        return
    error._graphglue_told = True  # type: ignore[attr-defined]
    now, cost = _listener.now, _cost(given_up)
    record = records.make(error, moment, cost, _above())
    if moment.handling and now.last is not None:
        # It could not go on behind the break it told of before: that one costs more than it seemed.
        records.worsen(now.last, cost, [record["id"], *record["aggravations"]])
        return
    # A conversion that starts over logs the same break again, and so does one for other arguments: that is a recompilation.
    code = now.code
    key = (code and (code.co_filename, code.co_name, code.co_firstlineno), records.place_of(record, moment))
    if key in _listener.told:
        now.last = _listener.told[key]
        records.worsen(now.last, cost, record["aggravations"])
        facts.widen(now.last["facts"], record["facts"])
        return
    now.last = _listener.told[key] = record
    if _AT_ONCE:
        _listener.on_break(record)
    else:
        now.held.append(record)  # whether the frame is skipped is known when its conversion ends


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
            # `run` logs what no instruction could handle: the frame as a whole falls to eager.  `step` logs what it can only go
            # back from, to where the stack was empty last.
            given_up = {"run": "frame", "step": "rest"}.get(caller.f_code.co_name, "nothing")
            if isinstance(error, _breaks()) and not getattr(error, "logged", False):
                _commit(error, _moment_of(error), given_up)
            elif _listener is not None and not getattr(error, "logged", False):
                reason = kwargs.get("reason") or next((a for a in args if isinstance(a, str)), "")
                _commit(exc.Unsupported(reason), _moment(caller), given_up)
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
        frame = args[0] if args else kwargs.get("frame")
        listener.now = Conversion(getattr(frame, "f_code", None))
        try:
            return original(self, *args, **kwargs)
        except Exception as e:
            _conversion_failed(e)
            raise
        finally:
            for record in listener.now.held:
                listener.on_break(record)
            if listener.now.recompile is not None:
                listener.on_recompile(listener.now.recompile)
            listener.now = outer

    # Dynamo walks the stack past its own file name to find `disable(recursive=False)`.
    __call__.__code__ = __call__.__code__.replace(co_filename=convert_frame.__file__)
    return __call__


def _conversion_failed(error: Exception) -> None:
    assert _listener is not None
    code = _listener.now.code
    if not isinstance(error, _breaks()):
        _listener.on_error(error)
        if isinstance(error, exc.TorchRuntimeError) and not hasattr(error, FAILURE):
            record = records.make(error, _moment_of(error), _cost("frame"), _above())
            setattr(error, FAILURE, record)
        return
    if records.is_limit(error):
        _listener.on_error(RecompileLimit(_limit_words(_listener.now)))
        _listener.now.recompile = None  # it did not come to that
        return
    moment = _moment_of(error)
    if not moment.stack and code is not None:
        refused = positions.of_code(code)
        if refused["origin"] in ("torch", "stdlib"):
            return  # never traced and not the user's: what a call that already broke, or an import, ran on its way
        moment = Moment([refused])
        if _listener.told:  # it is called without Dynamo, because of a break before it
            record = records.make(error, moment, _cost("nothing"), [])
            records.worsen(list(_listener.told.values())[-1], Cost(), [record["id"], *record["aggravations"]])
            return
    _commit(error, moment, "frame")


def _limit_words(conversion: Conversion) -> str:
    function = positions.function_name(conversion.code) if conversion.code is not None else "a function"
    config = torch._dynamo.config
    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    why = f" ({conversion.recompile.reason})" if conversion.recompile and conversion.recompile.reason else ""
    return (
        f"{function} was compiled {getattr(config, name, '?')} times, as often as torch._dynamo.config.{name} allows; "
        f"for other arguments{why} it runs without Dynamo"
    )


def _wrap_reasons(original: Callable[..., Any]) -> Callable[..., Any]:
    """Dynamo asks for the reasons of a recompilation when there is one."""

    @functools.wraps(original)
    def reasons(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        code = _listener.now.code if _listener is not None else None
        if _listener is not None and code is not None:
            with contextlib.suppress(Exception):
                text = found if isinstance(found, str) else next(iter(found or ()), "")
                reason = text.partition(": ")[2].partition("  #")[0].strip()  # "0/0: L['n'] == 1  # where in Dynamo"
                name = positions.function_name(code)
                _listener.now.recompile = Recompile(name, code.co_filename, code.co_firstlineno, reason)
        return found

    return reasons


def _wrap_skip_frame(cls: type) -> None:
    """A frame is given up without a break: because an earlier one could not be split, or up to torch 2.10 lies in a loop."""
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if _listener is not None:
            with contextlib.suppress(Exception):
                _frame_skipped(str(args[0]) if args else "", sys._getframe(1))

    cls.__init__ = __init__  # type: ignore[misc]


def _frame_skipped(reason: str, frame: FrameType) -> None:
    assert _listener is not None
    now = _listener.now
    if "for/while loop" in reason:
        if now.last is None:  # nor was it logged
            error = sys.exc_info()[1]
            if isinstance(error, _breaks()):
                _commit(error, _moment_of(error), "frame")
            else:
                _commit(_made(_JUMP), _moment(frame), "frame")
        if now.last is not None:
            records.worsen(now.last, _cost("frame"), [records.LOOP_ID])
    elif now.last is not None and _is_handling(frame):
        records.worsen(now.last, _cost("frame"), [])


def _made(message: str) -> BaseException:
    """A break that Dynamo made no exception of."""
    return exc.Unsupported(message)


def _wrap_class_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the tracing of a class's call: `torch.Tensor(x.size())` is not what it is without Dynamo."""

    @functools.wraps(original)
    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        result = original(self, tx, args, kwargs)
        if _listener is not None and len(args) == 1 and not kwargs and isinstance(self.value, _CONSTRUCTORS):
            with contextlib.suppress(Exception):
                given = args[0].realize() if hasattr(args[0], "realize") else args[0]
                if type(given).__name__ == "SizeVariable":
                    _suspect(sys._getframe(1))
        return result

    return call_function


def _suspect(frame: FrameType) -> None:
    assert _listener is not None
    record = records.sizes_for_data(_moment(frame), _above())
    key = str(record["stack"])
    if key not in _listener.told:
        _listener.told[key] = record
        _listener.on_suspect(record)


def _wrap_split(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``OutputGraph.compile_subgraph``: a graph ends.  What was not logged before is a break all the same."""

    @functools.wraps(original)
    def compile_subgraph(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = [a for a in (*args, *kwargs.values()) if hasattr(a, "graph_break") and hasattr(a, "reason")]
        if _listener is not None and _listener.now.last is None and given and given[0].graph_break:
            with contextlib.suppress(Exception):
                _commit_split(str(given[0].reason), sys._getframe(1))
        return original(self, *args, **kwargs)

    return compile_subgraph


def _commit_split(reason: str, frame: FrameType) -> None:
    assert _listener is not None
    moments = _listener.now.moments
    if reason == "step_unsupported" and moments:  # back to an earlier point, from where the last break was raised
        message, moment = list(moments.items())[-1]
        _commit(_made(message), moment, "rest")
        return
    known = moments.get(reason.strip("\n"))
    message = _JUMP if reason.startswith("generic_jump") else reason
    _commit(_made(message), known or _moment(frame), "nothing")


_LOG = getattr(symbolic_convert.InstructionTranslatorBase, "log_graph_break", None)
# Where the exception is handed over, it already says whether the frame will be skipped.
_AT_ONCE = _LOG is not None and "exc" in inspect.signature(_LOG).parameters


def listen(
    on_break: Callable[[Record], None],
    on_error: Callable[[BaseException], None],
    on_recompile: Callable[[Recompile], None] = lambda _: None,
    on_suspect: Callable[[Record], None] = lambda _: None,
) -> None:
    """Tell these of breaks, errors inside Dynamo, recompilations and what may be traced wrong, from now on.  torch is patched once per process.

    A record that was told may still change until the call returns: what a break costs is known for sure only then.
    """
    global _listener
    first = _listener is None
    _listener = Listener(on_break, on_error, on_recompile, on_suspect)
    if not first:
        return
    for cls in (*_breaks(), exc.TorchRuntimeError):
        _wrap_init(cls)
    if _LOG is not None:
        symbolic_convert.InstructionTranslatorBase.log_graph_break = _wrap_log(_LOG)  # type: ignore[method-assign]
    elif hasattr(symbolic_convert, "log_graph_break"):
        symbolic_convert.log_graph_break = _wrap_log(symbolic_convert.log_graph_break)
    _wrap_skip_frame(exc.SkipFrame)
    user_defined.UserDefinedClassVariable.call_function = _wrap_class_call(  # type: ignore[method-assign]
        user_defined.UserDefinedClassVariable.call_function
    )
    if "log_graph_break" not in symbolic_convert.InstructionTranslatorBase.step.__code__.co_names:
        output_graph.OutputGraph.compile_subgraph = _wrap_split(output_graph.OutputGraph.compile_subgraph)  # type: ignore[method-assign]
    convert_frame.ConvertFrameAssert.__call__ = _wrap_converter(convert_frame.ConvertFrameAssert.__call__)  # type: ignore[method-assign]
    for name in _REASONS:
        if hasattr(convert_frame, name):
            setattr(convert_frame, name, _wrap_reasons(getattr(convert_frame, name)))
    _skip_guard_timing()


def _skip_guard_timing() -> None:
    """Dynamo times its guards after each compilation, for a log line; that costs about a third of a capture."""
    from torch._dynamo import guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *a, **k: 0.0
