"""Sizes that go together: what another size of the inputs cannot be, since a parameter or another input has the same one.

An edit computes what the original may leave out.  A layer whose turn it is not, given another number of features than it has, raises then and names
the number it wants, where the original does not come to it.  No input that the layer takes has that size, so nothing is told by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphglue_worker import compare

if TYPE_CHECKING:
    from graphglue_worker.observe import Run

_SHAPES = ("RuntimeError", "TorchRuntimeError")  # eager, and of Dynamo's fake tensors
_NUMBER = re.compile(r"\d+")


def does_not_fit(given: Run, x: Run, y: Run) -> bool:
    """Does the edited code raise on other sizes (`y`) where the original returns (`x`), and are those not free?  `given`: the original on the
    given inputs.  Rows are free: any number of them is usual."""
    if x.error or not y.error or y.error[0] not in _SHAPES:
        return False
    changed, kept, rows = _sizes(given, x)
    if not changed or rows:
        return False
    bound = kept.union(*(leaf.shape for leaf in compare.leaves(given.state)))
    return changed <= bound and changed <= {int(number) for number in _NUMBER.findall(y.error[1])}


def _sizes(given: Run, x: Run) -> tuple[set[int], set[int], bool]:
    """Sizes of the given inputs in dimensions that have another one now, those of inputs that are as large as they were, and whether a first
    dimension is among the former."""
    changed, kept, rows = set(), set(), False
    for a, b in _pairs(given, x):
        if a == b:
            kept.update(a)
        changed.update(was for was, now in zip(a, b, strict=False) if was != now)
        rows = rows or a[:1] != b[:1]
    return changed, kept, rows


def _pairs(given: Run, x: Run) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for a, b in zip(compare.leaves(given.inputs), compare.leaves(x.inputs), strict=False):
        yield tuple(a.shape), tuple(b.shape)
