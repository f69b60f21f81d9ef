# ruff: noqa: E501 - programs in one line each
"""`check` on files of every kind, in one run; then exit codes and flags."""

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, cli

FILES = {
    "whole.py": HEAD + "def f(x):\n    return x * 2\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(2),), {}\n",
    "breaks.py": HEAD
    + "def f(x):\n\ty = x * 2; print('é😀', y.shape)\n\treturn y if y.sum() > 0 else -y\n\n\n"
    + "def graphglue_inputs():\n    yield 'f', f, (torch.randn(2),), {}\n",
    "model.py": HEAD
    + "class Model(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.a = nn.Linear(n, n)\n\n"
    + "    def forward(self, x):\n        return self.a(x)\n\n\ndef get_init_inputs():\n    return [3]\n\n\ndef get_inputs():\n    return [torch.randn(2, 3)]\n",
    "cases.py": HEAD
    + "class Net(nn.Module):\n    def forward(self, x):\n        return x + 1\n\n\nclass One(nn.Module):\n    def forward(self, x):\n        return x\n\n\n"
    + "T = lambda: ((torch.randn(2),), {})\nTESTCASES = [(Net, lambda: ((), {}), T), (Net, lambda: ((), {}), T, True), (One, lambda: ((), {}), T)]\n",
    "none.py": HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        raise RuntimeError('not here')\n",
    "deduced.py": HEAD + "class Net(nn.Module):\n    def forward(self, x):\n        return x + 1\n",
    "raises.py": HEAD + "def f(x):\n    raise KeyError('missing')\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.ones(1),), {}\n",
    "exits.py": HEAD + "def f(x):\n    os._exit(3)\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.ones(1),), {}\n",
    "flood.py": HEAD
    + "def f(x):\n    os.write(1, b'x' * 10_000_000)\n    return x + 1\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.ones(1),), {}\n",
    "import_error.py": "import no_such_module\n",
    "syntax.py": "def f(:\n",
    "crlf.py": (HEAD + "def f(x):\n    print(x.shape)\n    return x + 1\n\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.ones(1),), {}\n").replace("\n", "\r\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, run_json: Any) -> tuple[int, dict[str, Any]]:
    """Every file above, and some that are no files at all, through one run with two workers."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode())
    (folder / "latin.py").write_bytes(b"# caf\xe9\n")
    (folder / "nul.py").write_bytes(b"x = 1\0\n")
    (folder / "venv").mkdir()
    (folder / "venv" / "pyvenv.cfg").touch()
    (folder / "venv" / "skipped.py").write_text("1/0\n")
    code, out = run_json("check", "-j", "2", ".", "missing.py", cwd=folder)
    return code, {Path(f["path"]).name: f for f in out["files"]} | {"": out}


def entry(report: tuple[int, dict[str, Any]], name: str) -> dict[str, Any]:
    file = report[1][name]
    assert file["error"] is None, file["error"]
    return file["entries"][0]


def test_order_and_exit_code(report: Any) -> None:
    code, files = report
    names = [Path(f["path"]).name for f in files[""]["files"]]
    assert names == [*sorted([*FILES, "latin.py", "nul.py"]), "missing.py"]
    assert code == 2
    assert files[""]["torch"] == "2.13.0" and files[""]["interpreter"] == sys.executable


def test_statuses(report: Any) -> None:
    for name, status in {
        "whole.py": "captured", "breaks.py": "breaks", "model.py": "captured", "cases.py": "captured", "none.py": "no_inputs",
        "deduced.py": "captured",
        "raises.py": "eager_error", "exits.py": "crashed", "flood.py": "breaks",
    }.items():  # fmt: skip
        assert entry(report, name)["status"] == status, (name, entry(report, name))
    assert "KeyError" in entry(report, "raises.py")["message"] and "3" in entry(report, "exits.py")["message"]
    none = entry(report, "none.py")
    assert none["inputs"] == "none" and "not here" in none["message"] and "graphglue_inputs" in none["message"]


def test_names_and_inputs(report: Any) -> None:
    entries = report[1]["cases.py"]["entries"]
    assert [e["name"] for e in entries] == ["Net#1", "Net#2", "One"]
    assert [e["inputs"] for e in entries] == ["testcases"] * 3
    assert entries[2]["status"] == "nothing_to_capture"
    assert (
        entry(report, "deduced.py")["inputs"] == "deduced"
        and "Net()(torch.randn(" in entry(report, "deduced.py")["message"]
    )
    assert entry(report, "model.py")["inputs"] == "get_inputs" and entry(report, "model.py")["name"] == "Model"


def test_ranges_are_utf16_and_exact(report: Any) -> None:
    sites = {s["id"]: s for s in entry(report, "breaks.py")["sites"]}
    assert sites["GB0059"]["range"] == {"start": {"line": 6, "character": 12}, "end": {"line": 6, "character": 33}}
    line = FILES["breaks.py"].splitlines()[7]
    r = sites["GB0170"]["range"]
    assert line[r["start"]["character"] : r["end"]["character"]] == "y.sum() > 0"
    assert sites["GB0170"]["enclosing"] == "f" and sites["GB0170"]["category"] == "dynamic_control_flow"
    crlf = entry(report, "crlf.py")["sites"][0]
    assert crlf["range"]["start"] == {"line": 6, "character": 4}


def test_files_that_cannot_be_handled(report: Any) -> None:
    for name, words in {
        "import_error.py": "no_such_module", "syntax.py": "syntax.py:1:7: SyntaxError", "latin.py": "UTF-8", "missing.py": "No such file", "nul.py": "null",
    }.items():  # fmt: skip
        assert words in report[1][name]["error"], report[1][name]["error"]


def test_flags_and_exit_codes(tmp_path: Path, run_json: Any) -> None:
    file = tmp_path / "breaks.py"
    file.write_text(FILES["breaks.py"])
    assert cli("check", "--ignore", "GB0059,GB0170", "--fail-on", "breaks", str(file)).returncode == 0
    code, out = run_json("check", "--select", "GB0170", str(file))
    assert code == 1 and [s["id"] for s in out["files"][0]["entries"][0]["sites"]] == ["GB0170"]
    done = cli("check", "--stdin-filename", str(file), stdin=FILES["whole.py"])
    assert done.returncode == 0 and "captured" in done.stdout


def test_usage_errors() -> None:
    for arguments in (
        ["--no-such"],
        [],
        ["-j", "0", "x.py"],
        ["--sarif", "--json", "x.py"],
        ["--timeout", "x", "x.py"],
    ):
        done = cli("check", *arguments)
        assert done.returncode == 2 and done.stderr.startswith("graphglue-lsp check: "), done.stderr


def test_no_python_and_no_torch(tmp_path: Path, run_json: Any) -> None:
    import venv

    file = tmp_path / "x.py"
    file.write_text(FILES["whole.py"])
    done = cli("check", str(file), python=str(tmp_path / "none"))
    assert done.returncode == 2 and "no executable" in done.stderr
    venv.create(tmp_path / "env", with_pip=False)
    code, out = run_json("check", str(file), python=str(tmp_path / "env" / "bin" / "python"))
    assert code == 2 and "pip install torch" in out["files"][0]["error"]
