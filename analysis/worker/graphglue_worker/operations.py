"""What a failed operation wants of its operands: the states in which it would get it, the most promising first."""

import math
import re
from collections.abc import Iterator

import torch

from graphglue_worker.changes import as_dtype, changed, larger, put, reshaped, resize, retyped, spec, with_rank
from graphglue_worker.trial import Failure, Operand, State

_CONV = {"conv1d": 1, "conv2d": 2, "conv3d": 3, "conv_transpose1d": 1, "conv_transpose2d": 2, "conv_transpose3d": 3}
_POOL = re.compile(
    r"(max|avg|lp)_pool(\d)d|adaptive_(max|avg)_pool(\d)d|interpolate|upsample|unfold|grid_sampler|pixel_(un)?shuffle"
)
_LOSSES = (
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss", "kl_div",
)  # fmt: skip


def by_operation(f: Failure, state: State) -> Iterator[State]:
    """What the failing operation wants of its operands."""
    op, xs = f.op.strip("_") if f.op.startswith("__") else f.op, f.operands
    if not xs:
        return
    x = xs[0]
    named = [f.keywords.get(n) for n in ("weight", "running_mean", "bias")]
    rest = [t for t in (*f.arguments[1:], *named) if isinstance(t, torch.Tensor)]
    weight = next((t for t in (*f.arguments[1:2], f.keywords.get("weight")) if isinstance(t, torch.Tensor)), None)
    if op == "linear" and weight is not None:
        if len(x.shape) == 0:
            yield from with_rank(state, x, 2)
        elif x.shape[-1] != weight.shape[-1]:
            yield from resize(state, x, -1, weight.shape[-1])
    elif op in _CONV and weight is not None:
        yield from _conv(f, state, x, weight, op)
    elif op == "embedding" and weight is not None:
        table, index = (weight, x) if x.dtype not in (torch.float32,) or weight.dim() == 2 else (weight, x)
        for place in index.places:
            shape = spec(state, place)["shape"]
            if len(shape) > 2 and spec(state, place)["dtype"] == "float32":  # no width: that is what it gets there
                yield as_dtype(reshaped(state, place, shape[:-1]), place, "int64", table.shape[0])
            yield as_dtype(state, place, "int64", table.shape[0])
    elif op in ("layer_norm", "rms_norm") and len(f.arguments) > 1:
        for i, size in enumerate(reversed(list(f.arguments[1]))):
            if i < len(x.shape):
                yield from resize(state, x, -1 - i, int(size))
        if len(x.shape) < len(f.arguments[1]):
            yield from with_rank(state, x, len(f.arguments[1]) + 1)
    elif op in ("batch_norm", "instance_norm", "group_norm", "prelu") and rest:
        channels = rest[0].numel()
        if len(x.shape) < 2:
            yield from with_rank(state, x, 4)
        yield from resize(state, x, 1, channels)
    elif op in ("view", "reshape", "unflatten", "_unsafe_view"):
        yield from _view(f, state, x)
    elif op in ("cat", "concat", "stack", "hstack", "vstack"):
        yield from _cat(f, state, op)
    elif op in ("matmul", "bmm", "rmatmul", "mm", "baddbmm", "addmm", "matmul_") and len(xs) >= 2:
        yield from _matmul(state, *xs[-2:])
    elif op in ("scaled_dot_product_attention",) and len(xs) >= 2:
        for y in xs[1:]:
            yield from broadcast(state, x, y)
    elif op in ("split", "split_with_sizes") and len(f.arguments) > 1 and isinstance(f.arguments[1], (list, tuple)):
        dim = next((d for d in (f.keywords.get("dim"), *f.arguments[2:3]) if isinstance(d, int)), 0)
        yield from resize(state, x, dim, sum(f.arguments[1]))
    elif op in ("repeat", "tile") and len(f.arguments) > 1:
        times = f.arguments[1] if isinstance(f.arguments[1], (tuple, list, torch.Size)) else f.arguments[1:]
        if len(times) < len(x.shape):
            yield from with_rank(state, x, len(times))
    elif op == "permute":
        dims = f.arguments[1:] if isinstance(f.arguments[1], int) else f.arguments[1]
        yield from with_rank(state, x, len(dims))
    elif _POOL.search(op):
        yield from _pool(f, state, x, op)
    elif op in _LOSSES:
        yield from _loss(state, op, xs)
    elif op.startswith("expand"):
        yield from _expand(f, state, x)


def _conv(f: Failure, state: State, x: Operand, weight: torch.Tensor, op: str) -> Iterator[State]:
    groups = next((a for a in (*f.arguments[6:7], f.keywords.get("groups")) if isinstance(a, int)), 1)
    transposed = "transpose" in op
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    dims = _CONV[op]
    if len(x.shape) != dims + 2:
        for place in x.places:
            shape = list(spec(state, place)["shape"])
            if x.itself:
                side = [16] if dims == 1 else [max(8, weight.shape[-1])] * dims
                yield reshaped(state, place, [shape[0] if shape else 2, channels, *side])
        yield from with_rank(state, x, dims + 2)
    elif x.shape[1] != channels:
        yield from resize(state, x, 1, channels)
        for i in range(2, len(x.shape)):
            if x.shape[i] == channels:  # the channels come last
                for place in x.places:
                    shape = list(spec(state, place)["shape"])
                    if len(shape) == len(x.shape):
                        yield reshaped(state, place, [shape[0], shape[-1], *shape[1:-1]])
    if not x.dtype.is_floating_point:
        yield from retyped(state, x, ("float32",))
    yield from larger(state, x, weight.shape[-1])


def _pool(f: Failure, state: State, x: Operand, op: str) -> Iterator[State]:
    found = re.search(r"(\d)d", op)
    if found and len(x.shape) != int(found[1]) + 2:
        yield from with_rank(state, x, int(found[1]) + 2)
    elif op in ("interpolate", "grid_sample", "unfold") and len(x.shape) != 4:
        yield from with_rank(state, x, 4)
    yield from larger(state, x)


def _view(f: Failure, state: State, x: Operand) -> Iterator[State]:
    flat = [a for a in f.arguments[1:]]
    wanted = flat[0] if flat and isinstance(flat[0], (tuple, list, torch.Size)) else flat
    sizes = [s for s in wanted if isinstance(s, int)]
    have, known = math.prod(x.shape), math.prod(s for s in sizes if s > 0)
    if not known or not have:
        return
    if -1 in sizes:  # the product of the rest must divide: try each dimension
        for i in reversed(range(len(x.shape))):
            others = have // x.shape[i]
            step = known // math.gcd(known, others)
            yield from resize(state, x, i, step)
            yield from resize(state, x, i, step * max(1, round(x.shape[i] / step)))
        return
    for i in (len(x.shape) - 1, *range(len(x.shape) - 1)):
        others = have // x.shape[i]
        if known % others == 0:
            yield from resize(state, x, i, known // others)
    if len(sizes) == len(x.shape):
        for i, s in enumerate(sizes):
            yield from resize(state, x, i, s)


def _cat(f: Failure, state: State, op: str) -> Iterator[State]:
    dim = next((d for d in (f.keywords.get("dim"), *f.arguments[1:2]) if isinstance(d, int)), 0)
    xs = f.operands
    rank = max(len(x.shape) for x in xs)
    for x in xs:
        if len(x.shape) != rank:
            yield from with_rank(state, x, rank)
            smaller = min(len(y.shape) for y in xs)
            for y in xs:
                if len(y.shape) != smaller:
                    yield from with_rank(state, y, smaller)
    for a in xs:
        for b in xs:
            if a is b or len(a.shape) != len(b.shape):
                continue
            for i in range(len(a.shape)):
                if (i != dim % len(a.shape) or op == "stack") and a.shape[i] != b.shape[i]:
                    yield from resize(state, a, i, b.shape[i])


def _matmul(state: State, a: Operand, b: Operand) -> Iterator[State]:
    if len(a.shape) and len(b.shape):
        inner = b.shape[-2] if len(b.shape) > 1 else b.shape[0]
        if a.shape[-1] != inner:
            yield from resize(state, a, -1, inner)
            yield from resize(state, b, -2 if len(b.shape) > 1 else 0, a.shape[-1])
        for i in range(3, min(len(a.shape), len(b.shape)) + 1):
            if a.shape[-i] != b.shape[-i]:
                yield from resize(state, a, -i, b.shape[-i])
                yield from resize(state, b, -i, a.shape[-i])
        if len(a.shape) != len(b.shape):
            yield from with_rank(state, a, len(b.shape))
            yield from with_rank(state, b, len(a.shape))


def broadcast(state: State, a: Operand, b: Operand) -> Iterator[State]:
    first, second = (a, b) if len(a.shape) <= len(b.shape) else (b, a)
    for x, y in ((first, second), (second, first)):
        for i in range(1, min(len(x.shape), len(y.shape)) + 1):
            if x.shape[-i] != y.shape[-i] and 1 not in (x.shape[-i], y.shape[-i]):
                yield from resize(state, x, -i, y.shape[-i])
    if len(a.shape) != len(b.shape):
        yield from with_rank(state, first, len(second.shape))
        yield from with_rank(state, second, len(first.shape))
    for x, y in ((first, second), (second, first)):
        if x.itself and x.places and len(x.shape) == len(y.shape):
            yield reshaped(state, x.places[0], list(y.shape))


def _loss(state: State, op: str, xs: list[Operand]) -> Iterator[State]:
    if len(xs) < 2:
        return
    x, y = xs[0], xs[1]
    for place in y.places:
        if op in ("cross_entropy", "nll_loss"):
            classes = x.shape[1] if len(x.shape) > 1 else (x.shape[-1] if x.shape else 2)
            labels = [*x.shape[:1], *x.shape[2:]]
            yield put(
                state,
                place,
                {"tensor": {"shape": labels, "dtype": "int64", "fill": "integers", "low": 0, "high": classes}},
            )
        yield put(state, place, {"tensor": {"shape": list(x.shape), "dtype": "float32", "fill": "uniform"}})
    if op == "binary_cross_entropy":
        for place in x.places:
            yield changed(state, place, fill="uniform", dtype="float32")


def _expand(f: Failure, state: State, x: Operand) -> Iterator[State]:
    wanted = [
        s
        for s in (f.arguments[1] if isinstance(f.arguments[1], (tuple, list, torch.Size)) else f.arguments[1:])
        if isinstance(s, int)
    ]
    if len(wanted) < len(x.shape):
        yield from with_rank(state, x, len(wanted))
    for i in range(1, min(len(wanted), len(x.shape)) + 1):
        if wanted[-i] not in (-1, x.shape[-i]) and x.shape[-i] != 1:
            yield from resize(state, x, -i, wanted[-i])
