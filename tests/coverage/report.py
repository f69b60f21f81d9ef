"""The coverage of C (llvm-cov's export) and of the worker's Python (marks.py), by folder; files under 70 % with the reason that reasons.json gives.

report.py LLVM.json MARKS      prints Markdown; the status is 1 where a file under 70 % has no reason
"""

import json
import sys
from pathlib import Path

import coverage
import marks

ROOT = Path(__file__).resolve().parents[2]
LEAST = 70
REASONS = json.loads((Path(__file__).parent / "reasons.json").read_text())
Rows = dict[str, tuple[int, int]]  # file: lines that run, lines


def of_c(export: Path) -> Rows:
    rows = {}
    for file in json.loads(export.read_text())["data"][0]["files"]:
        path = Path(file["filename"])
        if path.is_relative_to(ROOT) and path.suffix == ".c":
            name = str(path.relative_to(ROOT))
            lines = file["summary"]["lines"]
            if lines["count"] and not name.startswith(("tests/", "build/", "third_party/", "bench/")):
                rows[name] = (lines["covered"], lines["count"])
    return rows


def of_python(file: Path) -> Rows:
    counted = file.read_bytes()
    data = coverage.CoverageData(no_disk=True)
    data.add_lines(
        {
            str(path): [line for line in range(lines) if counted[at + line]]
            for path, at, lines in marks.places().values()
        }
    )
    measured = coverage.Coverage(data_file=None, config_file=False)
    measured.get_data().update(data)
    rows = {}
    for path, _, _ in marks.places().values():
        _, statements, _, missing, _ = measured.analysis2(str(path))
        if statements:
            rows[str(path.relative_to(ROOT))] = (len(statements) - len(missing), len(statements))
    return rows


def table(title: str, rows: Rows) -> list[str]:
    run, lines = (sum(row[i] for row in rows.values()) for i in (0, 1))
    folders: dict[str, list[int]] = {}
    for name, row in rows.items():
        total = folders.setdefault(str(Path(name).parent), [0, 0, 0])
        for i, n in enumerate((1, *row)):
            total[i] += n
    said = [f"## {title}: {100 * run / lines:.1f} % of {lines} lines in {len(rows)} files", ""]
    said += ["| folder | files | lines | run, % |", "| --- | ---: | ---: | ---: |"]
    said += [f"| {folder} | {n} | {of} | {100 * ran / of:.1f} |" for folder, (n, ran, of) in sorted(folders.items())]
    return [*said, ""]


def main() -> int:
    c, python = of_c(Path(sys.argv[1])), of_python(Path(sys.argv[2]))
    said = table("C", c) + table("The worker's Python", python)
    low = {name: (ran, of) for name, (ran, of) in (c | python).items() if 100 * ran < LEAST * of}
    said += [
        f"## Files under {LEAST} %: {len(low)}",
        "",
        "| file | lines | run, % | why |",
        "| --- | ---: | ---: | --- |",
    ]
    said += [
        f"| {name} | {of} | {100 * ran / of:.1f} | {REASONS.get(name, '**no reason**')} |"
        for name, (ran, of) in sorted(low.items())
    ]
    print("\n".join(said))
    return 1 if set(low) - set(REASONS) else 0


if __name__ == "__main__":
    sys.exit(main())
