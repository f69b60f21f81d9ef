"""Entries of a file from inputs that `graphglue-lsp record` kept (the nearest .graphglue/inputs above it, or $GRAPHGLUE_INPUTS).

Where the worker is not on the machine that recorded, they come with the request instead.
"""

import base64
import binascii
import functools
import io
import json
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch

from graphglue_worker import devices, reads, recorded_source, sources, values
from graphglue_worker.inputs import Call, Entry, import_file, seed_all, source_of
from graphglue_worker.record import VERSION

MAX_DOCUMENTS = 2000
_load = functools.cache(import_file)  # scripts that name classes of their own


_sent: "list[Any] | None" = None

Tensors = Callable[[], dict[str, torch.Tensor]]  # those whose elements were recorded, by the keys in the document


def install(sent: "list[Any] | None") -> None:
    """Take these instead of what lies in a folder: [{"document", "tensors": base64 or None}]; None: look for a folder."""
    global _sent
    _sent = sent


def entries(module: ModuleType, train: bool) -> list[Entry]:
    """One entry for each input set that was recorded for this file, in the order of names; none: an empty list."""
    file = os.path.realpath(module.__file__ or "")
    found: list[Entry] = []
    for document, stored in _documents(file) if _sent is None else _of_request(_sent):
        if os.path.realpath(document["owner"]) == file:
            found += _of_document(module, stored, document, train)
    return found


def _of_request(sent: list[Any]) -> "Iterator[tuple[dict[str, Any], Tensors]]":
    for each in sent:
        document = _checked(each.get("document"))
        if document is not None:
            yield document, functools.partial(_decoded, each.get("tensors"))


def _decoded(text: str | None) -> dict[str, torch.Tensor]:
    try:
        body = base64.b64decode(text or "", validate=True)
    except binascii.Error as e:
        raise values.CannotBuild("the recorded elements did not arrive whole") from e
    return torch.load(io.BytesIO(body), weights_only=True, map_location="cpu")


def _documents(file: str) -> "Iterator[tuple[dict[str, Any], Tensors]]":
    folder = folder_for(file)
    if folder is None:
        return
    reads.note(folder)
    for name in sorted(os.listdir(folder))[:MAX_DOCUMENTS]:
        path = os.path.join(folder, name)
        document = _read(path) if name.endswith(".json") else None
        if document is not None:
            stored = os.path.splitext(path)[0] + ".pt"
            yield document, functools.partial(torch.load, stored, weights_only=True, map_location="cpu")


def folder_for(file: str) -> str | None:
    """Where inputs recorded for this file lie; None: nowhere."""
    given = os.environ.get("GRAPHGLUE_INPUTS")
    if given:
        return given if os.path.isdir(given) else None
    folder = os.path.dirname(file)
    while True:
        candidate = os.path.join(folder, ".graphglue", "inputs")
        if os.path.isdir(candidate):
            return candidate
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _read(path: str) -> "dict[str, Any] | None":
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return None
    return _checked(document)


def _checked(document: Any) -> "dict[str, Any] | None":
    whole = isinstance(document, dict) and document.get("version") == VERSION and isinstance(document.get("sets"), list)
    return document if whole and isinstance(document.get("owner"), str) else None


def _of_document(module: ModuleType, stored: Tensors, document: dict[str, Any], train: bool) -> list[Entry]:
    target = document["target"]
    file, line = _place(target, module)
    sets = document["sets"]
    if not sets and document.get("problem"):
        message = f"it ran while recording, but {document['problem']} cannot be kept; write graphglue_inputs() for it"
        return [Entry(target["name"], "recorded", None, target["name"], file, line, message)]
    found = []
    for recorded in sets:
        name = f"{target['name']}.{recorded['method']}" if recorded.get("method") else target["name"]
        cls = target["name"] if "made" in recorded else None
        make = functools.partial(_make, module, stored, target, recorded, train)
        given = functools.partial(_given, module, stored, target, recorded)
        found.append(Entry(name, "recorded", make, cls, file, line, None, given=given))
    return found


def _find(module: ModuleType, reference: values.Json) -> Any:
    return values.find_by_name(reference, module, _load)


def _place(target: values.Json, module: ModuleType) -> "tuple[str | None, int | None]":
    try:
        return source_of(_find(module, target))
    except values.CannotBuild:
        return None, None


def _kept(stored: Tensors, recorded: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors whose elements were recorded, by the names that descriptions call them."""
    if not recorded.get("tensors"):
        return {}
    found = stored()
    return {name: found[key] for name, key in recorded["tensors"].items() if key in found}


def _given(module: ModuleType, stored: Tensors, target: values.Json, recorded: dict[str, Any]) -> sources.Given:
    find = functools.partial(_find, module)
    return recorded_source.given({**recorded, "target": target}, module, find, _kept(stored, recorded))


def _make(
    module: ModuleType, stored: Tensors, target: values.Json, recorded: dict[str, Any], train: bool, seed: int
) -> Call:
    find = functools.partial(_find, module)
    kept = _kept(stored, recorded)
    place = devices.Placement()
    seed_all(seed)
    if "made" in recorded:
        built = values.Builder(find, {}, place).module(recorded["made"])
        values.put(built, recorded.get("placed") or {}, place)
        built.train(train or bool(recorded["training"]))
        fn = getattr(built, recorded["method"]) if recorded.get("method") else built
    else:
        fn = find(target)
    seed_all(seed)
    builder = values.Builder(find, kept, place)
    args, kwargs = tuple(builder.items(recorded["args"])), builder.named(recorded["kwargs"])
    training = train or bool(recorded.get("training"))
    return Call(fn, args, kwargs, train or (training and bool(recorded["grad"])), place.words())
