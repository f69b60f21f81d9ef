"""Lazy modules (``nn.LazyLinear`` and the like) get the shapes of their parameters before anything is compared.

The first call of a lazy module makes its parameters, and draws random numbers for them.  Under Dynamo that happens while it traces, where random
state is put back: the compiled run would have other parameters than the eager one, of the same program.  So a copy is called
once, and what reached each lazy module in it initialises the module itself, as its first call would have; nothing else of that call is kept.
"""

import contextlib
import copy
import inspect
import io
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.lazy import LazyModuleMixin

if TYPE_CHECKING:
    from graphglue_worker.inputs import Call


def initialise(call: "Call") -> None:
    """Initialise what is lazy in a call's modules; random state stays as it is.  What cannot be run is left alone: the call itself tells."""
    lazy = _lazy(call.fn)
    if not lazy:
        return
    with _same_random_state():
        try:
            fn, args, kwargs = copy.deepcopy((call.fn, call.args, call.kwargs))
        except Exception:  # noqa: BLE001 - it holds what cannot be copied
            fn, args, kwargs = call.fn, call.args, call.kwargs
        for module, arguments in _reached(lazy, fn, args, kwargs):
            if isinstance(module, LazyModuleMixin):  # the call of what could not be copied has made it an ordinary one
                with contextlib.suppress(Exception):
                    module._infer_parameters(module, *arguments)


def _reached(lazy: list[Any], fn: Any, args: Any, kwargs: Any) -> list[tuple[Any, tuple[Any, Any]]]:
    """What each lazy module is given in a call of the copy, in order of the calls."""
    found: list[tuple[Any, tuple[Any, Any]]] = []
    hooks = []
    for module, copied in zip(lazy, _lazy(fn), strict=True):

        def keep(_: Any, args: Any, kwargs: Any, module: Any = module) -> None:
            found.append((module, (args, kwargs)))

        hooks.append(copied.register_forward_pre_hook(keep, prepend=True, with_kwargs=True))
    nowhere = io.StringIO()
    with torch.no_grad(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        with contextlib.suppress(Exception, SystemExit):
            fn(*args, **kwargs)
    for hook in hooks:
        hook.remove()
    return found


def _lazy(fn: Any) -> list[Any]:
    """Lazy modules that a callable reaches: its own, those of its object, and those that a function names."""
    owner = getattr(fn, "__self__", fn)
    holders = [owner, *getattr(owner, "__dict__", {}).values()]
    with contextlib.suppress(ValueError):  # wrapped by itself; or it names what is not there yet
        function = inspect.unwrap(getattr(fn, "__func__", fn))
        if inspect.isfunction(function):  # else an error is made of its repr, which may be long, or raise
            named = inspect.getclosurevars(function)
            holders += [*named.nonlocals.values(), *named.globals.values()]
    found = {
        id(part): part
        for holder in holders
        if isinstance(holder, torch.nn.Module)
        for part in holder.modules()
        if isinstance(part, LazyModuleMixin) and part.has_uninitialized_params()
    }
    return list(found.values())


@contextlib.contextmanager
def _same_random_state() -> Iterator[None]:
    """Torch's, Python's and NumPy's as they were."""
    numpy = sys.modules.get("numpy")
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    pythons, numpys = random.getstate(), numpy.random.get_state() if numpy else None
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            random.setstate(pythons)
            if numpy and numpys is not None:
                numpy.random.set_state(numpys)
