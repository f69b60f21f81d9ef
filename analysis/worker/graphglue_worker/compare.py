"""Deep comparison of what two runs returned.

A *snapshot* is a tree of plain values (tensors detached, on the CPU), so that results of two processes can be compared without the
user's classes.  Comparison is bitwise: dtype, shape, device, every element (NaN equals NaN; -0.0 and 0.0 differ).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

MAX_DEPTH = 32


@dataclass
class Leaf:
    """A tensor in a snapshot."""

    value: torch.Tensor
    device: str
    requires_grad: bool


@dataclass
class Node:
    """A container or an object: its type's name and its parts, in order."""

    kind: str
    parts: list[tuple[str, Any]]


@dataclass
class Difference:
    """`close`: within the tolerance of the dtype.  `words` say where and how much; empty when same."""

    same: bool
    close: bool
    words: str


def snapshot(value: Any, depth: int = 0) -> Any:
    """Copy a result into plain values.  Objects it does not know are kept by type name (and repr for simple ones)."""
    if depth > MAX_DEPTH:
        return Node("too deep", [])
    if isinstance(value, torch.Tensor):
        tensor = value.detach()
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        if tensor.is_quantized:
            tensor = tensor.int_repr()
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
        return Leaf(tensor.cpu().clone(), str(value.device), value.requires_grad)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, torch.dtype, torch.device)):
        return value
    name = type(value).__qualname__
    if isinstance(value, Mapping):
        return Node(name, [(repr(k), snapshot(v, depth + 1)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return Node(name, [(str(i), snapshot(v, depth + 1)) for i, v in enumerate(value)])
    if isinstance(value, (set, frozenset)):
        return Node(name, [(str(i), v) for i, v in enumerate(sorted(map(repr, value)))])
    if type(value).__module__ == "numpy":
        try:
            return Node(name, [("value", snapshot(torch.from_numpy(value.copy()), depth + 1))])
        except (TypeError, AttributeError, ValueError):
            return Node(name, [("value", repr(value))])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Node(name, [(f.name, snapshot(getattr(value, f.name), depth + 1)) for f in dataclasses.fields(value)])
    state = getattr(value, "__dict__", None)
    if state and not callable(value):
        return Node(name, [(k, snapshot(v, depth + 1)) for k, v in state.items()])
    return Node(name, [])


def difference(expected: Any, got: Any, where: str = "the result") -> Difference:
    """The first difference found, in words; `close` when all differences are within tolerance."""
    found = list(_walk(expected, got, where))
    if not found:
        return Difference(True, True, "")
    worst = next((d for d in found if not d.close), found[0])
    return Difference(False, all(d.close for d in found), worst.words)


def _walk(a: Any, b: Any, where: str) -> "list[Difference]":
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return _tensors(a, b, where)
    if isinstance(a, Node) and isinstance(b, Node):
        if a.kind != b.kind:
            return [Difference(False, False, f"{where} is a {b.kind} instead of a {a.kind}")]
        if [k for k, _ in a.parts] != [k for k, _ in b.parts]:
            return [Difference(False, False, f"{where} has {len(b.parts)} parts or other keys (it had {len(a.parts)})")]
        return [d for (k, x), (_, y) in zip(a.parts, b.parts, strict=True) for d in _walk(x, y, f"{where}[{k}]")]
    if type(a) is not type(b):
        return [Difference(False, False, f"{where} is {_name(b)} instead of {_name(a)}")]
    if a == b or (isinstance(a, float) and a != a and b != b):
        return []
    close = isinstance(a, float) and abs(a - b) <= 1e-5 * max(abs(a), 1e-3)
    return [Difference(False, close, f"{where} is {b!r:.80} instead of {a!r:.80}")]


def _name(value: Any) -> str:
    return "a tensor" if isinstance(value, Leaf) else f"a {value.kind}" if isinstance(value, Node) else type(value).__name__


def _tensors(a: Leaf, b: Leaf, where: str) -> "list[Difference]":
    x, y = a.value, b.value
    for what, p, q in (("dtype", x.dtype, y.dtype), ("shape", tuple(x.shape), tuple(y.shape)), ("device", a.device, b.device)):
        if p != q:
            return [Difference(False, False, f"{where} has {what} {q} instead of {p}")]
    if a.requires_grad != b.requires_grad:
        words = "requires" if b.requires_grad else "does not require"
        return [Difference(False, False, f"{where} {words} gradients, unlike before")]
    if x.numel() == 0 or _bits_equal(x, y):
        return []
    unequal = (x != y) & ~((x != x) & (y != y))
    count = int(unequal.sum())
    if count == 0:
        return [Difference(False, True, f"{where}: zeros differ in sign")]
    if x.dtype == torch.bool or not (x.dtype.is_floating_point or x.dtype.is_complex):
        return [Difference(False, False, f"{where}: {count} of {x.numel()} elements differ")]
    p, q = (x.to(torch.complex128), y.to(torch.complex128)) if x.dtype.is_complex else (x.double(), y.double())
    largest = float((p - q).abs()[unequal].nan_to_num(float("inf")).max())
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-7}.get(x.dtype, 1.3e-6)
    close = bool(torch.allclose(p, q, rtol=tolerance, atol=tolerance * 10, equal_nan=True))
    return [Difference(False, close, f"{where}: {count} of {x.numel()} elements differ, by up to {largest:.3g}")]


def _bits_equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x.dtype.is_floating_point and torch.equal(x, y):
        return bool(torch.equal(torch.signbit(x), torch.signbit(y)))
    if x.dtype.is_floating_point:
        same = (x == y) & (torch.signbit(x) == torch.signbit(y)) | ((x != x) & (y != y))
        return bool(same.all())
    return bool(torch.equal(x, y))
