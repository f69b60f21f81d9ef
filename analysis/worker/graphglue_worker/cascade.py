"""Which graph breaks of the edited code are new, and which only come to light.

A break is known by its id and its place in the original text.  One with another id, on a line that the edit did not write and where
one is gone, is that one: Dynamo got further in the same line, as with a setting.  So it did where the one that is gone lay in a function that
is called there, or further up in the same function: the graph was split at the call, and is now where somebody asks for what it gave.

Behind a break that makes a function run without Dynamo, as a whole or from there on, no break in that function is met.  When it is gone,
those behind it are: they are no fault of the edit, as long as neither they nor a call that leads to them lie on a line that it wrote.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
Place = tuple[str, str, int]  # id, file, 1-based line in the original; the line is negative when the edit wrote it


class Lines:
    """Where the lines of the edited files were in the original ones."""

    def __init__(self, original: dict[str, str], edited: dict[str, str]) -> None:
        self._old: dict[str, dict[int, int]] = {}
        for path, text in edited.items():
            if original.get(path) != text:
                self._old[path] = _old_lines(original.get(path, "").splitlines(), text.splitlines())
        self._kept = {path: frozenset(old.values()) for path, old in self._old.items()}

    def kept(self, path: str, line: int) -> bool:
        """Whether a line of the original is still there."""
        return path not in self._kept or line in self._kept[path]

    def before(self, path: str, line: int) -> int | None:
        """The 1-based line in the original, None when the edit wrote it."""
        return self._old[path].get(line) if path in self._old else line


def _old_lines(old: list[str], new: list[str]) -> dict[int, int]:
    head = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    same = {i + 1: i + 1 for i in range(head)}
    same.update({len(new) - i: len(old) - i for i in range(tail)})
    middle = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for block in middle.get_matching_blocks():
        same.update({head + block.b + i + 1: head + block.a + i + 1 for i in range(block.size)})
    return same


@dataclass
class Cascade:
    """`new`: id and function of the breaks that the edit brings.  `to_light`: records that a break hid that is gone.  `uncovered`: a break is
    gone that hid others, or might have."""

    new: list[tuple[str, str]] = field(default_factory=list)
    to_light: int = 0
    uncovered: bool = False


@dataclass(frozen=True)
class _Hidden:
    """Part of a function that ran without Dynamo: from a line on."""

    file: str
    function: str
    first: int


def of(a: dict[str, Any], b: dict[str, Any], lines: Lines) -> Cascade:
    """Compare the breaks of an entry before and after the edit."""
    before, after = Counter(_place(r, None) for r in a["breaks"]), Counter(_place(r, lines) for r in b["breaks"])
    stays = _rewritten(a["breaks"], b["breaks"], lines)
    gone = [r for r in a["breaks"] if _place(r, None) not in after and _kind(r) not in stays]
    hidden = [part for part in map(_hidden, gone) if part]
    instead = Counter(_where(r, _place(r, None)) for r in gone)
    called = list(gone)
    found = Cascade(uncovered=bool(hidden))
    for record in b["breaks"]:
        place = _place(record, lines)
        excused = any(_lies_in(record, part, lines) for part in hidden)
        if place in before:
            if excused and after[place] > before[place]:  # its function is called from one more place that Dynamo sees
                after[place] -= 1
                found.to_light += 1
        elif place[2] < 0 and stays[_kind(record)] > 0:
            stays[_kind(record)] -= 1
        elif instead[_where(record, place)] > 0:
            instead[_where(record, place)] -= 1
        elif place[2] > 0 and (inside := next((r for r in called if _is_behind_call(record, place, r)), None)):
            called.remove(inside)
        elif excused and not any(_written(record, lines)):
            found.to_light += 1
        else:
            found.new.append(_kind(record))
    found.new = list(dict.fromkeys(found.new))
    return found


def _rewritten(before: list[Record], after: list[Record], lines: Lines) -> Counter[tuple[str, str]]:
    """Breaks whose line the edit wrote anew, and that are still there: as many as lay, by id and function, on lines that it removed."""
    removed = Counter(_kind(r) for r in before if not lines.kept(*_place(r, None)[1:]))
    written = Counter(_kind(r) for r in after if _place(r, lines)[2] < 0)
    return removed & written


def _place(record: Record, lines: Lines | None) -> Place:
    frame = _frame(record)
    file, line = frame.get("file") or "", frame.get("line") or 0
    if lines is not None:
        before = lines.before(file, line)
        line = -line if before is None else before
    return record["id"], file, line


def _where(record: Record, place: Place) -> tuple[str, int, bool]:
    """A place whatever the id, and whether its function runs without Dynamo."""
    return *place[1:], record["eager"] is not None


def _is_behind_call(record: Record, place: Place, inside: Record) -> bool:
    """Does the break lie in a function of the workspace whose call led to the other one, and not in front of that call?"""
    if (record["eager"] is None) != (inside["eager"] is None):
        return False
    own, function = _frame(inside), _frame(record)["function"]
    return any(
        f is not own
        and f["origin"] == "workspace"
        and (f["file"], f["function"]) == (place[1], function)
        and f["line"] is not None
        and f["line"] <= place[2]
        for f in inside["stack"]
    )


def _kind(record: Record) -> tuple[str, str]:
    return record["id"], _name(_frame(record)["function"])


def _frame(record: Record) -> dict[str, Any]:
    stack = record["stack"]
    return next((f for f in stack if f["origin"] == "workspace"), stack[0] if stack else {"function": "?"})


def _name(function: str) -> str:
    return function.rpartition(".")[2]


def _hidden(record: Record) -> _Hidden | None:
    """What a break kept Dynamo from seeing."""
    eager = record["eager"]
    if eager is None:
        return None
    frame = next((f for f in record["stack"] if f["function"] == eager["function"]), None)
    if frame is None or frame["line"] is None:
        return None
    # In a loop what precedes the break follows it, too.
    return _Hidden(frame["file"], frame["function"], frame["line"] if eager["rest"] and not record["in_loop"] else 0)


def _lies_in(record: Record, part: _Hidden, lines: Lines) -> bool:
    return any(
        f["file"] == part.file
        and f["function"] == part.function
        and (lines.before(f["file"], f["line"]) or part.first) >= part.first
        for f in record["stack"]
        if f["line"] is not None
    )


def _written(record: Record, lines: Lines) -> Iterator[bool]:
    """For each frame of the workspace: does its line come from the edit?"""
    for frame in record["stack"]:
        if frame["origin"] == "workspace" and frame["line"] is not None:
            yield lines.before(frame["file"], frame["line"]) is None
