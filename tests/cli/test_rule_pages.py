"""The pages of predictions, docs/predictions/<rule>.md: each has a program before, which breaks, and one after, which does not."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from types import GeneratorType
from typing import Any, NamedTuple

import pytest
from conftest import ROOT

PREDICT = ROOT / "analysis" / "predict"
FOLDER = ROOT / "docs" / "predictions"
ROWS = re.findall(r'^RULE\((\w+), "([\w-]+)", "([\w-]+)"', (PREDICT / "rules.def").read_text(), re.M)
RULES = sorted({name for _, name, _ in ROWS})
NO_BREAK = {name for _, name, own in ROWS if name == own}
NEVER_CERTAIN = "It is never certain."
NOT_MET = re.compile(r"^Before, not met by `check`: (.*)$", re.M)
OTHER_RESULTS = re.compile(r"^Other results: ", re.M)


class Page(NamedTuple):
    """A page: its text, the ids of its title, and its two programs."""

    text: str
    ids: set[str]
    before: str
    after: str


def page_of(rule: str) -> Page:
    """Read a rule's page; it must have the form that all have."""
    text = (FOLDER / f"{rule}.md").read_text()
    title = re.match(rf"# {rule} \((.*)\)\n", text)
    programs = re.search(r"\n## Before\n.*?```python\n(.*?)```\n.*?\n## After\n.*?```python\n(.*?)```\n$", text, re.S)
    assert title and programs, f"{rule}: a title with ids, and two programs"
    assert "**Conditional** " in text or "It is conditional" in text
    assert "**Certain** when " in text or NEVER_CERTAIN in text
    return Page(text, set(re.findall(r"GB\d{4}", title[1])), programs[1], programs[2])


PAGES = {rule: page_of(rule) for rule in RULES if (FOLDER / f"{rule}.md").exists()}
MET = sorted(PAGES.keys() - NO_BREAK)
SAME_RESULTS = [rule for rule in MET if not OTHER_RESULTS.search(PAGES[rule].text)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all programs, as file_of() names them."""
    folder = tmp_path_factory.mktemp("pages")
    for rule, page in PAGES.items():
        (folder / file_of(rule, "before")).write_text(page.before)
        (folder / file_of(rule, "after")).write_text(page.after)
    return folder


def file_of(rule: str, moment: str) -> str:
    """A name that is a module's, and none of Python's library."""
    return f"{rule}_{moment}.py".replace("-", "_")


def by_name(out: dict[str, Any]) -> dict[str, Any]:
    """The files of `check --json`."""
    for file in out["files"]:
        assert file["error"] is None, file
    return {Path(file["path"]).name: file for file in out["files"]}


@pytest.fixture(scope="module")
def predicted(programs: Path, run_json: Callable[..., Any]) -> dict[str, Any]:
    """What the text alone tells of each program."""
    return by_name(run_json("check", "--static", str(programs))[1])


@pytest.fixture(scope="module")
def met(programs: Path, run_json: Callable[..., Any]) -> dict[str, Any]:
    """What Dynamo meets in each program."""
    return by_name(run_json("check", str(programs))[1])


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == RULES


def test_the_table_links_each_page_and_has_its_ids() -> None:
    rows = re.findall(
        r"^\| \[([\w-]+)\]\(predictions/([\w-]+)\.md\) \|.*\| (.*) \|$",
        (ROOT / "docs" / "predictions.md").read_text(),
        re.M,
    )
    assert sorted(name for name, _, _ in rows) == RULES
    for name, page, ids in rows:
        listed = set(re.findall(r"GB\d{4}", ids))
        assert page == name
        assert listed < PAGES[name].ids if "and others" in ids else listed == PAGES[name].ids, name


def test_pages_have_all_ids_that_their_rules_report() -> None:
    name_of = {ordinal: name for ordinal, name, _ in ROWS}
    reported = {(name, own) for _, name, own in ROWS if name != own}
    for source in sorted(PREDICT.rglob("*.c")):
        for piece in re.split(r"[;{}]", source.read_text()):  # a call that reports, or a row of a table
            for ordinal in re.findall(r"GG__RULE_(\w+)", piece):
                reported |= {(name_of[ordinal], one) for one in re.findall(r'"(GB\d{4})"', piece)}
    missing = sorted((name, one) for name, one in reported if one not in PAGES[name].ids)
    assert len(reported) > len(RULES) and not missing


@pytest.mark.parametrize("rule", PAGES)
def test_before_is_predicted_and_after_is_not(rule: str, predicted: dict[str, Any]) -> None:
    page, findings = PAGES[rule], predicted[file_of(rule, "before")]["findings"]
    assert {finding["rule"] for finding in findings} == {rule}
    assert {finding["id"] for finding in findings} <= (page.ids or {rule})
    assert {finding["certainty"] for finding in findings} == {
        "conditional" if NEVER_CERTAIN in page.text else "certain"
    }
    assert predicted[file_of(rule, "after")]["findings"] == []


@pytest.mark.parametrize("rule", MET)
def test_before_breaks(rule: str, met: dict[str, Any], predicted: dict[str, Any]) -> None:
    not_met = NOT_MET.search(PAGES[rule].text)
    if not_met:
        pytest.skip(f"{rule}: {not_met[1]}")
    (entry,) = met[file_of(rule, "before")]["entries"]
    assert entry["status"] == "breaks", entry
    assert {site["id"] for site in entry["sites"]} == {f["id"] for f in predicted[file_of(rule, "before")]["findings"]}


@pytest.mark.parametrize("rule", sorted(NO_BREAK))
def test_what_is_no_break_is_found_also_by_a_run(rule: str, met: dict[str, Any]) -> None:
    file = met[file_of(rule, "before")]
    met_there = [site["id"] for entry in file["entries"] for site in entry["sites"]]
    assert met_there + [finding["rule"] for finding in file["findings"]] == [rule]


@pytest.mark.parametrize("rule", PAGES)
def test_after_is_one_graph(rule: str, met: dict[str, Any]) -> None:
    (entry,) = met[file_of(rule, "after")]["entries"]
    assert (entry["status"], entry["graphs"], entry["sites"]) == ("captured", 1, []), entry


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rule", SAME_RESULTS)
def test_after_gives_what_before_gave(rule: str, programs: Path) -> None:
    import torch

    results = []
    for moment in ("before", "after"):
        torch.manual_seed(0)
        given = runpy.run_path(str(programs / file_of(rule, moment)))["graphglue_inputs"]
        ((_, function, args, kwargs),) = given()
        result = function(*args, **kwargs)
        results.append(list(result) if isinstance(result, GeneratorType) else result)
    torch.testing.assert_close(results[1], results[0])
