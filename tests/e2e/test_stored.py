"""Stored results: a restarted server says at once, and without a worker, what it knew of an unchanged file."""

import programs
from lsprotocol import types
from places import covered
from support import confirmed

RUNS = """
import os
with open(os.environ["RUNS"], "a") as runs:
    runs.write("x")
"""


async def test_a_restart_keeps_what_was_found(start, tmp_path):
    env = {"RUNS": str(tmp_path.parent / f"{tmp_path.name}-runs")}
    text = programs.BRANCH + RUNS

    def runs() -> int:
        return len(open(env["RUNS"]).read())

    client = await start(trusted=True, env=env)
    (found,) = await client.saved(client.open("model.py", text, on_disk=text))
    await client.finish()
    ran = runs()
    assert ran > 0

    client = await start(trusted=True, env=env)
    uri = client.open("model.py", text)
    await client.sync()
    assert (
        [covered(text, d.range) for d in client.diagnostics[uri]]
        == [programs.CONDITION]
        == [covered(text, found.range)]
    )
    assert client.diagnostics[uri][0].message == found.message
    assert runs() == ran, "nothing was run for it"

    client.replace(uri, "h + 1", "h + 7")  # unsaved
    await client.saved(uri)
    assert runs() > ran
    ran = runs()
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command="graphglue.capture", arguments=[uri])
    )
    await client.sync()
    assert runs() > ran, "a capture that is asked for runs"


async def test_storing_can_be_switched_off(start, tmp_path):
    client = await start(trusted=True, settings={"capture": {"store": False}})
    await client.saved(client.open("model.py", programs.BRANCH, on_disk=programs.BRANCH))
    assert not (tmp_path / ".graphglue").exists()


async def test_an_untrusted_workspace_is_not_read_for_results(start, tmp_path):
    client = await start(trusted=True)
    await client.saved(client.open("model.py", programs.BRANCH, on_disk=programs.BRANCH))
    await client.finish()
    client = await start(trusted=False)
    uri = client.open("model.py", programs.BRANCH)
    await client.sync()
    assert all(d.code != "GB0170" for d in confirmed(client.diagnostics.get(uri)))
