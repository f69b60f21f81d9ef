"""Branches whose arms call modules: selected from where the call is known to be pure, kept in the graph where the compiler takes it, else left."""

from collections import Counter
from pathlib import Path
from typing import Any

from conftest import HEAD

NET = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = {first}
        self.second = {second}

    def forward(self, x):
        if x.sum() > 0:
            y = self.first(x)
        else:
            y = self.second(x) * 2
        return y

"""
MENDED = {
    "Linear": ("nn.Linear(4, 4)", "nn.Linear(4, 4, bias=False)"),
    "Chain": ("nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 4))", "nn.Linear(4, 4)"),
    "Norms": ("nn.LayerNorm(4)", "nn.Sequential(nn.Identity(), nn.LayerNorm(4))"),
    "Conv": ("nn.Conv1d(3, 3, 3, padding=1)", "nn.Sequential(nn.Conv1d(3, 3, 1), nn.GELU())"),
}
KEPT = {  # as a branch of the graph: torch.cond
    "Drop": ("nn.Linear(4, 4)", "nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))"),
}
LEFT = {
    "DropAutocast": ("nn.Linear(4, 4)", "nn.Dropout(0.5)"),
    "Norm": ("nn.BatchNorm1d(3)", "nn.Identity()"),
    "Shapes": ("nn.Linear(4, 4)", "nn.Linear(4, 1)"),
    "Fails": ("nn.Linear(4, 4)", "nn.Linear(5, 4)"),
    "Autocast": ("nn.LayerNorm(4)", "nn.Linear(4, 4)"),
    "InPlace": ("nn.ReLU(inplace=True)", "nn.Linear(4, 4)"),
}


def test_arms(tmp_path: Path, run_json: Any) -> None:
    nets = {**MENDED, **KEPT, **LEFT}
    text = (
        HEAD + "from torch import nn\n" + "".join(NET.format(name=n, first=a, second=b) for n, (a, b) in nets.items())
    )
    text += "\ndef graphglue_inputs():\n"
    text += "".join(f"    yield '{n}', {n}(), (torch.rand(2, 3, 4),), {{}}\n" for n in nets)
    file = tmp_path / "p.py"
    file.write_text(text)
    _, out = run_json("fix", str(file))
    result = out["files"][0]
    assert {e["name"] for e in result["entries"] if e["glued"]} == {*MENDED, *KEPT}
    rules = Counter(r["rule"] for r in result["repairs"] if r["verdict"]["accepted"])
    assert rules["GG122"] == len(KEPT) and rules.total() == len(MENDED) + len(KEPT)
    assert all(r["verdict"]["accepted"] or r["rule"] == "GG122" for r in result["repairs"])
