"""Where a break lies: user frames with exact ranges, their origin, and resume functions mapped back to the function the user wrote."""

import dis
import functools
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch._dynamo import resume_execution

RESUME_PREFIX = "torch_dynamo_resume_in_"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_STDLIB = tuple({os.path.realpath(sysconfig.get_path(n)) + os.sep for n in ("stdlib", "platstdlib")})
_SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_ENVIRONMENT = os.path.realpath(sys.prefix) + os.sep
_roots: list[str] = []
_packages: list[str] = []  # installed, and yet to be mended

Frame = dict[str, Any]
Place = tuple["int | None", ...]  # first line, last line, first column, column after the last
_ASKS = ("POP_JUMP", "JUMP_IF", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL")
_SILENT = ("COPY", "TO_BOOL", "SWAP", "NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN", "DUP_TOP")
_MAKES_NOTHING = ("STORE_", "POP_", "JUMP", "RESUME", "DELETE_")


def set_roots(roots: list[str]) -> None:
    """Folders that count as the user's workspace."""
    _roots[:] = [os.path.realpath(r).rstrip(os.sep) + os.sep for r in roots]
    origin.cache_clear()


def set_packages(places: list[str]) -> None:
    """Folders and files of installed packages that count as the user's workspace."""
    _packages[:] = [os.path.realpath(p).rstrip(os.sep) for p in places]
    origin.cache_clear()


def in_package(path: str) -> bool:
    """Is it a file of a package that `set_packages` names?"""
    real = os.path.realpath(path) if _packages else path
    return any(real == p or real.startswith(p + os.sep) for p in _packages)


@functools.lru_cache(maxsize=4096)
def origin(path: str) -> str:
    """``workspace``, ``torch``, ``stdlib`` or ``library``."""
    if path.startswith(_TORCH):
        return "torch"
    if path.startswith("<"):  # <string>, <frozen …>, <__array_function__ internals>
        return "stdlib"
    if in_package(path):
        return "workspace"
    real = os.path.realpath(path)
    installed = any(s in real for s in _SITE)
    if not installed and real.startswith(_STDLIB):
        return "stdlib"
    # An environment may lie inside the workspace (.venv), but not the workspace inside an environment's library.
    inside = any(
        real.startswith(r) and not (_ENVIRONMENT.startswith(r) and real.startswith(_ENVIRONMENT)) for r in _roots
    )
    return "workspace" if inside and not installed else "library"


def function_name(code: CodeType) -> str:
    """``Net.torch_dynamo_resume_in_forward_at_12`` -> ``Net.forward`` (resumptions of resumptions too)."""
    head, dot, name = getattr(code, "co_qualname", code.co_name).rpartition(".")
    while name.startswith(RESUME_PREFIX):
        name = name[len(RESUME_PREFIX) :].rpartition("_at_")[0] or name[len(RESUME_PREFIX) :]
    return head + dot + name


def _frame(code: CodeType, fallback_line: int | None, place: Place) -> Frame:
    line, end_line, col, end_col = place
    if line is None:
        line, end_line, col, end_col = fallback_line, fallback_line, None, None
    if col is None or end_col is None or end_line is None:
        end_line, col, end_col = end_line or line, None, None
    return {
        "file": code.co_filename,
        "function": function_name(code),
        "line": line if line and line > 0 else code.co_firstlineno,
        "end_line": end_line if end_line and end_line > 0 else code.co_firstlineno,
        "col": col,
        "end_col": end_col,
        "origin": origin(code.co_filename),
        "resumed": RESUME_PREFIX in code.co_name,
    }


def _place(inst: Any) -> Place:
    places = getattr(inst, "positions", None)
    names = ("lineno", "end_lineno", "col_offset", "end_col_offset")
    return tuple(getattr(places, n, None) for n in names)


def _within(inner: Place, outer: Place) -> bool:
    if None in inner:
        return False
    if None in outer:
        return outer[0] is None or inner[0] == outer[0]
    starts, ends = (inner[0], inner[2]) >= (outer[0], outer[2]), (inner[1], inner[3]) <= (outer[1], outer[3])
    return starts and ends


def _operand(tx: Any, inst: Any) -> Place | None:
    """Where the value comes from that a jump asks for its truth, or that a `with` enters.

    CPython 3.11 gives a jump the range of the whole test (`not a or b`) and entering that of the whole statement; what was
    computed last before it is the part that is asked.
    """
    if not inst.opname.startswith(_ASKS):
        return None
    for opname, place in _before(tx, inst):
        if opname not in _SILENT:
            return place if not opname.startswith(_MAKES_NOTHING) and _within(place, _place(inst)) else None
    return None


def _before(tx: Any, inst: Any) -> Iterator[tuple[str, Place]]:
    """(name, place) of the instructions before one, backwards.

    A resume function holds those of the function it continues, but has lost the columns of what ran already: they are looked up
    in the function itself, by counting the instructions like this one from the end.
    """
    instructions = [(i.opname, _place(i)) for i in tx.instructions]
    at = next((k for k, other in enumerate(tx.instructions) if other is inst), 0)
    original = _resumed_code(tx.f_code)
    if original is not None:
        like = instructions[at]
        nth = instructions[at:].count(like)
        instructions = [(i.opname, _place(i)) for i in dis.get_instructions(original)]
        found = [k for k, other in enumerate(instructions) if other == like]
        at = found[-nth] if len(found) >= nth else 0
    yield from reversed(instructions[:at])


def _resumed_code(code: CodeType) -> CodeType | None:
    """The function that a resume function continues."""
    cache = getattr(resume_execution, "ContinueExecutionCache", None)
    try:
        return cache.generated_code_metadata[code].code  # type: ignore[union-attr]
    except (AttributeError, KeyError, TypeError):
        return None


def of_translator(tx: Any) -> Frame:
    """The frame that an instruction translator is tracing, at the instruction it is at.  Python 3.10 has no columns."""
    inst, line = getattr(tx, "current_instruction", None), getattr(tx, "lineno", None)
    operand = _operand(tx, inst) if inst is not None else None
    place = operand or _place(inst)
    if operand is None and place[0] not in (None, line):
        place = _corrected(tx, inst, place)
    return _frame(tx.f_code, line, place)


def _corrected(tx: Any, inst: Any, place: Place) -> Place:
    """In a resume function, the place whose columns are right and whose lines are some others: those of the function it continues.

    Behind a break within an expression of several lines Dynamo's table of lines counts them twice.  The instruction is found there by
    counting those of its name from the end.
    """
    original = _resumed_code(tx.f_code)
    if original is None:
        return place
    at = next((k for k, other in enumerate(tx.instructions) if other is inst), 0)
    nth = sum(other.opname == inst.opname for other in tx.instructions[at:])
    found = [_place(i) for i in dis.get_instructions(original) if i.opname == inst.opname]
    there = found[-nth] if 0 < nth <= len(found) else (None,) * 4
    return there if there[2:] == place[2:] else (None, None, None, None)


def of_code(code: CodeType) -> Frame:
    """A frame that was never traced: where its function begins."""
    return _frame(code, code.co_firstlineno, (None, None, None, None))


def _of_running(frame: FrameType) -> Frame:
    place: Place = (None, None, None, None)
    if hasattr(frame.f_code, "co_positions"):
        for i, found in enumerate(frame.f_code.co_positions()):
            if i == frame.f_lasti // 2:
                # In code that Dynamo wrote, the table of columns may belong to other instructions than that of lines.
                place = found if found[0] == frame.f_lineno else place
                break
    return _frame(frame.f_code, frame.f_lineno, place)


def above_dynamo(converter_file: str, last: str) -> list[Frame]:
    """Frames that called the one being traced, innermost first, up to the function `last` of this package; torch's own left out."""
    frames: list[Frame] = []
    frame: FrameType | None = sys._getframe(1)
    above = False
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_PACKAGE) and code.co_name == last:
            break
        if code.co_filename == converter_file:
            above = True
            frames.clear()
        elif above and not code.co_filename.startswith((_PACKAGE, _TORCH)):
            frames.append(_of_running(frame))
        frame = frame.f_back
    return frames


def stack(frames: list[Frame]) -> list[Frame]:
    """One frame per call the user wrote: the caller of a resume function is the same call, stopped earlier."""
    merged: list[Frame] = []
    resumed = False
    for frame in frames:
        same = bool(merged) and (merged[-1]["file"], merged[-1]["function"]) == (frame["file"], frame["function"])
        if not (resumed and same):
            merged.append({k: v for k, v in frame.items() if k != "resumed"})
        resumed = frame["resumed"]
    return merged
