"""Work in a fork that gives several results, one after the other, and may pause between them until it is told to go on."""

import contextlib
import os
import pickle
import select
import socket
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from graphglue_worker import forks

MOST_KEPT_BYTES = 64 << 20  # of results that later ones may refer to


class Pause:
    """Given among the results where the work waits until its caller has the ones before."""


class _End:
    """Behind the last result."""


class Stream(forks.Task):
    """The work, in a fork.  Each result is kept as soon as it is there, however the fork ends.

    Invariant: `paused` exactly while the fork waits for `resume`."""

    def __init__(self, work: Callable[[], Iterator[Any]], quiet: bool = False) -> None:
        """Starts the work; see `forks.run` for `quiet` and for where it runs (in this process it never pauses)."""
        self.paused = False
        self._done = None if forks.can_fork() else [r for r in work() if r is not Pause]
        if self._done is not None:
            return
        ours, theirs = socket.socketpair()
        self._turn = ours.detach()
        self._turn_place = forks.identity(self._turn)

        def dump(results: Iterator[Any], f: BinaryIO) -> None:
            os.close(self._turn)
            _dump_each(results, f, theirs.fileno())

        try:
            super().__init__(work, quiet, dump)
        finally:
            theirs.close()
        self._results = pickle.Unpickler(_Behind(self._memory))

    def collect(self, deadline: forks.Deadline) -> "tuple[list[Any], forks.Lost | None]":
        """Wait until it pauses or ends, until the deadline at most.  Returns the results since the last pause, and how the fork was lost when it
        was.  Call again after `resume`; there is nothing more behind its end."""
        if self._done is not None:
            done, self._done = self._done, []
            return done, None
        results: list[Any] = []
        if self._turns(deadline):
            self.paused = self._take(results) is Pause
            if self.paused:
                return results, None
        try:
            failed = self._wait(deadline)
            while (behind := self._take(results)) is Pause:
                pass  # nobody waited there
            self._done = []
            return results, failed or (None if behind is _End else forks.NOTHING)
        finally:
            self._end()

    def resume(self) -> None:
        """Let it go on, when it is paused."""
        paused, self.paused = self.paused, False
        if paused and self._holds_turn():
            with contextlib.suppress(ConnectionError):  # it has ended: `collect` tells how
                os.write(self._turn, b"g")

    def _turns(self, deadline: forks.Deadline) -> bool:
        """Wait until it says that it pauses.  False at its end and at the deadline."""
        if not self._holds_turn():
            return False
        ended = forks.watch(self.pid)
        try:
            waited = [self._turn] if ended is None else [self._turn, ended]
            readable = select.select(waited, [], [], deadline.left())[0]
            return self._turn in readable and os.read(self._turn, 1) != b""
        except ConnectionError:
            return False
        finally:
            if ended is not None:
                os.close(ended)

    def _take(self, results: list[Any]) -> Any:
        """Append what was written since the last time.  Returns what came behind it: Pause, _End, or None where it was cut off."""
        if not self.whole():
            return None
        try:
            while (item := self._results.load()) is not Pause and item is not _End:
                results.append(item)
            return item
        except (EOFError, pickle.UnpicklingError):
            return None

    def _holds_turn(self) -> bool:
        return forks.identity(self._turn) == self._turn_place  # user code may have closed or replaced it

    def _end(self) -> None:
        if self._holds_turn():
            os.close(self._turn)
        super()._end()


class _Behind:
    """Reads a file that is still written to, without moving the writer's place."""

    def __init__(self, fd: int) -> None:
        self._fd, self._at = fd, 0

    def read(self, size: int) -> bytes:
        data = os.pread(self._fd, size, self._at)
        self._at += len(data)
        return data

    def readline(self) -> bytes:
        raise pickle.UnpicklingError  # no protocol in use here has lines


def _dump_each(results: Iterator[Any], f: BinaryIO, turn: int) -> None:
    place, turn_place = forks.identity(f.fileno()), forks.identity(turn)
    pickler, kept_bytes = pickle.Pickler(f, pickle.HIGHEST_PROTOCOL), 0
    for result in results:  # each time user code has run, which may have closed or replaced the file
        if forks.identity(f.fileno()) != place:
            os._exit(forks.EXIT_CHANNEL)
        pickler.dump(result)  # what an earlier one held is not written again
        f.flush()
        if f.tell() - kept_bytes > MOST_KEPT_BYTES:
            kept_bytes = f.tell()
            pickler.clear_memo()
        if result is Pause and forks.identity(turn) == turn_place:
            os.write(turn, b"p")
            os.read(turn, 1)  # at its end, when the caller has closed it, nobody is waited for
    pickler.dump(_End)
