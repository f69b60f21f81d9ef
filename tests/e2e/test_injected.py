"""Allocations that fail, reads and writes that are cut and interrupted, a full disk: the server under all of it.

See injected.py and tests/faults/faults.c."""

import collections
import json
import random
import re
import subprocess
import sys

import injected
import pytest
import support
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


def test_a_client_killed_at_any_moment(tmp_path):
    """After each message of a conversation, whatever is under way by then."""
    messages, ended = 0, False
    while not ended:
        folder = tmp_path / str(messages)
        folder.mkdir()
        talk = injected.Conversation(folder, {}, messages)
        try:
            talk.run()
            ended = True
        except injected.Gone:
            pass
        shut_down = any(m.get("id") == 12 and "method" not in m for m in talk.seen)
        assert talk.kill_client() == (0 if shut_down else 1)
        assert talk.file.read_text() == injected.PROGRAM
        messages += 1
    assert messages > 20


def fix(folder, *options, **env):
    """`fix` on the file that conversations are about: how it ended, and the file."""
    file = folder / "own" / "model.py"
    file.parent.mkdir()
    file.write_text(injected.PROGRAM)
    command = [support.find_server(), "fix", *options, "--max-safety", "effects", "--python", sys.executable, str(file)]
    mark = support.environment("fix", injected.faulty(folder, env))
    done = subprocess.run(command, env=mark, capture_output=True, text=True, timeout=60, check=False)
    assert {path.name for path in file.parent.iterdir()} <= {"model.py", ".graphglue"}, "nothing half written is left"
    return done, file.read_text()


def test_apply(tmp_path):
    """A few bytes at a time: it is written all the same."""
    done, text = fix(tmp_path, "--apply", FAULT_IO="1")
    assert done.returncode == 0, done
    assert "is_compiling" in text


@pytest.mark.parametrize("room", [0, 10, 100])
def test_apply_on_a_full_disk(tmp_path, room):
    """The file is as it was, and it is said why."""
    done, text = fix(tmp_path, "--apply", FAULT_SPACE=str(room))
    assert text == injected.PROGRAM
    assert done.returncode == 2, done
    assert "could not be written (No space left on device); it is as it was" in done.stdout


@pytest.mark.parametrize("arguments", [["--version"], ["explain", "GB0059"], ["check", "--static", "--json", "."]])
def test_results_that_cannot_be_written(tmp_path, arguments):
    """No less than a program that could not run."""
    (tmp_path / "model.py").write_text(injected.PROGRAM)
    with open("/dev/full", "wb") as full:
        command = [support.find_server(), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert "standard output cannot be written: No space left on device" in done.stderr
