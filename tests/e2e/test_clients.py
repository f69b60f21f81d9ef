"""An ordinary hour with each editor as it says itself what it can: the capabilities that were recorded from VS Code, Neovim and Emacs.

Every message of the server is held to the protocol and to those capabilities (conformance.py).  test_weak_clients.py has editors that can little.
"""

import asyncio

import programs
import pytest
import support
from lsprotocol import types
from pytest_lsp import client_capabilities
from test_execute_command import execute
from test_weak_clients import CALLED

EDITORS = ["visual-studio-code", "neovim", "emacs"]  # the newest that pytest-lsp has of each


async def findings(client, uri):
    """None of the recorded ones asks for diagnostics (test_diagnostic.py does)."""
    await client.sync()
    return [d for d in client.diagnostics.get(uri, []) if d.code]


async def glued(client, action):
    """What choosing an action does, by the way that was offered to this editor."""
    if action.edit is None and action.data is not None:
        action = await asyncio.wait_for(client.code_action_resolve_async(action), support.DEADLINE)
    if action.edit:
        client.apply(action.edit)
    if action.command:
        await execute(client, action.command.command, *action.command.arguments or [])


async def shown_at_the_entry(client, uri):
    """A code lens or an inlay hint, whichever this editor shows."""
    document, said = types.TextDocumentIdentifier(uri=uri), []
    offers = client.server_capabilities
    if offers.inlay_hint_provider:
        everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
        said += [
            h.label for h in await client.text_document_inlay_hint_async(types.InlayHintParams(document, everywhere))
        ]
    if offers.code_lens_provider:
        lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
        said += [lens.command.title for lens in lenses]
    return said


@pytest.mark.own_worker("a warm one may be done before anything is shown")
@pytest.mark.parametrize("editor", EDITORS)
async def test_an_ordinary_hour(start, editor):
    capabilities = client_capabilities(editor)
    client = await start(trusted=True, capabilities=capabilities)
    uri = client.open("model.py", CALLED)
    client.save(uri)
    (found,) = await findings(client, uri)
    assert found.code == "GB0170" and found.range == client.find(uri, programs.CONDITION)
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri=uri), found.range.start)
    )
    assert hover.contents.kind is types.MarkupKind.Markdown and "torch.where" in hover.contents.value
    assert any("3 graphs" in str(s) for s in await shown_at_the_entry(client, uri))
    client.replace(uri, "import torch\n", "import torch  # 🔥\n\n")
    (found,) = await findings(client, uri)
    assert found.range == client.find(uri, programs.CONDITION), "it moves with its text"
    (action, *_) = await client.repairs(uri, found.range)
    assert action.title.startswith("Glue this graph") and action.kind == types.CodeActionKind.QuickFix
    await glued(client, action)
    assert "torch.where(h.sum() > 0, h + 1, h - 1)" in client.texts[uri]
    client.close(uri)
    assert await findings(client, uri) == []
    assert {r.method for r in client.registrations} == {
        method
        for method, announced in (
            ("workspace/didChangeConfiguration", capabilities.workspace.did_change_configuration),
            ("workspace/didChangeWatchedFiles", capabilities.workspace.did_change_watched_files),
        )
        if announced and announced.dynamic_registration
    }
    assert client.progress_reports, "each of them shows it"
    assert client.judge.judged > 10
    client.take_messages()
