"""What the functions of a file that return a new object of a class construct it with: `resnet18()` knows how many blocks ResNet wants.

Such a function is called, if it wants no arguments, until it constructs the class: the arguments that arrive are the result, and it goes no further.
Only functions that return the object are: a script's `main()` is not.
"""

import ast
import contextlib
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from graphglue_worker import overlay, values
from graphglue_worker.describe import Describer
from graphglue_worker.recipes import Recipe, Unmakeable

MAX_CALLED = 3


class _Reached(BaseException):
    """The class is constructed.  No Exception, so that user code does not swallow it."""

    def __init__(self, given: list[Any], named: dict[str, Any]) -> None:
        super().__init__()
        self.given, self.named = given, named


def constructor_calls(cls: type, home: types.ModuleType | None, name: str) -> Iterator[Recipe]:
    """Recipes of the calls by which the file's functions construct `cls`, which they are to name `name`."""
    called = 0
    for function in _without_arguments(cls, home):
        if called == MAX_CALLED:
            return
        called += 1
        try:
            args, kwargs = _arguments(function, cls)
            yield {"call": name, "args": args, "kwargs": kwargs}
        except (Exception, SystemExit):  # noqa: BLE001, S112 - user code: it is one that does not help
            continue


def _without_arguments(cls: type, home: types.ModuleType | None) -> Iterator[Any]:
    """Functions of the file that want no arguments and return an object of the class, in their order."""
    tree = overlay.tree_of(home)
    if tree is None:
        return
    returned = {node.name: _returned(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    makers = {cls.__name__}
    while more := {name for name, calls in returned.items() if name not in makers and calls & makers}:
        makers |= more
    for name in returned:
        function = getattr(home, name, None)
        if name in makers and isinstance(function, types.FunctionType):
            with contextlib.suppress(TypeError, ValueError):
                inspect.signature(function).bind()
                yield function


def _returned(function: ast.FunctionDef) -> set[str]:
    """Names of what a function returns the result of a call of."""
    assigned: dict[str, list[ast.expr]] = {}
    results: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            results.append(node.value)
    for result in list(results):
        if isinstance(result, ast.Name):
            results += assigned.get(result.id, [])
    return {r.func.id for r in results if isinstance(r, ast.Call) and isinstance(r.func, ast.Name)}


def _arguments(function: Any, cls: type) -> tuple[list[Recipe], dict[str, Recipe]]:
    """What the function constructs the class with.  Raises what the function raises, and Unmakeable."""
    init = torch.nn.Module.__init__

    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is not cls:
            init(self, *args, **kwargs)
            return
        frame, outermost = sys._getframe(1), None
        while frame is not None and frame.f_code.co_name == "__init__" and _own(frame) is self:
            outermost, frame = frame, frame.f_back
        raise _Reached(*(values.arguments_of(outermost) if outermost is not None else ([], {})))

    torch.nn.Module.__init__ = watched  # type: ignore[method-assign]
    try:
        function()
    except _Reached as e:
        describer = Describer(home=sys.modules.get(cls.__module__))
        return [describer.describe(a) for a in e.given], {k: describer.describe(v, k) for k, v in e.named.items()}
    finally:
        torch.nn.Module.__init__ = init  # type: ignore[method-assign]
    raise Unmakeable(f"{function.__name__}() does not construct it")


def _own(frame: types.FrameType) -> Any:
    """The object whose method the frame runs."""
    names = frame.f_code.co_varnames
    return frame.f_locals.get(names[0]) if names else None
