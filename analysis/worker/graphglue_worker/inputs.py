"""Entries of a file: callables with example inputs.

Forms, the first that is found: ``graphglue_inputs()``; ``TESTCASES``; ``Model`` + ``get_init_inputs()`` + ``get_inputs()``; recorded; deduced.
"""

import ast
import importlib.util
import inspect
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphglue_worker import devices, forks, overlay, positions

LISTING_MS = 60_000

if TYPE_CHECKING:
    from graphglue_worker import sources


class ImportFailure(Exception):
    """The file could not be imported, or its inputs are malformed; the text says so in plain words."""


@dataclass
class Call:
    """A callable built freshly with its arguments, in the mode it is to run in.  `notes`: what a person must know of them."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grad: bool
    notes: list[str] = field(default_factory=list)


@dataclass
class Entry:
    """A callable that can be captured.  `make(seed)` builds everything anew; None when there are no inputs.

    `prepare`, where there is one, is called first: it looks for the inputs, which takes time, and sets the rest.
    """

    name: str
    inputs: str
    make: Callable[[int], Call] | None
    cls: str | None = None
    file: str | None = None
    line: int | None = None
    message: str | None = None
    reason: str | None = None  # why there are no inputs, for those that could not be deduced
    prepare: Callable[[], None] | None = None
    given: "Callable[[], sources.Given] | None" = (
        None  # what it is called with, to be written as code; may raise Unwritable
    )

    def build(self, seed: int) -> Call:
        """The call, built anew, with parameters that have their shapes.  Raises what user code raises."""
        from graphglue_worker import uninitialised

        assert self.make is not None
        call = self.make(seed)
        uninitialised.initialise(call)
        return call


def seed_all(seed: int) -> None:
    """Seed torch, random and, when it is imported, numpy."""
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def load(path: str, train: bool = False, plans: dict[str, Any] | None = None, fixed: bool = False) -> list[Entry]:
    """Import the file (through the overlay) and list its entries.  Raises ImportFailure.

    `plans`: deduced inputs by entry name, those known before; what is found is added.  `fixed`: no other ones are looked for.
    """
    module = import_file(path)
    if hasattr(module, "graphglue_inputs"):
        entries = _from_function(module, train)
    elif hasattr(module, "TESTCASES"):
        entries = _from_testcases(module, train)
    elif all(hasattr(module, n) for n in ("Model", "get_init_inputs", "get_inputs")):
        entries = [_from_model(module, train)]
    else:
        entries = not_given(module, train, {} if plans is None else plans, fixed)
    return _number(entries)


def not_given(module: ModuleType, train: bool, plans: dict[str, Any], fixed: bool = False) -> list[Entry]:
    """Entries whose inputs the file does not give: recorded, and for the rest deduced."""
    from graphglue_worker import deduced, recorded

    entries = recorded.entries(module, train)
    known = {e.name for e in entries} | {e.cls for e in entries}
    return entries + [e for e in deduced.entries(module, train, plans, fixed) if e.name not in known]


def gives_inputs(path: str) -> bool:
    """Does the file, by its text, say its inputs itself?  Raises as `overlay.read` does."""
    names = set(_bound(ast.parse(overlay.read(path)).body))
    return bool(names & {"graphglue_inputs", "TESTCASES"}) or names >= {"Model", "get_init_inputs", "get_inputs"}


def _bound(statements: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind at their own level."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (a.asname or a.name for a in node.names)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _bound([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)])
        else:
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def import_file(path: str) -> ModuleType:
    """Import a file with its folder first on sys.path, under a name that is not ``__main__``."""
    path = os.path.abspath(path)
    folder, file = os.path.split(path)
    name = os.path.splitext(file)[0]
    root = folder
    while os.path.exists(os.path.join(root, "__init__.py")) and name != "__init__":
        root, package = os.path.split(root)
        name = f"{package}.{name}"
    for place in dict.fromkeys((root, folder)):
        sys.path.insert(0, place)
    if root != folder:  # inside a package: its own name, so that relative imports work
        sys.path.remove(root)
        sys.path.insert(0, root)
        sys.path.remove(folder)
    if name in sys.modules or not name.replace(".", "_").isidentifier() or name == "__main__":
        name = f"graphglue_file_{name.replace('.', '_').replace('-', '_')}"
    try:
        text = overlay.read(path)
        code = compile(text, path, "exec", dont_inherit=True)
        if "." in name:
            importlib.import_module(name.rpartition(".")[0])
        spec = importlib.util.spec_from_file_location(name, path, loader=overlay._Loader(name, path))
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        overlay.remember(path, text)
        exec(code, module.__dict__)
        return module
    except SyntaxError as e:
        raise ImportFailure(f"{os.path.basename(path)} line {e.lineno}: {type(e).__name__}: {e.msg}") from e
    except UnicodeDecodeError as e:
        raise ImportFailure(f"{os.path.basename(path)} cannot be decoded: {e}") from e
    except SystemExit as e:
        raise ImportFailure(f"importing the file called sys.exit({safe_repr(e.code)})") from e
    except Exception as e:
        raise ImportFailure(devices.headed(f"importing the file failed: {_describe(e)}")) from e


def safe_repr(value: Any) -> str:
    """The repr of an object of the user's, whose own may fail."""
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001
        return f"<{type(value).__qualname__}>"


def _describe(e: BaseException) -> str:
    """``TypeError: … (file.py line 3)`` with the innermost frame of the workspace, else of a library, else outside this package."""
    text = "".join(traceback.format_exception_only(type(e), e)).strip()
    here = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith((here, "<frozen"))]
    for origin in ("workspace", "library"):
        frames = [f for f in frames if positions.origin(f.filename) == origin] or frames
    return f"{text} ({os.path.basename(frames[-1].filename)} line {frames[-1].lineno})" if frames else text


def _where(obj: Any) -> tuple[str | None, str | None, int | None]:
    """(class name, file, 1-based line) of what defines a callable."""
    import torch

    target = obj
    if isinstance(obj, torch.nn.Module):
        target = type(obj)
    elif inspect.ismethod(obj):
        owner = obj.__self__
        target = obj.__func__
        return type(owner).__qualname__, *source_of(target)
    cls = target.__qualname__ if isinstance(target, type) else None
    return cls, *source_of(target)


def source_of(target: Any) -> tuple[str | None, int | None]:
    try:
        target = inspect.unwrap(target) if not isinstance(target, type) else target
        return inspect.getsourcefile(target), inspect.getsourcelines(target)[1]
    except (OSError, TypeError):
        return None, None


def _mode(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], train: bool, as_yielded: bool) -> Call:
    import torch
    from torch.utils import _pytree

    owner = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    grad = train
    if isinstance(owner, torch.nn.Module) and (train or not as_yielded):
        owner.train(train)
    if as_yielded and not train:
        leaves = _pytree.tree_leaves((args, kwargs))
        grad = any(isinstance(x, torch.Tensor) and x.requires_grad for x in leaves)
    return Call(fn, tuple(args), dict(kwargs), grad)


def _items(module: ModuleType) -> Iterator[tuple[str, Any, tuple[Any, ...], dict[str, Any]]]:
    for i, item in enumerate(module.graphglue_inputs()):
        if not (isinstance(item, (tuple, list)) and len(item) == 4):
            raise ImportFailure(
                f"graphglue_inputs() item {i + 1} must be (name, callable, args, kwargs), not {type(item).__name__}"
            )
        name, fn, args, kwargs = item
        if not callable(fn) or not isinstance(args, (tuple, list)) or not isinstance(kwargs, dict):
            raise ImportFailure(f"graphglue_inputs() item {i + 1}: want (name, callable, args tuple, kwargs dict)")
        yield name, fn, tuple(args), kwargs


def as_yielded(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call that an item of ``graphglue_inputs()`` stands for."""
    return _mode(fn, args, kwargs, False, as_yielded=True)


def given_by_function(module: ModuleType) -> list[Entry]:
    """Entries of a module that has ``graphglue_inputs()``.  Raises ImportFailure."""
    return _from_function(module, False)


@dataclass
class _Listing:
    """Items of graphglue_inputs(): name, class, file and line of each.  `failure`: why they cannot be used; `missing`: why there are no
    more of them, where that is a device which is not here."""

    items: list[tuple[str, str | None, str | None, int | None]] = field(default_factory=list)
    failure: str | None = None
    missing: str | None = None


def _listing(module: ModuleType) -> _Listing:
    found = _Listing()
    seed_all(0)
    try:
        for name, fn, _, _ in _items(module):
            found.items.append((str(name or qualified_name(fn)), *_where(fn)))
    except ImportFailure as e:
        found.failure = str(e)
    except Exception as e:  # noqa: BLE001 - user code
        words = f"graphglue_inputs() raised {_describe(e)}"
        if devices.missing(words):
            found.missing = devices.headed(words)
        else:
            found.failure = words
    return found


def _from_function(module: ModuleType, train: bool) -> list[Entry]:
    def make(index: int) -> Callable[[int], Call]:
        def build(seed: int) -> Call:
            seed_all(seed)
            for i, (_, fn, args, kwargs) in enumerate(_items(module)):
                if i == index:
                    return _mode(fn, args, kwargs, train, as_yielded=True)
            raise ImportFailure(f"graphglue_inputs() yielded fewer items on a second run (no item {index + 1})")

        return build

    # Where there is a CUDA device the items may be on it: that must not happen in the process that forks every run.
    found = forks.run(lambda: _listing(module), forks.Deadline(LISTING_MS)) if devices.count else _listing(module)
    if isinstance(found, forks.Lost):
        raise ImportFailure(f"graphglue_inputs() could not be run: {found.message}")
    if found.failure:
        raise ImportFailure(found.failure)
    entries = [
        Entry(name, "graphglue_inputs", make(i), cls, file, line)
        for i, (name, cls, file, line) in enumerate(found.items)
    ]
    if found.missing:  # what comes behind it is not known
        file, line = source_of(module.graphglue_inputs)
        entries.append(Entry("graphglue_inputs", "graphglue_inputs", _refusing(found.missing), None, file, line))
    return entries


def _refusing(words: str) -> Callable[[int], Call]:
    def build(seed: int) -> Call:
        raise ImportFailure(words)

    return build


def qualified_name(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def _from_testcases(module: ModuleType, train: bool) -> list[Entry]:
    def make(cls: Any, init: Any, forward: Any) -> Callable[[int], Call]:
        def build(seed: int) -> Call:
            seed_all(seed)
            args, kwargs = init()
            fn = cls(*args, **kwargs)
            seed_all(seed)
            args, kwargs = forward()
            return _mode(fn, args, kwargs, train, as_yielded=False)

        return build

    entries = []
    for i, case in enumerate(module.TESTCASES):
        if not (isinstance(case, (tuple, list)) and len(case) in (3, 4) and all(callable(c) for c in case[:3])):
            raise ImportFailure(
                f"TESTCASES item {i + 1} must be (class, init, forward) or (class, init, forward, flag)"
            )
        cls, init, forward = case[:3]
        _, file, line = (None, *source_of(cls))
        entries.append(
            Entry(qualified_name(cls), "testcases", make(cls, init, forward), qualified_name(cls), file, line)
        )
    return entries


def _from_model(module: ModuleType, train: bool) -> Entry:
    def build(seed: int) -> Call:
        seed_all(seed)
        init = module.get_init_inputs()
        if (
            isinstance(init, (list, tuple))
            and len(init) == 2
            and isinstance(init[0], (list, tuple))
            and isinstance(init[1], dict)
        ):
            fn = module.Model(*init[0], **init[1])
        else:
            fn = module.Model(**init) if isinstance(init, dict) else module.Model(*init)
        seed_all(seed)
        given = module.get_inputs()
        args, kwargs = ((), given) if isinstance(given, dict) else (tuple(given), {})
        return _mode(fn, args, kwargs, train, as_yielded=False)

    file, line = source_of(module.Model)
    return Entry(qualified_name(module.Model), "get_inputs", build, qualified_name(module.Model), file, line)


def _number(entries: list[Entry]) -> list[Entry]:
    """Equal names are numbered from #1; a single one is not."""
    totals = Counter(e.name for e in entries)
    seen: Counter[str] = Counter()
    for e in entries:
        if totals[e.name] > 1:
            seen[e.name] += 1
            e.name = f"{e.name}#{seen[e.name]}"
    return entries
