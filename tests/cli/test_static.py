"""`check --static`: what the text alone tells, and how right it is on constructs whose verdict was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import HEAD, ROOT, cli

sys.path.insert(0, str(ROOT / "tools"))
from record_expressions import inputs_of, program  # noqa: E402

NET = HEAD + "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
CERTAIN = NET + "        print(x)\n        return x\n"
CONDITIONAL = NET + "        if self.training:\n            print(x)\n        return x\n"


def test_findings_of_the_contract(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    (tmp_path / "a.py").write_text(CERTAIN)
    (tmp_path / "b.py").write_text(CONDITIONAL)
    code, out = run_json("check", "--static", "a.py", "b.py", cwd=tmp_path)
    (first,), (second,) = (f["findings"] for f in out["files"])
    assert code == 1 and all(f["entries"] == [] for f in out["files"])
    assert (first["certainty"], first["guard"], first["id"], first["rule"]) == (
        "certain",
        None,
        "GB0059",
        "skipped-builtin",
    )
    assert first["range"] == {"start": {"line": 7, "character": 8}, "end": {"line": 7, "character": 16}}
    assert (second["certainty"], second["guard"]) == ("conditional", "self.training")


def test_what_is_only_conditional_raises_no_exit_code(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(CONDITIONAL)
    done = cli("check", "--static", "b.py", cwd=tmp_path, python=None)
    assert done.returncode == 0, done.stdout
    assert "b.py:9:13: GB0059 " in done.stdout and "only if: self.training" in done.stdout
    assert "0 certain findings, 1 conditional" in done.stdout and "nothing was run" in done.stdout


def test_nothing_is_run_and_no_python_is_needed(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + CERTAIN)
    done = cli("check", "--static", "p.py", cwd=tmp_path, python="/nonexistent/python")
    assert done.returncode == 1 and not (tmp_path / "ran").exists()


def test_ids_are_chosen_and_a_syntax_error_has_a_place(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    (tmp_path / "a.py").write_text(CERTAIN)
    assert run_json("check", "--static", "--ignore", "GB0059", "a.py", cwd=tmp_path)[1]["files"][0]["findings"] == []
    (tmp_path / "half.py").write_text(CERTAIN + "\n\ndef f(:\n    pass\n")
    done = cli("check", "--static", "half.py", cwd=tmp_path)
    assert done.returncode == 2 and "half.py:12:" in done.stdout and "syntax error" in done.stdout


def test_many_files_come_in_their_order(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    for i in range(150):
        (tmp_path / f"m{i:03}.py").write_text(
            "x = 1\n" * (2000 if i % 10 == 0 else 1) + (CERTAIN if i % 3 == 0 else "")
        )
    one, many = (run_json("check", "--static", "-j", jobs, str(tmp_path))[1]["files"] for jobs in ("1", "4"))
    assert one == many
    assert [Path(f["path"]).name for f in one] == [f"m{i:03}.py" for i in range(150)]
    assert [len(f["findings"]) for f in one] == [1 if i % 3 == 0 else 0 for i in range(150)]


def right_and_found(files: list[dict[str, Any]], ids: dict[str, list[str]], what: str) -> None:
    """Of the files, named as `ids`: what is called certain must break, and nearly all that breaks must be found."""
    certain, found, right_ids, all_ids = set(), set(), 0, 0
    for file in files:
        assert file["error"] is None
        name = Path(file["path"]).stem
        for finding in file["findings"]:
            if not finding["id"].startswith("GB"):
                continue
            found.add(name)
            if finding["certainty"] == "certain":
                certain.add(name)
                all_ids += 1
                right_ids += finding["id"] in ids[name]
    breaking = {name for name, met in ids.items() if met}
    precision, recall = len(certain & breaking) / len(certain), len(found & breaking) / len(breaking)
    wrong, missed = sorted(certain - breaking), sorted(breaking - found)
    print(
        f"{len(ids)} {what}: precision of certain {precision:.3f}, recall {recall:.3f}, ids right {right_ids} of {all_ids}",
        file=sys.stderr,
    )
    assert precision >= 0.99, wrong
    assert recall >= 0.90, missed


def test_constructs(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    """Each was compiled with torch 2.13 once."""
    table = json.loads((ROOT / "tests" / "fixtures" / "predict" / "constructs.json").read_text())
    constructs = table["constructs"]
    for name, construct in constructs.items():
        inputs = f"\n\ndef graphglue_inputs():\n    yield 'fn', fn, {construct['inputs']}, {{}}\n"
        (tmp_path / f"{name}.py").write_text(table["prelude"] + "\n" + construct["source"] + inputs)
    _, out = run_json("check", "--static", str(tmp_path))
    ids = {name: construct["ids"] if construct["breaks"] else [] for name, construct in constructs.items()}
    right_and_found(out["files"], ids, "constructs")


def test_expressions(tmp_path: Path, run_json: Callable[..., Any]) -> None:
    """Single expressions of Python's library, NumPy and torch, met by captures with torch 2.13 (tools/record_expressions.py)."""
    table = json.loads((ROOT / "tests" / "fixtures" / "predict" / "expressions.json").read_text())
    ids = {}
    for number, row in enumerate(table["expressions"]):
        name = f"e{number:04}"
        (tmp_path / f"{name}.py").write_text(program(table["prelude"], "f", row) + inputs_of(["f"]))
        ids[name] = row["ids"]
    _, out = run_json("check", "--static", str(tmp_path))
    for file in out["files"]:  # what stands in the prelude is found in every file
        file["findings"] = [f for f in file["findings"] if f["range"]["start"]["line"] > table["prelude"].count("\n")]
    right_and_found(out["files"], ids, "expressions")
