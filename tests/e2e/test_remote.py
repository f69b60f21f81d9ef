"""A worker behind a launcher, in a second environment: another root with a copy of the project, another environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import programs
import pytest
import support
from lsprotocol import types
from test_code_lens import layer, lenses, titles
from test_execute_command import execute

HELPER = "def halve(x):\n    print('halving')\n    return x / 2\n"
MODEL = "from helper import halve\n" + programs.BRANCH.replace("h = ", "h = halve(x); h = ", 1)


@pytest.fixture
def elsewhere(tmp_path):
    """Settings of a worker that knows the workspace as tmp_path/machine/project."""
    machine = tmp_path / "machine"
    (machine / "project").mkdir(parents=True)
    (machine / "venv").symlink_to(sys.prefix)
    (machine / "worker").symlink_to(
        os.environ.get("GRAPHGLUE_WORKER") or Path(support.find_server()).with_name("graphglue-worker")
    )
    launcher = tmp_path / "launcher"
    launcher.write_text(
        f'#!/bin/sh\necho Welcome\ncd "{machine}"\nexec env -i HOME="{machine}" PATH=/usr/bin:/bin "$@"\n'
    )
    launcher.chmod(0o755)
    return {
        "command": [str(launcher)],
        "program": str(machine / "worker"),
        "pathMap": [{"local": str(tmp_path / "here"), "remote": str(machine / "project")}],
    }


async def test_breaks_and_edits_come_back_local(start, tmp_path, elsewhere):
    here = tmp_path / "here"
    here.mkdir()
    client = await start(trusted=True, python="~/venv/bin/python", settings={"worker": elsewhere}, folders=[here])
    client.workspace = here
    (tmp_path / "machine" / "project" / "helper.py").write_text(HELPER)
    client.write("helper.py", HELPER)
    uri = client.open("model.py", MODEL, on_disk="raise RuntimeError('an unsaved buffer is newer')\n")
    found = {d.code: d for d in await client.saved(uri)}
    assert set(found) == {"GB0059", "GB0170"}
    assert found["GB0170"].range == client.find(uri, "h.sum() > 0")
    related = found["GB0059"].related_information
    assert [r.location.uri for r in related][:2] == [(here / "helper.py").as_uri(), uri], related
    assert all(r.location.uri.startswith("file:///") and "machine" not in r.location.uri for r in related)
    (glue, *_) = [a for a in await client.repairs(uri, found["GB0170"].range) if "torch.where" in a.title]
    resolved = await client.code_action_resolve_async(glue)
    client.apply(resolved.edit)
    assert "torch.where(h.sum() > 0" in client.texts[uri]
    assert not (tmp_path / "machine" / "project" / "model.py").exists()


async def test_written_inputs(start, tmp_path, elsewhere):
    """Recorded here, deduced and run over there, written into the buffer here."""
    here = tmp_path / "here"
    here.mkdir()
    text = programs.HEAD + layer("Net", "x = x * 2") + "\n\n" + layer("Other", "print(x.sum())")
    (here / "train.py").write_text("import torch\nfrom model import Net\nNet(7).eval()(torch.ones(5, 7))\n")
    (here / "model.py").write_text(text)
    record = [support.find_server(), "record", "--", sys.executable, "train.py"]
    subprocess.run(record, cwd=here, check=True, timeout=120, capture_output=True)
    client = await start(trusted=True, python="~/venv/bin/python", settings={"worker": elsewhere}, folders=[here])
    client.workspace = here
    uri = client.open("model.py", text)
    await client.saved(uri)
    assert titles(await lenses(client, uri))["class Net(torch.nn.Module):"] == ["one graph", "Write example inputs"]
    await execute(client, "graphglue.writeInputs", uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    assert client.texts[uri].endswith(
        '    yield "Net", Net(width=7).eval(), (torch.ones(5, 7),), {}\n'
        '    yield "Other", Other().eval(), (torch.randn(2, 16, 4),), {}\n'
    ), client.texts[uri]


async def test_settings_change_the_machine(start, tmp_path, elsewhere):
    (tmp_path / "here").mkdir()
    client = await start(trusted=True, python=None, settings={"worker": {**elsewhere, "command": ["/nonexistent/ssh"]}})
    client.workspace = tmp_path / "here"
    uri = client.open("model.py", programs.BRANCH)
    assert "/nonexistent/ssh could not be started" in (await client.saved(uri))[0].message
    client.set_configuration({"python": "~/venv/bin/python", "worker": elsewhere}, section="graphglue")
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await client.until("the break", lambda: [d.code for d in client.diagnostics[uri]] == ["GB0170"])


async def test_a_file_that_the_machine_cannot_see(start, tmp_path, elsewhere):
    client = await start(trusted=True, python="~/venv/bin/python", settings={"worker": elsewhere})
    uri = client.open("stray.py", programs.BRANCH)
    assert "lies in no folder that worker.pathMap" in (await client.saved(uri))[0].message


async def test_wrong_settings_are_told_and_left(start):
    client = await start(trusted=True, settings={"worker": {"command": "ssh gpu01"}})
    uri = client.open("model.py", programs.BRANCH)
    assert [d.code for d in await client.saved(uri)] == ["GB0170"], "and the worker still runs here"
    told = client.take_messages()
    assert told and all("graphglue.worker.command wants a list of words" in m.message for m in told)
