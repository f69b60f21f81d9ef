"""$/progress: what takes longer is shown from begin to end; a client without it is left alone."""

import programs
from lsprotocol import types


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
