"""Runs the real program and validates its JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import warm_workers  # noqa: E402

BIN = Path(os.environ.get("GRAPHGLUE_BIN") or ROOT / "build" / "asan" / "bin")
HEAD = "import os\nimport torch\nfrom torch import nn\n\n\n"


def cli(
    *arguments: str,
    cwd: Path | None = None,
    python: str | None = sys.executable,
    stdin: str = "",
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run graphglue-lsp; sanitizer reports fail the test."""
    ours = {name: value for name, value in os.environ.items() if name not in warm_workers.LEFT_OUT}
    chosen = ["--python", python] if python and arguments[0] in ("check", "fix", "graph", "doctor", "explain") else []
    done = subprocess.run(
        [str(BIN / "graphglue-lsp"), arguments[0], *chosen, *arguments[1:]],
        cwd=cwd,
        env={**ours, **warm_workers.environment(BIN), **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="session")
def run_json() -> Callable[..., tuple[int, dict[str, Any]]]:
    """run_json("check", …): (exit code, validated JSON)."""

    def run(command: str, *arguments: str, **keys: Any) -> tuple[int, dict[str, Any]]:
        done = cli(command, "--json", *arguments, **keys)
        assert done.stdout, done.stderr
        out = json.loads(done.stdout)
        schema = json.loads((ROOT / "tests" / "schemas" / f"{command}.schema.json").read_text())
        jsonschema.validate(out, schema)
        return done.returncode, out

    return run
