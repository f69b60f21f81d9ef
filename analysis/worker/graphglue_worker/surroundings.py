"""Which classes of a file contain another one, by the names their constructors use."""

import inspect
import types
from typing import Any

import torch

from graphglue_worker import configs

# First parameters that a guess most often gets right.
_WELL_KNOWN = (
    "input_ids",
    "pixel_values",
    "input_features",
    "input_values",
    "x",
    "inputs",
    "input",
    "images",
    "image",
    "tokens",
    "idx",
    "ids",
)


def is_entry_class(value: Any) -> bool:
    """A class of modules that says what its call does."""
    return (
        isinstance(value, type) and issubclass(value, torch.nn.Module) and value.forward is not torch.nn.Module.forward
    )


def containers(cls: type, home: types.ModuleType | None) -> list[type]:
    """Module classes of the file whose constructors lead to `cls`, those that are easiest to run first."""
    if home is None:
        return []
    classes = {n: c for n, c in vars(home).items() if is_entry_class(c) and c.__module__ == home.__name__}
    tables = {
        n: v
        for n, v in vars(home).items()
        if isinstance(v, dict) and v and all(isinstance(c, type) for c in v.values())
    }
    users: dict[str, set[str]] = {}
    for name, c in classes.items():
        for used in _names_used(c):
            for part in (used, *(t.__name__ for t in tables.get(used, {}).values())):
                users.setdefault(part, set()).add(name)
    hops, front = {cls.__name__: 0}, [cls.__name__]
    while front:
        reached = sorted({u for n in front for u in users.get(n, ()) if u not in hops})
        hops.update(dict.fromkeys(reached, hops[front[0]] + 1))
        front = reached
    found = [(c, hops[n]) for n, c in classes.items() if hops.get(n) and not issubclass(c, cls)]
    return [c for c, _ in sorted(found, key=lambda item: (_hard(item[0]), item[1], item[0].__qualname__))]


def _names_used(cls: type) -> set[str]:
    """Names that a class's methods use, those of functions inside them too."""
    names: set[str] = set()
    codes = [f.__code__ for f in vars(cls).values() if isinstance(f, types.FunctionType) and f.__name__ != "forward"]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return names


def _hard(cls: type) -> int:
    """How hard a class's arguments are to guess."""
    try:
        parameters = list(inspect.signature(cls.forward).parameters.values())[1:]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return 9
    required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    known = bool(parameters) and parameters[0].name in _WELL_KNOWN
    settings = any(configs.PARAMETER.match(p.name) for p in required)
    return (0 if known else 2) + max(0, len(required) - 1) + (3 if settings else 0)
