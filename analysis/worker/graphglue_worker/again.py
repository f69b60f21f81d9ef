"""Whether a call is compiled anew each time it is made, also for the same arguments: a guard on something that the call itself changes."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from graphglue_worker import forks, hooks

SHORT_S = 1.0  # of the processor: a call that takes longer is not made again
WAITED_S = 5.0  # nor one that takes so long by the clock, though a busy machine makes any call slow
TIMES = 3  # 0 and 1 are each compiled for themselves, and the third time Dynamo learns that a number changes


def on_each_call(call: Callable[[], list[hooks.Recompile]], seconds: float, waited: float) -> list[dict[str, Any]]:
    """The compilations that came with each of TIMES further calls; none where that is not known.

    `call` makes it once more and returns what was compiled anew; `seconds` of the processor and `waited` by the clock are what it took the first
    time.  Nobody sees what it prints.
    """
    heard: list[list[hooks.Recompile]] = []
    if seconds > SHORT_S or waited > WAITED_S:
        return []
    with silence(), contextlib.suppress(Exception, SystemExit), _alarm(SHORT_S + TIMES * waited):
        while len(heard) < TIMES:
            heard.append(call())
            if not heard[-1]:
                return []
    if len(heard) < TIMES:
        return []
    last = {(r.file, r.function): r for r in heard[-1]}
    each = set(last).intersection(*({(r.file, r.function) for r in calls} for calls in heard))
    return [{**vars(last[place]), "each_call": True} for place in sorted(each)]


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Drop what this process prints."""
    forks.flush()  # what was printed before is not to be dropped
    kept = [os.dup(fd) for fd in (1, 2)]
    forks.drop_output()
    try:
        yield
    finally:
        forks.flush()
        for fd, was in zip((1, 2), kept, strict=True):
            os.dup2(was, fd)
            os.close(was)


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
