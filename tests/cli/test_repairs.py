"""`fix` on a table of measured break patterns: what it glues, at what safety; and what it does not, one by one."""

import json
import sys
from typing import Any

import pytest
from conftest import BIN, ROOT

sys.path.insert(0, str(ROOT / "bench"))
import repairs

PROGRAMS = repairs.programs(json.loads((ROOT / "tests" / "fixtures" / "repairs.json").read_text()))
# What is not glued at the safety that the table gives, and why.
LEFT = {
    "33 int(t)": "Python raises on NaN and infinity, the tensor does not: a sum of an argument is not proven to be finite",
    "35 x[:, :n] tensor slice": "numeric: the sum of floats under a mask is made in another order; all sums of a beginning, of which one is chosen, "
    "cost more than the break from a few columns on (docs/rules/GG034.md)",
    "40 l[t] list by tensor": "effects: n is any number, and of an index that is not there Inductor makes a RuntimeError of the IndexError",
    "60 bincount": "x holds any numbers: of 8 and more bincount makes a longer result, where the table's rewrite raises",
    "61 repeat_interleave(tensor)": "n holds any numbers: the table's output_size is the sum of its own, and raises for others",
    "62 F.one_hot(x)": "x holds any numbers: the table's num_classes is for its own, and gives others another shape, or raises",
    "72 detect_anomaly ctx": "effects: its warning is not said under the compiler; the table's rewrite says it nowhere",
    "87 torch.use_deterministic/ set_default": "each call sets it for the whole process, whoever changed it meanwhile; the table's "
    "rewrite leaves it to callers, which may be anywhere, and asking what is set (torch.get_num_threads) breaks the graph as well",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("repairs")
    mended = repairs.mend(PROGRAMS, folder, BIN / "graphglue-lsp", sys.executable)
    return {program["name"]: result for program, result in zip(PROGRAMS, mended, strict=True)}


@pytest.mark.parametrize("program", PROGRAMS, ids=[p["name"] for p in PROGRAMS])
def test_program(program: dict[str, Any], results: dict[str, dict[str, Any]]) -> None:
    result = results[program["name"]]
    assert result["error"] is None and result["entries"]
    glued = all(e["glued"] for e in result["entries"])
    wrong = [r for r in result["repairs"] if r["verdict"]["outputs"] == "different"]
    assert not wrong, f"proposed what changes results: {wrong}"
    if program["wanted"]:
        assert glued != (program["name"] in LEFT), repairs.left(result)


def test_what_is_left_is_there() -> None:
    assert set(LEFT) <= {p["name"] for p in PROGRAMS if p["wanted"]}
