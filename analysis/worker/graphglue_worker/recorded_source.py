"""Recorded inputs as recipes that can be written as code: what `values` keeps, in the words of `sources`."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from graphglue_worker import devices, tensors, values
from graphglue_worker.recipes import Recipe
from graphglue_worker.sources import Given, Unwritable

_VALUES = "the elements of its tensors were recorded; random ones of the same range are written"
_TEXT = "a text that was recorded by its length alone is written as so many letters"
_GRAD = "it ran with gradients; graphglue_inputs() runs without unless an input requires them, or with --train"
_PLACED = "some of its parameters lay elsewhere than most, or had another dtype; all are written alike"
_SAME_FORM = ("size", "float", "dtype", "device", "range", "complex", "text")


def given(
    recorded: dict[str, Any], home: ModuleType, find: Callable[[Any], Any], kept: dict[str, torch.Tensor]
) -> Given:
    """One recorded call.  `kept`: the tensors whose elements were recorded.  Raises Unwritable or values.CannotBuild.

    May touch CUDA: call it in a fork that forks no more."""
    reader = _Reader(home, find, kept)
    reader.count([recorded["args"], recorded["kwargs"]])
    fn: Recipe
    if "made" in recorded:
        fn = reader.moved(reader.recipe(recorded["made"]), recorded.get("placed") or {})
        fn = fn if recorded["training"] else {"eval": fn}
        fn = {"attr": recorded["method"], "of": fn} if recorded.get("method") else fn
    else:
        fn = {"global": reader.name(recorded["target"])}
    args = [reader.recipe(a) for a in recorded["args"]]
    kwargs = {k: reader.recipe(v) for k, v in recorded["kwargs"].items()}
    grad = bool(recorded.get("training")) and bool(recorded["grad"])
    if grad and not reader.requires_grad:
        reader.note(_GRAD)
    for said in reader.place.words():
        reader.note(said)
    return Given(fn, args, kwargs, grad, reader.notes)


class _Reader:
    def __init__(self, home: ModuleType, find: Callable[[Any], Any], kept: dict[str, torch.Tensor]) -> None:
        self.home, self.find, self.kept = home, find, kept
        self.uses: Counter[int] = Counter()
        self.notes: list[str] = []
        self.requires_grad = False
        self.place = devices.Placement()
        self.builder = values.Builder(find, kept, self.place)

    def note(self, said: str) -> None:
        if said not in self.notes:
            self.notes.append(said)

    def count(self, d: Any) -> None:
        """Which tensors stand in several places."""
        if isinstance(d, dict):
            if isinstance(d.get("same"), int):
                self.uses[d["same"]] += 1
            for inner in d.values():
                self.count(inner)
        elif isinstance(d, list):
            for inner in d:
                self.count(inner)

    def recipe(self, d: Any) -> Recipe:
        if not isinstance(d, dict):
            return d
        for key, read in _READ.items():
            if key in d:
                return read(self, d)
        if "text" in d:
            self.note(_TEXT)
        if any(key in d for key in _SAME_FORM):
            return d
        raise Unwritable(f"a value ({', '.join(sorted(d))}) that has no plain expression")

    def items(self, ds: list[Any]) -> list[Recipe]:
        return [self.recipe(d) for d in ds]

    def name(self, reference: Any) -> str:
        """ "module:name" as recipes want it."""
        file = reference.get("file")
        if file and os.path.realpath(file) == os.path.realpath(self.home.__file__ or ""):
            return f":{reference['name']}"
        if reference["module"] == "__main__":
            raise Unwritable(
                f"{reference['name']} of the script {os.path.basename(file or '?')}, which is not imported"
            )
        return f"{reference['module']}:{reference['name']}"

    def call(self, d: Any) -> Recipe:
        kwargs = {k: self.recipe(v) for k, v in d["kwargs"].items()}
        return {"call": self.name(d["class"]), "args": self.items(d["args"]), "kwargs": kwargs}

    def moved(self, fn: Recipe, placed: Any) -> Recipe:
        """A module where most of its parameters and buffers lay, and in their dtype."""
        if not placed.get(""):
            return fn
        device, dtype = self.place(placed[""][0]), placed[""][1]
        for name, (other, kind) in placed.items():
            if name and (self.place(other) != device or (_is_floating(kind) and kind != dtype)):
                self.note(_PLACED)
        to = {"device": device if device != "cpu" else None, "dtype": dtype if _is_floating(dtype) else None}
        to["dtype"] = None if to["dtype"] == "float32" else to["dtype"]
        return {"to": to, "of": fn} if any(to.values()) else fn

    def tensor(self, d: Any) -> Recipe:
        recipe = {"tensor": self._spec(d["tensor"])}
        return {"id": d["number"], "is": recipe} if self.uses[d["number"]] else recipe

    def _spec(self, t: Any) -> tensors.Spec:
        spec = {"shape": t["shape"], "dtype": t["dtype"], "device": self.place(t["device"])}
        if t.get("requires_grad"):
            spec["requires_grad"] = self.requires_grad = True
        if "stride" in t:
            spec["strides"] = t["stride"]
        if "value" not in t:
            return {**spec, **_fill(t)}
        if t["value"] not in self.kept:
            raise Unwritable("a tensor whose recorded elements are gone")
        found = tensors.describe(self.kept[t["value"]])
        if found["fill"] not in ("full", "values", "arange"):
            self.note(_VALUES)
        return {**found, **spec}

    def config(self, d: Any) -> Recipe:
        """By the settings that differ from the defaults, where those give the same configuration."""
        cls, name, wanted = self.find(d["config"]), self.name(d["config"]), d["values"]
        try:
            usual = values.json_only(cls().to_dict())
            settings = {k: v for k, v in wanted.items() if k not in usual or usual[k] != v}
            if values.json_only(cls(**settings).to_dict()) == wanted:
                return {"call": name, "kwargs": {k: _plain(v) for k, v in settings.items()}}
        except Exception:  # noqa: BLE001 - somebody's constructor
            pass
        return {"from": name, "values": _plain(wanted)}

    def instance(self, d: Any) -> Recipe:
        cls, state = self.find(d["object"]), dict(d["state"])
        if dataclasses.is_dataclass(cls):
            plain = {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}
            state = {k: v for k, v in state.items() if k not in plain or not _is(self.builder.build(v), plain[k])}
        if not takes(cls, self.builder.named(state), self.builder.build(d)):
            raise Unwritable(f"an object of {cls.__qualname__}, whose constructor does not take what it holds")
        return {"call": self.name(d["object"]), "kwargs": {k: self.recipe(v) for k, v in state.items()}}


def takes(cls: type, state: dict[str, Any], wanted: Any) -> bool:
    """Does the constructor, given these attributes by name, make the same object?"""
    try:
        return bool(vars(cls(**state)) == vars(wanted))
    except Exception:  # noqa: BLE001 - somebody's constructor, or values that are not compared so
        return False


def _is(value: Any, default: Any) -> bool:
    return type(value) is type(default) and isinstance(value, (bool, int, float, str, type(None))) and value == default


def _is_floating(dtype: str) -> bool:
    kind = getattr(torch, dtype, None)
    return isinstance(kind, torch.dtype) and kind.is_floating_point


def _fill(t: Any) -> tensors.Spec:
    """What stands for elements that were not kept."""
    low, high = t.get("range", [None, None])
    if low is None:
        return {"fill": "full", "value": 0} if 0 in t["shape"] else {"fill": "normal"}
    floating = "mean" in t and t["dtype"] != "bool"
    if low == high:
        return {"fill": "full", "value": float(low) if floating else int(low)}
    if t["dtype"] == "bool":
        return {"fill": "chance", "p": t["mean"]}
    if not floating:
        return {"fill": "integers", "low": low, "high": high + 1}
    return tensors.floats_like(low, high, t["mean"], t["std"])


def _plain(value: Any) -> Recipe:
    if isinstance(value, dict):
        return {"dict": [[k, _plain(v)] for k, v in value.items()]}
    return [_plain(v) for v in value] if isinstance(value, list) else value


_READ: "dict[str, Callable[[_Reader, Any], Recipe]]" = {
    "tensor": _Reader.tensor,
    "same": lambda r, d: {"ref": d["same"]},
    "class": _Reader.call,
    "enum": lambda r, d: {"global": f"{r.name(d['enum'])}.{d['member']}"},
    "config": _Reader.config,
    "partial": lambda r, d: {
        "partial": r.recipe(d["partial"]),
        "args": r.items(d["args"]),
        "kwargs": {k: r.recipe(v) for k, v in d["kwargs"].items()},
    },
    "name": lambda r, d: {"global": r.name(d["name"])},
    "ndarray": lambda r, d: {"ndarray": r.recipe(d["ndarray"])},
    "object": _Reader.instance,
    "namedtuple": lambda r, d: {"call": r.name(d["namedtuple"]), "args": r.items(d["items"])},
    "tuple": lambda r, d: {"tuple": r.items(d["tuple"])},
    "list": lambda r, d: r.items(d["list"]),
    "set": lambda r, d: {"set": r.items(d["set"])},
    "dict": lambda r, d: {"dict": [[r.recipe(k), r.recipe(v)] for k, v in d["dict"]]},
    "slice": lambda r, d: {"slice": r.items(d["slice"])},
}
