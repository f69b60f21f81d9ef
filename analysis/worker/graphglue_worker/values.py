"""Values as JSON, and back: what `record` keeps of arguments, and what a capture builds from it.

Needs torch and nothing else of ours: it also runs inside the user's own program.  A tensor keeps its shape, dtype, device, strides and
range; its elements only where the keeper says so.  What is no data (a file, a socket, a generator …) cannot be kept: `CannotKeep`.
"""

import dataclasses
import enum
import functools
import importlib
import inspect
import itertools
import math
import os
import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

Json = Any
MAX_DEPTH = 20
MAX_ITEMS = 10_000
_SCALARS = (bool, int, str, type(None))
_CUDA = re.compile(r"cuda(:\d+)?")


class CannotKeep(Exception):
    """A value that cannot be written down; the text says which."""


class CannotBuild(Exception):
    """A description that leads to nothing here; the text says why."""


class Keeper:
    """Describes values.  `keep(tensor)` says whether its elements are kept; those are in `tensors`, by the key the description names."""

    def __init__(
        self, keep: Callable[[torch.Tensor], bool], max_text: int, module_of: Callable[[Any], Json | None]
    ) -> None:
        self.keep, self.max_text, self.module_of = keep, max_text, module_of
        self.tensors: dict[str, torch.Tensor] = {}
        self._seen: dict[int, int] = {}
        self._alive: list[torch.Tensor] = []  # an id is its own only while the tensor lives

    def describe(self, value: Any, depth: int = 0) -> Json:
        """The description of one value.  Raises CannotKeep."""
        if depth > MAX_DEPTH:
            raise CannotKeep("a value nested too deeply")
        kind = type(value)
        if kind in _SCALARS:
            if kind is str and len(value) > self.max_text:
                return {"text": len(value)}
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        for test, describe in _KINDS:
            if test(value):
                return describe(self, value, depth + 1)
        raise CannotKeep(f"a value of type {kind.__module__}.{kind.__qualname__}")

    def _tensor(self, t: torch.Tensor) -> Json:
        if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout is not torch.strided or t.is_quantized:
            raise CannotKeep(f"a tensor of type {type(t).__name__} and layout {t.layout}")
        if id(t) in self._seen:
            return {"same": self._seen[id(t)]}
        number = self._seen[id(t)] = len(self._seen)
        self._alive.append(t)
        out: dict[str, Any] = {
            "shape": list(t.shape),
            "dtype": str(t.dtype).removeprefix("torch."),
            "device": str(t.device),
        }
        if t.requires_grad:
            out["requires_grad"] = True
        if not t.is_contiguous():
            out["stride"] = list(t.stride())
        if t.device.type != "meta" and t.numel():
            if self.keep(t):
                out["value"] = f"t{number}"
                self.tensors[out["value"]] = t.detach().to("cpu", copy=True).contiguous()
            else:
                out.update(_summary(t.detach()))
        return {"tensor": out, "number": number}

    def items(self, values: Any, depth: int) -> list[Json]:
        values = list(values)
        if len(values) > MAX_ITEMS:
            raise CannotKeep(f"a container of {len(values)} items")
        return [self.describe(v, depth) for v in values]

    def named(self, values: dict[str, Any], depth: int) -> Json:
        return {str(k): self.describe(v, depth) for k, v in values.items()}


def _summary(t: torch.Tensor) -> Json:
    """What random elements need to be of the same sort: range, mean and deviation."""
    if t.dtype.is_complex:
        return {}
    wide = t.to(torch.float64)
    finite = wide[torch.isfinite(wide)]
    if not finite.numel():
        return {}
    low, high = finite.min().item(), finite.max().item()
    if not (t.dtype.is_floating_point or t.dtype is torch.bool):
        return {"range": [int(t.min().item()), int(t.max().item())]}
    return {"range": [low, high], "mean": finite.mean().item(), "std": finite.std(correction=0).item()}


def reference(obj: Any) -> Json:
    """How a class or function is found again: its module, the file of that, its qualified name.  Raises CannotKeep."""
    name, module = getattr(obj, "__qualname__", None), getattr(obj, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name:
        raise CannotKeep(f"{name or obj!r}, which has no name that could be looked up")
    file = getattr(sys.modules.get(module), "__file__", None)
    return {"module": module, "name": name, "file": os.path.abspath(file) if file else None}


def _is_config(value: Any) -> bool:
    return callable(getattr(value, "to_dict", None)) and callable(getattr(type(value), "from_dict", None))


def _is_plain_object(value: Any) -> bool:
    """All of its state is in its `__dict__`: its class is written in Python and makes it as `object` does."""
    kind = type(value)
    written = getattr(sys.modules.get(kind.__module__), "__file__", None) is not None
    plain = kind.__new__ is object.__new__ and kind.__reduce__ is object.__reduce__
    return written and plain and hasattr(value, "__dict__") and not hasattr(kind, "__slots__")


def _module(keeper: Keeper, value: Any, depth: int) -> Json:
    found = keeper.module_of(value)
    if found is None:
        raise CannotKeep(f"a {type(value).__name__} whose construction was not seen")
    return found


def json_only(value: Any) -> Any:
    """A configuration's own dictionary form, with what JSON has not as text."""
    if isinstance(value, dict):
        return {str(k): json_only(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_only(v) for v in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value).removeprefix("torch.")


# Each row: the test, and the description.  The first that fits.
_KINDS: list[tuple[Callable[[Any], bool], Callable[[Keeper, Any, int], Json]]] = [
    (lambda v: isinstance(v, torch.Size), lambda k, v, d: {"size": list(v)}),
    (lambda v: isinstance(v, enum.Enum), lambda k, v, d: {"enum": reference(type(v)), "member": v.name}),
    (lambda v: isinstance(v, torch.dtype), lambda k, v, d: {"dtype": str(v).removeprefix("torch.")}),
    (lambda v: isinstance(v, torch.device), lambda k, v, d: {"device": str(v)}),
    (lambda v: isinstance(v, torch.nn.Module), _module),
    (_is_config, lambda k, v, d: {"config": reference(type(v)), "values": json_only(v.to_dict())}),
    (lambda v: isinstance(v, functools.partial),
     lambda k, v, d: {"partial": k.describe(v.func, d), "args": k.items(v.args, d), "kwargs": k.named(v.keywords, d)}),
    (lambda v: isinstance(v, (type, types.FunctionType, types.BuiltinFunctionType)), lambda k, v, d: {"name": reference(v)}),
    (lambda v: type(v).__name__ == "ndarray" and type(v).__module__ == "numpy",
     lambda k, v, d: {"ndarray": k.describe(torch.from_numpy(v), d)}),
    (lambda v: dataclasses.is_dataclass(v),
     lambda k, v, d: {"object": reference(type(v)), "state": k.named({f.name: getattr(v, f.name) for f in dataclasses.fields(v)}, d)}),
    (lambda v: isinstance(v, tuple) and hasattr(v, "_fields"), lambda k, v, d: {"namedtuple": reference(type(v)), "items": k.items(v, d)}),
    (lambda v: type(v) is tuple, lambda k, v, d: {"tuple": k.items(v, d)}),
    (lambda v: isinstance(v, list), lambda k, v, d: {"list": k.items(v, d)}),
    (lambda v: isinstance(v, (set, frozenset)), lambda k, v, d: {"set": k.items(v, d)}),
    (lambda v: isinstance(v, dict), lambda k, v, d: {"dict": [[k.describe(a, d), k.describe(b, d)] for a, b in v.items()]}),
    (lambda v: isinstance(v, slice), lambda k, v, d: {"slice": k.items((v.start, v.stop, v.step), d)}),
    (lambda v: isinstance(v, range), lambda k, v, d: {"range": [v.start, v.stop, v.step]}),
    (lambda v: type(v) is complex, lambda k, v, d: {"complex": [v.real, v.imag]}),
    (_is_plain_object, lambda k, v, d: {"object": reference(type(v)), "state": k.named(vars(v), d)}),
]  # fmt: skip


class Builder:
    """Builds what a Keeper described.  `find(reference)` gives the class or function; `tensors`: those that were kept; `place(device)`: the
    device to use for one that was recorded."""

    def __init__(
        self, find: Callable[[Json], Any], tensors: dict[str, torch.Tensor], place: Callable[[str], str] = str
    ) -> None:
        self.find, self.tensors, self.place = find, tensors, place
        self._built: dict[int, torch.Tensor] = {}

    def build(self, d: Json) -> Any:
        """Raises CannotBuild."""
        if not isinstance(d, dict):
            if isinstance(d, str) and _CUDA.fullmatch(d):
                return self.place(d)
            if isinstance(d, (bool, int, float, str, type(None))):
                return d
            raise CannotBuild(f"a description of type {type(d).__name__}")
        for key, build in _BUILDERS.items():
            if key in d:
                return build(self, d)
        raise CannotBuild(f"a description with the keys {sorted(d)}")

    def items(self, ds: list[Json]) -> list[Any]:
        return [self.build(d) for d in ds]

    def named(self, ds: dict[str, Json]) -> dict[str, Any]:
        return {k: self.build(d) for k, d in ds.items()}

    def module(self, d: Json) -> torch.nn.Module:
        """A module by its construction.  A random state of its own is the caller's to set."""
        cls = self.find(d["class"])
        if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
            raise CannotBuild(f"{d['class']['name']} is no module class any more")
        return cls(*self.items(d["args"]), **self.named(d["kwargs"]))

    def tensor(self, d: Json) -> torch.Tensor:
        made = _elements(d["tensor"], self.tensors, self.place)
        self._built[d["number"]] = made
        return made

    def same(self, number: int) -> torch.Tensor:
        if number not in self._built:
            raise CannotBuild(f"tensor {number} is named before it is described")
        return self._built[number]

    def instance(self, d: Json) -> Any:
        cls = self.find(d["object"])
        out = cls.__new__(cls)
        for name, value in self.named(d["state"]).items():
            object.__setattr__(out, name, value)
        return out


def _elements(d: Json, kept: dict[str, torch.Tensor], place: Callable[[str], str]) -> torch.Tensor:
    shape, dtype = d["shape"], getattr(torch, d["dtype"], None)
    if not isinstance(dtype, torch.dtype):
        raise CannotBuild(f"no dtype {d['dtype']} in this torch")
    if "value" in d:
        if d["value"] not in kept:
            raise CannotBuild("the elements of a tensor that were kept are gone")
        t = kept[d["value"]].clone()
    else:
        t = _random(shape, dtype, d)
    if "stride" in d:
        steps = d["stride"]
        compact = [1 if s == 0 else n for n, s in zip(shape, steps, strict=True)]
        base = torch.empty_strided(compact, steps, dtype=dtype)
        base.copy_(t[tuple(slice(0, n) for n in compact)])
        t = base.expand(shape) if compact != shape else base
    t = t.to(place(d["device"]))
    return t.requires_grad_() if d.get("requires_grad") else t


def _random(shape: list[int], dtype: torch.dtype, d: Json) -> torch.Tensor:
    low, high = d.get("range", [0, 1])
    if dtype is torch.bool:
        return torch.rand(shape) < d.get("mean", 0.5)
    if dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    if not dtype.is_floating_point:
        return torch.randint(low, high + 1, shape, dtype=dtype) if high < 2**62 else torch.full(shape, low, dtype=dtype)
    if "mean" not in d:
        return torch.randn(shape).to(dtype)
    return (torch.randn(shape) * d["std"] + d["mean"]).clamp(low, high).to(dtype)


_BUILDERS: dict[str, Callable[[Builder, Json], Any]] = {
    "tensor": Builder.tensor,
    "same": lambda b, d: b.same(d["same"]),
    "class": Builder.module,
    "size": lambda b, d: torch.Size(d["size"]),
    "text": lambda b, d: "x" * d["text"],
    "float": lambda b, d: float(d["float"]),
    "enum": lambda b, d: b.find(d["enum"])[d["member"]],
    "dtype": lambda b, d: getattr(torch, d["dtype"]),
    "device": lambda b, d: torch.device(b.place(d["device"])),
    "config": lambda b, d: b.find(d["config"]).from_dict(d["values"]),
    "partial": lambda b, d: functools.partial(b.build(d["partial"]), *b.items(d["args"]), **b.named(d["kwargs"])),
    "name": lambda b, d: b.find(d["name"]),
    "ndarray": lambda b, d: b.build(d["ndarray"]).numpy(),
    "object": Builder.instance,
    "namedtuple": lambda b, d: b.find(d["namedtuple"])(*b.items(d["items"])),
    "tuple": lambda b, d: tuple(b.items(d["tuple"])),
    "list": lambda b, d: b.items(d["list"]),
    "set": lambda b, d: set(b.items(d["set"])),
    "dict": lambda b, d: {b.build(k): b.build(v) for k, v in d["dict"]},
    "slice": lambda b, d: slice(*b.items(d["slice"])),
    "range": lambda b, d: range(*d["range"]),
    "complex": lambda b, d: complex(*d["complex"]),
}


def placed(module: torch.nn.Module) -> Json:
    """Where a module's parameters and buffers lie: [device, dtype] of most of them under "", of the others by name."""
    found = {name: [str(t.device), str(t.dtype).removeprefix("torch.")] for name, t in _state(module)}
    most = Counter(map(tuple, found.values())).most_common(1)
    usual = list(most[0][0]) if most else None
    return {"": usual, **{name: place for name, place in found.items() if place != usual}}


def put(module: torch.nn.Module, where: Json, place: Callable[[str], str]) -> None:
    """Move a module's parameters and buffers to where they lay, as `placed` says; those it does not know get no other dtype but a
    floating one."""
    for name, t in _state(module):
        device, dtype = where.get(name) or where.get("") or (str(t.device), None)
        kind = getattr(torch, str(dtype), t.dtype)
        if name not in where and not (t.is_floating_point() and kind.is_floating_point):
            kind = t.dtype
        t.data = t.data.to(place(device), kind)


def _state(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    found = itertools.chain(module.named_parameters(), module.named_buffers())
    return ((name, t) for name, t in found if not torch.nn.parameter.is_lazy(t))


def find_by_name(ref: Json, here: types.ModuleType, load: Callable[[str], types.ModuleType]) -> Any:
    """The class or function of a reference.  Raises CannotBuild.

    `here`: the module of the file that is captured; `load` gives that of another file, which was run as a script.
    """
    file = ref.get("file")
    try:
        if file and os.path.realpath(file) == os.path.realpath(here.__file__ or ""):
            module = here
        elif file and ref["module"] == "__main__":
            module = load(file)
        else:
            module = importlib.import_module(ref["module"])
    except Exception as e:
        raise CannotBuild(f"{ref['module']} cannot be imported ({e})") from e
    try:
        return functools.reduce(getattr, ref["name"].split("."), module)
    except AttributeError as e:
        raise CannotBuild(f"{ref['name']} is not in {ref['module']} any more") from e


def arguments_of(frame: types.FrameType) -> "tuple[list[Any], dict[str, Any]]":
    """Positional and keyword arguments, without self, of the function that runs in this frame, as they are now."""
    info = inspect.getargvalues(frame)
    names = info.args[1:]
    code = frame.f_code
    positional_only = set(names[: max(0, code.co_posonlyargcount - 1)])
    by_name = {n: info.locals[n] for n in names if n in info.locals and n not in positional_only}
    args = [info.locals[n] for n in names if n in positional_only]
    for i in range(code.co_kwonlyargcount):
        name = code.co_varnames[code.co_argcount + i]
        if name in info.locals:
            by_name[name] = info.locals[name]
    rest = list(info.locals.get(info.varargs, ())) if info.varargs else []
    if rest:  # what follows by position needs all before it by position
        args += [by_name.pop(n) for n in names if n in by_name]
    if info.keywords:
        by_name.update(info.locals.get(info.keywords, {}))
    return args + rest, by_name
