"""Draws what bench/lspbench.py measured: the time from an edit in 10,000 lines to its diagnostics, and the memory then, of each server.

    python bench/picture.py build/bench/servers.json build/bench/servers.svg

Bars are medians, the thin lines run from the least to the 95th percentile; the axis of times is logarithmic.
Needs matplotlib (tools/requirements-bench.txt).
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "servers", "font.size": 9})
from lspbench import pct  # noqa: E402
from matplotlib import pyplot  # noqa: E402

OURS, OTHERS = "#1a7f5a", "#8a94a6"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    servers: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())["servers"]
    names = [name for name, server in servers.items() if server.get("edit_big") and server.get("mem_big")][::-1]
    colours = [OURS if name.startswith("graphglue") else OTHERS for name in names]
    times = [[second * 1000 for second in servers[name]["edit_big"]] for name in names]
    p50, p95 = ([pct(taken, percent) for taken in times] for percent in (50, 95))
    memory = [statistics.median(rss for rss, _ in servers[name]["mem_big"]) for name in names]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 2.6), sharey=True, width_ratios=(3, 2))
    left.hlines(range(len(names)), [min(taken) for taken in times], p95, color="black", lw=0.8, zorder=2)
    # Of each half: what its bars are, where the words beside them begin, the room for them, the unit.
    for axes, bars, ends, room, unit in ((left, p50, p95, 4, "ms"), (right, memory, memory, 1.25, "MB")):
        axes.barh(names, bars, color=colours, height=0.6)
        for row, (value, end) in enumerate(zip(bars, ends, strict=True)):
            axes.text(end * 1.05, row, f" {value:,.0f}" if value >= 10 else f" {value:.1f}", va="center")
        axes.set_xlim(right=max(ends) * room)
        axes.set_xlabel(unit)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_xscale("log")
    left.set_xlim(left=1)
    left.set_title("an edit in 10,000 lines, until its diagnostics", loc="left", fontsize=9)
    right.set_title("memory, the file open and edited", loc="left", fontsize=9)
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
