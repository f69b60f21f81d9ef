"""Arguments that are no tensors: dictionaries and objects, whose keys and attributes show where the code reads them."""

import re
from collections.abc import Iterator
from typing import Any

from graphglue_worker import guesses
from graphglue_worker.changes import NAMESPACE, parts
from graphglue_worker.recipes import Recipe
from graphglue_worker.sizes import Sizes
from graphglue_worker.trial import Failure, State

_OF_DICTIONARIES = ("get", "items", "keys", "values", "pop", "setdefault", "update")
_LINES = 3  # innermost ones that are looked at


def by_structure(f: Failure, state: State, sizes: Sizes) -> Iterator[State]:
    """States in which an argument is a dictionary or an object with what the failing line reads from it."""
    for line, scope in f.lines[:_LINES]:
        for parameter, value in f.values.items():
            for name in (n for n, v in scope.items() if v is value and value is not None):
                keys = re.findall(rf"\b{name}\s*\[\s*['\"]([^'\"]+)['\"]\s*\]", line)
                keys += re.findall(rf"\b{name}\.(?:get|pop)\(\s*['\"]([^'\"]+)['\"]", line)
                attributes = [a for a in re.findall(rf"\b{name}\.([A-Za-z]\w*)", line) if not hasattr(value, a)]
                if keys and isinstance(f.error, (KeyError, TypeError, IndexError, AttributeError, RuntimeError)):
                    yield {**state, parameter: {"dict": list(map(list, _held(state[parameter], keys, sizes).items()))}}
                elif any(a in _OF_DICTIONARIES for a in attributes):
                    yield {**state, parameter: {"dict": list(map(list, _held(state[parameter], [], sizes).items()))}}
                elif attributes and isinstance(f.error, AttributeError):
                    yield {
                        **state,
                        parameter: {"call": NAMESPACE, "kwargs": _held(state[parameter], attributes, sizes)},
                    }


def _held(recipe: Recipe, names: list[str], sizes: Sizes) -> dict[Any, Recipe]:
    """What the argument holds already, and guesses for the names."""
    held = {k: v for k, v in parts(recipe).items() if isinstance(k, str)}
    return {**{n: guesses.by_name(n, sizes)[0] for n in dict.fromkeys(names)}, **held}
