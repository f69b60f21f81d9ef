"""Work in a fork that gives several results, one after the other, and may pause between them until it is told to go on."""

import contextlib
import os
import pickle
import select
import socket
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import _graphglue_host as host

from graphglue_worker import forks

MOST_KEPT_BYTES = 64 << 20  # of results that later ones may refer to
_PROGRESS = b"."


class NotApart(Exception):
    """Work that nobody trusts has to run in a fork, and this process has threads that would be lost there."""


class Pause:
    """Given among the results where the work waits until its caller has the ones before."""


class Progress:
    """Given where the caller is to be told that something was done, and nothing else."""


class _End:
    """Behind the last result."""


class _Anew:
    """Behind it no result refers to one in front of it."""


class Stream(forks.Task):
    """The work, in a fork.  Each result is kept as soon as it is there, however the fork ends.

    Invariant: `paused` exactly while the fork waits for `resume`."""

    def __init__(
        self,
        work: Callable[[], Iterator[Any]],
        quiet: bool = False,
        on_progress: Callable[[], None] = lambda: None,
        kinds: "dict[str, Any] | None" = None,
    ) -> None:
        """Starts the work; see `forks.run` for `quiet` and for where it runs (in this process it never pauses).

        `kinds`: nobody trusts the work.  It can report nothing but its results, which are read as `plain` says, and hold such classes too."""
        self.paused = False
        self._on_progress = on_progress
        if kinds is not None and not forks.can_fork():
            raise NotApart
        self._done = None if forks.can_fork() else [r for r in work() if r is not Pause and r is not Progress]
        if self._done is not None:
            return
        known = None if kinds is None else {**kinds, "Pause": Pause, "End": _End, "Anew": _Anew}
        ours, theirs = socket.socketpair()
        self._turn = ours.detach()
        self._turn_place = forks.identity(self._turn)

        def dump(results: Iterator[Any], f: BinaryIO) -> None:
            os.close(self._turn)
            _dump_each(results, f, theirs.fileno(), known)

        def confined() -> Iterator[Any]:
            host.mute()
            yield from work()

        try:
            super().__init__(work if known is None else confined, quiet, dump)
        finally:
            theirs.close()
        self._behind, self._known = _Behind(self._memory), known
        self._results = self._reader()

    def _reader(self) -> pickle.Unpickler:
        return pickle.Unpickler(self._behind) if self._known is None else _plain().Reader(self._behind, self._known)

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
            forks.kill_group(self.pid)  # it says so, and has not written it: that would wait for ever
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
            while True:
                readable = select.select(waited, [], [], deadline.left())[0]
                said = os.read(self._turn, 1) if self._turn in readable else b""
                if said != _PROGRESS:
                    return said != b""
                self._on_progress()
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
                if item is _Anew:
                    self._results = self._reader()
                else:
                    results.append(item)
            return item
        except (EOFError, pickle.UnpicklingError):
            return None
        except Exception:  # noqa: BLE001 - who wrote it is not trusted
            if self._known is None:
                raise
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


def _plain() -> Any:
    from graphglue_worker import plain  # which knows what is measured, and that knows streams

    return plain


def _dump_each(results: Iterator[Any], f: BinaryIO, turn: int, kinds: "dict[str, Any] | None") -> None:
    place, turn_place = forks.identity(f.fileno()), forks.identity(turn)
    pickler = pickle.Pickler(f, pickle.HIGHEST_PROTOCOL) if kinds is None else _plain().Writer(f, kinds)
    kept_bytes = 0
    for result in results:  # each time user code has run, which may have closed or replaced the file
        if forks.identity(f.fileno()) != place:
            os._exit(forks.EXIT_CHANNEL)
        if result is Progress:
            if forks.identity(turn) == turn_place:
                os.write(turn, _PROGRESS)
            continue
        pickler.dump(result)  # what an earlier one held is not written again
        f.flush()
        if f.tell() - kept_bytes > MOST_KEPT_BYTES:
            pickler.dump(_Anew)
            f.flush()
            kept_bytes = f.tell()
            pickler.clear_memo()
        if result is Pause and forks.identity(turn) == turn_place:
            os.write(turn, b"p")
            os.read(turn, 1)  # at its end, when the caller has closed it, nobody is waited for
    pickler.dump(_End)
