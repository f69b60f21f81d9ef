"""Whether what the server writes is what the protocol says: each message against the LSP model, key by key, and against what the
client said it can do.

The model is lsprotocol's classes, which are generated from Microsoft's.  pygls reads with the same classes, but passes over keys that
they do not have, over enumerations' unknown values and over what a client never announced.
"""

from __future__ import annotations

import collections.abc
import enum
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
from lsprotocol import types
from lsprotocol.converters import get_converter

CONVERTER = get_converter()
OWN = ("graphglue/", "gg/")  # methods that the protocol leaves to servers

# ---- shapes ----------------------------------------------------------------------------------------------------------------


@cache
def fields(cls: type) -> dict[str, tuple[attrs.Attribute[Any], Any]]:
    """By their names on the wire."""
    hints = typing.get_type_hints(cls)
    return {camel(f.name): (f, hints[f.name]) for f in attrs.fields(cls)}


def camel(name: str) -> str:
    first, *rest = name.strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def faults(value: Any, wanted: Any, at: str) -> list[str]:
    """What is wrong with a JSON value that is to be a `wanted`; of a union, with the alternative that comes nearest."""
    if wanted is Any or wanted is object:
        return []
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is typing.Union or type(wanted).__name__ == "UnionType":
        return min((faults(value, a, at) for a in arguments), key=len)
    if origin is typing.Literal:
        return [] if value in arguments else [f"{at} is {value!r}, not {arguments}"]
    if origin is tuple:
        if not isinstance(value, list) or len(value) != len(arguments):
            return [f"{at} is no list of {len(arguments)}"]
        return [f for i, (v, a) in enumerate(zip(value, arguments, strict=True)) for f in faults(v, a, f"{at}[{i}]")]
    if origin in (list, collections.abc.Sequence):
        if not isinstance(value, list):
            return [f"{at} is no list: {value!r}"]
        return [f for i, v in enumerate(value) for f in faults(v, arguments[0], f"{at}[{i}]")]
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{at} is no object: {value!r}"]
        return [f for k, v in value.items() for f in faults(v, arguments[1], f"{at}.{k}")]
    if attrs.has(wanted):
        return object_faults(value, wanted, at)
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return [] if value in [member.value for member in wanted] else [f"{at}: {wanted.__name__} has no {value!r}"]
    if wanted is None or wanted is type(None):
        return [] if value is None else [f"{at} is no null: {value!r}"]
    if wanted is float:
        return [] if isinstance(value, int | float) and not isinstance(value, bool) else [f"{at} is no number"]
    if wanted is int:
        return [] if isinstance(value, int) and not isinstance(value, bool) else [f"{at} is no integer: {value!r}"]
    return [] if isinstance(value, wanted) else [f"{at} is no {wanted.__name__}: {value!r}"]


def object_faults(value: Any, wanted: type, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at} is no {wanted.__name__}: {value!r}"]
    known, found = fields(wanted), []
    for key, (field, hint) in known.items():
        if key not in value:
            optional = field.default is not attrs.NOTHING
            found += [] if optional and not must_be_there(wanted, field, hint) else [f"{at}.{key} is missing"]
            continue
        found += faults(value[key], hint, f"{at}.{key}")
        if isinstance(value[key], int) and "uinteger" in getattr(field.validator, "__name__", "") and value[key] < 0:
            found.append(f"{at}.{key} is negative")
    return found + [f"{at}: {wanted.__name__} has no {key}" for key in value if key not in known]


MAY_BE_LEFT_OUT = ("root_path", "workspace_folders", "active_parameter")  # besides being null


def must_be_there(cls: type, field: attrs.Attribute[Any], hint: Any) -> bool:
    """A default that is no None is a constant of the protocol, as `kind: 'full'`; a special one may be null, as `version`, but is there."""
    if field.default is None:
        return types.is_special_property(cls, field.name) and field.name not in MAY_BE_LEFT_OUT
    return typing.get_origin(hint) is not typing.Union


# ---- what a client must have announced -------------------------------------------------------------------------------------

NEEDS = {  # but for workspace/applyEdit: Kate never announces that it applies edits, and one that refuses is given them otherwise
    "workspace/configuration": "workspace.configuration",
    "workspace/workspaceFolders": "workspace.workspace_folders",
    "workspace/codeLens/refresh": "workspace.code_lens.refresh_support",
    "workspace/inlayHint/refresh": "workspace.inlay_hint.refresh_support",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refresh_support",
    "window/workDoneProgress/create": "window.work_done_progress",
    "window/showDocument": "window.show_document.support",
}
DYNAMIC = {
    "workspace/didChangeConfiguration": "workspace.did_change_configuration.dynamic_registration",
    "workspace/didChangeWatchedFiles": "workspace.did_change_watched_files.dynamic_registration",
}


def announced(capabilities: types.ClientCapabilities, path: str) -> Any:
    value: Any = capabilities
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def each(value: Any, key: str) -> Iterator[Any]:
    """Every value of a key, wherever it is."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from each(item, key)


def unannounced(capabilities: types.ClientCapabilities, method: str, part: Any) -> list[str]:
    """What of a request or notification, or of the result of one that the client made, it did not say it can read."""

    def has(path: str) -> Any:
        return announced(capabilities, path)

    part = part or {}
    wants = [NEEDS[method]] if method in NEEDS else []
    if method == "client/registerCapability":
        wants += [DYNAMIC[r["method"]] for r in part["registrations"]]
    if any(True for _ in each(part, "documentChanges")):
        wants.append("workspace.workspace_edit.document_changes")
    if any(True for _ in each(part, "changeAnnotations")):
        wants.append("workspace.workspace_edit.change_annotation_support")
    if method == "textDocument/publishDiagnostics":
        of = "text_document.publish_diagnostics"
        wants += [f"{of}.version_support" for _ in each(part, "version")]
        wants += [f"{of}.related_information" for _ in each(part, "relatedInformation")]
        wants += [f"{of}.code_description_support" for _ in each(part, "codeDescription")]
        wants += [f"{of}.tag_support" for _ in each(part, "tags")]
        wants = sorted(set(wants))
    if method == "textDocument/hover" and part and isinstance(part["contents"], dict):
        kind = part["contents"].get("kind")
        formats = has("text_document.hover.content_format") or [types.MarkupKind.PlainText]
        if kind not in [f.value for f in formats]:
            return [f"{method}: {kind} was not among the formats that the client reads"]
    if method == "textDocument/codeAction" and part:
        wants += ["text_document.code_action.code_action_literal_support" for a in part if "kind" in a][:1]
        wants += ["text_document.code_action.disabled_support" for a in part if "disabled" in a][:1]
        wants += ["text_document.code_action.is_preferred_support" for a in part if "isPreferred" in a][:1]
        wants += ["text_document.code_action.data_support" for a in part if "data" in a][:1]
    return [f"{method}: the client did not announce {path}" for path in wants if not has(path)]


def registration_faults(registration: dict[str, Any]) -> list[str]:
    method, options = registration["method"], registration.get("registerOptions")
    wanted = types.METHOD_TO_TYPES[method][3]
    return [] if options is None or wanted is None else faults(options, wanted, f"registration of {method}")


# ---- messages --------------------------------------------------------------------------------------------------------------


WORK = {"begin": types.WorkDoneProgressBegin, "report": types.WorkDoneProgressReport, "end": types.WorkDoneProgressEnd}


class Judge:
    """Of one session: `sent` tells it of the client's requests, `of` gives what is wrong with a message of the server's."""

    def __init__(self) -> None:
        self.capabilities: types.ClientCapabilities | None = None
        self.asked: dict[Any, str] = {}
        self.partial: dict[Any, str] = {}  # tokens of the client, and the methods whose results may come under them
        self.work: dict[Any, str] = {}  # tokens that the server made, and what came last under them
        self.judged = 0

    def sent(self, request: Any, method: str, params: Any) -> None:
        """`params`: as JSON or as lsprotocol's object; they may be wrong."""
        self.asked[request] = method
        raw = params if isinstance(params, dict) else {}
        if method == "initialize":
            said = raw.get("capabilities")
            readable = isinstance(said, dict)
            self.capabilities = CONVERTER.structure(said, types.ClientCapabilities) if readable else None
            self.capabilities = getattr(params, "capabilities", self.capabilities)
        token = getattr(params, "partial_result_token", raw.get("partialResultToken"))
        if isinstance(token, int | str):
            self.partial[token] = method

    def of(self, message: dict[str, Any]) -> list[str]:
        self.judged += 1
        if message.get("jsonrpc") != "2.0":
            return [f"no jsonrpc 2.0: {message}"]
        if "method" in message:
            return self._of_theirs(message)
        if "id" not in message or ("result" in message) == ("error" in message):
            return [f"no answer with either a result or an error: {message}"]
        method = self.asked.pop(message.get("id"), None)
        if method is None or method.startswith(OWN):
            return []
        if "error" in message:
            return faults(message["error"], types.ResponseError, f"error of {method}")
        wanted = fields(types.METHOD_TO_TYPES[method][1])["result"][1]
        if isinstance(message.get("result"), dict | list) and method == "workspace/executeCommand":
            return []  # the protocol leaves it to the command
        found = faults(message.get("result"), wanted, f"result of {method}")
        return found + self._unannounced(method, message.get("result"))

    def _of_theirs(self, message: dict[str, Any]) -> list[str]:
        method = message["method"]
        if method.startswith(OWN):
            return []
        if method not in types.METHOD_TO_TYPES:
            return [f"the protocol has no {method}"]
        cls = types.METHOD_TO_TYPES[method][0]
        found = object_faults(message, cls, method)
        if types.message_direction(method) == "clientToServer":
            found.append(f"{method} is the client's to send")
        if not found and method == "window/workDoneProgress/create":
            self.work[message["params"]["token"]] = "create"
        if not found and method == "$/progress":
            found += self._of_progress(message["params"]["token"], message["params"]["value"])
        if not found and method == "client/registerCapability":
            found += [f for r in message["params"]["registrations"] for f in registration_faults(r)]
        return found + self._unannounced(method, message.get("params"))

    def _of_progress(self, token: Any, value: Any) -> list[str]:
        if token in self.partial:
            method = self.partial[token]
            if method not in self.asked.values():
                return [f"a part of the result of {method} after the whole of it"]
            part = types.WorkspaceDiagnosticReportPartialResult  # of the only method that sends parts
            return (
                faults(value, part, f"part of {method}") if method == types.WORKSPACE_DIAGNOSTIC else [f"of {method}"]
            )
        kind, last = value.get("kind") if isinstance(value, dict) else None, self.work.get(token)
        if kind not in WORK:
            return [f"progress of no kind: {value!r}"]
        if last != "create" if kind == "begin" else last not in ("begin", "report"):
            return [f"progress {token!r}: {kind} after {last}"]
        self.work[token] = kind
        return object_faults(value, WORK[kind], f"progress {token!r}")

    def _unannounced(self, method: str, part: Any) -> list[str]:
        return unannounced(self.capabilities, method, part) if self.capabilities else []
