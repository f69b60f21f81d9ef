"""What a program prints, logs and warns, where two runs of the original do not say the same: times, addresses, identifiers.

Two runs of the original on the same inputs show which words of which line change from run to run.  These are nobody's result.  What is found on
one input set holds for all, since a rounded time may be the same twice: at the same line of as many, with the same other words (numbers
aside).  All else must agree: which lines there are, their order, every other word.

Where a line changes in more than its words, those before and behind the change must agree.  A line that is not always said (known by its words,
numbers aside) may be there or not.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

_WORD = re.compile(r"(?:(?<!\w)-)?\w*\d(?:[\w.:+-]*\w)?|\w+")
_NUMBER = re.compile(r"-?\d[\d.,:_e+-]*")
_PART = re.compile(r"\w+|\s+|.", re.DOTALL)
Place = tuple[int, int]  # a line, of so many


@dataclass
class _Line:
    text: str
    words: list[str] = field(default_factory=list)
    between: str = ""  # what is no word
    shape: str = ""  # the text, numbers aside


def _lines(said: Iterable[str]) -> list[_Line]:
    return [
        _Line(text, _WORD.findall(text), _WORD.sub("\0", text), _WORD.sub(lambda m: _masked(m[0]), text))
        for each in said
        for text in each.splitlines(keepends=True)
    ]


def _masked(word: str) -> str:
    return "\0" if any(c.isdigit() for c in word) else word


@dataclass
class _Pattern:
    """A line some of whose words change; `changing`: which, and whether they are numbers."""

    between: str
    others: list[str]
    changing: dict[int, bool]

    def fits(self, line: _Line) -> bool:
        others = [_masked(w) for i, w in enumerate(line.words) if i not in self.changing]
        return line.between == self.between and others == self.others


@dataclass
class _Ends:
    """A line whose words do not correspond from run to run: those it begins and ends with."""

    head: list[str]
    tail: list[str]

    def fits(self, line: _Line) -> bool:
        parts = _PART.findall(line.text)
        enough = len(parts) >= len(self.head) + len(self.tail)
        return enough and parts[: len(self.head)] == self.head and parts[len(parts) - len(self.tail) :] == self.tail


class Unsteady:
    """What the original does not repeat, learnt from pairs of runs on the same inputs."""

    def __init__(self, pairs: Iterable[tuple[list[str], list[str]]]) -> None:
        changed = [(_lines(once), _lines(again)) for once, again in pairs if once != again]
        self.any = bool(changed)
        self._sometimes: set[str] = set()
        self._patterns: dict[Place, list[_Pattern | _Ends]] = {}
        for p, q in changed:
            if len(p) != len(q):
                x, y = (Counter(line.shape for line in run) for run in (p, q))
                self._sometimes.update((x - y) | (y - x))
        for p, q in changed:
            x, y = self._always(p), self._always(q)
            for i, (a, b) in enumerate(zip(x, y, strict=False) if len(x) == len(y) else ()):
                if a.text != b.text:
                    self._patterns.setdefault((i, len(x)), []).append(_pattern(a, b))

    def agree(self, expected: list[str], got: list[str], usual: "list[str] | None" = None) -> bool:
        """Whether a run says the same, but for what is unsteady.  `usual`: what `expected` says where it adds to that, as the compiler does."""
        if expected == got:
            return True
        x, y = self._always(_lines(expected)), self._always(_lines(got))
        if usual is not None:
            known = {line.between for line in _lines(usual)}
            added = [[line.text for line in run if line.between not in known] for run in (x, y)]
            if added[0] != added[1]:
                return False
            x, y = ([line for line in run if line.between in known] for run in (x, y))
        return len(x) == len(y) and all(
            self._same(a, b, (i, len(x))) for i, (a, b) in enumerate(zip(x, y, strict=True))
        )

    def _always(self, lines: list[_Line]) -> list[_Line]:
        return [line for line in lines if line.shape not in self._sometimes]

    def _same(self, x: _Line, y: _Line, place: Place) -> bool:
        if x.text == y.text:
            return True
        known = [p for p in self._patterns.get(place, ()) if p.fits(x)]
        if any(isinstance(p, _Ends) and p.fits(y) for p in known):
            return True
        changing: dict[int, bool] = {}
        for pattern in known:
            for i, number in pattern.changing.items() if isinstance(pattern, _Pattern) else ():
                changing[i] = number and changing.get(i, True)
        return x.between == y.between and all(
            a == b or (i in changing and (not changing[i] or _NUMBER.fullmatch(b)))
            for i, (a, b) in enumerate(zip(x.words, y.words, strict=True))
        )


def _pattern(x: _Line, y: _Line) -> _Pattern | _Ends:
    if x.between == y.between:
        pairs = list(zip(x.words, y.words, strict=True))
        changing = {i: all(map(_NUMBER.fullmatch, (a, b))) for i, (a, b) in enumerate(pairs) if a != b}
        return _Pattern(x.between, [_masked(a) for i, (a, _) in enumerate(pairs) if i not in changing], changing)
    a, b = _PART.findall(x.text), _PART.findall(y.text)
    shortest = min(len(a), len(b))
    head = next((i for i in range(shortest) if a[i] != b[i]), shortest)
    tail = next((i for i in range(shortest - head) if a[-1 - i] != b[-1 - i]), shortest - head)
    return _Ends(a[:head], a[len(a) - tail :])
