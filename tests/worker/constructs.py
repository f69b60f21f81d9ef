"""Compares what the worker hears with a table of measured constructs.

    python tests/worker/constructs.py TABLE.json [-k NAME…] [-v]

The table maps a name to {source, entry, inputs, breaks, gb, graphs, ops, …} and `_prelude` to the imports they share.  Each
construct becomes a file of its own with a `graphglue_inputs`, and is captured by the real worker.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import PYTHON, Job, Worker

Construct = dict[str, Any]


def program(prelude: str, construct: Construct) -> str:
    """The text of a file that holds one construct and its inputs."""
    entry = construct["entry"]
    callee = f"{entry}()" if entry[0].isupper() else entry
    return (
        f"{prelude}\n\n\n{construct['source']}\n\ndef graphglue_inputs():\n"
        f"    yield {entry!r}, {callee}, {construct['inputs']}, {{}}\n"
    )


def ids_of(job: Job) -> list[str]:
    """Root causes and aggravations of all records, sorted."""
    breaks = [b for e in job.entries.values() for b in e["breaks"]]
    return sorted({b["id"] for b in breaks} | {a for b in breaks for a in b["aggravations"]})


def differences(construct: Construct, job: Job) -> list[str]:
    """What differs from the table; empty when all agrees."""
    if len(job.entries) != 1:
        return [f"no entry: {job.done['status']}: {job.done['message']}"]
    entry = job.entry
    found = []
    if entry["status"] in ("eager_error", "no_inputs", "timeout", "crashed"):
        return [f"{entry['status']}: {entry['message']}"]
    if entry["status"] == "capture_error":
        found.append(f"capture_error: {entry['message']}")
    if bool(entry["breaks"]) != construct["breaks"]:
        found.append(f"breaks {bool(entry['breaks'])}, expected {construct['breaks']}")
    if not set(ids_of(job)) <= set(construct["gb"]):
        found.append(f"unexpected {sorted(set(ids_of(job)) - set(construct['gb']))}")
    if ids_of(job) != sorted(set(construct["gb"])):
        found.append(f"ids {ids_of(job)}, expected {sorted(set(construct['gb']))}")
    if entry["graphs"] != construct["graphs"]:
        found.append(f"graphs {entry['graphs']}, expected {construct['graphs']}")
    if sum(entry["ops"]) != construct["ops"]:
        found.append(f"ops {entry['ops']}, expected {construct['ops']}")
    return found


def capture(worker: Worker, folder: str, prelude: str, name: str, construct: Construct) -> Job:
    """Write the construct's file and capture it."""
    path = os.path.join(folder, f"c_{name}.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(program(prelude, construct))
    # The table was measured with gradients on, in the mode a module is built in.
    return worker.capture(path, train=".eval()" not in construct["source"], deadline_ms=60_000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("-k", nargs="*", help="only these names")
    parser.add_argument("-v", action="store_true", help="show every record of those that differ")
    parser.add_argument("--python", default=PYTHON)
    options = parser.parse_args()
    with open(options.table, encoding="utf-8") as f:
        table = json.load(f)
    prelude = table.pop("_prelude")
    names = options.k or list(table)
    agree = {"breaks": 0, "unexpected": 0, "ids": 0, "graphs": 0, "all": 0}
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker([folder], python=options.python).start()
        for name in names:
            job = capture(worker, folder, prelude, name, table[name])
            found = differences(table[name], job)
            ran = bool(job.entries) and not any(
                f.startswith(("no entry", "eager_error", "timeout", "crashed")) for f in found
            )
            for what in ("breaks", "unexpected", "ids", "graphs"):
                agree[what] += ran and not any(f.startswith(what + " ") for f in found)
            agree["all"] += not found
            if found:
                print(f"{name}: {'; '.join(found)}")
                if options.v:
                    print(job.done["output"], json.dumps(job.entries, indent=1)[:6000])
        worker.close()
    words = {
        "breaks": "breaks or not as recorded",
        "unexpected": "no id that is not recorded",
        "ids": "the same ids",
        "graphs": "the same number of graphs",
        "all": "all of it",
    }
    for what, count in agree.items():
        print(f"{words[what]:28} {count} of {len(names)} ({100 * count / len(names):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
