"""From what Dynamo raised to the `break` value of the wire protocol: root cause, aggravations, Dynamo's words taken apart."""

import functools
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any

import torch._dynamo
from torch._dynamo import exc

from graphglue_worker import positions
from graphglue_worker.facts import Fact
from graphglue_worker.positions import Frame

SEPARATOR = "*** While handling this graph break, another graph break occurred: ***"
LOOP_ID = "GB7000"
LIMIT_ID = "GB0039"  # the recompile limit: a limit of ours or of the user's, not a line that breaks
SIZES_FOR_DATA_ID = "size-as-data"  # ours: torch has none
_UNKNOWN_ID = "GB0000"
_MANAGER_ID = "GB0066"
_MISSING = {"Data-dependent branching": "GB0170"}  # the registries of some versions hold the name of a variable instead
_RESUMED = re.compile(positions.RESUME_PREFIX + r"(\w+?)_at_\d+")
_LIMITS = re.compile(r"(recompile|cache)_?(size)?_? ?limit( exceeded| reached)")  # their words in each version

Record = dict[str, Any]


@dataclass
class Moment:
    """What was live when an exception was raised."""

    stack: list[Frame] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    value: Fact | None = None
    managed: bool = False  # a context manager is open that Dynamo cannot leave and enter again
    handling: bool = False  # Dynamo was busy splitting the graph at an earlier break


@dataclass(frozen=True)
class Cost:
    """What runs without Dynamo because of a break: nothing more than itself, a function, or what is left of one."""

    function: str | None = None
    rest: bool = False  # what precedes the break in that function is captured
    whole_frame: bool = True  # the frame that was converted is given up; else only from an earlier point in it on

    @property
    def kind(self) -> str:
        """`skip` when a whole frame is given up."""
        return "skip" if self.function is not None and self.whole_frame else "split"

    @property
    def value(self) -> "Record | None":
        """The `eager` value of the wire protocol."""
        return None if self.function is None else {"function": self.function, "rest": self.rest}


@functools.cache
def registry_path() -> str | None:
    """torch's list of break ids."""
    path = os.path.join(os.path.dirname(torch._dynamo.__file__), "graph_break_registry.json")
    return path if os.path.exists(path) else None


@functools.cache
def _ids() -> dict[str, str]:
    """Registry: break type -> id, historical types too."""
    ids = dict(_MISSING)
    try:
        with open(registry_path() or "", encoding="utf-8") as f:
            rows = json.load(f)
    except (OSError, ValueError):
        return ids
    for gb_id, versions in rows.items():
        for row in versions:
            ids.setdefault(row["Gb_type"], gb_id)
    return ids


def _unindent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _split_message(message: str) -> Record:
    """Type, explanation, hints and context out of what ``format_graph_break_message`` joined."""
    head, _, rest = message.partition("\n  Explanation: ")
    body, _, context = rest.partition("\n  Developer debug context: ")
    explanation, *hints = body.split("\n  Hint: ")
    head = head.partition("\n  Higher Order Operator: ")[0].strip()
    return {
        "type": head.splitlines()[0] if head else "",
        "explanation": _RESUMED.sub(r"\1", _unindent(explanation)),
        "hints": [_unindent(h) for h in hints],
        "context": context.partition("\n\n For more details about")[0].strip(),
    }


def message_of(error: BaseException) -> str:
    """Dynamo's words, without the user's stack that it may add."""
    return getattr(error, "msg", None) or str(error)


def parts_of(error: BaseException) -> tuple[BaseException, list[str]]:
    """The root cause of a chain of breaks, and all messages of the chain, the root's first."""
    parts = [p.strip("\n") for p in message_of(error).split(SEPARATOR)]
    # Up to torch 2.10 exceptions are chained; later ones join their messages.
    while len(parts) < 8 and isinstance(error.__cause__, exc.Unsupported):
        error = error.__cause__
        if message_of(error) not in parts:
            parts.insert(0, message_of(error))
    return error, parts


def is_limit(error: BaseException) -> bool:
    """Whether it says that Dynamo compiled a function too often."""
    head = _split_message(parts_of(error)[1][0])["type"]
    return _ids().get(head) == LIMIT_ID or bool(_LIMITS.search(head))


def make(error: BaseException, moment: Moment, cost: Cost, above: list[Frame]) -> Record:
    """The `break` value of the wire protocol.  `above`: frames that called the one being converted, innermost first."""
    root, parts = parts_of(error)
    said = _split_message(parts[0])
    kind = said["type"] or getattr(root, "gb_type", None) or type(root).__name__
    if not isinstance(root, exc.Unsupported) and kind not in _ids():
        kind = type(root).__name__
    around = [_ids().get(_split_message(p)["type"]) for p in parts[1:]]
    if moment.managed and cost.function is not None:
        around.append(_MANAGER_ID)  # said by Dynamo for some instructions only
    return {
        "id": _ids().get(kind, _UNKNOWN_ID),
        "type": kind,
        "reason": f"\n\n{SEPARATOR}\n\n".join(parts),
        "context": said["context"],
        "explanation": said["explanation"],
        "hints": said["hints"],
        "kind": cost.kind,
        "eager": cost.value,
        "in_loop": LOOP_ID in around,
        "aggravations": [a for a in dict.fromkeys(around) if a],
        "stack": positions.stack([*moment.stack, *above]),
        "facts": moment.facts,
        "value": moment.value,
    }


def sizes_for_data(moment: Moment, above: list[Frame]) -> Record:
    """Of a `torch.Tensor(x.size())`: compiled, it holds the sizes.  No break, so Dynamo says nothing of it, but told as one where results differ."""
    return {
        "id": SIZES_FOR_DATA_ID,
        "type": "Sizes taken for data",
        "reason": "A tensor's constructor is given a torch.Size",
        "context": "",
        "explanation": "Dynamo passes a torch.Size on as a tuple, and the constructor makes a tensor that holds its numbers, "
        "where without compiling it makes one of that size.",
        "hints": [],
        "kind": "split",
        "eager": None,
        "in_loop": False,
        "aggravations": [],
        "stack": positions.stack([*moment.stack, *above]),
        "facts": moment.facts,
        "value": None,
    }


def is_known(record: Record) -> bool:
    """Whether this torch has an id for it."""
    return record["id"] != _UNKNOWN_ID


def place_of(record: Record, moment: Moment) -> tuple[Any, ...]:
    """What makes two records of one converted function the same break; who called that function does not."""
    return (record["id"], *((f["file"], f["line"], f["col"], f["end_line"], f["end_col"]) for f in moment.stack))


def worsen(record: Record, cost: Cost, aggravations: list[str]) -> None:
    """A break that was told already turns out to cost more."""
    known = [a for a in aggravations if a != _UNKNOWN_ID]
    record["aggravations"] = list(dict.fromkeys([*record["aggravations"], *known]))
    record["in_loop"] = record["in_loop"] or LOOP_ID in aggravations
    if cost.kind == "skip" or record["eager"] is None:
        record["kind"] = "skip" if "skip" in (cost.kind, record["kind"]) else "split"
        record["eager"] = cost.value
