"""How a dialogue begins: which era a server speaks, and in which of both it is spoken to.

auto ── the caller's era first, so that nothing need be translated; a server that lacks it is asked in the other
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from signet.kernel.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS
from signet.kernel.wire import encode

from .link import LinkError
from .messages import members
from .session import CLIENT_INFO, Answer, ClientSession, LostError, PendingRequest

__all__ = ["CALLERS", "Introduction", "introduce"]

START_S: Final = 60.0
"""How long a server may take until it has answered the first request: packages may be downloaded first."""
PROBE_S: Final = 10.0
"""How long a server may leave the first request of one era unanswered before it is asked in the other."""
CALLERS: Final[Mapping[str, Any]] = {
    "sampling": {},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
}
"""What is declared for a child that several callers share: all that can be passed on to a caller."""


class Introduction(msgspec.Struct, frozen=True):
    """How we introduce ourselves to a server."""

    prefers_modern: bool = True
    only: str = "auto"
    version: str = HANDSHAKE_VERSIONS[-1]
    """The revision of the handshake era to ask for."""
    capabilities: Mapping[str, Any] = msgspec.field(default_factory=lambda: CALLERS)
    client: Any = None
    start_s: float | None = None
    """The time for the beginning, where it is not the usual one."""
    probe_s: float | None = None
    """Likewise, for the answer to the first request of one era."""


async def introduce(make: Callable[[], ClientSession], how: Introduction) -> ClientSession:
    """Return an open dialogue, in the era that both sides speak.

    Raises:
        LinkError: the server does not start, or speaks neither era.
    """
    modern = how.only == "modern" or (how.only == "auto" and how.prefers_modern)
    eras = [modern] if how.only != "auto" else [modern, not modern]
    start_s = how.start_s or START_S
    why = ""
    dialogue = make()
    asked: dict[bool, PendingRequest] = {}
    try:
        async with asyncio.timeout(start_s):
            await dialogue.open()
            for era in eras:
                if dialogue.is_lost:
                    # Some servers end at a request that they do not know.
                    await dialogue.close()
                    dialogue, asked = make(), {}
                    await dialogue.open()
                asked[era] = _discover(dialogue, how) if era else _initialize(dialogue, how)
                # A server that passes over what it does not know is asked again, in the other era.
                why = await _settle(dialogue, asked, None if era is eras[-1] else how.probe_s or PROBE_S)
                if not why:
                    return dialogue
    except TimeoutError:
        why = f"it does not answer within {start_s:g} s"
    except BaseException:
        await dialogue.close()
        raise
    await dialogue.close()
    raise LinkError(why)


async def _settle(dialogue: ClientSession, asked: dict[bool, PendingRequest], timeout_s: float | None) -> str:
    """Settle on the era of the first good answer; return why there is none, or nothing.

    An unanswered request stays in `asked`: a server that starts late answers it beside the request in the other era.
    """
    why = "it does not answer"
    while asked:
        replies = [one.reply for one in asked.values()]
        done, _ = await asyncio.wait(replies, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return why
        era, exchange = next((era, one) for era, one in asked.items() if one.reply.done())
        del asked[era]
        try:
            answer = exchange.reply.result()
        except LostError as error:
            return str(error)
        why = _settled_modern(dialogue, answer) if era else _settled_handshake(dialogue, answer)
        if not why:
            return ""
    return why


def _discover(dialogue: ClientSession, how: Introduction) -> PendingRequest:
    dialogue.modern, dialogue.version = True, MODERN_VERSIONS[-1]
    return dialogue.start("server/discover", b"{}", meta=dialogue.modern_meta(how.capabilities))


def _initialize(dialogue: ClientSession, how: Introduction) -> PendingRequest:
    dialogue.modern, dialogue.version = False, ""
    params = {
        "protocolVersion": how.version,
        "capabilities": how.capabilities,
        "clientInfo": how.client or CLIENT_INFO,
    }
    return dialogue.start("initialize", encode(params))


def _settled_modern(dialogue: ClientSession, answer: Answer) -> str:
    hello = members(answer.result)
    try:
        versions = msgspec.json.decode(hello.get("supportedVersions", b"[]"), type=list[str])
    except msgspec.DecodeError:
        versions = []
    common = [version for version in MODERN_VERSIONS if version in versions]
    if not common:
        return _refusal(answer) or f"it speaks no revision of {', '.join(MODERN_VERSIONS)}"
    dialogue.settle_era(hello, common[-1], modern=True)
    return ""


def _settled_handshake(dialogue: ClientSession, answer: Answer) -> str:
    hello = members(answer.result)
    version = msgspec.json.decode(hello.get("protocolVersion", b'""'))
    if version not in HANDSHAKE_VERSIONS:
        return _refusal(answer) or f"it speaks the revision {str(version)[:50]!r}, which is not known here"
    dialogue.settle_era(hello, version, modern=False)
    dialogue.notify("notifications/initialized")
    return ""


def _refusal(answer: Answer) -> str:
    """Return what a server says where it refuses to begin."""
    message = members(answer.error).get("message")
    return f"it refuses to begin: {str(msgspec.json.decode(message))[:300]}" if message is not None else ""
