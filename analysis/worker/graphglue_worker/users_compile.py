"""The user's own ``torch.compile`` sites: their options are kept, respected and shown; their backends do not run.

Replaced before user code is imported, so that ``from torch import compile`` gets the replacement too.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
import torch._dynamo

from graphglue_worker import positions

_OPTIONS = "_graphglue_compile_options"
# What changes how Dynamo traces.  fullgraph would hide breaks; backend, mode and options are for what comes after.
_RESPECTED = ("dynamic", "recompile_limit", "isolate_recompiles", "shapes_spec")
_SHOWN = ("fullgraph", "dynamic", "backend", "mode", "options", "recompile_limit", "isolate_recompiles")
_compile = torch.compile
_optimize = torch._dynamo.optimize
_elsewhere: list[tuple[Any, dict[str, Any]]] = []  # of callables that take no attributes, as bound methods
_whole: set[tuple[str, str]] = set()  # (file, function) of those compiled with fullgraph=True


@dataclass
class Site:
    """A place at the top of a file, or in a class there, that compiles something."""

    compiled: Any
    file: str
    line: int


_sites: list[Site] = []


def compiled(fn: Any, backend: Callable[..., Any], respecting: dict[str, Any]) -> Callable[..., Any]:
    """`fn` under Dynamo with a backend of ours, and of the user's options those that change how it is traced."""
    return _optimize(backend=backend, nopython=False, **{k: v for k, v in respecting.items() if k in _RESPECTED})(fn)


def replace() -> None:
    """Make torch.compile, Module.compile and torch._dynamo.optimize keep the options and return the callable itself."""
    torch.compile = _keeping_compile
    torch.nn.Module.compile = _keeping_module_compile  # type: ignore[method-assign]
    for owner in (torch._dynamo, torch._dynamo.eval_frame):
        owner.optimize = _keeping_optimize  # type: ignore[attr-defined]
        owner.optimize_assert = functools.partial(_keeping_optimize, nopython=True)  # type: ignore[attr-defined]
    # Within traced code torch.compile does nothing; Dynamo knows it by identity.
    with contextlib.suppress(Exception):
        from torch._dynamo import trace_rules
        from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

        for table in (trace_rules.get_torch_obj_rule_map(), TorchInGraphFunctionVariable._get_handlers()):
            if _compile in table:
                table[_keeping_compile] = table[_compile]  # type: ignore[index]


def _keeping_compile(model: Any = None, **options: Any) -> Any:
    inspect.signature(_compile).bind(model, **options)  # a wrong option raises here, as it does in torch
    if model is None:
        return functools.partial(_keeping_compile, **options)
    _keep(model, options)
    return model


def _keeping_module_compile(self: torch.nn.Module, *args: Any, **options: Any) -> None:
    _keep(self, options)


def _keeping_optimize(backend: Any = "inductor", nopython: bool = False, **options: Any) -> Any:
    kept = {"backend": backend, "fullgraph": nopython, **options}

    def decorate(fn: Any) -> Any:
        _keep(fn, kept)
        return fn

    return decorate


def _keep(fn: Any, options: dict[str, Any]) -> None:
    if options.get("disable"):
        return
    site = _site(fn, sys._getframe(1))
    if site is not None:
        _sites.append(site)
    try:
        setattr(fn, _OPTIONS, options)
    except AttributeError:
        _elsewhere.append((fn, options))
    code = getattr(inspect.unwrap(fn), "__code__", None)  # of a module other instances share it
    if options.get("fullgraph") and code is not None:
        _whole.add((code.co_filename, positions.function_name(code)))


def _site(fn: Any, frame: FrameType | None) -> Site | None:
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    caller = frame
    while frame is not None and frame.f_code.co_name != "<module>" and not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame = frame.f_back  # out of the bodies of classes
    if caller is None or frame is None or frame.f_code.co_name != "<module>":
        return None
    return Site(fn, caller.f_code.co_filename, caller.f_lineno)


def sites(file: str) -> list[Site]:
    """What was compiled at the top of a file while it was imported, in that order."""
    return [site for site in _sites if site.file == file]


def is_compiled(fn: Any) -> bool:
    """Whether the user's code compiles this very function or class, with options or without."""
    return _OPTIONS in getattr(fn, "__dict__", {}) or any(known == fn for known, _ in _elsewhere)


def options_of(fn: Any) -> dict[str, Any]:
    """Options of the user's own torch.compile site, if the callable passed through one."""
    own = getattr(fn, _OPTIONS, None) or getattr(getattr(fn, "forward", None), _OPTIONS, None)
    return own or next((options for known, options in _elsewhere if known == fn), {})


def words_of(options: dict[str, Any]) -> list[str]:
    """The options in a phrase, none when there is nothing to say."""
    shown = [
        f"{k}={_value(options[k])}" for k in _SHOWN if options.get(k) or (k == "dynamic" and options.get(k) is not None)
    ]
    if not shown:
        return []
    left_out = " (captured without fullgraph, which would hide breaks)" if options.get("fullgraph") else ""
    return [f"your code compiles it with {', '.join(shown)}{left_out}"]


def _value(value: Any) -> str:
    return getattr(value, "__qualname__", None) or f"{value!r:.60}"


def must_be_whole(record: dict[str, Any]) -> str | None:
    """The function of a break's stack that the user compiles with fullgraph=True, for which the break is an error."""
    return next((f["function"] for f in record["stack"] if (f["file"], f["function"]) in _whole), None)
