"""Are two results the same?

Bitwise: type, dtype, shape, device, layout, strides, gradient requirement and every element, and what shares memory with what
(see ``snapshot``).  All NaN are equal; -0.0 and 0.0 differ; an int is not the float of the same value; mappings have an order.

A compiled run hands over some values in other containers than the eager run of the same program does, whatever the program: a tuple's iterator for
a generator, an array without dimensions or a Python number for a NumPy scalar, an equal list twice for one list seen twice.  With
`compiled`, these are the same: the items, or the value (and the dtype where both have one), decide.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from graphglue_worker.snapshot import Leaf, Node

MAX_DIFFERENCES = 1000
MAX_PATH = 120  # characters of the words that say where
_TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-7}
_ITERATORS = "iterator"


@dataclass
class Difference:
    """`close`: within the tolerance of the dtype.  `words` say where and how much; empty when same."""

    same: bool
    close: bool
    words: str
    value: bool = True  # false: the elements agree, but not what holds them (layout, memory shared, identity)


class Copies:
    """What an edit may give back as tensors of their own, when its rule said so: results that shared memory.  Nothing may share that did not."""

    def __init__(self, output: Any, *others: Any) -> None:
        """`output`: the result of the original code; `others`: what else was seen in that run."""
        self._returned = {leaf.number for leaf in leaves(output)}
        self._aliases = {leaf.number: leaf.alias for value in (output, *others) for leaf in leaves(value)}

    def admit(self, a: Leaf, b: Leaf) -> bool:
        """`a` of the original, `b` of the edited code."""
        lost = a.alias is not None and (b.alias is None or self._aliases.get(b.alias) == a.alias)
        return lost and (a.number in self._returned or a.alias in self._returned)


@dataclass(frozen=True)
class Admitted:
    """What may be another tensor than the original's: `copies`, and, with `layouts`, one whose elements lie in order where the original's lie in
    another, without gaps (or with some, where it may be a view of what others hold).  What works on the latter and not on the former is rare.
    `rounded`: some of what made a tensor of any dtype was rounded to that one.  `large`: it was made of values far larger than those of its user:
    where they cancel, what is left was rounded as they were, so an element is close when it is by the measure of the largest one that differs."""

    copies: Copies | None = None
    layouts: bool = False
    rounded: torch.dtype | None = None
    large: bool = False

    def shares(self, a: Leaf, b: Leaf) -> bool:
        """Do both share memory with the same, as far as it is asked?"""
        return a.alias == b.alias or bool(self.copies and self.copies.admit(a, b))

    def lies(self, a: Leaf, b: Leaf) -> bool:
        """Do the elements lie alike, as far as it is asked?"""
        if a.strides == b.strides:
            return True
        if not self.layouts or b.strides != _in_order(b.shape):
            return False
        return _has_no_gaps(a) or self.copies is not None


def _in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the dimensions longer than one, the last changing fastest."""
    return tuple(math.prod(shape[i + 1 :]) for i, size in enumerate(shape) if size > 1)


def _has_no_gaps(leaf: Leaf) -> bool:
    """Do its elements lie side by side, in whatever order?"""
    step = 1
    for stride, size in sorted(zip(leaf.strides, (size for size in leaf.shape if size > 1), strict=True)):
        if stride != step:
            return False
        step *= size
    return True


def leaves(value: Any) -> Iterator[Leaf]:
    """The tensors in a snapshot."""
    waiting, done = [value], set()
    while waiting:
        at = waiting.pop()
        if isinstance(at, Leaf):
            yield at
        elif isinstance(at, Node) and id(at.parts) not in done:
            done.add(id(at.parts))
            waiting += [part for _, part in at.parts]


def difference(
    expected: Any, got: Any, where: str = "the result", compiled: bool = True, admitted: Admitted = Admitted()
) -> Difference:
    """The worst difference found, in words; `close` when all are within tolerance.  `compiled`: `got` comes from a compiled run."""
    found = list(islice(_walk(expected, got, where, compiled, admitted, set()), MAX_DIFFERENCES))
    if not found:
        return Difference(True, True, "", False)
    worst = next((d for d in found if not d.close), found[0])
    worst = next((d for d in found if d.value and not d.close), worst)
    return Difference(False, all(d.close for d in found), worst.words, any(d.value for d in found))


def _walk(
    a: Any, b: Any, where: str, compiled: bool, admitted: Admitted, done: set[tuple[int, int]]
) -> Iterator[Difference]:
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        yield from _tensors(a, b, where, admitted)
    elif compiled and (_number(a) is not None and _number(b) is not None):
        yield from _numbers(a, b, where)
    elif isinstance(a, Node) and isinstance(b, Node):
        yield from _nodes(a, b, where, compiled, admitted, done)
    elif type(a) is not type(b):
        yield Difference(False, False, f"{where} is {_name(b)} instead of {_name(a)}")
    elif not _equal(a, b):
        close = isinstance(a, float) and abs(a - b) <= 1e-5 * max(abs(a), 1e-3)
        yield Difference(False, close, f"{where} is {b!r:.80} instead of {a!r:.80}")


def _nodes(
    a: Node, b: Node, where: str, compiled: bool, admitted: Admitted, done: set[tuple[int, int]]
) -> Iterator[Difference]:
    if not (a.comparable and b.comparable):
        yield Difference(False, False, f"{where} is {a.kind if not a.comparable else b.kind} and cannot be compared")
        return
    if _kind(a, compiled) != _kind(b, compiled):
        yield Difference(False, False, f"{where} is {_name(b)} instead of {_name(a)}")
        return
    if a.alias != b.alias and not compiled:
        words = "is an object seen before" if a.alias is None else "is no longer the object it was"
        yield Difference(False, False, f"{where} {words}", False)
        return
    if [k for k, _ in a.parts] != [k for k, _ in b.parts]:
        if len(a.parts) != len(b.parts):
            words = f"has {len(b.parts)} parts instead of {len(a.parts)}"
        else:
            words = (
                "has other keys"
                if {k for k, _ in a.parts} != {k for k, _ in b.parts}
                else "has its keys in another order"
            )
        yield Difference(False, False, f"{where} {words}")
        return
    pair = (id(a.parts), id(b.parts))
    if pair not in done:  # shared parts and cycles are looked at once
        done.add(pair)
        for (k, x), (_, y) in zip(a.parts, b.parts, strict=True):
            yield from _walk(x, y, f"{where}[{k}]" if len(where) < MAX_PATH else where, compiled, admitted, done)


def _kind(node: Node, compiled: bool) -> str:
    iterates = compiled and (
        node.kind == "generator" or node.kind.endswith(_ITERATORS) or node.kind in ("map", "zip", "filter", "enumerate")
    )
    return _ITERATORS if iterates else node.kind


def _number(x: Any) -> Any:
    """The value of a Python number, a NumPy scalar or a NumPy array without dimensions; else None."""
    if type(x) in (bool, int, float, complex):
        return x
    if isinstance(x, Node) and x.kind in ("numpy scalar", "numpy array"):
        parts = dict(x.parts)
        elements, shape = parts.get("elements"), parts.get("shape")
        if isinstance(elements, Leaf) and isinstance(shape, Node) and not shape.parts:
            held = elements.elements()
            return None if held is None else held.item()
    return None


def _numbers(a: Any, b: Any, where: str) -> Iterator[Difference]:
    p, q = _number(a), _number(b)
    dtypes = {dict(x.parts)["dtype"] for x in (a, b) if isinstance(x, Node)}
    if type(p) is not type(q) or len(dtypes) > 1:
        yield Difference(False, False, f"{where} is {_name(b)} instead of {_name(a)}")
    elif not _equal(p, q):
        close = isinstance(p, float) and abs(p - q) <= 1e-5 * max(abs(p), 1e-3)
        yield Difference(False, close, f"{where} is {q!r:.80} instead of {p!r:.80}")


def _equal(p: Any, q: Any) -> bool:
    if isinstance(p, float):
        return repr(p) == repr(q)  # tells -0.0 from 0.0, and no NaN from another
    if isinstance(p, complex):
        return _equal(p.real, q.real) and _equal(p.imag, q.imag)
    return bool(p == q)


def _name(value: Any) -> str:
    if isinstance(value, Leaf):
        return "a tensor"
    return f"a {value.kind}" if isinstance(value, Node) else type(value).__name__


def _tensors(a: Leaf, b: Leaf, where: str, admitted: Admitted) -> Iterator[Difference]:
    for what in ("type", "dtype", "shape", "device", "layout", "quantized"):
        p, q = getattr(a, what), getattr(b, what)
        if p != q:
            yield Difference(False, False, f"{where} has {what} {q} instead of {p}")
            return
    if a.requires_grad != b.requires_grad:
        words = "requires" if b.requires_grad else "does not require"
        yield Difference(False, False, f"{where} {words} gradients, unlike before")
    if not admitted.shares(a, b):
        change = "now shares" if a.alias is None else "no longer shares"
        words = f"{change} memory with the result or another tensor"
        yield Difference(False, False, f"{where} {words}", False)
    elif not admitted.lies(a, b):
        yield Difference(False, False, f"{where} has strides {b.strides} instead of {a.strides}", False)
    if (a.data, a.digest) != (b.data, b.digest):
        yield _elements(a, b, where, admitted)


def _elements(a: Leaf, b: Leaf, where: str, admitted: Admitted) -> Difference:
    x, y = a.elements(), b.elements()
    assert x is not None and y is not None
    if x.dtype.itemsize == 1 and x.dtype.is_floating_point:
        x, y = x.float(), y.float()
    unequal = (x != y) & ~((x != x) & (y != y))
    count, whole = int(unequal.sum()), a.data is not None
    said = f"{count} of {x.numel()} {'elements' if whole else 'sampled elements'} differ"
    if count == 0:
        return Difference(
            False, whole, f"{where}: zeros differ in sign" if whole else f"{where}: {said}, but others do"
        )
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        return Difference(False, False, f"{where}: {said}")
    p, q = (x.to(torch.complex128), y.to(torch.complex128)) if x.dtype.is_complex else (x.double(), y.double())
    largest = float((p - q).abs()[unequal].nan_to_num(float("inf")).max())
    tolerance = max(_TOLERANCE.get(kind, 1.3e-6) for kind in (x.dtype, admitted.rounded or x.dtype))
    # What was not kept is not known to be close.
    size = float(p.abs()[unequal].max()) if admitted.large else 1.0
    least = tolerance * 10 * (max(size, 1.0) if math.isfinite(size) else 1.0)
    close = whole and bool(torch.allclose(p, q, rtol=tolerance, atol=least, equal_nan=True))
    return Difference(False, close, f"{where}: {said}, by up to {largest:.3g}")
