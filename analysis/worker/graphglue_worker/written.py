"""Recipes as code of a user's file: by the names that the file has for things, in its quotes, with what must be imported."""

import builtins
import importlib
import inspect
import itertools
import sys
from types import ModuleType
from typing import Any

import torch

from graphglue_worker import sources
from graphglue_worker.layout import Node
from graphglue_worker.recipes import Maker, Recipe
from graphglue_worker.recorded_source import takes
from graphglue_worker.sources import Unwritable

Import = tuple[str, str]  # ("torch", ""): import torch; ("a.b", "C"): from a.b import C
_KEPT = "shared"


class Names:
    """What things are called in a file, whose module is `home`.  `hidden`: names that mean something else where the code will stand."""

    def __init__(self, home: ModuleType, hidden: "set[str]") -> None:
        self.home, self.hidden = home, hidden
        self.known = {n: v for n, v in vars(home).items() if n not in hidden and not n.startswith("__")}
        self.added: dict[str, Import] = {}
        self.used: list[Import] = []  # of what was added, by the code that is written now

    def torch(self) -> str:
        """torch, by this name and no other."""
        return self._use("torch") if self.known.get("torch") is torch else self._add("torch", ("torch", ""), torch)

    def of(self, module: str, path: str) -> str:
        """What module:path is called.  Raises Unwritable."""
        top, _, rest = path.partition(".")
        tail = f".{rest}" if rest else ""
        thing = self._thing(module, top)
        same = [n for n, v in self.known.items() if v is thing]
        if same:
            return self._use(top if top in same else same[0]) + tail
        if module in ("", "__main__", self.home.__name__):
            raise Unwritable(f"{path}: another thing has this name there")
        place = _public(module, top, thing)
        found = self._module(sys.modules.get(place))
        if found is None and place.partition(".")[0] == "torch":
            found = self.torch() + place.removeprefix("torch")
        if found is not None:
            return f"{found}.{path}"
        return self._add(top, (place, top), thing) + tail

    def is_free(self, name: str) -> bool:
        """Does nothing have this name?"""
        return not (name in self.known or name in self.hidden or hasattr(builtins, name))

    def _thing(self, module: str, top: str) -> Any:
        home = module in ("", "__main__", self.home.__name__)
        try:
            return getattr(self.home if home else importlib.import_module(module), top)
        except (ImportError, AttributeError) as e:
            raise Unwritable(f"{top}, which is not in {module or 'this file'} any more") from e

    def _module(self, module: Any) -> str | None:
        return next((self._use(n) for n, v in self.known.items() if v is module), None) if module else None

    def _use(self, name: str) -> str:
        if name in self.added and self.added[name] not in self.used:
            self.used.append(self.added[name])
        return name

    def _add(self, name: str, how: Import, thing: Any) -> str:
        if not self.is_free(name):
            raise Unwritable(f"{how[0]}'s {name}: the file calls something else by this name")
        self.known[name], self.added[name] = thing, how
        return self._use(name)


def _public(module: str, name: str, thing: Any) -> str:
    """The module to import a thing from: the shortest one above its own that has it too."""
    parts = module.split(".")
    for i in range(1, len(parts)):
        above = ".".join(parts[:i])
        try:
            if getattr(sys.modules.get(above), name, None) is thing:
                return above
        except Exception:  # noqa: BLE001, S112 - packages that load their parts when they are asked for
            continue
    return module


class Source(sources.Writer):
    """Writes the inputs of one entry.  `statements`: what must stand before the expressions."""

    def __init__(self, names: Names, quote: str, grad: bool) -> None:
        super().__init__(names.home.__name__)
        self.names, self.quote, self.grad = names, quote, grad
        self.statements: list[tuple[str, Node]] = []  # name, value
        self._named: dict[int, str] = {}
        names.used = []

    def string(self, value: str) -> str:
        text = repr(value)
        return (
            text if text[0] == self.quote or self.quote in value or "\\" in text else f"{self.quote}{value}{self.quote}"
        )

    def name(self, name: str) -> str:
        module, _, path = name.partition(":")
        if "<" in path:
            raise Unwritable(f"{path}, which has no name outside the function it is defined in")
        return self.names.of(module, path)

    def torch(self) -> str:
        return self.names.torch()

    def kept(self, number: int, value: Recipe) -> Node:
        node = self.node(value)
        tried = (_KEPT if i == 1 else f"{_KEPT}_{i}" for i in itertools.count(1))
        name = next(n for n in tried if self.names.is_free(n) and n not in self._named.values())
        self.statements.append((name, node))
        self._named[number] = name
        return name

    def again(self, number: int) -> Node:
        if number not in self._named:
            raise Unwritable("a tensor that is named before it is made")
        return self._named[number]

    def instance(self, recipe: Recipe) -> Node:
        maker = Maker(self.names.home)
        cls = maker.class_named(recipe["state"])
        if not takes(cls, {k: maker.make(v) for k, v in recipe["of"].items()}, maker.make(recipe)):
            raise Unwritable(f"an object of {cls.__qualname__}, whose constructor does not take what it holds")
        return self.call(self.name(recipe["state"]), (), recipe["of"])


def import_line(how: Import) -> str:
    """The statement."""
    return f"from {how[0]} import {how[1]}" if how[1] else f"import {how[0]}"


def local_names(function: Any) -> "set[str]":
    """Names that mean something of their own inside a function."""
    code = inspect.unwrap(function).__code__
    return {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
