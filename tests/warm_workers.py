"""Workers that need not import torch anew, for tests of what starts one: see warm/warm_worker.c.

`environment()` makes a server or a command line start them.  Where a worker's own start is what is tested: `env=OWN`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

OWN = {"GRAPHGLUE_WARM": ""}  # a worker of its own, as ever
_FOLDER = "GRAPHGLUE_WARM"
_WORTH_IT = 4  # tests: who runs one does not wait for a template
_START_S = 240.0
_ROOM = 1 << 16  # bytes, for /proc/PID/environ of the workers
# What no program under test is given: what would name an interpreter, and what torch sets where a test imports it.
LEFT_OUT = {"VIRTUAL_ENV", "CONDA_PREFIX"} | ({"TORCHINDUCTOR_CACHE_DIR"} - os.environ.keys())
_found: dict[str, str] | None = None
tests = 0  # that are run


def environment(programs: str | os.PathLike[str]) -> dict[str, str]:
    """What to add to the environment of a program of the folder `programs`.  Starts the template at the first call, when it is worth it."""
    global _found
    worker = Path(os.environ.get("GRAPHGLUE_WORKER") or Path(programs, "graphglue-worker"))
    program = worker.with_name("warm_worker")
    if (
        worker.name != "graphglue-worker"
        or not program.exists()
        or tests < _WORTH_IT
        or os.environ.get("GRAPHGLUE_NO_WARM")
    ):
        return {}
    if _found is None:
        _found, _ = start(program)
    return _found


def start(program: Path) -> tuple[dict[str, str], Callable[[], None]]:
    """Start a template with `program`, a warm_worker.  Returns what makes others use it (nothing, when it did not start) and what ends it,
    which the end of this process does, too."""
    folder = tempfile.mkdtemp(prefix="gg-warm-")
    env = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    env.update({_FOLDER: folder, "GRAPHGLUE_WARM_TEMPLATE": "1", "GRAPHGLUE_WARM_ROOM": "." * _ROOM})
    log = Path(folder, "log")
    with log.open("wb") as output:
        template = subprocess.Popen(
            [program, "--python", sys.executable], env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )

    def end() -> None:
        atexit.unregister(end)
        template.kill()
        template.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    last = time.monotonic() + _START_S
    while not Path(folder, "socket").exists():
        if template.poll() is not None or time.monotonic() > last:
            print(f"no warm workers: {log.read_text()}", file=sys.stderr)
            return {}, end
        time.sleep(0.02)
    return {_FOLDER: folder, "GRAPHGLUE_WORKER": str(program)}, end


def summary() -> list[str]:
    """How many workers were warm, and in what the start of others was unlike the template's."""
    folder = (_found or {}).get(_FOLDER)
    if not folder:
        return []
    unlike = Counter(_lines(folder, "different"))
    said = [f"warm workers: {len(_lines(folder, 'started'))}; not, for a start unlike the template's: {unlike.total()}"]
    return said + [f"  {count} × {line.strip()[:200]}" for line, count in unlike.most_common(8)]


def _lines(folder: str, name: str) -> list[str]:
    file = Path(folder, name)
    return file.read_text(errors="replace").splitlines() if file.exists() else []
