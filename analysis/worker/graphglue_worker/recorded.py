"""Entries of a file from inputs that `graphglue-lsp record` kept (the nearest .graphglue/inputs above it, or $GRAPHGLUE_INPUTS)."""

import functools
import json
import os
from types import ModuleType
from typing import Any

import torch

from graphglue_worker import reads, recorded_source, sources, values
from graphglue_worker.inputs import Call, Entry, import_file, seed_all, source_of
from graphglue_worker.record import VERSION

MAX_DOCUMENTS = 2000
_load = functools.cache(import_file)  # scripts that name classes of their own


def entries(module: ModuleType, train: bool) -> list[Entry]:
    """One entry for each input set that was recorded for this file, in the order of names; none: an empty list."""
    file = os.path.realpath(module.__file__ or "")
    folder = folder_for(file)
    if folder is None:
        return []
    reads.note(folder)
    found: list[Entry] = []
    for name in sorted(os.listdir(folder))[:MAX_DOCUMENTS]:
        if not name.endswith(".json"):
            continue
        document = _read(os.path.join(folder, name))
        if document is not None and os.path.realpath(document["owner"]) == file:
            found += _of_document(module, os.path.join(folder, name), document, train)
    return found


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
    whole = isinstance(document, dict) and document.get("version") == VERSION and isinstance(document.get("sets"), list)
    return document if whole and isinstance(document.get("owner"), str) else None


def _of_document(module: ModuleType, path: str, document: dict[str, Any], train: bool) -> list[Entry]:
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
        make = functools.partial(_make, module, path, target, recorded, train)
        given = functools.partial(_given, module, path, target, recorded)
        found.append(Entry(name, "recorded", make, cls, file, line, None, given=given))
    return found


def _find(module: ModuleType, reference: values.Json) -> Any:
    return values.find_by_name(reference, module, _load)


def _place(target: values.Json, module: ModuleType) -> "tuple[str | None, int | None]":
    try:
        return source_of(_find(module, target))
    except values.CannotBuild:
        return None, None


def _kept(path: str, recorded: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors whose elements were recorded, by the names that descriptions call them."""
    if not recorded.get("tensors"):
        return {}
    stored = torch.load(os.path.splitext(path)[0] + ".pt", weights_only=True, map_location="cpu")
    return {name: stored[key] for name, key in recorded["tensors"].items() if key in stored}


def _given(module: ModuleType, path: str, target: values.Json, recorded: dict[str, Any]) -> sources.Given:
    find = functools.partial(_find, module)
    return recorded_source.given({**recorded, "target": target}, module, find, _kept(path, recorded))


def _make(module: ModuleType, path: str, target: values.Json, recorded: dict[str, Any], train: bool, seed: int) -> Call:
    find = functools.partial(_find, module)
    kept = _kept(path, recorded)
    seed_all(seed)
    if "made" in recorded:
        built = values.Builder(find, {}).module(recorded["made"])
        built.train(train or bool(recorded["training"]))
        fn = getattr(built, recorded["method"]) if recorded.get("method") else built
    else:
        fn = find(target)
    seed_all(seed)
    builder = values.Builder(find, kept)
    args, kwargs = tuple(builder.items(recorded["args"])), builder.named(recorded["kwargs"])
    training = train or bool(recorded.get("training"))
    return Call(fn, args, kwargs, train or (training and bool(recorded["grad"])))
