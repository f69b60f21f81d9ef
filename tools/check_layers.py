#!/usr/bin/env python3
"""Fails when a C file includes a folder it may not, or another folder's private header (docs/architecture.md)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "base": set(),
    "protocol": {"base"},
    "analysis": {"base"},
    "analysis/worker": set(),
    "repair": {"base", "analysis"},
    "repair/llm": {"base", "analysis", "repair"},
    "server": {"base", "protocol", "analysis", "repair", "repair/llm"},
}
# A folder inside another one's library may use what its files share.
SHARED = {"repair/llm": {"repair/syntax.h"}}
# A table that is included (.def) is part of the file that includes it.
SOURCES = {".c", ".h", ".cpp"}
EXTERNAL = {
    "jansson.h": {"protocol", "analysis", "repair", "repair/llm", "server"},
    "tree_sitter/api.h": {"analysis", "repair", "repair/llm", "server"},
    "xxhash.h": {"analysis", "server"},
    "uv.h": {"server"},
    "curl/curl.h": {"server"},
    "nettle/base16.h": {"server"},
    "nettle/sha2.h": {"server"},
    "toml++/toml.h": {"server"},
    "Python.h": {"analysis/worker"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)


def folder_of(path: str) -> str:
    below = next((folder for folder in ("analysis/worker", "repair/llm") if path.startswith(f"{folder}/")), None)
    return below or path.split("/")[0]


def problems(path: str, text: str) -> list[str]:
    """What is wrong with the includes of one file, given its path below the root."""
    here = folder_of(path)
    found = []
    for name in INCLUDE.findall(text):
        target = folder_of(name)
        if target in ALLOWED and "/" in name and target != here:
            header = f"{target}/gg_{target.rsplit('/', 1)[-1]}.h"
            public = name == header or name in SHARED.get(here, set())
            if target not in ALLOWED[here]:
                found.append(f"{path}: {here}/ may not include {name}")
            elif not public:
                found.append(f"{path}: {name} is private to {target}/ (include {header})")
        if name in EXTERNAL and here not in EXTERNAL[name]:
            found.append(f"{path}: {here}/ may not include <{name}>")
    return found


def main() -> int:
    found = []
    for folder in ("base", "protocol", "analysis", "repair", "server"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            path = file.relative_to(ROOT).as_posix()
            found += problems(path, file.read_text(encoding="utf-8"))
    print("\n".join(found) if found else "layers: every include goes where it may")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
