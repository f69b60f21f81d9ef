"""Example inputs for a class or function that nobody gave any: constructor and arguments by bounded trial.

First alone: construct it from what is known, guess the arguments by their names and annotations, call, and let each failure suggest the next call.
Then in its surroundings: a class of the same file that contains it is run the same way, and what reaches the inner one is what it gets.
Nothing here knows any class by name.
"""

import contextlib
import itertools
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from graphglue_worker import modes, surroundings
from graphglue_worker.construct import Constructor, describe
from graphglue_worker.describe import Describer
from graphglue_worker.recipes import Maker, Recipe, Unmakeable
from graphglue_worker.search import Search
from graphglue_worker.unwritten import Filled

CEILING_S = 5.0
MAX_CONTAINERS = 6
MAX_WAYS = 4  # to construct a class that are tried
_ROUNDS = (8, 30, 120, 400)  # calls for each way, in turns: a wrong way shows soon
_ALONE_SHARE = 0.5  # of the time, before the surroundings are tried


@dataclass
class Plan:
    """How to make a callable and its arguments.  Plain values only."""

    fn: Recipe
    args: list[Recipe]
    kwargs: dict[str, Recipe]
    how: str  # "alone" or "inside Class"


@dataclass
class Refusal:
    """No inputs were found."""

    reason: str


class _Late(BaseException):
    """Time is up.  No Exception, so that user code does not swallow it."""


class _Reached(BaseException):
    """The inner module was called."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.module, self.given, self.named = module, args, kwargs


class Clock:
    """What is left of the time: processor time, so that what is found does not depend on what else runs.  Main thread only."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def left(self) -> float:
        return self.end - time.process_time()

    @contextlib.contextmanager
    def limit(self, share: float = 1.0) -> Iterator[None]:
        """Raises _Late when what is inside takes longer than its share of what is left.  Not to be nested."""

        def late(*_: Any) -> None:
            raise _Late

        old = signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, max(self.left() * share, 0.001))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, old)


def deduce(
    target: Any, home: types.ModuleType | None, seconds: float = CEILING_S, held: str | None = None
) -> Plan | Refusal:
    """Inputs for a module class, or for a module or function that `home` holds.  Runs user code: call it in a fork.

    `held`: the name, dotted, by which `home` holds it, where that is not its own."""
    home = home or sys.modules.get(getattr(target, "__module__", ""))
    return _Deduction(target, home, seconds, held).run()


@dataclass
class _Deduction:
    target: Any
    home: types.ModuleType | None
    seconds: float
    held: str | None = None
    reasons: list[str] = field(default_factory=list)

    def run(self) -> Plan | Refusal:
        self.clock = Clock(self.seconds)
        self.maker = Maker(self.home)
        ways: list[tuple[str, Callable[[], Plan | None], float]] = [("tried alone", self._alone, 1.0)]
        if isinstance(self.target, type) and surroundings.containers(self.target, self.home):
            ways = [("tried alone", self._alone, _ALONE_SHARE), ("tried inside other classes", self._inside, 1.0)]
        for words, way, share in ways:
            try:
                with self.clock.limit(share):
                    plan = way()
                if plan is not None:
                    return plan
            except _Late:
                self._note(f"time was up while it was {words}")
        reasons = list(dict.fromkeys(self.reasons))
        return Refusal("; ".join(reasons[:1] + reasons[1:][-2:]) or "nothing could be tried")

    def _note(self, reason: str | None) -> None:
        if reason:
            self.reasons.append(reason)

    def _alone(self) -> Plan | None:
        if not isinstance(self.target, type):
            home = self.home.__name__ if self.held and self.home else self.target.__module__
            recipe = {"global": f"{home}:{self.held or self.target.__qualname__}"}
            search = Search(self.target, getattr(self.target, "forward", self.target), self.maker)
            found = self._plan(recipe, search, "alone") if search.run(_ROUNDS[-1]) else None
            self._note(search.reason if found is None else None)
            return found
        constructor = Constructor(self.target, self.home)
        ways = itertools.islice(constructor.attempts(), MAX_WAYS)
        searches: list[tuple[Recipe, Search]] = []
        for tries in _ROUNDS:
            for i, (recipe, search) in enumerate(itertools.chain(searches, self._new(constructor, ways, searches))):
                ran = search.run(tries)
                while search.setting is not None and (more := constructor.with_setting(recipe, search.setting)):
                    recipe, search = more[0], self._search(constructor, *more)
                    searches[i] = recipe, search
                    ran = search.run(tries)
                if ran and (plan := self._checked(self._plan(recipe, search, "alone"))):
                    return plan
                self.reasons[:1] = [search.reason] if search.reason else self.reasons[:1]
        if not searches:
            self._note(
                f"it could not be constructed ({constructor.errors[-1] if constructor.errors else 'no way was found'})"
            )
        return None

    def _new(
        self, constructor: Constructor, ways: Iterator[tuple[Recipe, Any]], searches: list[tuple[Recipe, Search]]
    ) -> Iterator[tuple[Recipe, Search]]:
        for recipe, module in ways:
            searches.append((recipe, self._search(constructor, recipe, module)))
            yield searches[-1]

    def _search(self, constructor: Constructor, recipe: Recipe, module: Any) -> Search:
        return Search(module, module.forward, self.maker, constructor.settings(recipe))

    def _plan(self, fn: Recipe, search: Search, how: str) -> Plan:
        state = search.state or {}
        args = [state[n] for n in search.positional if n in state]
        return Plan(fn, args, {k: v for k, v in state.items() if k not in search.positional}, how)

    def _checked(self, plan: Plan) -> Plan | None:
        """The plan, if it also works anew."""
        try:
            call(plan, self.home)
            return plan
        except Exception as e:  # noqa: BLE001 - user code
            self._note(f"what was found does not work a second time ({describe(e)})")
            return None

    def _inside(self) -> Plan | None:
        for container in surroundings.containers(self.target, self.home)[:MAX_CONTAINERS]:
            constructor = Constructor(container, self.home)
            for recipe, module in itertools.islice(constructor.attempts(), 2):
                paths = {id(m): path for path, m in module.named_modules() if type(m) is self.target}
                if not paths:
                    self._note(f"{container.__qualname__} does not contain it")
                elif (plan := self._reach(constructor, recipe, module, paths)) is not None:
                    return plan
        return None

    def _reach(self, constructor: Constructor, recipe: Recipe, module: Any, paths: dict[int, str]) -> Plan | None:
        """Run a module until it calls one of its parts, and take what that part is given."""
        container = constructor.cls.__qualname__

        def reached(inner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            raise _Reached(inner, args, kwargs)

        handles = [m.register_forward_pre_hook(reached, with_kwargs=True) for m in module.modules() if id(m) in paths]
        try:
            search = self._search(constructor, recipe, module)
            ran = search.run(_ROUNDS[1])
            self._note(f"{container} does not call it" if ran else f"{container} could not be run ({search.reason})")
            return None
        except _Reached as e:
            describer = Describer(home=self.home)
            try:
                args = [describer.describe(a) for a in e.given]
                kwargs = {k: describer.describe(v, k) for k, v in e.named.items()}
            except (Unmakeable, ValueError) as error:
                self._note(f"{container} gives it something that cannot be described ({error})")
                return None
            plan = Plan({"attr": paths[id(e.module)], "of": recipe}, args, kwargs, f"inside {container}")
        finally:
            for handle in handles:
                handle.remove()
        return self._checked(plan)


def make(plan: Plan, home: types.ModuleType | None, seed: int) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """The callable, in eval mode, and its arguments, made anew."""
    from graphglue_worker.inputs import seed_all

    maker = Maker(home)
    seed_all(seed)
    with Filled(seed):
        fn = maker.make(plan.fn)
    if isinstance(fn, torch.nn.Module):
        fn.eval()
    seed_all(seed)
    return fn, [maker.make(a) for a in plan.args], {k: maker.make(v) for k, v in plan.kwargs.items()}


def call(plan: Plan, home: types.ModuleType) -> None:
    """Make both and call it, with gradients where it takes some itself.  Raises what that raises."""
    for grad in (False, True):
        fn, args, kwargs = make(plan, home, 0)
        try:
            with torch.set_grad_enabled(grad):
                fn(*args, **kwargs)
            return
        except RuntimeError as e:
            if grad or not modes.raised(e):
                raise
