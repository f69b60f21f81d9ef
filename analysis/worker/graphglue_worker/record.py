"""Keeps example inputs of modules and compiled functions while the user's own program runs (`graphglue-lsp record -- python train.py`).

Runs inside that program, so it changes as little as it can: `nn.Module.__call__` and `__init__` look at what passes, `torch.compile`
gives back a function that runs uncompiled.  Whatever goes wrong here is noted and never reaches the program.

What is kept, below the folder $GRAPHGLUE_RECORD, one file per module class or function: how the module was made (the arguments of its
outermost `__init__`), the device and dtype of its parameters and buffers (not their values), and up to MAX_SETS calls that differ in
structure, shapes, dtypes or plain values.
Classes of the user's own files are always kept; those of a library, when the user's code calls them and no other recorded call is
under way.  Elements of tensors are kept up to $GRAPHGLUE_RECORD_VALUES: "small" (at most SMALL of them), "all", "none".
"""

import functools
import hashlib
import json
import os
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from graphglue_worker import values

VERSION = 1
MAX_SETS = 4
MAX_ENTRIES = 500
SMALL = 1024  # elements
SMALL_TEXT = 200  # characters
_STDLIB = tuple(os.path.realpath(sysconfig.get_path(n)) + os.sep for n in ("stdlib", "platstdlib"))
_TORCH = os.path.dirname(os.path.realpath(torch.__file__)) + os.sep
_OURS = os.path.dirname(os.path.realpath(__file__)) + os.sep


class Target:
    """One module class or function of which calls are kept."""

    def __init__(self, reference: values.Json, owner: str) -> None:
        self.reference, self.owner = reference, owner
        self.sets: list[dict[str, Any]] = []
        self.tensors: dict[str, torch.Tensor] = {}
        self.signatures: set[str] = set()
        self.problem: str | None = None


class Recorder:
    """All that was seen in this process."""

    def __init__(self, folder: str, kept: str) -> None:
        self.folder, self.kept = folder, kept
        self.made: weakref.WeakKeyDictionary[Any, values.Json | str] = weakref.WeakKeyDictionary()
        self.targets: dict[tuple[str, str], Target] = {}
        self.inside = threading.local()
        self.origins: dict[str, str] = {}

    # -- how modules are made

    def on_init(self, module: torch.nn.Module) -> None:
        """Called from nn.Module.__init__: keeps the arguments of the outermost __init__ of this object."""
        frame, outermost = sys._getframe(2), None
        while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get(_first(frame)) is module:
            outermost, frame = frame, frame.f_back
        try:
            args, kwargs = values.arguments_of(outermost) if outermost is not None else ([], {})
            keeper = self._keeper()
            made = {
                "class": values.reference(type(module)),
                "args": keeper.items(args, 1),
                "kwargs": keeper.named(kwargs, 1),
            }
            if keeper.tensors:
                raise values.CannotKeep("tensors among the arguments of its constructor")
            self.made[module] = made
        except values.CannotKeep as e:
            self.made[module] = str(e)
        except Exception as e:  # noqa: BLE001 - the program must not notice
            self.made[module] = f"{type(e).__name__}: {e}"

    def _keeper(self) -> values.Keeper:
        def keep(t: torch.Tensor) -> bool:
            return self.kept == "all" or (self.kept == "small" and t.numel() <= SMALL)

        def module_of(module: Any) -> values.Json | None:
            made = self.made.get(module)
            return made if isinstance(made, dict) else None

        return values.Keeper(keep, SMALL_TEXT if self.kept != "all" else 1 << 20, module_of)

    # -- calls

    def on_call(self, fn: Any, args: "tuple[Any, ...]", kwargs: "dict[str, Any]", method: str | None = None) -> bool:
        """Keep this call if it is wanted.  True: it is one that is kept, and calls below it of library modules are not."""
        try:
            owner = self._owner(fn)
            if owner is None:
                return False
            self._keep(fn, owner, args, kwargs, method)
            return True
        except Exception as e:  # noqa: BLE001 - the program must not notice
            print(f"graphglue record: {type(fn).__name__}: {type(e).__name__}: {e}", file=sys.stderr)
            return False

    def _owner(self, fn: Any) -> str | None:
        """The user's file that this call belongs to; None: it is not kept."""
        target = type(fn) if isinstance(fn, torch.nn.Module) else fn
        file = getattr(sys.modules.get(getattr(target, "__module__", "")), "__file__", None)
        if file and self._origin(file) == "user":
            return os.path.abspath(file)
        if getattr(self.inside, "kept", 0):
            return None
        frame: types.FrameType | None = sys._getframe(3)
        while frame is not None:
            if self._origin(frame.f_code.co_filename) == "user":
                return os.path.abspath(frame.f_code.co_filename)
            frame = frame.f_back
        return None

    def _origin(self, path: str) -> str:
        known = self.origins.get(path)
        if known is None:
            real = os.path.realpath(path)
            inside = f"{os.sep}site-packages{os.sep}" in real or f"{os.sep}dist-packages{os.sep}" in real
            library = (
                inside or path.startswith("<") or real.startswith((_TORCH, _OURS, *_STDLIB)) or not real.endswith(".py")
            )
            known = self.origins[path] = "library" if library else "user"
        return known

    def _keep(self, fn: Any, owner: str, args: Any, kwargs: Any, method: str | None) -> None:
        is_module = isinstance(fn, torch.nn.Module)
        reference = values.reference(type(fn) if is_module else fn)
        key = (owner, f"{reference['module']}:{reference['name']}:{method or ''}")
        target = self.targets.get(key)
        if target is None:
            if len(self.targets) >= MAX_ENTRIES:
                return
            target = self.targets[key] = Target(reference, owner)
        if len(target.sets) >= MAX_SETS:
            return
        made = self.made.get(fn) if is_module else None
        signature = f"{_shape_of(args)}{_shape_of(kwargs)}{getattr(fn, 'training', '')}{made}"
        if signature in target.signatures:
            return
        target.signatures.add(signature)
        keeper = self._keeper()
        try:
            if is_module and not isinstance(made, dict):
                raise values.CannotKeep(made or "a module whose construction was not seen")
            call: dict[str, Any] = {
                "args": keeper.items(args, 1),
                "kwargs": keeper.named(kwargs, 1),
                "grad": torch.is_grad_enabled(),
            }
        except values.CannotKeep as e:
            target.problem = f"it has {e}" if not isinstance(made, str) else f"it was made with {made}"
            self._write(key, target)
            return
        if is_module:
            call.update(made=made, training=fn.training, method=method, placed=values.placed(fn))
        number = len(target.sets)
        call["tensors"] = {name: f"{number}.{name}" for name in keeper.tensors}
        target.tensors.update({f"{number}.{name}": t for name, t in keeper.tensors.items()})
        target.sets.append(call)
        self._write(key, target)

    def _write(self, key: "tuple[str, str]", target: Target) -> None:
        """At once, since a program may end in any way; other processes of the same program may write the same file."""
        os.makedirs(self.folder, exist_ok=True)
        name = target.reference["name"] + "-" + hashlib.sha256("\n".join(key).encode()).hexdigest()[:12]
        document = {
            "version": VERSION,
            "target": target.reference,
            "owner": target.owner,
            "problem": target.problem,
            "sets": target.sets,
        }
        if target.tensors:
            _replace(os.path.join(self.folder, name + ".pt"), lambda path: torch.save(target.tensors, path))
        _replace(os.path.join(self.folder, name + ".json"), lambda path: _dump(document, path))


def _dump(document: values.Json, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)


def _replace(path: str, write: Callable[[str], Any]) -> None:
    scratch = f"{path}.{os.getpid()}"
    write(scratch)
    os.replace(scratch, path)


def _first(frame: types.FrameType) -> str:
    return frame.f_code.co_varnames[0] if frame.f_code.co_argcount else ""


def _shape_of(value: Any, depth: int = 0) -> str:
    """A call's structure: what makes two calls different inputs."""
    if isinstance(value, torch.Tensor):
        return f"T{tuple(value.shape)}{value.dtype}{value.device}{value.requires_grad}"
    if depth < values.MAX_DEPTH and isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{','.join(_shape_of(v, depth + 1) for v in value)}]"
    if depth < values.MAX_DEPTH and isinstance(value, dict):
        return f"{type(value).__name__}{{{','.join(f'{k}:{_shape_of(v, depth + 1)}' for k, v in value.items())}}}"
    if isinstance(value, (bool, int, str, type(None))):
        return repr(value)[:200]
    return type(value).__name__


def _busy() -> bool:
    """A trace or export is under way: what passes is not data."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing() or torch.jit.is_scripting()


def start() -> None:
    """Patch torch in this process.  Called once, when its import is over."""
    recorder = Recorder(os.environ["GRAPHGLUE_RECORD"], os.environ.get("GRAPHGLUE_RECORD_VALUES", "small"))
    module_init, module_call = torch.nn.Module.__init__, torch.nn.Module.__call__

    @functools.wraps(module_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        recorder.on_init(self)
        module_init(self, *args, **kwargs)

    @functools.wraps(module_call)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _called(recorder, self, functools.partial(module_call, self), args, kwargs)

    def compile(model: Any = None, **options: Any) -> Any:
        if model is None:
            return functools.partial(compile, **options)
        if isinstance(model, torch.nn.Module):
            return model  # its calls are seen anyway

        @functools.wraps(model)
        def uncompiled(*args: Any, **kwargs: Any) -> Any:
            owner = getattr(model, "__self__", None)
            if isinstance(owner, torch.nn.Module):
                return _called(recorder, owner, model, args, kwargs, model.__name__)
            return _called(recorder, model, model, args, kwargs)

        return uncompiled

    torch.nn.Module.__init__ = __init__  # type: ignore[method-assign]
    torch.nn.Module.__call__ = __call__  # type: ignore[method-assign]
    torch.nn.Module.compile = lambda self, *a, **k: None  # type: ignore[method-assign]
    torch.compile = compile


def _called(
    recorder: Recorder, fn: Any, call: Callable[..., Any], args: Any, kwargs: Any, method: str | None = None
) -> Any:
    if _busy() or not recorder.on_call(fn, args, kwargs, method):
        return call(*args, **kwargs)
    inside = recorder.inside
    inside.kept = getattr(inside, "kept", 0) + 1
    try:
        return call(*args, **kwargs)
    finally:
        inside.kept -= 1
