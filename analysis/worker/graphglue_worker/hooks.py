"""Where Dynamo is listened to, and why there.

Breaks are taken where Dynamo commits to them: the method that logs a graph break.  Hooking the raising of ``Unsupported`` alone
over-reports, since some are raised and swallowed on healthy code; the counters miss skipped frames.  At the raise the chain of live
instruction translators is kept with each one's instruction position: the user stack with exact column ranges, through inlined
calls.  Private names of torch are used in this file only, and looked for before use (torch 2.8 to 2.13).
"""

import functools
import json
import os
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
import torch._dynamo
from torch._dynamo import convert_frame, exc, symbolic_convert

SEPARATOR = "*** While handling this graph break, another graph break occurred: ***"
RESUME_PREFIX = "torch_dynamo_resume_in_"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_STDLIB = tuple({os.path.realpath(sysconfig.get_path(n)) + os.sep for n in ("stdlib", "platstdlib")})
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_roots: list[str] = []
_listener: "Callable[[dict[str, Any], BaseException], None] | None" = None
_errors: "Callable[[BaseException], None] | None" = None


def set_roots(roots: list[str]) -> None:
    """Folders that count as the user's workspace."""
    _roots[:] = [os.path.realpath(r).rstrip(os.sep) + os.sep for r in roots]


@functools.lru_cache(maxsize=4096)
def origin(path: str) -> str:
    """``workspace``, ``torch``, ``stdlib`` or ``library``."""
    if path.startswith(_TORCH):
        return "torch"
    if path.startswith("<"):
        return "stdlib"
    real = os.path.realpath(path)
    installed = any(s in real for s in _SITE)
    if not installed and real.startswith(_STDLIB):
        return "stdlib"
    if not installed and any(real.startswith(r) for r in _roots):
        return "workspace"
    return "library"


@functools.cache
def _ids() -> dict[str, str]:
    """Registry: break type -> id, historical types too."""
    path = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
    try:
        with open(path, encoding="utf-8") as f:
            rows = json.load(f)
    except (OSError, ValueError):
        return {}
    ids: dict[str, str] = {}
    for gb_id, versions in rows.items():
        for row in versions:
            ids.setdefault(row["Gb_type"], gb_id)
    return ids


def function_name(code_name: str) -> str:
    """``torch_dynamo_resume_in_forward_at_12`` -> ``forward`` (nested resumptions too)."""
    while code_name.startswith(RESUME_PREFIX):
        code_name = code_name[len(RESUME_PREFIX) :].rpartition("_at_")[0] or code_name[len(RESUME_PREFIX) :]
    return code_name


def _frame(code: CodeType, line: int | None, positions: Any) -> dict[str, Any]:
    columns = positions is not None and getattr(positions, "col_offset", None) is not None
    name = getattr(code, "co_qualname", code.co_name)
    if RESUME_PREFIX in code.co_name:
        name = function_name(code.co_name)
    first = getattr(positions, "lineno", None) or line
    return {
        "file": code.co_filename,
        "function": name,
        "line": first,
        "end_line": (getattr(positions, "end_lineno", None) or first) if positions is not None else first,
        "col": positions.col_offset if columns else None,
        "end_col": positions.end_col_offset if columns else None,
        "origin": origin(code.co_filename),
    }


def _live_translators() -> list[Any]:
    """The chain of instruction translators now tracing, outermost first: those whose methods are on the Python stack."""
    chain: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        tx = frame.f_locals.get("self") if frame.f_code.co_filename == symbolic_convert.__file__ else None
        if isinstance(tx, symbolic_convert.InstructionTranslatorBase) and not any(tx is t for t in chain):
            chain.append(tx)
        frame = frame.f_back
    chain.reverse()
    return chain


def _positions(tx: Any) -> Any:
    return getattr(getattr(tx, "current_instruction", None), "positions", None)


def _above_dynamo() -> list[dict[str, Any]]:
    """Frames outside the traced one, innermost first, as far as the worker's own call."""
    frames: list[dict[str, Any]] = []
    frame: FrameType | None = sys._getframe(1)
    below_converter = False
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_PACKAGE) and code.co_name == "call_compiled":
            break
        if code.co_filename == convert_frame.__file__:
            below_converter = True
            frames.clear()
        elif below_converter and origin(code.co_filename) in ("workspace", "library"):
            frames.append(_frame(code, frame.f_lineno, _frame_positions(frame)))
        frame = frame.f_back
    return frames


def _frame_positions(frame: FrameType) -> Any:
    if not hasattr(frame.f_code, "co_positions"):
        return None

    class Positions:
        lineno = end_lineno = col_offset = end_col_offset = None

    found = Positions()
    for i, p in enumerate(frame.f_code.co_positions()):
        if i == frame.f_lasti // 2:
            found.lineno, found.end_lineno, found.col_offset, found.end_col_offset = p
            break
    return found if found.lineno is not None and found.lineno == frame.f_lineno else None


def _fact(variable: Any) -> dict[str, Any]:
    """What Dynamo knows of a traced value."""
    kind = type(variable).__name__
    if kind in ("LazyVariableTracker",) and getattr(variable, "is_realized", lambda: False)():
        return _fact(variable.unwrap() if hasattr(variable, "unwrap") else variable.realize())
    try:
        example = variable.as_proxy().node.meta.get("example_value")
    except Exception:  # most variables have no proxy
        example = None
    if isinstance(example, torch.Tensor):
        shape = [s if isinstance(s, int) else -1 for s in example.shape]
        return {
            "kind": "ndarray" if "Numpy" in kind else "tensor",
            "dtype": str(example.dtype),
            "shape": shape,
            "requires_grad": bool(example.requires_grad),
            "device": str(example.device),
        }
    if isinstance(example, (torch.SymInt, torch.SymFloat, torch.SymBool)) or "SymNode" in kind:
        return {"kind": "symint"}
    if "Constant" in kind:
        value = getattr(variable, "value", None)
        if value is None:
            return {"kind": "none"}
        name = type(value).__name__
        return {"kind": name if name in ("int", "float", "bool", "str") else "other", "type": name}
    for word, name in (("List", "list"), ("Tuple", "tuple"), ("Dict", "dict"), ("NNModule", "module")):
        if word in kind:
            return {"kind": name}
    return {"kind": "other", "type": kind}


def _facts(tx: Any) -> dict[str, Any]:
    facts = {}
    for name, variable in list(getattr(tx, "symbolic_locals", {}).items())[:64]:
        if name.isidentifier():
            try:
                facts[name] = _fact(variable)
            except Exception:  # facts are a help, never a reason to fail
                continue
    return facts


def _remember_chain(error: BaseException) -> None:
    """At the raise: keep the translators' positions and facts, which are gone when the break is logged."""
    chain = _live_translators()
    stack = [_frame(tx.f_code, getattr(tx, "lineno", None), _positions(tx)) for tx in reversed(chain)]
    facts: dict[str, Any] = {}
    for wanted in (("workspace",), ("library",)):
        for tx, frame in zip(reversed(chain), stack, strict=True):
            if frame["origin"] in wanted:
                facts = _facts(tx)
                break
        if facts:
            break
    error._graphglue = (stack, facts)  # type: ignore[attr-defined]


def _root(error: BaseException) -> tuple[BaseException, list[str]]:
    """The root cause of a chain of breaks, and the messages that came on top of it."""
    message = getattr(error, "msg", None) or str(error)
    parts = [p.strip("\n") for p in message.split(SEPARATOR)]
    root, seen = error, error
    while seen is not None:
        if isinstance(seen, exc.Unsupported) and (getattr(seen, "msg", "") or "").strip("\n") == parts[0]:
            root = seen
        elif isinstance(seen, exc.Unsupported):
            root = seen if len(parts) > 1 else root
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
        if seen is not None and not isinstance(seen, exc.Unsupported):
            break
    return root, parts


def _unindent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _split_message(message: str) -> dict[str, Any]:
    """Type, explanation, hints and context of ``format_graph_break_message``."""
    head, _, rest = message.partition("\n  Explanation: ")
    body, _, context = rest.partition("\n  Developer debug context: ")
    explanation, *hints = body.split("\n  Hint: ")
    context = context.partition("\n\n For more details about")[0]
    return {
        "type": head.strip().splitlines()[0] if head.strip() else "",
        "explanation": _unindent(explanation),
        "hints": [_unindent(h) for h in hints],
        "context": context.strip(),
    }


def _record(error: BaseException, skip: bool) -> dict[str, Any]:
    """The `break` value of the wire protocol."""
    root, parts = _root(error)
    said = _split_message(parts[0])
    kind = said["type"] or getattr(root, "gb_type", None) or type(root).__name__
    ids = _ids()
    stack, facts = getattr(root, "_graphglue", None) or getattr(error, "_graphglue", ([], {}))
    aggravations = [ids.get(_split_message(p)["type"]) for p in parts[1:]]
    return {
        "id": ids.get(kind) or ids.get(getattr(root, "gb_type", None) or "") or "GB0000",
        "type": kind,
        "reason": getattr(error, "msg", None) or str(error),
        "context": said["context"],
        "explanation": said["explanation"],
        "hints": said["hints"],
        "kind": "skip" if skip else "split",
        "in_loop": "GB7000" in aggravations,
        "aggravations": [a for a in dict.fromkeys(aggravations) if a],
        "stack": [*stack, *_above_dynamo()],
        "facts": facts,
        "value": None,
    }


def _wrap_init(cls: type) -> None:
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if _listener is not None and not hasattr(self, "_graphglue"):
            _remember_chain(self)

    cls.__init__ = init  # type: ignore[misc]


def _commit(error: BaseException, reason: str) -> None:
    if _listener is None or getattr(error, "_graphglue_told", False):
        return
    error._graphglue_told = True  # type: ignore[attr-defined]
    _listener(_record(error, "Skipping the function" in reason), error)


def _log_method(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``InstructionTranslatorBase.log_graph_break``: 2.13 passes the exception, 2.10 the user stack."""

    @functools.wraps(original)
    def log_graph_break(self: Any, code_options: Any, reason: str = "", *args: Any, **kwargs: Any) -> Any:
        error = kwargs.get("exc") or next((a for a in args if isinstance(a, BaseException)), None) or sys.exc_info()[1]
        if error is not None and not getattr(error, "logged", False):
            _commit(error, reason)
        return original(self, code_options, reason, *args, **kwargs)

    return log_graph_break


def _log_function(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the module function of torch 2.5 to 2.8."""

    @functools.wraps(original)
    def log_graph_break(*args: Any, **kwargs: Any) -> Any:
        error = kwargs.get("exc") or next((a for a in args if isinstance(a, BaseException)), None) or sys.exc_info()[1]
        if error is not None:
            _commit(error, str(kwargs.get("reason", "")))
        return original(*args, **kwargs)

    return log_graph_break


def _converter_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Frames that fail elsewhere surface in the converter: breaks never logged, and internal or backend errors."""

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except exc.Unsupported as e:
            if _listener is not None and not getattr(e, "_graphglue_told", False):
                frame = args[0] if args else None
                stack, facts = getattr(e, "_graphglue", ([], {}))
                if not stack and frame is not None:
                    e._graphglue = ([_frame(frame.f_code, frame.f_code.co_firstlineno, None)], facts)  # type: ignore[attr-defined]
                _commit(e, "Skipping the function")
            raise
        except Exception as e:
            if _errors is not None and not isinstance(e, getattr(exc, "RestartAnalysis", ())):
                _errors(e)
            raise

    # Dynamo walks the stack for its own file name to find `disable(recursive=False)`.
    __call__.__code__ = __call__.__code__.replace(co_filename=convert_frame.__file__)
    return __call__


def install(on_break: Callable[[dict[str, Any], BaseException], None], on_error: Callable[[BaseException], None]) -> None:
    """Listen.  Installing again replaces the listeners; torch is patched once per process."""
    global _listener, _errors
    _listener, _errors = on_break, on_error
    base = symbolic_convert.InstructionTranslatorBase
    if getattr(base, "_graphglue_hooked", False):
        return
    base._graphglue_hooked = True  # type: ignore[attr-defined]
    _wrap_init(exc.Unsupported)
    if hasattr(base, "log_graph_break"):
        base.log_graph_break = _log_method(base.log_graph_break)  # type: ignore[method-assign]
    elif hasattr(symbolic_convert, "log_graph_break"):
        symbolic_convert.log_graph_break = _log_function(symbolic_convert.log_graph_break)
    convert_frame.ConvertFrameAssert.__call__ = _converter_call(convert_frame.ConvertFrameAssert.__call__)  # type: ignore[method-assign]
    _skip_guard_timing()


def _skip_guard_timing() -> None:
    """Dynamo times its guards after each compilation, for a log line; that costs about a third of a capture."""
    from torch._dynamo import guards

    if hasattr(guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *a, **k: 0.0
