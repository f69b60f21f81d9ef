"""Allocations that fail, reads and writes that are cut and interrupted, a full disk: the server under all of it.

See injected.py and tests/faults/faults.c."""

import collections
import json
import random
import re

import injected
import pytest
from test_faults import is_sanitized

# A sanitizer's malloc is its own.
pytestmark = pytest.mark.skipif(
    is_sanitized(), reason="runs on the build that users have: a sanitizer has a malloc of its own"
)

SAMPLES = 60


@pytest.mark.parametrize("on", ["", "+"], ids=["one", "all from there on"])
def test_out_of_memory(tmp_path, on):
    """A sample; `python tests/e2e/injected.py` fails every one.  It says so and aborts, or goes on as ever."""
    total = injected.allocations(tmp_path)
    step, ends = total // SAMPLES, collections.Counter()
    for n in range(1 + random.Random(total).randrange(step), total, step if not on else 4 * step):
        ends[injected.judge(injected.converse(tmp_path, FAULT_ALLOC=f"{n}{on}"))] += 1
    assert ends["aborted"] > sum(ends.values()) / 2, ends


def said(end):
    """What was answered to what an editor shows, without what is another one each time: the folder, and what counts revisions."""
    shown = json.dumps([end.replies[n]["result"] for n in (2, 4, 6, 8, 9, 11)])
    return re.sub(r'"(revision|resultId)": "?\d+"?', "", shown.replace(str(end.folder), "FOLDER"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("talk")


@pytest.mark.parametrize("seed", range(1, 7))
def test_short_reads_and_writes(folder, seed):
    """Everything goes a few bytes at a time: the same is said as without."""
    calm, end = injected.converse(folder), injected.converse(folder, FAULT_IO=str(seed))
    assert injected.judge(calm) == injected.judge(end) == "went on"
    assert calm.stored == end.stored == 1
    assert said(end) == said(calm)


@pytest.mark.parametrize("room", [0, 1, 2, 50, 500])
def test_a_full_disk(tmp_path, room):
    """Nothing is kept for the next time, and the log says why; all else is as ever.  One byte less than .gitignore has is no .gitignore."""
    end = injected.converse(tmp_path, FAULT_SPACE=str(room))
    assert injected.judge(end) == "went on"
    assert end.stored == 0
    assert "could not be kept: No space left on device" in end.stderr
    assert end.replies[4]["result"]["contents"], "the break that was captured"
