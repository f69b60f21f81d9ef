"""Entries of a file: callables with example inputs.

Forms, the first that is found: ``graphglue_inputs()``; ``TESTCASES``; ``Model`` + ``get_init_inputs()`` + ``get_inputs()``; recorded; deduced.
"""

import ast
import contextlib
import importlib.util
import inspect
import os
import random
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphglue_worker import devices, overlay, positions

Place = dict[str, "int | None"]

if TYPE_CHECKING:
    from graphglue_worker import sources


class ImportFailure(Exception):
    """The file could not be imported, or its inputs are malformed; the text says so in plain words.

    `place`, where it is known: `line`, `end_line` (1-based), `col`, `end_col` (UTF-8 bytes, or None) in the file itself."""

    def __init__(self, words: str, place: "Place | None" = None) -> None:
        super().__init__(words)
        self.place = place

    @property
    def with_line(self) -> str:
        """The words, for where a place alone cannot be shown."""
        return f"{self} (line {self.place['line']})" if self.place else str(self)


@dataclass
class Call:
    """A callable built freshly with its arguments, in the mode it is to run in.  `notes`: what a person must know of them.  `under`: a
    context to call it in."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grad: bool
    notes: list[str] = field(default_factory=list)
    under: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext


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
    grad: bool = False  # it runs with gradients though nothing asks for them (modes.py)

    def build(self, seed: int) -> Call:
        """The call, built anew, with parameters that have their shapes, in the entry's mode.  Raises what user code raises."""
        from graphglue_worker import modes, uninitialised

        assert self.make is not None
        call = self.make(seed)
        uninitialised.initialise(call)
        if self.grad and not call.grad:
            call.grad = True
            call.notes = [*call.notes, modes.NOTE]
        return call


def seed_all(seed: int) -> None:
    """Seed torch, random and, when it is imported, numpy."""
    import torch

    if devices.none_but_processor():
        torch.default_generator.manual_seed(seed)  # for each other kind torch.manual_seed takes down a stack, for later
    else:
        torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def load(
    path: str,
    train: bool = False,
    plans: dict[str, Any] | None = None,
    fixed: bool = False,
    known: dict[str, bool] | None = None,
) -> list[Entry]:
    """Import the file (through the overlay) and list its entries.  Raises ImportFailure.

    `plans`: deduced inputs by entry name, those known before; what is found is added.
    `fixed`: no others are looked for, and every run builds its own.
    `known`: which entries run with gradients though nothing asks for them.
    """
    module = import_file(path)
    from graphglue_worker import given

    try:
        entries = given.entries(module, train, again=fixed)
    except ImportFailure as e:
        path = os.path.abspath(path)
        e.place = e.place or _binding(path, given.names(module))
        raise
    if entries is None:
        entries = not_given(module, train, {} if plans is None else plans, fixed)
    for entry in _number(entries):
        entry.grad = bool(known and known.get(entry.name))
    return entries


def not_given(module: ModuleType, train: bool, plans: dict[str, Any], fixed: bool = False) -> list[Entry]:
    """Entries whose inputs the file does not give: recorded, and for the rest deduced."""
    from graphglue_worker import deduced, recorded

    entries = recorded.entries(module, train)
    known = {e.name for e in entries} | {e.cls for e in entries}
    return entries + [e for e in deduced.entries(module, train, plans, fixed) if e.name not in known]


def gives_inputs(path: str, text: str | None = None) -> bool:
    """Does the file, by its text, say its inputs itself?  Raises as `overlay.read` does.  `text`: instead of the file's."""
    names = set(_bound(ast.parse(overlay.read(path) if text is None else text).body))
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
    if not name.isidentifier():  # "my.net" would be a module of a package
        name = "graphglue_file_" + re.sub(r"\W", "_", name)
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
    except UnicodeDecodeError as e:
        raise ImportFailure(f"{os.path.basename(path)} cannot be decoded: {e}") from e
    except SystemExit as e:
        raise ImportFailure(f"importing the file called sys.exit({safe_repr(e.code)})", place_in(path, e)) from e
    except Exception as e:
        own = isinstance(e, SyntaxError) and e.filename == path
        words = (
            f"{type(e).__name__}: {e.msg}"
            if own
            else devices.headed(f"importing the file failed: {_describe(e, path)}")
        )
        raise ImportFailure(words, place_in(path, e)) from e


def place_in(path: str, error: BaseException | None) -> Place | None:
    """Where in a file an exception comes from; None when it does not."""
    if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
        line = error.text or ""
        start, end = error.offset or 0, error.end_offset or 0
        end = end if error.end_lineno == error.lineno and end > start else 0
        col, end_col = (len(line[: n - 1].encode()) if n > 0 else None for n in (start, end))
        return {
            "line": error.lineno,
            "end_line": error.lineno,
            "col": col,
            "end_col": end_col if end_col != col else None,
        }
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    for frame in reversed(frames):
        if frame.filename == path and frame.lineno:
            ends = {name: getattr(frame, name, None) for name in ("end_lineno", "colno", "end_colno")}
            return {
                "line": frame.lineno, "end_line": ends["end_lineno"], "col": ends["colno"], "end_col": ends["end_colno"],
            }  # fmt: skip
    return None


def _binding(path: str, names: tuple[str, ...]) -> Place | None:
    """Where a file binds the first of some names that it binds at its top."""
    for node in ast.parse(overlay.read(path)).body:
        if set(_bound([node])) & set(names):
            return {"line": node.lineno, "end_line": node.lineno, "col": node.col_offset, "end_col": None}
    return None


def safe_repr(value: Any) -> str:
    """The repr of an object of the user's, whose own may fail."""
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001
        return f"<{type(value).__qualname__}>"


def _describe(e: BaseException, at: str | None = None) -> str:
    """``TypeError: … (file.py line 3)`` with the innermost frame of the workspace, else of a library, else outside this package.

    Without the place, when that is in the file `at`."""
    if isinstance(e, SyntaxError) and e.filename and e.lineno:
        where = f" ({os.path.basename(e.filename)} line {e.lineno})" if e.filename != at else ""
        return f"{type(e).__name__}: {e.msg}{where}"
    text = "".join(traceback.format_exception_only(type(e), e)).strip()
    here = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(e.__traceback__) if not f.filename.startswith((here, "<frozen"))]
    for origin in ("workspace", "library"):
        frames = [f for f in frames if positions.origin(f.filename) == origin] or frames
    if not frames or frames[-1].filename == at:
        return text
    return f"{text} ({os.path.basename(frames[-1].filename)} line {frames[-1].lineno})"


def qualified_name(fn: Any) -> str:
    """The name a callable has in its module, or that of its class."""
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def where(obj: Any) -> tuple[str | None, str | None, int | None]:
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
        return inspect.getsourcefile(target), inspect.findsource(target)[1] + 1
    except (OSError, TypeError):
        return None, None


def in_mode(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], train: bool, as_yielded: bool) -> Call:
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


def as_yielded(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call that an item of ``graphglue_inputs()`` stands for."""
    return in_mode(fn, args, kwargs, False, as_yielded=True)


def _number(entries: list[Entry]) -> list[Entry]:
    """Equal names are numbered from #1; a single one is not."""
    totals = Counter(e.name for e in entries)
    seen: Counter[str] = Counter()
    for e in entries:
        if totals[e.name] > 1:
            seen[e.name] += 1
            e.name = f"{e.name}#{seen[e.name]}"
    return entries
