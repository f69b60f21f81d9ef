"""The rules' fixtures, before and after, run under torch: the worker accepts every expected text.

Inputs are made from the fixture's `# facts:` line, in the order of the parameters of its module-level ``f``; fixtures of methods are
covered by tests/cli.

With GG_RULE_RESULTS=2/3 only the second third of them runs, and those of the last commits; `script/test` takes a third that depends on the commit.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "repair"
ROOT = FIXTURES.parents[2]
RULES = ROOT / "repair" / "rules"
RECENT_COMMITS = 10


def safety_of(code: str) -> str:
    """What the rule's own file declares."""
    (source,) = RULES.glob(f"{code.lower()}_*.c")
    declared = re.search(r"\.safety = GG_SAFETY_(\w+)", source.read_text())
    assert declared, source
    return declared.group(1).lower()


def functions() -> list[Path]:
    """Fixtures with an expected text and a module-level ``f``."""
    found = []
    for path in sorted(FIXTURES.glob("GG*/*.py")):
        has_expected = path.with_name(path.stem + ".expected.py").exists()
        if has_expected and any(
            isinstance(n, ast.FunctionDef) and n.name == "f" for n in ast.parse(path.read_text()).body
        ):
            found.append(path)
    return found


def recent() -> set[str]:
    """Names of fixtures that the last commits wrote or changed, or that belong to a rule whose own file they changed."""
    listed = subprocess.run(
        ["git", "log", f"-{RECENT_COMMITS}", "--format=", "--name-only", "--", "repair/rules", "tests/fixtures/repair"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    names = {name.removesuffix(".py").removesuffix(".expected") for name in listed if name.startswith("tests/")}
    return names | {Path(name).name[:5].upper() for name in listed if name.startswith("repair/")}


def chosen() -> list[Path]:
    """The fixtures to run: all, or the part that GG_RULE_RESULTS says, and the recent ones."""
    of = functions()
    part = os.environ.get("GG_RULE_RESULTS")
    if not part:
        return of
    which, parts = map(int, part.split("/"))
    new = recent()
    return [
        path
        for i, path in enumerate(of)
        if i % parts == which % parts or path.parent.name in new or str(path.relative_to(ROOT).with_suffix("")) in new
    ]


def arguments(text: str) -> str:
    """Source of the argument tuple: the `# inputs:` line, else positive tensors and numbers for facts, True for what has none (a flag)."""
    head = [line for line in text.splitlines()[:6] if line.startswith("# ")]
    given = next((line.partition(": ")[2] for line in head if line.startswith("# inputs: ")), None)
    if given:
        return given
    facts = dict(re.findall(r"(\w+)=(\w+(?:\[[\d,]*\])?)", " ".join(x for x in head if x.startswith("# facts:"))))
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "f")
    made = []
    for parameter in function.args.args:
        fact = facts.get(parameter.arg) or (facts.get("h") if parameter.arg == "x" else None)
        if fact is None or "[" not in fact:
            made.append({"int": "3", "float": "2.5"}.get(fact or "", "True"))
            continue
        dtype, shape = fact.rstrip("]").split("[")
        made.append(f"(torch.rand(({shape}{',' if shape else ''})) + 0.5).to(torch.{dtype})")
    return f"({', '.join(made)},)"


def left_by(text: str) -> int:
    """Breaks that are another rule's: the number of the `# left:` line."""
    found = re.search(r"^# left: (\d+)$", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


@pytest.mark.parametrize("path", chosen(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_expected_text_is_accepted(path: Path, worker, tmp_path: Path) -> None:
    file = str(tmp_path / "program.py")
    before, after = path.read_text(), path.with_name(path.stem + ".expected.py").read_text()
    tail = f"\n\ndef graphglue_inputs():\n    import torch\n    yield 'f', f, {arguments(before)}, {{}}\n"
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": before + tail}],
        edited=[{"file": file, "text": after + tail}],
        safety=safety_of(path.parent.name),
        copies="\n# copies\n" in before,
    )
    verdict = next(f["verdict"] for f in worker.frames(job) if f["op"] == "verdict")
    assert verdict["accepted"], verdict["reasons"]
    assert verdict["breaks_after"] == left_by(before)


def test_there_are_fixtures() -> None:
    assert {p.parent.name for p in functions()} == {p.name[:5].upper() for p in RULES.glob("gg*.c")}
