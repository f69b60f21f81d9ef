"""Which kinds of tensors the names of an edited statement hold, each time it is reached.

A rule proves its edit from what was recorded when a break was met first.  In a later iteration, another call or another entry the same names may hold
tensors of another dtype or number of dimensions, of which nothing was proven.  The inputs at hand need not come by the values that show the
difference, so such an edit is refused whatever they show.
"""

import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from graphglue_worker import cascade

Places = dict[str, dict[int, frozenset[str]]]  # file → line → the names that stand there, `self.b` too
Place = tuple[str, int, str]  # file, line, name
Seen = dict[Place, dict[str, None]]  # words of each kind of tensor that was held there, in the order met
_NAME = re.compile(r"\b(?:self\.)?[^\W\d]\w*")
_MOST_NAMES = 64  # of a line


@dataclass
class Kinds:
    """What was held, as a result of a fork."""

    seen: Seen = field(default_factory=dict)


def places(original: dict[str, str], lines: cascade.Lines) -> Places:
    """The lines of the original that the edit takes away or rewrites, with their names."""
    found: Places = {}
    for path, text in original.items():
        for number, line in enumerate(text.splitlines(), 1):
            names = frozenset(_NAME.findall(line)) if not lines.kept(path, number) else frozenset()
            if 0 < len(names) <= _MOST_NAMES:
                found.setdefault(path, {})[number] = names
    return found


def _held(variables: dict[str, Any], name: str) -> Any:
    owner, _, attribute = name.partition(".")
    value = variables.get(owner)
    if not attribute or value is None:
        return value
    own = getattr(value, "__dict__", {})  # without what a class may compute
    for values in (own, own.get("_buffers"), own.get("_parameters")):
        if isinstance(values, dict) and attribute in values:
            return values[attribute]
    return None


def _words(x: torch.Tensor) -> str:
    count = x.ndim
    return f"{str(x.dtype).removeprefix('torch.')} with {count} dimension{'s' * (count != 1)} on {x.device.type}"


@contextlib.contextmanager
def watch(wanted: Places) -> Iterator[Kinds]:
    """Notes what is held at the places, in the frames that begin meanwhile in this thread."""
    kinds = Kinds()

    def on_line(frame: Any, event: str, _: Any) -> Any:
        path, number = frame.f_code.co_filename, frame.f_lineno
        names = wanted[path].get(number) if event == "line" else None
        if names:
            variables = frame.f_locals
            for name in names:
                value = _held(variables, name)
                if isinstance(value, torch.Tensor):
                    kinds.seen.setdefault((path, number, name), {})[_words(value)] = None
        return on_line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: on_line if frame.f_code.co_filename in wanted else None)
    try:
        yield kinds
    finally:
        sys.settrace(before)


def conflicts(found: list[Seen]) -> Iterator[str]:
    """Words for each name that held tensors of several kinds, of all entries together."""
    together: Seen = {}
    for seen in found:
        for place, words in seen.items():
            together.setdefault(place, {}).update(words)
    for (_, number, name), words in together.items():
        if len(words) > 1:
            first, second = list(words)[:2]
            yield f"`{name}` in line {number} is {first} at one time and {second} at another: the edit is proven for one of them"
