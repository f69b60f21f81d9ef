"""Unsaved text: imports, ``inspect``, ``linecache`` and tracebacks all see the editor's buffers.  No file is written."""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import io
import linecache
import os
import sys
from types import ModuleType
from typing import Any

from graphglue_worker import reads

_files: dict[str, str] = {}  # real path -> text


class _Loader(importlib.machinery.SourceFileLoader):
    """Reads from the overlay and never from or to the bytecode cache."""

    def get_data(self, path: str) -> bytes:
        text = _files.get(os.path.realpath(path))
        return super().get_data(path) if text is None else text.encode("utf-8")

    def get_source(self, fullname: str) -> str | None:
        """The text as it is: its coding cookie is about the bytes on disk."""
        text = _files.get(os.path.realpath(self.get_filename(fullname)))
        return super().get_source(fullname) if text is None else text

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        text = _files.get(os.path.realpath(path))
        if text is None:
            return super().get_code(fullname)
        reads.note(os.path.abspath(path))
        remember(path, text)
        return compile(text, path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Goes first on sys.meta_path; answers only for modules whose source file is in the overlay."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        tail = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            base = os.path.join(folder or os.getcwd(), tail)
            for file, package in ((os.path.join(base, "__init__.py"), True), (base + ".py", False)):
                if os.path.realpath(file) in _files:
                    places = [base] if package else None
                    loader = _Loader(fullname, file)
                    return importlib.util.spec_from_file_location(
                        fullname, file, loader=loader, submodule_search_locations=places
                    )
                if os.path.exists(file):
                    return None  # an earlier folder wins, from disk
        return None


def remember(path: str, text: str) -> None:
    """Make linecache (hence inspect and tracebacks) answer with this text; mtime None keeps it from looking at the disk.

    Lines end where Python's tokenizer ends them: not at a form feed, nor at what Unicode calls a line separator."""
    lines = list(io.StringIO(text, newline=None))
    linecache.cache[path] = (len(text), None, lines, path)


def install(files: dict[str, str]) -> None:
    """Lay `files` (path -> text) over the disk.  Call before user code is imported; calling again replaces."""
    _files.clear()
    files = {p: t.removeprefix("\ufeff") for p, t in files.items()}  # a byte order mark is no part of the program
    _files.update({os.path.realpath(p): t for p, t in files.items()})
    if not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for path, text in files.items():
        remember(path, text)
    importlib.invalidate_caches()


def holds(path: str) -> bool:
    """Is there a text for this file?"""
    return os.path.realpath(path) in _files


def read(path: str) -> str:
    """The text of a file as the editor has it.  Raises OSError, SyntaxError or UnicodeDecodeError as Python's import would."""
    text = _files.get(os.path.realpath(path))
    if text is not None:
        reads.note(os.path.abspath(path))
        return text
    with open(path, "rb") as f:
        return importlib.util.decode_source(f.read())


def tree_of(module: ModuleType | None) -> ast.Module | None:
    """The syntax tree of a module's file, as the editor has it; None where there is none that can be read."""
    path = getattr(module, "__file__", None)
    try:
        return ast.parse(read(path)) if path else None
    except (OSError, SyntaxError, ValueError):
        return None
