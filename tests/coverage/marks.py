"""Which lines of the worker's Python run, counted in processes that fork, are sandboxed, or are killed.

coverage.py keeps what it saw when a process ends as it should, in a file that it writes then.  Most of the worker's processes end by
`os._exit`, some by a signal, and those in the sandbox may write no file.  So each line has a byte in a file that is mapped into memory when
Python starts and shared by all forks; coverage.py makes the report of it (report.py).  Loaded by a .pth file of the environment that
script/coverage makes.
"""

import mmap
import os
import sys
import threading
from pathlib import Path

WORKER = Path(__file__).resolve().parents[2] / "analysis" / "worker"


def key(path: str) -> str:
    """A file by its folder and name: a build reaches it by a link."""
    return "/".join(path.rsplit("/", 2)[-2:])


def places() -> dict[str, tuple[Path, int, int]]:
    """Of each file its path, where its lines begin in the marks, and how many there are."""
    found, at = {}, 0
    for path in sorted(WORKER.rglob("*.py")):
        lines = path.read_bytes().count(b"\n") + 2
        found[key(str(path))] = (path, at, lines)
        at += lines
    return found


def size() -> int:
    return sum(lines for _, _, lines in places().values())


def start(marks_file: str) -> None:
    """Begins to mark, in this process and all that it forks."""
    fd = os.open(marks_file, os.O_RDWR | os.O_CLOEXEC)
    marks = mmap.mmap(fd, 0)
    os.close(fd)
    begins = {name: at for name, (_, at, _) in places().items()}
    known: dict[str, object] = {}

    def tracer_of(begin):  # type: ignore[no-untyped-def]
        def mark(frame, event, argument):  # type: ignore[no-untyped-def]
            marks[begin + (frame.f_lineno or 0)] = 1
            return mark

        return mark

    def on_call(frame, event, argument):  # type: ignore[no-untyped-def]
        path = frame.f_code.co_filename
        try:
            mark = known[path]
        except KeyError:
            begin = begins.get(key(path)) if "graphglue" in path else None
            mark = known[path] = tracer_of(begin) if begin is not None else None
        return mark and mark(frame, event, argument)

    threading.settrace(on_call)
    sys.settrace(on_call)
