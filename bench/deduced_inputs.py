"""For how many module classes of transformers and torch.nn inputs can be deduced, in 5 s each.

    python bench/deduced_inputs.py [--seed N] [--count 60] [--support build/release/bin] [-j 2] [--markdown FILE]

Draws classes that define `forward` with a seed that it prints, deduces inputs for each in a process of its own, and prints the table: found or not,
seconds (processor and wall), and the call or the reason.  Run it with an interpreter that has torch and transformers.
"""

import argparse
import concurrent.futures
import importlib
import inspect
import logging
import os
import pickle
import pkgutil
import random
import select
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CEILING_S = 5.0
WALL_S = 40.0  # of a process, on a busy machine
_OTHER = ("modeling_tf_", "modeling_flax", ".quantized", ".quantizable", ".qat")  # other frameworks and quantized twins


def population() -> dict[str, type]:
    """Every module class of the two packages that defines `forward` itself, by "module:name"."""
    import torch
    import transformers

    found: dict[str, type] = {}
    for package in (torch.nn, transformers):
        for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
            wanted = package is torch.nn or "modeling_" in info.name
            if not wanted or any(o in info.name for o in _OTHER):
                continue
            try:
                module = importlib.import_module(info.name)
            except Exception:  # noqa: BLE001 - what it needs is not installed
                continue
            for value in vars(module).values():
                if inspect.isclass(value) and issubclass(value, torch.nn.Module) and "forward" in vars(value):
                    if value.__module__ == module.__name__:
                        found[f"{value.__module__}:{value.__qualname__}"] = value
    return found


def measure(module: str, name: str) -> tuple[Any, str, float, float]:
    """(plan or refusal, the call or why not, processor seconds, wall seconds) of one deduction in a fork.

    No plan and no refusal: there is no such module class, or it cannot be imported."""
    from graphglue_worker import deduce, surroundings

    r, w = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        found: Any = None
        said, seconds = "it is no module class", 0.0
        try:
            home = importlib.import_module(module)
            cls = getattr(home, name)
            if surroundings.is_entry_class(cls):
                found, seconds = timed(cls, home)
                said = describe(found, home)
        except BaseException as e:  # noqa: BLE001 - what it needs is not installed
            said = f"it cannot be imported: {type(e).__name__}: {e}"
        with os.fdopen(w, "wb") as out:
            pickle.dump((found, said, seconds), out)
        os._exit(0)
    os.close(w)
    data = b""
    while select.select([r], [], [], max(0.0, start + WALL_S - time.monotonic()))[0]:
        chunk = os.read(r, 1 << 16)
        if not chunk:
            break
        data += chunk
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(r)
    _, _, used = os.wait4(pid, 0)
    late = "time was up in the middle of one operation"
    late = deduce.Refusal(late), late, used.ru_utime + used.ru_stime
    found, said, seconds = pickle.loads(data) if data else late
    if seconds > CEILING_S * 1.1 and isinstance(found, deduce.Plan):
        found = deduce.Refusal(said := f"found, but only after {seconds:.1f} s")
    return found, said, seconds, time.monotonic() - start


def timed(cls: type, home: Any) -> tuple[Any, float]:
    """What is found, and the processor seconds that it took."""
    from graphglue_worker import deduce, deduced

    start = time.process_time()
    try:
        deduced.limit_seconds(CEILING_S)
        found: Any = deduce.deduce(cls, home, CEILING_S)
    except BaseException as e:  # noqa: BLE001 - it is counted as not found
        found = deduce.Refusal(f"the deduction itself failed: {type(e).__name__}: {e}")
    return found, time.process_time() - start


def describe(found: Any, home: Any) -> str:
    """The call, or why there is none."""
    from graphglue_worker import deduce, deduced

    if not isinstance(found, deduce.Plan):
        return found.reason
    text = deduced.words(found, home)
    return text if len(text) <= 160 else text[:159] + "…"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument(
        "--support",
        default=str(ROOT / "build" / "release" / "bin"),
        help="folder of graphglue_worker and its host module",
    )
    parser.add_argument("-j", type=int, default=1, help="deductions at a time")
    parser.add_argument("--markdown", help="write the table there")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.append(options.support)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    classes = population()
    drawn = random.Random(options.seed).sample(sorted(classes), options.count)
    print(f"seed {options.seed}: {options.count} of {len(classes)} classes, torch {torch.__version__}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        results = dict(zip(drawn, pool.map(lambda name: measure(*name.split(":")), drawn), strict=True))
    from graphglue_worker import deduce

    rows = []
    for name in sorted(results):
        found, said, seconds, wall = results[name]
        short = name.removeprefix("transformers.models.").removeprefix("torch.nn.modules.")
        rows.append((isinstance(found, deduce.Plan), seconds, wall, short, said))
        print(f"{'found' if rows[-1][0] else '--   '} {seconds:5.1f} {wall:5.1f}  {short}  {rows[-1][4]}")
    total = sum(r[0] for r in rows)
    print(f"inputs deduced for {total} of {len(rows)}; longest {max(r[1] for r in rows):.1f} s of processor time")
    if options.markdown:
        lines = ["| class | found | s | call, or why not |", "| --- | --- | ---: | --- |"]
        for ok, seconds, _, name, said in rows:
            said = said.replace("|", "\\|")
            lines.append(f"| `{name}` | {'yes' if ok else 'no'} | {seconds:.1f} | {f'`{said}`' if ok else said} |")
        Path(options.markdown).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
