"""A second process of a job that stands by: it imports the file too, and captures the first entry in place, where otherwise a fork would.

A fork shares its memory until it writes, and a capture writes to some 30 MiB that were there before: to copy that page by page takes a fifth of
the time until the first break is known.  The twin is forked before the job is known and has pages of its own by then.  What it captures is that
of a process that has imported the file and done nothing else, as it is in a fork; but the file is imported twice.  So it is used only where that
makes no difference (`may_repeat`), and where anything is odd, a fork is asked after all (`capture.py`).
"""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

from graphglue_worker import again, capture, devices, forks, inputs, memory, reads, wire

MAX_IMPORT_S = 0.1  # an import that takes longer is not done twice
MAX_AGAIN_S = 3.0  # for the second one, on a busy machine
GIVEN = ("graphglue_inputs", "get_inputs", "testcases")

Order = dict[str, Any]


class Twin:
    """Forks at construction.  `begin(order)` is called in the twin with the order, before any user code runs.

    `pages`: what a capture writes to, for `memory.own`.
    """

    def __init__(self, begin: Callable[[Order], None], pages: list[tuple[int, int]]) -> None:
        self.journal = capture.Journal()
        self.order: Order = {}  # `request` and the `limits` of the job; `names` of all entries, the `name` of the one to capture
        reads.open_log()
        self._orders, theirs = socket.socketpair()

        def serve() -> Any:
            self._orders.close()
            memory.own(pages)
            with theirs:
                order = wire.recv(theirs.fileno())
            return None if order is None else _captured(order, begin, self.journal)

        self._task: forks.Task | None = forks.Task(serve)
        self._place = forks.identity(self._orders.fileno())
        theirs.close()

    def capture(self, deadline: forks.Deadline) -> "capture.Outcome | forks.Lost | None":
        """What it found for the entry; None when it could not be asked, or has other entries.  Ends it."""
        task, self._task = self._task, None
        if task is None:
            return None
        task.adopt()
        try:
            if not (task.whole() and self.journal.whole()) or forks.identity(self._orders.fileno()) != self._place:
                return None
            wire.send(self._orders.fileno(), self.order)
            found = task.result(deadline)
            task = None
            return found
        except (OSError, ValueError):
            return None
        finally:
            self._orders.close()
            if task is not None:
                task.drop()

    def dismiss(self) -> None:
        """End the twin, when it is not wanted."""
        if self._task is not None:
            self._task.adopt()
            self._task.drop()
            self._task = None
            self._orders.close()


def may_repeat(entries: list[inputs.Entry], seconds: float) -> bool:
    """Can nobody tell that the file is imported once more?  `seconds`: what it took to import it and to list its entries."""
    return (
        seconds <= MAX_IMPORT_S
        and all(e.inputs in GIVEN and e.prepare is None for e in entries)
        and not devices.count
        and forks.can_fork()
        and reads.left_nothing()
    )


def _captured(order: Order, begin: Callable[[Order], None], journal: "capture.Journal") -> "capture.Outcome | None":
    begin(order)
    request = order["request"]
    with again.silence(), _hurried():
        try:
            entries = inputs.load(os.path.abspath(request["file"]), bool(request.get("train")))
        except (Exception, SystemExit):  # noqa: BLE001 - user code, which went well in the other process
            return None
    if [e.name for e in entries] != order["names"]:
        return None
    entry = entries[order["names"].index(order["name"])]

    def on_break(record: dict[str, Any]) -> None:
        journal.write("break", record)
        with contextlib.suppress(wire.ChannelLost, wire.TooLarge):
            wire.report({"op": "break", "entry": entry.name, "break": record})

    return capture._compiled(entry, on_break, journal)


@contextlib.contextmanager
def _hurried() -> Iterator[None]:
    """End this process where the import hangs that went well before."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, MAX_AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
