"""What Dynamo knows of a value at a break, for the rules that mend it.

Looks only at what is already there: a lazy variable must not be realised, since that adds guards and inputs to the trace.  Hence no
``isinstance`` on variables and no attribute access that their ``__getattr__`` could answer.
"""

import contextlib
import dis
import functools
import inspect
import math
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from graphglue_worker import pure_modules

MAX_NAMES = 64
MAX_ATTRIBUTES = 64
MAX_DOTS = 3
MAX_CALLS = 3  # of methods that call each other
MAX_NUMBER = 2**53  # what a double holds
_PLAIN = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "str"),
    (list, "list"),
    (tuple, "tuple"),
    (dict, "dict"),
)
Fact = dict[str, Any]


def _layout(example: torch.Tensor) -> str:
    """ "contiguous", "dense" (without gaps, in another order of the dimensions) or "strided"."""
    if example.layout != torch.strided or not all(isinstance(n, int) for n in (*example.shape, *example.stride())):
        return "strided"
    pairs = [(stride, size) for size, stride in zip(example.shape, example.stride(), strict=True) if size != 1]
    for order, name in ((pairs[::-1], "contiguous"), (sorted(pairs), "dense")):
        expected = 1
        for stride, size in order:
            if stride != expected:
                break
            expected *= size
        else:
            return name
    return "contiguous" if 0 in example.shape else "strided"


def _class_of(value: torch.Tensor) -> Any:
    """Its class; a name where it has attributes of its own, which a copy of it would have, too."""
    kind = type(value)
    own = [name for name in getattr(value, "__dict__", ()) if not name.startswith("_dynamo")]
    return "Tensor with attributes" if kind is torch.Tensor and own else kind


def _tensor(kind: str, example: torch.Tensor, cls: Any = torch.Tensor) -> Fact:
    fact = {
        "kind": kind,
        "dtype": str(example.dtype),
        "shape": [s if isinstance(s, int) else -1 for s in example.shape],
        "requires_grad": bool(example.requires_grad),
        "device": str(example.device),
    }
    if cls is not torch.Tensor:
        fact["type"] = cls if isinstance(cls, str) else getattr(cls, "__qualname__", "unknown")
    layout = _layout(example)
    return fact if layout == "contiguous" else {**fact, "layout": layout}


def _number(kind: str, value: Any) -> Fact:
    """With its value, where JSON and a double hold it."""
    exact = type(value) in (bool, int, float) and math.isfinite(value) and abs(value) <= MAX_NUMBER
    return {"kind": kind, "number": float(value)} if exact else {"kind": kind}


def of_value(value: Any) -> Fact:
    """The fact of an ordinary Python value."""
    if value is None:
        return {"kind": "none"}
    if isinstance(value, torch.Tensor):
        return _tensor("tensor", value, _class_of(value))
    if isinstance(value, torch.SymInt):
        return {"kind": "symint"}
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return {"kind": "float" if isinstance(value, torch.SymFloat) else "bool"}
    for cls, kind in _PLAIN:
        if isinstance(value, cls):
            return _number(kind, value)
    kind = type(value)
    if isinstance(value, torch.nn.Module):
        return {"kind": "module", "type": kind.__qualname__}
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return {"kind": "ndarray", "dtype": str(value.dtype), "shape": list(value.shape)}
    return {"kind": "other", "type": kind.__qualname__}


def of_variable(variable: Any, depth: int = 0) -> Fact:
    """The fact of a variable of Dynamo's."""
    names = {c.__name__ for c in type(variable).__mro__}
    own = variable.__dict__
    if "LazyVariableTracker" in names and depth < 4:
        cache = own.get("_cache")
        inner = getattr(cache, "vt", None)
        return of_variable(inner, depth + 1) if inner is not None else of_value(getattr(cache, "value", None))
    if "UnspecializedPythonVariable" in names:
        return of_value(own.get("raw_value"))
    if "TensorVariable" in names:
        example = own["proxy"].node.meta.get("example_value")
        kind = "ndarray" if "NumpyNdarrayVariable" in names else "tensor"
        if not isinstance(example, torch.Tensor):
            return {"kind": kind}
        return _tensor(kind, example, own.get("class_type", torch.Tensor) if kind == "tensor" else torch.Tensor)
    if "SymNodeVariable" in names:
        return of_value(own.get("sym_num"))
    if "ConstantVariable" in names or "EnumVariable" in names:
        return of_value(own.get("value"))
    if "SetVariable" in names:
        return {"kind": "other", "type": "set"}
    for name, kind in (("TupleVariable", "tuple"), ("ListVariable", "list"), ("ConstDictVariable", "dict")):
        if name in names:
            return {"kind": kind}
    if "NNModuleVariable" in names or "UnspecializedNNModuleVariable" in names:
        cls = own.get("module_type") or type(own.get("value"))
        return {"kind": "module", "type": cls.__qualname__}
    if "UserDefinedObjectVariable" in names:
        fact = of_value(own.get("value"))
        return {**fact, "type": type(own.get("value")).__qualname__}
    return {"kind": "other", "type": type(variable).__name__}


def _is_variable(value: Any) -> bool:
    return any(c.__name__ == "VariableTracker" for c in type(value).__mro__)


def of_locals(tx: Any) -> dict[str, Fact]:
    """Facts of the locals of a translator's frame; Dynamo's own names are left out."""
    facts: dict[str, Fact] = {}
    for name, variable in list(tx.symbolic_locals.items()):
        if name.startswith("__") or not name.isidentifier() or len(facts) >= MAX_NAMES:
            continue
        with contextlib.suppress(Exception):  # facts are a help, never a reason to fail
            if "CellVariable" in {c.__name__ for c in type(variable).__mro__}:
                stored = tx.output.side_effects.store_attr_mutations.get(variable, {})
                variable = stored.get("cell_contents") or variable.__dict__.get("pre_existing_contents")
            if variable is not None:
                facts[name] = of_variable(variable)
    return facts


@functools.lru_cache(maxsize=256)
def _paths(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """The attributes of locals that a function reads or calls: ("self", "config", "eps")."""
    found: dict[tuple[str, ...], None] = {}
    path: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name.startswith(("LOAD_FAST", "LOAD_DEREF")):
            path = (value[-1] if isinstance(value, tuple) else value,)
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and 0 < len(path) <= MAX_DOTS:
            path = (*path, value)
            found[path] = None
        elif name not in ("CACHE", "EXTENDED_ARG", "COPY", "DUP_TOP"):  # `self.count += 1` copies `self`
            path = ()
    return tuple(found)


def _method(owner: Any, name: str) -> CodeType | None:
    """The code of a plain method or a property of the owner's class, which the owner does not hide."""
    found = inspect.getattr_static(type(owner), name, None)
    if isinstance(found, property):
        found = found.fget
    own = getattr(owner, "__dict__", {})
    return found.__code__ if isinstance(found, FunctionType) and name not in own else None


def _paths_inside(owner: Any, paths: Iterable[tuple[str, ...]], depth: int = MAX_CALLS) -> dict[tuple[str, ...], None]:
    """The paths, each without the local that it begins with, and those that methods and properties of the same object
    read: of `self.step(x)`, what step() reads."""
    found: dict[tuple[str, ...], None] = {}
    for path in paths:
        found[path] = None
        code = _method(owner, path[0]) if len(path) == 1 and depth > 0 else None
        if code is not None and code.co_argcount:
            inner = [names for root, *names in _paths(code) if root == code.co_varnames[0]]
            found |= _paths_inside(owner, map(tuple, inner), depth - 1)
    return found


def _owner(variable: Any) -> Any:
    """The object that a variable stands for; None when it stands for none that is there."""
    own = variable.__dict__
    if "LazyVariableTracker" in {c.__name__ for c in type(variable).__mro__}:
        cache = own.get("_cache")
        inner = getattr(cache, "vt", None)
        return _owner(inner) if inner is not None else getattr(cache, "value", None)
    return own.get("value")


def _attribute(owner: Any, name: str) -> Any:
    """The attribute as it is stored, if reading it runs no code of the user's.  Raises AttributeError."""
    kind = type(owner)
    if kind.__getattribute__ is not object.__getattribute__:
        raise AttributeError(name)
    if hasattr(inspect.getattr_static(kind, name, None), "__get__"):
        raise AttributeError(name)
    own = owner.__dict__
    if name in own:
        return own[name]
    if isinstance(owner, torch.nn.Module):
        for part in ("_parameters", "_buffers", "_modules"):
            if name in own.get(part, ()):
                return own[part][name]
    return inspect.getattr_static(kind, name)


def _paths_of(tx: Any) -> list[tuple[str, ...]]:
    """Those of the frame's function, and behind them those that the methods of self which it calls read."""
    paths = _paths(tx.f_code)
    inside: dict[tuple[str, ...], None] = {}
    with contextlib.suppress(Exception):
        owner = _owner(tx.symbolic_locals["self"])
        inside = _paths_inside(owner, (path[1:] for path in paths if path[0] == "self"))
    return [*paths, *(path for names in inside if (path := ("self", *names)) not in paths)]


def of_attributes(tx: Any) -> dict[str, Fact]:
    """Facts of the attributes that the function reads through its locals, `self.scale`, or a method does that it calls."""
    facts: dict[str, Fact] = {}
    changed = tx.output.side_effects.store_attr_mutations
    for root, *names in _paths_of(tx):
        if len(facts) >= MAX_ATTRIBUTES:
            break
        with contextlib.suppress(Exception):
            owner = _owner(tx.symbolic_locals[root])
            for name in names[:-1]:
                if any(name in stored and _owner(v) is owner for v, stored in changed.items()):
                    raise AttributeError(name)
                owner = _attribute(owner, name)
            last = names[-1]
            stored = [s[last] for v, s in changed.items() if last in s and _owner(v) is owner]
            value = None if stored else _attribute(owner, last)
            if inspect.isroutine(value) and not isinstance(value, FunctionType):  # the object's own function stays
                continue
            fact = of_variable(stored[0]) if stored else of_value(value)
            steps = pure_modules.steps_of(value) if isinstance(value, torch.nn.Module) else None
            facts[".".join((root, *names))] = {**fact, "steps": steps} if steps else fact
    return facts


def of_stopped(frame: FrameType | None) -> Fact | None:
    """The value Dynamo stopped at: the nearest one that a function between the raise and the instruction was handed."""
    fallback: Fact | None = None
    while frame is not None and frame.f_code.co_name not in ("step", "run"):
        own = frame.f_locals
        given = [own.get(n) for n in ("value", "self", "obj", "arg", "tensor", "x")] + list(own.get("args") or ())[:2]
        for variable in given:
            fact = None
            with contextlib.suppress(Exception):
                fact = of_variable(variable) if _is_variable(variable) else None
            if fact is None:
                continue
            if fact["kind"] in ("tensor", "ndarray", "symint"):
                return fact
            if fallback is None and fact["kind"] not in ("other", "str"):
                fallback = fact
        frame = frame.f_back
    return fallback


def widen(first: dict[str, Fact], later: dict[str, Fact]) -> None:
    """Of a place that is met again: what was told of the first time and is not so now.  Rules take for granted that a tensor requires no
    gradient, that it has no gaps, and what a module does."""
    for name, fact in first.items():
        other = later.get(name, fact)
        if other["kind"] != fact["kind"]:
            continue
        if fact["kind"] == "tensor":
            fact["requires_grad"] = bool(fact.get("requires_grad") or other.get("requires_grad"))
            if fact.get("layout") != other.get("layout"):
                fact["layout"] = "strided"
            if fact.get("type") != other.get("type"):
                fact["type"] = "several classes"
        elif fact.get("steps") != other.get("steps"):
            fact.pop("steps", None)
