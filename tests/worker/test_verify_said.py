"""What the original does not say twice in the same words cannot be judged; all else that it says is compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from verifying import BRANCH, Case, F, check

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis" / "worker"))

from graphglue_worker.said import Unsteady  # noqa: E402 - after the path is set

IMPORTS = "import logging\nimport os\nimport tempfile\nimport time\nimport uuid\nimport warnings\n\n\n"
WHERE = F + "    y = torch.where(h.sum() > 0, h + 1, h - 1)\n{said}\n    return y\n"
ORIGINAL = F + BRANCH.format(a="h + 1", b="h - 1").replace("    return y\n", "{said}\n    return y\n")
TIMES = "    print('took', time.time(), 'for', int(x.numel()))"

STATEMENTS = {
    "a time": TIMES,
    "a rounded time": "    print('%.0f ms' % (time.perf_counter() * 1000 % 10))",
    "an identifier": "    print('run', uuid.uuid4())",
    "a bare identifier": "    print(uuid.uuid4().hex)",
    "a name": "    print('kept in', tempfile.mktemp(), 'for now')",
    "an object": "    print(object())",
    "an address": "    print('at', id(x))",
    "an address of elements": "    print('at', x.data_ptr())",
    "a log": "    logging.getLogger('user').warning('%.6f s', time.time())",
    "a warning": "    warnings.warn(f'{time.time()} s')",
    "the process's own output": "    os.write(1, f'{time.time()}\\n'.encode())",
    "a line that is not always there": "    print('odd\\n' * (os.urandom(1)[0] % 2), end='')\n    print('done')",
    "several lines": "    for i in range(3):\n        print(i, time.time())",
}


def case(before: str, after: str, reason: str = "", **keys: Any) -> Case:
    return Case("said", IMPORTS + ORIGINAL.format(said=before), IMPORTS + WHERE.format(said=after), reason, **keys)


@pytest.mark.parametrize("said", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_what_is_never_the_same_is_not_judged(worker: Any, tmp_path: Path, said: str) -> None:
    check(worker, tmp_path, case(said, said, glued=False))


WRONG = {
    "a steady number beside it": TIMES.replace("numel()", "numel() + 1"),
    "a word beside it": TIMES.replace("took", "used"),
    "one line more": f"{TIMES}\n    print('more')",
    "a line of the same shape": f"{TIMES}\n{TIMES}",
    "nothing said": "    pass",
    "no number any more": "    print('took', 'long', 'for', int(x.numel()))",
    "said to somebody else": TIMES.replace("print(", "logging.getLogger('user').warning('%s %s %s %s', "),
}


@pytest.mark.parametrize("said", WRONG.values(), ids=WRONG.keys())
def test_what_stands_beside_it_is_judged(worker: Any, tmp_path: Path, said: str) -> None:
    check(worker, tmp_path, case(TIMES, said, "printed or logged"))


def test_a_steady_line_of_the_same_shape_is_judged(worker: Any, tmp_path: Path) -> None:
    lines = "    print('x', {steady})\n    print('x', time.time())\n    print('x', x.numel())"
    check(worker, tmp_path, case(lines.format(steady=7), lines.format(steady=7), glued=False))
    check(worker, tmp_path, case(lines.format(steady=7), lines.format(steady=8), "printed or logged"))


def test_results_are_still_to_be_repeated(worker: Any, tmp_path: Path) -> None:
    said = f"{TIMES}\n    y = y + os.urandom(1)[0]"
    check(worker, tmp_path, case(said, said, "does not repeat its own results"))


def unsteady(*pairs: tuple[str, str]) -> Unsteady:
    return Unsteady(([once], [again]) for once, again in pairs)


def test_a_word_that_changed_once_is_unsteady_in_every_run() -> None:
    known = unsteady(("took 0.1 ms of 5\n", "took 0.1 ms of 5\n"), ("took 0.1 ms of 6\n", "took 0.2 ms of 6\n"))
    assert known.agree(["took 0.1 ms of 5\n"], ["took 0.3 ms of 5\n"])
    assert not known.agree(["took 0.1 ms of 5\n"], ["took 0.3 ms of 6\n"])
    assert not known.agree(["took 0.1 ms of 5\n"], ["took 0.1 ms of 5\ntook 0.1 ms of 5\n"])
    assert not known.agree(["used 0.1 ms of 5\n"], ["used 0.3 ms of 5\n"]), "another line"


def test_what_changes_on_different_input_sets_adds_up() -> None:
    known = unsteady(("a 1 b 1\n", "a 2 b 1\n"), ("a 1 b 1\n", "a 1 b 2\n"))
    assert known.agree(["a 1 b 1\n"], ["a 3 b 3\n"])


def test_lines_that_are_not_always_said() -> None:
    known = unsteady(("a\nstep 1\nb 1\n", "a\nstep 1\nstep 2\nb 2\n"))
    assert known.agree(["a\nstep 1\nb 1\n"], ["a\nstep 1\nstep 2\nstep 3\nb 3\n"])
    assert not known.agree(["a\nstep 1\nb 1\n"], ["a\nstep 1\nstep 2\n"]), "b is always said"
    assert not known.agree(["a\nstep 1\nb 1\n"], ["a\nstep 1\nother\nb 1\n"])


def test_words_around_those_that_change() -> None:
    known = unsteady(("kept in /tmp/abc for now\n", "kept in /tmp/x/yz for now\n"))
    assert known.agree(["kept in /tmp/abc for now\n"], ["kept in /tmp/a_b for now\n"])
    assert not known.agree(["kept in /tmp/abc for now\n"], ["kept in /etc/abc for now\n"])
    assert not known.agree(["kept in /tmp/abc for now\n"], ["kept in /tmp/abc for ever\n"])


@pytest.mark.parametrize("text", ["7", "-0.5", "1e-05", "12:30:01.25"])
def test_a_number_stays_one(text: str) -> None:
    known = unsteady((f"at {text}: ok\n", "at 8: ok\n"))
    assert known.agree([f"at {text}: ok\n"], ["at 12.5: ok\n"])
    assert not known.agree([f"at {text}: ok\n"], ["at x: ok\n"])
    assert not known.agree([f"at {text}: ok\n"], ["at 1 2: ok\n"])


@pytest.mark.parametrize("text", ["2026-11-22T07:00:01", "3f2a1b00-aaaa-4bbb-8ccc-0123456789ab", "tmp_a1"])
def test_an_identifier_stays_one_word(text: str) -> None:
    known = unsteady((f"at {text}: ok\n", f"at {text}0: ok\n"))
    assert known.agree([f"at {text}: ok\n"], ["at other: ok\n"])
    assert not known.agree([f"at {text}: ok\n"], ["at other one: ok\n"])


SPARSE = "torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (4,)).to_dense()"
DENSE = "torch.zeros(4).index_put(torch.tensor([[0, 1]]).unbind(), torch.tensor([1.0, 2.0]), accumulate=True)"


def sparse_case(always: bool, reason: str) -> Case:
    head = f"torch.set_warn_always({always})\n\n\n"
    before, after = (head + F + f"    return h + {made}\n" for made in (SPARSE, DENSE))
    return Case("sparse", before, after, reason)


def test_what_torch_says_once_in_a_process_is_no_call_s_own(worker: Any, tmp_path: Path) -> None:
    check(worker, tmp_path, sparse_case(False, ""))


def test_what_torch_is_told_to_say_each_time_is_compared(worker: Any, tmp_path: Path) -> None:
    check(worker, tmp_path, sparse_case(True, "printed or logged"))


def test_what_dynamo_says_of_a_break_that_comes_to_light_is_not_the_program_s(worker: Any, tmp_path: Path) -> None:
    rest = f"    return h + {SPARSE}\n"
    before = F + "    for _ in range(2):\n        if h.sum() > 0:\n            h = h + 1\n" + rest
    after = F + "    for _ in range(2):\n        h = torch.where(h.sum() > 0, h + 1, h)\n" + rest
    check(worker, tmp_path, Case("light", before, after, glued=False))


def test_a_warning_that_points_to_its_caller_is_the_program_s(worker: Any, tmp_path: Path) -> None:
    said = "    warnings.warn('low', stacklevel=2)"
    check(worker, tmp_path, case(said, said, glued=False))
    check(worker, tmp_path, case(said, "    pass", "printed or logged"))


def test_a_stop_in_the_debugger_may_move_to_another_line(worker: Any, tmp_path: Path) -> None:
    check(
        worker, tmp_path, case("    import pdb; pdb.set_trace()", "    import pdb\n\n    pdb.set_trace()", glued=False)
    )


def test_a_stop_in_the_debugger_may_not_be_lost(worker: Any, tmp_path: Path) -> None:
    check(worker, tmp_path, case("    import pdb; pdb.set_trace()", "", "printed or logged"))
