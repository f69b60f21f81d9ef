"""Recipes: how to make a value again, as plain JSON values.

What is deduced, recorded and written as code shares this form.  A recipe is a scalar (None, bool, int, finite float, str), a list of recipes, or
an object with one of the keys

    {"tuple": […]}  {"set": […]}  {"dict": [[key, value]…]}  {"size": […]}  {"float": "inf"}  {"complex": [re, im]}  {"slice": [a, b, c]}
    {"tensor": {"shape", "dtype", "fill", …}}                    see `tensors`
    {"dtype": "float32"}  {"device": "cpu"}  {"global": "module:name"}
    {"call": "module:Class", "args": […], "kwargs": {…}, "set": {"a.b": recipe}}
    {"state": "module:Class", "of": {attribute: recipe}}         an object with these attributes; no code of its class runs
    {"attr": "layers.0", "of": recipe}                           a part of another value, such as a submodule
    {"id": n, "is": recipe}  {"ref": n}                          one value in several places

An empty module name means the file the entry belongs to.  Only classes are called, never functions, and a class must be a module, a
configuration, a container of data or one of the user's own: a recipe read from a file is data, not a program.
"""

import dataclasses
import enum
import importlib
import math
import sys
from types import ModuleType
from typing import Any

import torch

from graphglue_worker import tensors

Recipe = Any
SAFE = ("collections", "types", "fractions", "decimal", "datetime", "pathlib", "torch")


class Unmakeable(Exception):
    """A recipe cannot be followed, or a value has none; the text says why in plain words."""


class Maker:
    """Follows recipes.  `home`: the module that an empty module name means; `blob`: recorded bytes."""

    def __init__(self, home: ModuleType | None = None, blob: bytes = b"") -> None:
        self.home = home
        self.blob = blob
        self.made: dict[int, Any] = {}

    def make(self, recipe: Recipe) -> Any:
        """The value.  Raises Unmakeable, or whatever a constructor raises."""
        if isinstance(recipe, list):
            return [self.make(r) for r in recipe]
        if not isinstance(recipe, dict):
            return recipe
        for key, follow in _FOLLOW.items():
            if key in recipe:
                return follow(self, recipe)
        raise Unmakeable(f"unknown recipe {sorted(recipe)}")

    def named(self, name: str) -> Any:
        """What "module:qualified.name" names.  Raises Unmakeable."""
        module_name, _, path = name.partition(":")
        try:
            module = self._module(module_name)
            found: Any = module
            for part in path.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError, ValueError) as e:
            raise Unmakeable(f"{name.strip(':')} is not there ({e})") from e

    def _module(self, name: str) -> ModuleType:
        if name in ("", "__main__"):
            if self.home is None:
                raise Unmakeable("there is no file it belongs to")
            return self.home
        if self.home is not None and name == self.home.__name__:
            return self.home
        return sys.modules.get(name) or importlib.import_module(name)

    def _call(self, recipe: Recipe) -> Any:
        cls = self.class_named(recipe["call"])
        args = [self.make(a) for a in recipe.get("args", ())]
        kwargs = {k: self.make(v) for k, v in recipe.get("kwargs", {}).items()}
        value = cls(*args, **kwargs)
        for path, new in recipe.get("set", {}).items():
            owner, _, name = path.rpartition(".")
            setattr(_part(value, owner), name, self.make(new))
        return value

    def _state(self, recipe: Recipe) -> Any:
        cls = self.class_named(recipe["state"])
        value = object.__new__(cls)
        for name, of in recipe["of"].items():
            object.__setattr__(value, name, self.make(of))
        return value

    def class_named(self, name: str) -> type:
        """A class that a recipe may make things of.  Raises Unmakeable."""
        cls = self.named(name)
        if not isinstance(cls, type) or not may_make(cls, self.home):
            raise Unmakeable(f"{name.strip(':')} is no class that a recipe may call")
        return cls

    def _kept(self, recipe: Recipe) -> Any:
        self.made[recipe["id"]] = value = self.make(recipe["is"])
        return value


def may_make(cls: type, home: ModuleType | None) -> bool:
    """Modules, configurations, containers of data, and the user's own classes."""
    if issubclass(cls, (torch.nn.Module, enum.Enum)) or dataclasses.is_dataclass(cls) or hasattr(cls, "_fields"):
        return True
    if hasattr(cls, "to_dict") or issubclass(cls, dict) or cls.__module__.partition(".")[0] in SAFE:
        return True
    return home is not None and cls.__module__.partition(".")[0] == home.__name__.partition(".")[0]


def _part(value: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        if isinstance(value, torch.nn.Module) or not name.isdigit():
            value = getattr(value, name)
        else:
            value = value[int(name)]
    return value


_FOLLOW = {
    "tensor": lambda m, r: tensors.make(r["tensor"], m.blob),
    "tuple": lambda m, r: tuple(m.make(v) for v in r["tuple"]),
    "dict": lambda m, r: {m.make(k): m.make(v) for k, v in r["dict"]},
    "set": lambda m, r: {m.make(v) for v in r["set"]},
    "size": lambda m, r: torch.Size(r["size"]),
    "float": lambda m, r: float(r["float"]),
    "complex": lambda m, r: complex(*r["complex"]),
    "slice": lambda m, r: slice(*(m.make(v) for v in r["slice"])),
    "dtype": lambda m, r: tensors.dtype_named(r["dtype"]),
    "device": lambda m, r: torch.device(r["device"]),
    "global": lambda m, r: m.named(r["global"]),
    "call": Maker._call,
    "state": Maker._state,
    "attr": lambda m, r: _part(m.make(r["of"]), r["attr"]),
    "id": Maker._kept,
    "ref": lambda m, r: m.made[r["ref"]],
}


def scalar(value: Any) -> Recipe:
    """The recipe of a number, string, bool or None."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value
