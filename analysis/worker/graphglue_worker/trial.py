"""One trial call: did it run, and if not, which operation failed on what, and which arguments what it failed on came from.

Arguments are recipes in a *state*: {place: recipe}, a place being a path such as ("x",) or ("position_embeddings", 0).  While the call runs, every
tensor carries the places it was computed from, so that a failing operation deep inside points back at the arguments to change.
"""

import itertools
import linecache
import os
import re
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from graphglue_worker import modes
from graphglue_worker.recipes import Maker, Recipe

Place = tuple[Any, ...]
State = dict[str, Recipe]
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
MAX_OPERATIONS = 200_000


@dataclass
class Operand:
    """A tensor that the failing operation was given."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    places: list[Place]
    itself: bool  # it is the argument, not something computed from it


@dataclass
class Failure:
    """Why a trial failed."""

    error: BaseException
    steps: int  # torch calls until then: how far it came
    op: str = ""  # name of the failing torch function
    operands: list[Operand] = field(default_factory=list)
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    lines: list[tuple[str, dict[str, Any]]] = field(
        default_factory=list
    )  # (source line, locals), innermost first, torch's own left out
    values: dict[str, Any] = field(default_factory=dict)  # the arguments that were made

    @property
    def said(self) -> str:
        return str(self.error)


@dataclass
class Success:
    """What the call returned."""

    result: Any
    steps: int


class _Watch(TorchFunctionMode):
    """Carries the places along and remembers the operation that failed."""

    def __init__(self, roots: "list[tuple[Place, torch.Tensor]]") -> None:
        super().__init__()
        self.places: dict[int, frozenset[Place]] = {}
        self.roots: dict[int, Place] = {}
        self.kept: list[Any] = []
        self.steps = 0
        self.failed: tuple[BaseException, Any, tuple[Any, ...], dict[str, Any]] | None = None
        for place, value in roots:
            self.places[id(value)] = frozenset([place])
            self.roots[id(value)] = place
            self.kept.append(value)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.steps += 1
        if self.steps > MAX_OPERATIONS:
            raise RuntimeError("it calls too many operations")
        try:
            out = func(*args, **(kwargs or {}))
        except Exception as e:
            if self.failed is None or self.failed[0] is not e:
                self.failed = (e, func, args, kwargs or {})
            raise
        found = frozenset().union(*(self.places.get(id(x), ()) for x in leaves((args, kwargs))))
        if found:
            for x in leaves(out):
                if id(x) not in self.places or id(x) not in self.roots:
                    self.places[id(x)] = found | self.places.get(id(x), frozenset())
                    self.kept.append(x)
        return out

    def operand(self, x: torch.Tensor) -> Operand:
        places = sorted(self.places.get(id(x), ()), key=repr)
        return Operand(tuple(x.shape), x.dtype, places, id(x) in self.roots)


def leaves(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Tensors inside lists, tuples, dicts and objects made of them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 4 and isinstance(value, (list, tuple)):
        for v in value:
            yield from leaves(v, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for v in value.values():
            yield from leaves(v, depth + 1)


def _roots(value: Any, place: Place) -> Iterator[tuple[Place, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield place, value
        return
    held: dict[Any, Any] = dict(enumerate(value)) if isinstance(value, (list, tuple)) else {}
    if isinstance(value, (dict, types.SimpleNamespace)):
        held = value if isinstance(value, dict) else vars(value)
    for key, v in held.items():
        yield from _roots(v, (*place, key))


def run(call: Callable[..., Any], state: State, maker: Maker, positional: list[str]) -> Success | Failure:
    """Make the arguments and call, with gradients where it takes some itself.  `positional`: names of the state that are passed by position, in
    order."""
    found = _run(call, state, maker, positional, grad=False)
    if isinstance(found, Failure) and modes.raised(found.error):
        with_gradients = _run(call, state, maker, positional, grad=True)
        if isinstance(with_gradients, Success) or not modes.raised(with_gradients.error):
            return with_gradients
    return found


def _run(call: Callable[..., Any], state: State, maker: Maker, positional: list[str], grad: bool) -> Success | Failure:
    torch.manual_seed(0)
    values = {name: maker.make(recipe) for name, recipe in state.items()}
    watch = _Watch([r for name, value in values.items() for r in _roots(value, (name,))])
    args = [values[n] for n in positional if n in values]
    try:
        with torch.set_grad_enabled(grad), watch:
            result = call(*args, **{n: v for n, v in values.items() if n not in positional})
        return Success(result, watch.steps)
    except MemoryError:
        raise
    except Exception as e:  # noqa: BLE001 - user code
        failure = _failure(e, watch)
        failure.values = values
        return failure


def _failure(error: BaseException, watch: _Watch) -> Failure:
    failure = Failure(error, watch.steps)
    frames = list(traceback.walk_tb(error.__traceback__))
    if watch.failed is not None and watch.failed[0] is error:
        _, func, args, kwargs = watch.failed
        failure.op = getattr(func, "__name__", str(func))
        failure.arguments, failure.keywords = args, kwargs
        failure.operands = [watch.operand(x) for x in leaves((args, kwargs))]
    else:  # no torch function: what the failing line names
        frame, line = frames[-1]
        named = re.findall(r"\w+", _statement(frame, frame.f_code.co_filename, line))
        found = [x for n in dict.fromkeys(named) for x in leaves(frame.f_locals.get(n))]
        failure.operands = [watch.operand(x) for x in found or leaves(list(frame.f_locals.values()))]
    for frame, line in reversed(frames):
        path = frame.f_code.co_filename
        if not path.startswith((_TORCH, _HERE, "<")):
            failure.lines.append((_statement(frame, path, line), dict(frame.f_locals)))
    return failure


def _statement(frame: Any, path: str, line: int) -> str:
    """The failing expression's lines, as one."""
    end = line
    positions = getattr(frame.f_code, "co_positions", None)  # Python 3.11
    if positions is not None and frame.f_lasti >= 0:
        place = next(itertools.islice(positions(), frame.f_lasti // 2, None), None)
        if place and place[0] and place[1]:
            line, end = place[0], min(place[1], place[0] + 30)
    return " ".join(linecache.getline(path, n).strip() for n in range(line, end + 1))
