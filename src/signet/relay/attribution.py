"""Attribution: which client, and which of its calls, a question of a server is for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from signet.kernel.channel import Session
from signet.kernel.relay import RpcRequest
from signet.mcp.session import ClientSession, PendingRequest

__all__ = [
    "ASKING",
    "answered_quietly",
    "asking_exchanges",
    "holder_of",
    "holder_of_session",
    "may_have_asked",
    "note_asker",
    "owner_of",
    "owner_of_session",
    "session_of",
]

MAX_ASKERS: Final = 10_000
MAX_SUSPECTS: Final = 1_000
ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read", "completion/complete"})
"""The requests during which a server may ask."""


def session_of(caller: RpcRequest | None) -> str:
    """Return the session that a request is of: a stdio connection is one; empty over HTTP without a session."""
    if caller is None:
        return ""
    return "stdio" if caller.channel.door.transport == "stdio" else caller.channel.agreement.id


def owner_of_session(session: Session) -> str:
    """Return what the requests of a session are known by."""
    return session.id or "stdio"


def owner_of(caller: RpcRequest) -> str:
    """Return which client a request under way is of; without a session, each request is of another."""
    return session_of(caller) or f"{id(caller.channel)}"


def holder_of(caller: RpcRequest) -> str:
    """Return whose the things are that a request begins: its principal's, else its session's, else its address's."""
    origin = caller.channel.caller
    if origin.key is not None:
        return f"principal {origin.key}"
    session = session_of(caller)
    return f"session {session}" if session else origin.holder


def holder_of_session(session: Session) -> str:
    """Return whose the things are that the requests of a session begin."""
    return f"principal {session.principal}" if session.principal is not None else f"session {session.id or 'stdio'}"


def _owner(exchange: PendingRequest) -> str:
    """Return which client an exchange is of; through other doors than MCP, each is of another."""
    return owner_of(exchange.request) if exchange.request is not None else f"exchange {exchange.id}"


def asking_exchanges(dialogue: ClientSession) -> list[PendingRequest]:
    """Return the exchanges in one of which a question came, the likeliest first; none if they are of several clients.

    Where calls of several clients are under way, those of tools that have answered without a question are left out;
    of those that have asked, or may have, there is one at a time. A call that is held has asked already: others that
    may ask come before it.
    """
    every = [one for one in dialogue.exchanges.values() if one.method in ASKING]
    if len({_owner(one) for one in every}) > 1:
        running = [one for one in every if not one.is_held]
        has_asker = any(may_have_asked(dialogue, *_what(one)) for one in running)
        may_ask = [one for one in (running if has_asker else every) if _what(one) not in dialogue.quiet]
        asking = {_owner(one) for one in may_ask}
        if len(asking) != 1:
            _refused(dialogue, every, may_ask or every)
            return []
        every = [one for one in every if _owner(one) in asking]
    running = [one for one in every if not one.is_held] or every
    known = [one for one in running if _what(one) in dialogue.askers]
    likely = known or [one for one in running if _what(one) not in dialogue.quiet] or running
    note_asker(dialogue, likely)
    ids = {one.id for one in likely}
    return sorted(every, key=lambda one: (one.id not in ids, one.is_held, -one.id))


def _refused(dialogue: ClientSession, every: Sequence[PendingRequest], candidates: Sequence[PendingRequest]) -> None:
    """Note a question that cannot be attributed: the tools in question are called one at a time until it is known."""
    for one in every:
        one.is_suspect = True
        dialogue.quiet.discard(_what(one))
    note_asker(dialogue, candidates)
    if len(dialogue.suspects) < MAX_SUSPECTS:
        dialogue.suspects |= {_what(one) for one in candidates} - dialogue.askers


def may_have_asked(dialogue: ClientSession, method: str, name: str) -> bool:
    """Return whether a tool or prompt has asked its caller something, or a refused question may have been its own."""
    return (method, name) in dialogue.askers or (method, name) in dialogue.suspects


def note_asker(dialogue: ClientSession, exchanges: Sequence[PendingRequest]) -> None:
    """Note what asks, if a question came in one of these exchanges and all are of one tool or prompt.

    Otherwise none of them shows, by being answered, that its tool asks nothing.
    """
    asking = {_what(one) for one in exchanges}
    if asking & dialogue.askers:
        return
    if len(asking) == 1:
        if len(dialogue.askers) < MAX_ASKERS:
            dialogue.askers |= asking
        for what in asking:
            dialogue.quiet.discard(what)
        dialogue.suspects -= asking
    else:
        for one in exchanges:
            one.is_suspect = True


def _what(exchange: PendingRequest) -> tuple[str, str]:
    """Return the method of an exchange, and the tool or prompt that it names."""
    return exchange.method, exchange.name


def answered_quietly(exchange: PendingRequest) -> None:
    """Note that a request was answered, and that nothing was asked in it."""
    what, dialogue = _what(exchange), exchange.dialogue
    if not exchange.is_suspect and what not in dialogue.askers:
        dialogue.quiet.add(what, exchange.request.channel.caller.holder if exchange.request is not None else "")
        dialogue.suspects.discard(what)
