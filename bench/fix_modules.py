"""`check` and `fix` of module classes drawn from installed packages: how many break, how many are mended, and why the rest are not.

    pip install --no-deps diffusers==0.35.2 vit-pytorch …
    python bench/fix_modules.py [--packages transformers diffusers vit_pytorch] [--even] [--seed 1] [--count 300] [--log FILE] [--markdown FILE]
    python bench/fix_modules.py --only diffusers.models.resnet:ResnetBlock2D

Draws, with a seed that it prints, from all `nn.Module` subclasses of the packages that define `forward` and whose `__init__` gives `self` at
least three attributes by calls of classes; `--even`: as many from each package.  Inputs are deduced as they are when the file of the class itself is
captured.  Each becomes a file that gives these; what breaks in `check` is given to `fix --package`, which mends the package in an overlay of the
file's own folder.  `--log` keeps a line of JSON for each class, and what is there is not run again.
Run it with the interpreter that has the packages.
"""

import argparse
import ast
import dataclasses
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import deduced_inputs

ROOT = Path(__file__).resolve().parents[1]
CHILDREN = 3
LIMIT_S = 600  # of one class
ENTRY_S = 180  # of one run of it
NO_MODULE = "no module"  # nothing to draw
BATCH = 8  # classes for one `check`: they share a worker
_OTHER = ("modeling_tf_", "modeling_flax", "_flax", "_tf_")  # of other frameworks
_FILE = '''"""{module}:{name}"""

import importlib

import torch
from graphglue_worker import deduce

PLAN = {plan!r}
home = importlib.import_module({module!r})


def graphglue_inputs():
    fn, args, kwargs = deduce.make(deduce.Plan(**PLAN), home, torch.initial_seed())
    yield {name!r}, fn, tuple(args), kwargs
'''
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


def draw(packages: list[str], seed: int, even: bool) -> list[tuple[str, str]]:
    """All of them, in the order in which they are drawn."""
    groups = [population(package) for package in packages]
    rng = random.Random(seed)
    if not even:
        groups = [[drawn for group in groups for drawn in group]]
    for group in groups:
        rng.shuffle(group)
    return [group[i] for i in range(max(map(len, groups))) for group in groups if i < len(group)]


def command(words: list[str], folder: str, options: argparse.Namespace) -> dict[str, Row]:
    """The result for each file of the folder; {"error": …} where the command gave none."""
    files = sorted(Path(folder).glob("*.py"))
    limit = LIMIT_S * len(files)
    arguments = [str(Path(options.bin).resolve() / "graphglue-lsp"), *words, "--json", "--timeout", str(ENTRY_S)]
    try:
        done = subprocess.run(
            [*arguments, "--python", sys.executable, *(f.name for f in files)],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            cwd=folder,
        )
        return {Path(f["path"]).stem: f for f in json.loads(done.stdout)["files"]}
    except subprocess.TimeoutExpired:
        error = f"{words[0]} took more than {limit} s"
    except (ValueError, LookupError):
        error = f"CRASH of {words[0]}: exit {done.returncode}: {done.stderr.strip()[-200:]}"
    return {f.stem: {"error": error, "entries": [], "repairs": []} for f in files}


def prepared(module: str, name: str) -> Row:
    """The row of a class whose inputs were looked for."""
    from graphglue_worker import deduce

    found, said, seconds, _ = deduced_inputs.measure(module, name)
    row: Row = {"module": module, "class": name, "status": "no inputs", "call": said, "plan": None, "seconds": seconds}
    row.update(before=None, after=None, repairs=[], why="")
    if found is None:
        return {**row, "status": NO_MODULE, "why": said}
    if isinstance(found, deduce.Plan):
        return {**row, "status": "deduced", "plan": dataclasses.asdict(found)}
    return {**row, "why": said}


def measured(rows: list[Row], options: argparse.Namespace) -> Iterator[Row]:
    """What `check` and `fix` say of the classes."""
    with tempfile.TemporaryDirectory() as folder:
        for i, row in enumerate(rows):
            if row["plan"]:
                write(row, Path(folder).resolve() / f"drawn{i}.py")
        checked = command(["check", "-j", "1"], folder, options) if any(r["plan"] for r in rows) else {}
    for i, row in enumerate(rows):
        if row["plan"]:
            judge(row, checked[f"drawn{i}"], options)
        yield row


def write(row: Row, file: Path) -> None:
    file.write_text(_FILE.format(module=row["module"], name=row["class"], plan=row["plan"]))


def judge(row: Row, checked: Row, options: argparse.Namespace) -> None:
    """Puts into the row what became of the class, and mends it where it breaks."""
    entry = next(iter(checked["entries"]), None)
    if entry is None:
        row.update(status="failed", why=checked["error"] or "no entry")
        return
    row.update(status=entry["status"], before=entry, after=entry, why=(entry["message"] or "").split(";")[0])
    if not entry["sites"]:
        return
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        write(row, Path(folder).resolve() / "drawn.py")
        package = row["module"].split(".")[0]
        words = ["fix", "--max-safety", options.max_safety, "--package", package]
        mended = command(words, folder, options)["drawn"]
    row.update(repairs=mended["repairs"], fix_s=time.monotonic() - start, why=mended["error"] or "")
    if mended["entries"]:
        row["after"] = mended["entries"][0]["after"]
    elif not row["why"]:
        row["why"] = "no entry is left"


def reasons(row: Row) -> list[str]:
    """Each break that is left, with what became of the attempts at it."""
    said = []
    for site in row["after"]["sites"]:
        tried = [r for r in row["repairs"] if r["id"] == site["id"] and r["file"] == site["file"]]
        near = [r for r in tried if r["range"]["start"]["line"] == site["range"]["start"]["line"]]
        refused = [r for r in near or tried if not r["verdict"]["accepted"]]
        why = "; ".join(f"{r['rule']}: {(r['verdict']['reasons'] or ['?'])[0]}" for r in refused)
        where = f"{site['id']} {'/'.join(Path(site['file']).parts[-2:])}:{site['range']['start']['line'] + 1}"
        if not why and (told := site["why_no_rule"]):
            why = f"{told['rule']} does not apply: {told['reason']}"
        said.append(f"{where} ({why or 'no rule: ' + site['reason'].splitlines()[0]})")
    return list(dict.fromkeys(said))


def cell(text: str, width: int = 400) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= width else f"{line[:width]}…"


def outcome(row: Row) -> str:
    """One word for what became of a class."""
    if not row["before"] or not row["before"]["sites"]:
        return row["status"].replace("_", " ")
    if row["after"]["status"] == "captured":
        return "glued"
    return "partial" if len(row["after"]["sites"]) < len(row["before"]["sites"]) else "left"


def told(row: Row) -> str:
    name = f"{row['module'].split('.')[0]} {row['class']}"
    if not row["before"] or not row["before"]["sites"]:
        return f"| {name} | {outcome(row)} | | | {cell(row['why'], 160)} |"
    graphs = f"{row['before']['graphs']} → {row['after']['graphs']}"
    breaks = f"{len(row['before']['sites'])} → {len(row['after']['sites'])}"
    rules = Counter(f"{r['rule']} {r['safety']}" for r in row["repairs"] if r["verdict"]["accepted"])
    used = ", ".join(f"{r} × {n}" if n > 1 else r for r, n in rules.items())
    left = "; ".join(filter(None, [row["why"], *reasons(row)]))
    return f"| {name} | {outcome(row)}{': ' if used else ''}{used} | {graphs} | {breaks} | {cell(left)} |"


def totals(rows: list[Row]) -> str:
    """The tables of shares."""
    packages = list(dict.fromkeys(row["module"].split(".")[0] for row in rows))
    ends = ("captured", "glued", "partial", "left", "no inputs")
    lines = [
        "| package | drawn | inputs deduced | captured whole | break | glued | partly | not | other | break sites |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for package in [*packages, "all"]:
        of = [row for row in rows if package in ("all", row["module"].split(".")[0])]
        n = Counter(map(outcome, of))
        broken = [row for row in of if row["before"] and row["before"]["sites"]]
        sites = " → ".join(str(sum(len(row[when]["sites"]) for row in broken)) for when in ("before", "after"))
        other = len(of) - sum(n[e] for e in ends)
        counts = [len(of), len(of) - n["no inputs"], n["captured"], len(broken), n["glued"], n["partial"], n["left"]]
        lines.append(f"| {package} | {' | '.join(map(str, [*counts, other]))} | {sites} |")
    tried = [(f"{r['rule']}", r["safety"], r["verdict"]["accepted"]) for row in rows for r in row["repairs"]]
    done = Counter((rule, safety) for rule, safety, accepted in tried if accepted)
    lines += ["", "| rule | safety | accepted | refused |", "| --- | --- | ---: | ---: |"]
    for rule, safety in sorted({(rule, safety) for rule, safety, _ in tried}):
        refused = sum(t == (rule, safety, False) for t in tried)
        lines.append(f"| {rule} | {safety} | {done[rule, safety]} | {refused} |")
    other = Counter(outcome(row) for row in rows if outcome(row) not in ends)
    lines += ["", "other: " + (", ".join(f"{n} {what}" for what, n in other.most_common()) or "none")]
    left = Counter(site["id"] for row in rows if row["before"] for site in row["after"]["sites"])
    lines += ["left: " + (", ".join(f"{n} {i}" for i, n in left.most_common()) or "none")]
    return "\n".join(lines)


def versions(packages: list[str]) -> str:
    names = packages_distributions()
    return ", ".join(f"{p} {version(names[p][0])}" for p in ["torch", *packages])


def run(waiting: Iterator[tuple[str, str]], known: dict[str, Row], options: argparse.Namespace) -> list[Row]:
    """The first `--count` of them that are module classes, those that are known as they are."""
    rows: list[Row] = []
    batch: list[Row] = []

    def keep(row: Row) -> None:
        if options.log:
            with open(options.log, "a") as log:
                print(json.dumps(row), file=log)

    def flush() -> None:
        for row in measured(batch, options):
            print(told(row), flush=True)
            keep(row)
        batch.clear()

    while len(rows) < options.count and (drawn := next(waiting, None)):
        key = ":".join(drawn)
        row = known.get(key) or prepared(*drawn)
        if row["status"] == NO_MODULE:
            if key not in known:
                keep(row)
            continue
        rows.append(row)
        if key not in known:
            batch.append(row)
        if len(batch) == BATCH:
            flush()
    flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=["transformers", "diffusers", "vit_pytorch"])
    parser.add_argument("--even", action="store_true", help="draw as many from each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", nargs="+", metavar="MODULE:CLASS", help="these classes")
    parser.add_argument("--again", nargs="+", metavar="OUTCOME", default=[], help="run those of the log anew: left, …")
    parser.add_argument("--max-safety", default="effects")
    parser.add_argument("--log", help="a line of JSON for each class; those that are there are not run again")
    parser.add_argument("--markdown", help="write the tables there")
    parser.add_argument(
        "--bin", metavar="FOLDER", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "release" / "bin")
    )
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.append(options.bin)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import torch

    torch.set_num_threads(1)
    known: dict[str, Row] = {}
    if options.log and Path(options.log).exists() and not options.only:
        logged = map(json.loads, Path(options.log).read_text().splitlines())
        known = {f"{row['module']}:{row['class']}": row for row in logged}
        known = {key: row for key, row in known.items() if outcome(row) not in options.again}
    order = draw(options.packages, options.seed, options.even) if not options.only else []
    only = [tuple(name.split(":")) for name in options.only or ()]
    head = f"seed {options.seed}, {options.count} of {len(order)} classes, {versions(options.packages)}, --max-safety {options.max_safety}"
    table = "| class | result | graphs | break sites | left, and why |\n| --- | --- | --- | --- | --- |"
    print(head, table, sep="\n\n", flush=True)
    rows = run(iter(only or islice(order, None)), known, options)
    print(f"\n{totals(rows)}")
    if options.markdown:
        worth = [row for row in rows if outcome(row) != "captured"]
        text = "\n\n".join([head, totals(rows), "\n".join([table, *map(told, worth)])])
        Path(options.markdown).write_text(f"{text}\n")
    return int(any("CRASH" in row["why"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
