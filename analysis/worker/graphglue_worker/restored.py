"""State of torch modules that a file makes once: the same instance serves every call that a verification makes, where otherwise each has one of
its own.

What one call leaves behind would be there in all that follow: a NaN in an average, a mode, half of an update that ends in an exception.  So before
each call they are as they were: what they hold, small tensors element by element, gradients, modes.  What is changed inside a list or in
large tensors stays changed (`observe.again` makes the same calls, then).
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.parameter import is_lazy

MOST_ELEMENTS = 1 << 16  # of a tensor whose elements are kept
_TABLES = ("_parameters", "_buffers", "_modules")


class State:
    """What modules hold, and how to give it back to them."""

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        parts = {id(p): p for module in modules for p in module.modules() if _is_plain(p)}.values()
        self._held = [(part, dict(vars(part)), [dict(vars(part)[name]) for name in _TABLES]) for part in parts]
        tensors = {id(t): t for part in parts for t in tensors_of(part).values()}.values()
        self._tensors = [
            (t, t.grad if t.is_leaf else None, t.detach(), t.detach().clone() if t.numel() <= MOST_ELEMENTS else None)
            for t in tensors
            if t.layout == torch.strided and type(t) in (torch.Tensor, torch.nn.Parameter)
        ]

    def restore(self) -> None:
        """Let them hold it again."""
        for part, values, tables in self._held:
            for name, table in zip(_TABLES, tables, strict=True):
                _replace(values[name], table)
            _replace(vars(part), values)
        with torch.no_grad():
            for t, grad, memory, elements in self._tensors:
                if t.data_ptr() != memory.data_ptr() or (t.dtype, t.shape) != (memory.dtype, memory.shape):
                    t.data = memory  # it was given another dtype, or other elements
                if elements is not None:
                    t.data.copy_(elements)
                if t.is_leaf and t.grad is not grad:
                    t.grad = grad


def tensors_of(part: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Its own parameters and buffers that are there, by name."""
    own = (*part._parameters.items(), *part._buffers.items())
    return {name: t for name, t in own if t is not None and not is_lazy(t)}


def _is_plain(part: torch.nn.Module) -> bool:
    """Not so: what TorchScript holds, and what has no parameters yet."""
    if not all(isinstance(vars(part).get(name), dict) for name in _TABLES):
        return False
    return not any(map(is_lazy, (*part._parameters.values(), *part._buffers.values())))


def _replace(now: dict[str, Any], was: dict[str, Any]) -> None:
    if now.keys() != was.keys() or any(now[name] is not was[name] for name in was):
        now.clear()
        now.update(was)
