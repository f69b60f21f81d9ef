"""What clients announce differs: here is what some do, each of which is to get everything, in whatever way it can take it.

The sets are those that the clients' own sources send, as far as the server looks at them.  Eglot and lsp-mode: tests/editors/test_emacs.py.
"""

import asyncio
from typing import Any

import programs
import pytest
import support
from lsprotocol import types
from places import covered
from support import plain
from test_execute_command import execute

LITERALS = {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}}
KATE = {  # no applyEdit, although it applies what it is sent; it looks at no command's result
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True},
        "codeAction": {"codeActionLiteralSupport": LITERALS},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "inlayHint": {"dynamicRegistration": False},
    },
    "window": {"workDoneProgress": True},
}
HELIX = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceEdit": {"documentChanges": True},
        "inlayHint": {"refreshSupport": False},
    },
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": LITERALS,
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
        "hover": {"contentFormat": ["markdown"]},
        "inlayHint": {"dynamicRegistration": False},
    },
    "window": {"workDoneProgress": True},
}
SUBLIME = {
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {"groupsOnLabel": False}},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True, "dataSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": LITERALS,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeLens": {"dynamicRegistration": True},
    },
    "window": {"workDoneProgress": True},
}
NOTHING: dict[str, Any] = {}  # not even code actions that are more than commands
CALLED = """import torch


def positive(h):
    if h.sum() > 0:
        return h + 1
    return h - 1


def scale(x):
    return positive(x * 2)


def graphglue_inputs():
    torch.manual_seed(0)
    yield "scale", scale, (torch.randn(4),), {}
"""


async def glue(client: support.Client, uri: str, where: types.Range) -> Any:
    """*Glue this graph*, by the way that this client has; what came of it."""
    params = types.CodeActionParams(
        text_document=types.TextDocumentIdentifier(uri=uri),
        range=where,
        context=types.CodeActionContext(diagnostics=[]),
    )
    offers = await asyncio.wait_for(client.text_document_code_action_async(params), support.DEADLINE)
    offer = next(o for o in offers if o.title.startswith("Glue this graph"))
    if isinstance(offer, types.Command):
        return await execute(client, offer.command, *offer.arguments)
    if offer.command:
        return await execute(client, offer.command.command, *offer.command.arguments)
    resolved = await asyncio.wait_for(client.code_action_resolve_async(offer), support.DEADLINE)
    client.apply(resolved.edit)
    return None


async def summary(client: support.Client, uri: str) -> str:
    """What is said of the entry, in a code lens or an inlay hint; empty for a client that shows neither."""
    document = types.TextDocumentIdentifier(uri=uri)
    if client.server_capabilities.inlay_hint_provider:
        everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
        hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document, everywhere))
        return str(hints[0].label)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
    return str(lenses[0].command.title)


@pytest.mark.parametrize(
    "announced", [KATE, HELIX, SUBLIME, NOTHING], ids=["kate", "helix", "sublime", "announces-nothing"]
)
async def test_everything_comes_in_some_way(start, announced):
    capabilities = support.CONVERTER.structure(announced, types.ClientCapabilities)
    client = await start(trusted=True, capabilities=capabilities)
    uri = client.open("model.py", CALLED)
    (found,) = await client.saved(uri)
    assert found.code == "GB0170" and found.source == "graphglue"
    assert covered(CALLED, found.range, client.encoding) == programs.CONDITION
    formats = announced.get("textDocument", {}).get("hover", {}).get("contentFormat", [])
    hover = await client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri=uri), found.range.start)
    )
    assert hover.contents.kind == ("markdown" if "markdown" in formats else "plaintext")
    assert "GB0170" in hover.contents.value and "torch.where" in hover.contents.value
    related = announced.get("textDocument", {}).get("publishDiagnostics", {}).get("relatedInformation", False)
    assert bool(found.related_information) == related
    assert ("Called from" in hover.contents.value) == (not related), "who called is told in one way or the other"
    assert await summary(client, uri) in ("3 graphs, 2 breaks at 1 site", "3 graphs · 2 breaks · Glue all")
    shown = plain(await execute(client, "graphglue.showGraph", uri))
    assert shown["entries"][0]["title"] == "scale: 3 graphs, 2 breaks"
    await glue(client, uri, found.range)
    assert "torch.where(h.sum() > 0, h + 1, h - 1)" in client.texts[uri]
    assert list(await client.saved(uri)) == []
    if not announced.get("window"):
        assert not client.progress_reports
    client.take_messages()


async def test_an_edit_that_the_client_does_not_apply_is_the_result(start):
    """One that announces nothing and refuses: whoever looks at the command's result can apply it himself."""
    client = await start(trusted=True, capabilities=types.ClientCapabilities())
    client.refuse_edits = True
    uri = client.open("model.py", programs.BRANCH)
    (found,) = await client.saved(uri)
    edit = plain(await glue(client, uri, found.range))
    assert "torch.where(h.sum() > 0, h + 1, h - 1)" in edit["changes"][uri][0]["newText"]
    edit = plain(await execute(client, "graphglue.glueAll", uri))
    assert "torch.where" in edit["changes"][uri][0]["newText"]
    assert client.texts[uri] == programs.BRANCH
    client.take_messages()


async def test_a_client_that_applies_all_it_gets_mends_the_break_at_the_cursor_alone(start):
    """Kate's Quick Fix asks of the whole file and names one diagnostic; a comment that ignores it is no fix."""
    client = await start(trusted=True, capabilities=support.CONVERTER.structure(KATE, types.ClientCapabilities))
    uri = client.open(
        "model.py", programs.BRANCH.replace("    return h\n", '    print("mean", h.mean())\n    return h\n')
    )
    found = {d.code: d for d in await client.saved(uri)}
    assert set(found) == {"GB0170", "GB0059"}
    everywhere, document = types.Range(types.Position(0, 0), types.Position(99, 0)), types.TextDocumentIdentifier(uri)

    async def offered(*named: types.Diagnostic) -> list[str]:
        context = types.CodeActionContext(diagnostics=list(named))
        actions = await client.text_document_code_action_async(types.CodeActionParams(document, everywhere, context))
        return sorted(action.title for action in actions)

    select, skip = "Glue this graph: Select with torch.where", "Glue this graph: Skip this message while compiling"
    assert await offered(found["GB0170"]) == [select]
    assert await offered(found["GB0059"]) == [skip]
    assert await offered() == await offered(*found.values()) == [select, skip]
