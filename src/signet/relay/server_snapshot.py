"""Snapshots of servers that a command names: each is started or asked, and all that it says of itself is read."""

from __future__ import annotations

from collections import deque
from typing import Final

from signet.lock.entries import pinnable
from signet.mcp.blocking import BlockingSession, with_last_words
from signet.mcp.link import Link
from signet.mcp.negotiation import Introduction
from signet.mcp.snapshot import Snapshot
from signet.settings.server_spec import ServerSpec
from signet.system.text import visible

from .links import child_link
from .redacting_link import echo_redactor, snapshot_without
from .spec_secrets import without_secrets

__all__ = ["SnapshotError", "take_snapshot"]

MAX_BYTES: Final = 32 << 20
"""The longest answer that is read."""
MAX_REASON_CHARS: Final = 300
FAILURES: Final = (OSError, EOFError, ValueError, RecursionError)


class SnapshotError(Exception):
    """A server cannot be read; the text says why."""


def take_snapshot(spec: ServerSpec, timeout_s: float) -> Snapshot:
    """Ask a server for everything that it says about itself.

    Raises:
        SnapshotError: it cannot be started or reached, does not answer as a server does, or says too much.
    """
    if not spec.command and not spec.url:
        raise SnapshotError(f"'{spec.name}' has neither a command nor a URL: it cannot be asked")
    said: deque[str] = deque(maxlen=1)
    session = BlockingSession(
        lambda: _link(spec, timeout_s, said),
        Introduction(only=spec.era, capabilities={}),
        timeout_s=timeout_s,
        max_bytes=MAX_BYTES,
    )
    try:
        return snapshot_without(echo_redactor(spec), pinnable(session.snapshot()))
    except FAILURES as error:
        why = visible(with_last_words(error, said), keep="")[:MAX_REASON_CHARS]
        raise SnapshotError(f"the server '{spec.name}' cannot be read: {without_secrets(spec, why)}") from None
    finally:
        session.close()


def _link(spec: ServerSpec, timeout_s: float, said: deque[str]) -> Link:
    """Return a link to a server; what it writes to standard error last is kept."""
    if spec.command:
        return child_link(spec, said.append)
    from signet.mcp.plain_http import PlainHttp, PlainHttpLink

    return PlainHttpLink(PlainHttp(spec.url, timeout_s=timeout_s, max_bytes=MAX_BYTES, headers=spec.headers))
