"""Runs the patched sources that `graphglue-lsp fix --package` made in place of an installed package's own files (docs/overlay.md).

    import graphglue_overlay  # before the package is imported

`graphglue-lsp run -- python script.py` does it without that line.  Needs nothing but Python.  A patch is used only where the package is the version,
and the file the very bytes, that it was proved for; else the original runs, with a message on stderr, or, with GRAPHGLUE_OVERLAY_STRICT=1, the
program ends with exit code 2.  GRAPHGLUE_OVERLAY names the overlay's folder; without it, it is the folder of this file.

A patched module keeps its `__file__`, so that it finds the data beside it; its code is that of the patched copy, which tracebacks name.
"""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import linecache
import os
import sys
import threading

FORMAT = 1
in_force = {}  # module name -> the patched copy that it runs, of those that were imported
_patches = {}  # module name -> _Patch
_told = set()


class _Patch:
    """One row of a manifest."""

    def __init__(self, folder, manifest, row):
        self.package, self.version = manifest["package"], manifest["version"]
        self.distribution = manifest.get("distribution")
        self.module = row["module"]
        self.copy = os.path.join(folder, *row["file"].split("/"))
        self.original_sum, self.copy_sum = row["sha256"], row["patched_sha256"]

    def problem(self, original):
        """Why it must not be used for this file; None when it may."""
        version = _version(self.distribution) if self.distribution else None
        if version is not None and version != self.version:
            return f"{self.package} {version} is installed, and its patches were proved with {self.version}"
        if _sum(original) != self.original_sum:
            return f"{original} is not the file that was patched"
        if _sum(self.copy) != self.copy_sum:
            return f"{self.copy} is not what was proved"
        return None


def _sum(path):
    try:
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()
    except OSError:
        return None


def _version(distribution):
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads the patched copy as the module whose file is the original."""

    def __init__(self, name, copy, original):
        super().__init__(name, copy)
        self.original = original

    def get_code(self, fullname):
        """Compiled anew, and not kept: a stale .pyc would be something else than what was proved."""
        data = self.get_data(self.path)
        text = importlib.util.decode_source(data)
        # `inspect` asks for a class's source by its module's file.
        linecache.cache[self.original] = (len(text), None, list(io.StringIO(text)), self.original)
        return self.source_to_code(data, self.path)

    def get_resource_reader(self, name):
        """What lies beside the original."""
        return importlib.machinery.SourceFileLoader(name, self.original).get_resource_reader(name)


class _Finder(importlib.abc.MetaPathFinder):
    """Goes first on sys.meta_path; answers only for modules that have a patch."""

    def find_spec(self, fullname, path=None, target=None):
        """The spec of the module as the other finders give it, with a loader for the patched copy."""
        patch = _patches.get(fullname)
        if patch is None:
            return None
        spec = self._original(fullname, path, target)
        if spec is None or not spec.origin:
            return spec
        problem = patch.problem(spec.origin)
        if problem:
            refuse(problem, patch.package)
            return spec
        in_force[fullname] = patch.copy
        return importlib.util.spec_from_file_location(
            fullname,
            spec.origin,
            loader=_Loader(fullname, patch.copy, spec.origin),
            submodule_search_locations=spec.submodule_search_locations,
        )

    def _original(self, fullname, path, target):
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def refuse(problem, package):
    """Say, once, why a patch is not used; ends the program where GRAPHGLUE_OVERLAY_STRICT asks for it."""
    strict = os.environ.get("GRAPHGLUE_OVERLAY_STRICT", "0") not in ("", "0")
    if problem not in _told:
        _told.add(problem)
        then = "not run" if strict else "the original runs"
        again = f"; mend it again: graphglue-lsp fix --package {package} FILE" if package else ""
        sys.stderr.write(f"graphglue_overlay: {problem}: {then}{again}\n")
    if strict and threading.current_thread() is threading.main_thread():
        raise SystemExit(2)
    if strict:
        sys.stderr.flush()
        os._exit(2)


def _read(folder):
    path = os.path.join(folder, "manifest.json")
    try:
        with open(path, encoding="utf-8") as f:
            manifest = json.load(f)
        if manifest["format"] != FORMAT:
            return refuse(f"{path} was written by another version of graphglue-lsp", manifest.get("package"))
        for patch in [_Patch(folder, manifest, row) for row in manifest["files"]]:
            _patches[patch.module] = patch
            if patch.module in sys.modules:
                refuse(f"{patch.module} was imported before graphglue_overlay", None)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        return refuse(f"{path} cannot be read ({e})", None)


def _packages(root):
    """Folders of an overlay; of a package that has several, that of the installed version goes last and wins."""
    try:
        folders = sorted(os.path.join(root, name) for name in os.listdir(root))
    except OSError as e:
        refuse(f"the overlay {root} cannot be read ({e.strerror})", None)
        return []
    found = [f for f in folders if os.path.isfile(os.path.join(f, "manifest.json"))]
    if len({os.path.basename(f).rpartition("-")[0] for f in found}) < len(found):
        found.sort(key=_is_installed)
    return found


def _is_installed(folder):
    try:
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        return _version(manifest["distribution"]) == manifest["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def install(root=None):
    """Put the overlay in `root` in force for what is imported from now on.  Importing this module does it."""
    root = root or os.environ.get("GRAPHGLUE_OVERLAY") or os.path.dirname(os.path.abspath(__file__))
    for folder in _packages(root):
        _read(folder)
    if _patches and not any(isinstance(f, _Finder) for f in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


install()
