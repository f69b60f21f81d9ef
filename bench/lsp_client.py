"""What lspbench.py measures servers with: source files that one edit at a time changes, the client, and what /proc tells of a server."""

import json
import os
import random
import re
import subprocess
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


def bodies(stream):
    """The bodies of the messages of a server, until it ends."""
    while True:
        size = None
        while (head := stream.readline()) not in (b"\r\n", b""):
            if head.lower().startswith(b"content-length:"):
                size = int(head[15:])
        body = stream.read(size) if size is not None else b""
        if size is None or len(body) < size:
            return
        yield body


def framed(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


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
        try:
            for body in bodies(self.proc.stdout):
                now = time.perf_counter()
                self.bytes += len(body)
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
        message = framed(msg)
        with self.wlock:
            try:
                self.proc.stdin.write(message)
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
