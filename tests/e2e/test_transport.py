"""Standard input and output of every kind, and clients that do not read."""

import json
import os
import socket
import subprocess
import uuid

import pytest
import support

INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}
SESSION = [
    INITIALIZE,
    {"method": "initialized", "params": {}},
    {"id": 2, "method": "gg/status"},
    {"id": 3, "method": "shutdown"},
    {"method": "exit"},
]


def frames(messages):
    bodies = [json.dumps({"jsonrpc": "2.0", **m}).encode() for m in messages]
    return b"".join(support.framed(b) for b in bodies)


def replies(data):
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


class Program:
    """The server on given descriptors; its end is always proved."""

    def __init__(self, shell=None, **streams):
        self.mark = uuid.uuid4().hex
        command = [support.find_server(), "--stdio", "--test"]
        if shell:
            command = ["/bin/sh", "-c", f'exec "$0" "$@" {shell}', *command]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env=support.environment(self.mark), **streams)

    def end(self, seconds=20):
        """The exit status and stderr; nothing may be left of it."""
        try:
            _, errors = self.process.communicate(timeout=seconds)
        finally:
            self.process.kill()
        support.assert_clean_end(self.mark, errors)
        return self.process.returncode, errors.decode()


def test_a_file(tmp_path):
    """graphglue-lsp --stdio <requests >replies"""
    (tmp_path / "requests").write_bytes(frames(SESSION))
    with open(tmp_path / "requests", "rb") as requests, open(tmp_path / "replies", "wb") as out:
        status, _ = Program(stdin=requests, stdout=out).end()
    assert status == 0
    assert [r.get("id") for r in replies((tmp_path / "replies").read_bytes())] == [1, 2, 3]


def test_a_file_that_ends_within_a_frame(tmp_path):
    (tmp_path / "requests").write_bytes(frames(SESSION)[:-5])
    with open(tmp_path / "requests", "rb") as requests:
        program = Program(stdin=requests, stdout=subprocess.DEVNULL)
        assert program.end()[0] == 0, "the shutdown was heard; the end of the input is as good as an exit"


def test_a_large_file(tmp_path):
    """More than one read, and more than one turn of the loop."""
    many = [{"id": i, "method": "gg/status"} for i in range(10, 3010)]
    (tmp_path / "requests").write_bytes(frames([INITIALIZE, *many, *SESSION[3:]]))
    with open(tmp_path / "requests", "rb") as requests, open(tmp_path / "replies", "wb") as out:
        status, _ = Program(stdin=requests, stdout=out).end(60)
    assert status == 0
    assert [r.get("id") for r in replies((tmp_path / "replies").read_bytes())] == [1, *range(10, 3010), 3]


def test_nothing_to_read():
    assert Program(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).end()[0] == 1


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&-"])
def test_a_closed_descriptor(closed):
    """The numbers must not be taken by something else that the server opens."""
    program = Program(closed, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    if "0<&-" not in closed:
        program.process.stdin.write(frames([INITIALIZE]))
        program.process.stdin.flush()
    status, errors = program.end()
    assert status == 1 and "standard" in errors, errors


def test_a_folder(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        status, errors = Program(stdin=descriptor, stdout=subprocess.DEVNULL).end()
    finally:
        os.close(descriptor)
    assert status == 1 and "standard input" in errors, errors


def test_a_full_disk():
    with open("/dev/full", "wb") as full:
        program = Program(stdin=subprocess.PIPE, stdout=full)
        program.process.stdin.write(frames([INITIALIZE]))
        program.process.stdin.flush()
        assert program.process.wait(20) == 1
        assert "standard output" in program.end()[1]


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET], ids=["unix", "tcp"])
def test_a_socket(family):
    """As inetd and some editors' proxies give: one connection for both directions."""
    if family == socket.AF_UNIX:
        ours, theirs = socket.socketpair()
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            theirs, _ = listener.accept()
    with ours:
        program = Program(stdin=theirs, stdout=theirs)
        theirs.close()
        ours.sendall(frames(SESSION))
        data = b""
        while chunk := ours.recv(65536):
            data += chunk
        assert [r["id"] for r in replies(data)] == [1, 2, 3]
        assert program.end()[0] == 0


def test_a_terminal():
    """A person who tries it by hand."""
    controller, terminal = os.openpty()
    try:
        program = Program(stdin=terminal, stdout=subprocess.PIPE)
        os.close(terminal)
        os.write(controller, b"\n\n\x04")
        assert program.end()[0] == 1
    finally:
        os.close(controller)


def test_a_client_that_went_away():
    """It closes what it reads from, and keeps writing."""
    program = Program(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.process.stdout.close()
    program.process.stdout = None
    program.process.stdin.write(frames([INITIALIZE]))
    program.process.stdin.flush()
    assert program.process.wait(20) == 1
    program.end()


def flood(program, size, count):
    """Opens a document and asks for its text again and again, never reading the replies."""
    item = {"uri": "file:///big.py", "languageId": "python", "version": 1, "text": "#" * size}
    program.process.stdin.write(
        frames([INITIALIZE, {"method": "textDocument/didOpen", "params": {"textDocument": item}}])
    )
    asked = frames([{"id": i, "method": "gg/text", "params": {"uri": item["uri"]}} for i in range(2, 2 + count)])
    try:
        program.process.stdin.write(asked)
        program.process.stdin.flush()
    except BrokenPipeError:
        pass


def test_a_client_that_never_reads():
    """What waits for it has a ceiling; beyond it the server says so and leaves."""
    program = Program(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    flood(program, 8 * 1024 * 1024, 64)
    assert program.process.wait(60) == 1
    assert "does not read" in program.end()[1]


@pytest.mark.parametrize("how", ["exit", "end"])
def test_leaving_a_client_that_does_not_read(how):
    """Replies wait; the client asks the server to go, and still does not read."""
    program = Program(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    flood(program, 1024 * 1024, 4)
    if how == "exit":
        program.process.stdin.write(frames([{"method": "exit"}]))
        program.process.stdin.flush()
        assert program.process.wait(20) == 1
    else:
        program.process.stdin.close()
        program.process.stdin = None
        assert program.process.wait(20) == 1
    program.end()


def test_a_slow_reader_gets_everything():
    program = Program(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    flood(program, 1024 * 1024, 4)
    program.process.stdin.write(frames([{"id": 99, "method": "shutdown"}, {"method": "exit"}]))
    program.process.stdin.close()
    program.process.stdin = None
    data = program.process.stdout.read()
    assert [r["id"] for r in replies(data) if "id" in r] == [1, 2, 3, 4, 5, 99]
    assert program.end()[0] == 0


@pytest.mark.parametrize("last", [[{"method": "exit"}], []], ids=["exit", "end"])
def test_leaving_while_a_large_message_is_read(last):
    """It is read beside the loop."""
    program = Program(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    item = {"uri": "file:///big.py", "languageId": "python", "version": 1, "text": "#" * 8_000_000}
    opened = {"method": "textDocument/didOpen", "params": {"textDocument": item}}
    program.process.stdin.write(frames([INITIALIZE, opened, opened, *last]))
    program.process.stdin.close()
    program.process.stdin = None
    assert program.process.wait(20) == 1
    program.end()


def test_a_log_that_nobody_reads(raw):
    """An editor that does not read stderr must not stop the server."""
    server = raw(env={"GRAPHGLUE_LOG": "info"})
    server.initialize()
    for i in range(200):
        server.send(method=f"no/such/{i}/" + "x" * 1500)
    assert "result" in server.request(1, "gg/status")
    log = server.process.stderr
    assert b"no/such/0/" in os.read(log.fileno(), 100_000)
    server.send(method="no/such/last")
    assert "result" in server.request(2, "gg/status")
    assert b"lines were dropped" in os.read(log.fileno(), 100_000)
