"""Installed packages whose files a session may mend: where they lie, and which version of them is there."""

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from graphglue_worker import positions

_SUFFIX = ".py"


def run(request: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Send one `package` frame for each name of the request, in their order."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(request["file"])))  # as when the file is imported
    for name in request.get("packages") or []:
        send({"op": "package", "package": find(str(name))})


def find(name: str) -> dict[str, Any]:
    """The package that is imported by this name, or that the distribution of this name installs.

    `folder` is the package's folder, or its one file; `error` says why there is none that can be mended.
    """
    found: dict[str, Any] = {"name": name, "distribution": None, "version": None, "folder": None, "error": None}
    module = _module_of(name)
    if module is None:
        return {**found, "error": f"no package {name} is installed for this interpreter"}
    spec = _spec(module)
    source = spec.origin if spec and isinstance(spec.origin, str) else ""
    if not source.endswith(_SUFFIX):
        return {**found, "error": f"{name} has no source file that could be mended"}
    origin = positions.origin(os.path.abspath(source))
    if origin in ("torch", "stdlib"):
        of = "torch, which Dynamo does not look into" if origin == "torch" else "Python's standard library"
        return {**found, "error": f"{name} is part of {of}"}
    if origin == "workspace":
        return {**found, "error": f"{name} is not installed but lies in your workspace: name its files instead"}
    if module in sys.modules:
        return {**found, "error": f"{name} is imported by torch itself, before any file can be put over it"}
    folder = os.path.dirname(source) if spec and spec.submodule_search_locations is not None else source
    distribution, version = _distribution(module, name)
    return {
        "name": module,
        "distribution": distribution,
        "version": version or "unknown",
        "folder": os.path.abspath(folder),
        "error": None,
    }


def _module_of(name: str) -> str | None:
    """What it is imported by."""
    for guess in (name, name.replace("-", "_")):
        if guess.isidentifier() and _spec(guess):
            return guess
    wanted = name.replace("_", "-").lower()
    for module, owners in importlib.metadata.packages_distributions().items():
        if wanted in [o.replace("_", "-").lower() for o in owners] and module.isidentifier() and _spec(module):
            return module
    return None


def _spec(module: str) -> Any:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None


def _distribution(module: str, name: str) -> tuple[str | None, str | None]:
    """The distribution that installs the module, and its version."""
    guesses = [module, name]
    try:
        version = importlib.metadata.version(module)
        return importlib.metadata.metadata(module)["Name"] or module, version
    except importlib.metadata.PackageNotFoundError:
        guesses = importlib.metadata.packages_distributions().get(module, guesses)
    for guess in guesses:
        try:
            return guess, importlib.metadata.version(guess)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None, None
