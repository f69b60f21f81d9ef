#!/usr/bin/env python3
"""Writes the table of docs/settings.md from server/settings.def; --check fails when it is not up to date."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STRING = r'"((?:[^"\\]|\\.)*)"'
TYPE = re.compile(rf"^TYPE\((\w+), {STRING}\)$", re.MULTILINE)
SETTING = re.compile(rf"^SETTING\((\w+), {STRING}, (\w+), {STRING}, (\w+), {STRING}\)$", re.MULTILINE)
WHERE = {
    "PROJECT": "editor, pyproject.toml",
    "TRUSTED": "editor, pyproject.toml of a trusted workspace",
    "CLIENT": "editor",
    "START": "`initializationOptions`",
}
BEGIN, END = "<!-- made from server/settings.def by tools/gen_settings.py -->\n", "<!-- end -->\n"


def read(text: str) -> list[dict[str, str]]:
    """The settings in order: key, toml (its name in pyproject.toml, "" for none), wants (what a value may be), default, scope, description."""
    wants = dict(TYPE.findall(text))
    found = []
    for _, key, kind, default, scope, description in SETTING.findall(text):
        toml = re.sub(r"[A-Z]", lambda m: "-" + m.group().lower(), key) if scope in ("PROJECT", "TRUSTED") else ""
        found.append(
            {
                "key": key,
                "toml": toml,
                "wants": wants[kind],
                "default": default,
                "scope": scope,
                "description": description,
            }
        )
    rows = len(re.findall(r"^SETTING\(", text, re.MULTILINE))
    if rows != len(found) or not found:
        raise ValueError(f"server/settings.def: {rows} rows, of which {len(found)} can be read")
    return found


def table(settings: list[dict[str, str]]) -> str:
    """The settings as a Markdown table."""
    lines = [
        "| key | in pyproject.toml | value | default | where | what it does |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for s in settings:
        toml = f"`{s['toml']}`" if s["toml"] else "—"
        default = f"`{s['default']}`" if s["default"] else "none"
        lines.append(f"| `{s['key']}` | {toml} | {s['wants']} | {default} | {WHERE[s['scope']]} | {s['description']} |")
    return "\n".join(lines) + "\n"


def page(before: str, settings: list[dict[str, str]]) -> str:
    """The page with its table anew."""
    head, rest = before.split(BEGIN)
    return head + BEGIN + table(settings) + END + rest.split(END)[1]


def main() -> int:
    path = ROOT / "docs" / "settings.md"
    before = path.read_text(encoding="utf-8")
    after = page(before, read((ROOT / "server" / "settings.def").read_text(encoding="utf-8")))
    if "--check" in sys.argv[1:]:
        if before != after:
            print("docs/settings.md is not what tools/gen_settings.py writes: run it")
        return int(before != after)
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
