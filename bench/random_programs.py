"""Random programs through `fix`: an accepted edit must never change what the program does.

    python bench/random_programs.py [--programs 2000] [--seed 1] [--max-safety effects] [-j 2] [--keep FOLDER] [--bin build/release/bin]

Each program is a function or a module with a buffer, and up to two helpers that it calls, made by a grammar of what breaks graphs
and of what makes mending it hard: branches and loops on tensor values, arms that are an argument, a view or the buffer itself, in-place
changes behind them through either name, masks, scalars taken from tensors, asserts, messages, several dtypes.  `fix` sees the inputs that
the program gives.

The judge here is another one than the worker's verification: the text before and the text after are run on input sets that `fix` never saw
(other seeds, zeros, large values, NaN and infinities, other shapes), without the compiler and under it, and results, arguments and buffers
afterwards, what shares memory, what is printed and what is raised are compared.  A result may be a tensor of its own where it shared memory,
if a verdict said so.

Prints the seed of each program that differs, what rules did, and how many candidates the worker refused by rule (a precondition that was no proof).
Exit status 1 when an accepted edit changed anything.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from program_grammar import MAKE, Grammar

ROOT = Path(__file__).resolve().parents[1]
HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"


# ---- inputs ---------------------------------------------------------------------------------------------------------------------


def tensor(name: str, generator: torch.Generator, how: str, rows: int) -> torch.Tensor:
    dtype, shape = MAKE[name]
    kind = getattr(torch, dtype.removeprefix("torch."))
    shape = tuple(rows if size == 4 else size for size in shape)
    value = torch.randn(shape, generator=generator, dtype=torch.float64)
    if how == "zeros":
        value = value * 0
    if how == "large":
        value = value * 1e4
    if how == "positive":
        value = value.abs() + 0.1
    if kind is torch.bool:
        return value > 0
    if kind is torch.int64:
        return (value * 3).round().long()
    value = value.to(kind)
    if how == "special" and value.dim() and value.numel():
        flat = value.view(-1)
        flat[:3] = torch.tensor([float("nan"), float("inf"), float("-inf")], dtype=kind)[: min(3, flat.numel())]
    return value


def arguments(seed: int, how: str = "normal", rows: int = 4) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [*(tensor(name, generator, how, rows) for name in MAKE), seed % 2 == 0, seed % 5]


GIVEN = """

def graphglue_inputs():
    def make(seed, scale):
        torch.manual_seed(seed)
        x, w = torch.randn(4, 5) * scale, torch.randn(4, 5)
        numbers, mask = torch.randint(-5, 9, (4, 5)), torch.rand(4, 5) > 0.5
        return x, w, torch.randn(4, 5).half(), torch.randn(4, 5).double(), torch.randn(5), numbers, torch.randn(()), mask, True, 3

    yield "f", f, make(0, 1.0), {}
    yield "f", f, make(1, -1.0), {}
"""


# ---- the judge ------------------------------------------------------------------------------------------------------------------


def told(value: Any) -> Any:
    """A value as data that compares: tensors by type, dtype, shape and bits (one NaN is like another)."""
    if isinstance(value, torch.Tensor):
        content = value.detach()
        if content.dtype.is_floating_point:
            content = torch.where(content.isnan(), torch.full_like(content, float("nan")), content)
        return (
            "tensor",
            str(value.dtype),
            tuple(value.shape),
            value.requires_grad,
            content.contiguous().numpy().tobytes(),
        )
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [told(v) for v in value])
    return (type(value).__name__, repr(value))


def flat(value: Any) -> list[Any]:
    """What a value holds, in lists and tuples of any depth."""
    return [v for item in value for v in flat(item)] if isinstance(value, (list, tuple)) else [value]


def shared(values: list[Any]) -> list[tuple[int, int]]:
    """Which pairs of tensors share memory."""
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.numel()]
    stores = [v.untyped_storage().data_ptr() for v in tensors]
    return [(i, j) for i in range(len(stores)) for j in range(i) if stores[i] == stores[j]]


def behaviour(function: Any, given: list[Any], whole: bool) -> dict[str, Any]:
    """What a caller sees of one call.  `whole`: without the compiler, where everything must agree."""
    out = io.StringIO()
    seen: dict[str, Any] = {}
    with contextlib.redirect_stdout(out):
        try:
            result = function(*given)
        except Exception as e:
            return {"raised": type(e).__name__ if whole else True, "arguments": told(given) if whole else None}
    returned = flat(result)
    held = list(function.buffers()) if isinstance(function, torch.nn.Module) else []
    seen = {"result": told(result), "arguments": told(given), "buffers": told(held)}
    seen["shared"] = shared([*returned, *given, *held])
    seen["returned"] = len([v for v in returned if isinstance(v, torch.Tensor) and v.numel()])
    if whole:
        seen["said"] = out.getvalue()
    return seen


def load(text: str) -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write(text)
    scope: dict[str, Any] = {"__name__": "program", "__file__": f.name}
    exec(compile(text, f.name, "exec"), scope)
    os.unlink(f.name)
    return scope["f"]


SETS = [
    (7, "normal", 4),
    (8, "normal", 4),
    (9, "zeros", 4),
    (10, "large", 4),
    (11, "special", 4),
    (12, "positive", 4),
    (13, "normal", 1),
    (14, "normal", 7),
    (15, "special", 3),
]


def differs(expected: dict[str, Any], found: dict[str, Any], copies: bool) -> list[str]:
    """Which parts of two behaviours differ.  `copies`: a result may have memory of its own where it shared some."""
    different = [key for key in expected if found.get(key) != expected[key]] or [k for k in found if k not in expected]
    if copies and different == ["shared"]:
        lost, new = (
            {*map(tuple, a)} - {*map(tuple, b)}
            for a, b in ((expected["shared"], found["shared"]), (found["shared"], expected["shared"]))
        )
        if not new and all(j < expected["returned"] for _, j in lost):
            return []
    return different


def judge(before: str, after: str, glued: bool, copies: bool) -> str | None:
    """What differs, in words; None when nothing does."""
    original, edited = load(before), load(after)
    for seed, how, rows in SETS:
        where = f"seed {seed}, {how}, {rows} rows"
        torch.manual_seed(seed)
        expected = behaviour(original, arguments(seed, how, rows), True)
        if rows != 4 and isinstance(original, torch.nn.Module) and "raised" in expected:
            break  # its buffer has four rows; and whatever was left behind now differs
        torch.manual_seed(seed)
        found = behaviour(edited, arguments(seed, how, rows), True)
        different = differs(expected, found, copies)
        if different:
            return f"{where}: {', '.join(different)}"
    if not glued:
        return None
    torch._dynamo.reset()
    compiled = torch.compile(edited, backend="eager")
    for seed, how, rows in SETS[:6]:
        expected = behaviour(original, arguments(seed, how, rows), False)
        found = behaviour(compiled, arguments(seed, how, rows), False)
        different = differs(expected, found, copies)
        if different:
            return f"compiled, seed {seed}, {how}, {rows} rows: {', '.join(different)}"
    return None


def program(seed: int) -> str | None:
    """The text; None when it does not run on the inputs it gives."""
    text = HEAD + Grammar(random.Random(seed)).function() + GIVEN
    scope: dict[str, Any] = {"__name__": "program"}
    try:
        exec(text, scope)
        with contextlib.redirect_stdout(io.StringIO()):
            for _, function, given, _ in scope["graphglue_inputs"]():
                function(*given)
    except Exception:
        return None
    return text


def fix(batch: list[tuple[int, str]], binary: Path, max_safety: str) -> dict[int, dict[str, Any]]:
    """What one run of `fix` says of some programs, by their seeds."""
    with tempfile.TemporaryDirectory() as folder:
        for seed, text in batch:
            (Path(folder) / f"p{seed}.py").write_text(text)
        command = [str(binary), "fix", "--json", "--python", sys.executable, "--max-safety", max_safety, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return {int(Path(f["path"]).stem[1:]): f for f in json.loads(done.stdout)["files"]}


@dataclass
class Totals:
    """What all programs came to."""

    counts: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, seed: int, text: str, result: dict[str, Any], keep: str | None) -> None:
        entries = result["entries"]
        broken = any(e["before"]["sites"] for e in entries)
        whole = bool(entries) and all(e["glued"] for e in entries)
        self.counts["programs"] += 1
        self.counts["could not be handled"] += bool(result["error"]) or not entries
        self.counts["with a break"] += broken
        self.counts["glued"] += whole and broken
        for repair in result["repairs"]:
            verdict = repair["verdict"]
            self.counts["candidates"] += 1
            (self.accepted if verdict["accepted"] else self.refused)[repair["rule"]] += 1
            if not verdict["accepted"] and verdict["outputs"] in ("different", "error"):
                print(f"seed {seed}: {repair['rule']} was refused: {verdict['reasons'][0]}")
        if result["patched"] == text:
            return
        self.counts["edited"] += 1
        copies = any(r["verdict"]["accepted"] and r["verdict"]["copies"] for r in result["repairs"])
        self.counts["said to copy"] += copies
        wrong = judge(text, result["patched"], whole, copies)
        self.counts["WRONG"] += wrong is not None
        if wrong:
            rules = " ".join(r["rule"] for r in result["repairs"] if r["verdict"]["accepted"])
            print(f"seed {seed}: WRONG by {rules}: {wrong}", flush=True)
        if wrong and keep:
            Path(keep).mkdir(parents=True, exist_ok=True)
            (Path(keep) / f"p{seed}.py").write_text(text)
            (Path(keep) / f"p{seed}.after.py").write_text(result["patched"])

    def told(self) -> str:
        lines = ["; ".join(f"{name}: {number}" for name, number in self.counts.items())]
        for words, rules in (("accepted", self.accepted), ("refused by the worker", self.refused)):
            lines.append(f"{words}: " + ", ".join(f"{rule} {number}" for rule, number in sorted(rules.items())))
        return "\n".join(lines)


def programs(first_seed: int, wanted: int) -> list[tuple[int, str]]:
    """That many that run, with their seeds."""
    found = ((seed, text) for seed in itertools.count(first_seed) if (text := program(seed)) is not None)
    return list(itertools.islice(found, wanted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-safety", default="effects", choices=["exact", "effects"])
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--batch", type=int, default=50, help="programs to one run of fix, which starts a worker")
    parser.add_argument("--keep", help="folder for the programs that differ, before and after")
    parser.add_argument("--bin", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "asan" / "bin"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    binary = Path(options.bin).resolve() / "graphglue-lsp"
    print(f"seeds from {options.seed}", flush=True)
    made = programs(options.seed, options.programs)
    batches = [made[at : at + options.batch] for at in range(0, len(made), options.batch)]
    totals = Totals()
    with ThreadPoolExecutor(options.j) as pool:
        for batch, results in zip(
            batches, pool.map(lambda b: fix(b, binary, options.max_safety), batches), strict=True
        ):
            for seed, text in batch:
                totals.add(seed, text, results[seed], options.keep)
    print(totals.told())
    return 1 if totals.counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
