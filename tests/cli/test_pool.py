# ruff: noqa: E501 - programs in one line each
"""Many files and several workers: the same results in the same order, whatever a worker does."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import BIN, HEAD, cli

BODIES = [
    "    return x * 2",
    "    print(x.shape)\n    return x + 1",
    "    return x if x.sum() > 0 else -x",
    "    raise KeyError('no')",
    "    y = x * 2\n    print(y.mean().item())\n    return y",
]
INPUTS = "\n\n\ndef graphglue_inputs():\n    for n in (2, 3):\n        yield f'f{n}', f, (torch.randn(n),), {}\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that differ in what is found and in how long they take, and one that cannot be imported."""
    folder = tmp_path_factory.mktemp("corpus")
    for i in range(9):
        slow = "import time\ntime.sleep(0.5)\n" if i % 5 == 0 else ""
        (folder / f"m{i:02}.py").write_text(f"{slow}{HEAD}def f(x):\n{BODIES[i % len(BODIES)]}{INPUTS}")
    (folder / "m06_bad.py").write_text("import no_such_module\n")
    return folder


@pytest.fixture(scope="module")
def alone(corpus: Path, run_json: Callable[..., Any]) -> tuple[int, dict[str, Any]]:
    """What one worker finds."""
    return run_json("check", "-j", "1", ".", cwd=corpus)


@pytest.mark.parametrize("jobs", [["-j", "4"], []], ids=["four", "default"])
def test_results_do_not_depend_on_the_number_of_workers(
    corpus: Path, alone: Any, jobs: list[str], run_json: Any
) -> None:
    assert run_json("check", *jobs, ".", cwd=corpus) == alone
    assert [f["path"] for f in alone[1]["files"]] == sorted(f["path"] for f in alone[1]["files"])


def test_a_worker_that_cannot_run_leaves_its_files_to_the_others(corpus: Path, alone: Any, tmp_path: Path) -> None:
    """As when memory is short: only the first process that is started lives."""
    wrapper = tmp_path / "graphglue-worker"
    worker = os.environ.get("GRAPHGLUE_WORKER") or BIN / "graphglue-worker"
    wrapper.write_text(f'#!/bin/sh\nmkdir "{tmp_path}/first" 2>/dev/null || exit 9\nexec "{worker}" "$@"\n')
    wrapper.chmod(0o755)
    done = cli("check", "--json", "-j", "3", ".", cwd=corpus, env={"GRAPHGLUE_WORKER": str(wrapper)})
    assert (done.returncode, json.loads(done.stdout)) == alone
    assert done.stderr.count("goes on with") == 2 and "exit code 9" in done.stderr


def test_no_worker_that_can_run_is_told_for_every_file(corpus: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "graphglue-worker"
    wrapper.write_text("#!/bin/sh\necho no more memory >&2\nexit 9\n")
    wrapper.chmod(0o755)
    done = cli("check", "--json", "-j", "3", ".", cwd=corpus, env={"GRAPHGLUE_WORKER": str(wrapper)})
    errors = {f["error"] for f in json.loads(done.stdout)["files"]}
    assert done.returncode == 2 and len(errors) == 1
    assert "3 times in a row" in (said := errors.pop()) and "no more memory" in said
