"""The layer and style checks find what they are for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402 - after the path is set
import check_style  # noqa: E402 - after the path is set


def test_layers() -> None:
    assert check_layers.problems("repair/x.c", '#include "analysis/gg_analysis.h"\n#include "base/gg_base.h"\n') == []
    assert "may not include" in check_layers.problems("analysis/x.c", '#include "repair/gg_repair.h"')[0]
    assert "is private" in check_layers.problems("repair/x.c", '#include "analysis/private.h"')[0]
    assert "may not include" in check_layers.problems("analysis/x.c", "#include <uv.h>")[0]
    assert "may not include" in check_layers.problems("analysis/worker/host.c", '#include "base/gg_base.h"')[0]


def test_style() -> None:
    assert check_style.problems("base/x.c", "/* What it is. */\nint x; /* strcpy() */\n") == []
    assert "banned" in check_style.problems("base/x.c", "/* x */\nvoid f(void) { strcpy(a, b); }\n")[0]
    assert "comment" in check_style.problems("base/x.c", "int x;\n")[0]
    assert "limit" in check_style.problems("base/x.c", "/* x */\n" + "int x;\n" * 700)[0]
    assert "one machine" in check_style.problems("README.md", "see /" + "home/someone/Project\n")[0]
