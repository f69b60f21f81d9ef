"""Positions, ranges and edits of a text, as an editor counts them."""

from __future__ import annotations

import re

from lsprotocol import types


def units(text: str, encoding: str) -> int:
    return len(text.encode("utf-16-le")) // 2 if encoding == "utf-16" else len(text.encode(encoding))


def line_starts(text: str) -> list[int]:
    return [0, *(m.end() for m in re.finditer("\r\n|\n|\r", text))]


def position(text: str, offset: int, encoding: str) -> types.Position:
    starts = [s for s in line_starts(text) if s <= offset]
    return types.Position(len(starts) - 1, units(text[starts[-1] : offset], encoding))


def offset(text: str, at: types.Position, encoding: str) -> int:
    start = line_starts(text)[at.line]
    for end in range(start, len(text) + 1):
        if units(text[start:end], encoding) == at.character:
            return end
    raise AssertionError(f"{at} is not a place in the text")


def splice(text: str, where: types.Range, new: str, encoding: str) -> str:
    return text[: offset(text, where.start, encoding)] + new + text[offset(text, where.end, encoding) :]


def covered(text: str, where: types.Range, encoding: str = "utf-16") -> str:
    return text[offset(text, where.start, encoding) : offset(text, where.end, encoding)]


def overlap(a: types.Range, b: types.Range) -> bool:
    def key(p: types.Position) -> tuple[int, int]:
        return p.line, p.character

    return key(a.start) <= key(b.end) and key(b.start) <= key(a.end)


def edits_of(edit: types.WorkspaceEdit) -> list[tuple[str, int | None, list[types.TextEdit]]]:
    """(uri, version, edits) of either form of a workspace edit."""
    found: list[tuple[str, int | None, list[types.TextEdit]]] = []
    for change in edit.document_changes or []:
        assert isinstance(change, types.TextDocumentEdit)
        found.append((change.text_document.uri, change.text_document.version, list(change.edits)))  # type: ignore[arg-type]
    for uri, edits in (edit.changes or {}).items():
        found.append((uri, None, list(edits)))
    return found
