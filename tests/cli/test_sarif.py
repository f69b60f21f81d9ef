"""`check --sarif`: valid SARIF 2.1.0 that says what text and JSON say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import HEAD, ROOT, cli

INPUTS = "\n\ndef graphglue_inputs():\n    yield 'f', f, (torch.randn(4),), {}\n"
SHOW = "def show(x):\n    '\U0001f600'; print(x)\n    return x\n\n\n"
CODE = (
    HEAD + SHOW + "@torch.compile\ndef f(x):\n    show(x)\n    print(x)  # graphglue: ignore\n    return x\n" + INPUTS
)
SCHEMA = json.loads((ROOT / "tests" / "schemas" / "sarif-2.1.0.schema.json").read_text())


def sarif(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the one run of a valid report."""
    done = cli("check", "--sarif", *arguments, cwd=folder)
    assert done.stdout, done.stderr
    out = json.loads(done.stdout)
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(out)
    (run,) = out["runs"]
    assert run["columnKind"] == "utf16CodeUnits" and run["invocations"][0]["exitCode"] == done.returncode
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return done.returncode, run


def where(result: dict[str, Any]) -> tuple[str, tuple[int, ...]]:
    (place,) = result["locations"]
    region = place["physicalLocation"]["region"]
    return place["physicalLocation"]["artifactLocation"]["uri"], tuple(
        region[k] for k in ("startLine", "startColumn", "endLine", "endColumn")
    )


@pytest.mark.parametrize("static", [True, False])
def test_a_report(tmp_path: Path, static: bool) -> None:
    (tmp_path / "a file.py").write_text(CODE)
    code, run = sarif(tmp_path, *(["--static"] if static else []), "a file.py")
    assert code == 1 and run["invocations"][0]["executionSuccessful"]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"
    shown, ignored = sorted(run["results"], key=lambda r: where(r)[1])
    assert where(shown) == ("a%20file.py", (7, 11, 7, 19)) and where(ignored) == ("a%20file.py", (14, 5, 14, 13))
    assert (shown["ruleId"], shown["level"], shown.get("suppressions")) == ("GB0059", "warning", None)
    assert ignored["suppressions"] == [{"kind": "inSource"}]
    assert shown["properties"]["source"] == ("static" if static else "dynamo")
    (rule,) = run["tool"]["driver"]["rules"]
    assert (
        rule["helpUri"].endswith("gb0059.html")
        and "print" in rule["help"]["markdown"]
        and rule["shortDescription"]["text"]
    )
    if not static:
        stack = [
            (r["message"]["text"], r["physicalLocation"]["region"]["startLine"]) for r in shown["relatedLocations"]
        ]
        assert stack == [("show", 7), ("f", 13)]
        assert shown["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": "show"}]


def test_levels_and_what_is_left_out(tmp_path: Path) -> None:
    rules = 'skipped-builtin = "error", scalar-from-tensor = "hint", deepcopy = "off"'
    (tmp_path / "pyproject.toml").write_text(f"[tool.graphglue]\nrules = {{ {rules} }}\n")
    body = (
        "    print(x)\n    x.item()\n    if torch.is_grad_enabled():\n        x.tolist()\n    return copy.deepcopy(x)\n"
    )
    (tmp_path / "a.py").write_text("import copy\n" + HEAD + "@torch.compile\ndef f(x: torch.Tensor):\n" + body)
    code, run = sarif(tmp_path, "--static", "a.py")
    assert code == 1 and [(r["ruleId"], r["level"]) for r in run["results"]][:2] == [
        ("GB0059", "error"),
        ("GB0124", "note"),
    ]
    assert "GB4198" not in {r["ruleId"] for r in run["results"]}
    assert "--json and --sarif exclude each other" in cli("check", "--json", "--sarif", "a.py", cwd=tmp_path).stderr


def test_what_could_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text("def f(:\n    pass\n")
    (tmp_path / "bad.py").write_text(HEAD + "def f(x):\n    return x * {}['so']\n" + INPUTS)
    code, run = sarif(tmp_path, "half.py", "bad.py", "missing.py")
    (invocation,) = run["invocations"]
    notes = {
        n["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: n
        for n in invocation["toolExecutionNotifications"]
    }
    assert code == 2 and not invocation["executionSuccessful"] and run["results"] == []
    assert set(notes) == {"half.py", "bad.py", "missing.py"} and "so" in notes["bad.py"]["message"]["text"]
    assert notes["half.py"]["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert {n["level"] for n in notes.values()} == {"error"}
