"""Frames of the worker's protocol: JSON objects with a length in front, over an inherited descriptor."""

import json
from typing import Any

import _graphglue_host as host

SEND_TIMEOUT_MS = 30_000


def clean(value: Any) -> Any:
    """Make every string valid UTF-8: user code may hold lone surrogates."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
            return value
        except UnicodeEncodeError:
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(v) for v in value]
    return value


def send(fd: int, frame: dict[str, Any]) -> None:
    """Write one frame.  Raises TimeoutError, OSError (the other side has gone) or ValueError (over 64 MiB)."""
    host.send(fd, json.dumps(clean(frame)).encode("utf-8"), SEND_TIMEOUT_MS)


def recv(fd: int, timeout_ms: int = -1) -> dict[str, Any] | None:
    """Read one frame; None at the end of the connection."""
    body = host.recv(fd, timeout_ms)
    return None if body is None else json.loads(body)
