"""A table of small programs whose breaks are marked by hand in their own text, run through the whole product.

`breaks/*.py`: under a line that breaks stands a comment with carets under what a reader would want marked, then what is known of it:

    n = x.sum().item()
    #   ^^^^^^^^^^^^^^ GB0124 split in f

    id, `split` or `skip`, `loop` when it lies in one, `+GB7000` for each aggravation, `xN` for N records (1 when not said),
    `in NAME` the enclosing function, `via a < b` the functions of the stack, `[a b]` the entries that hit it (when not
    said: those made from the function or class it lies in, else all that break).

A range of several lines has carets under each of its lines, the last of which says the rest.  Columns are what an editor with tabs of
eight shows.  What an entry comes to stands behind its line in `graphglue_inputs`: `# breaks, 2 graphs`.  Modules that a program
imports are beside it in `helpers/` and `site-packages/` (an installed package), named after it, and marked in the same way.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from client import PYTHON, find_worker

FOLDER = Path(__file__).with_name("breaks")
PROGRAMS = sorted(p.stem for p in FOLDER.glob("*.py"))
CARETS = re.compile(r"^#(\s*)(\^+)\s*(.*)$")
RESULT = re.compile(r'^\s+yield "(\w+)"(.*)# (\w+), (\d+) graphs?$')


@dataclass(frozen=True)
class Result:
    """What an entry comes to."""

    made_from: str  # the text of its line
    status: str
    graphs: int


@dataclass(frozen=True, order=True)
class Site:
    """What is expected, or was found; lines and columns are those of an editor: from 1, and in UTF-16 units from 0."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    id: str
    kind: str
    in_loop: bool
    aggravations: tuple[str, ...]
    count: int
    enclosing: str
    stack: tuple[str, ...] = ()


def shown(text: str) -> str:
    """The text as an editor shows it: a tab reaches to the next column of eight, a wide character takes two columns."""
    return "".join(c + " " * (unicodedata.east_asian_width(c) in "WF") for c in text).expandtabs(8)


def column_under(code: str, visual: int) -> int:
    """The UTF-16 column of the character of `code` that an editor shows in this column."""
    for i in range(len(code) + 1):
        if len(shown(code[:i])) >= visual:
            return len(code[:i].encode("utf-16-le")) // 2
    raise AssertionError(f"carets are right of the line {code!r}")


def parse_words(words: str) -> tuple[dict[str, Any], list[str]]:
    """The fields after the carets, and the entries named there."""
    words, _, entries = words.partition("[")
    words, _, stack = words.partition(" via ")
    head, _, enclosing = words.partition(" in ")
    gb_id, kind, *rest = head.split()
    fields: dict[str, Any] = {"id": gb_id, "kind": kind, "enclosing": enclosing.strip(), "in_loop": "loop" in rest}
    fields["aggravations"] = tuple(sorted(w[1:] for w in rest if w.startswith("+")))
    fields["count"] = next((int(w[1:]) for w in rest if w.startswith("x")), 1)
    fields["stack"] = tuple(f.strip() for f in stack.split("<")) if stack else ()
    return fields, entries.rstrip("]").split()


def expected_sites(path: Path) -> list[tuple[Site, list[str]]]:
    found = []
    begin: tuple[int, int] | None = None
    code, number = "", 0
    for i, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        carets = CARETS.match(line)
        if carets is None:
            code, number = line, i
            continue
        start, end = shown(line).index("^"), shown(line).rindex("^") + 1
        begin = begin or (number, column_under(code, start))
        if carets[3]:
            fields, entries = parse_words(carets[3])
            found.append((Site(path.name, *begin, number, column_under(code, end), **fields), entries))
            begin = None
    assert begin is None, f"{path.name}: a range from line {begin and begin[0]} on never ends"
    return found


def entries_of(site: Site, results: dict[str, Result]) -> list[str]:
    """Entries that are expected to hit a site with no names in brackets: those built from the function or class it lies in, else all
    that break."""
    own = re.compile(rf"\b{re.escape(site.enclosing.partition('.')[0])}\b")
    found = [name for name, result in results.items() if own.search(result.made_from)]
    return found or [name for name, result in results.items() if result.status == "breaks"]


def expected(program: str) -> tuple[dict[str, Result], dict[str, list[Site]]]:
    """What each entry comes to, and its sites."""
    path = FOLDER / f"{program}.py"
    matches = map(RESULT.match, path.read_text(encoding="utf-8-sig").split("\n"))
    results = {m[1]: Result(m[2], m[3], int(m[4])) for m in matches if m}
    assert results, f"{path.name}: no entry"
    sites: dict[str, list[Site]] = {name: [] for name in results}
    for file in (path, *sorted(FOLDER.glob(f"*/{program}_*.py"))):
        for site, entries in expected_sites(file):
            for entry in entries or entries_of(site, results):
                sites[entry].append(site)
    return results, sites


def found_site(site: dict[str, Any], with_stack: bool) -> Site:
    start, end = site["range"]["start"], site["range"]["end"]
    return Site(
        file=Path(site["file"]).name,
        line=start["line"] + 1,
        col=start["character"],
        end_line=end["line"] + 1,
        end_col=end["character"],
        id=site["id"],
        kind=site["kind"],
        in_loop=site["in_loop"],
        aggravations=tuple(sorted(site["aggravations"])),
        count=site["count"],
        enclosing=site["enclosing"],
        stack=tuple(frame["function"] for frame in site["stack"]) if with_stack else (),
    )


@pytest.fixture(scope="session")
def checked() -> dict[str, dict[str, Any]]:
    """`check --json` of all programs in one go: entries by name, by program."""
    program = Path(find_worker()).with_name("graphglue-lsp")
    paths = [str(FOLDER / f"{name}.py") for name in PROGRAMS]
    command = [str(program), "check", "--json", "--no-cache", "--python", PYTHON, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout, done.stderr
    files = json.loads(done.stdout)["files"]
    assert [f["error"] for f in files] == [None] * len(PROGRAMS), done.stdout[-2000:]
    return {Path(f["path"]).stem: {e["name"]: e for e in f["entries"]} for f in files}


def write_down(site: Site, entry: str) -> str:
    """A site as the marks say it, for the message of a test that fails."""
    words = [site.id, site.kind, *["loop"] * site.in_loop, *(f"+{a}" for a in site.aggravations)]
    words += [f"x{site.count}"] * (site.count != 1)
    place = f"{site.file}:{site.line}:{site.col}-{site.end_line}:{site.end_col}"
    via = f" via {' < '.join(site.stack)}" if site.stack else ""
    return f"{place} {' '.join(words)} in {site.enclosing}{via} [{entry}]"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no columns")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_break_exactly(checked: dict[str, dict[str, Any]], program: str) -> None:
    results, sites = expected(program)
    entries = checked[program]
    wanted, found = [], []
    for name, result in results.items():
        entry = entries[name]
        stacks = {(s.file, s.line, s.col, s.id) for s in sites[name] if s.stack}
        bare = [found_site(s, with_stack=False) for s in entry["sites"]]
        got = [
            found_site(s, (b.file, b.line, b.col, b.id) in stacks) for s, b in zip(entry["sites"], bare, strict=True)
        ]
        wanted += [
            f"{name}: {result.status}, {result.graphs} graphs",
            *(write_down(s, name) for s in sorted(sites[name])),
        ]
        found += [f"{name}: {entry['status']}, {entry['graphs']} graphs", *(write_down(s, name) for s in sorted(got))]
    assert list(entries) == list(results)
    assert found == wanted


def test_marks_are_read_as_they_look() -> None:
    assert len(PROGRAMS) >= 40
    assert column_under("\tx = y", 8) == 1
    assert column_under("é😀 = y", 2) == 3
