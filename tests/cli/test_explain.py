"""`explain`: own texts, the installed registry's words for the rest, JSON, and no torch needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, cli


def test_own_text(tmp_path: Path) -> None:
    done = cli("explain", "GB0170", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "torch.where" in done.stdout and "```" not in done.stdout, "plain text for a terminal"


def test_short_forms_are_understood() -> None:
    assert cli("explain", "gb0170").stdout == cli("explain", "170").stdout == cli("explain", "GB0170").stdout


def test_own_text_needs_no_torch(tmp_path: Path) -> None:
    done = cli("explain", "GB0170", cwd=tmp_path, python=None)
    assert done.returncode == 0 and "torch.where" in done.stdout


def test_an_id_only_the_registry_knows() -> None:
    done = cli("explain", "--json", "GB0002")
    out = json.loads(done.stdout)
    assert (out["version"], out["id"]) == (1, "GB0002")
    assert out["category"] in ("unsupported_operation", "dynamic_control_flow", "tensor_tracing_disruption")
    assert len(out["markdown"]) > 100


@pytest.mark.parametrize("given", ["GB9999", "GB", "", "../../etc/passwd", "GB0170" * 50])
def test_unknown_ids(given: str) -> None:
    done = cli("explain", given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("graphglue-lsp explain: ")


def test_a_repair_rule_is_explained_by_its_page() -> None:
    page = (ROOT / "docs" / "rules" / "GG002.md").read_text()
    for given in ("GG002", "gg002", "where"):
        done = cli("explain", given)
        assert done.returncode == 0, done.stderr
        assert (
            done.stdout.startswith("GG002 where\n")
            and "    y = torch.where(h.sum() > 0, h + 1, h - 1)\n" in done.stdout
        )
        assert "```" not in done.stdout and "**" not in done.stdout, "plain text for a terminal"
    out = json.loads(cli("explain", "--json", "GG002").stdout)
    assert (out["id"], out["category"], out["markdown"]) == ("GG002", None, page)


def test_json_names_the_id_not_what_was_typed() -> None:
    assert json.loads(cli("explain", "--json", "170").stdout)["id"] == "GB0170"
