"""The protocol generator against a small model of its own: what it writes, and what it refuses."""

import enum
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import gen_protocol  # noqa: E402 - after the path is set


class Color(enum.IntEnum):
    RED = 1
    DARK_BLUE = 2


@attrs.define
class Point:
    line: int
    label: str | None = None


@attrs.define
class Shape:
    points: Sequence[Point]
    color: Color
    fill_rule: bool | None = None
    token: int | str | None = None
    extra: Mapping[str, Any] | None = None


@attrs.define
class Odd:
    value: Point | Color


def model(params: type) -> ModuleType:
    module = ModuleType("model")
    vars(module).update(Point=Point, Shape=Shape, Odd=Odd, Color=Color)
    module.METHOD_TO_TYPES = {"draw": (None, None, params, None)}
    return module


OVERLAY = {"types": {}, "unions": {}}


@pytest.mark.filterwarnings("ignore")
def test_what_is_written() -> None:
    header, source = gen_protocol.generate(model(Shape), ["draw"], OVERLAY)
    assert "#define GG_LSP_COLOR_DARK_BLUE 2" in header
    struct = header[header.index("typedef struct gg_lsp_shape") : header.index("} gg_lsp_shape;")]
    for line in (
        "struct { gg_lsp_point *items; uint32_t len; } points;",
        "int64_t color;",
        "gg_opt_bool fill_rule;",
        "gg_opt_token token;",
        "json_t *extra;",
    ):
        assert line in struct
    assert '{"fillRule", GG__BOOL, GG__OPTIONAL, offsetof(gg_lsp_shape, fill_rule), NULL},' in source
    assert '{"points", GG__STRUCT, GG__LIST, offsetof(gg_lsp_shape, points), &gg_type_point},' in source
    assert header.index("gg_lsp_point {") < header.index("gg_lsp_shape {")


def test_a_union_nobody_decided_about_is_an_error() -> None:
    with pytest.raises(gen_protocol.GeneratorError, match=r"Odd\.value: Point \| Color"):
        gen_protocol.generate(model(Odd), ["draw"], OVERLAY)
    header, _ = gen_protocol.generate(model(Odd), ["draw"], {"types": {}, "unions": {"Odd.value": "pick:Point"}})
    assert "gg_lsp_point value;" in header


def test_an_unknown_method_is_an_error() -> None:
    with pytest.raises(gen_protocol.GeneratorError, match="erase is no LSP method"):
        gen_protocol.generate(model(Shape), ["erase"], OVERLAY)


def test_the_committed_files_are_what_the_generator_writes() -> None:
    import subprocess

    script = Path(gen_protocol.__file__)
    assert subprocess.run([sys.executable, str(script), "--check"], capture_output=True).returncode == 0
