"""The job that writes a ``graphglue_inputs()`` for a file from what was recorded or deduced.

It proposes lines; no file is written.  Each entry's code was run, without torch.compile, before it is proposed, and the whole new text was
imported.  What cannot be written is told with its reason.
"""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from graphglue_worker import (
    capture,
    forks,
    inputs,
    insertion,
    layout,
    modes,
    overlay,
    users_compile,
    values,
    wire,
    written,
)
from graphglue_worker.given import by_function
from graphglue_worker.inputs import Call, Entry, ImportFailure
from graphglue_worker.insertion import FUNCTION, WIDTH, File, Insertion, NoPlace, Style
from graphglue_worker.layout import Group
from graphglue_worker.recipes import Unmakeable
from graphglue_worker.sources import Given, Unwritable

_DOCSTRING = "Example inputs for graphglue-lsp: (name, callable, args, kwargs)."
_MAX_REASON = 160


@dataclass
class Piece:
    """The code of one entry."""

    name: str
    statements: list[tuple[str, layout.Node]]
    item: layout.Node
    imports: list[written.Import]

    def lines(self, indent: str, unit: str) -> list[str]:
        made = [layout.before(f"{name} = ", node) for name, node in self.statements]
        return [line for node in [*made, self.item] for line in layout.lines(node, WIDTH, indent, unit)]


@dataclass
class Proposal:
    """What the job answers."""

    insertions: list[Insertion] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)  # name, why
    notes: list[tuple[str, str]] = field(default_factory=list)  # name, what is not as it was
    refusal: str | None = None  # nothing is proposed
    form: bool = False  # nothing was found: what is proposed wants to be filled in


def run(request: dict[str, Any], plans: dict[str, Any] | None) -> None:
    """Sends one `inputs` frame.  Raises ImportFailure when the file cannot be imported.  `plans`: see `job.run`."""
    file, texts = request["file"], {f["file"]: f["text"] for f in request.get("overlay") or []}
    deadline_ms = request.get("deadline_ms") or capture.DEFAULT_DEADLINE_MS
    endless = forks.Deadline(1 << 31)  # the job's own deadline ends both
    overlay.install(texts)
    users_compile.replace()
    found = forks.run(lambda: _guarded(lambda: _propose(file, dict(plans or {}), deadline_ms)), endless)
    if isinstance(found, forks.Lost):
        found = Proposal(refusal=f"the file could not be run: {found.message}")
    if isinstance(found, str):
        raise ImportFailure(found)
    if found.refusal is None and not found.form:
        overlay.install({**texts, file: insertion.apply(overlay.read(file), found.insertions)})
        entries = forks.run(lambda: _guarded(lambda: [e.inputs for e in inputs.load(file)]), endless, quiet=True)
        if not (isinstance(entries, list) and {*entries} == {FUNCTION}):
            why = entries.message if isinstance(entries, forks.Lost) else entries
            found.refusal = f"the file could not be imported with what would be written: {why}"
    wire.report(
        {
            "op": "inputs",
            "refusal": found.refusal,
            "form": found.form,
            "edits": [] if found.refusal else [{"line": i.line, "text": i.text} for i in found.insertions],
            "written": found.written,
            "left_out": [{"name": name, "reason": why} for name, why in found.left_out],
            "notes": [{"name": name, "reason": said} for name, said in found.notes],
        }
    )


def _guarded(work: Callable[[], Any]) -> Any:
    """What it gives, or the words of an ImportFailure."""
    try:
        return work()
    except ImportFailure as e:
        return e.with_line


def _propose(file: str, plans: dict[str, Any], deadline_ms: int) -> Proposal:
    module = inputs.import_file(file)
    place = File(overlay.read(file))
    try:
        function = place.function()
    except NoPlace as e:
        return Proposal(refusal=str(e))
    made = getattr(module, FUNCTION, None)
    if made is not None and function is None:
        return Proposal(refusal=f"{FUNCTION} comes from another file")
    if made is None and inputs.gives_inputs(file):
        return Proposal(refusal="this file gives its example inputs in another form already")
    given = by_function(module, False) if made is not None else []
    covered = {e.name for e in given} | {e.cls for e in given}
    entries = [e for e in inputs.not_given(module, False, plans) if e.name not in covered and e.cls not in covered]
    entries.sort(key=lambda e: e.line or 0)
    if not entries:
        whole = f"{FUNCTION}() gives inputs for every module class and compiled function of this file already"
        return Proposal(refusal=whole if given else "this file has no module class and compiles no function")
    names = written.Names(module, written.local_names(made) if made is not None else set())
    proposal, pieces = Proposal(), []
    for entry in entries:
        piece = _piece(entry, names, place.style, proposal, plans, module, deadline_ms)
        if piece is not None:
            pieces.append(piece)
    proposal.written = [p.name for p in pieces]
    if not pieces and function is not None:
        proposal.refusal = "nothing could be written: " + "; ".join(f"{n}: {why}" for n, why in proposal.left_out)
        return proposal
    proposal.form = not pieces
    proposal.insertions = _insertions(place, function, pieces, proposal, entries, module)
    return proposal


def _piece(
    entry: Entry,
    names: written.Names,
    style: Style,
    proposal: Proposal,
    plans: dict[str, Any],
    module: ModuleType,
    deadline_ms: int,
) -> Piece | None:
    """The code of an entry, which was run; None, with the reason in `proposal`, where there is none."""
    if entry.prepare is not None:
        entry.prepare()
        wire.report({"op": "plan", "name": entry.name, "plan": plans.get(entry.name)})
    if entry.given is None:
        proposal.left_out.append((entry.name, entry.reason or entry.message or "no inputs are known"))
        return None
    given = forks.run(lambda: _given(entry), forks.Deadline(deadline_ms), quiet=True)
    if not isinstance(given, Given):
        why = given.message if isinstance(given, forks.Lost) else given
        proposal.left_out.append((entry.name, f"it cannot be written as code: {why}"))
        return None
    try:
        source = written.Source(names, style.quote, given.grad)
        item = Group(
            "yield (",
            [
                source.string(entry.name),
                source.node(given.fn),
                Group("(", source.nodes(given.args), ")", pair=True),
                _named(source, given.kwargs),
            ],
            ")",
            bare=("yield ", ""),
        )
    except (Unwritable, Unmakeable) as e:
        proposal.left_out.append((entry.name, f"it cannot be written as code: {e}"))
        return None
    piece = Piece(entry.name, source.statements, item, list(names.used))
    failed = forks.run(lambda: _run(piece, module), forks.Deadline(deadline_ms), quiet=True)
    if isinstance(failed, forks.Lost):
        failed = failed.message
    if failed is not None:
        proposal.left_out.append((entry.name, f"as code it does not run: {failed}"))
        return None
    proposal.notes += [(entry.name, note) for note in given.notes]
    return piece


def _given(entry: Entry) -> Given | str:
    """What the entry is called with, or why that is not known."""
    assert entry.given is not None
    try:
        return entry.given()
    except (Unwritable, Unmakeable, values.CannotBuild, ValueError) as e:
        return str(e)


def _named(source: written.Source, kwargs: dict[str, Any]) -> layout.Node:
    if not kwargs:
        return "{}"
    return Group("{", [layout.before(f"{source.string(k)}: ", source.node(v)) for k, v in kwargs.items()], "}")


def _run(piece: Piece, module: ModuleType, grad: bool = False) -> str | None:
    """Run the code of an entry as the function would, with gradients where it takes some itself: what went wrong, or None."""
    lines = [*map(written.import_line, piece.imports), *piece.lines("", "    ")]
    scope = dict(vars(module))
    try:
        exec(f"def {FUNCTION}():\n{textwrap.indent(chr(10).join(lines), '    ')}", scope)  # noqa: S102 - what we wrote
        inputs.seed_all(0)
        ((_, fn, args, kwargs),) = scope[FUNCTION]()
        call: Call = inputs.as_yielded(fn, args, kwargs)
        call.grad = call.grad or grad
        with modes.grad_mode(call):
            call.fn(*call.args, **call.kwargs)
        return None
    except (Exception, SystemExit) as e:  # noqa: BLE001 - user code
        return _run(piece, module, True) if modes.raised(e) and not grad else inputs._describe(e)


def _insertions(
    place: File,
    function: Any,
    pieces: list[Piece],
    proposal: Proposal,
    entries: list[Entry],
    module: ModuleType,
) -> list[Insertion]:
    imports = [how for piece in pieces for how in piece.imports]
    unit = place.style.unit
    if function is not None:
        indent = place.body_indent(function)
        lines = [line for piece in pieces for line in piece.lines(indent, unit)]
        return [*place.imports(imports), place.into(function, lines)]
    body = [line for piece in pieces for line in piece.lines(unit, unit)]
    for name, why in proposal.left_out:
        body += textwrap.wrap(
            f"{name}: {_short(why)}", WIDTH, initial_indent=f"{unit}# ", subsequent_indent=f"{unit}# "
        )
        if proposal.form:
            body.append(f"{unit}# yield {_form(name, next(e for e in entries if e.name == name), module, place.style)}")
    if proposal.form:
        quote = place.style.quote
        body.append(f"{unit}raise NotImplementedError({quote}example inputs are still to be filled in{quote})")
    docstring = f'{unit}"""{_DOCSTRING}"""'
    return [*place.imports(imports), place.at_end([f"def {FUNCTION}():", docstring, *body])]


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}…"


def _form(name: str, entry: Entry, module: ModuleType, style: Style) -> str:
    """An item to be filled in: what the constructor and the call take."""
    target: Any = module
    for part in (entry.cls or name).split("."):
        target = getattr(target, part, None)
    made, call = name, _parameters(target)
    if isinstance(target, type):
        made = layout.flat(Group(f"{entry.cls}(", _parameters(target), ").eval()"))
        call = _parameters(getattr(target, "forward", None))[1:]
    quoted = f"{style.quote}{name}{style.quote}"
    return ", ".join([quoted, made, layout.flat(Group("(", call, ")", pair=True)), "{}"])


def _parameters(function: Any) -> list[layout.Node]:
    """The names of what a call must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["..."]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind in positional]
