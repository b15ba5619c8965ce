"""A link that redacts: secrets of the operator that a server repeats reach no caller, lock or recording.

    server ── link ── RedactingLink ── RecordingLink ── dialogue

Messages are redacted as they come in, before they are read: what is checked, judged, recorded and sent is the same.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

from signet.mcp.link import Link
from signet.mcp.snapshot import KINDS, Snapshot
from signet.settings.server_spec import ServerSpec
from signet.system.redaction import SecretRedactor

from .spec_secrets import echoed_secrets

__all__ = ["RedactingLink", "echo_redactor", "snapshot_without"]


def echo_redactor(spec: ServerSpec) -> SecretRedactor | None:
    """Return what removes the secrets of a server from its answers; None for a server without any."""
    secrets = echoed_secrets(spec)
    return SecretRedactor(secrets) if secrets else None


class RedactingLink:
    """Carries the messages of another link; those of the server without the secrets of its operator."""

    def __init__(self, inner: Link, redactor: SecretRedactor) -> None:
        self._inner = inner
        self._redactor = redactor
        self.send = inner.send
        self.cancel = inner.cancel
        self.close = inner.close

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> Callable[[bytes], None] | None:
        """Open the inner link, and return how it sends a text, where it needs no more.

        Raises:
            LinkError: the inner link cannot be opened.
        """
        redactor = self._redactor
        return await self._inner.open(
            lambda message: receive(redactor.message(message)),
            lambda why: lost(redactor.text(why)),
            lambda why: unreadable(redactor.text(why)),
        )


def snapshot_without(redactor: SecretRedactor | None, snapshot: Snapshot) -> Snapshot:
    """Return what a server says about itself without the secrets of its operator."""
    if redactor is None:
        return snapshot
    take = redactor.message

    def redacted(text: Raw) -> Raw:
        given = bytes(text)
        taken = take(given)
        return text if taken is given else Raw(taken)

    return msgspec.structs.replace(
        snapshot,
        server_info=redacted(snapshot.server_info),
        capabilities=redacted(snapshot.capabilities),
        instructions=redactor.text(snapshot.instructions),
        **{where: tuple(map(redacted, getattr(snapshot, where))) for where, *_ in KINDS.values()},
    )
