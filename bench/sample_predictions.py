"""What prediction finds in a tree of files, by rule, and certain findings drawn at random for somebody to judge by reading.

    python bench/sample_predictions.py [--seed 1] [--count 50] [--context 3] [--support build/release/bin] PATH…

With no PATH: the modeling files of the installed transformers (`models/*/modeling_*.py`). The seed is printed; a sample is drawn from the findings in
the order of their files and places.
"""

import argparse
import importlib.util
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def modeling_files() -> list[str]:
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        sys.exit("no PATH, and this Python has no transformers")
    return sorted(str(path) for path in Path(spec.origin).parent.glob("models/*/modeling_*.py"))


def show(number: int, file: str, finding: dict[str, Any], context: int) -> None:
    line = finding["range"]["start"]["line"]
    print(
        f"\n{number}. {'/'.join(Path(file).parts[-2:])}:{line + 1} {finding['rule']} {finding['id']}: {finding['message']}"
    )
    text = Path(file).read_text().splitlines()
    for at in range(max(0, line - context), min(len(text), line + context + 1)):
        print(f"{'>' if at == line else ' '} {at + 1:5} {text[at]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--context", type=int, default=3, help="lines shown around each (default: %(default)s)")
    parser.add_argument("--support", type=Path, default=ROOT / "build" / "release" / "bin")
    options = parser.parse_args()
    paths = options.paths or modeling_files()
    done = subprocess.run(
        [options.support / "graphglue-lsp", "check", "--static", "--json", *paths], capture_output=True, text=True
    )
    files = json.loads(done.stdout)["files"]
    found = [(file["path"], finding) for file in files for finding in file["findings"]]
    failed = [file["error"] for file in files if file["error"]]
    counts = Counter((finding["rule"], finding["certainty"]) for _, finding in found)
    print(f"{len(files)} files, {len(failed)} that could not be read")
    print("| rule | certain | conditional |\n| --- | ---: | ---: |")
    for rule in sorted({rule for rule, _ in counts}):
        print(f"| {rule} | {counts[rule, 'certain']} | {counts[rule, 'conditional']} |")
    certain = [(file, finding) for file, finding in found if finding["certainty"] == "certain"]
    print(f"| all | {len(certain)} | {len(found) - len(certain)} |")
    sample = random.Random(options.seed).sample(certain, min(options.count, len(certain)))  # noqa: S311 - nothing secret
    print(f"\nseed {options.seed}: {len(sample)} of {len(certain)} certain findings")
    for number, (file, finding) in enumerate(
        sorted(sample, key=lambda one: (one[0], one[1]["range"]["start"]["line"])), 1
    ):
        show(number, file, finding, options.context)
    return 0


if __name__ == "__main__":
    sys.exit(main())
