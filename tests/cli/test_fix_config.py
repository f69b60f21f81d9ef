"""`fix` with a setting of Dynamo: told in the JSON, in force while the edit is verified, and nowhere else.  And with what hides code."""

from pathlib import Path
from typing import Any

from conftest import HEAD

RNN = (
    HEAD
    + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.rnn = nn.LSTM(4, 5)\n\n"
    + "    def forward(self, x):\n        return self.rnn(x)[0] * 2\n\n\n"
    + "def graphglue_inputs():\n    yield 'net', Net(), (torch.randn(3, 2, 4),), {}\n"
)


def test_a_setting_is_told_and_does_not_leak(tmp_path: Path, run_json: Any) -> None:
    files = [tmp_path / name for name in ("first.py", "second.py")]
    for file in files:
        file.write_text(RNN)
    code, out = run_json("fix", "--max-safety", "config", *map(str, files))
    assert code == 0 and len(out["files"]) == 2
    for result in out["files"]:
        (repair,) = result["repairs"]
        # The second file is captured after the first one's edit was run with the setting.
        assert result["entries"][0]["before"]["status"] == "breaks" and result["entries"][0]["glued"]
        assert repair["verdict"]["accepted"] and repair["safety"] == "config"
        assert repair["config"] == {"allow_rnn": True}
        assert "from torch import nn\n\ntorch._dynamo.config.allow_rnn = True\n" in result["patched"]


def test_a_setting_is_not_made_unasked(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(RNN)
    for safety in ("exact", "numeric"):
        code, out = run_json("fix", "--max-safety", safety, str(file))
        assert code == 1 and out["files"][0]["repairs"] == [] and out["files"][0]["patched"] == RNN


def test_a_setting_that_changes_nothing_is_refused(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(
        HEAD
        + "def f(x, names):\n    return x * len(names[int(x.argmax())])\n\n\n"
        + "def graphglue_inputs():\n    yield 'f', f, (torch.ones(2), ['a', 'bc']), {}\n"
    )
    code, out = run_json("fix", "--max-safety", "config", str(file))
    tried = [r for r in out["files"][0]["repairs"] if r["config"] == {"capture_scalar_outputs": True}]
    assert code == 1 and tried and not any(r["verdict"]["accepted"] for r in tried)


def test_what_hides_code_is_never_glued(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(
        HEAD
        + "import time\n\n\ndef show(a):\n    time.sleep(a.dim() * 0)\n    return torch.relu(a) * 3\n\n\n"
        + "def f(x):\n    return show(x * 2) + 1\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.ones(2),), {}\n"
    )
    code, out = run_json("fix", "--max-safety", "opaque", str(file))
    result = out["files"][0]
    assert [r["rule"] for r in result["repairs"] if r["verdict"]["accepted"]] == ["GG064"], result["repairs"]
    assert "@torch._dynamo.nonstrict_trace\ndef show(a):" in result["patched"]
    entry = result["entries"][0]
    assert entry["after"]["graphs"] == 1 and not entry["glued"]
    code, out = run_json("fix", "--max-safety", "config", str(file))
    assert code == 1 and "nonstrict_trace" not in out["files"][0]["patched"]


def test_a_setting_and_a_message_are_both_mended(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    for forward in (
        "print(x.mean())\n        return self.rnn(x)[0] * 2",
        "x = self.rnn(x)[0] * 2\n        print(x.mean())\n        return x",
    ):
        file.write_text(RNN.replace("return self.rnn(x)[0] * 2", forward))
        code, out = run_json("fix", "--max-safety", "config", str(file))
        repairs = out["files"][0]["repairs"]
        assert {(r["safety"], r["verdict"]["accepted"]) for r in repairs} == {("config", True), ("effects", True)}, (
            repairs
        )
        assert code == 0 and out["files"][0]["entries"][0]["glued"]
