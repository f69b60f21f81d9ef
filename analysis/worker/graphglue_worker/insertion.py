"""Where code goes in a file that somebody wrote: whole lines, in the file's own indentation, quotes and line ends.

Lines are counted from zero, as the tokenizer counts them.  Nothing that is there is changed.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass

from graphglue_worker.written import Import, import_line

WIDTH = 88
FUNCTION = "graphglue_inputs"
_LINE = re.compile(r"\r\n|\n|\r")


class NoPlace(Exception):
    """The code cannot be put there; the text says why."""


@dataclass
class Style:
    """How a file is written."""

    quote: str = '"'
    unit: str = "    "
    newline: str = "\n"


@dataclass
class Insertion:
    """Lines that go before line `line`; at the end where there are no more."""

    line: int
    text: str


def style_of(text: str) -> Style:
    """The file's own style, as far as it shows."""
    style = Style()
    ends = Counter(_LINE.findall(text))
    if ends:
        style.newline = ends.most_common(1)[0][0]
    quotes: Counter[str] = Counter()
    units: Counter[str] = Counter()
    depths = [""]
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.INDENT:
                units[token.string.removeprefix(depths[-1])] += 1
                depths.append(token.string)
            elif token.type == tokenize.DEDENT:
                depths.pop()
            elif token.type == tokenize.STRING and (found := re.match(r"[A-Za-z]*('(?!'')|\"(?!\"\"))", token.string)):
                quotes[found[1]] += 1
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # it was imported: what was seen until here will do
    if quotes["'"] > quotes['"']:
        style.quote = "'"
    if units:
        style.unit = units.most_common(1)[0][0]
    return style


def apply(text: str, insertions: list[Insertion]) -> str:
    """The text with them."""
    starts = [0, *(m.end() for m in _LINE.finditer(text))]
    for each in sorted(insertions, key=lambda i: i.line, reverse=True):
        at = starts[each.line] if each.line < len(starts) else len(text)
        text = text[:at] + each.text + text[at:]
    return text


class File:
    """A file's text and tree.  Raises SyntaxError."""

    def __init__(self, text: str) -> None:
        self.text, self.style = text, style_of(text)
        self.tree = ast.parse(text)
        self.lines = len(_LINE.findall(text)) + 1
        self.open = bool(text) and not text.endswith(("\n", "\r"))  # the last line has no end

    def function(self) -> "ast.FunctionDef | None":
        """The function that yields the inputs; None: there is none.  Raises NoPlace when nothing can be added to it."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef) and n.name == FUNCTION]
        if not found:
            return None
        function = found[-1]
        if function not in self.tree.body:
            raise NoPlace(f"{FUNCTION}() is not defined at the level of the module, where lines could be added to it")
        if not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(function)):
            raise NoPlace(f"{FUNCTION}() does not yield its inputs: where more of them belong is not known")
        if function.body[0].lineno == function.lineno:
            raise NoPlace(f"{FUNCTION}() is written on one line: nothing can be added to it")
        return function

    def at_end(self, lines: list[str]) -> Insertion:
        """A definition at the end of the file, two lines apart from what stands above."""
        tail = self.text[len(self.text.rstrip("\r\n")) :]
        ends = len(_LINE.findall(tail)) if self.text.strip() else 3
        return self._insertion(self.lines, [""] * max(0, 3 - ends - self.open) + lines)

    def into(self, function: ast.FunctionDef, lines: list[str]) -> Insertion:
        """More lines at the end of a function's body."""
        last = function.body[-1]
        if isinstance(last, (ast.Return, ast.Raise)):
            return self._insertion(last.lineno - 1, lines)
        assert last.end_lineno is not None
        return self._insertion(last.end_lineno, lines)

    def body_indent(self, function: ast.FunctionDef) -> str:
        """What stands in front of a function's lines."""
        line = _LINE.split(self.text)[function.body[0].lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def imports(self, wanted: list[Import]) -> list[Insertion]:
        """Where each import belongs: beside those of the same package, else behind the last one at the head of the file."""
        head = self._head()
        found: dict[int, list[str]] = {}
        for how in sorted(set(wanted), key=lambda h: (bool(h[1]), h)):
            package = how[0].partition(".")[0]
            near = [n for n in head if package in _packages(n)]
            if package in sys.stdlib_module_names:
                near = near or [n for n in head if _packages(n) & sys.stdlib_module_names - {"__future__"}]
            if near and not how[1]:  # plain imports stand first
                line = near[0].lineno - 1
            elif near or head:
                line = self._below((near or head)[-1])
            else:
                line = self._top()
            found.setdefault(line, []).append(import_line(how))
        if not head:
            found = {line: [*lines, "", ""] for line, lines in found.items()}
        return [self._insertion(line, lines) for line, lines in found.items()]

    def _head(self) -> list[ast.stmt]:
        """The imports before the first definition."""
        head: list[ast.stmt] = []
        for node in self.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                break
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                head.append(node)
        return head

    def _below(self, node: ast.stmt) -> int:
        """The first line that is no statement's that begins where this one ends."""
        end = node.end_lineno or node.lineno
        for other in self.tree.body:
            if other.lineno <= end < (other.end_lineno or 0):
                end = other.end_lineno or end
        return end

    def _top(self) -> int:
        first = self.tree.body[0]
        if ast.get_docstring(self.tree, clean=False) is not None:
            return self._below(first)
        return min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1

    def _insertion(self, line: int, lines: list[str]) -> Insertion:
        end = self.style.newline
        if line >= self.lines and self.open:
            return Insertion(self.lines, end + end.join(lines) + end)
        return Insertion(line, "".join(each + end for each in lines))


def _own(function: ast.FunctionDef) -> "list[ast.AST]":
    """The nodes of a function, without those of the functions and classes inside it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _packages(node: ast.stmt) -> "set[str]":
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]} if not node.level else set()
    return {a.name.partition(".")[0] for a in node.names} if isinstance(node, ast.Import) else set()
