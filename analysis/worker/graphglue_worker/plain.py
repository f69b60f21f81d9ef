"""What was measured, as bytes that cannot do anything when they are read.

Code that nobody trusts runs in the process that writes them, and may write what it likes.  So what is read is numbers, texts, containers and the few
kinds of values named here, whatever the bytes say: no class of the writer's, and no function, is ever called.
"""

import pickle
from typing import Any, BinaryIO

import torch

from graphglue_worker import observe, snapshot

_KINDS: dict[str, tuple[type, tuple[str, ...]]] = {
    cls.__name__: (cls, tuple(cls.__dataclass_fields__))
    for cls in (observe.Run, observe.Gradients, snapshot.Leaf, snapshot.Node)
}
_SINGLE = {"...": Ellipsis, "NotImplemented": NotImplemented}
_TORCH = (torch.dtype, torch.layout, torch.qscheme)


class Unreadable(Exception):
    """The bytes are not what `Writer` writes."""


class Writer(pickle.Pickler):
    """`kinds`: more classes that may be written, dataclasses, and values that stand for themselves, by name."""

    def __init__(self, f: BinaryIO, kinds: dict[str, Any]) -> None:
        super().__init__(f, pickle.HIGHEST_PROTOCOL)
        self._names = {cls: name for name, (cls, _) in _all(kinds).items()}
        self._fields = {cls: fields for cls, fields in _all(kinds).values()}
        self._single = {id(value): name for name, value in {**_SINGLE, **_values(kinds)}.items()}

    def persistent_id(self, obj: Any) -> Any:
        """How the object is named, with what it holds; None where it is written as ever."""
        kind = type(obj)
        if kind in self._names:
            return (self._names[kind], *(getattr(obj, name) for name in self._fields[kind]))
        if kind is complex:
            return ("complex", obj.real, obj.imag)
        if kind in _TORCH:
            return ("torch", str(obj))
        name = self._single.get(id(obj))
        return None if name is None else (name,)


class Reader(pickle.Unpickler):
    """Reads what `Writer` wrote with the same `kinds`.  Anything else raises: Unreadable, or what pickle raises."""

    def __init__(self, f: Any, kinds: dict[str, Any]) -> None:
        super().__init__(f)
        self._kinds = _all(kinds)
        self._single = {**_SINGLE, **_values(kinds)}

    def find_class(self, module: str, name: str) -> Any:
        """Nothing is found: nothing is called."""
        raise Unreadable(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """What `persistent_id` named."""
        if type(pid) is not tuple or not pid or type(pid[0]) is not str:
            raise Unreadable("a name")
        name, *held = pid
        if name in self._kinds:
            cls, fields = self._kinds[name]
            if len(held) != len(fields):
                raise Unreadable(name)
            return cls(*held)
        if name == "complex" and [type(x) for x in held] == [float, float]:
            return complex(*held)
        if name == "torch" and len(held) == 1 and type(held[0]) is str:
            found = getattr(torch, held[0].removeprefix("torch."), None)
            if isinstance(found, _TORCH):
                return found
        if name in self._single and not held:
            return self._single[name]
        raise Unreadable(name)


def _all(kinds: dict[str, Any]) -> dict[str, tuple[type, tuple[str, ...]]]:
    classes = {
        name: (cls, tuple(cls.__dataclass_fields__))
        for name, cls in kinds.items()
        if hasattr(cls, "__dataclass_fields__")
    }
    return {**_KINDS, **classes}


def _values(kinds: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kinds.items() if not hasattr(value, "__dataclass_fields__")}
