"""$/progress: what takes longer is shown from begin to end; a client without it is left alone."""

import programs
from lsprotocol import types
from test_execute_command import execute


async def test_a_capture_begins_and_ends(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    assert client.progress_reports, "starting torch takes seconds"
    for reports in client.progress_reports.values():
        assert isinstance(reports[0], types.WorkDoneProgressBegin) and reports[0].title
        assert isinstance(reports[-1], types.WorkDoneProgressEnd)
        assert all(isinstance(r, types.WorkDoneProgressReport) for r in reports[1:-1])


async def test_not_for_a_client_without_it(start):
    client = await start(trusted=True, weak=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    assert not client.progress_reports


async def test_a_verification_tells_what_holds_before_the_edit_comes(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    await client.saved(uri)
    await execute(client, "graphglue.glueAll", uri)
    await client.until("workspace/applyEdit", lambda: client.applied)
    said = [getattr(report, "message", None) for reports in client.progress_reports.values() for report in reports]
    assert "holds on 8 input sets; comparing gradients and other sizes" in said
