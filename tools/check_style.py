#!/usr/bin/env python3
"""Mechanical rules of docs/conventions.md: banned functions, file length, a comment that opens each C file, no absolute home paths."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 600
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|gets|alloca)\s*\(")
GENERATED = {"protocol/lsp_types.c", "protocol/lsp_types.h"}
HOME = re.compile(r"/(?:root|home/[a-z]+|work)/[A-Za-z.]")


def problems(path: str, text: str) -> list[str]:
    """What is wrong with one file, given its path below the root."""
    found = []
    lines = text.count("\n")
    if path.endswith((".c", ".cpp", ".h")):
        code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", text, flags=re.DOTALL)
        found += [f"{path}: {m.group(1)} is banned" for m in BANNED.finditer(code)]
        if not text.lstrip().startswith("/*"):
            found.append(f"{path}: wants a comment that says what the file is")
    if path.endswith((".c", ".cpp", ".h", ".py", ".lua")) and lines > MAX_LINES and path not in GENERATED:
        found.append(f"{path}: {lines} lines, the limit is {MAX_LINES}")
    found += [f"{path}: names a path of one machine: {m.group(0)}" for m in HOME.finditer(text)]
    return found


def tracked() -> list[str]:
    """Files git knows, or all when this is no checkout."""
    try:
        out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        return [p for p in out.decode().split("\0") if p]
    except (OSError, subprocess.CalledProcessError):
        return [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if p.is_file() and "build" not in p.parts]


def main() -> int:
    found = []
    for path in tracked():
        if not path.endswith((".c", ".cpp", ".h", ".py", ".lua", ".md", ".sh", ".txt", ".cmake", ".json", ".def")):
            continue
        file = ROOT / path
        if (
            file.is_file()
            and not path.startswith(("third_party/", "tests/fuzz/corpora/"))
            and path != "tools/check_style.py"
        ):
            found += problems(path, file.read_text(encoding="utf-8", errors="replace"))
    print("\n".join(found) if found else "style: nothing to say")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
