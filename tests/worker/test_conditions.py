"""Numbers taken out of tensors, before and after, on the values that differ between Python and torch: NaN, infinities, the ends of integer
dtypes, fractions that single precision does not hold, integers that a double does not hold.

Only the fixtures of selections whose conditions read such numbers; eagerly, since it is about what is computed.
"""

import ast
import math
import random
import re
from pathlib import Path

import pytest
import torch

FIXTURES = Path(__file__).parent.parent / "fixtures" / "repair"
ROUNDS = 60
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, -0.3, 1.5, 3.0, 16777216.0, 1e-3, 65504.0, math.nan, math.inf, -math.inf]
WHOLE = [0, 1, -1, 2, 3, -2, 5, 7, 127, 128, -128, 255, 300, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
ENDS = {"int64": 63, "int32": 31, "int16": 15, "int8": 7}


def programs() -> list[Path]:
    found = []
    for path in sorted(p for code in ("GG010", "GG011", "GG071") for p in (FIXTURES / code).glob("*.py")):
        text = path.read_text()
        reads = re.search(r"\.item\(\)|\.tolist\(\)|\bfloat\(|\bint\(|\bbool\(", text)
        draws = "rand" in text or "dropout" in text
        if reads and not draws and "self" not in text and path.with_name(path.stem + ".expected.py").exists():
            found.append(path)
    return found


def value(dtype: str, draw: random.Random) -> float | int | bool:
    if dtype == "bool":
        return draw.random() < 0.5
    if "float" in dtype:
        return draw.choice(FLOATS)
    low, high = (0, 255) if dtype == "uint8" else (-(2 ** ENDS[dtype]), 2 ** ENDS[dtype] - 1)
    return draw.choice([v for v in WHOLE if low <= v <= high])


def tensor(fact: str, draw: random.Random) -> torch.Tensor:
    dtype, _, shape = fact.rstrip("]").partition("[")
    sizes = [int(n) for n in shape.split(",") if n]
    plain = draw.random() < 0.3  # small ones meet more of the conditions' thresholds
    kind = getattr(torch, dtype)
    values = [draw.randrange(4) if plain else value(dtype, draw) for _ in range(math.prod(sizes))]
    return torch.tensor(values).to(kind).reshape(sizes) if plain else torch.tensor(values, dtype=kind).reshape(sizes)


def outcome(f, arguments: list) -> str:
    try:
        result = f(*[a.clone() if isinstance(a, torch.Tensor) else a for a in arguments])
    except Exception as error:
        return type(error).__name__
    results = result if isinstance(result, tuple) else (result,)
    return repr([(r.dtype, r.shape, r.tolist()) if isinstance(r, torch.Tensor) else r for r in results])


def load(path: Path):
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("path", programs(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_numbers_are_read_alike(path: Path) -> None:
    text = path.read_text()
    head = next(line for line in text.splitlines() if line.startswith("# facts:"))
    facts = dict(re.findall(r"(\w+)=(\w+\[[\d,]*\])", head))
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "f")
    names = [p.arg for p in function.args.args]
    before, after = load(path), load(path.with_name(path.stem + ".expected.py"))
    draw = random.Random(path.stem)
    for _ in range(ROUNDS):
        arguments = [tensor(facts[n] if n in facts else facts["h"], draw) for n in names]
        assert outcome(before, arguments) == outcome(after, arguments), arguments


def test_there_are_programs() -> None:
    assert len(programs()) > 20
