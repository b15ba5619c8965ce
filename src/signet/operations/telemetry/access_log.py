"""The access log: one line for each HTTP request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from signet.kernel.exchange import Exchange, is_plain_method, message_of

__all__ = ["AccessLog"]

MAX_CHARS: Final = 256
"""The length to which a method with its path is cut: it comes from outside."""


class AccessLog:
    """Writes what is known of each request, never its arguments, its query or its token."""

    def __init__(self, line: Callable[..., None]) -> None:
        """Write with a function that takes the facts of a line as keywords, and escapes them."""
        self._line = line

    def exchanged(self, exchange: Exchange) -> None:
        """Write the line of one request."""
        caller, outcome = exchange.caller, exchange.outcome
        facts: dict[str, object] = {
            "address": caller.address or "-",
            "principal": caller.name or "-",
            "request": exchange.request.partition("?")[0][:MAX_CHARS],
            "status": exchange.status,
            "bytes": exchange.sent_bytes,
            "ms": round(exchange.took_s * 1000, 3),
            "id": caller.request_id or "-",
            "door": exchange.door,
            "tool": outcome.tool.slug if outcome is not None and outcome.tool is not None else "-",
        }
        method, _ = message_of(exchange)
        if is_plain_method(method):
            facts["method"] = method
        if exchange.refusal:
            facts["refusal"] = exchange.refusal
        if exchange.is_left:
            facts["left"] = 1
        self._line(**facts)
