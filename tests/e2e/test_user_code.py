"""User code and interpreters that misbehave: that capture is lost, with words, and nothing else.  No file is written."""

import os
import signal
import subprocess
import sys
import venv

import programs
import pytest

SHORT = {"capture": {"timeout": 5}}


async def told(client, uri):
    """All that the user can read after a save: diagnostics of the file and messages."""
    found = await client.saved(uri)
    return " ".join([d.message for d in found] + [m.message for m in client.take_messages()])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (programs.RAISES, ["ValueError", "no such layer: café"]),
        (programs.IMPORT_FAILS, ["RuntimeError", "not on this machine"]),
        (programs.INPUTS_RAISE, ["KeyError", "weights"]),
        (programs.CRASHES, ["SIGSEGV"]),
        (programs.EXITS, ["exit"]),
        (programs.HANGS, ["deadline"]),
        (programs.HALF_TYPED + programs.INPUTS, ["SyntaxError"]),
    ],
    ids=["raises", "import", "inputs", "crashes", "exits", "hangs", "half-typed"],
)
async def test_a_capture_that_fails_is_told_and_the_next_one_runs(start, text, words):
    client = await start(trusted=True, settings=SHORT)
    uri = client.open("bad.py", text)
    said = await told(client, uri)
    assert all(w.lower() in said.lower() for w in words), said
    assert [d.code for d in await client.saved(client.open("model.py", programs.BRANCH))] == ["GB0170"]
    assert sorted(p.name for p in client.workspace.iterdir() if p.suffix == ".py") == ["bad.py", "model.py"]


@pytest.mark.parametrize(
    ("text", "start_line", "start_character", "end_character"),
    [("import os\nx = '😀' + (1 =\n", 1, 11, 15), ("import os\n\nos.nothing()\n", 2, 0, 10)],
    ids=["syntax", "exception"],
)
async def test_a_failed_import_is_marked_where_it_fails(start, text, start_line, start_character, end_character):
    client = await start(trusted=True)
    found = (await client.saved(client.open("bad.py", text)))[0]
    assert (found.range.start.line, found.range.start.character) == (start_line, start_character)
    assert (found.range.end.line, found.range.end.character) == (start_line, end_character)


@pytest.mark.parametrize("text", [programs.PRINTS, programs.FLOODS], ids=["prints", "floods"])
async def test_output_never_reaches_the_protocol(start, text):
    client = await start(trusted=True, settings={"capture": {"timeout": 60}})
    uri = client.open("loud.py", text)
    await client.saved(uri)
    client.take_messages()
    assert [d.code for d in await client.saved(client.open("model.py", programs.BRANCH))] == ["GB0170"]


async def test_invalid_utf8_on_disk(start):
    """An editor's buffer is text; what another module holds on disk is bytes."""
    client = await start(trusted=True)
    (client.workspace / "latin.py").write_bytes(b"name = '\xe9'\n")
    uri = client.open("model.py", "import latin\n" + programs.BRANCH)
    assert "SyntaxError" in await told(client, uri)


async def test_nul_in_the_buffer(start):
    client = await start(trusted=True)
    uri = client.open("nul.py", programs.BRANCH.replace("h = x * 2", "h = x * 2  # \x00"))
    said = await told(client, uri)
    assert "null byte" in said.lower(), said


async def test_a_python_without_torch(start, tmp_path):
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    client = await start(trusted=True, python=str(tmp_path / "bare" / "bin" / "python"))
    said = await told(client, client.open("model.py", programs.BRANCH))
    assert "torch" in said and "bare/bin/python" in said, said


async def test_a_python_that_is_not_there(start):
    client = await start(trusted=True, python="/nowhere/python3")
    said = await told(client, client.open("model.py", programs.BRANCH))
    assert "/nowhere/python3" in said, said


async def test_no_python_at_all(start, tmp_path):
    (tmp_path / "empty").mkdir()
    client = await start(trusted=True, python=None, env={"PATH": str(tmp_path / "empty")})
    said = await told(client, client.open("model.py", programs.BRANCH))
    assert "python" in said.lower(), said


async def test_a_python_that_is_something_else(start, tmp_path):
    """It runs, prints and ends: told in words, with a deadline."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho hello; echo world >&2; exit 3\n")
    fake.chmod(0o755)
    client = await start(trusted=True, python=str(fake))
    said = await told(client, client.open("model.py", programs.BRANCH))
    assert str(fake) in said, said


@pytest.mark.own_worker("what is left of it when it is killed")
async def test_a_worker_that_is_killed_comes_back(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    assert await client.saved(uri)
    workers = children(client.pid)
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    await client.saved(uri)  # this one may be lost: it can be sent before the server hears of the death
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
    client.take_messages()


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(p) for p in found.stdout.split()]


async def test_virtual_env_of_the_workspace_is_chosen(start, tmp_path):
    """Here a wrapper script, as version managers install them: the interpreter behind it decides what can be imported."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / ".venv" / "bin" / "python").chmod(0o755)
    client = await start(trusted=True, python=None)
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"]
