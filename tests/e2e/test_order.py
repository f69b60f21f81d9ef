"""Messages without waiting: each request is answered once, for the text as it was or newer, whatever is edited and canceled around it.

Raw servers, and nothing is run: what is seen is what the text alone tells.
"""

import json
import random

import pytest
from places import position
from programs import HEAD
from support import framed

CANCELED, CONTENT_MODIFIED, INVALID_REQUEST, METHOD_NOT_FOUND = -32800, -32801, -32600, -32601
NET = (
    HEAD
    + "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        print(x.shape)\n        return x\n"
)


class Talk:
    """Messages that are gathered and go out in one write, about one document."""

    def __init__(self, raw, tmp_path, workspace=None, **reads):
        kinds = {"codeActionKind": {"valueSet": ["quickfix"]}}
        literals = {"codeActionLiteralSupport": kinds, "isPreferredSupport": True}
        capabilities = {"textDocument": {"codeAction": literals, **reads}, "workspace": workspace or {}}
        self.server, self.out, self.version = raw(), b"", 1
        self.uri = (tmp_path / "net.py").as_uri()
        (tmp_path / "net.py").write_text(NET)
        self.server.initialize(rootUri=tmp_path.as_uri(), capabilities=capabilities)
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": NET}
        self.server.send(method="textDocument/didOpen", params={"textDocument": item})
        self.server.request("opened", "gg/sync")

    def say(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.out += framed(body)

    def ask(self, id, method, **params):
        self.say(id=id, method=method, params={"textDocument": {"uri": self.uri}, **params})

    def edit(self, text):
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.say(method="textDocument/didChange", params={"textDocument": document, "contentChanges": [{"text": text}]})

    def actions(self, id, **tokens):
        where = position(NET, NET.index("print"), "utf-16")
        point = {"line": where.line, "character": where.character}
        where = {"start": point, "end": point}
        self.ask(id, "textDocument/codeAction", range=where, context={"diagnostics": []}, **tokens)

    def write(self):
        self.server.send_bytes(self.out)
        self.out = b""

    def answers(self):
        """All that comes until everything is done: by id, in the order they came."""
        self.write()
        self.server.request("all", "gg/sync")
        found = {}
        for message in self.server.queue:
            if "method" not in message:
                found.setdefault(message["id"], []).append(message)
        self.server.queue.clear()
        return found


def test_each_answer_is_for_its_text(raw, tmp_path):
    """Between two edits a request sees the first of them."""
    talk = Talk(raw, tmp_path)
    for i in range(100):
        talk.edit(f"x = {i}\n" + NET)
        talk.say(id=i, method="gg/text", params={"uri": talk.uri})
    found = talk.answers()
    held = [found[i][0]["result"] for i in range(100)]
    assert held == [{"text": f"x = {i}\n" + NET, "version": i + 2} for i in range(100)]


@pytest.mark.parametrize("pushed", [True, False])
def test_what_is_said_last_is_of_the_newest(raw, tmp_path, pushed):
    """Diagnostics, pulled or pushed, while a finding moves, goes and comes back: those that are there are where it is."""
    pull = {"diagnostic": {}, "workspace": {"diagnostics": {"refreshSupport": True}}}
    push = {"publishDiagnostics": {"versionSupport": True}}
    talk = Talk(raw, tmp_path, **(push if pushed else pull))
    texts = {1: NET}
    for i in range(40):
        texts[talk.version + 1] = "#\n" * (i % 7) + (NET if i % 3 else NET.replace("print(x.shape)", "pass"))
        talk.edit(texts[talk.version + 1])
        talk.ask(i, "textDocument/diagnostic")
    talk.write()
    talk.server.request("all", "gg/sync")
    said = [m["params"] for m in talk.server.queue if m.get("method") == "textDocument/publishDiagnostics"]
    told = [(p["version"], p["diagnostics"]) for p in said] if pushed else []
    replies = [m for m in talk.server.queue if "id" in m and "method" not in m]
    assert sorted(m["id"] for m in replies) == list(range(40))
    if not pushed:
        told = [(talk.version, m["result"]["items"]) for m in replies][-1:]
    assert told and told[-1][0] == talk.version
    for version, items in told:
        places = [d["range"]["start"]["line"] for d in items if d.get("code") == "GB0059"]
        lines = texts[version].split("\n")
        assert all("print" in lines[line] for line in places), (version, places)
    assert [d["code"] for d in told[-1][1] if "code" in d].count("GB0059") == 0
    assert "print" not in texts[talk.version]


def test_an_edit_under_a_request(raw, tmp_path):
    """Code actions are looked up beside the loop: when the text is another one by then, the client is to ask again."""
    talk = Talk(raw, tmp_path)
    for i in range(20):
        talk.actions(i)
        talk.edit(NET + "#" * i)
        talk.write()
    found = talk.answers()
    codes = [found[i][0].get("error", {}).get("code") for i in range(20)]
    assert all(len(found[i]) == 1 for i in range(20)) and CONTENT_MODIFIED in codes
    assert set(codes) <= {CONTENT_MODIFIED, None}
    talk.actions("after")
    (answer,) = talk.answers()["after"]
    assert [a["title"] for a in answer["result"]] == ["Ignore GB0059 here"]


def test_an_edit_of_another_document_is_no_reason(raw, tmp_path):
    talk = Talk(raw, tmp_path)
    other = {"uri": (tmp_path / "other.py").as_uri(), "languageId": "python", "version": 1, "text": "x = 1\n"}
    for i in range(5):
        talk.actions(i)
        talk.say(method="textDocument/didOpen", params={"textDocument": {**other, "version": i}})
    assert all(len(a["result"]) == 1 for (a,) in talk.answers().values())


def test_tokens_for_what_comes_whole(raw, tmp_path):
    """A client may always send them: it gets the same answer, and nothing under them (conformance.py)."""
    pull = {"workspace": {"diagnostics": {"refreshSupport": True}}, "diagnostic": {}}
    talk, tokens = Talk(raw, tmp_path, **pull), {"partialResultToken": "part", "workDoneToken": 7}
    here = {"line": 5, "character": 10}
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    for id, more in (("plain", {}), ("tokens", tokens)):
        talk.actions(f"action {id}", **more)
        talk.ask(f"pull {id}", "textDocument/diagnostic", **more)
        talk.ask(f"hover {id}", "textDocument/hover", position=here, **more)
        talk.ask(f"hint {id}", "textDocument/inlayHint", range=everywhere, **more)
        talk.ask(f"lens {id}", "textDocument/codeLens", **more)
    found = {id: answer["result"] for id, (answer,) in talk.answers().items()}
    for kind in ("action", "pull", "hover", "hint", "lens"):
        assert found[f"{kind} tokens"] == found[f"{kind} plain"]
    assert found["action plain"] and found["pull plain"]["items"] and found["hover plain"]


def test_a_document_that_is_closed_under_a_request(raw, tmp_path):
    talk = Talk(raw, tmp_path)
    talk.actions(1)
    talk.ask(2, "textDocument/diagnostic")
    talk.say(method="textDocument/didClose", params={"textDocument": {"uri": talk.uri}})
    talk.ask(3, "textDocument/hover", position={"line": 0, "character": 0})
    found = talk.answers()
    assert found[1][0]["error"]["code"] == CONTENT_MODIFIED
    assert found[3][0]["result"] is None and [len(f) for f in found.values()] == [1, 1, 1]


# ---- cancel ----------------------------------------------------------------------------------------------------------------


def test_cancels_at_any_time(raw, tmp_path):
    """Before the request, beside it, after its answer, twice, for nobody: one answer each, and a cancel before is none."""
    talk, chooser = Talk(raw, tmp_path), random.Random(9)
    early = set()
    for i in range(300):
        if chooser.random() < 0.2:
            talk.say(method="$/cancelRequest", params={"id": i})
            early.add(i)
        kind = chooser.randrange(5)
        if kind == 0:
            talk.actions(i)
        elif kind == 1:
            talk.ask(i, "textDocument/diagnostic")
        elif kind == 2:
            talk.say(id=i, method="workspace/diagnostic", params={"previousResultIds": []})
        elif kind == 3:
            talk.ask(i, "textDocument/hover", position={"line": 0, "character": 0})
        else:
            talk.edit(NET + "#" * (i % 9))
            talk.ask(i, "textDocument/codeLens")
        if i not in early and chooser.random() < 0.4:
            talk.say(method="$/cancelRequest", params={"id": i - chooser.choice((0, 0, 1, 5))})
        if chooser.random() < 0.2:
            talk.write()
    found = talk.answers()
    assert sorted(found) == list(range(300)) and all(len(f) == 1 for f in found.values())
    codes = {i: f[0].get("error", {}).get("code") for i, f in found.items()}
    assert {None, CANCELED} <= set(codes.values()) <= {None, CANCELED, CONTENT_MODIFIED}


def test_a_cancel_before_its_request_is_of_nothing(raw, tmp_path):
    talk = Talk(raw, tmp_path)
    talk.say(method="$/cancelRequest", params={"id": 1})
    talk.actions(1)
    talk.actions("2")
    talk.say(method="$/cancelRequest", params={"id": 2})  # a number is no text
    talk.actions(3)
    talk.say(method="$/cancelRequest", params={"id": "3"})
    assert all(len(a["result"]) == 1 for (a,) in talk.answers().values())


def test_what_is_pending_is_answered_before_shutdown_is(raw, tmp_path):
    for i in range(60):
        (tmp_path / f"m{i}.py").write_text(NET)
    talk = Talk(raw, tmp_path)
    talk.actions(1)
    talk.say(id=2, method="workspace/diagnostic", params={"previousResultIds": []})
    talk.say(id=3, method="workspace/diagnostic", params={"previousResultIds": []})
    talk.say(id=4, method="gg/sync")
    talk.say(id=5, method="shutdown")
    talk.say(id=6, method="textDocument/hover", params={})
    talk.write()
    assert talk.server.reply(6)["error"]["code"] == INVALID_REQUEST
    replies = {m["id"]: m for m in talk.server.queue if "id" in m and "method" not in m}
    assert list(replies)[-1] == 5 and replies[5]["result"] is None
    assert [replies[i]["error"]["code"] for i in (1, 2, 3, 4)] == [CANCELED] * 4
    talk.server.send(method="exit")
    assert talk.server.wait() == 0


# ---- ids and kinds of messages ------------------------------------------------------------------------------------------------


def test_ids(raw, tmp_path):
    """Whatever number or text it is comes back as it was, also when two requests have the same."""
    talk = Talk(raw, tmp_path)
    ids = [0, -1, 7, "7", "", "ü🔥", "a\u0000b", 2**53, -(2**63), 2**63 - 1, "x" * 10000]
    for id in [*ids, 7]:
        talk.ask(id, "textDocument/codeLens")
    found = talk.answers()
    assert list(found) == ids and [len(f) for f in found.values()] == [1, 1, 2, *[1] * 8]


@pytest.mark.parametrize("id", ["null", "1.5", "true", "{}", "[1]", "1e3"])
def test_what_is_no_id(raw, id):
    server = raw()
    server.initialize()
    server.send_body(b'{"jsonrpc":"2.0","id":%s,"method":"textDocument/codeLens","params":{}}' % id.encode())
    assert server.reply(None)["error"]["code"] == INVALID_REQUEST
    server.send_body(b'{"jsonrpc":"2.0","id":%s,"result":null}' % id.encode())  # an answer to nothing
    assert "result" in server.request(1, "gg/status")


def test_kinds_of_messages(raw):
    """A request that is sent as a notification, a notification that wants an answer, what is optional, and a batch: the protocol has none."""
    server = raw()
    server.initialize()
    server.send(method="textDocument/hover", params={})
    server.send(method="shutdown")
    assert server.request(1, "textDocument/didOpen", {})["error"]["code"] == INVALID_REQUEST
    assert server.request(2, "exit")["error"]["code"] == INVALID_REQUEST
    assert server.request(3, "$/optional", {})["error"]["code"] == METHOD_NOT_FOUND
    assert server.request(4, "$/cancelRequest", {"id": 3})["error"]["code"] == INVALID_REQUEST
    one = b'{"jsonrpc":"2.0","id":5,"method":"gg/status"}'
    server.send_body(b"[" + one + b"," + one + b"]")
    assert server.reply(None)["error"]["code"] == INVALID_REQUEST
    assert "result" in server.request(6, "gg/status")
