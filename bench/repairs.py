"""Which of a table of measured break patterns `fix` glues, and at what safety.

    python bench/repairs.py [TABLE.json] [-k TEXT…] [-v] [--bin build/release/bin]

The table (default tests/fixtures/repairs.json) is a list: first the imports that all programs share, then rows {pattern, before, entry, inputs,
safety, after_breaks, …}.  Rows with the same `before` are one program; what is asked of `fix` is the best safety at which one of them removes all
breaks.  Each program is a file of its own with a `graphglue_inputs`, mended by `fix --json --max-safety <that safety>`.
Programs whose safety is null or opaque are run at `config`: nothing may be glued wrongly there, and nothing is asked.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ORDER = ["exact", "effects", "numeric", "config"]
SWALLOWED = {"GB4880", "GB3934", "GB5458"}  # raised and caught inside Dynamo on healthy code: no breaks
Row = dict[str, Any]


def programs(table: list[Row]) -> list[Row]:
    """{name, text, wanted} of each distinct program that breaks; `wanted` is None where no rewrite of a safety that counts is known."""
    prelude, found = table[0]["_prelude"], {}
    for number, row in enumerate(table[1:]):
        if not row["before_breaks"]:
            continue
        known = found.setdefault(row["before"], {"name": f"{number} {row['pattern']}", "row": row, "wanted": None})
        if row["safety"] in ORDER and not set(row["after_breaks"]) - SWALLOWED:
            known["wanted"] = min(known["wanted"] or "config", row["safety"], key=ORDER.index)
    for program in found.values():
        row = program["row"]
        callee = f"{row['entry']}()" if row["entry"][0].isupper() else row["entry"]
        sets = "".join(f"    yield {row['entry']!r}, {callee}, {inputs}, {{}}\n" for inputs in row["inputs"])
        program["text"] = f"{prelude}\n\n\n{row['before']}\n\ndef graphglue_inputs():\n{sets}"
    return list(found.values())


def mend(chosen: list[Row], folder: Path, binary: Path, python: str) -> list[Row]:
    """What `fix` says of each program's file; one run of it for all that are asked for at a safety."""
    results: dict[str, Row] = {}
    for safety in ORDER:
        files = {}
        for program in chosen:
            if (program["wanted"] or "config") == safety:
                file = folder / f"program_{program['name'].split()[0]}.py"
                file.write_text(program["text"])
                files[str(file)] = program["name"]
        if not files:
            continue
        command = [str(binary), "fix", "--json", "--python", python, "--max-safety", safety, *files]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False, cwd=folder)
        if not done.stdout:
            raise RuntimeError(done.stderr)
        results |= {files[f["path"]]: f for f in json.loads(done.stdout)["files"]}
    return [results[program["name"]] for program in chosen]


def left(result: Row) -> str:
    """Why the program is not glued, in a few words."""
    if result["error"]:
        return result["error"]
    sites = {s["id"] for e in result["entries"] for s in e["after"]["sites"]}
    refused = [
        f"{r['rule']} refused: {r['verdict']['reasons'][0]}" for r in result["repairs"] if not r["verdict"]["accepted"]
    ]
    return "; ".join([f"left: {' '.join(sorted(sites)) or 'no break'}", *refused])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", default=str(ROOT / "tests" / "fixtures" / "repairs.json"))
    parser.add_argument(
        "-k", nargs="*", default=[], help="only programs with one of these texts in their name (`12 ` is a number)"
    )
    parser.add_argument("-v", action="store_true", help="show the programs as mended")
    parser.add_argument("--bin", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "asan" / "bin"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    binary = Path(options.bin).resolve() / "graphglue-lsp"
    chosen = [
        p
        for p in programs(json.loads(Path(options.table).read_text()))
        if not options.k or any(k in p["name"] for k in options.k)
    ]
    asked = glued = 0
    with tempfile.TemporaryDirectory() as folder:
        results = mend(chosen, Path(folder), binary, options.python)
        for program, result in zip(chosen, results, strict=True):
            whole = bool(result["entries"]) and all(e["glued"] for e in result["entries"])
            by = " ".join(f"{r['rule']}({r['safety']})" for r in result["repairs"] if r["verdict"]["accepted"])
            asked += program["wanted"] is not None
            glued += program["wanted"] is not None and whole
            mark = "glued" if whole else "-    " if program["wanted"] is None else "MISS "
            print(
                f"{mark} {program['name']:44} {program['wanted'] or 'none':8} {by} {'' if whole else left(result)}",
                flush=True,
            )
            if options.v:
                print(result["patched"].partition("\n\n\n")[2])
    print(f"{glued} of {asked} programs glued at their safety or better")
    return 0


if __name__ == "__main__":
    sys.exit(main())
