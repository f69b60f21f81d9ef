"""Calls of a class in its own file whose arguments are plain: what the author constructs it with."""

import ast
import inspect
import types
from collections.abc import Iterator
from typing import Any

from graphglue_worker import configs, overlay
from graphglue_worker.recipes import Recipe, may_make

MAX_CALLS = 4


class _Unknown(Exception):
    pass


def constructor_calls(cls: type, home: types.ModuleType | None, name: str) -> Iterator[Recipe]:
    """Recipes of the calls of `cls` in its file with arguments that are literals, names of literals, or calls of that kind."""
    tree = overlay.tree_of(home)
    if tree is None:
        return
    reader = _Reader(tree, home)
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == cls.__name__:
            try:
                args, kwargs = reader.arguments(node)
                inspect.signature(cls).bind(*args, **kwargs)
            except (_Unknown, TypeError, ValueError):
                continue
            yield {"call": name, "args": args, "kwargs": kwargs}
            found += 1
            if found == MAX_CALLS:
                return


class _Reader:
    def __init__(self, tree: ast.AST, home: Any) -> None:
        self.home = home
        self.assigned: dict[str, list[ast.expr]] = {}
        self.parameters = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}  # these may be anything
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.assigned.setdefault(node.targets[0].id, []).append(node.value)

    def arguments(self, call: ast.Call, depth: int = 0) -> tuple[list[Recipe], dict[str, Recipe]]:
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            raise _Unknown
        return [self.read(a, depth) for a in call.args], {str(k.arg): self.read(k.value, depth) for k in call.keywords}

    def read(self, node: ast.expr, depth: int = 0) -> Recipe:
        if depth > 6:
            raise _Unknown
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            return self._read_other(node, depth)
        recipe = configs.literal(value)
        if recipe is None and value is not None:
            raise _Unknown
        return recipe

    def _read_other(self, node: ast.expr, depth: int) -> Recipe:
        if isinstance(node, ast.Name):
            values = self.assigned.get(node.id, [])
            if node.id in self.parameters:
                raise _Unknown
            if len(values) == 1:
                return self.read(values[0], depth + 1)
            target = getattr(self.home, node.id, None)
            if isinstance(target, (type, types.FunctionType)) and not values and "<" not in target.__qualname__:
                return {"global": configs.class_name(target)}
        elif isinstance(node, (ast.List, ast.Tuple)):
            items = [self.read(e, depth + 1) for e in node.elts]
            return items if isinstance(node, ast.List) else {"tuple": items}
        elif isinstance(node, ast.Call):
            target = self._resolve(node.func)
            if isinstance(target, type) and may_make(target, self.home):
                args, kwargs = self.arguments(node, depth + 1)
                return {"call": configs.class_name(target), "args": args, "kwargs": kwargs}
        elif isinstance(node, ast.Attribute):
            target = self._resolve(node)
            if isinstance(target, type):
                return {"global": configs.class_name(target)}
        raise _Unknown

    def _resolve(self, node: ast.expr) -> Any:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        value = getattr(self.home, node.id, None)
        for part in parts:
            value = getattr(value, part, None)
        return value
