"""What an error's words ask for: sizes, numbers of dimensions, kinds of values, and arguments that were left out."""

import re
from collections.abc import Iterator

import torch

from graphglue_worker.changes import as_dtype, larger, parts, places, reshaped, resize, retyped, spec, with_rank
from graphglue_worker.operations import broadcast
from graphglue_worker.trial import Failure, Operand, State

_NUMBERS = re.compile(r"-?\d+")
_SHAPES = re.compile(r"[Ee]xpected[^()\[\]]*[(\[]([\d, ]+)[)\]],? (?:but )?got[^()\[\]]*[(\[]([\d, ]+)[)\]]")
_WANTS_BOOL = (
    "masked_fill", "masked_fill_", "bitwise_not", "__invert__", "masked_select", "logical_not", "masked_scatter", "masked_scatter_",
)  # fmt: skip
_WANTS_LONG = (
    "embedding", "gather", "index_select", "one_hot", "scatter", "scatter_", "scatter_add_", "take_along_dim", "index_add_", "bincount",
)  # fmt: skip


def by_words(f: Failure, state: State) -> Iterator[State]:
    """What the message says of sizes, dimensions and kinds."""
    said, xs = f.said, f.operands
    numbers = [int(n) for n in _NUMBERS.findall(said)]
    if f.op in _WANTS_BOOL or "bool" in said.lower() and "mask" in said.lower():
        for x in reversed(xs):
            if x.dtype != torch.bool:
                yield from retyped(state, x, ("bool",))
    if re.search(
        r"not implemented for '(Bool|Long|Int)'|floating|Float but found Long|to have the same dtype|got Long|Long and Float|dtype.*Long",
        said,
    ) or (
        re.search(r"same dtype|scalar type (Float|Half)|bool tensor is not supported|negative|should be floating", said)
    ):
        for x in xs:
            if not x.dtype.is_floating_point:
                yield from retyped(state, x, ("float32", "int64"))
    if f.op in _WANTS_LONG or re.search(r"int64|Long|indices|integer|one_hot|index", said):
        for x in reversed(xs):
            if x.dtype.is_floating_point:
                yield from retyped(state, x, ("int64",))
    if re.search(r"out of range|out of bounds|Class values|must be (less|smaller)|index \d+ is", said):
        limit = next((n for n in reversed(numbers) if n > 0), 2)
        for place in [p for x in xs for p in x.places] or list(places(state)):
            if not spec(state, place)["dtype"].startswith("float"):
                for high in dict.fromkeys((limit, 2, 1)):
                    yield as_dtype(
                        state,
                        place,
                        spec(state, place)["dtype"] if spec(state, place)["dtype"] != "bool" else "int64",
                        high,
                    )
    yield from _words_of_rank(f, state, numbers)
    if len(xs) >= 2 and re.search(r"must match|broadcast|size of tensor|inconsistent|mismatch|same size|shape", said):
        for i, a in enumerate(xs):
            for b in xs[i + 1 :]:
                yield from broadcast(state, a, b)
    if (m := _SHAPES.search(said)) is not None:  # the one shape, and the other that came
        wanted, came = ([int(n) for n in _NUMBERS.findall(g)] for g in m.groups())
        for place in places(state):
            if list(spec(state, place)["shape"]) == came and wanted:
                yield reshaped(state, place, wanted)
        for x in xs:
            if list(x.shape) == came and x.itself and wanted:
                for place in x.places:
                    yield reshaped(state, place, wanted)
    if f.op == "einsum":
        yield from _einsum(f, state)
    if re.search(
        r"invalid for input of size|size mismatch|must match|must be|should be|expect(s|ed)|does not match|doesn't match|but got|divisible|sum to",
        said,
        re.I,
    ):
        sizes = [n for n in numbers if n > 0]
        for x in xs:
            for i in reversed(range(len(x.shape))):
                for target in sizes:
                    if x.shape[i] in sizes and target != x.shape[i]:
                        yield from resize(state, x, i, target)
        if not xs or not any(x.places for x in xs):
            yield from _sizes_said(state, sizes)
    if re.search(
        r"too small|greater than actual|Output size|smaller than|kernel size|non-zero|at least|empty", said, re.I
    ):
        for x in xs:
            yield from larger(state, x, max(numbers, default=2))
        if not xs:
            for place in places(state):
                yield from larger(state, Operand((), torch.float32, [place], True), max(numbers, default=2))


def _sizes_said(state: State, sizes: list[int]) -> Iterator[State]:
    """Sizes in a message that no operand explains: arguments that have one of them may need another of them."""
    for place in places(state):
        shape = list(spec(state, place)["shape"])
        for i in reversed(range(len(shape))):
            for target in sizes:
                if shape[i] in sizes and target != shape[i]:
                    yield reshaped(state, place, [*shape[:i], target, *shape[i + 1 :]])


def _words_of_rank(f: Failure, state: State, numbers: list[int]) -> Iterator[State]:
    said, xs = f.said, f.operands
    ranks: list[int] = []
    unpack = re.search(r"(?:not enough|too many) values to unpack \(expected (\d+)", said)
    if unpack:
        line, scope = f.lines[0] if f.lines else ("", {})
        wanted = int(unpack[1])
        for name, value in scope.items():
            if isinstance(value, torch.Tensor) and re.search(rf"\b{name}\s*\.\s*(shape|size)\b", line):
                ranks = [wanted]
                for x in xs:
                    if x.shape == tuple(value.shape):
                        yield from with_rank(state, x, wanted)
        for name, recipe in state.items():
            if re.search(rf"\b{name}\b", line) and not ranks:
                one = (
                    recipe
                    if isinstance(recipe, dict) and "tensor" in recipe
                    else next(iter(parts(recipe).values()), None)
                )
                if one is not None:
                    yield {**state, name: {"tuple": [one] * wanted}}
    if (m := re.search(r"expected to be in range of \[-?\d+, -?\d+\], but got (-?\d+)", said)) is not None:
        got = int(m[1])
        ranks.append(got + 1 if got >= 0 else -got)
    if re.search(r"input\.dim\(\) = |dims? .* (does not|doesn't) match|dimension", said) and not ranks:
        ranks += [n for n in numbers if 1 <= n <= 6]
    ranks += [
        int(n)
        for n in re.findall(r"(\d)-?D\b|(?<=expected )(\d)(?=-)", said)
        for n in ([n] if isinstance(n, str) else n)
        if n
    ]
    if "too many indices" in said and xs:
        ranks.append(len(xs[0].shape) + 1)
    if re.search(r"tuple index out of range|list index out of range", said):
        line = f.lines[0][0] if f.lines else ""
        for m in re.finditer(r"(\w+)\.(?:shape|size\(\))\s*\[\s*(-?\d)\s*\]", line):
            ranks.append(int(m[2]) + 1 if int(m[2]) >= 0 else -int(m[2]))
    if "must be a matrix" in said:
        ranks.append(2)
    for rank in dict.fromkeys(ranks):
        for x in xs:
            if len(x.shape) != rank:
                yield from with_rank(state, x, rank)


def _einsum(f: Failure, state: State) -> Iterator[State]:
    equation = f.arguments[0] if f.arguments and isinstance(f.arguments[0], str) else ""
    terms = equation.replace(" ", "").split("->")[0].split(",")
    if len(terms) != len(f.operands):
        return
    sizes: dict[str, list[tuple[Operand, int]]] = {}
    for term, x in zip(terms, f.operands, strict=True):
        if "." in term:
            continue
        if len(term) != len(x.shape):
            yield from with_rank(state, x, len(term))
            continue
        for i, letter in enumerate(term):
            sizes.setdefault(letter, []).append((x, i))
    for uses in sizes.values():
        for x, i in uses:
            for y, j in uses:
                if x.shape[i] != y.shape[j]:
                    yield from resize(state, x, i, y.shape[j])


def missing_names(f: Failure, optional: list[str]) -> list[str]:
    """Optional parameters that the failure asks for: named in the message, or None where the failing line uses them."""
    found = []
    for name in optional:
        if re.search(rf"\b{re.escape(name)}\b", f.said):
            found.append(name)
    if "NoneType" in f.said or "must be Tensor, not None" in f.said or "None" in f.said:
        for line, scope in f.lines:
            for name in re.findall(r"[A-Za-z_]\w*", line):
                if name in optional and scope.get(name, 0) is None:
                    found.append(name)
    return list(dict.fromkeys(found))
