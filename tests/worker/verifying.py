"""Programs, edits of them, and the verdict they deserve."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = "import torch\nfrom torch import nn\n\n\n"
TAIL = "\n\ndef graphglue_inputs():\n    yield 'e', {entry}, {args}, {{}}\n"
BRANCH = "    if h.sum() > 0:\n        y = {a}\n    else:\n        y = {b}\n    return y\n"
F = "def f(x):\n    h = x * 2\n"


@dataclass
class Case:
    """An edit and the verdict it deserves; `reason` is a part of the refusal, empty when the edit is right."""

    name: str
    before: str
    after: str
    reason: str = ""
    args: str = "(torch.randn(4, 4),)"
    safety: str = "exact"
    entry: str = "f"
    outputs: str = ""
    glued: bool = True
    copies: bool = False  # the rule says that an arm may be a tensor that others hold


def verify(worker: Any, folder: Path, case: Case, **request: Any) -> dict[str, Any]:
    """The verdict of the worker."""
    file = str(folder / "program.py")
    tail = TAIL.format(entry=case.entry, args=case.args)
    job = worker.submit(
        "verify",
        file,
        original=[{"file": file, "text": HEAD + case.before + tail}],
        edited=[{"file": file, "text": HEAD + case.after + tail}],
        safety=case.safety,
        copies=case.copies,
        deadline_ms=120_000,
        **request,
    )
    frames = list(worker.frames(job, 240))
    assert not Path(file).exists()
    return next((f["verdict"] for f in frames if f["op"] == "verdict"), frames[-1])


def check(worker: Any, folder: Path, case: Case) -> None:
    """Assert that the verdict is the one deserved."""
    verdict = verify(worker, folder, case)
    assert verdict["copies"] is case.copies
    if not case.reason:
        assert verdict["accepted"], verdict["reasons"]
        assert verdict["glued"] is case.glued and verdict["outputs"] == "identical"
        if case.glued:
            assert verdict["graphs_after"] == 1 and verdict["breaks_before"] > 0 and verdict["breaks_after"] == 0
    else:
        assert not verdict["accepted"] and not verdict["glued"]
        assert case.reason in " ".join(verdict["reasons"]), verdict["reasons"]
    if case.outputs:
        assert verdict["outputs"] == case.outputs
