"""Params for each method, made from the LSP model: the least and the most that a client may send, and every way to get one field wrong."""

from __future__ import annotations

import collections.abc
import copy
import enum
import typing
from collections.abc import Iterator
from typing import Any

import attrs
from conformance import faults, fields

KINDS: tuple[Any, ...] = (True, -1, 7, 1.5, "text", [], {}, [7], None)  # one JSON value of each sort


def alternatives(wanted: Any) -> list[Any]:
    """Of a union; a union in a list or an object counts as one there."""
    if typing.get_origin(wanted) is typing.Union or type(wanted).__name__ == "UnionType":
        return [a for a in typing.get_args(wanted) if a is not type(None)]
    return [wanted]


class Maker:
    """`strings`: by the name of a field, what its text is to be.  `turn`: which alternative of each union is taken."""

    def __init__(self, strings: dict[str, str], full: bool = False, turn: int = 0) -> None:
        self.strings, self.full, self.turn = strings, full, turn

    def of(self, wanted: Any, key: str = "", depth: int = 0) -> Any:
        choices = alternatives(wanted)
        wanted = choices[self.turn % len(choices)]
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if wanted is Any or wanted is object:
            return {"any": [1, "x", None]}
        if origin is typing.Literal:
            return arguments[self.turn % len(arguments)]
        if origin is tuple:
            return [self.of(a, key, depth) for a in arguments]
        if origin in (list, collections.abc.Sequence):
            return [self.of(arguments[0], key, depth)] if self.full else []
        if origin in (dict, collections.abc.Mapping):
            return {"file:///never.py": self.of(arguments[1], key, depth)} if self.full else {}
        if attrs.has(wanted):
            return self.object(wanted, depth)
        if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
            members = list(wanted)
            return members[self.turn % len(members)].value
        return {str: self.strings.get(key, "text"), bool: True, int: 1, float: 0.5}[wanted]

    def object(self, cls: type, depth: int) -> dict[str, Any]:
        assert depth < 20, f"{cls} holds itself"
        out = {}
        for key, (field, hint) in fields(cls).items():
            constant = field.default is not attrs.NOTHING and field.default is not None
            if constant:
                out[key] = field.default
            elif field.default is attrs.NOTHING or self.full:
                out[key] = self.of(hint, key, depth + 1)
        return out


def extended(value: Any) -> Any:
    """With a field that nobody knows in every object."""
    if isinstance(value, list):
        return [extended(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {**{k: extended(v) for k, v in value.items()}, "unheardOf": {"deep": [None, 1.5, {"a": []}]}}


# ---- wrong ones ------------------------------------------------------------------------------------------------------------


def wrong(cls: type, whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """(the path of a field, `whole` with that field missing or of another type), for each field of it."""
    for path, hint, field in places(whole, cls, ()):
        said = ".".join(str(p) for p in path)
        required = field is None or field.default is attrs.NOTHING
        if field and required and faults(without := replaced(whole, path, ...), cls, ""):
            yield f"no {said}", without
        for value in KINDS:
            if is_wrong(value, hint, field) and (value is not None or required):  # many clients write null for nothing
                yield f"{said} = {value!r}", replaced(whole, path, value)


def is_wrong(value: Any, hint: Any, field: attrs.Attribute[Any] | None) -> bool:
    if value == -1 and int in alternatives(hint):
        return str not in alternatives(hint) and "uinteger" in getattr(field and field.validator, "__name__", "")
    first = alternatives(hint)[0]
    if typing.get_origin(first) in (list, collections.abc.Sequence) and isinstance(value, list):
        return any(is_wrong(item, typing.get_args(first)[0], None) for item in value)
    if isinstance(first, type) and issubclass(first, enum.Enum):  # values that are not known are kept
        return type(value) is not type(next(iter(first)).value) and bool(faults(value, hint, ""))
    return bool(faults(value, hint, ""))


def places(
    value: Any, hint: Any, path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any, attrs.Attribute[Any] | None]]:
    """Each field of a value, and each item of its lists (no field): where it is and what it is to be."""
    for choice in alternatives(hint):
        origin, arguments = typing.get_origin(choice), typing.get_args(choice)
        if isinstance(value, list) and origin in (list, collections.abc.Sequence):
            for i, item in enumerate(value):
                yield (*path, i), arguments[0], None
                yield from places(item, arguments[0], (*path, i))
        elif isinstance(value, dict) and attrs.has(choice) and not faults(value, choice, ""):
            for key, (field, wanted) in fields(choice).items():
                if key in value and (field.default is attrs.NOTHING or field.default is None):
                    yield (*path, key), wanted, field
                    yield from places(value[key], wanted, (*path, key))
            return


def replaced(whole: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path; `...`: with none."""
    out = copy.deepcopy(whole)
    at = out
    for part in path[:-1]:
        at = at[part]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out
