#!/usr/bin/env python3
"""Writes inputs for fuzz_predict_edits: real programs, and edits of them as people and as monkeys make them.

    python tests/fuzz/make_predict_edits.py --seed 1 --edits 500 OUT PROGRAM.py…

One file per program.  An edit copies a line elsewhere, deletes one, moves a word, types or deletes characters, renames; most are undone by the next
edit, so that the program stays one.  What an edit inserts is a part of the input itself, whose end holds words that change much with few letters.
"""

import argparse
import random
import re
import struct
from pathlib import Path

WORDS = (
    "\n    print(x)\n",
    ".item()",
    "if x.sum() > 0:\n            ",
    '"""',
    "'",
    "(",
    ")",
    "[",
    ":",
    "#",
    "\n",
    "\n\n",
    "    ",
    "x",
    "not ",
    "return x\n",
    "import torch\n",
    "from torch import nn\n",
    "@torch.compile\n",
    "class A(nn.Module):\n",
    "def forward(self, x):\n",
    "self.",
    "nn = 1\n",
    "self.flag = None\n        ",
    "for i in range(3):\n            ",
    "try:\n    ",
    "global x\n",
    "lambda: ",
    "\\",
    "\t",
    "\u00e9",
    "def graphglue_inputs():\n    yield 'a', A(), (torch.ones(2),), {}\n",
)


class Program:
    """A program being edited, and the input that says how."""

    def __init__(self, text: str, rng: random.Random) -> None:
        tail = "".join(WORDS)
        self.program = text.encode()
        self.extra = tail.encode()
        self.text = self.program
        self.rng = rng
        self.edits: list[tuple[int, int, bytes]] = []

    def apply(self, start: int, deleted: int, inserted: bytes) -> None:
        self.edits.append((start, deleted, inserted))
        self.text = self.text[:start] + inserted + self.text[start + deleted :]

    def somewhere(self) -> int:
        """An offset, more often than not at the begin of a line or of a word."""
        kind = self.rng.random()
        if kind < 0.3:
            return self.rng.choice([0] + [m.end() for m in re.finditer(rb"\n", self.text)])
        if kind < 0.8:
            return self.rng.choice([0] + [m.start() for m in re.finditer(rb"\w+", self.text)])
        return self.rng.randrange(len(self.text) + 1)

    def one(self) -> tuple[int, int, bytes]:
        """An edit: where, how much goes, and what comes, which is a part of the program or of WORDS."""
        start = self.somewhere()
        kind = self.rng.random()
        if kind < 0.35:
            return start, 0, self.rng.choice(WORDS).encode()
        lines = [m.span() for m in re.finditer(rb"[^\n]*\n", self.program)]
        if kind < 0.55:
            a, b = self.rng.choice(lines)
            return start, 0, self.program[a:b]
        if kind < 0.7:
            a = self.rng.choice(lines)[0]
            b = min(len(self.program), a + self.rng.randrange(1, 400))
            return start, self.rng.randrange(0, 60), self.program[a:b]
        words = [m.group() for m in re.finditer(rb"\w+", self.program)]
        length = len(re.match(rb"\w*", self.text[start:]).group())
        if kind < 0.85:
            return start, length, self.rng.choice(words)
        return start, self.rng.choice((1, length, length + 1, 40)), b""

    def run(self, count: int) -> bytes:
        """The input: the program, then `count` edits."""
        while len(self.edits) < count:
            start, deleted, inserted = self.one()
            deleted = min(deleted, len(self.text) - start)
            gone = self.text[start : start + deleted]
            try:  # the target cuts at characters, and so must this
                self.text[:start].decode(), gone.decode()
            except UnicodeDecodeError:
                continue
            self.apply(start, deleted, inserted)
            if self.rng.random() < 0.85 and gone in self.program:
                self.apply(start, len(inserted), gone)
            elif len(self.text) > 2 * len(self.program) or self.rng.random() < 0.1:
                self.apply(0, len(self.text), self.program)
        source = self.program + b"\0"
        room = len(source) + 8 * len(self.edits)
        out = [source]
        for start, deleted, inserted in self.edits:
            at = self.program.find(inserted) if inserted else 0
            if at < 0:
                at = room + self.extra.index(inserted)
            out.append(struct.pack("<4H", start, deleted, at, len(inserted)))
        return b"".join(out) + self.extra


def main() -> None:
    """Writes the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("programs", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edits", type=int, default=500)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(args.programs):
        rng = random.Random(args.seed * 1000 + number)
        data = Program(path.read_text(encoding="utf-8"), rng).run(args.edits)
        (args.out / f"{path.stem}-{args.seed}").write_bytes(data)


if __name__ == "__main__":
    main()
