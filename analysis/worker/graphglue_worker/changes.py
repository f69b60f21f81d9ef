"""Changes to the arguments of a trial: other sizes, numbers of dimensions and kinds of values at a place of the state.

What an operation was given may have been computed from an argument: a change of its size is then translated back, by what equal, divided and
multiplied sizes have in common, and the trial shows whether that was right.
"""

import math
from collections.abc import Iterator
from typing import Any

from graphglue_worker.recipes import Recipe
from graphglue_worker.trial import Operand, Place, State

NAMESPACE = "types:SimpleNamespace"


def parts(recipe: Recipe) -> dict[Any, Recipe]:
    """What a container's recipe holds, by index, key or attribute."""
    if isinstance(recipe, list):
        return dict(enumerate(recipe))
    if not isinstance(recipe, dict):
        return {}
    if "tuple" in recipe:
        return dict(enumerate(recipe["tuple"]))
    if "dict" in recipe:
        return {k: v for k, v in recipe["dict"] if isinstance(k, str)}
    return recipe["kwargs"] if recipe.get("call") == NAMESPACE else {}


def with_parts(recipe: Recipe, held: dict[Any, Recipe]) -> Recipe:
    """A container of the same kind that holds these."""
    if isinstance(recipe, list):
        return list(held.values())
    if "tuple" in recipe:
        return {"tuple": list(held.values())}
    return {"dict": [[k, v] for k, v in held.items()]} if "dict" in recipe else {**recipe, "kwargs": held}


def at(state: State, place: Place) -> Recipe:
    """The recipe at a place."""
    recipe = state[place[0]]
    for i in place[1:]:
        recipe = parts(recipe)[i]
    return recipe


def put(state: State, place: Place, recipe: Recipe) -> State:
    """A state with another recipe at a place."""

    def replace(old: Recipe, path: Place) -> Recipe:
        if not path:
            return recipe
        held = parts(old)
        return with_parts(old, {**held, path[0]: replace(held[path[0]], path[1:])})

    return {**state, place[0]: replace(state[place[0]], place[1:])}


def places(state: State) -> Iterator[Place]:
    """Every place that holds a tensor."""

    def walk(recipe: Recipe, place: Place) -> Iterator[Place]:
        if isinstance(recipe, dict) and "tensor" in recipe:
            yield place
        for key, part in parts(recipe).items():
            yield from walk(part, (*place, key))

    for name, recipe in state.items():
        yield from walk(recipe, (name,))


def spec(state: State, place: Place) -> dict[str, Any]:
    return at(state, place)["tensor"]


def changed(state: State, place: Place, **changes: Any) -> State:
    return put(state, place, {"tensor": {**spec(state, place), **changes}})


def reshaped(state: State, place: Place, shape: list[int]) -> State:
    return changed(state, place, shape=[max(1, int(s)) for s in shape])


# ---- sizes ------------------------------------------------------------------------------------------------------------------


def resize(state: State, x: Operand, dim: int, target: int) -> Iterator[State]:
    """States in which dimension `dim` of an operand may become `target`."""
    if target <= 0 or not x.shape or not -len(x.shape) <= dim < len(x.shape):
        return
    current = x.shape[dim]
    back = dim - len(x.shape) if dim >= 0 else dim
    if current in (0, target):
        return
    for place in x.places:
        shape = list(spec(state, place)["shape"])
        if x.itself or tuple(shape) == x.shape:
            yield from _all_and_one(state, place, len(shape) + back, current, target)
            continue
        equal = [i for i in range(len(shape)) if shape[i] == current]
        equal.sort(key=lambda i: (i - len(shape) != back, -i))
        for i in equal:
            yield from _all_and_one(state, place, i, current, target)
        for i in reversed(range(len(shape))):
            if i in equal or shape[i] <= 1:
                continue
            if current % shape[i] == 0 and target % (current // shape[i]) == 0:
                yield reshaped(state, place, [*shape[:i], target // (current // shape[i]), *shape[i + 1 :]])
            elif shape[i] % current == 0:
                yield reshaped(state, place, [*shape[:i], target * (shape[i] // current), *shape[i + 1 :]])
        for i in reversed(range(len(shape))):  # an offset, as of a token that is prepended
            if shape[i] != current and 0 < abs(shape[i] - current) <= 4 and target - (current - shape[i]) > 0:
                yield reshaped(state, place, [*shape[:i], target - (current - shape[i]), *shape[i + 1 :]])
        if (
            -len(shape) <= back < 0 and abs(target - current) > 4 and shape[back] + target > current
        ):  # joined with others
            yield reshaped(
                state, place, [s + target - current if i - len(shape) == back else s for i, s in enumerate(shape)]
            )
        if current == target * math.prod(shape):  # everything in one
            yield reshaped(state, place, [1] * len(shape))
        if not equal and len(shape) > 2:  # a size that shrinks on its way, as an image's does: in proportion
            side = max(1, round(shape[-1] * (target / current) ** 0.5))
            yield reshaped(state, place, [*shape[:-2], side, side])
            yield reshaped(state, place, [*shape[:-1], max(1, round(shape[-1] * target / current))])
        if not equal and shape:
            yield reshaped(state, place, [*shape[:-1], target])


def _all_and_one(state: State, place: Place, i: int, current: int, target: int) -> Iterator[State]:
    """The size everywhere it occurs (it is likely the same thing), then there only."""
    everywhere = state
    for other in places(state):
        shape = spec(everywhere, other)["shape"]
        if current in shape and current > 2:
            everywhere = reshaped(everywhere, other, [target if s == current else s for s in shape])
    shape = list(spec(state, place)["shape"])
    if not 0 <= i < len(shape):
        return
    one = reshaped(state, place, [*shape[:i], target, *shape[i + 1 :]])
    if everywhere != one and everywhere != state:
        yield everywhere
    yield one


def with_rank(state: State, x: Operand, rank: int) -> Iterator[State]:
    """States in which an operand has `rank` dimensions."""
    for place in x.places:
        shape = list(spec(state, place)["shape"])
        new = len(shape) + rank - len(x.shape)
        if new == len(shape) or not 0 <= new <= 6:
            continue
        yield from ranked(state, place, new)


def ranked(state: State, place: Place, rank: int) -> Iterator[State]:
    """Another number of dimensions for one argument, keeping what may be kept."""
    shape = list(spec(state, place)["shape"])
    if rank < len(shape):
        yield reshaped(state, place, [*shape[: rank - 1], shape[-1]] if rank else [])
        if rank:
            yield reshaped(state, place, shape[:rank])
        return
    extra = rank - len(shape)
    width = shape[-1] if len(shape) > 1 else 16
    if rank == 4:
        yield reshaped(state, place, [shape[0] if shape else 2, width, 8, 8])
        yield reshaped(state, place, [shape[0] if shape else 2, 4, 4, width])
    if rank == 5:
        yield reshaped(state, place, [shape[0] if shape else 2, shape[1] if len(shape) == 4 else 3, 4, 8, 8])
    yield reshaped(state, place, [*shape[:1], *([4] * extra), *shape[1:]])
    yield reshaped(state, place, [*shape, *([shape[-1] if shape else 4] * extra)])
    yield reshaped(state, place, [*([1] * extra), *shape])


def unbatched(state: State) -> State:
    """A batch of one."""
    for place in places(state):
        shape = list(spec(state, place)["shape"])
        if len(shape) > 1 and shape[0] == 2:
            state = reshaped(state, place, [1, *shape[1:]])
    return state


# ---- kinds of values ------------------------------------------------------------------------------------------------------


def as_dtype(state: State, place: Place, dtype: str, high: int | None = None) -> State:
    old = spec(state, place)
    new: dict[str, Any] = {"shape": old["shape"], "dtype": dtype}
    if dtype == "bool":
        new |= {"fill": "full", "value": True}
    elif dtype.startswith(("int", "uint")):
        kept = old.get("high") if old["fill"] == "integers" else None
        limit = high if high is not None else kept or 2
        if old["fill"] in ("arange", "full") and high is None:
            new |= {"fill": old["fill"], "value": int(old.get("value", 0))}
        else:
            new |= {"fill": "integers", "low": 0, "high": min(limit, kept) if kept and high else limit}
    else:
        new |= {"fill": "normal"}
    return put(state, place, {"tensor": new})


def retyped(state: State, x: Operand, dtypes: tuple[str, ...]) -> Iterator[State]:
    for place in x.places:
        for dtype in dtypes:
            if spec(state, place)["dtype"] != dtype:
                yield as_dtype(state, place, dtype)


def larger(state: State, x: Operand, least: int = 2) -> Iterator[State]:
    """More room in the last dimensions."""
    for place in x.places:
        shape = list(spec(state, place)["shape"])
        for count in (2, 1):
            if len(shape) > count:
                yield reshaped(state, place, [*shape[:-count], *(max(2 * s, least) for s in shape[-count:])])
