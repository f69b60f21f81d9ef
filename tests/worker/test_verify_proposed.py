"""Input sets that a model proposes: expressions that are followed, never run, and what an edit has to hold on then."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
from verifying import BRANCH, Case, F, verify

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis" / "worker"))

from graphglue_worker import proposed  # noqa: E402 - after the path is set

BEFORE = F + BRANCH.format(a="h + 1", b="h - 1")
RIGHT = F + "    return torch.where(h.sum() > 0, h + 1, h - 1)\n"
# Wrong where the sum is a very small one: none of our own input sets has that.
NEARLY = F + "    return torch.where(h.sum() > 1e-20, h + 1, h - 1)\n"
TINY = "(torch.full((4, 4), 1e-25),)"


def judged(worker, folder: Path, after: str, proposals: list[str], **request: Any) -> dict[str, Any]:
    return verify(worker, folder, Case("", BEFORE, after), more_inputs=proposals, **request)


def test_what_is_right_on_ours_and_wrong_on_the_models_is_refused(worker, tmp_path: Path) -> None:
    assert verify(worker, tmp_path, Case("", BEFORE, NEARLY))["accepted"]
    verdict = judged(worker, tmp_path, NEARLY, [TINY, "(given[0] * 3,)"], sandbox=True)
    assert not verdict["accepted"] and verdict["outputs"] == "different"
    assert f"on the proposed inputs `{TINY}`" in " ".join(verdict["reasons"])
    assert verdict["proposed"] == [f"{TINY}: compared", "(given[0] * 3,): compared"]


def test_what_is_right_on_them_too_is_accepted(worker, tmp_path: Path) -> None:
    proposals = [TINY, "(torch.randn(7, 2),)", "(given[0] * 0 - 1,)"]
    verdict = judged(worker, tmp_path, RIGHT, proposals)
    assert verdict["accepted"] and verdict["glued"], verdict["reasons"]
    assert verdict["compared"][0] == "on 6 input sets", "the given ones, twice, those of another seed, and these"
    assert [text.rpartition(": ")[2] for text in verdict["proposed"]] == ["compared"] * 3
    assert verdict["entries"][0]["arguments"] == "(float32 [4, 4])"


def test_what_is_no_input_set_costs_nothing(worker, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    proposals = [
        "given[0]",
        "(torch.randn(4, 4)",
        "(__import__('os').unlink('kept'),)",
        "(open('kept', 'w'),)",
        "(torch.load('kept'),)",
        "(given[0].tolist(),)",
        "(lambda: 1,)",
        "([x for x in given],)",
        "(torch.zeros(1 << 20, 1 << 20),)",
        "(torch.zeros(1000000, 1) * torch.zeros(1, 1000000),)",
        "(10 ** 10 ** 10,)",
        "(torch.zeros(4, 4, dtype=torch.int64),)",
        "(torch.zeros(4),)",
        "(given[0], given[0])",
        "(given[1],)",
        "{'x': given[0]}",
        "(" * 400 + ")" * 400,
    ]
    verdict = judged(worker, tmp_path, RIGHT, proposals[:16])
    assert verdict["accepted"], verdict["reasons"]
    assert [text for text in verdict["proposed"] if "left out" not in text] == []
    verdict = judged(worker, tmp_path, RIGHT, proposals[16:])
    assert verdict["accepted"] and "left out" in verdict["proposed"][0]
    assert (tmp_path / "kept").exists()


def test_what_the_original_cannot_do_is_not_asked(worker, tmp_path: Path) -> None:
    checked = "def f(x):\n    if x.shape[0] != 4:\n        raise ValueError(x.shape)\n    h = x * 2\n"
    before, after = (checked + BRANCH.format(a="h + 1", b="h - 1"), checked + RIGHT.removeprefix(F))
    case = Case("", before, after.replace("raise ValueError(x.shape)", "raise KeyError(x.shape)"))
    verdict = verify(worker, tmp_path, case, more_inputs=["(torch.randn(5, 4),)"])
    assert verdict["accepted"], verdict["reasons"]
    assert verdict["proposed"] == ["(torch.randn(5, 4),): left out: the original raises ValueError"]


# ---- the language -----------------------------------------------------------------------------------------------------------


def test_arguments_have_the_form_of_those_given() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    args, kwargs = (x, [1, 2.0]), {"mask": torch.ones(2, dtype=torch.bool), "scale": 1.5, "name": "a"}

    def made(text: str) -> Any:
        return proposed.read(text).arguments(args, kwargs, 0)

    (a, b), same = made("(torch.arange(8).to, [3, 4])".replace(".to", " * 1.0 + torch.zeros(1, 8)"))
    assert a.dtype == torch.float64 and a.shape == (1, 8) and a.requires_grad and b == [3, 4.0] and same is kwargs
    got = made("{'mask': torch.rand(5) > 0.5, 'scale': -math.inf}")[1]
    assert (
        got["mask"].dtype == torch.bool
        and got["mask"].shape == (5,)
        and got["scale"] == -math.inf
        and got["name"] == "a"
    )
    assert made("{'mask': given['mask'], 'name': 'b'}")[1]["mask"] is kwargs["mask"]
    assert torch.equal(
        made("(torch.randn_like(given[0]), [1, 1])")[0][0], made("(torch.randn_like(given[0]), [1, 1])")[0][0]
    )
    for text in (
        "(given[0], [1])",
        "(given[0], (1, 2))",
        "{'none': 1}",
        "{'scale': 'x'}",
        "(1, [1, 2])",
        "{'mask': given[0]}",
    ):
        with pytest.raises(proposed.Refused):
            made(text)
