"""Other arguments for a call, made of those it is given: what an edit does wrong often shows for some values, numbers or sizes only.

A rule's edit has to be right for every argument of the kinds that the function takes, so any that the original can do may be asked.  `Step` changes
the arguments of a call that was built anew; `of` says which steps fit a call, the most telling first.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from graphglue_worker import left_behind

if TYPE_CHECKING:
    from graphglue_worker.inputs import Call

AUTOCAST, DOUBLE, BY_DEFAULT, NARROW = (
    "autocast to bfloat16",
    "float64",
    "float64, also for torch's default dtype",
    "bfloat16, the module too",
)
DTYPES = {AUTOCAST: torch.bfloat16, BY_DEFAULT: torch.float64, DOUBLE: torch.float64, NARROW: torch.bfloat16}
GIVEN_WITH, NO_ROWS, STRIDES = "the given inputs with ", "no rows", "other strides"
MOST_NUMBERS, MOST_PARTS = 6, 4  # numbers of the call, and tensors of its lists, that are varied each by itself
LARGE, LARGER_THAN_SIZES = (
    1000,
    1007,
)  # integers up to the first are made ten times as large; a number that no narrow dtype holds
_ALL = 1 << 40  # more than any tensor has in one dimension
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
Change = Callable[[torch.Tensor], torch.Tensor]
Step = Callable[["Call"], bool]  # false where it changes nothing


@dataclass(frozen=True)
class Variation:
    """Steps to be done one behind the other.  `differentiate`: gradients are worth their time, too.  `behind`: words of
    others: where one of them raises, this one does, too, or nearly always."""

    words: str
    steps: tuple[Step, ...]
    differentiate: bool = False
    behind: tuple[str, ...] = ()


def owner(fn: Any) -> Any:
    """What holds state for the callable: a module, or the object of a method; None for a function."""
    return fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)


def module(fn: Any) -> torch.nn.Module | None:
    """The same where it is a module."""
    found = owner(fn)
    return found if isinstance(found, torch.nn.Module) else None


# ---- values -----------------------------------------------------------------------------------------------------------


def mirrored(x: torch.Tensor) -> torch.Tensor:
    """Other floats."""
    return x * -1.5


def hundredfold(x: torch.Tensor) -> torch.Tensor:
    """Large floats."""
    return x * 100


def not_finite(x: torch.Tensor) -> torch.Tensor:
    """The same with NaN and infinities between."""
    flat = x.reshape(-1).clone()
    for i, value in enumerate(("nan", "inf", "-inf")):
        flat[i * flat.numel() // 3] = float(value)
    return flat.reshape(x.shape)


def _usual(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.layout == torch.strided and not x.is_quantized and x.numel() > 0


def _tensors(call: "Call") -> list[torch.Tensor]:
    return [x for x in _pytree.tree_leaves((call.args, call.kwargs)) if _usual(x)]


def _map(call: "Call", change: Change) -> None:
    """Replace the usual tensors.  What the change gives back as it is stays the same object."""

    def apply(x: Any) -> Any:
        y = change(x) if _usual(x) else x
        return x if y is x else y.requires_grad_(x.requires_grad)

    call.args, call.kwargs = _pytree.tree_map(apply, (call.args, call.kwargs))


def change_floats(call: "Call", change: Change) -> bool:
    """Floating tensors changed, or the floating parameters where there are none.  Integers are permuted (so they stay in range), bools flipped
    when the values are mirrored."""
    generator = torch.Generator().manual_seed(3)
    count = 0

    def apply(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        y = x.detach()
        if y.dtype in _FLOATS:
            count += 1
            return change(y).clone()
        if change is not mirrored or y.is_complex() or y.is_floating_point():
            return x
        if y.dtype == torch.bool:
            return ~y
        order = torch.randperm(y.numel(), generator=generator, device="cpu").to(y.device)
        return y.reshape(-1)[order].reshape(y.shape).clone()

    _map(call, apply)
    found = module(call.fn)
    if not count and found is not None:
        with torch.no_grad():
            for p in found.parameters():
                if p.dtype in _FLOATS and p.numel() and p.layout == torch.strided:
                    p.copy_(change(p.detach()))
    return True


def _others(call: "Call") -> bool:
    return change_floats(call, mirrored)


def _is_integer(x: torch.Tensor) -> bool:
    return not (x.is_floating_point() or x.is_complex())


def _integers(change: Change, flag: bool) -> Step:
    """Integers changed as 64-bit numbers, bools all the same."""

    def apply(x: torch.Tensor) -> torch.Tensor:
        if not _is_integer(x):
            return x
        y = x.detach()
        return torch.full_like(y, flag) if y.dtype == torch.bool else change(y.to(torch.int64)).to(y.dtype)

    def step(call: "Call") -> bool:
        _map(call, apply)
        return True

    return step


def _floats(call: "Call") -> list[torch.Tensor]:
    return [x for x in _tensors(call) if x.is_floating_point()]


def _alone(among: Callable[["Call"], list[torch.Tensor]], number: int, change: Change) -> Step:
    """One of these tensors by itself; the others as they are given."""

    def step(call: "Call") -> bool:
        one = among(call)[number]
        other = change(one)
        _map(call, lambda x: other if x is one else x)
        return other is not one

    return step


def _first_row_of_zeros(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    if y.dim():
        y[:1] = 0
    return y


def _slopes(call: "Call") -> Iterator[tuple[str, Step]]:
    """Where slopes are infinite: at zero by itself, so that what is asked of another tensor stays as it is, at one, and where values overflow."""
    count = len(_floats(call))
    for i in range(min(count, MOST_PARTS) if count > 1 else 0):
        yield f"zeros in floating tensor {i + 1}", _alone(_floats, i, torch.zeros_like)
    yield "a row of zeros", lambda call: change_floats(call, _first_row_of_zeros)
    yield "ones", lambda call: change_floats(call, torch.ones_like)
    yield "a hundred times as much", lambda call: change_floats(call, hundredfold)


_ZERO = _integers(torch.zeros_like, False)
_LARGER = _integers(lambda x: torch.where(x.abs() < LARGE, x * 10 + 7, x + 1), True)
_ONE_MORE, _NEGATED = _integers(lambda x: x + 1, True), _integers(torch.neg, False)


def _all_single(call: "Call") -> bool:
    """Is each floating tensor there in float32, and is there one?"""
    found = module(call.fn)
    state = () if found is None else (*found.parameters(), *found.buffers())
    floating = [x for x in (*_tensors(call), *state) if not _is_integer(x)]
    return bool(floating) and all(x.dtype == torch.float32 and x.layout == torch.strided for x in floating)


def _in_dtype(dtype: torch.dtype) -> Step:
    def step(call: "Call") -> bool:
        _map(call, lambda x: x.detach().to(dtype) if x.is_floating_point() else x)
        found = module(call.fn)
        if found is not None:
            found.to(dtype)
        return True

    return step


@contextlib.contextmanager
def _double_by_default() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _autocast(call: "Call") -> bool:
    kinds = {x.device.type for x in _tensors(call)}
    kind = kinds.pop() if kinds else "cpu"
    call.under = lambda: torch.autocast(kind, dtype=torch.bfloat16)
    return not kinds


def _by_default(call: "Call") -> bool:
    call.under = _double_by_default
    return _in_dtype(torch.float64)(call)


def _dtypes(call: "Call") -> Iterator[tuple[str, Step]]:
    """Of a call whose floating tensors are float32: the dtypes that models are trained in, and others that the function may meet."""
    if not _all_single(call):
        return
    yield AUTOCAST, _autocast
    own = module(call.fn) is not None
    if own or not left_behind.global_modules():  # which would stay as they are
        yield BY_DEFAULT, _by_default
        yield DOUBLE, _in_dtype(torch.float64)
    if own:
        yield NARROW, _in_dtype(torch.bfloat16)


# ---- numbers of Python's ------------------------------------------------------------------------------------------------


def _numbers(call: "Call") -> Iterator[tuple[int | str, bool | int | float]]:
    """Place (position or name) and value of what the call passes, or leaves at its default, as a plain number."""
    given: list[tuple[int | str, Any]] = [*enumerate(call.args), *call.kwargs.items()]
    try:
        parameters = list(inspect.signature(getattr(module(call.fn), "forward", call.fn)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for p in parameters[len(call.args) :]:
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in call.kwargs:
            given.append((p.name, p.default))
    yield from [(place, value) for place, value in given if type(value) in (bool, int, float)][:MOST_NUMBERS]


def _other_numbers(value: bool | int | float) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [x for x in (0.0, -value) if x != value]
    return [x for x in dict.fromkeys((0, 1, abs(value) + LARGER_THAN_SIZES, -value)) if x != value]


def _number(place: int | str, value: Any) -> Step:
    def step(call: "Call") -> bool:
        if isinstance(place, str):
            call.kwargs = {**call.kwargs, place: value}
        else:
            call.args = (*call.args[:place], value, *call.args[place + 1 :])
        return True

    return step


# ---- sizes and strides --------------------------------------------------------------------------------------------------


def resize(call: "Call", dim: int, more: int, least: int = 1) -> bool:
    """That dimension longer in every tensor where it is as long as in the first one (a batch, a sequence): what comes first there comes once
    more; or shorter, with what comes first.  `dim` may count from the end, for tensors of three dimensions and more.  Of others than the rows, each
    dimension of that length goes along in tensors of another rank (a mask of sequences), where it is no other one's of the first.  False when no
    tensor has it, or has it so already."""
    rank = dim + 1 if dim >= 0 else 3
    first = next((x for x in _tensors(call) if x.dim() >= rank), None)
    if first is None:
        return False
    size = first.size(dim)
    wanted = max(least, size + more)
    if wanted == size:
        return False
    order = torch.arange(wanted) % size
    along = dim != 0 and list(first.shape).count(size) == 1

    def apply(x: torch.Tensor) -> torch.Tensor:
        if along and x.dim() != first.dim():
            dims = [i for i in range(x.dim()) if x.size(i) == size]
        else:
            dims = [dim] if x.dim() > max(dim, 0) and x.size(dim) == size else []
        y = x.detach() if dims else x
        for i in dims:
            y = y.index_select(i, order.to(x.device))
        return y

    _map(call, apply)
    return True


def _resized(dim: int, more: int, least: int = 1) -> Step:
    return lambda call: resize(call, dim, more, least)


def _shorter_second(call: "Call") -> bool:
    """Of tensors of three dimensions and more, and of others along with them: that of two is what layers are made for."""
    return any(x.dim() > 2 for x in _tensors(call)[:1]) and resize(call, 1, -_ALL)  # noqa: PLR2004


def _parts(call: "Call") -> list[torch.Tensor]:
    """The tensors with dimensions that are in lists and tuples among the arguments."""
    lists = [v for v in (*call.args, *call.kwargs.values()) if isinstance(v, (list, tuple))]
    return [x for x in _pytree.tree_leaves(lists) if _usual(x) and x.dim()]


def _rows(wanted: Callable[[int], int]) -> Change:
    """Another number of rows; as it is where it has as many."""

    def change(x: torch.Tensor) -> torch.Tensor:
        rows = wanted(x.size(0))
        if rows == x.size(0):
            return x
        return x.detach().index_select(0, (torch.arange(rows) % x.size(0)).to(x.device))

    return change


def _strided(call: "Call") -> bool:
    """Equal values in memory of another order, with gaps where there is one dimension."""

    def apply(x: torch.Tensor) -> torch.Tensor:
        y = x.detach()
        if isinstance(x, torch.nn.Parameter) or x.numel() < 2:  # noqa: PLR2004 - one element has no order
            return x
        if y.dim() == 1:
            return torch.stack((y, y), 1)[:, 0]
        return y.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2)

    _map(call, apply)
    return True


# ---- which --------------------------------------------------------------------------------------------------------------


def of(call: "Call") -> Iterator[Variation]:
    """The variations that fit a call, each once."""
    tensors = _tensors(call)
    integers = any(map(_is_integer, tensors))
    on_processor = all(x.device.type == "cpu" for x in tensors)  # elsewhere an index out of range ends what runs there
    others = ("other values", _others)
    zero, larger = ("zero integers", _ZERO), ("larger integers", _LARGER)
    grounds: list[tuple[str, Step] | None] = [None, *[others] * bool(tensors), *[zero] * integers]
    if integers and on_processor:
        grounds.append(larger)
    for chosen in grounds[2:]:
        yield _joined(chosen, differentiate=True)
    if _floats(call):
        yield from (_joined(changed, differentiate=True) for changed in _slopes(call))
    for place, value in _numbers(call):
        for other in _other_numbers(value):
            name = f"`{place}`" if isinstance(place, str) else f"argument {place + 1}"
            for ground in grounds:
                worth = ground is None or (isinstance(other, float) and not other and ground is others)
                yield _joined((f"{name} = {other}", _number(place, other)), ground, differentiate=worth)
    if integers and on_processor:
        yield from (_joined(("integers that are one more", _ONE_MORE)), _joined(("negated integers", _NEGATED)))
    for ground in grounds[2:]:
        yield _joined(others, ground)
    for changed in _dtypes(call):
        yield from (_joined(changed, ground) for ground in grounds[:2])
    for changed in _parts_resized(call):
        yield from (_joined(changed, ground) for ground in grounds)
    for changed in _FEWER:  # where the given values need what is not there any more, others may not
        yield from (_joined(changed, ground) for ground in grounds[1:])
    for changed in _LAYOUTS:
        yield from (_joined(changed, ground, both=True) for ground in grounds)


def _parts_resized(call: "Call") -> Iterator[tuple[str, Step]]:
    for i in range(min(len(_parts(call)), MOST_PARTS)):
        yield f"a single row in part {i + 1}", _alone(_parts, i, _rows(lambda size: 1))
        yield f"one more row in part {i + 1}", _alone(_parts, i, _rows(lambda size: size + 1))


_FEWER: tuple[tuple[str, Step], ...] = (
    ("a single row", _resized(0, -_ALL)),
    ("a second dimension of one", _shorter_second),
)
_LAYOUTS: tuple[tuple[str, Step], ...] = (
    (NO_ROWS, _resized(0, -_ALL, 0)),
    ("a shorter last dimension", _resized(-1, -1)),
    ("a longer last dimension", _resized(-1, 1)),
    ("a last dimension of one", _resized(-1, -_ALL)),
    (STRIDES, _strided),
)


def _joined(
    first: tuple[str, Step], second: tuple[str, Step] | None = None, differentiate: bool = False, both: bool = False
) -> Variation:
    """One change, or two.  `both`: where the first by itself raises, it does so with the second."""
    if second is None:
        return Variation(GIVEN_WITH + first[0], (first[1],), differentiate)
    behind = (GIVEN_WITH + second[0], *[GIVEN_WITH + first[0]] * both)
    return Variation(f"{GIVEN_WITH}{first[0]} and {second[0]}", (first[1], second[1]), differentiate, behind)
