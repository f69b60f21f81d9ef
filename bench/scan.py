"""How long `check --static` takes for the modeling files of transformers, beside parsing them with tree-sitter alone and `ruff check`.

    python bench/scan.py [--rounds 9] [--jobs 2] [--support build/release/bin] [--ruff RUFF] [PATH…]

With no PATH: `models/*/modeling_*.py` of the transformers that this Python has. Each round runs all three as processes, in changing order, on
as many threads, and their output is thrown away. *tree-sitter* is `bench/parse_only.c`: the files are read and parsed with the same grammar,
and nothing else.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sample_predictions import modeling_files

ROOT = Path(__file__).resolve().parents[1]


def timed(command: list[str], threads: int) -> tuple[float, float]:
    """Wall and processor seconds; no status of these three is an error but one above 1."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment).returncode
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status > 1:
        sys.exit(f"{command[0]} ended with {status}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--support", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--ruff", default=str(Path(sys.executable).with_name("ruff")))
    options = parser.parse_args()
    files = options.paths or modeling_files()
    size = sum(Path(file).stat().st_size for file in files)
    lines = sum(Path(file).read_bytes().count(b"\n") for file in files)
    print(f"{len(files)} files, {lines} lines, {size / 1e6:.1f} MB, {options.jobs} threads, {options.rounds} rounds")
    commands = {
        "check --static": [
            str(options.support / "graphglue-lsp"),
            "check",
            "--static",
            "--json",
            "-j",
            str(options.jobs),
            *files,
        ],
        "tree-sitter": [str(options.support / "parse_only"), str(options.jobs), *files],
        "ruff check": [options.ruff, "check", "--no-cache", "--isolated", "--exit-zero", *files],
    }
    names = list(commands)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for turn in range(options.rounds + 1):  # the first is for the files to be in memory
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            took = timed(commands[name], options.jobs)
            if turn:
                times[name].append(took)
    print("\n| s | min | p50 | max | processor, p50 |\n| --- | ---: | ---: | ---: | ---: |")
    for name, took in times.items():
        wall, used = sorted(w for w, _ in took), sorted(u for _, u in took)
        print(
            f"| {name} | {wall[0]:.2f} | {statistics.median(wall):.2f} | {wall[-1]:.2f} | {statistics.median(used):.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
