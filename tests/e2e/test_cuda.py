"""CUDA in the editor: inputs that ask for a device that is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsprotocol import types
from places import covered

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
    pytest.mark.own_worker("devices are looked for at its start"),
]

NET = """import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


async def test_inputs_that_ask_for_a_missing_device(start):
    client = await start(trusted=True)
    text = NET + "\n\nTESTCASES = [(Net, lambda: ([], {}), lambda: ([torch.ones(3).cuda()], {}))]\n"
    (found,) = await client.saved(client.open("net.py", text))
    assert (found.severity, found.code) == (types.DiagnosticSeverity.Error, "eager_error")
    assert found.message.startswith("Net: no CUDA device: ") and "(net.py line 9)" in found.message
    assert covered(text, found.range) == "class Net(torch.nn.Module):"


async def test_inputs_recorded_on_a_device_that_is_not_here_run_and_say_so(start, tmp_path: Path):
    """A hint, not a warning: what was found holds."""
    client = await start(trusted=True)
    uri = client.open("net.py", NET)
    file = str(tmp_path / "net.py")
    net = {"module": "net", "name": "Net", "file": file}
    x = {"tensor": {"shape": [3], "dtype": "float32", "device": "cuda:0"}, "number": 0}
    call = {"args": [x], "kwargs": {}, "grad": False, "made": {"class": net, "args": [], "kwargs": {}}}
    call.update(training=False, method=None, tensors={}, placed={"": ["cuda:0", "float32"]})
    (tmp_path / ".graphglue" / "inputs").mkdir(parents=True)
    (tmp_path / ".graphglue" / "inputs" / "Net.json").write_text(
        json.dumps({"version": 1, "target": net, "owner": file, "problem": None, "sets": [call]})
    )
    (found,) = await client.saved(uri)
    assert found.severity is types.DiagnosticSeverity.Hint
    assert found.message == "Net: no CUDA device: recorded on cuda:0, it ran on the CPU"
