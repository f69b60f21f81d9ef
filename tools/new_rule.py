#!/usr/bin/env python3
"""Writes the skeleton of a repair rule: its file, its row, a fixture folder and a page (docs/how-to-add-a-rule.md).

usage: new_rule.py GG999 mutable_default

The skeleton builds and refuses everything; test_rules names what is to be filled in.  Nothing is overwritten.  Exit code: 0, or 2 with a reason.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SOURCE = """/* {code} {dashed}: fill in: what breaks the graph.
 * Offers: fill in.  Refuses: everything, so far.
 * Safety: exact.  Page: docs/rules/{code}.md */
#include "repair/syntax.h"

static bool check(const gg_rule_input *in, gg_rule_match *out) {{
    out->node = gg__statement(gg_node_at(in->tree, in->span)); /* what `edit` will rewrite */
    return false;                                              /* what cannot be proven is not offered */
}}

static int edit(const gg_rule_input *in, const gg_rule_match *match, gg_arena *arena, gg_edits *out, gg_error *err) {{
    gg_str text = gg_node_text(in->tree, match->node);
    (void)err;
    gg_edits_add(out, gg_node_span(match->node), gg_arena_str(arena, text));
    return 0;
}}

const gg_rule gg_rule_{name} = {{
    .code = "{code}",
    .name = "{dashed}",
    .title = "Fill in: what the edit does, as a person would say it",
    .safety = GG_SAFETY_EXACT,
    .check = check,
    .edit = edit,
}};
"""
PAGE = """# {code} {dashed}

*Safety: exact.*

Fill in: why the graph breaks, and what the edit does about it.

```python
fill in
```
becomes
```python
fill in
```

**Refuses** unless fill in.
"""
FIXTURE = """# site: GB0170 | h.sum() > 0
# facts: h=float32[4,4] x=float32[4,4]
import torch


def f(x):
    h = x * 2
    if h.sum() > 0:
        h = h + 1
    return h
"""
FIXTURES = {"basic.py": FIXTURE, "basic.expected.py": FIXTURE, "untouched_basic.py": FIXTURE}


def plan(root: Path, code: str, name: str) -> dict[Path, str]:
    """The files to write, with their texts.  Raises ValueError in words for the user."""
    if not re.fullmatch(r"GG\d{3}", code):
        raise ValueError(f"a code is GG and three digits, such as GG999, not {code!r}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise ValueError(f"a name is words in lower case with underscores, such as mutable_default, not {name!r}")
    rules = root / "repair" / "rules"
    for taken in sorted(rules.glob(f"{code.lower()}_*.c")):
        raise ValueError(f"{code} is {taken.relative_to(root)}")
    row, table = f"RULE({name})", root / "repair" / "rules.def"
    if row in table.read_text().splitlines():
        raise ValueError(f"repair/rules.def has {row} already")
    keys = {"code": code, "name": name, "dashed": name.replace("_", "-")}
    fixtures = root / "tests" / "fixtures" / "repair" / code
    new = {
        rules / f"{code.lower()}_{name}.c": SOURCE.format(**keys),
        root / "docs" / "rules" / f"{code}.md": PAGE.format(**keys),
    }
    new |= {fixtures / file: text for file, text in FIXTURES.items()}
    for path in new:
        if path.exists():
            raise ValueError(f"{path.relative_to(root)} exists already")
    return new | {table: table.read_text() + row + "\n"}


def main(arguments: list[str], root: Path = ROOT) -> int:
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print("usage: new_rule.py GG999 mutable_default", file=sys.stderr)
        return 2
    try:
        files = plan(root, *arguments)
    except ValueError as e:
        print(f"new_rule: {e}", file=sys.stderr)
        return 2
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path.relative_to(root))
    print("next: fill these in, and choose the row's place in repair/rules.def (docs/how-to-add-a-rule.md);")
    print("      cmake --build --preset dev && ctest --preset dev -R test_rules")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
