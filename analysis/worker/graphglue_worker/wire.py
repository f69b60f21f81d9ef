"""Frames of the worker's protocol: JSON objects with a length in front, over an inherited descriptor.

A job's frames go through the zygote.  Since user code runs in the process that sends them, each carries a token, and the zygote
believes none without it (host_frames.c says what that is worth).
"""

import json
import os
import struct
from typing import Any

import _graphglue_host as host

SEND_TIMEOUT_MS = 30_000
TOKEN_BYTES = 16
MAX_REPORT_BYTES = 2 << 20  # of one frame of a job; the server parses it in one turn of its loop
_HEAD = struct.Struct(f">I{TOKEN_BYTES}s")
_dumps = json.dumps  # user code may replace what it finds in modules


class ChannelLost(Exception):
    """The descriptor that a job reports through was closed, or is something else now."""


class Forged(Exception):
    """Bytes on a job's channel that the worker did not write."""


class TooLarge(Exception):
    """A frame of a job over its ceiling."""


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
    """Write one frame, which ends in a newline: a launcher between us may pass on whole lines only.

    Raises TimeoutError, OSError (the other side has gone) or ValueError (over 64 MiB).
    """
    host.send(fd, _dumps(clean(frame)).encode("utf-8") + b"\n", SEND_TIMEOUT_MS)


def recv(fd: int, timeout_ms: int = -1) -> dict[str, Any] | None:
    """Read one frame; None at the end of the connection."""
    body = host.recv(fd, timeout_ms)
    return None if body is None else json.loads(body)


def report(frame: dict[str, Any]) -> None:
    """Write one frame of a job to its channel.  Raises TooLarge, ChannelLost, TimeoutError, or OSError (nobody listens)."""
    body = _dumps(clean(frame)).encode("utf-8")
    if len(body) > MAX_REPORT_BYTES:
        raise TooLarge(f"a report of {len(body) / (1 << 20):.1f} MiB, where {MAX_REPORT_BYTES >> 20} MiB are allowed")
    if not host.report(body, SEND_TIMEOUT_MS):
        raise ChannelLost


class Channel:
    """The zygote's end of a job's channel.  It never waits: a job may stop in the middle of a frame."""

    def __init__(self, fd: int, token: bytes) -> None:
        self.fd = fd
        self.total_bytes = 0
        self._token = token
        self._bytes = bytearray()

    def read(self) -> list[dict[str, Any]] | None:
        """Frames that are complete; None at the end.  Raises Forged.  Call when the descriptor is readable."""
        try:
            data = os.read(self.fd, 1 << 18)
        except BlockingIOError:
            return []
        except ConnectionError:
            return None
        if not data:
            return None
        self.total_bytes += len(data)
        self._bytes += data
        frames = []
        while len(self._bytes) >= _HEAD.size:
            length, token = _HEAD.unpack_from(self._bytes)
            if token != self._token or length > MAX_REPORT_BYTES:
                raise Forged
            end = _HEAD.size + length
            if len(self._bytes) < end:
                break
            try:
                frame = json.loads(bytes(self._bytes[_HEAD.size : end]))
            except ValueError as e:
                raise Forged from e
            if not isinstance(frame, dict):
                raise Forged
            frames.append(frame)
            del self._bytes[:end]
        return frames
