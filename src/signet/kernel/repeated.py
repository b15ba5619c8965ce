"""The reply of a wrapped server as it is kept for a repeated call, and delivered again byte for byte. Pure."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from .outcome import Relayed

__all__ = ["KeptReply", "keep_reply", "repeat_reply"]

QUESTION: Final = "input_required"


class KeptReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The kept part of a reply."""

    body: bytes
    """The result or the error, as the server wrote it."""
    modern: bool
    """The era in which that is written."""
    other: bytes = b""
    """The body in the other era; empty where it is the same."""
    is_failure: bool = False
    is_final: bool = True


class _Parts(msgspec.Struct, frozen=True, gc=False):
    """The members of a result that are looked at."""

    content: Raw | UnsetType = UNSET
    structured: Raw | UnsetType = msgspec.field(name="structuredContent", default=UNSET)
    kind: Raw | UnsetType = msgspec.field(name="resultType", default=UNSET)


_decode: Final = msgspec.json.Decoder(_Parts).decode


def keep_reply(reply: Relayed) -> KeptReply | None:
    """Return what is to be kept of a reply; None for a question, whose call goes on with the answer to it."""
    if not reply.is_final and _is_question(reply.body):
        return None
    other = reply.body if reply.in_era is None else reply.in_era(reply, not reply.modern)
    return KeptReply(
        reply.body,
        reply.modern,
        b"" if other == reply.body else other,
        reply.is_failure,
        reply.is_final,
    )


def repeat_reply(kept: KeptReply) -> tuple[Relayed, bytes]:
    """Return a reply that was kept, and what the doors that are not MCP answer with."""
    parts = _Parts() if kept.is_failure else _parts_of(kept.body)
    structured, content = _given(parts.structured), _given(parts.content)
    reply = Relayed(
        kept.body,
        kept.modern,
        structured,
        content,
        is_failure=kept.is_failure,
        is_final=kept.is_final,
        in_era=lambda _, __: kept.other or kept.body,
    )
    if kept.is_failure or not kept.is_final:
        return reply, kept.body
    return reply, bytes(structured) if structured is not None else b'{"content":' + bytes(content or b"[]") + b"}"


def _is_question(body: bytes) -> bool:
    kind = _parts_of(body).kind
    return kind is not UNSET and bytes(kind) == b'"%s"' % QUESTION.encode()


def _parts_of(body: bytes) -> _Parts:
    try:
        return _decode(body)
    except (ValueError, RecursionError):
        return _Parts()


def _given(value: Raw | UnsetType) -> Raw | None:
    return None if value is UNSET or bytes(value) == b"null" else value
