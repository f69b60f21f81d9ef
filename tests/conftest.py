"""What all tests have in common."""

from __future__ import annotations

from typing import Any

import pytest
import warm_workers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    warm_workers.tests = len(items)


@pytest.fixture(autouse=True)
def own_worker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a test that is marked so, servers start workers of their own."""
    if request.node.get_closest_marker("own_worker"):
        monkeypatch.setenv("GRAPHGLUE_NO_WARM", "1")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in warm_workers.summary():
        terminalreporter.write_line(line)
