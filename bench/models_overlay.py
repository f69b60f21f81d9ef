"""The six models of bench/models.py, mended inside transformers through the overlay and run with it; with --experts, those of bench/experts.py.

    python bench/models_overlay.py [--experts] [-k NAME…] [--bin build/release/bin] [--python PYTHON]

For each model, and BART in half precision too, each step in a process of its own: the unmodified package is called without the compiler and
under it; `fix --package transformers --max-safety effects` (of experts: `config`) mends what it meets; `run` calls the patched package
without the compiler and under it, with `fullgraph=True`.  Every call is made three times on one instance, on the given inputs and on *other*
ones: of another seed, and such that the mended branch is taken (half precision: values that overflow; Phi-3: a sequence longer than its
short factors are for).  All outputs have to be those of the unmodified package without the compiler, bit for bit.  Prints a table; exits
with 1 when a row falls short.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS = (
    ("t5", "float32"),
    ("whisper", "float32"),
    ("bart", "float32"),
    ("bart", "float16"),
    ("biogpt", "float32"),
    ("layoutlmv3", "float32"),
    ("phi3_longrope", "float32"),
)
EXPERTS = ("mixtral", "qwen2_moe", "deepseek_v3", "dbrx", "phimoe")
MODEL = """import sys

sys.path.insert(0, {bench!r})
import {models} as models
import torch


def make(seed):
    torch.manual_seed(seed)
    model, inputs = models.{name}()
    return model.eval().to(torch.{dtype}), inputs


def graphglue_inputs():
    model, inputs = make(0)
    yield {name!r}, model, (), inputs
"""
CALLS = """import json
import sys

import torch
from model import make, models
from torch.utils import _pytree

graphs = 0


def count(module, inputs):
    global graphs
    graphs += 1
    return module.forward


def others():
    model, inputs = make(1)
    if next(model.parameters()).dtype == torch.float16:
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("layer_norm.weight"):
                    parameter.fill_(40000.0)
    if "phi3" in sys.argv[2]:
        inputs = {"input_ids": models.ids(40), "attention_mask": models.ones(40)}
    return model, inputs


def call(made, compiled):
    model, inputs = made
    called = torch.compile(model, backend=count, fullgraph=sys.argv[1] == "patched") if compiled else model
    with torch.no_grad():
        return [[x for x in _pytree.tree_leaves(dict(called(**inputs))) if isinstance(x, torch.Tensor)] for _ in range(3)]


def first_call():
    global graphs
    model, inputs = make(0)
    with torch.no_grad():
        torch.compile(model, backend=count, fullgraph=sys.argv[1] == "patched")(**inputs)
    found = graphs, sum(torch._dynamo.utils.counters["graph_break"].values())
    torch._dynamo.reset()
    return found


found = first_call()
outputs = {}
for what, maker in (("given", lambda: make(0)), ("other", others)):
    for compiled in (False, True):
        outputs[what, compiled] = call(maker(), compiled)
torch.save(outputs, sys.argv[3])
overlay = sys.modules.get("graphglue_overlay")
print(json.dumps({"graphs": found[0], "breaks": found[1], "patched": sorted(overlay.in_force) if overlay else []}))
"""


def ran(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{command}: {done.stderr[-2000:]}")
    return done.stdout


def same(expected: Any, got: Any) -> bool:
    """Bit for bit, all calls and all tensors; all NaN are alike."""
    import torch

    def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and torch.equal(torch.isnan(a), torch.isnan(b))
            and torch.equal(a.nan_to_num().view(torch.uint8), b.nan_to_num().view(torch.uint8))
        )

    return len(expected) == len(got) and all(
        len(a) == len(b) and all(map(equal, a, b)) for a, b in zip(expected, got, strict=True)
    )


def row(name: str, dtype: str, folder: Path, options: argparse.Namespace) -> tuple[bool, str]:
    import torch

    binary = str(Path(options.bin).resolve() / "graphglue-lsp")
    (folder / "pyproject.toml").write_text("")
    (folder / "model.py").write_text(
        MODEL.format(
            bench=str(ROOT / "bench"), models="experts" if options.experts else "models", name=name, dtype=dtype
        )
    )
    (folder / "calls.py").write_text(CALLS)
    calls = [options.python, "calls.py"]
    before = json.loads(ran([*calls, "original", name, "original.pt"], folder).splitlines()[-1])
    fix = [
        "fix",
        "--package",
        "transformers",
        "--max-safety",
        "config" if options.experts else "effects",
        "--apply",
        "--json",
        "--python",
        options.python,
    ]
    mended = json.loads(ran([binary, *fix, "model.py"], folder))["files"][0]
    accepted = [r for r in mended["repairs"] if r["verdict"]["accepted"]]
    if not mended["overlay"]:
        reasons = [r["verdict"]["reasons"] for r in mended["repairs"]] or [
            [mended["error"] or "no rule offers anything"]
        ]
        return False, f"| {name} | {dtype} | {before['graphs']} | {before['breaks']} | | | | nothing: {reasons[0][0]} |"
    after = json.loads(
        ran([binary, "run", "--strict", "--", *calls, "patched", name, "patched.pt"], folder).splitlines()[-1]
    )
    expected, got = torch.load(folder / "original.pt"), torch.load(folder / "patched.pt")
    identical = all(same(expected[what, False], got[what, how]) for what in ("given", "other") for how in (False, True))
    good = identical and after["breaks"] == 0 and after["graphs"] == 1 and bool(after["patched"])
    rules = ", ".join(f"{r['rule']} ({r['safety']})" for r in accepted) or "none"
    cells = (
        name,
        dtype,
        before["graphs"],
        before["breaks"],
        after["graphs"],
        after["breaks"],
        "identical" if identical else "differ",
        rules,
    )
    return good, "| " + " | ".join(map(str, cells)) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", nargs="*", default=[], help="only rows with one of these texts in `name dtype`")
    parser.add_argument("--experts", action="store_true", help="mixtures of experts, with a setting of Dynamo's")
    parser.add_argument("--bin", default=os.environ.get("GRAPHGLUE_BIN") or str(ROOT / "build" / "release" / "bin"))
    parser.add_argument("--python", default=sys.executable, help="has torch and transformers (default: this one)")
    options = parser.parse_args()
    print("| model | dtype | graphs before | breaks | graphs after | breaks | outputs | rules |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | --- |")
    short = 0
    for name, dtype in [(name, "float32") for name in EXPERTS] if options.experts else ROWS:
        if options.k and not any(k in f"{name} {dtype}" for k in options.k):
            continue
        with tempfile.TemporaryDirectory() as folder:
            good, line = row(name, dtype, Path(folder).resolve(), options)
        short += not good
        print(line, flush=True)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
