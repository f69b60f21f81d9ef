"""Compile each expression of tests/fixtures/predict/expressions.json and write down which breaks it meets.

    python tools/record_expressions.py [--support build/release/bin] [--python PYTHON] [--add FILE]

Each stands in a function of its own, behind `h = x * 2`; `returned` says whether its value is returned. Captures run as `check` runs them, with
PYTHON's torch. FILE has more expressions, one a line; what an expression cannot be run or compiled with is left out.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "fixtures" / "predict" / "expressions.json"
AT_ONCE = 60


def program(prelude: str, name: str, row: dict[str, Any]) -> str:
    value = ", v" if row["returned"] else ""
    return f"{prelude if name == 'f' else ''}\n\ndef {name}(x):\n    h = x * 2\n    v = {row['expression']}\n    return h + 1{value}\n"


def inputs_of(names: list[str]) -> str:
    yields = "".join(f"    yield '{name}', {name}, (torch.randn(4, 4),), {{}}\n" for name in names)
    return f"\n\ndef graphglue_inputs():\n{yields}"


def record(support: Path, python: str, prelude: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(rows), AT_ONCE):
            names = [f"e{number}" for number in range(begin, min(begin + AT_ONCE, len(rows)))]
            text = prelude + "".join(program("", name, rows[int(name[1:])]) for name in names) + inputs_of(names)
            Path(folder, f"part{begin:05}.py").write_text(text)
        done = subprocess.run(
            [support / "graphglue-lsp", "check", "--json", "--timeout", "30", "--python", python, folder],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    kept = []
    for file in json.loads(done.stdout)["files"]:
        for entry in file["entries"]:
            if entry["status"] in ("breaks", "captured"):
                kept.append(rows[int(entry["name"][1:])] | {"ids": sorted({site["id"] for site in entry["sites"]})})
            else:
                print(f"left out: {rows[int(entry['name'][1:])]['expression']}: {entry['status']}", file=sys.stderr)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--support", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--add", type=Path)
    options = parser.parse_args()
    table = json.loads(TABLE.read_text())
    rows = table["expressions"]
    if options.add:
        rows += [
            {"expression": line, "returned": True, "ids": []} for line in options.add.read_text().splitlines() if line
        ]
    rows = record(options.support, options.python, table["prelude"], rows)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    head = json.dumps({"torch": table["torch"], "prelude": table["prelude"]}, indent=1)[:-2]
    TABLE.write_text(f'{head},\n "expressions": [\n{lines}\n ]\n}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
