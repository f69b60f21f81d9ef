"""Fixtures: one warm worker for the tests that do not disturb it, and files of user code."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Worker

Write = Callable[..., str]


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="session")
def worker(workspace: Path) -> Iterator[Worker]:
    """A worker that is ready.  A test that ends it must start its own."""
    running = Worker([str(workspace)]).start()
    yield running
    assert running.close() == 0


@pytest.fixture
def write(workspace: Path, request: pytest.FixtureRequest) -> Write:
    """write(source): a file of the workspace named after the test; `name` for another one."""

    def write(source: str, name: str | None = None) -> str:
        path = workspace / (name or f"{re.sub(r'[^A-Za-z0-9]+', '_', request.node.name)[:80]}.py")
        path.write_text(textwrap.dedent(source))
        return str(path)

    return write
