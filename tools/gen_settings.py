#!/usr/bin/env python3
"""Writes, from server/settings.def, the table of docs/settings.md, the server's settings in VS Code's manifest, and those in Neovim's help.

--check fails when one is not up to date.
"""

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

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
SECTION = (
    "Graphglue: the server"  # of the manifest's contributes.configuration; what else is there is the extension's own
)
RUN_OUTSIDE = ("PYTHON", "WORKER")  # kept from untrusted workspaces, besides what is TRUSTED
LEVELS = {"enum": ["off", "hint", "information", "warning", "error"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "BOOL": {"type": "boolean"},
    "SECONDS": {"type": "integer", "minimum": 1, "maximum": 86400},
    "NAMES": {"type": "array", "items": {"type": "string"}},
    "PATTERNS": {"type": "array", "items": {"type": "string"}},
    "WORDS": {"type": "array", "items": {"type": "string"}},
    "LEVELS": {"type": "object", "additionalProperties": LEVELS},
    "WORKER": {"type": "object"},
    "PRICE": {"type": ["number", "null"], "minimum": 0},
    "COUNT": {"type": "integer", "minimum": 0},
    "PATH": {"type": "string"},
    "TEXT": {"type": "string"},
    "RUN": {"type": "string"},
    "SAFETY": {"type": "string"},
    "API": {"type": "string"},
}
WIDTH = 78  # of Neovim's help
HELP_BEGIN, HELP_END = "(made from server/settings.def by tools/gen_settings.py)\n", "(end of what is made)\n"
BEGIN, END = "<!-- made from server/settings.def by tools/gen_settings.py -->\n", "<!-- end -->\n"


def read(text: str) -> list[dict[str, str]]:
    """The settings in order, the columns by name; toml is the name in pyproject.toml, "" for none, wants what a value may be."""
    wants = dict(TYPE.findall(text))
    found = []
    for ordinal, key, kind, default, scope, description in SETTING.findall(text):
        toml = re.sub(r"[A-Z]", lambda m: "-" + m.group().lower(), key) if scope in ("PROJECT", "TRUSTED") else ""
        found.append(
            {
                "ordinal": ordinal,
                "key": key,
                "kind": kind,
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


def schema(setting: dict[str, str]) -> dict[str, Any]:
    """One setting as VS Code's manifest says it."""
    out = dict(SCHEMAS[setting["kind"]])
    words = setting["wants"].replace(" or ", ", ").split(", ")
    if setting["kind"] in ("RUN", "SAFETY", "API"):
        out["enum"] = words
    text = setting["default"]
    if out["type"] == "string":
        out["default"] = text
    else:
        out["default"] = json.loads(text) if text else None
    outside = setting["scope"] == "TRUSTED" or setting["ordinal"] in RUN_OUTSIDE
    out["scope"] = "machine-overridable" if outside else "window"
    out["markdownDescription"] = setting["description"]
    return out


def manifest(before: str, settings: list[dict[str, str]]) -> str:
    """VS Code's manifest with the server's section anew, and with what untrusted workspaces may not set."""
    out = json.loads(before)
    told = [s for s in settings if s["scope"] != "START"]
    sections = out["contributes"]["configuration"]
    own = [section for section in sections if section["title"] != SECTION]
    properties = {f"graphglue.{s['key']}": schema(s) for s in told}
    sections[:] = [*own, {"title": SECTION, "properties": properties}]
    everything = {key: value for section in sections for key, value in section["properties"].items()}
    out["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] = [
        key for key, value in everything.items() if value["scope"] == "machine-overridable"
    ]
    return json.dumps(out, indent=2, ensure_ascii=False) + "\n"


def entry(setting: dict[str, str]) -> str:
    """One setting as Neovim's help says it: its tag, what it may be, what it does."""
    key = setting["key"]
    tag = f"*graphglue-{key}*"
    value = f"{setting['wants']}; default {setting['default'] or 'none'}"
    words = [*textwrap.wrap(value, WIDTH - 4), *textwrap.wrap(setting["description"], WIDTH - 4)]
    return "\n".join([key + tag.rjust(WIDTH - len(key)), *("    " + line for line in words)])


def manual(before: str, settings: list[dict[str, str]]) -> str:
    """Neovim's help with its settings anew; trust is the plugin's own."""
    head, rest = before.split(HELP_BEGIN)
    told = "\n\n".join(entry(s) for s in settings if s["scope"] != "START")
    return f"{head}{HELP_BEGIN}\n{told}\n\n{HELP_END}{rest.split(HELP_END)[1]}"


def main() -> int:
    settings = read((ROOT / "server" / "settings.def").read_text(encoding="utf-8"))
    stale = 0
    for name, make in (
        ("docs/settings.md", page),
        ("editors/vscode/package.json", manifest),
        ("editors/neovim/doc/graphglue.txt", manual),
    ):
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = make(before, settings)
        if "--check" not in sys.argv[1:]:
            path.write_text(after, encoding="utf-8")
        elif before != after:
            print(f"{name} is not what tools/gen_settings.py writes: run it")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
