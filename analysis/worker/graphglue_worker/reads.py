"""Which files a job read, in the child and in every fork of it: what a stored result depends on."""

import contextlib
import importlib.util
import os
import sys
import sysconfig
from typing import Any

import _graphglue_host as host
import torch

from graphglue_worker import forks, positions

MAX_FILES = 5000
_BYTECODE = f"{os.sep}__pycache__{os.sep}"
_seen: set[str] = set()
_log = -1
_place: "tuple[int, int] | None" = None  # which file it was: user code may close descriptors and open its own
_write = os.write
_touches_known = False


def open_log() -> None:
    """Make the log.  Forks inherit it: each writes whole lines to it."""
    global _log, _place
    if _log < 0 and hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # in the sandbox: then it is not known
            _log = os.memfd_create("graphglue-reads", os.MFD_CLOEXEC)
            _place = forks.identity(_log)


def watch() -> None:
    """Note every file opened for reading from here on, in this process and its forks.  Call once."""
    global _touches_known
    open_log()
    if _log >= 0:
        _touches_known = host.watch_opens(_on_open)
        if not _touches_known:
            sys.addaudithook(lambda event, args: _on_open(*args) if event == "open" else None)


def left_nothing() -> bool:
    """Is it known that no Python code has changed anything outside its process since `watch`?"""
    return _touches_known and host.touched() == 0


def note(path: str) -> None:
    """Note one file, whether it exists or not."""
    if path in _seen or _log < 0:
        return
    _seen.add(path)
    if "\n" not in path and forks.identity(_log) == _place:
        with contextlib.suppress(OSError):  # the user's open() must not fail by it
            _write(_log, f"{path}\n".encode("utf-8", "surrogateescape"))


def _on_open(path: Any, mode: Any, flags: Any) -> None:
    if isinstance(flags, int) and flags & os.O_ACCMODE != os.O_RDONLY:
        return
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if isinstance(path, str):
        note(os.path.abspath(path))


def collect() -> "list[dict[str, str]] | None":
    """[{"file", "origin": "workspace"|"library"}…], sorted; None when it is not known or there are too many.

    What the worker had imported before is not in it, but for torch.  Of a library only its top-level file counts.
    """
    if _log < 0 or forks.identity(_log) != _place:
        return None
    size = os.lseek(_log, 0, os.SEEK_END)
    lines = os.pread(_log, size, 0).decode("utf-8", "surrogateescape").splitlines()
    found = {torch.version.__file__: "library"}
    for path in set(lines):
        source = _source_of(path)
        if source is None or source.startswith(("/proc/", "/dev/", "/sys/")):
            continue
        origin = positions.origin(source)
        if origin == "library":
            source = _top_of(source)
        if origin in ("workspace", "library"):
            found[source] = origin
    if len(found) > MAX_FILES:
        return None
    return [{"file": f, "origin": o} for f, o in sorted(found.items())]


def _source_of(path: str) -> "str | None":
    if _BYTECODE not in path:
        return path
    try:
        return importlib.util.source_from_cache(path)
    except (ValueError, NotImplementedError):
        return None


def _top_of(path: str) -> str:
    """site-packages/package/a/b.py -> site-packages/package/__init__.py: an upgrade writes it anew."""
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        head = os.path.realpath(site) + os.sep
        if path.startswith(head):
            top = os.path.join(head, path[len(head) :].split(os.sep)[0])
            return os.path.join(top, "__init__.py") if os.path.isdir(top) else top
    return path
