"""`check` and `fix` of module classes drawn from installed packages: how many break, how many are mended, and why the rest are not.

    pip install --no-deps monai diffusers==0.35.2 pillow
    python bench/fix_modules.py [--packages transformers monai diffusers] [--seed 1] [--count 300] [--max-safety effects] [-j 2] [--markdown FILE]

Draws, with a seed that it prints, from all `nn.Module` subclasses of the packages that define `forward` and whose `__init__` gives `self` at
least three attributes by calls of classes.  Each becomes a file that subclasses it, with the inputs that are deduced; `fix --package` mends the
package in an overlay of the file's own folder.  Prints a row for each, then the shares.
"""

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHILDREN = 3
LIMIT_S = 300
_OTHER = ("modeling_tf_", "modeling_flax", "_flax", "_tf_")  # of other frameworks
Row = dict[str, Any]


def children(cls: ast.ClassDef) -> int:
    """How many attributes of self `__init__` sets to the result of a call of what is named like a class."""
    init = next((n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    found = set()
    for node in ast.walk(init) if init else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Attribute)
        ):
            function = node.value.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if name[:1].isupper():
                found.add(node.targets[0].attr)
    return len(found)


def population(package: str) -> list[tuple[str, str]]:
    """(module, class) of what the package defines, by reading it; whether it is a module shows when it is imported."""
    spec = find_spec(package)
    assert spec and spec.origin, f"{package} is not installed"
    folder, found = Path(spec.origin).parent, []
    for path in sorted(folder.rglob("*.py")):
        if any(o in path.name for o in _OTHER):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        module = ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
        for node in tree.body:
            is_class = isinstance(node, ast.ClassDef) and node.bases
            if (
                is_class
                and any(isinstance(n, ast.FunctionDef) and n.name == "forward" for n in node.body)
                and children(node) >= CHILDREN
            ):
                found.append((module, node.name))
    return found


def run(command: str, file: Path, options: argparse.Namespace, *more: str) -> Row:
    """The command's result for the file; {"error": …} when it gave none."""
    binary = Path(options.bin).resolve() / "graphglue-lsp"
    arguments = [str(binary), command, "--json", "--python", options.python, *more, file.name]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=file.parent)
        return json.loads(done.stdout)["files"][0]
    except subprocess.TimeoutExpired:
        return {"error": f"{command} took more than {LIMIT_S} s", "entries": []}
    except (ValueError, LookupError):
        return {"error": f"CRASH of {command}: exit {done.returncode}: {done.stderr.strip()[-200:]}", "entries": []}


def measure(drawn: tuple[str, str], options: argparse.Namespace) -> Row:
    """What check and fix say of one class."""
    module, name = drawn
    row: Row = {"module": module, "class": name, "status": "", "before": None, "after": None, "repairs": [], "why": ""}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder).resolve() / "drawn.py"
        file.write_text(f"from {module} import {name} as _{name}\n\n\nclass {name}(_{name}):\n    pass\n")
        checked = run("check", file, options)
        entry = next(iter(checked["entries"]), None)
        if entry is None:
            return {**row, "status": "not run", "why": (checked["error"] or "no module").splitlines()[0]}
        row.update(status=entry["status"], before=entry, after=entry, why=(entry["message"] or "").split(";")[0])
        if entry["status"] not in ("captured", "breaks", "capture_error", "nothing_to_capture"):
            return row
        if entry["sites"]:
            mended = run("fix", file, options, "--max-safety", options.max_safety, "--package", module.split(".")[0])
            if mended["error"] or not mended["entries"]:
                return {**row, "why": mended["error"] or "no entry left"}
            row.update(after=mended["entries"][0]["after"], repairs=mended["repairs"], why="")
    return row


def reasons(row: Row) -> str:
    """Each break that is left, with what became of the attempts at it."""
    said = []
    for site in row["after"]["sites"]:
        tried = [r for r in row["repairs"] if r["id"] == site["id"] and not r["verdict"]["accepted"]]
        why = (
            f"{tried[-1]['rule']}: {tried[-1]['verdict']['reasons'][0]}" if tried else "no rule's conditions are proven"
        )
        said.append(f"{site['id']} {Path(site['file']).name}:{site['range']['start']['line'] + 1} ({why})")
    return "; ".join(dict.fromkeys(said))


def told(row: Row) -> str:
    name = f"{row['module'].split('.')[0]} {row['class']}"
    if not row["before"] or not row["before"]["sites"]:
        return f"| {name} | {row['status']} | | | {row['why'][:120].replace('|', '/')} |"
    graphs = f"{row['before']['graphs']} → {row['after']['graphs']}"
    breaks = f"{len(row['before']['sites'])} → {len(row['after']['sites'])}"
    rules = ", ".join(f"{r['rule']} {r['safety']}" for r in row["repairs"] if r["verdict"]["accepted"])
    left = row["why"] or reasons(row)
    return f"| {name} | {'glued' if row['after']['status'] == 'captured' else 'breaks'}: {rules} | {graphs} | {breaks} | {left.replace('|', '/')} |"


def totals(rows: list[Row]) -> str:
    status = Counter(row["status"] for row in rows)
    broken = [row for row in rows if row["before"] and row["before"]["sites"]]
    glued = [row for row in broken if row["after"]["status"] == "captured"]
    before, after = (sum(len(row[when]["sites"]) for row in broken) for when in ("before", "after"))
    rules = Counter(f"{r['rule']} ({r['safety']})" for row in rows for r in row["repairs"] if r["verdict"]["accepted"])
    left = Counter(site["id"] for row in broken for site in row["after"]["sites"])
    return "\n".join(
        [
            f"{len(rows)} drawn: " + ", ".join(f"{n} {s}" for s, n in status.most_common()),
            f"{len(broken)} break, {len(glued)} of them are glued; break sites {before} → {after}",
            "accepted repairs: " + (", ".join(f"{n} {r}" for r, n in rules.most_common()) or "none"),
            "left: " + (", ".join(f"{n} {i}" for i, n in left.most_common()) or "none"),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=["transformers", "monai", "diffusers"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--max-safety", default="effects")
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--markdown", help="write the table there")
    parser.add_argument("--bin", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "release" / "bin"))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    everything = [drawn for package in options.packages for drawn in population(package)]
    chosen = random.Random(options.seed).sample(everything, min(options.count, len(everything)))
    head = f"seed {options.seed}, {len(chosen)} of {len(everything)} classes of {', '.join(options.packages)}, --max-safety {options.max_safety}"
    print(
        head,
        "| class | result | graphs | break sites | left, and why |\n| --- | --- | --- | --- | --- |",
        sep="\n\n",
        flush=True,
    )
    rows = []
    with ThreadPoolExecutor(options.j) as pool:
        for row in pool.map(lambda drawn: measure(drawn, options), chosen):
            rows.append(row)
            print(told(row), flush=True)
    print(f"\n{totals(rows)}")
    if options.markdown:
        table = "\n".join(
            [
                "| class | result | graphs | break sites | left, and why |",
                "| --- | --- | --- | --- | --- |",
                *map(told, rows),
            ]
        )
        Path(options.markdown).write_text(f"{head}\n\n{totals(rows)}\n\n{table}\n")
    return int(any("CRASH" in row["why"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
