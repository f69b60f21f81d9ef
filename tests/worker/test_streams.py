"""Results of a fork that come one after the other, with pauses between."""

import json
import os
import subprocess
import textwrap
from typing import Any

import pytest
from client import PYTHON, find_worker

HEAD = """
import json, os, sys, time
sys.path.insert(0, {folder!r})
from graphglue_worker import forks, streams
from graphglue_worker.streams import Pause, Stream

def collect(stream):
    return stream.collect(forks.Deadline(20_000))

"""


def asked(script: str) -> Any:
    """What the script prints, as JSON."""
    text = HEAD.format(folder=os.path.dirname(find_worker())) + textwrap.dedent(script)
    done = subprocess.run([PYTHON, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_waits_at_a_pause_and_goes_on() -> None:
    first, waited, rest, ended = asked(
        """
        def work():
            yield 1
            yield 2
            yield Pause
            yield time.monotonic()

        stream = Stream(work)
        first = collect(stream), stream.paused
        time.sleep(0.3)
        resumed = time.monotonic()
        stream.resume()
        (when,), lost = collect(stream)
        print(json.dumps([first, when >= resumed, [lost, stream.paused], collect(stream)]))
        """
    )
    assert first == [[[1, 2], None], True] and waited is True and rest == [None, False] and ended == [[], None]


@pytest.mark.parametrize("when", ["before", "behind"])
def test_how_it_ends_is_told_where_it_ends(when: str) -> None:
    assert asked(
        f"""
        def work():
            yield 1
            if {when == "before"}:
                os._exit(7)
            yield Pause
            os._exit(7)

        stream, told = Stream(work), []
        for _ in range(2):
            items, lost = collect(stream)
            told.append([items, lost and lost.message])
            stream.resume()
        print(json.dumps(told))
        """
    ) == (
        [[[1], "your code ended its process (exit code 7)"], [[], None]]
        if when == "before"
        else [[[1], None], [[], "your code ended its process (exit code 7)"]]
    )


def test_who_closes_its_descriptors_does_not_wait() -> None:
    items, lost = asked(
        """
        def work():
            yield 1
            for fd in range(3, 256):
                if os.path.exists(f"/proc/self/fd/{fd}") and "socket:" in os.readlink(f"/proc/self/fd/{fd}"):
                    os.close(fd)
            yield Pause
            yield 2

        print(json.dumps(collect(Stream(work))))
        """
    )
    assert items == [1, 2] and lost is None


def test_one_that_pauses_can_be_dropped() -> None:
    assert asked(
        """
        def work():
            yield Pause
            time.sleep(60)

        stream = Stream(work)
        collect(stream)
        stream.drop()
        print(json.dumps([os.path.exists(f"/proc/{stream.pid}"), len(forks.children(os.getpid()))]))
        """
    ) == [False, 0]


def test_what_was_given_before_is_written_once_up_to_a_limit() -> None:
    once, whole, forgotten = asked(
        """
        def sizes(limit):
            streams.MOST_KEPT_BYTES = limit
            data = bytes(100_000)

            def work():
                for i in range(10):
                    yield i, data
                yield Pause

            stream = Stream(work)
            items = collect(stream)[0]
            size = os.fstat(stream._memory).st_size
            stream.resume()
            collect(stream)
            return size, items == [(i, data) for i in range(10)]

        print(json.dumps([sizes(1 << 20)[0], sizes(1 << 20)[1] and sizes(1)[1], sizes(1)[0]]))
        """
    )
    assert once < 110_000 and whole is True and forgotten > 1_000_000


@pytest.mark.parametrize("plain", [False, True])
def test_what_is_forgotten_by_the_writer_is_by_the_reader_too(plain: bool) -> None:
    assert asked(
        f"""
        streams.MOST_KEPT_BYTES = 1000
        shared = {{"key": ["held", 1]}}

        def results():
            for i in range(20):
                own = [f"own {{i}}"] * 2
                yield {{"i": i, "own": [own, own], "shared": [shared, shared], "bytes": bytes([i]) * 300}}

        def work():
            for i, result in enumerate(results()):
                yield result
                if i == 10:
                    yield Pause

        stream = Stream(work, kinds={{}} if {plain} else None)
        items = collect(stream)[0]
        stream.resume()
        more, lost = collect(stream)
        print(json.dumps([items + more == list(results()), lost is None]))
        """
    ) == [True, True]
