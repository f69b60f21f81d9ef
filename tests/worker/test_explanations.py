"""Every text in analysis/explain/texts/ tells the truth: its `Before` breaks with that id, its `After` is one graph, same result.

The programs are run as they are printed, with torch.compile's backend replaced by one that counts.  Some ids torch raises
as an error instead of breaking the graph: their `Before` fails with that id.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis" / "worker"))

from graphglue_worker import hooks, records  # noqa: E402 - after the path is set

TEXTS = sorted((ROOT / "analysis" / "explain" / "texts").glob("*.md"))
SECTIONS = ("Short", "What happens", "Why it breaks", "How to fix", "Before", "After")
PLACES = {"code", "value"}
ERRORS = {"GB0040", "GB4315"}  # torch raises these out of the compiled call
DIFFERS = {records.SIZES_FOR_DATA_ID}  # no breaks, and none of torch's: what is compiled gives another result


class Run:
    """One program run under Dynamo: its `result`, the graphs, the ids heard and any errors of Dynamo's."""

    def __init__(self, source: str, path: Path) -> None:
        self.graphs = 0
        self.ids: set[str] = set()
        self.errors: list[BaseException] = []
        torch._dynamo.reset()
        torch.manual_seed(0)
        path.write_text(source)
        hooks.listen(self._on_break, self.errors.append, on_suspect=self._on_break)
        with counting_compile(self._backend):
            self.result = runpy.run_path(str(path))["result"]

    def _backend(self, gm: torch.fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        self.graphs += 1
        return gm.forward

    def _on_break(self, record: dict[str, Any]) -> None:
        self.ids |= {record["id"], *record["aggravations"]}


@contextlib.contextmanager
def counting_compile(backend: Callable[..., Any]) -> Iterator[None]:
    """torch.compile with another backend; Dynamo's settings are put back afterwards."""
    original, settings = torch.compile, torch._dynamo.config.save_config()

    def replaced(model: Any = None, **options: Any) -> Any:
        if model is None:
            return functools.partial(replaced, **options)
        return original(model, **{**options, "backend": backend})

    torch.compile = replaced
    try:
        yield
    finally:
        torch.compile = original
        torch._dynamo.config.load_config(settings)


def sections(path: Path) -> dict[str, str]:
    """Heading -> body."""
    parts = re.split(r"^## (.+)\n", path.read_text(), flags=re.MULTILINE)
    return {heading: body.strip() for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def program(body: str) -> str:
    fence = re.fullmatch(r"```python\n(.*)```", body, flags=re.DOTALL)
    assert fence, "a program stands in one ```python fence"
    return fence.group(1)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_before_breaks_and_after_does_not(path: Path, tmp_path: Path) -> None:
    parts = sections(path)
    after = Run(program(parts["After"]), tmp_path / "after.py")
    assert (after.graphs, after.ids, after.errors) == (1, set(), [])
    if path.stem in ERRORS:
        with pytest.raises(torch._dynamo.exc.TorchDynamoException, match=f"/{path.stem.lower()}.html"):
            Run(program(parts["Before"]), tmp_path / "before.py")
    else:
        before = Run(program(parts["Before"]), tmp_path / "before.py")
        assert path.stem in before.ids
        if path.stem in DIFFERS:
            assert not same(before.result, after.result)
            with torch._dynamo.config.patch(disable=True):
                before = Run(program(parts["Before"]), tmp_path / "before.py")
        assert same(before.result, after.result)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_shape_of_the_text(path: Path) -> None:
    text, parts = path.read_text(), sections(path)
    assert text.startswith(f"# {path.stem}: ")
    assert set(SECTIONS) <= set(parts), "each section has a plain form"
    assert {heading.split(":")[0] for heading in parts} == set(SECTIONS)
    prose = text.split("## Before")[0]
    assert set(re.findall(r"{(\w+)\|", prose)) <= PLACES
    assert prose.count("{") == len(re.findall(r"{\w+\|[^{}]+}", prose)), (
        "a place says what stands there without a program"
    )
    for heading, body in parts.items():
        if heading.startswith("Short"):
            assert body and not body.endswith(".") and "\n\n" not in body
        elif not heading.startswith(("Before", "After")):
            assert body.endswith((".", ".)", ":")), heading


def test_ids_are_torchs() -> None:
    registry = Path(torch._dynamo.__file__).with_name("graph_break_registry.json")
    assert {path.stem for path in TEXTS} - DIFFERS <= set(json.loads(registry.read_text()))
