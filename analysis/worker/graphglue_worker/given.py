"""Inputs that a file gives itself: ``graphglue_inputs()``, ``TESTCASES``, or ``Model`` with ``get_init_inputs()`` and ``get_inputs()``.

What is malformed is said in one sentence: what is wanted, and what was found.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from graphglue_worker import devices, forks
from graphglue_worker.inputs import (
    Call,
    Entry,
    ImportFailure,
    Place,
    _describe,
    in_mode,
    place_in,
    qualified_name,
    seed_all,
    source_of,
    where,
)

LISTING_MS = 60_000
Item = tuple[str, Any, tuple[Any, ...], dict[str, Any]]
ITEM = "(name, callable, args, kwargs)"
CASE = "(class, init, forward) or (class, init, forward, flag)"


def entries(module: ModuleType, train: bool, again: bool = True) -> list[Entry] | None:
    """The entries of the first form that the file has; None when it has none.  Raises ImportFailure.

    `again`: each run builds what it needs anew; else a single item of ``graphglue_inputs()`` that was built to list it is used, once in each fork.
    """
    form = names(module)[:1]
    if form == ("graphglue_inputs",):
        return by_function(module, train, again)
    if form == ("TESTCASES",):
        return _from_testcases(module, train)
    return [_from_model(module, train)] if form else None


def names(module: ModuleType) -> tuple[str, ...]:
    """What the first form that the file has is known by; none when it has none."""
    forms = (("graphglue_inputs",), ("TESTCASES",), ("get_init_inputs", "get_inputs", "Model"))
    return next((form for form in forms if all(hasattr(module, name) for name in form)), ())


def _found(value: Any) -> str:
    """What a value is, in a few words."""
    if value is None:
        return "None"
    kind = type(value).__qualname__
    if isinstance(value, (tuple, list)):
        inside = ", ".join(type(v).__qualname__ for v in value[:5]) + (", …" if len(value) > 5 else "")
        return f"a {kind} of {len(value)} ({inside})" if value else f"an empty {kind}"
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if inspect.isroutine(value):
        return f"the function {qualified_name(value)}"
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}"


def _wrong(what: str, wanted: str, value: Any, hint: str = "") -> ImportFailure:
    return ImportFailure(f"{what} must be {wanted}, but is {_found(value)}{f'; {hint}' if hint else ''}")


def _no_arguments(module: ModuleType, name: str) -> Callable[[], Any]:
    """A function of the file that is called without arguments."""
    function = getattr(module, name)
    if not callable(function):
        raise _wrong(name, "a function without parameters", function)
    try:
        needed = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        needed = []
    if needed:
        raise ImportFailure(f"{name}() is called without arguments, but it asks for {', '.join(needed)}")
    return function


# ---- graphglue_inputs() --------------------------------------------------------------------------------------------------


def _items(module: ModuleType) -> Iterator[Item]:
    given = _no_arguments(module, "graphglue_inputs")()
    if not hasattr(given, "__iter__") or isinstance(given, (str, bytes, dict)) or hasattr(given, "shape"):
        raise ImportFailure(f"graphglue_inputs() must yield {ITEM}, but returns {_found(given)}")
    if isinstance(given, tuple) and len(given) == 4 and isinstance(given[0], str):
        raise ImportFailure(f"graphglue_inputs() must yield {ITEM}, but returns one such tuple: return a list of it")
    for i, item in enumerate(given):
        what = f"graphglue_inputs() item {i + 1}"
        if not (isinstance(item, (tuple, list)) and len(item) == 4):
            raise _wrong(what, ITEM, item)
        name, fn, args, kwargs = item
        if name is not None and not isinstance(name, str):
            raise _wrong(f"the name in {what}", "a string", name)
        if not callable(fn):
            raise _wrong(f"the callable in {what}", "a module or a function", fn)
        if not isinstance(args, (tuple, list)):
            raise _wrong(f"args in {what}", "a tuple of positional arguments", args, "one argument is (x,)")
        if not isinstance(kwargs, dict) or not all(isinstance(k, str) for k in kwargs):
            raise _wrong(f"kwargs in {what}", "a dict of arguments by name", kwargs, "where there are none, {}")
        yield name or qualified_name(fn), fn, tuple(args), kwargs


def by_function(module: ModuleType, train: bool, again: bool = True) -> list[Entry]:
    """Entries of a module that has ``graphglue_inputs()``; see `entries`.  Raises ImportFailure."""
    built: list[Item] = []

    def make(index: int) -> Callable[[int], Call]:
        def build(seed: int) -> Call:
            if seed == 0 and built:
                return in_mode(*built.pop()[1:], train, as_yielded=True)
            seed_all(seed)
            for i, (_, fn, args, kwargs) in enumerate(_items(module)):
                if i == index:
                    return in_mode(fn, args, kwargs, train, as_yielded=True)
            raise ImportFailure(f"graphglue_inputs() yielded fewer items on a second run (no item {index + 1})")

        return build

    # Where there is a CUDA device the items may be on it: that must not happen in the process that forks every run.
    if devices.count:
        listed = forks.run(lambda: _listing(module, []), forks.Deadline(LISTING_MS))
    else:
        listed = _listing(module, built)
    if isinstance(listed, forks.Lost):
        raise ImportFailure(f"graphglue_inputs() could not be run: {listed.message}")
    if listed.failure:
        raise ImportFailure(listed.failure, listed.place)
    if again or len(listed.items) != 1:
        built.clear()
    found = [Entry(name, "graphglue_inputs", make(i), *at) for i, (name, *at) in enumerate(listed.items)]
    if listed.missing:  # what comes behind it is not known
        file, line = source_of(module.graphglue_inputs)
        found.append(Entry("graphglue_inputs", "graphglue_inputs", _refusing(listed.missing), None, file, line))
    return found


@dataclass
class _Listing:
    """Items of graphglue_inputs(): name, class, file and line of each.  `failure`: why they cannot be used; `missing`: why there are no
    more of them, where that is a device which is not here."""

    items: list[tuple[str, str | None, str | None, int | None]] = field(default_factory=list)
    failure: str | None = None
    place: Place | None = None
    missing: str | None = None


def _listing(module: ModuleType, built: list[Item]) -> _Listing:
    """`built`: gets the last item."""
    found = _Listing()
    seed_all(0)
    try:
        for item in _items(module):
            found.items.append((item[0], *where(item[1])))
            built[:] = [item]
    except ImportFailure as e:
        found.failure = str(e)
    except Exception as e:  # noqa: BLE001 - user code
        file = getattr(module, "__file__", None) or ""
        if devices.missing(words := f"graphglue_inputs() raised {_describe(e)}"):
            found.missing = devices.headed(words)
        else:
            found.failure, found.place = f"graphglue_inputs() raised {_describe(e, file)}", place_in(file, e)
    return found


def _refusing(words: str) -> Callable[[int], Call]:
    def build(seed: int) -> Call:
        raise ImportFailure(words)

    return build


# ---- TESTCASES -----------------------------------------------------------------------------------------------------------


def _pair(what: str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not (isinstance(value, (tuple, list)) and len(value) == 2):
        raise ImportFailure(f"{what} must return (args, kwargs), but returns {_found(value)}")
    args, kwargs = value
    if not isinstance(args, (tuple, list)) or not isinstance(kwargs, dict):
        raise ImportFailure(
            f"{what} must return (args, kwargs), a list and a dict, but returns {_found(args)} and {_found(kwargs)}"
        )
    return tuple(args), kwargs


def _from_testcases(module: ModuleType, train: bool) -> list[Entry]:
    def make(what: str, cls: Any, init: Any, forward: Any) -> Callable[[int], Call]:
        def build(seed: int) -> Call:
            seed_all(seed)
            args, kwargs = _pair(f"init in {what}", init())
            fn = cls(*args, **kwargs)
            if not callable(fn):
                raise _wrong(f"what the class in {what} makes", "a module", fn)
            seed_all(seed)
            return in_mode(fn, *_pair(f"forward in {what}", forward()), train, as_yielded=False)

        return build

    cases = module.TESTCASES
    if not isinstance(cases, (list, tuple)):
        raise _wrong("TESTCASES", f"a list of {CASE}", cases)
    found = []
    for i, case in enumerate(cases):
        what = f"TESTCASES item {i + 1}"
        if not (isinstance(case, (tuple, list)) and len(case) in (3, 4)):
            raise _wrong(what, CASE, case, "is TESTCASES one case, and no list of them?" * callable(case))
        cls, init, forward = case[:3]
        if not callable(cls):
            raise _wrong(f"the class in {what}", "a module class", cls)
        for name, function, like in (("init", init, "lambda: ([], {})"), ("forward", forward, "lambda: ([x], {})")):
            if not callable(function):
                raise _wrong(f"{name} in {what}", f"a function that returns (args, kwargs), as {like}", function)
        name, (file, line) = qualified_name(cls), source_of(cls)
        found.append(Entry(name, "testcases", make(what, cls, init, forward), name, file, line))
    return found


# ---- Model ---------------------------------------------------------------------------------------------------------------


def _from_model(module: ModuleType, train: bool) -> Entry:
    make, call = (_no_arguments(module, name) for name in ("get_init_inputs", "get_inputs"))
    if not callable(module.Model) or (hasattr(module.Model, "forward") and not isinstance(module.Model, type)):
        raise _wrong("Model", "a module class", module.Model)

    def build(seed: int) -> Call:
        seed_all(seed)
        args, kwargs = _arguments("get_init_inputs()", make())
        fn = module.Model(*args, **kwargs)
        if not callable(fn):
            raise _wrong("what Model makes", "a module", fn)
        seed_all(seed)
        return in_mode(fn, *_arguments("get_inputs()", call(), both=False), train, as_yielded=False)

    name, (file, line) = qualified_name(module.Model), source_of(module.Model)
    return Entry(name, "get_inputs", build, name, file, line)


def _arguments(what: str, value: Any, both: bool = True) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as a list, a dict, or (`both`) a list and a dict."""
    if isinstance(value, dict):
        return (), value
    if isinstance(value, Iterator):
        value = list(value)
    if not isinstance(value, (list, tuple)):
        wanted = "a list of arguments, a dict of them by name" + (", or both: [list, dict]" if both else "")
        hint = "; one argument is [x]" if not both and value is not None else ""
        raise ImportFailure(f"{what} must return {wanted}, but returns {_found(value)}{hint}")
    if both and len(value) == 2 and isinstance(value[0], (list, tuple)) and isinstance(value[1], dict):
        return tuple(value[0]), value[1]
    return tuple(value), {}
