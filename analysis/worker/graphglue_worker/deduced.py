"""Entries of a file that gives no inputs: its module classes and what it compiles, with inputs that are deduced when they are wanted.

A deduction runs in a fork of its own and gives a plan of plain values.  Plans found before are tried first: the same entry then runs on the same
inputs from one capture to the next, and an edit is verified on those that the original ran on.
"""

import dataclasses
import inspect
import math
import os
import resource
import time
import types
from collections.abc import Callable
from typing import Any

import torch

from graphglue_worker import deduce, devices, forks, layout, sources, surroundings, users_compile
from graphglue_worker.deduce import Plan, Refusal
from graphglue_worker.inputs import Call, Entry, qualified_name, source_of

WALL_FACTOR = 4  # on a busy machine a deduction may take this much longer than its processor time
MEMORY_BYTES = 6 << 30
FILE_SECONDS = 60.0  # of all deductions for one file
HELP = "write graphglue_inputs() in this file, yielding (name, callable, args, kwargs), or run your program once with graphglue-lsp record"

_OUT_OF_TIME = "SIGXCPU"

Plans = dict[str, dict[str, Any] | None]  # by entry name: the fields of a Plan; None: none was found


class Budget:
    """What is left of a file's time."""

    def __init__(self) -> None:
        self.seconds = FILE_SECONDS


def entries(module: types.ModuleType, train: bool, plans: Plans, fixed: bool = False) -> list[Entry]:
    """One entry for each target of the file; `plans` is read, and gets what is found.  `fixed`: nothing is looked for."""
    budget = Budget()
    found = [entry_for(module, target, train, plans, budget) for target in targets(module)]
    for entry in found if fixed else ():
        entry.prepare = None
        if known := plans.get(entry.name):
            _set(entry, Plan(**known), module, train)
    return found


@dataclasses.dataclass
class Target:
    """What of a file may be captured.

    `held`: by which name, dotted, the file's module holds it; None: by none, or it wants an object to be called on, so that nothing can be tried."""

    of: Any
    name: str
    held: str | None
    file: str | None
    line: int | None


def targets(module: types.ModuleType) -> list[Target]:
    """Module classes of the file, and what it compiles at its top, in the order of their definition."""
    found: dict[int, Target] = {}
    waiting = list(vars(module).items())
    while waiting:
        name, obj = waiting.pop(0)
        if getattr(obj, "__module__", None) != module.__name__ or id(obj) in found:
            continue
        if surroundings.is_entry_class(obj) or (inspect.isfunction(obj) and users_compile.is_compiled(obj)):
            found[id(obj)] = _target(module, obj, name, *source_of(obj))
        if isinstance(obj, type):  # classes that are defined in it
            inner = f"{obj.__qualname__}."
            waiting += [
                (n, v) for n, v in vars(obj).items() if isinstance(v, type) and v.__qualname__.startswith(inner)
            ]
    for site in users_compile.sites(getattr(module, "__file__", None) or ""):
        of = site.compiled
        known = {id(of), id(type(of))} & {*found, *(id(inspect.unwrap(t.of)) for t in found.values())}
        if callable(of) and not known:
            name = next((n for n, held in vars(module).items() if held is of), None)
            found[id(of)] = _target(module, of, name, site.file, site.line)
    return sorted(found.values(), key=lambda target: target.line or 0)


def _target(module: types.ModuleType, obj: Any, name: str | None, file: str | None, line: int | None) -> Target:
    own = getattr(obj, "__qualname__", None)
    held: Any = module
    for part in own.split(".") if own else ():
        held = inspect.getattr_static(held, part, None)
    if held is obj or isinstance(held, staticmethod) and held.__func__ is obj:
        method = "." in own and inspect.isfunction(held)
        return Target(obj, own, None if method else own, file, line)
    return Target(obj, name or qualified_name(obj), name, file, line)


def entry_for(module: types.ModuleType, target: Target, train: bool, plans: Plans, budget: Budget) -> Entry:
    """The entry of one target; its inputs are looked for by `prepare`."""
    cls = target.name if isinstance(target.of, type) else None
    entry = Entry(target.name, "none", None, cls, target.file, target.line, f"no example inputs: {HELP}")

    def prepare() -> None:
        entry.prepare = None
        known = plans.get(target.name)
        plan = find(module, target, Plan(**known) if known else None, budget)
        plans[target.name] = dataclasses.asdict(plan) if isinstance(plan, Plan) else None
        if isinstance(plan, Plan):
            _set(entry, plan, module, train)
        else:
            entry.reason = plan.reason
            entry.message = devices.headed(
                f"no inputs were given and none could be deduced: {plan.reason}. To have it captured, {HELP}"
            )

    entry.prepare = prepare if target.held is not None else None
    return entry


def _set(entry: Entry, plan: Plan, module: types.ModuleType, train: bool) -> None:
    entry.inputs, entry.message = "deduced", f"inputs deduced: {words(plan, module)}"
    entry.make = maker(plan, module, train)
    fn = plan.fn if "global" in plan.fn else {"eval": plan.fn}  # a function has no modes
    entry.given = lambda: sources.Given(fn, plan.args, plan.kwargs)


def find(module: types.ModuleType, target: Target, known: Plan | None, budget: Budget) -> Plan | Refusal:
    """A plan that runs: the known one, or a new one."""
    if known is not None and forks.run(lambda: _runs(known, module), _deadline(deduce.CEILING_S), quiet=True) is True:
        return known
    seconds = min(deduce.CEILING_S, budget.seconds)
    if seconds <= 0:
        return Refusal(f"the {FILE_SECONDS:g} s that a file gets for it are used up")
    before = _children_seconds()
    parent = os.getpid()
    found = forks.run(lambda: _deduce(target, module, seconds, parent), _deadline(seconds), quiet=True)
    budget.seconds -= _children_seconds() - before
    if not isinstance(found, forks.Lost):
        return found
    if found.status == "timeout" or _OUT_OF_TIME in found.message:
        return Refusal("time was up in the middle of an operation")
    return Refusal(f"a trial call ended the process ({found.message})")


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _deadline(seconds: float) -> forks.Deadline:
    return forks.Deadline(int(seconds * 1000 * WALL_FACTOR))


def _deduce(target: Target, module: types.ModuleType, seconds: float, parent: int) -> Plan | Refusal:
    if os.getpid() != parent:  # else the limits would be the job's
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:  # with CUDA, addresses say nothing about memory
            resource.setrlimit(resource.RLIMIT_AS, (min(soft, forks.virtual_bytes() + MEMORY_BYTES), hard))
        limit_seconds(seconds)
    return deduce.deduce(target.of, module, seconds, target.held)


def limit_seconds(seconds: float) -> None:
    """End this process by SIGXCPU soon after `seconds` more of processor time: a handler does not interrupt a long operation."""
    ceiling = math.ceil(time.process_time() + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard == resource.RLIM_INFINITY or ceiling < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (ceiling, hard))


def _runs(plan: Plan, module: types.ModuleType) -> bool:
    try:
        deduce.call(plan, module)
        return True
    except Exception:  # noqa: BLE001 - the code has changed
        return False


def maker(plan: Plan, module: types.ModuleType, train: bool) -> Callable[[int], Call]:
    """What builds a call from a plan."""

    def build(seed: int) -> Call:
        fn, args, kwargs = deduce.make(plan, module, seed)
        if train and isinstance(fn, torch.nn.Module):
            fn.train()
        return Call(fn, tuple(args), kwargs, train)

    return build


def words(plan: Plan, module: types.ModuleType) -> str:
    """What is called with what, as an expression where there is one."""
    writer = sources.Writer(module.__name__)
    try:
        return layout.flat(writer.call(writer.text(plan.fn), plan.args, plan.kwargs))
    except sources.Unwritable:
        return f"{plan.how}, of values that no short expression makes"
