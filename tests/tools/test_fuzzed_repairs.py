"""What rules make of the fuzzer's programs, judged by Python itself: tree-sitter takes more for Python than Python does."""

import ast
import os
import subprocess
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parses(path: Path) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes and the like: they are the program's
        try:
            ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return False
    return True


def test_what_was_python_still_is(tmp_path):
    program = Path(os.environ.get("GRAPHGLUE_BIN") or ROOT / "build" / "asan" / "bin") / "fuzz_repair"
    corpus = ROOT / "tests" / "fuzz" / "corpora" / "repair"
    subprocess.run(
        [program, corpus], env={**os.environ, "GG_RESULTS": str(tmp_path)}, check=True, capture_output=True, timeout=120
    )
    edited = [p for p in tmp_path.glob("*.before.py") if parses(p)]
    assert len(edited) > 20
    wrong = [p.name for p in edited if not parses(p.with_name(p.name.replace(".before.", ".after.")))]
    assert not wrong
