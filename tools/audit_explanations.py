"""Draw explanations by a seed and write them down beside Dynamo's own words, for somebody to judge.

    python tools/audit_explanations.py [--seed N [--count 60]] [--support build/release/bin] [--python PYTHON]

With a seed the rows are drawn anew; without one those of docs/explanations-audit.json are run again. Programs come from four places: measured
constructs (more than half of the rows), the texts' own `Before`, single expressions, and the programs of tests/fixtures/explain/, some of which
meet an id without a text of ours. Each is captured as `check` captures it. docs/explanations-audit.json holds, for each row, the verdict at first
and now, and the edits that the explanation's advice comes to; they are applied and run here, so that the page, docs/explanations-audit.md, says
what became of the break and of the results.
"""

import argparse
import ast
import difflib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE, VERDICTS = ROOT / "docs" / "explanations-audit.md", ROOT / "docs" / "explanations-audit.json"
PREDICT = ROOT / "tests" / "fixtures" / "predict"
SHARES = {"construct": 0.54, "text": 0.2, "expression": 0.13, "program": 0.13}
AT_MOST_PER_ID = 3
HEAD = """# Explanations, audited

Explanations drawn at random, each with its program, Dynamo's own words and ours, and a verdict: *right*, *misleading* or *wrong*. Judged is
what Python does there, why Dynamo stops at *this* program, what it costs, and the advice. The advice was followed: the edits shown were run, and
the page says what became of the break and of the results. A row that was not right at first has been mended, in the texts or in the code that
puts them together; its reason says what was wrong. The words shown are those of now.

    {command}

draws the rows; without `--seed` those of [explanations-audit.json](explanations-audit.json) are run again, which holds verdicts and edits.

"""
# Runs in the interpreter that has torch: what each pair of programs returns without the compiler, compared.
COMPARE = """
import json, runpy, sys
import torch

def same(a, b):
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=1e-6, equal_nan=True)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if hasattr(a, "tolist") and hasattr(b, "tolist"):
        return a.tolist() == b.tolist()
    return type(a) is type(b) and (a == b or type(a).__eq__ is object.__eq__)

def result(path):
    torch.manual_seed(0)
    found = []
    for _, entry, args, kwargs in runpy.run_path(path)["graphglue_inputs"]():
        torch.manual_seed(1)
        try:
            found.append(entry(*args, **kwargs))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found

pairs = json.load(open(sys.argv[1]))
json.dump([same(result(a), result(b)) for a, b in pairs], open(sys.argv[1], "w"))
"""


@dataclass
class Row:
    """One id met by one program; `site` and `short` are what `check` says of it."""

    source: str
    name: str
    id: str
    program: str
    site: dict[str, Any] = field(default_factory=dict)
    entry: dict[str, Any] = field(default_factory=dict)
    short: str = ""
    others: list[str] = field(default_factory=list)  # ids of the program's other sites
    fixed: str = ""
    after: dict[str, Any] = field(default_factory=dict)
    same: bool = False

    @property
    def key(self) -> str:
        return f"{self.source}/{self.name}/{self.id}"


# ---- programs ----
def used_names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def bound_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def needed(prelude: str, text: str) -> str:
    """The statements of a prelude that a text needs, one import a line."""
    names, kept = used_names(text), []
    for statement in reversed(ast.parse(prelude).body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in reversed(statement.names):
                if (alias.asname or alias.name.split(".")[0]) in names:
                    statement.names = [alias]
                    kept.append(ast.unparse(statement))
            continue
        code = ast.unparse(statement)  # with its decorators
        if bound_names(statement) & names:
            names |= used_names(code)
            kept.append(code)
    return "\n".join(reversed(kept))


def with_inputs(text: str, entry: str, inputs: str, keywords: str = "{}") -> str:
    return f"{text.rstrip()}\n\n\ndef graphglue_inputs():\n    yield 'f', {entry}, {inputs}, {keywords}\n"


def constructs() -> Iterator[Row]:
    table = json.loads((PREDICT / "constructs.json").read_text())
    for name, construct in table["constructs"].items():
        text, body = construct["source"], ast.parse(construct["source"]).body
        has_function = any(isinstance(s, ast.FunctionDef) and s.name == "fn" for s in body)
        if has_function:  # the class M beside it says the same once more
            lines = text.splitlines()
            for statement in body:
                if isinstance(statement, ast.ClassDef) and statement.name == "M":
                    del lines[statement.lineno - 1 : statement.end_lineno]
            text = "\n".join(lines)
        inputs = with_inputs(text, "fn" if has_function else "M()", construct["inputs"])
        program = f"{needed(table['prelude'], inputs)}\n\n\n{inputs}"
        for id in construct["ids"] if construct["breaks"] else []:
            yield Row("construct", name, id, program)


def expressions() -> Iterator[Row]:
    table = json.loads((PREDICT / "expressions.json").read_text())
    for number, row in enumerate(table["expressions"]):
        value = ", v" if row["returned"] else ""
        text = f"def f(x):\n    h = x * 2\n    v = {row['expression']}\n    return h + 1{value}\n"
        program = with_inputs(text, "f", "(torch.randn(4, 4),)")
        for id in row["ids"]:
            yield Row("expression", f"{number:04}", id, f"{needed(table['prelude'], program)}\n\n\n{program}")


def first_call(program: str) -> ast.Call | None:
    """The first call, at module level, of something the program compiles."""
    compiled: set[str] = set()
    for statement in ast.parse(program).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            if any("torch.compile" in ast.unparse(d) for d in statement.decorator_list):
                compiled.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in compiled:
                return node
        if isinstance(statement, ast.Assign) and "torch.compile(" in ast.unparse(statement.value):
            compiled |= bound_names(statement)
    return None


def texts() -> Iterator[Row]:
    for path in sorted((ROOT / "analysis" / "explain" / "texts").glob("*.md")):
        found = re.search(r"^## Before\n```python\n(.*?)```", path.read_text(), re.DOTALL | re.MULTILINE)
        assert found, path
        call = first_call(found[1])
        if call is not None:
            inputs = "(" + "".join(f"{ast.unparse(a)}, " for a in call.args) + ")"
            keywords = "{" + ", ".join(f"{k.arg!r}: {ast.unparse(k.value)}" for k in call.keywords) + "}"
            yield Row("text", path.stem, path.stem, with_inputs(found[1], ast.unparse(call.func), inputs, keywords))


def programs() -> Iterator[Row]:
    for path in sorted((ROOT / "tests" / "fixtures" / "explain").glob("GB*.py")):
        yield Row("program", path.stem, path.stem[:6], path.read_text())


# ---- drawing and running ----
def check(support: Path, python: str, folder: Path, form: str) -> dict[str, Any]:
    command = [support / "graphglue-lsp", "check", form, "--timeout", "60", "--python", python, "."]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def without_places(words: str) -> str:
    """Addresses, and the folders of the machine, say nothing to a reader."""
    words = re.sub(r"\b0x[0-9a-f]+|\b\d{15}\b", "0x…", words)
    return re.sub(r"(?<=[`( \"])/[^`\"() ]*?/(site-packages|python3\.\d+)/", "…/", words)


def meets(site: dict[str, Any], row: Row) -> bool:
    return row.id == site["id"] or row.id in site["aggravations"]


def entries_of(support: Path, python: str, folder: Path) -> dict[str, dict[str, Any]]:
    """File name -> its only entry."""
    return {
        Path(f["path"]).name: f["entries"][0] for f in check(support, python, folder, "--json")["files"] if f["entries"]
    }


def run(rows: list[Row], support: Path, python: str) -> list[Row]:
    """The rows whose programs met their id, with what was said of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for number, row in enumerate(rows):
            (folder / f"p{number:03}.py").write_text(row.program)
        entries = entries_of(support, python, folder)
        lines = {}
        for result in check(support, python, folder, "--sarif")["runs"][0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            region = place["region"]
            where = (
                Path(place["artifactLocation"]["uri"]).name,
                region["startLine"],
                region["startColumn"],
                result["ruleId"],
            )
            lines[where] = result["message"]["text"]
        met = []
        for number, row in enumerate(rows):
            file = f"p{number:03}.py"
            entry = json.loads(
                without_places(
                    json.dumps(entries.get(file, {"sites": []})).replace(f"{folder}/", "").replace(file[:-3], "program")
                )
            )
            sites = [site for site in entry["sites"] if meets(site, row)]
            if sites:
                start = sites[0]["range"]["start"]
                row.site, row.entry = sites[0], entry
                row.short = lines[file, start["line"] + 1, start["character"] + 1, sites[0]["id"]]
                row.others = [site["id"] for site in entry["sites"] if site is not sites[0]]
                met.append(row)
    return met


def draw(pools: dict[str, list[Row]], options: argparse.Namespace) -> list[Row]:
    """As many rows as asked for, those of one source together."""
    rng = random.Random(options.seed)  # noqa: S311 - nothing secret
    per_id: Counter[str] = Counter()
    drawn: list[Row] = []
    for source, rows in pools.items():
        rng.shuffle(rows)
        left, wanted = iter(rows), min(round(options.count * SHARES[source]), len(rows))
        met: list[Row] = []
        while len(met) < wanted:
            batch: list[Row] = []
            while len(batch) < wanted - len(met) and (row := next(left, None)):
                if per_id[row.id] < AT_MOST_PER_ID:
                    per_id[row.id] += 1
                    batch.append(row)
            if not batch:
                break
            met += run(batch, options.support, options.python)
        drawn += met
    return drawn


def follow_advice(rows: list[Row], verdicts: dict[str, Any], options: argparse.Namespace) -> None:
    """Applies the edits that were written down, and runs what comes of them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        pairs, edited = [], [row for row in rows if verdicts.get(row.key, {}).get("edits")]
        for number, row in enumerate(edited):
            row.fixed = row.program
            for old, new in verdicts[row.key]["edits"]:
                if row.fixed.count(old) != 1:
                    sys.exit(f"{row.key}: {old!r} stands {row.fixed.count(old)} times in the program")
                row.fixed = row.fixed.replace(old, new)
            (folder / f"p{number:03}.py").write_text(row.fixed)
        entries = entries_of(options.support, options.python, folder) if edited else {}
        for number, row in enumerate(edited):
            row.after = entries[f"p{number:03}.py"]
            (folder / f"b{number:03}.py").write_text(row.program)
            pairs.append([str(folder / f"b{number:03}.py"), str(folder / f"p{number:03}.py")])
        job = folder / "pairs.json"
        job.write_text(json.dumps(pairs))
        command = [options.python, "-W", "ignore", "-c", COMPARE, str(job)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=folder)
        for row, same in zip(edited, json.loads(job.read_text()), strict=True):
            row.same = same


# ---- the page ----
def quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def outcome(row: Row) -> str:
    def counts(entry: dict[str, Any]) -> str:
        breaks = sum(site["count"] for site in entry["sites"])
        return f"{entry['graphs']} graph{'s' * (entry['graphs'] != 1)}, {breaks} break{'s' * (breaks != 1)}"

    gone = "stays" if any(meets(site, row) for site in row.after["sites"]) else "is gone"
    same = "the same" if row.same else "different"
    return f"Advice followed: {counts(row.entry)} → {counts(row.after)} ({row.after['status']}); {row.id} {gone}; results {same}."


def show(number: int, row: Row, verdict: dict[str, Any]) -> str:
    entry = row.entry
    other = f"; also met: {', '.join(row.others)}" if row.others else ""
    line = row.site["range"]["start"]["line"] + 1
    mended = f" now, {verdict['at_first']} at first" if verdict and verdict["at_first"] != verdict["verdict"] else ""
    said = f"{verdict['verdict']}{mended}. {verdict['why']}" if verdict else "not judged yet"
    parts = [
        f"## {number}. {row.id} ({row.source} {row.name})\n",
        f"```python\n{row.program.rstrip()}\n```\n",
        f"Line {line}; {row.site['kind']}; {entry['graphs']} graphs, {row.site['count']} breaks here{other}.\n",
        f"Dynamo:\n\n```\n{row.site['reason'].split(' For more details')[0].rstrip()}\n```\n",
        f"Ours, {row.site['category'].replace('_', ' ')}:\n\n{quote(row.short)}\n>\n{quote(row.site['explanation'])}\n",
    ]
    if row.fixed:
        lines = [text.splitlines() for text in (row.program, row.fixed)]
        diff = "\n".join(
            line for line in difflib.unified_diff(*lines, lineterm="", n=1) if line[:3] not in ("---", "+++")
        )
        parts.append(f"{outcome(row)}\n\n```diff\n{diff}\n```\n")
    return "\n".join([*parts, f"**Verdict**: {said}\n"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--support", type=Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument(
        "--show", type=Path, default=PAGE, help="where to write the page (default: docs/explanations-audit.md)"
    )
    options = parser.parse_args()
    options.support = options.support.resolve()
    state = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {"seed": None, "rows": {}}
    verdicts = state["rows"]
    pools = {
        "construct": list(constructs()),
        "text": list(texts()),
        "expression": list(expressions()),
        "program": list(programs()),
    }
    sizes = {source: len(pool) for source, pool in pools.items()}
    if options.seed is None:
        options.seed, found = state["seed"], {row.key: row for pool in pools.values() for row in pool}
        wanted = [found[key] for key in verdicts]
        rows = run(wanted, options.support, options.python)
        for row in wanted:
            if row not in rows:
                print(f"{row.key} is not met any more", file=sys.stderr)
    else:
        rows = draw(pools, options)
        state = {"seed": options.seed, "rows": {row.key: verdicts.get(row.key, {}) for row in rows}}
        VERDICTS.write_text(json.dumps(state, indent=1, ensure_ascii=False) + "\n")
        verdicts = state["rows"]
    follow_advice(rows, verdicts, options)
    judged = "; ".join(
        f"{when}: "
        + ", ".join(f"{n} {word}" for word, n in Counter(v[key] for v in verdicts.values() if v).most_common())
        for key, when in (("at_first", "at first"), ("verdict", "now"))
    )
    came = ", ".join(f"{sum(row.source == s for row in rows)} of {n} {s}s" for s, n in sizes.items())
    gone = sum(bool(row.fixed) and not any(meets(site, row) for site in row.after["sites"]) for row in rows)
    tried = sum(bool(row.fixed) for row in rows)
    same = sum(row.same for row in rows)
    summary = (
        f"Seed {options.seed}, torch {torch_of(options)}: {len(rows)} rows ({came}). Verdicts {judged}. "
        f"Advice followed in {tried}: the break is gone in {gone}, results are the same in {same}."
    )
    command = f"python tools/audit_explanations.py --seed {options.seed} --count {options.count}"
    pages = [show(number, row, verdicts.get(row.key, {})) for number, row in enumerate(rows, 1)]
    options.show.write_text(HEAD.format(command=command) + summary + "\n\n" + "\n".join(pages))
    print(summary)
    return 0


def torch_of(options: argparse.Namespace) -> str:
    done = subprocess.run(
        [options.python, "-c", "import torch; print(torch.__version__.split('+')[0])"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
