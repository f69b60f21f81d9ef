#!/usr/bin/env python3
"""Writes the skeleton of an LSP method: its line, types, row, handler and test (docs/how-to-add-a-method.md).

usage: new_method.py textDocument/foldingRange

The skeleton builds and answers null; its test fails until it says what the answer must be.  Nothing is overwritten.
Exit code: 0, or 2 with a reason; then every file is as it was.  Needs lsprotocol (script/bootstrap --test).
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path

from gen_protocol import camel, snake
from lsprotocol import types

ROOT = Path(__file__).resolve().parent.parent

REQUEST = """/* {method}: fill in: what it answers.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_{name}) {{
    (void)session, (void)params;
    gg_call_reply_take(call, json_null());
}}
"""
NOTICE = """/* {method}: fill in: what it does.  Loop thread only. */
#include "server/on/on.h"

GG_HANDLER(gg_on_{name}) {{
    (void)session, (void)call, (void)params;
}}
"""
TEST = '''"""{method}: fill in: what it answers."""

import asyncio

import programs
import support


async def test_fill_in(start):
    client = await start()
    uri = client.open("clean.py", programs.CLEAN)
    params = {{"textDocument": {{"uri": uri}}}}  # fill in: what else it takes
    answer = await asyncio.wait_for(client.request("{method}", params), support.DEADLINE)
    assert answer is not None, "{method}: say what the answer must be"
'''
ROW = re.compile(r'^    (?:REQUEST|NOTICE|TEST)\(\s*"([^"]+)"', re.MULTILINE)


def name_of(method: str) -> str:
    """textDocument/hover: hover; codeAction/resolve: code_action_resolve."""
    group, _, rest = method.partition("/")
    return snake((rest if group in ("$", "textDocument", "workspace", "window") else method).replace("/", "_"))


def row_of(method: str, name: str) -> str:
    """The row of server/methods.c, within 120 columns where it can be."""
    message, response, params, _ = types.METHOD_TO_TYPES[method]
    macro = "REQUEST" if response else "NOTICE"
    provider = f"{snake(method.rpartition('/')[2])}_provider"
    advertised = response and hasattr(types.ServerCapabilities(), provider)
    capability = f'"{{\\"{camel(provider)}\\":true}}"' if advertised else "NULL"
    head = f'    {macro}("{method}", GG_RUNNING, {f"&gg_type_{snake(params.__name__)}" if params else "NULL"}, gg_on_{name},'
    one, indent = f"{head} {capability}),\n", " " * (len(macro) + 5)
    if len(head) > 120:
        return f"{head.removesuffix(f' gg_on_{name},')}\n{indent}gg_on_{name}, {capability}),\n"
    return one if len(one) <= 121 else f"{head}\n{indent}{capability}),\n"


def plan(root: Path, method: str) -> dict[Path, str]:
    """The files to write, with their texts, but for the generated types.  Raises ValueError in words for the user."""
    if method not in types.METHOD_TO_TYPES:
        near = difflib.get_close_matches(method, types.METHOD_TO_TYPES, 1)
        raise ValueError(f"LSP has no method {method!r}" + (f"; did you mean {near[0]}?" if near else ""))
    if types.message_direction(method) == "serverToClient":
        raise ValueError(f"{method} is the server's to send: it needs a line in protocol/methods.txt and no handler")
    table, lines, header = (
        root / "server" / "methods.c",
        root / "protocol" / "methods.txt",
        root / "server" / "on" / "on.h",
    )
    rows, name = table.read_text(), name_of(method)
    if method in ROW.findall(rows):
        raise ValueError(f"server/methods.c has a row for {method} already")
    is_request = types.METHOD_TO_TYPES[method][1] is not None
    new = {root / "server" / "on" / f"{name}.c": (REQUEST if is_request else NOTICE).format(method=method, name=name)}
    if is_request:
        new[root / "tests" / "e2e" / f"test_{name}.py"] = TEST.format(method=method)
    for path in new:
        if path.exists():
            raise ValueError(f"{path.relative_to(root)} exists already")
    after = [m for m in ROW.finditer(rows) if m.group(1) > method]
    at = after[0].start() if after else rows.index("};\n", rows.index("methods[] = {"))
    new[table] = rows[:at] + row_of(method, name) + rows[at:]
    new[header] = header.read_text().replace(
        "\njson_t *gg_status_json", f"GG_HANDLER(gg_on_{name});\n\njson_t *gg_status_json", 1
    )
    comment, *known = lines.read_text().splitlines()
    new[lines] = "\n".join([comment, *sorted({*known, method})]) + "\n"
    return new


def main(arguments: list[str], root: Path = ROOT) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: new_method.py textDocument/foldingRange", file=sys.stderr)
        return 2
    try:
        files = plan(root, arguments[0])
    except ValueError as e:
        print(f"new_method: {e}", file=sys.stderr)
        return 2
    before = {path: path.read_text() if path.exists() else None for path in files}
    for path, text in files.items():
        path.write_text(text)
    if subprocess.run([sys.executable, str(root / "tools" / "gen_protocol.py")], check=False).returncode != 0:
        for path, text in before.items():
            path.unlink() if text is None else path.write_text(text)
        print("new_method: nothing was written; decide about that in protocol/overlay.json first", file=sys.stderr)
        return 2
    for path in [*files, root / "protocol" / "lsp_types.h", root / "protocol" / "lsp_types.c"]:
        print(path.relative_to(root))
    if " NULL),\n" in row_of(arguments[0], name_of(arguments[0])):
        print("the row advertises nothing: give it the capability by hand, where the method has one")
    print("next: fill in the handler and its test (docs/how-to-add-a-method.md);")
    print("      cmake --build --preset asan && ctest --preset asan -R test_methods && script/test e2e")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
