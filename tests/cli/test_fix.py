"""`fix`: proved edits, refused ones, what is written and when; `explain` and `doctor`."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, ROOT, cli

PROGRAM = (
    HEAD
    + "def f(x):\n    h = x * 2\n    # keep the sign\n    if h.sum() > 0:\n        y = h + 1\n    else:\n        y = h - 1\n    return y\n\n\n"
    + "def graphglue_inputs():\n    yield 'f', f, (torch.randn(4),), {}\n"
)
LABELLED = (
    HEAD
    + "import torch.nn.functional as F\n\n\ndef loss(z, y):\n    valid = y != -100\n    if valid.sum() == 0:\n        return z.sum() * 0\n"
    + "    return F.cross_entropy(z[valid], y[valid])\n\n\ndef graphglue_inputs():\n"
    + "    yield 'some', loss, (torch.randn(6, 5), torch.tensor([0, 1, -100, 2, 4, -100])), {}\n"
    + "    yield 'none', loss, (torch.randn(6, 5), torch.full((6,), -100)), {}\n"
)
FLAGGED = (
    HEAD
    + "class Gate(torch.nn.Module):\n    def is_flat(self, h):\n        return bool(h.amax() - h.amin() < 1e-3)\n\n"
    + "    def forward(self, x):\n        h = x * 2\n        if self.is_flat(h):\n            h = h * 0.5\n        return h\n\n\n"
    + "def graphglue_inputs():\n    yield 'some', Gate(), (torch.randn(2, 3),), {}\n    yield 'flat', Gate(), (torch.ones(2, 3),), {}\n"
)
# The first call says that both arms are alike; the second shows that they are not, and there torch.where stretches the smaller one.
WRONG = (
    HEAD
    + "def f(a, b):\n    if a.sum() > b.sum():\n        return a * 2\n    return b * 2\n\n\n"
    + "def g(x):\n    return f(x, x + 1).sum() + f(x[:1], x).numel()\n\n\n"
    + "def graphglue_inputs():\n    yield 'g', g, (-torch.ones(4),), {}\n"
)

# Only calls that were made say that both arms are alike: they have no name in common.
HELPER = (
    HEAD
    + "def pick(x, w):\n    return x * 2 if x.sum() > 0 else w * 3\n\n\n"
    + "def f(x, w, wide):\n    y = pick(x, w)\n    return y if wide is None else y + pick(wide, w)\n\n\n"
    + "def graphglue_inputs():\n    yield 'f', f, (torch.ones(2, 3), torch.ones(2, 3), WIDE), {}\n"
)


def test_an_edit_is_proved_and_only_shown(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(PROGRAM)
    code, out = run_json("fix", str(file))
    result = out["files"][0]
    assert code == 0 and result["error"] is None and result["entries"][0]["glued"]
    repair = result["repairs"][0]
    assert repair["verdict"]["accepted"] and repair["verdict"]["outputs"] == "identical" and repair["rule"] == "GG002"
    assert "y = torch.where(h.sum() > 0, h + 1, h - 1)" in result["patched"] and "# keep the sign" in result["patched"]
    assert file.read_text() == PROGRAM
    shown = cli("fix", file.name, cwd=tmp_path).stdout
    assert "+    y = torch.where(h.sum() > 0, h + 1, h - 1)\n" in shown and "--- a/p.py" in shown
    assert file.read_text() == PROGRAM


def test_a_loss_of_what_is_labelled_becomes_one_selection(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "loss.py"
    file.write_text(LABELLED)
    code, out = run_json("fix", "--max-safety", "numeric", str(file))
    result = out["files"][0]
    assert code == 0 and [e["glued"] for e in result["entries"]] == [True, True]
    assert [r["rule"] for r in result["repairs"] if r["verdict"]["accepted"]] == ["GG042", "GG010"]
    assert '-100), reduction="sum") / torch.where(chosen, 1, valid.sum()))' in result["patched"]


def test_a_helper_that_asks_and_its_caller_are_mended_one_after_the_other(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "gate.py"
    file.write_text(FLAGGED)
    code, out = run_json("fix", str(file))
    result = out["files"][0]
    assert code == 0 and [e["glued"] for e in result["entries"]] == [True, True]
    assert [r["rule"] for r in result["repairs"] if r["verdict"]["accepted"]] == ["GG127", "GG002"]
    assert "h = torch.where(self.is_flat(h), h * 0.5, h)" in result["patched"]


def test_a_wrong_edit_is_refused_with_the_reason(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "w.py"
    file.write_text(WRONG)
    code, out = run_json("fix", str(file))
    result = out["files"][0]
    assert code == 1 and result["patched"] == WRONG and not result["entries"][0]["glued"]
    verdict = result["repairs"][0]["verdict"]
    assert not verdict["accepted"] and "differ" in " ".join(verdict["reasons"])


def test_what_is_left_says_what_stands_in_the_way(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(
        PROGRAM.replace("y = h - 1", "y = h - 1\n        SEEN.append(1)").replace("def f", "SEEN = []\n\n\ndef f")
    )
    _, out = run_json("fix", str(file))
    site = out["files"][0]["entries"][0]["after"]["sites"][0]
    why = site["why_no_rule"]
    line = file.read_text().splitlines().index("        SEEN.append(1)")
    assert (
        why["rule"] == "GG010" and why["safety"] == "exact" and why["range"]["start"] == {"line": line, "character": 8}
    )
    assert why["reason"].startswith(f"line {line + 1}, `SEEN.append(1)`: runs on one way only")
    shown = cli("fix", file.name, cwd=tmp_path).stdout
    assert f"= note: GG010 (select, safety exact) does not apply: {why['reason']}\n" in shown
    file.write_text(PROGRAM)
    _, out = run_json("check", str(file))
    assert out["files"][0]["entries"][0]["sites"][0]["why_no_rule"] is None, "a rule mends it"


@pytest.mark.parametrize("wide, glued", [("None", False), ("torch.ones(2, 3)", True)])
def test_a_caller_that_was_not_seen_may_pass_other_shapes(
    wide: str, glued: bool, tmp_path: Path, run_json: Any
) -> None:
    file = tmp_path / "helper.py"
    file.write_text(HELPER.replace("WIDE", wide))
    _, out = run_json("fix", str(file))
    assert out["files"][0]["entries"][0]["glued"] == glued
    assert ("torch.where" in out["files"][0]["patched"]) == glued


def test_apply_keeps_mode_mark_and_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_bytes(b"\xef\xbb\xbf" + PROGRAM.replace("\n", "\r\n").encode())
    os.chmod(file, 0o640)
    done = cli("fix", "--apply", str(file))
    assert done.returncode == 0, done.stdout
    text = file.read_bytes()
    assert (
        text.startswith(b"\xef\xbb\xbfimport os\r\n")
        and b"torch.where" in text
        and b"\n" not in text.replace(b"\r\n", b"")
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 and [p.name for p in tmp_path.iterdir()] == ["p.py"]


def test_comments_in_arms_keep_their_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    program = PROGRAM.replace("> 0:", "> 0:  # up").replace("h + 1", "h + 1  # more").replace("h - 1", "h - 1  # less")
    file.write_bytes(program.replace("\n", "\r\n").encode())
    assert cli("fix", "--apply", str(file)).returncode == 0
    text = file.read_bytes()
    assert all(word in text for word in (b"torch.where", b"# up\r\n", b"# more\r\n", b"# less\r\n"))
    rest = text.replace(b"\r\n", b"")
    assert b"\r" not in rest and b"\n" not in rest


def test_a_file_with_two_names_stays_one(tmp_path: Path) -> None:
    file, other = tmp_path / "p.py", tmp_path / "q.py"
    file.write_text(PROGRAM)
    os.link(file, other)
    assert cli("fix", "--apply", str(file)).returncode == 0
    assert "torch.where" in other.read_text() and other.samefile(file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write any file")
def test_a_file_that_may_not_be_written_is_left(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(PROGRAM)
    os.chmod(file, 0o444)
    done = cli("fix", "--apply", str(file))
    assert done.returncode == 2 and "may not be written" in done.stderr and file.read_text() == PROGRAM


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(PROGRAM)
    os.chown(file, 65534, 65534)
    assert cli("fix", "--apply", str(file)).returncode == 0
    assert "torch.where" in file.read_text() and file.stat().st_uid == 65534 and file.stat().st_gid == 65534


LOOP_AND_MESSAGE = (
    HEAD
    + "def f(x):\n    while x.norm() > 1.0:\n        x = x * 0.5\n    print(x.sum())\n    return x\n\n\n"
    + "def graphglue_inputs():\n    yield 'f', f, (torch.ones(6) * 3,), {}\n"
)


def test_what_one_edit_adds_is_not_in_the_way_of_the_next(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    file.write_text(LOOP_AND_MESSAGE)
    _, out = run_json("fix", "--max-safety", "effects", str(file))
    accepted = [r["rule"] for r in out["files"][0]["repairs"] if r["verdict"]["accepted"]]
    assert accepted == ["GG001", "GG121"] and out["files"][0]["entries"][0]["glued"]


def test_a_message_of_the_authors_that_is_not_compiled_is_not_in_the_way(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "p.py"
    quiet = "    if not torch.compiler.is_compiling():\n        print(h.sum())\n    # keep"
    file.write_text(PROGRAM.replace("    # keep", quiet))
    _, out = run_json("fix", str(file))
    assert out["files"][0]["entries"][0]["glued"], out["files"][0]["repairs"]


UNMADE = (
    HEAD
    + "class Net(nn.Module):\n    def __init__(self, file):\n        super().__init__()\n        self.table = open(file).read()\n\n"
    + "    def forward(self, x):\n        x = torch.relu(x)\n        if x.sum() > 0:\n            return x\n        return x * 2\n"
)


def test_what_the_text_tells_is_left_where_nothing_ran(tmp_path: Path) -> None:
    file = tmp_path / "p.py"
    file.write_text(UNMADE)
    done, checked = (cli(command, str(file)) for command in ("fix", "check"))
    assert done.returncode == checked.returncode == 1, (done.stdout, checked.stdout)
    assert "GB0170" in done.stdout and "GB0170" in checked.stdout


SIZES = (
    HEAD
    + """
class Net(nn.Module):
    def forward(self, x):
        FloatTensor = torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor
        boxes = FloatTensor(x[..., :2].shape)
        boxes[..., 0] = x[..., 0].data  # of the wrong shape, the compiled call fails here
        boxes[..., 1] = x[..., 1].data
        return boxes, FloatTensor(x.size()).fill_(2)


def graphglue_inputs():
    yield "net", Net(), (torch.ones(3, 4),), {}
"""
)


def test_what_is_compiled_to_something_else_is_mended(tmp_path: Path, run_json: Any) -> None:
    (tmp_path / "net.py").write_text(SIZES)
    code, out = run_json("fix", "net.py", cwd=tmp_path)
    (file,) = out["files"]
    assert code == 0 and file["entries"][0]["glued"], file
    assert [(r["id"], r["rule"], r["safety"]) for r in file["repairs"]] == [("size-as-data", "GG073", "exact")]
    assert file["patched"] == SIZES.replace("FloatTensor(x", "FloatTensor(size=x")


def test_the_example_becomes_one_graph(run_json: Any) -> None:
    code, out = run_json("fix", "--max-safety", "effects", str(ROOT / "examples" / "moe.py"))
    entry = out["files"][0]["entries"][0]
    assert code == 0 and entry["glued"] and entry["after"]["graphs"] == 1 and entry["before"]["graphs"] > 1
    exact = [r for r in out["files"][0]["repairs"] if r["safety"] == "exact"]
    assert exact and all(r["verdict"]["outputs"] == "identical" for r in out["files"][0]["repairs"])
