"""Unsaved text: what user code sees of it."""

import importlib
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from client import find_worker

pytest.importorskip("torch")
sys.path.insert(0, os.path.dirname(find_worker()))  # the host module lies there, beside the package

from graphglue_worker import overlay  # noqa: E402 - after the path is set


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    overlay.install({})
    for name in set(sys.modules) - known:
        del sys.modules[name]


def load(folder: Path, text: str, name: str = "unsaved"):
    overlay.install({str(folder / f"{name}.py"): text})
    return importlib.import_module(name)


def test_nothing_on_disk_is_needed_or_written(folder: Path) -> None:
    module = load(folder, "def f():\n    return 1\n")
    assert module.f() == 1 and inspect.getsource(module.f) == "def f():\n    return 1\n"
    assert list(folder.iterdir()) == []


def test_the_buffer_wins_over_the_disk_and_its_bytecode(folder: Path) -> None:
    (folder / "unsaved.py").write_text("value = 'disk'\n")
    assert importlib.import_module("unsaved").value == "disk"  # leaves bytecode behind
    del sys.modules["unsaved"]
    assert load(folder, "value = 'text'\n").value == "text"


@pytest.mark.parametrize(
    "text",
    [
        "a = '\f'\n\f\ndef f():\n    return inspect_me\n",
        "a = '\u2028 \x1c \x85'\n# \u2029\ndef f():\n    return inspect_me\n",
        "a = 1\r\n\r\ndef f():\r\n    return inspect_me\r\n",
        "a = 1\r\rdef f():\r    return inspect_me\r",
        "\ufeffa = 1\n\ndef f():\n    return inspect_me",
    ],
    ids=["form feed", "separators", "crlf", "cr", "byte order mark"],
)
def test_lines_are_pythons(folder: Path, text: str) -> None:
    module = load(folder, text)
    lines, start = inspect.getsourcelines(module.f)
    assert start == 3 and lines[0].rstrip() == "def f():" and lines[1].strip() == "return inspect_me"
    try:
        module.f()
    except NameError as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        assert (last.lineno, last.line) == (4, "return inspect_me")


def test_a_coding_cookie_is_about_the_disk(folder: Path) -> None:
    module = load(folder, "# -*- coding: latin-1 -*-\nname = 'größe'\n")
    assert module.name == "größe" and "größe" in module.__loader__.get_source("unsaved")


def test_an_earlier_folder_wins(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path_factory.mktemp("first")
    (first / "unsaved.py").write_text("value = 'first'\n")
    monkeypatch.syspath_prepend(str(first))
    assert load(folder, "value = 'text'\n").value == "first"


def test_a_package_and_what_is_in_it(folder: Path) -> None:
    overlay.install(
        {
            str(folder / "pack" / "__init__.py"): "from .part import value\n",
            str(folder / "pack" / "part.py"): "value = 2\n",
        }
    )
    assert importlib.import_module("pack").value == 2


def test_installing_again_replaces(folder: Path) -> None:
    load(folder, "value = 1\n")
    del sys.modules["unsaved"]
    assert load(folder, "value = 22\n").value == 22
    assert linecache.getline(str(folder / "unsaved.py"), 1) == "value = 22\n"
