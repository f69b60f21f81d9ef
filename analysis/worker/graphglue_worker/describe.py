"""Recipes of values that exist: what a recording keeps, and what a module was given by the one around it.

`Describer.tensor` decides how much of a tensor is kept; strings may be withheld.  What has no recipe raises Unmakeable.
"""

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

from graphglue_worker import tensors
from graphglue_worker.recipes import Recipe, Unmakeable, may_make, scalar

MAX_DEPTH = 24
MAX_ITEMS = 20_000


class Describer:
    """Describes values.  `tensor`: the recipe of a tensor; `text`: the recipe of a string; `module`: the recipe of a module."""

    def __init__(
        self,
        tensor: Callable[[torch.Tensor], Recipe] | None = None,
        text: Callable[[str, str], Recipe] | None = None,
        module: Callable[[torch.nn.Module], Recipe] | None = None,
        home: types.ModuleType | None = None,
    ) -> None:
        self._tensor = tensor or (lambda x: {"tensor": tensors.describe(x)})
        self._text = text or (lambda name, value: value)
        self._module = module
        self._home = home
        self._items = 0
        self._open: set[int] = set()

    def describe(self, value: Any, name: str = "", depth: int = 0) -> Recipe:
        """The recipe of a value; `name` is what it is called where it was found.  Raises Unmakeable."""
        self._items += 1
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            raise Unmakeable(f"{name or 'a value'} is too large to describe")
        if isinstance(value, enum.Enum):
            return {"global": f"{_named(type(value))}.{value.name}"}
        if value is None or type(value) in (bool, int, float):
            return scalar(value)
        if type(value) is str:
            return self._text(name, value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if id(value) in self._open:
            raise Unmakeable(f"{name or 'a value'} contains itself")
        self._open.add(id(value))
        try:
            return self._other(value, name, depth + 1)
        finally:
            self._open.discard(id(value))

    def _other(self, value: Any, name: str, depth: int) -> Recipe:
        kind = type(value)
        if kind is list:
            return [self.describe(v, name, depth) for v in value]
        if kind is torch.Size:
            return {"size": [int(v) for v in value]}
        if kind is tuple:
            return {"tuple": [self.describe(v, name, depth) for v in value]}
        if kind is dict:
            return {
                "dict": [[self.describe(k, name, depth), self.describe(v, str(k), depth)] for k, v in value.items()]
            }
        if kind in (set, frozenset):
            return {"set": [self.describe(v, name, depth) for v in sorted(value, key=repr)]}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is slice:
            return {"slice": [self.describe(v, name, depth) for v in (value.start, value.stop, value.step)]}
        if kind is torch.dtype:
            return {"dtype": tensors.dtype_name(value)}
        if kind is torch.device:
            return {"device": str(value)}
        if isinstance(value, torch.nn.Module):
            if self._module is None:
                raise Unmakeable(f"{name or 'a value'} is a module")
            return self._module(value)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            return _global(value, name)
        return self._object(value, name, depth)

    def _object(self, value: Any, name: str, depth: int) -> Recipe:
        kind = type(value)
        if not _reachable(kind) or not may_make(kind, self._home or _home_of(kind)):
            raise Unmakeable(f"{name or 'a value'} is a {kind.__qualname__}, which has no recipe")
        if hasattr(value, "_fields") and isinstance(value, tuple):
            return {"call": _named(kind), "args": [self.describe(v, name, depth) for v in value]}
        if isinstance(value, Mapping):
            if not issubclass(kind, dict):
                raise Unmakeable(f"{name or 'a value'} is a {kind.__qualname__}, which has no recipe")
            items = {str(k): self.describe(v, str(k), depth) for k, v in value.items() if isinstance(k, str)}
            return {"call": _named(kind), "kwargs": items}
        if any("__slots__" in vars(c) and vars(c)["__slots__"] for c in kind.__mro__) or not hasattr(value, "__dict__"):
            raise Unmakeable(f"{name or 'a value'} is a {kind.__qualname__}, which has no recipe")
        fields = vars(value)
        if dataclasses.is_dataclass(value):
            names = [f.name for f in dataclasses.fields(value) if f.init]
            if all(n in fields for n in names):
                return {"call": _named(kind), "kwargs": {n: self.describe(fields[n], n, depth) for n in names}}
        return {"state": _named(kind), "of": {k: self.describe(v, k, depth) for k, v in fields.items()}}


def _named(cls: Any) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _reachable(cls: type) -> bool:
    return "<locals>" not in cls.__qualname__


def _home_of(cls: type) -> types.ModuleType | None:
    return inspect.getmodule(cls)


def _global(value: Any, name: str) -> Recipe:
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    found: Any = inspect.getmodule(value)
    if module and "<" not in path and found is not None:
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is value:
            return {"global": f"{module}:{path}"}
    for place in (torch.nn.functional, torch):  # built-in functions do not say where they are
        if getattr(place, getattr(value, "__name__", ""), None) is value:
            return {"global": f"{place.__name__}:{value.__name__}"}
    raise Unmakeable(f"{name or 'a value'} is a function that cannot be named ({path or value!r})")
