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
import threading
import time

MARK = "qzx"  # the undefined name that edits extend
CAPS = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "applyEdit": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": True, "didSave": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "publishDiagnostics": {
            "versionSupport": True,
            "relatedInformation": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "codeAction": {
            "dataSupport": True,
            "isPreferredSupport": True,
            "resolveSupport": {"properties": ["edit"]},
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}},
        },
    },
}

# ---------------------------------------------------------------- deterministic source files
PY_HEAD = '"""Generated models."""\nimport math\nimport os\n\nimport torch\nimport torch.nn as nn\n\n\n'
PY_CLASS = '''class Block{i}(nn.Module):
    """Attention block {i}."""

    def __init__(self, dim: int = {d}, heads: int = {h}):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.out = nn.Sequential(nn.Linear(dim, {k} * dim), nn.GELU(), nn.Linear({k} * dim, dim))
        self.history: list[float] = []

    def split(self, x: torch.Tensor) -> torch.Tensor:
        b, t, _ = x.shape
        return x.view(b, t, self.heads, self.dim // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.dim)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        if scores.max() > {m}:
            print("large scores in block {i}")
            scores = scores - scores.max().item()
        for step in range({k}):
            scores = scores + torch.sin(scores) * (step / {m}.0)
            self.history.append(scores.mean().item())
        unused_{i} = torch.nonzero(scores > {k})
        y = torch.matmul(scores.softmax(dim=-1), v).transpose(1, 2).reshape(x.shape)
        return self.out(y) + x


'''
C_HEAD = "/* Generated. */\n#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n\n"
C_FUNC = """struct block{i} {{ double w[{k}]; size_t n; const char *name; }};

static double block{i}_norm(const struct block{i} *b)
{{
    double acc = {m}.0;
    for (size_t j = 0; j < b->n && j < {k}; j++) {{
        if (b->w[j] > {d}) acc += b->w[j] * {h};
        else acc -= b->w[j] / (double)(j + 1);
    }}
    return acc;
}}

int block{i}_forward(struct block{i} *b, const double *x, size_t n)
{{
    int unused_{i};
    if (!b || !x) return -1;
    memset(b->w, 0, sizeof b->w);
    for (size_t j = 0; j < n && j < {k}; j++) b->w[j] = x[j] * block{i}_norm(b);
    b->n = n;
    printf("%s %zu\\n", b->name, b->n);
    return 0;
}}

"""


def generate(lang, lines, seed):
    rnd, out = random.Random(seed), [PY_HEAD if lang == "python" else C_HEAD]
    body = PY_CLASS if lang == "python" else C_FUNC
    for i in range(max(1, round(lines / body.count("\n")))):
        out.append(
            body.format(i=i, d=64 * rnd.randint(1, 9), h=rnd.randint(1, 8), k=rnd.randint(2, 6), m=rnd.randint(3, 99))
        )
    return "".join(out)


class Doc:
    """A source file with the marker line in its middle, opened and edited through one server."""

    def __init__(self, path, lang, text):
        self.path, self.lang, self.uri, self.version = path, lang, "file://" + path, 1
        lines = text.split("\n")
        top = [
            i
            for i, s in enumerate(lines)
            if i and not lines[i - 1] and re.match(r"class |def |struct |int |static ", s)
        ]
        at = min(top, key=lambda i: abs(i - len(lines) // 2))
        mark = (
            [
                "class LspbenchEdit(nn.Module):",
                "    def forward(self, x):",
                f"        print({MARK})",
                "        return x",
                "",
                "",
            ]
            if lang == "python"
            else [f"int lspbench_edit(void) {{ return {MARK}; }}", ""]
        )
        lines[at:at] = mark
        self.line = at + (2 if lang == "python" else 0)
        self.col = lines[self.line].index(MARK) + len(MARK)
        self.text0, self.extra = "\n".join(lines), 0
        self.calls = [
            (n, m.start() + 1) for n, s in enumerate(lines) for m in re.finditer(r"\b[A-Za-z_]\w{3,}(?=\()", s)
        ]
        with open(path, "w") as f:
            f.write(self.text0)

    @property
    def mark(self):
        return MARK + "a" * self.extra

    def is_marked(self, span):
        """Is it the range of the marker as it is now, or of the print() around it?"""
        start, end = span["start"], span["end"]
        if start["line"] != self.line or end["line"] != self.line:
            return False
        name = self.col - len(MARK)
        return (start["character"], end["character"]) in (
            (name, self.col + self.extra),
            (name - 6, self.col + self.extra + 1),
        )

    def change(self, full_sync):
        self.version += 1
        at = {"line": self.line, "character": self.col + self.extra}
        self.extra += 1
        change = (
            {"text": self.text0.replace(MARK, self.mark)}
            if full_sync
            else {"range": {"start": at, "end": at}, "text": "a"}
        )
        return {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": [change]}


# ---------------------------------------------------------------- the process tree
def tree(pid):
    pids = [pid]
    for p in pids:
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                pids += map(int, open(f"/proc/{p}/task/{t}/children").read().split())
        except OSError:
            pass
    return pids


def memory(pid):
    """(Rss, Pss) of the whole process tree, in MB."""
    rss = pss = 0
    for p in tree(pid):
        try:
            for s in open(f"/proc/{p}/smaps_rollup"):
                rss += int(s.split()[1]) if s.startswith("Rss:") else 0
                pss += int(s.split()[1]) if s.startswith("Pss:") else 0
        except OSError:
            pass
    return rss / 1024, pss / 1024


def cpu(pid):
    """CPU seconds of the tree, reaped children included."""
    ticks = 0
    for p in tree(pid):
        try:
            ticks += sum(map(int, open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- the LSP client
class Gone(Exception):
    """The server closed its output or did not answer in time."""


class Server:
    def __init__(self, spec, opts):
        self.spec, self.opts, self.next_id = spec, opts, 0
        self.replies, self.pubs, self.asked, self.caps = {}, [], {}, {}
        self.bytes = 0
        self.pull, self.eof, self.cond, self.wlock = False, False, threading.Condition(), threading.Lock()
        env = dict(os.environ)
        if opts.venv:
            env |= {"VIRTUAL_ENV": opts.venv, "PATH": f"{opts.venv}/bin:{env['PATH']}"}
        self.err = open(os.path.join(opts.work, f"{spec.name}.stderr"), "ab")
        self.t0 = time.perf_counter()
        self.proc = subprocess.Popen(
            spec.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, cwd=opts.ws, env=env
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        out = self.proc.stdout
        try:
            while True:
                size = None
                while (head := out.readline()) not in (b"\r\n", b""):
                    if head.lower().startswith(b"content-length:"):
                        size = int(head[15:])
                body = out.read(size) if size is not None else b""
                if size is None or len(body) < size:
                    break
                now = time.perf_counter()
                self.bytes += size
                self._dispatch(json.loads(body), now)
        finally:
            with self.cond:
                self.eof = True
                self.cond.notify_all()

    def _dispatch(self, msg, now):
        method, params = msg.get("method"), msg.get("params") or {}
        if method and "id" in msg:  # a request from the server
            self.asked[method] = self.asked.get(method, 0) + 1
            result = None
            if method == "workspace/configuration":
                result = [self._setting(i.get("section")) for i in params.get("items", [])]
            elif method == "workspace/workspaceFolders":
                result = [{"uri": "file://" + self.opts.ws, "name": "ws"}]
            elif method == "workspace/applyEdit":
                result = {"applied": False}
            elif method == "client/registerCapability":
                self.pull |= any(r["method"] == "textDocument/diagnostic" for r in params["registrations"])
            self._write({"id": msg["id"], "result": result})
            return
        with self.cond:
            if method == "textDocument/publishDiagnostics":
                self.pubs.append((now, params["uri"], params.get("version"), params["diagnostics"]))
            elif method is None:
                self.replies[msg.get("id")] = (now, msg)
            self.cond.notify_all()

    def _setting(self, section):
        node = self.spec.settings
        for key in (section or "").split(".") if section else []:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def _write(self, msg):
        body = json.dumps({"jsonrpc": "2.0", **msg}, separators=(",", ":")).encode()
        with self.wlock:
            try:
                self.proc.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self.proc.stdin.flush()
            except (BrokenPipeError, ValueError):
                pass

    def notify(self, method, params):
        self._write({"method": method, "params": params})

    def send(self, method, params):
        self.next_id += 1
        msg = {"id": self.next_id, "method": method}
        self._write(msg if params is None else msg | {"params": params})
        return self.next_id

    def _wait(self, ready, timeout):
        with self.cond:
            self.cond.wait_for(lambda: ready() or self.eof, timeout)
            if (got := ready()) is None:
                raise Gone(f"{'eof' if self.eof else 'timeout'}")
            return got

    def request(self, method, params, timeout=None):
        """(seconds, reply message)"""
        start = time.perf_counter()
        rid = self.send(method, params)
        now, msg = self._wait(lambda: self.replies.get(rid), timeout or self.opts.timeout)
        return now - start, msg

    def initialize(self):
        caps = json.loads(json.dumps(CAPS))
        if not self.spec.push:
            caps["textDocument"]["diagnostic"] = {"dynamicRegistration": False, "relatedDocumentSupport": False}
        root = "file://" + self.opts.ws
        _, msg = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": root,
                "rootPath": self.opts.ws,
                "capabilities": caps,
                "clientInfo": {"name": "lspbench"},
                "workspaceFolders": [{"uri": root, "name": "ws"}],
                **({"initializationOptions": self.spec.init} if self.spec.init else {}),
            },
        )
        took = time.perf_counter() - self.t0
        self.caps = msg["result"]["capabilities"]
        self.spec.version = self.spec.version or (msg["result"].get("serverInfo") or {}).get("version")
        self.pull = bool(self.caps.get("diagnosticProvider")) and not self.spec.push
        sync = self.caps.get("textDocumentSync")
        self.full_sync = (sync.get("change") if isinstance(sync, dict) else sync) == 1
        self.notify("initialized", {})
        if self.spec.settings:
            self.notify("workspace/didChangeConfiguration", {"settings": self.spec.settings})
        return took

    def open(self, doc):
        since = len(self.pubs)
        doc.version, doc.extra = 1, 0
        start = time.perf_counter()
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": doc.uri, "languageId": doc.lang, "version": 1, "text": doc.text0}},
        )
        return start, since

    def edit(self, doc):
        since, params = len(self.pubs), doc.change(self.full_sync)
        start = time.perf_counter()
        self.notify("textDocument/didChange", params)
        return start, since

    def _fresh(self, doc, version, diags):
        """Do these diagnostics belong to the document as it is now?"""
        if self.spec.marks is False:
            return version is None or version >= doc.version
        return any(doc.is_marked(d["range"]) for d in diags)

    def diagnose(self, doc, start, since, timeout=None):
        """(seconds until the diagnostics of the current text, those diagnostics)"""
        limit = time.perf_counter() + (timeout or self.opts.timeout)
        learning = self.spec.marks is None
        first = None
        while (left := limit - time.perf_counter()) > 0:
            if self.pull:
                rid = self.send("textDocument/diagnostic", {"textDocument": {"uri": doc.uri}})
                now, msg = self._wait(lambda rid=rid: self.replies.get(rid), left)
                if "error" in msg:  # server cancelled: ask again
                    time.sleep(0.002)
                    continue
                version, diags = doc.version, (msg["result"] or {}).get("items", [])
            else:

                def ready(since=since):
                    if self.pull:  # registered only now
                        return (-1,)
                    for i in range(since, len(self.pubs)):
                        if self.pubs[i][1] == doc.uri:
                            return (i,)

                try:
                    (i,) = self._wait(ready, min(left, 8) if learning and first else left)
                except Gone:
                    if first and not self.eof:
                        break
                    raise
                if i < 0:
                    continue
                now, _, version, diags = self.pubs[i]
                since = i + 1
            first = first or (now - start, diags)
            if self._fresh(doc, version, diags):
                if learning:
                    self.spec.marks = True
                return now - start, diags
            if learning and time.perf_counter() - start > first[0] + 8:
                break
        if learning and first:  # it answers, but never names undefined names
            self.spec.marks = False
            return first
        raise Gone("no diagnostics for the current text")

    def quiesce(self, limit=5.0):
        """Wait until the tree has used next to no CPU for half a second."""
        end, last = time.perf_counter() + limit, cpu(self.proc.pid)
        while time.perf_counter() < end:
            time.sleep(0.5)
            if (now := cpu(self.proc.pid)) - last <= 0.02:
                return
            last = now

    def stop(self):
        """Shut down by the book; returns what happened."""
        r = {}
        try:
            took, msg = self.request("shutdown", None, 10)
            r["shutdown_ms"] = took * 1e3
            r["shutdown_ok"] = "error" not in msg
            self.notify("exit", None)
            start = time.perf_counter()
            r["rc"] = self.proc.wait(10)
            r["exit_ms"] = (time.perf_counter() - start) * 1e3
        except (Gone, subprocess.TimeoutExpired) as e:
            r["error"] = f"{type(e).__name__} {e}"[:60]
        self.kill()
        return r

    def kill(self):
        for p in reversed(tree(self.proc.pid)):
            try:
                os.kill(p, 9)
            except OSError:
                pass
        self.proc.wait()
        self.err.close()


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
