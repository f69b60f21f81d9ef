#!/usr/bin/env python3
"""lspbench: side-by-side latency, memory and conformance benchmark of LSP servers over stdio.

usage: bench/lspbench.py [options] NAME[,push][,lang=c]=COMMAND ...
  lspbench.py 'ruff=ruff server' 'ruff-push,push=ruff server' 'clangd,lang=c=clangd-19'

",push" hides the client's pull-diagnostics capability, so that a server that can do both pushes.
All servers are measured in one run.  Each round visits every server once, in rotated order, so a
noisy stretch of the machine hits all of them.  Every timing is taken on receipt of the whole message
body, before it is decoded.  An edit extends an undefined name (the marker) by one character; in Python
it stands in a print() of a module's forward, so that linters have the name to report and graphglue the
call.  Diagnostics are accepted for an edit only when one has the range that the name, or the call, has
now: stale, empty and syntax-only reports do not count.  Servers that never report undefined names are matched by
version, else by order of arrival, and shown with '~'.  POSIX/Linux, Python 3.11 standard library.
"""

import argparse
import json
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from lsp_client import Doc, Gone, Server, cpu, generate, memory, tree


# ---------------------------------------------------------------- the phases
def startup(spec, opts, res):
    s = Server(spec, opts)
    res["init"].append(s.initialize())
    res["stop"].append(s.stop())


def edits(s, doc, count, opts, res, key):
    used, end, n = cpu(s.proc.pid), time.perf_counter() + opts.budget, 0
    while n < count and time.perf_counter() < end:
        res[key].append(s.diagnose(doc, *s.edit(doc))[0])
        n += 1
    res[key + "_cpu"].append((cpu(s.proc.pid) - used) / max(n, 1))


def session(spec, opts, res, size, doc):
    """Cold didOpen in a fresh process; then edits; on the big file also requests and the burst."""
    s = Server(spec, opts)
    s.initialize()
    took, diags = s.diagnose(doc, *s.open(doc))
    res[f"open_{size}"].append(took)
    res[f"ndiags_{size}"].append(len(diags))
    s.quiesce()
    if size != "mid":
        edits(s, doc, (opts.edits if size == "big" else 40) // opts.rounds, opts, res, f"edit_{size}")
    if size == "big":
        rnd, at = random.Random(7), {"textDocument": {"uri": doc.uri}}
        for method, key in (("textDocument/hover", "hover"), ("textDocument/codeAction", "action")):
            if not s.caps.get(method.split("/")[1] + "Provider"):
                continue
            end = time.perf_counter() + opts.budget
            for _ in range(100 // opts.rounds):
                if key == "hover":
                    line, col = rnd.choice(doc.calls)
                    params = at | {"position": {"line": line, "character": col}}
                else:
                    here = [d for d in diags if d["range"]["start"]["line"] == doc.line] or diags[:1]
                    spot = {"line": doc.line, "character": doc.col}
                    params = at | {
                        "range": {"start": spot, "end": spot},
                        "context": {"diagnostics": here, "triggerKind": 1},
                    }
                took, msg = s.request(method, params)
                res[key].append(took)
                res[key + "_hit"].append(bool(msg.get("result")))
                if time.perf_counter() > end:
                    break
        s.quiesce()
        start, since = time.perf_counter(), len(s.pubs)
        for _ in range(opts.burst):
            s.edit(doc)
        res["burst_write"].append(time.perf_counter() - start)
        res["burst"].append(s.diagnose(doc, start, since)[0])
        res["burst_pubs"].append(len(s.pubs) - since)
        res["mem_big"].append(memory(s.proc.pid))
        res["cpu_big"].append(cpu(s.proc.pid))
    for k, v in s.asked.items():
        res["asked"][k] = max(v, res["asked"].get(k, 0))
    res["pull"], res["full_sync"], res["versioned"] = s.pull, s.full_sync, any(p[2] for p in s.pubs)
    s.stop()


def footprint(spec, opts, res, docs):
    s = Server(spec, opts)
    s.initialize()
    s.quiesce(4)
    res["mem_0"].append(memory(s.proc.pid))
    s.diagnose(docs[0], *s.open(docs[0]))
    s.quiesce()
    res["mem_1"].append(memory(s.proc.pid))
    start = time.perf_counter()
    opened = [(d, s.open(d)) for d in docs[1:]]
    for d, (_, since) in opened:
        s.diagnose(d, start, since)
    res["open_50"].append(time.perf_counter() - start)
    s.quiesce()
    res["mem_50"].append(memory(s.proc.pid))
    res["cpu_50"].append(cpu(s.proc.pid))
    s.stop()


def conformance(spec, opts, res):
    def code(m):
        return (m.get("error") or {}).get("code", "ok")

    def attempt(key, f):
        s = Server(spec, opts)
        try:
            res["conf"][key] = f(s)
        except (Gone, subprocess.TimeoutExpired) as e:
            res["conf"][key] = f"{'hung' if isinstance(e, subprocess.TimeoutExpired) else e}"
        s.kill()

    def before(s):
        return code(s.request("textDocument/hover", {}, 3)[1])  # want -32002

    def unknown(s):
        s.initialize()
        return code(s.request("lspbench/no", {}, 3)[1])  # want -32601

    def badparams(s):
        s.initialize()
        return code(s.request("textDocument/hover", {"textDocument": 5}, 3)[1])  # want -32602

    def after(s):
        s.initialize()
        s.request("shutdown", None, 5)
        return code(s.request("textDocument/hover", {}, 3)[1])

    def rude(s):
        s.initialize()
        s.notify("exit", None)
        return s.proc.wait(5)  # want 1

    def eof(s):
        s.initialize()
        s.proc.stdin.close()
        return s.proc.wait(5)  # must not linger

    for f in (before, unknown, badparams, after, rude, eof):
        attempt(f.__name__, f)


# ---------------------------------------------------------------- reporting
def pct(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, round(p / 100 * (len(v) - 1)))]


def table(title, heads, rows):
    cells = [heads] + [[str(c) for c in r] for r in rows]
    width = [max(len(r[i]) for r in cells) for i in range(len(heads))]

    def line(r):
        return "| " + " | ".join(c.ljust(w) for c, w in zip(r, width, strict=False)) + " |"

    print(f"\n### {title}\n\n" + line(heads) + "\n|" + "|".join("-" * (w + 2) for w in width) + "|")
    print("\n".join(map(line, cells[1:])))


def report(specs, results):
    def ms(v, *ps):
        shown = [min(v) if p == 0 else pct(v, p) for p in ps] if v else []
        return " / ".join(f"{x * 1e3:.{2 if x < 0.01 else 1 if x < 0.1 else 0}f}" for x in shown) or "-"

    def mb(v):
        return f"{statistics.median(r for r, _ in v):.0f} ({statistics.median(p for _, p in v):.0f})" if v else "-"

    def rows(*cols):
        return [[s.name + ("~" if s.marks is False else "")] + [c(results[s.name]) for c in cols] for s in specs]

    table(
        "Start and cold didOpen to diagnostics, ms",
        ["server", "mode", "init min/p50/p95", "open 100", "open 1k", "open 10k", "diags 10k", "50 files"],
        rows(
            lambda r: "pull" if r.get("pull") else "push",
            lambda r: ms(r["init"], 0, 50, 95),
            *[lambda r, z=z: ms(r["open_" + z], 50) for z in ("small", "mid", "big")],
            lambda r: r["ndiags_big"][0] if r["ndiags_big"] else "-",
            lambda r: ms(r["open_50"], 50),
        ),
    )
    table(
        "One-character edit to its diagnostics, ms",
        [
            "server",
            "100 lines min/p50/p95",
            "cpu",
            "10k lines n",
            "min/p50/p95/p99",
            "cpu/edit",
            "burst",
            "write",
            "pubs",
        ],
        rows(
            lambda r: ms(r["edit_small"], 0, 50, 95),
            lambda r: ms(r["edit_small_cpu"], 50),
            lambda r: len(r["edit_big"]),
            lambda r: ms(r["edit_big"], 0, 50, 95, 99),
            lambda r: ms(r["edit_big_cpu"], 50),
            lambda r: ms(r["burst"], 50),
            lambda r: ms(r["burst_write"], 50),
            lambda r: max(r["burst_pubs"], default="-"),
        ),
    )

    def hit(k):
        return lambda r: f"{sum(r[k])}/{len(r[k])}" if r[k] else "-"

    table(
        "Requests on the 10k-line file, ms",
        ["server", "hover p50/p99", "hits", "codeAction p50/p99", "hits"],
        rows(lambda r: ms(r["hover"], 50, 99), hit("hover_hit"), lambda r: ms(r["action"], 50, 99), hit("action_hit")),
    )
    table(
        "Memory, MB: Rss (Pss) of the tree; CPU s",
        ["server", "after init", "1 file", "50 files", "big, edited", "cpu big session", "cpu 50 files"],
        rows(
            *[lambda r, z=z: mb(r[z]) for z in ("mem_0", "mem_1", "mem_50", "mem_big")],
            *[lambda r, z=z: f"{statistics.median(r[z]):.2f}" if r[z] else "-" for z in ("cpu_big", "cpu_50")],
        ),
    )
    table(
        "Exit and errors (want: rc 0, -32002, -32601, -32602, -32600, 1, exits)",
        [
            "server",
            "shutdown p50",
            "exit p50",
            "rc",
            "pre-init",
            "unknown",
            "bad params",
            "after shutdown",
            "exit alone",
            "stdin eof",
            "failed",
        ],
        rows(
            lambda r: ms([x["shutdown_ms"] / 1e3 for x in r["stop"] if "shutdown_ms" in x], 50),
            lambda r: ms([x["exit_ms"] / 1e3 for x in r["stop"] if "exit_ms" in x], 50),
            lambda r: ",".join(sorted({str(x.get("rc", x.get("error"))) for x in r["stop"]})),
            *[lambda r, k=k: r["conf"].get(k, "-") for k in ("before", "unknown", "badparams", "after", "rude", "eof")],
            lambda r: "; ".join(sorted(set(r["failed"]))) or "-",
        ),
    )


class Results(dict):
    def __missing__(self, key):
        self[key] = {} if key in ("asked", "conf") else []
        return self[key]


class Spec:
    def __init__(self, text, settings):
        words, rest = re.match(r"((?:[^=,]+)(?:,push|,lang=\w+)*)=(.*)", text, re.S).groups()
        self.name, *flags = words.split(",")
        self.push, self.lang = "push" in flags, "c" if "lang=c" in flags else "python"
        self.argv, self.marks, self.version = shlex.split(rest), None, None
        if "/" in self.argv[0]:
            self.argv[0] = os.path.abspath(self.argv[0])
        mine = settings.get(self.name) or settings.get(self.name.split("-")[0]) or {}
        self.settings, self.init = mine.get("settings", {}), mine.get("init", {})


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("servers", nargs="+", metavar="NAME[,push][,lang=c]=COMMAND")
    for flag, kind, value in (
        ("--work", str, os.path.join(tempfile.gettempdir(), "lspbench")),
        ("--out", str, "lspbench.json"),
        ("--venv", str, ""),
        ("--settings", str, ""),
        ("--py", str, ""),
        ("--startup", int, 20),
        ("--rounds", int, 2),
        ("--edits", int, 200),
        ("--burst", int, 1000),
        ("--budget", float, 20),
        ("--timeout", float, 60),
    ):
        ap.add_argument(flag, type=kind, default=value)
    opts = ap.parse_args()
    opts.work = os.path.abspath(opts.work)
    opts.ws = os.path.join(opts.work, "ws")
    os.makedirs(opts.ws, exist_ok=True)
    specs = [Spec(t, json.load(open(opts.settings)) if opts.settings else {}) for t in opts.servers]
    results = {s.name: Results() for s in specs}
    with open(os.path.join(opts.ws, "compile_flags.txt"), "w") as f:
        f.write("-Wall\n-ferror-limit=0\n")
    docs, real = {}, opts.py.split(",") if opts.py else []
    for lang, ext in (("python", ".py"), ("c", ".c")):
        for k, (size, n) in enumerate((("small", 100), ("mid", 1000), ("big", 10000))):
            text = open(real[k]).read() if real and lang == "python" else generate(lang, n, k)
            docs[lang, size] = Doc(os.path.join(opts.ws, size + ext), lang, text)
        docs[lang, "many"] = [
            Doc(os.path.join(opts.ws, f"f{k:02}{ext}"), lang, generate(lang, 200, 100 + k)) for k in range(50)
        ]
    plan = [("startup", lambda s, r: startup(s, opts, r))] * opts.startup
    for _ in range(opts.rounds):
        plan += [(z, lambda s, r, z=z: session(s, opts, r, z, docs[s.lang, z])) for z in ("small", "mid", "big")]
        plan += [("many", lambda s, r: footprint(s, opts, r, docs[s.lang, "many"]))]
    plan += [("conformance", lambda s, r: conformance(s, opts, r))]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    turns = (
        (turn, name, phase, s)
        for turn, (name, phase) in enumerate(plan)
        for s in specs[turn % len(specs) :] + specs[: turn % len(specs)]
    )
    for turn, name, phase, s in turns:
        began = time.perf_counter()
        try:
            phase(s, results[s.name])
        except KeyboardInterrupt:  # report what there is
            break
        except Exception as e:  # one server's failure must not stop the others
            results[s.name]["failed"].append(f"{name}: {type(e).__name__} {e}"[:80])
            for p in [p for p in tree(os.getpid())[1:]]:
                try:
                    os.kill(p, 9)
                except OSError:
                    pass
        print(
            f"{turn + 1}/{len(plan)} {name} {s.name} {time.perf_counter() - began:.1f}s load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
            flush=True,
        )
    report(specs, results)
    with open(opts.out, "w") as f:
        json.dump(
            {
                "servers": {
                    s.name: {"argv": s.argv, "version": s.version, "marks": s.marks, **results[s.name]} for s in specs
                },
                "options": vars(opts),
            },
            f,
            indent=1,
        )


if __name__ == "__main__":
    main()
