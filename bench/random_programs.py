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

ROOT = Path(__file__).resolve().parents[1]
HEAD = "import math\n\nimport torch\nimport torch.nn.functional as F\n\n\n"
# What `fix` is given; `shape` and `values` are varied by the judge.
MAKE = {
    "x": ("torch.float32", (4, 5)),
    "w": ("torch.float32", (4, 5)),
    "h": ("torch.float16", (4, 5)),
    "d": ("torch.float64", (4, 5)),
    "r": ("torch.float32", (5,)),
    "n": ("torch.int64", (4, 5)),
    "s": ("torch.float32", ()),
    "m": ("torch.bool", (4, 5)),
}


CHANGE = "def change(t):\n    t.add_(1)\n"
MODULE = """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.linspace(-2, 2, 20).view(4, 5))
"""


class Grammar:
    """Writes one function; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["x", "w"]  # float32 [4, 5], certainly bound
        self.count = 0
        self.helpers: list[str] = []  # functions that take what `f` takes and return a tensor like x

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def value(self, depth: int = 0) -> str:
        """A float32 tensor of the shape of x."""
        a = self.pick(*self.names)
        if depth > 1 or self.rng.random() < 0.25:
            return a
        if self.helpers and self.rng.random() < 0.15:
            return self.call(a)
        b = self.value(depth + 1)
        return self.pick(
            f"{a} + {b}",
            f"{a} - 1",
            f"{a} * {self.pick('2', '0.5', '-1.0')}",
            f"{a} * {b}",
            f"{a}.abs()",
            f"{a}.clone()",
            f"torch.relu({b})",
            f"{a}.sigmoid()",
            f"{a} / 2",
            f"{a} / {b}",
            f"{a}.sqrt()",
            f"{a} + r",
            f"torch.zeros_like({a})",
            f"{a}.clamp(max=1.0)",
            f"{a} * s",
            f"-({b})",
            f"F.gelu({a})",
            f"{a}.softmax(-1)",
            f"{a}.cumsum(0)",
            f"torch.maximum({a}, {b})" if b.isidentifier() else f"{b}",
        )

    def other(self) -> str:
        """A tensor of some other dtype or shape, or a number."""
        return self.pick("h", "d", "n", "r", "s", "n * 2", "x.sum(0)", "x[0]", "1.0", "0", "h * 2", "k", "x.T", "m")

    def condition(self) -> str:
        a = self.pick(*self.names)
        simple = self.pick(
            f"{a}.sum() > 0",
            f"{a}.mean() < 0.1",
            f"({a} > 1).any()",
            f"{a}.isnan().any()",
            f"torch.isfinite({a}).all()",
            f"{a}.max() > {self.pick('1', '2.5', 's')}",
            "n.sum() % 2 == 0",
            "m.any()",
            "m.all()",
            f"{a}[0, 0] > 0",
            f"torch.all({a} > -1)",
            "s > 0",
            "s",
            f"{a}.sum().item() > 0",
            f"torch.equal({a}, w)",
            "0 < s < 1",
        )
        if self.rng.random() < 0.2:
            return f"{simple} {self.pick('and', 'or')} {self.condition_simple()}"
        return f"not {simple}" if self.rng.random() < 0.1 and " " not in simple else simple

    def condition_simple(self) -> str:
        return self.pick("w.sum() > 0", "flag", "k > 2", "m.any()", "(x > 0).all()", "x.shape[0] > 3")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def statement(self, depth: int) -> list[str]:
        """Lines; may bind names."""
        kind = self.rng.random()
        a = self.pick(*self.names)
        if self.rng.random() < 0.15:
            return self.alias(a)
        if kind < 0.20:
            name = self.pick(self.fresh(), a)
            line = f"{name} = {self.value()}"
            self.bind(name)
            return [line]
        if kind < 0.28:  # aliases and views
            name = self.fresh()
            line = f"{name} = {self.pick(a, f'{a}.view(4, 5)' if a in 'xw' else a, f'{a}.detach()', f'{a}[:]', f'{a}.contiguous()')}"
            self.bind(name)
            return [line]
        if kind < 0.36:
            return [
                self.pick(
                    f"{a} += 1", f"{a}.mul_(2)", f"{a}.add_(r)", f"{a}[0] = 0", f"{a} *= s", f"{a}.clamp_(min=-1)"
                )
            ]
        if kind < 0.62 and depth < 2:
            return self.branch(depth)
        if kind < 0.70:
            return self.scalar(a)
        if kind < 0.78:
            return self.mask(a)
        if kind < 0.84:
            return [
                self.pick(
                    f"assert {self.condition()}",
                    f"assert ({a} < 1e9).all(), 'large'",
                    f"print('value', {a}.sum() > 0)",
                    "print('here', k)",
                    f"print({a}.shape)",
                    f"{self.fresh()} = {a}.sum().item()",
                )
            ]
        if kind < 0.90 and depth < 1:
            return self.loop(depth)
        if kind < 0.94:
            name = self.fresh()
            line = f"{name} = {self.value(1)} if {self.condition()} else {self.pick(self.value(1), self.other())}"
            return [line]  # its dtype is not known: not bound
        if kind < 0.97 and depth:
            return [f"return {self.pick(self.value(), self.other(), a)}"]
        name = self.fresh()
        line = f"{name} = math.{self.pick('sqrt', 'exp', 'floor')}({self.pick('s.abs()', 'k', 'x.abs().max()')}) * {a}"
        self.bind(name)
        return [line]

    def call(self, a: str) -> str:
        second = self.pick(*self.names)
        return f"{self.pick(*self.helpers)}({a}, {second}, h, d, r, n, s, m, flag, k)"

    def change(self, a: str) -> str:
        """Changes it in place."""
        return self.pick(
            f"{a}.add_(1)",
            f"{a} += 1",
            f"{a}[0] = 0",
            f"{a}.view(-1).mul_(2)",
            f"{a}[1:].zero_()",
            f"torch.relu_({a})",
            f"torch.add({a}, 1, out={a})",
            f"change({a})",
            f"F.relu({a}, inplace=True)",
        )

    def alias(self, a: str) -> list[str]:
        """A branch with an arm that is a tensor that others hold, and a change of one of them behind it."""
        name = self.pick(self.fresh(), self.pick(*self.names))
        held = self.pick(
            a, a, f"{a}.view(4, 5)", f"{a}[:]", f"kept{self.count}[0]", self.call(a) if self.helpers else a
        )
        lines = [f"kept{self.count} = [{a}, {self.pick(*self.names)}]"] if held.startswith("kept") else []
        arms = [f"    {name} = {held}", f"    {name} = {self.value()}"]
        self.rng.shuffle(arms)
        if name in self.names and self.rng.random() < 0.4:
            lines += [f"if {self.condition()}:", arms[0]]
        elif self.rng.random() < 0.5:
            lines += [f"if {self.condition()}:", arms[0], "else:", arms[1]]
        else:
            yes, no = (arm.partition(" = ")[2] for arm in arms)
            lines.append(f"{name} = {yes} if {self.condition()} else {no}")
        changed = self.pick(a, name, name, *self.names)
        if self.rng.random() < 0.45:
            lines.append(self.change(changed))
        self.bind(name)
        return lines

    def bind(self, name: str) -> None:
        if name not in self.names:
            self.names.append(name)

    def block(self, depth: int, most: int = 2) -> list[str]:
        known = list(self.names)
        lines = [line for _ in range(self.rng.randint(1, most)) for line in self.statement(depth)]
        self.names = known  # what a block binds may not be bound
        return [f"    {line}" for line in lines]

    def branch(self, depth: int) -> list[str]:
        shape = self.rng.random()
        condition = self.condition()
        if shape < 0.45:
            name = self.pick(self.fresh(), self.pick(*self.names))
            same = self.rng.random() < 0.75
            yes, no = self.value(), self.value() if same else self.other()
            if self.rng.random() < 0.3:
                second = self.fresh()
                lines = [
                    f"if {condition}:",
                    f"    {name} = {yes}",
                    f"    {second} = {self.value()}",
                    "else:",
                    f"    {name} = {no}",
                    f"    {second} = {self.value()}",
                ]
                self.bind(second)
            else:
                lines = [f"if {condition}:", f"    {name} = {yes}", "else:", f"    {name} = {no}"]
            if same:
                self.bind(name)
            elif name in self.names and len(self.names) > 2:
                self.names.remove(name)
            return lines
        if shape < 0.7:
            name = self.pick(*self.names)
            return [f"if {condition}:", f"    {name} {self.pick('=', '=', '=', '+=', '*=')} {self.value()}"]
        if shape < 0.8:
            return [f"if {condition}:", f"    return {self.value()}"]
        if shape < 0.86:
            return [f"if {condition}:", "    raise ValueError('bad')"]
        lines = [f"if {condition}:", *self.block(depth + 1)]
        if self.rng.random() < 0.5:
            lines += [self.pick("else:", f"elif {self.condition()}:"), *self.block(depth + 1)]
        return lines

    def scalar(self, a: str) -> list[str]:
        name = self.fresh()
        source = self.pick(f"{a}.sum()", f"{a}.max()", "s", "n.sum()", "m.sum()", f"{a}[0, 0]", "h.sum()")
        taken = self.pick(f"{source}.item()", f"float({source})", f"int({source})", f"{source}.item() * 2 + 1")
        self.bind(result := self.fresh())
        return [f"{name} = {taken}", f"{result} = {self.pick(*self.names[:2])} {self.pick('*', '+', '-', '/')} {name}"]

    def mask(self, a: str) -> list[str]:
        condition = self.pick("m", f"{a} > 0", f"{a}.isnan()", "n > 1")
        result = self.fresh()
        line = self.pick(
            f"{a}[{condition}] = {self.pick('0', '1.5', 's')}",
            f"{a}[{condition}] = {a}[{condition}] * 2",
            f"{a}[{condition}] *= 2",
            f"{result} = {a}[{condition}].sum()",
            f"{result} = {a}[{condition}].mean()",
            f"{result} = {a} + ({condition}).nonzero().shape[0]",
            f"{result} = {a}.masked_fill({condition}, 0.0)",
            f"{result} = [v * 2 for v in r.tolist()]",
            f"{result} = torch.tensor([s.item(), r[0].item()])",
        )
        if line.startswith(f"{result} = {a} +") or "masked_fill" in line:
            self.bind(result)
        return [line]

    def loop(self, depth: int) -> list[str]:
        index = self.pick("i", "j")
        head = self.pick(f"for {index} in range(3):", f"for {index} in range(x.shape[0]):", f"for {index} in (0, 1):")
        if self.rng.random() < 0.4:
            name = self.pick(*self.names)
            return [
                head,
                f"    if {self.condition()}:",
                f"        {self.pick('break', f'{name} = {name} * 0.5', 'continue')}",
                f"    {name} = {name} + {index}",
            ]
        return [head, *self.block(depth + 1)]

    def helper(self) -> str:
        """Returns a tensor like x: often one that it was given."""
        lines = [line for _ in range(self.rng.randint(0, 1)) for line in self.statement(1)]
        if self.rng.random() < 0.5:
            lines += [f"if {self.condition()}:", f"    return {self.value()}", f"return {self.pick(*self.names)}"]
        else:
            name = self.pick(*self.names)
            lines += [f"if {self.condition()}:", f"    {name} = {self.value()}", f"return {name}"]
        return "\n".join(f"    {line}" for line in lines)

    def function(self) -> str:
        """Of the whole program, whose entry is `f`."""
        given, texts = f"{', '.join(MAKE)}, flag, k", [CHANGE]
        for name in self.rng.choice([(), (), ("g1",), ("g1", "g2")]):
            texts.append(f"def {name}({given}):\n{self.helper()}\n")
            self.names, self.helpers = ["x", "w"], [*self.helpers, name]
        module = self.rng.random() < 0.25
        if module:
            self.names.append("self.b")
        lines = [line for _ in range(self.rng.randint(2, 5)) for line in self.statement(0)]
        bound = self.rng.sample(self.names, min(len(self.names), 3))
        lines.append(f"return {', '.join(bound)}")
        body = "\n".join(f"{'    ' * (1 + module)}{line}" for line in lines)
        if not module:
            return "\n\n".join([*texts, f"def f({given}):\n{body}\n"])
        return "\n\n".join([*texts, f"{MODULE}\n    def forward(self, {given}):\n{body}\n", "f = M()\n"])


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
    flat = list(result) if isinstance(result, tuple) else [result]
    held = list(function.buffers()) if isinstance(function, torch.nn.Module) else []
    seen = {"result": told(result), "arguments": told(given), "buffers": told(held)}
    seen["shared"] = shared([*flat, *given, *held])
    seen["returned"] = len([v for v in flat if isinstance(v, torch.Tensor) and v.numel()])
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
