"""Which entries run with gradients though no input asks for them.

An entry runs without, unless an input requires them (`inputs.in_mode`), as models mostly do when they are used.  What takes gradients itself, of an
energy for the forces, as a penalty, for a step of an inner loop, raises then, and works in the program that calls it.  Such an entry runs with
them, from its capture to the last input set of a verification, on both sides: `Entry.grad`, which `Entry.build` gives to each call.

A capture finds out anew each time, from the error of the run without the compiler; what it found is told to later jobs of the file.
"""

import contextlib
import re
from typing import TYPE_CHECKING, Any

import torch

from graphglue_worker import forks

if TYPE_CHECKING:
    from graphglue_worker.inputs import Call, Entry

Modes = dict[str, bool]  # by entry name: does it run with gradients?
NOTE = "run with gradients, since it takes some itself"
_LACKS = re.compile(
    r"RuntimeError: (element \d+ of tensors does not require grad and does not have a grad_fn"
    r"|One of the differentiated Tensors does not require grad"
    r"|cannot register a hook on a tensor that doesn't require gradient"
    r"|can't retain_grad on Tensor that has requires_grad=False)"
)


def lacks(error: str | None) -> bool:
    """Does an error, by its type and text, come of tensors that have no gradients?"""
    return bool(error and _LACKS.search(error))


def raised(error: BaseException) -> bool:
    """The same of an exception."""
    return lacks(f"{type(error).__name__}: {error}")


def grad_mode(call: "Call") -> contextlib.AbstractContextManager[Any]:
    """No gradients unless the call wants them."""
    return contextlib.nullcontext() if call.grad else torch.no_grad()


def wants(entry: "Entry", error: str | None, deadline: forks.Deadline) -> bool:
    """Of an entry whose run without the compiler raised `error`: is that for want of gradients, and is there no such error with them?  It runs with
    them from now on, then."""
    if entry.grad or not lacks(error):
        return False
    entry.grad = True
    found = forks.run(lambda: _error(entry), deadline, quiet=True)
    entry.grad = not isinstance(found, forks.Lost) and not lacks(found)
    return entry.grad


def settle(entry: "Entry", deadline: forks.Deadline) -> bool:
    """The same of one that nobody has run yet."""
    found = forks.run(lambda: _error(entry), deadline, quiet=True)
    return wants(entry, None if isinstance(found, forks.Lost) else found, deadline)


def _error(entry: "Entry") -> str | None:
    """What the call raises, by type and text."""
    try:
        call = entry.build(0)
        with grad_mode(call):
            call.fn(*call.args, **call.kwargs)
        return None
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        return f"{type(e).__name__}: {e}"
