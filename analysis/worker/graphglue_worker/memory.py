"""How the zygote's memory lies, for the sake of its forks.  A fork shares it until it writes: then each page, 4 KiB, is copied at a cost of
some 3 µs, of which there are thousands in a capture."""

import contextlib
import ctypes
import errno
import os
import signal
import struct
from collections.abc import Callable, Iterator
from typing import Any

import _graphglue_host as host

from graphglue_worker import forks

_ENOUGH_BYTES = 1 << 20  # of one size
_COLLAPSE = 25  # MADV_COLLAPSE, Linux 6.1 on
_POPULATE_WRITE = 23  # Linux 5.14 on
_EXCLUSIVE, _PRESENT = 1 << 56, 1 << 63  # of an entry in /proc/self/pagemap
_MOST_MAPPED_BYTES = 1 << 30  # of one mapping that is looked through
_HUGE_PAGE = 2 << 20
_RANGE = struct.Struct("QQ")
_kept: list[Any] = []


def fill_holes() -> None:
    """Use up what is free between objects, a few MiB: a fork then makes its own side by side, on pages that nobody has to copy for it."""
    for size in range(512, 47, -16):  # what Python's own allocator serves; a bytes object takes 33 more than it holds
        _until_side_by_side(size, 192, lambda n: id(_keep(bytes(n - 33))))
    try:
        malloc = ctypes.CDLL(None).malloc
    except (OSError, AttributeError):
        return
    malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    for size in range(1040, 31, -16):
        _until_side_by_side(size, 32, lambda n: malloc(n - 8))  # never freed, as the ones above


def _keep(value: Any) -> Any:
    _kept.append(value)
    return value


def _until_side_by_side(size: int, wanted: int, allocate: Callable[[int], int]) -> None:
    """Allocate until about `wanted` in a row lie side by side, as those of an allocator that has no hole left do."""
    last = row = used = 0
    wanted = min(wanted, 12_288 // size)
    while row < wanted and used < _ENOUGH_BYTES:
        at = allocate(size)
        row = row + 1 if at - last == size else 0
        last = at
        used += size


def join_pages() -> Iterator[None]:
    """Ask the kernel for huge pages, of which a fork copies one entry for 512: one a step, which takes a millisecond or two.

    Ends where the kernel knows no such request; what it refuses stays as it is.
    """
    madvise = _madvise()
    if madvise is None:
        return
    for first, last in _writable():
        for at in range(-(-first // _HUGE_PAGE) * _HUGE_PAGE, last - _HUGE_PAGE + 1, _HUGE_PAGE):
            if madvise(at, _HUGE_PAGE, _COLLAPSE) != 0 and ctypes.get_errno() == errno.EINVAL:
                return
            yield


def written() -> list[tuple[int, int]]:
    """Pages, as (address, bytes), that this process has written to and shares with no other; none where the kernel does not say."""
    page = os.sysconf("SC_PAGE_SIZE")
    found: list[tuple[int, int]] = []
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as f:
            for first, last in _writable():
                if last - first > _MOST_MAPPED_BYTES:
                    continue
                entries = os.pread(f.fileno(), (last - first) // page * 8, first // page * 8)
                for i, (entry,) in enumerate(struct.iter_unpack("Q", entries)):
                    if entry & _PRESENT and entry & _EXCLUSIVE:
                        _append(found, first + i * page, page)
    except OSError:
        pass
    return found


def _append(ranges: list[tuple[int, int]], at: int, size: int) -> None:
    if ranges and sum(ranges[-1]) == at:
        ranges[-1] = (ranges[-1][0], ranges[-1][1] + size)
    else:
        ranges.append((at, size))


class Written:
    """Finds out, in a fork of its own, what `written` says once `work` is done.  `fd` is readable when it is known."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.fd, write = os.pipe()
        name = forks.name(forks.STANDBY)
        self._pid = os.fork()
        if self._pid:
            forks.name(name)
        else:
            try:
                host.die_with_parent(signal.SIGKILL)
                os.nice(10)
                work()
                with os.fdopen(write, "wb") as f:
                    f.write(b"".join(_RANGE.pack(*each) for each in written()))
            finally:
                os._exit(0)
        os.close(write)

    def take(self) -> list[tuple[int, int]]:
        """The pages; none where it failed.  Call this or `end`, once."""
        with os.fdopen(os.dup(self.fd), "rb") as f:
            found = f.read()
        self.end()
        return list(_RANGE.iter_unpack(found[: len(found) // _RANGE.size * _RANGE.size]))

    def end(self) -> None:
        """Stop looking."""
        os.close(self.fd)
        with contextlib.suppress(ChildProcessError):  # it was ended as a child that a job left behind
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)


def own(ranges: list[tuple[int, int]]) -> None:
    """Copy these pages now, as this process would when it writes to them.  What they hold stays the same."""
    madvise = _madvise()
    if madvise is not None:
        for at, size in ranges:
            madvise(at, size, _POPULATE_WRITE)  # fails where nothing is mapped


def _madvise() -> Any:
    try:
        madvise = ctypes.CDLL(None, use_errno=True).madvise
    except (OSError, AttributeError):
        return None
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return madvise


def _writable() -> list[tuple[int, int]]:
    """First and last address of what is private, writable and no file's: heap, arenas, stacks of threads."""
    found = []
    try:
        with open("/proc/self/maps") as f:
            lines = f.read().splitlines()
    except OSError:
        return []
    for line in lines:
        fields = line.split()
        if fields[1] == "rw-p" and (len(fields) < 6 or fields[5] == "[heap]"):
            first, last = (int(x, 16) for x in fields[0].split("-"))
            found.append((first, last))
    return found
