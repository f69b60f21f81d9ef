"""The rules' fixtures, before and after, run under torch: the worker accepts every expected text.

Inputs are made from the fixture's `# facts:` line, in the order of the parameters of its module-level ``f``; fixtures of methods are
covered by tests/cli.
"""

import ast
import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "repair"
SAFETY = {"GG001": "effects", "GG002": "exact", "GG003": "exact", "GG004": "effects"}


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


def arguments(text: str) -> str:
    """Source of the argument tuple: positive tensors for facts, True for what has none (a flag)."""
    facts = dict(re.findall(r"(\w+)=(\w+\[[\d,]*\])", text.splitlines()[1]))
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "f")
    made = []
    for parameter in function.args.args:
        fact = facts.get(parameter.arg) or (facts.get("h") if parameter.arg == "x" else None)
        if fact is None:
            made.append("True")
            continue
        dtype, shape = fact.rstrip("]").split("[")
        made.append(f"(torch.rand(({shape}{',' if shape else ''})) + 0.5).to(torch.{dtype})")
    return f"({', '.join(made)},)"


@pytest.mark.parametrize("path", functions(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_expected_text_is_accepted(path: Path, worker, tmp_path: Path) -> None:
    file = str(tmp_path / "program.py")
    before, after = path.read_text(), path.with_name(path.stem + ".expected.py").read_text()
    tail = f"\n\ndef graphglue_inputs():\n    import torch\n    yield 'f', f, {arguments(before)}, {{}}\n"
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": before + tail}],
        edited=[{"file": file, "text": after + tail}],
        safety=SAFETY[path.parent.name],
    )
    verdict = next(f["verdict"] for f in worker.frames(job) if f["op"] == "verdict")
    assert verdict["accepted"], verdict["reasons"]
    assert verdict["breaks_after"] == 0


def test_there_are_fixtures() -> None:
    assert {p.parent.name for p in functions()} == set(SAFETY)
