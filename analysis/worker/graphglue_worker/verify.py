"""Is an edit right?  Original and edited code run in two separate forks, on the same inputs, and everything visible is compared.

For each entry and input set (as given; built from two other seeds; other values of the same shapes): outputs, input mutation,
parameters and buffers, state-dict keys, random state, printed and logged output, exceptions — eager against eager, and eager-original
against compiled-edited; and for the given inputs the gradients.  Then the graph breaks: fewer, and none that is new.
"""

import contextlib
import io
import logging
import os
import pickle
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree

from graphglue_worker import capture, compare, inputs, overlay
from graphglue_worker.inputs import Call, Entry

SETS = ("the given inputs", "inputs from seed 1", "inputs from seed 2", "other values of the same shapes")
COMPARED = (
    "outputs, eager and compiled",
    "input mutation",
    "parameters and buffers",
    "state-dict keys",
    "random state",
    "exceptions",
)


@dataclass
class Run:
    """Everything visible of one call."""

    output: Any = None
    error: tuple[str, str] | None = None
    inputs_after: Any = None
    state_after: Any = None
    state_keys: list[str] = field(default_factory=list)
    rng: Any = None
    printed: list[str] = field(default_factory=list)


@dataclass
class Side:
    """What one fork measured of one entry."""

    entry: dict[str, Any]
    eager: list[Run]
    rerun: Run | None
    compiled: list[Run]
    gradients: Any


class _Effects(contextlib.AbstractContextManager["_Effects"]):
    """Collects what is printed, logged (outside torch) and warned while it is active."""

    def __enter__(self) -> "_Effects":
        self.lines: list[str] = []
        self._saved = (sys.stdout, sys.stderr, logging.Logger.callHandlers, warnings.showwarning)
        self._out, self._err = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self._out, self._err
        lines, original = self.lines, logging.Logger.callHandlers

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            if record.name.split(".")[0] == "torch":
                original(logger, record)
            else:
                lines.append(f"{record.name} {record.levelname} {record.getMessage()}")

        logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign]
        warnings.showwarning = lambda message, category, *_: lines.append(f"{category.__name__} {message}")
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr, logging.Logger.callHandlers, warnings.showwarning = self._saved  # type: ignore[method-assign]
        self.lines[:0] = [text for text in (self._out.getvalue(), self._err.getvalue()) if text]


def _other_values(tree: Any) -> Any:
    """Other values of the same shapes and dtypes: floats mirrored and scaled, integers permuted (so they stay in range), bools flipped."""
    generator = torch.Generator().manual_seed(3)

    def change(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or x.layout != torch.strided or x.numel() == 0:
            return x
        y = x.detach()
        if y.dtype == torch.bool:
            y = ~y
        elif y.dtype.is_floating_point:
            y = y * -1.5
        elif not y.dtype.is_complex:
            order = torch.randperm(y.numel(), generator=generator, device="cpu").to(y.device)
            y = y.reshape(-1)[order].reshape(y.shape)
        return y.clone().requires_grad_(x.requires_grad)

    return _pytree.tree_map(change, tree)


def _owner(fn: Any) -> torch.nn.Module | None:
    target = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    return target if isinstance(target, torch.nn.Module) else None


def _build(entry: Entry, index: int) -> Call:
    assert entry.make is not None
    call = entry.make(index if index < 3 else 0)
    if index == 3:
        call.args, call.kwargs = _other_values((call.args, call.kwargs))
    return call


def _observe(entry: Entry, index: int, compiled: bool, again: capture.Counter | None = None) -> Run:
    run = Run()
    call = _build(entry, index)
    owner = _owner(call.fn)
    inputs.seed_all(100 + index)
    with _Effects() as effects, capture.grad_mode(call), warnings.catch_warnings():
        warnings.simplefilter("always")
        try:
            if compiled:
                result = capture.run_callable(call.fn, call.args, call.kwargs, again=again)[0]
            else:
                result = call.fn(*call.args, **call.kwargs)
            run.output = compare.snapshot(result)
        except (Exception, SystemExit) as e:
            run.error = (type(e).__name__, str(e))
    run.printed = effects.lines
    run.inputs_after = compare.snapshot((call.args, call.kwargs))
    if owner is not None:
        state = [(k, v) for k, v in (*owner.named_parameters(), *owner.named_buffers())]
        run.state_after = compare.snapshot(dict(state))
        run.state_keys = list(owner.state_dict())
    run.rng = (compare.snapshot(torch.get_rng_state()), repr(random.getstate()))
    return run


def _gradients(entry: Entry) -> Any:
    """Gradients of the sum of all floating outputs with respect to parameters and floating inputs; None when there are none."""
    call = _build(entry, 0)
    owner = _owner(call.fn)
    tensors = [x for x in _pytree.tree_leaves((call.args, call.kwargs)) if isinstance(x, torch.Tensor)]
    wanted = [x for x in tensors if x.is_leaf and (x.is_floating_point() or x.is_complex())]
    with _Effects(), torch.enable_grad():
        for x in wanted:
            x.requires_grad_(True)
        named = [(f"input {i}", x) for i, x in enumerate(wanted)]
        if owner is not None:
            named += [(n, p) for n, p in owner.named_parameters() if p.requires_grad]
        try:
            inputs.seed_all(7)
            leaves = _pytree.tree_leaves(call.fn(*call.args, **call.kwargs))
            outputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad and x.is_floating_point()]
            if not outputs or not named:
                return None
            grads = torch.autograd.grad([x.sum() for x in outputs], [x for _, x in named], allow_unused=True)
        except (Exception, SystemExit):
            return None  # not differentiable, or it changes its inputs in place: outputs were compared
    return [(name, None if g is None else compare.snapshot(g)) for (name, _), g in zip(named, grads, strict=True)]


def _measure(entry: Entry, edited: bool) -> Side:
    record = capture.run(entry)
    if entry.make is None or record["status"] == "eager_error":
        return Side(record, [], None, [], None)
    eager = [_observe(entry, i, False) for i in range(len(SETS))]
    rerun = None if edited else _observe(entry, 0, False)
    speaks = any(run.printed for run in eager)  # then it matters what the original says under compile
    torch._dynamo.reset()
    counter = capture.Counter()  # the input sets share compiled code, as the calls of a program do
    compiled = [_observe(entry, i, True, counter) for i in range(len(SETS))] if edited or speaks else []
    return Side(record, eager, rerun, compiled, _gradients(entry))


def _fork_side(file: str, files: dict[str, str], request: dict[str, Any], edited: bool) -> "tuple[int, int]":
    """Start measuring one side in a fork.  Returns (pid, descriptor of the memory file it writes its result to)."""
    memory = os.memfd_create("graphglue-verify")
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            overlay.install(files)
            capture.replace_compile()
            wanted = request.get("entries")
            try:
                sides: Any = [
                    _measure(e, edited)
                    for e in inputs.load(file, bool(request.get("train")))
                    if wanted is None or e.name in wanted
                ]
            except inputs.ImportFailure as e:
                sides = str(e)
            with os.fdopen(memory, "wb") as f:
                pickle.dump(sides, f)
            code = 0
        except BaseException:  # noqa: BLE001
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return pid, memory


def _collect(pid: int, memory: int) -> Any:
    from graphglue_worker.zygote import describe_end

    _, status = os.waitpid(pid, 0)
    with os.fdopen(memory, "rb") as f:
        if status != 0:
            return describe_end(status)
        f.seek(0)
        return pickle.load(f)


def run(request: dict[str, Any], workspaces: list[str], send: Callable[[dict[str, Any]], None]) -> None:
    """Verify the edited overlay against the original one; sends one `verdict` frame."""
    file = os.path.abspath(request["file"])
    original = {f["file"]: f["text"] for f in request.get("original") or []}
    edited = {**original, **{f["file"]: f["text"] for f in request.get("edited") or []}}
    for path, text in edited.items():
        try:
            compile(text.removeprefix("\ufeff"), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as e:
            if original.get(path) != text:
                return send(_refusal(f"the edited text does not compile: {e}"))
    started = [_fork_side(file, original, request, False), _fork_side(file, edited, request, True)]
    before, after = (_collect(*s) for s in started)
    for name, side in (("original", before), ("edited", after)):
        if isinstance(side, str):
            return send(_refusal(f"running the {name} code failed: {side}"))
    send({"op": "verdict", "verdict": judge(before, after, request.get("safety") or "exact")})


def _refusal(reason: str) -> dict[str, Any]:
    verdict = {
        "accepted": False, "glued": False, "outputs": "error", "graphs_before": 0, "graphs_after": 0, "breaks_before": 0,
        "breaks_after": 0, "compared": [], "reasons": [reason], "entries": [],
    }  # fmt: skip
    return {"op": "verdict", "verdict": verdict}


def judge(before: list[Side], after: list[Side], safety: str) -> dict[str, Any]:
    """The verdict, from what the two sides measured."""
    reasons: list[str] = []
    closeness: set[str] = set()
    if [s.entry["name"] for s in before] != [s.entry["name"] for s in after]:
        reasons.append("the entries of the file changed")
    for a, b in zip(before, after, strict=False):
        for reason, outputs in _compare_sides(a, b, safety):
            reasons.append(f"{a.entry['name']}: {reason}")
            closeness.add(outputs)
        reasons += [f"{a.entry['name']}: {r}" for r in _breaks_worse(a.entry, b.entry)]
    totals = {
        f"{what}_{when}": sum(_count(s.entry, what) for s in sides)
        for what in ("graphs", "breaks")
        for when, sides in (("before", before), ("after", after))
    }
    if not any(a.eager for a in before):
        reasons.append("no entry of the file could be run, so nothing was proved")
    elif totals["breaks_before"] == 0:
        reasons.append("the original code has no graph break")
    elif totals["breaks_after"] >= totals["breaks_before"] and not any(
        _unskipped(a.entry, b.entry) for a, b in zip(before, after, strict=False)
    ):
        reasons.append(f"no graph break was removed ({totals['breaks_before']} before, {totals['breaks_after']} after)")
    outputs = next((o for o in ("error", "different", "close") if o in closeness), "identical")
    pairs = list(zip(before, after, strict=False))
    broken = [(a, b) for a, b in pairs if a.entry["breaks"]]
    accepted = not reasons
    return {
        "accepted": accepted,
        "glued": accepted and bool(broken) and all(b.entry["status"] == "captured" for _, b in broken),
        "outputs": outputs,
        **totals,
        "compared": _compared(before, safety),
        "reasons": list(dict.fromkeys(reasons))[:16],
        "entries": [
            {"name": a.entry["name"], "before": a.entry, "after": b.entry, "glued": b.entry["status"] == "captured"}
            for a, b in pairs
        ],
    }


def _count(entry: dict[str, Any], what: str) -> int:
    return entry["graphs"] if what == "graphs" else len(entry["breaks"])


def _compared(before: list[Side], safety: str) -> list[str]:
    words = list(COMPARED)
    words.append("printed and logged output" + (", eager only" if safety == "effects" else ""))
    if any(a.gradients for a in before):
        words.append("gradients")
    return [f"on {len(SETS)} input sets", *words]


def _unskipped(a: dict[str, Any], b: dict[str, Any]) -> set[str]:
    """Functions that fell to eager as a whole before and do not now: what they hid comes to light."""
    def skipped(entry: dict[str, Any]) -> Counter[tuple[str, str]]:
        return Counter((r["id"], _function(r)) for r in entry["breaks"] if r["kind"] == "skip")

    return {function for _, function in skipped(a) - skipped(b)}


def _function(record: dict[str, Any]) -> str:
    stack = record["stack"]
    frame = next((f for f in stack if f["origin"] == "workspace"), stack[0] if stack else {"function": "?"})
    return frame["function"].rpartition(".")[2]


def _breaks_worse(a: dict[str, Any], b: dict[str, Any]) -> Iterator[str]:
    if b["status"] in ("eager_error", "capture_error", "crashed", "timeout") and b["status"] != a["status"]:
        yield f"the edited code ends as {b['status']}: {b['message']}"
    unskipped = _unskipped(a, b)
    old = Counter((r["id"], _function(r)) for r in a["breaks"])
    new = Counter((r["id"], _function(r)) for r in b["breaks"])
    for (gb_id, function), _ in (new - old).items():
        if function not in unskipped:
            yield f"a new graph break appears: {gb_id} in {function}"
    if b["graphs"] > a["graphs"] > 0 and not unskipped:
        yield f"the number of graphs rises from {a['graphs']} to {b['graphs']}"


def _compare_sides(a: Side, b: Side, safety: str) -> "Iterator[tuple[str, str]]":
    if not a.eager:
        return
    assert a.rerun is not None
    again = _compare_runs(a.eager[0], a.rerun, "exact", compiled=False)
    if again:
        yield f"the original code does not repeat its own results ({again[0][0]})", "different"
        return
    if len(b.eager) != len(a.eager):
        yield f"the edited code could not be run: {b.entry['message']}", "error"
        return
    for compiled, runs in ((False, b.eager), (True, b.compiled)):
        for i, (where, x, y) in enumerate(zip(SETS, a.eager, runs, strict=True)):
            was_said = a.compiled[i].printed if compiled and a.compiled else None
            for words, outputs in _compare_runs(x, y, safety, compiled, was_said):
                if outputs != "close" or safety != "numeric":
                    how = "compiled" if compiled else "eager"
                    yield f"on {where}, {how}: {words}", outputs
    yield from _compare_gradients(a.gradients, b.gradients)


def _compare_runs(
    x: Run, y: Run, safety: str, compiled: bool, was_said: list[str] | None = None
) -> list[tuple[str, str]]:
    """Differences of two runs.  `was_said`: what the original printed when compiled."""
    if x.error or y.error:
        same_type = bool(x.error and y.error and x.error[0] == y.error[0])
        waived = bool(compiled and safety == "effects" and x.error and y.error)
        if same_type and (compiled or x.error == y.error) or waived:
            return []
        said = [e and f"{e[0]}: {e[1].strip()[:120]}" for e in (x.error, y.error)]
        return [(f"the original {_raises(said[0])}, the edited code {_raises(said[1])}", "error")]
    found = []
    parts = (
        ("the result", x.output, y.output),
        ("the inputs after the call", x.inputs_after, y.inputs_after),
        ("parameters and buffers after the call", x.state_after, y.state_after),
        ("the random state after the call", x.rng[0], y.rng[0]),
    )
    for where, p, q in parts:
        d = compare.difference(p, q, where)
        if not d.same:
            found.append((d.words, "close" if d.close else "different"))
    if x.rng[1] != y.rng[1]:
        found.append(("Python's random state after the call differs", "different"))
    if x.state_keys != y.state_keys:
        found.append(("the keys of the state dict differ", "different"))
    depends = was_said is not None and was_said != x.printed  # the original's own messages depend on compiling already
    if x.printed != y.printed and not depends and not (compiled and safety == "effects"):
        found.append(("what is printed or logged differs", "different"))
    return found


def _raises(said: str | None) -> str:
    return f"raises {said}" if said else "returns"


def _compare_gradients(x: Any, y: Any) -> "Iterator[tuple[str, str]]":
    """Gradients agree within tolerance; a missing one equals zeros."""
    if x is None and y is None:
        return
    if (x is None) != (y is None):
        yield "the entry is differentiable only before or only after the edit", "different"
        return
    others = dict(y)
    for name, g in x:
        h = others.get(name)
        if g is None or h is None:
            rest = g or h
            if rest is not None and bool((rest.value != 0).any()):
                yield f"the gradient of {name} {'appears' if g is None else 'is lost'}", "different"
            continue
        d = compare.difference(g, h, f"the gradient of {name}")
        if not d.close:
            yield d.words, "different"



