"""How the zygote's memory lies, for the sake of its forks.  A fork shares it until it writes: then each page, 4 KiB, is copied at a cost of
some 3 µs, of which there are thousands in a capture."""

import ctypes
import errno
from collections.abc import Callable, Iterator
from typing import Any

_ENOUGH_BYTES = 1 << 20  # of one size
_COLLAPSE = 25  # MADV_COLLAPSE, Linux 6.1 on
_HUGE_PAGE = 2 << 20
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
    try:
        madvise = ctypes.CDLL(None, use_errno=True).madvise
        with open("/proc/self/maps") as f:
            lines = f.read().splitlines()
    except (OSError, AttributeError):
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in lines:
        fields = line.split()
        if fields[1] != "rw-p" or len(fields) > 5 and fields[5] != "[heap]":
            continue
        first, last = (int(x, 16) for x in fields[0].split("-"))
        for at in range(-(-first // _HUGE_PAGE) * _HUGE_PAGE, last - _HUGE_PAGE + 1, _HUGE_PAGE):
            if madvise(at, _HUGE_PAGE, _COLLAPSE) != 0 and ctypes.get_errno() == errno.EINVAL:
                return
            yield
