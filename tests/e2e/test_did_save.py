"""textDocument/didSave: a capture in a trusted workspace, and its breaks as diagnostics."""

import programs
from lsprotocol import types
from places import covered


async def test_break_with_code_link_and_exact_range(start):
    client = await start(trusted=True)
    uri = client.open("model.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    assert found.source == "graphglue" and found.code == "GB0170"
    assert found.code_description.href == "https://meta-pytorch.org/compile-graph-break-site/gb/gb0170.html"
    assert covered(programs.BRANCH, found.range) == programs.CONDITION
    assert found.severity is types.DiagnosticSeverity.Warning
    assert programs.CONDITION in found.message and "graph splits" in found.message


async def test_ranges_are_in_the_units_that_were_agreed_on(start):
    text = programs.BRANCH.replace("if h.sum()", 'if "🔥é" and h.sum()')
    for encoding in ("utf-16", "utf-8"):
        client = await start(trusted=True, encodings=[encoding])
        uri = client.open("units.py", text)
        (found,) = await client.saved(uri)
        assert programs.CONDITION in covered(text, found.range, encoding)


async def test_crlf_and_tabs(start):
    text = programs.BRANCH.replace("    ", "\t").replace("\n", "\r\n")
    client = await start(trusted=True)
    uri = client.open("crlf.py", text)
    (found,) = await client.saved(uri)
    assert covered(text, found.range) == programs.CONDITION


async def test_nothing_to_say_about_a_whole_graph(start):
    client = await start(trusted=True)
    uri = client.open("clean.py", programs.CLEAN)
    assert list(await client.saved(uri)) == []


async def test_mended_by_hand(start):
    client = await start(trusted=True)
    uri = client.open("mended.py", programs.PRINT)
    (found,) = await client.saved(uri)
    assert "print" in covered(programs.PRINT, found.range)
    client.replace(uri, '    print("mean", h.mean())\n', "")
    assert list(await client.saved(uri)) == []


async def test_unsaved_text_of_another_buffer_is_what_runs(start):
    """The overlay: an import sees the editor's buffer, not the disk."""
    client = await start(trusted=True)
    client.open(
        "layers.py", "def twice(x):\n    print(x)\n    return x * 2\n", on_disk="def twice(x):\n    return x * 2\n"
    )
    text = "import torch\nfrom layers import twice\n\n\ndef scale(x):\n    return twice(x) + 1\n" + programs.INPUTS
    uri = client.open("model.py", text)
    client.save(uri)
    await client.sync()
    found = await client.until("the break", lambda: [d for p in client.published for d in p.diagnostics])
    assert found[0].source == "graphglue"


async def test_no_inputs_is_no_error(start):
    client = await start(trusted=True)
    uri = client.open("plain.py", "import torch\n\n\ndef f(x):\n    return x\n")
    assert not [d for d in await client.saved(uri) if d.severity is types.DiagnosticSeverity.Error]


async def test_what_is_compiled_anew_on_each_call_is_said(start):
    text = programs.HEAD + (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.step = 0\n\n"
        "    def forward(self, x):\n        self.step += 1\n        return x * self.step\n\n\n"
        "def graphglue_inputs():\n    yield 'net', Net(), (torch.ones(2),), {}\n"
    )
    client = await start(trusted=True)
    uri = client.open("net.py", text)
    (found,) = await client.saved(uri)
    assert (found.code, found.severity) == ("recompiles", types.DiagnosticSeverity.Warning)
    assert found.message.startswith(
        "net: compiled anew on each call, also for the same arguments: Net.forward (failed guard: "
    )
    assert client.texts[uri].split("\n")[found.range.start.line].startswith("class Net")
