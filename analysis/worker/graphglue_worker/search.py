"""The search for arguments with which a callable runs: best first by how far a call came, each failure proposing the next states."""

import heapq
import inspect
import itertools
import json
import math
import re
import types
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from graphglue_worker import changes, configs, guesses, messages, operations, structures, trial
from graphglue_worker.construct import annotations_of, describe
from graphglue_worker.recipes import Maker
from graphglue_worker.sizes import Sizes

MAX_ELEMENTS = 6_000_000  # of one argument
_LACKING = re.compile(r"SimpleNamespace' object has no attribute '(\w+)'")
_STRIKE = 4  # weight of each earlier failure of the same kind


class Search:
    """One callable's search; `run` may be called again to go on.  `state` is set once it is found, `reason` says what stands in the way."""

    def __init__(
        self, fn: Callable[..., Any], signature_of: Any, maker: Maker, settings: dict[str, Any] | None = None
    ) -> None:
        """`settings`: what `fn` was constructed with, by name."""
        self.fn = fn
        self._settings = settings or {}
        self.maker = maker
        self.state: trial.State | None = None
        self.reason: str | None = None
        self.setting: str | None = None  # what its configuration lacks, which no argument gives
        self.trials = 0
        self.positional: list[str] = []
        self._queue: list[tuple[int, int, int, trial.State]] = []
        self._seen: set[str] = set()
        self._order = itertools.count()
        self._strikes: Counter[tuple[Any, ...]] = Counter()
        self._best = -1
        try:
            self._start(*parameters_of(fn, signature_of))
        except (TypeError, ValueError) as e:
            self.reason = f"its parameters are not known ({e})"

    def _start(self, signature_of: Any, parameters: list[inspect.Parameter]) -> None:
        named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        sizes, hints = Sizes.of(self.fn, self._settings), annotations_of(signature_of)
        self._sizes = sizes
        self._options = {p.name: guesses.for_parameter(p.name, hints.get(p.name), sizes) for p in named}
        for name, choices in self._options.items():  # what the module itself calls by that name
            own = configs.literal(getattr(self.fn, name, None))
            if own is not None and not isinstance(own, (bool, str)):
                choices.insert(0, own)
        # The first parameter is the input even where it may be left out.
        required = {p.name for p in named if p.default is p.empty or (p is named[0] and p.default is None)}
        self._optional = [p.name for p in named if p.name not in required]
        for p in named:  # by position up to the first one that is left out
            if p.kind is p.KEYWORD_ONLY or p.name not in required:
                break
            self.positional.append(p.name)
        self._push(0, 0, {p.name: self._options[p.name][0] for p in named if p.name in required})

    def _push(self, steps: int, weight: int, state: trial.State) -> None:
        key = json.dumps(state, sort_keys=True, default=str)
        if key not in self._seen and _largest(state) <= MAX_ELEMENTS:
            self._seen.add(key)
            heapq.heappush(self._queue, (-steps, weight, next(self._order), state))

    def run(self, tries: int) -> bool:
        """Up to `tries` more calls.  True once one ran."""
        for _ in range(tries):
            if not self._queue or self.state is not None or self.setting is not None:
                break
            *_, state = heapq.heappop(self._queue)
            self.trials += 1
            outcome = trial.run(self.fn, state, self.maker, self.positional)
            if isinstance(outcome, trial.Success):
                self.state = state
            else:
                self._learn(outcome, state)
        return self.state is not None

    @property
    def over(self) -> bool:
        """Is there nothing left to try?"""
        return not self._queue

    def _learn(self, f: trial.Failure, state: trial.State) -> None:
        lacking = _LACKING.search(f.said)
        if lacking and not any(isinstance(v, types.SimpleNamespace) for v in f.values.values()):
            self.setting = lacking[1]
        if f.steps > self._best:
            self._best, self.reason = f.steps, f"calls failed: {describe(f.error)}"
        kind = (f.steps, f.op, type(f.error), re.sub(r"\d+", "", f.said)[:200])
        for weight, new in self._next(f, state):
            self._push(f.steps, weight + _STRIKE * self._strikes[kind], new)
        self._strikes[kind] += 1

    def _next(self, f: trial.Failure, state: trial.State) -> Iterator[tuple[int, trial.State]]:
        """States to try after a failure, each with a weight: the smaller the sooner."""
        for new in structures.by_structure(f, state, self._sizes):
            yield 0, new
        for name in messages.missing_names(f, [n for n in self._optional if n not in state]):
            for choice in self._options[name][:3]:
                if choice is not None:
                    yield 0, {**state, name: choice}
        for i, new in enumerate(itertools.islice(operations.by_operation(f, state), 24)):
            yield 1 + i, new
        for i, new in enumerate(itertools.islice(messages.by_words(f, state), 24)):
            yield 4 + i, new
        single = changes.unbatched(state)
        if single != state:
            yield 3 if "batch" in f.said else 25, single
        involved = {p[0] for x in f.operands for p in x.places} | set(messages.missing_names(f, list(state)))
        for name in sorted(state, key=lambda n: n not in involved):
            for i, choice in enumerate(self._options.get(name, ())[1:]):
                yield (12 if name in involved else 30) + 3 * i, {**state, name: choice}
        for place in changes.places(state):
            if place[0] in involved:
                for rank in (4, 3, 2, 5, 1):
                    for new in changes.ranked(state, place, rank):
                        yield 40, new


def parameters_of(fn: Any, signature_of: Any, depth: int = 0) -> tuple[Any, list[inspect.Parameter]]:
    """Whose parameters count, and these: a forward that takes anything passes it on to the first part that does not."""
    parameters = list(inspect.signature(signature_of).parameters.values())
    anything = bool(parameters) and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    if depth < 3 and isinstance(fn, torch.nn.Module) and anything:
        for part in fn.children():
            return parameters_of(part, part.forward, depth + 1)
    return signature_of, parameters


def _largest(state: trial.State) -> int:
    """Elements of the largest tensor."""
    return max((math.prod(changes.spec(state, p)["shape"]) for p in changes.places(state)), default=0)
