"""Fixtures: servers under test.  Each one's end is part of every test that uses it (see support.Client.finish)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import support
from lsprotocol import types

Start = Callable[..., Awaitable[support.Client]]


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts and initializes a server: start(trusted=True, settings={…}, weak=True, encodings=["utf-8"], …)."""
    clients: list[support.Client] = []

    async def launch(
        trusted: bool = False,
        settings: dict[str, Any] | None = None,
        weak: bool = False,
        encodings: list[str] | None = None,
        pull: bool = False,
        refresh: bool = True,
        lens: bool = False,
        hints: bool = False,
        watch: bool = False,
        folders: list[Path] | None = None,
        env: dict[str, str] | None = None,
        python: str | None = sys.executable,
        capabilities: types.ClientCapabilities | None = None,
        **options: Any,
    ) -> support.Client:
        configured = {**({"python": python} if python else {}), **(settings or {})}
        client = support.Client(configuration={"": {"graphglue": configured}})
        client.workspace = tmp_path
        clients.append(client)
        await client.start_io(
            support.find_server(), "--stdio", "--test", env=support.environment(client.mark, env), cwd=tmp_path
        )
        roots = [tmp_path] if folders is None else folders
        params = types.InitializeParams(
            capabilities=capabilities or support.capabilities(weak, encodings, pull, refresh, lens, hints, watch),
            root_uri=roots[0].as_uri() if roots else None,
            workspace_folders=[types.WorkspaceFolder(uri=r.as_uri(), name=r.name) for r in roots] or None,
            initialization_options={"trusted": trusted, **configured, **options},
        )
        result = await asyncio.wait_for(client.initialize_session(params), support.DEADLINE)
        client.server_capabilities = result.capabilities
        encoding = result.capabilities.position_encoding
        client.encoding = str(getattr(encoding, "value", encoding) or "utf-16")
        return client

    yield launch
    failures = []
    for client in clients:
        if not client.ended:
            try:
                await client.finish()
            except Exception as e:  # each of several servers is ended, and the first failure told
                failures.append(e)
    if failures:
        raise failures[0]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How near to a stall the loops came."""
    for took, test in sorted(support.longest_turns, reverse=True)[:3]:
        terminalreporter.write_line(f"longest turn of a loop: {took / 1000:.1f} ms, {test.split(' ')[0]}")


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Callable[..., support.Raw]]:
    """Starts a server that is spoken to in bytes; not initialized."""
    servers: list[support.Raw] = []

    def launch(*arguments: str, env: dict[str, str] | None = None) -> support.Raw:
        servers.append(support.Raw.start(*arguments, env=env, cwd=tmp_path))
        return servers[-1]

    yield launch
    for server in servers:
        if server.process.poll() is None:
            server.finish()
        else:
            server.kill()
