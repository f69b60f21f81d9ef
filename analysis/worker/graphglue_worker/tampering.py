"""Does code that the user did not write change what is not its own?

A candidate of a model runs in the process that measures it.  What it could be made to look right with (functions of torch, of Python or of
the worker replaced, the compiler's configuration, settings of the whole process) is remembered before its file is imported and compared
behind its calls.  What the original changes too is not held against it: `judge` compares both sides.

The sandbox (docs/sandbox.md) keeps such code from the machine; this, from the verdict.
"""

import builtins
import functools
import math
import operator
import random
import sys
import time
from types import FunctionType, ModuleType
from typing import Any

import torch

_MODULES = (builtins, functools, math, operator, random, time, torch)
_PARTS = ("nn", "nn.functional", "nn.init", "nn.utils", "autograd", "compiler", "linalg", "fft", "special", "_dynamo")
_CALLABLES = (FunctionType, type, type(len), type(torch.Tensor.add), classmethod, staticmethod, property)
_OWN = "graphglue_worker"


class Watch:
    """What was there when it was made.  Make it before the code's file is imported; `changes` may be asked in forks, too."""

    def __init__(self) -> None:
        self._spaces = {name: (space, _callables(space), set(vars(space))) for name, space in _spaces()}
        self._settings = _settings()

    def changes(self) -> set[str]:
        """Names of what is another thing now: "torch.relu", "torch._dynamo.config.suppress_errors", "torch's default dtype"."""
        found = set()
        for name, (space, before, names) in self._spaces.items():
            now = vars(space)
            found |= {f"{name}.{key}" for key, value in before.items() if now.get(key) is not value}
            if isinstance(space, type):  # modules are filled as they are used
                found |= {f"{name}.{key}" for key in now.keys() - names if not key.startswith("_abc_")}
        settings = _settings()
        return found | {key for key, value in self._settings.items() if settings.get(key) != value}


def _spaces() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [(module.__name__, module) for module in _MODULES]
    for part in _PARTS:
        space = functools.reduce(lambda at, key: getattr(at, key, None), part.split("."), torch)
        if isinstance(space, ModuleType):
            found.append((f"torch.{part}", space))
    found += [(name, module) for name, module in sorted(sys.modules.items()) if name.split(".")[0] == _OWN]
    classes = {
        id(value): (f"{name}.{key}", value)
        for name, module in found
        if name in ("torch", "torch.nn", "torch.autograd") or name.startswith(_OWN)
        for key, value in vars(module).items()
        if isinstance(value, type)
    }
    return found + list(classes.values())


def _callables(space: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(space).items() if isinstance(value, _CALLABLES)}


def _settings() -> dict[str, Any]:
    """Of the whole process: the compiler's, and those of torch that change what operations do."""
    found: dict[str, Any] = {
        "torch's default dtype": torch.get_default_dtype(),
        "torch's default device": torch.get_default_device(),
        "whether gradients are recorded": torch.is_grad_enabled(),
        "whether algorithms are deterministic": torch.are_deterministic_algorithms_enabled(),
        "the trace function": (sys.gettrace(), sys.getprofile()),
        "how deep calls may go": sys.getrecursionlimit(),
    }
    config = getattr(torch, "_dynamo").config  # noqa: B009 - loaded by the worker before
    found.update((f"torch._dynamo.config.{key}", repr(value)) for key, value in config.shallow_copy_dict().items())
    return found
