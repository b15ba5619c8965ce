"""Requests whose cost grows: lists of many tools, texts of many sizes, calls that ask an upstream. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.frames import INITIALIZE, INITIALIZED, LEGACY, WrongAnswerError
from bench.peers.lengths import name
from signet.kernel.protocol import Identity
from signet.mcp.messages import MessageBuilder

__all__ = ["HANDSHAKE", "Request", "first_list", "length_call", "listing", "tool_call"]

_PLACEHOLDER = 77_777_777
_MESSAGES = MessageBuilder(LEGACY, Identity("bench", "1"))
_FILLER = "The gateway forwards one page of the ledger, and the mailer confirms the receipt. "


@dataclass(frozen=True)
class Request:
    """A request, with the methods of `frames.Call`: the number of each stands between the pieces."""

    pieces: tuple[bytes, ...]
    is_right: Callable[[Mapping[str, Any]], bool]
    """Tell whether a result is the expected one."""

    def frame(self, number: int) -> bytes:
        """Return the request with this number as one line."""
        return (b"%d" % number).join(self.pieces)

    def check(self, answers: Iterable[bytes], numbers: Iterable[int], *, echoes: bool = False) -> None:
        """Check that exactly these numbers were answered, each once and rightly.

        Raises:
            WrongAnswerError: a reply is missing, superfluous or wrong.
        """
        left = set(numbers) if len(self.pieces) > 1 else {0}
        for answer in answers:
            message = json.loads(answer)
            if message.get("id") not in left:
                complaint = f"no call {message.get('id')!r} is open: {answer[:200]!r}"
                raise WrongAnswerError(complaint)
            left.remove(message["id"])
            result = message.get("result", {})
            if not echoes and (result.get("isError") or not self.is_right(result)):
                complaint = f"not the expected result: {answer[:300]!r}"
                raise WrongAnswerError(complaint)
        if left:
            complaint = f"{len(left)} calls were never answered"
            raise WrongAnswerError(complaint)


HANDSHAKE = Request((INITIALIZE,), lambda result: "serverInfo" in result)
"""The request that opens a session; its id is 0."""


def listing(count: int) -> Request:
    """Return tools/list, which must list so many tools in their order."""
    names = [name(number) for number in range(count)]
    body = _MESSAGES.request(_PLACEHOLDER, "tools/list", {}).body
    return Request(_pieces(body), lambda result: [tool["name"] for tool in result.get("tools", ())] == names)


def first_list(count: int) -> Request:
    """Return the tools/list of a session that is being opened."""
    plain = listing(count)
    return Request((INITIALIZED + plain.pieces[0], *plain.pieces[1:]), plain.is_right)


def length_call(size: int) -> Request:
    """Return the call of the first tool with a text of so many bytes, in which the number of the call stands."""
    text = f"{_PLACEHOLDER} {_FILLER * (size // len(_FILLER) + 1)}"[:size]
    return tool_call(name(0), {"text": text}, lambda result: result.get("structuredContent") == {"result": size})


def tool_call(tool: str, arguments: Mapping[str, Any], is_right: Callable[[Mapping[str, Any]], bool]) -> Request:
    """Return the call of a tool."""
    body = _MESSAGES.request(_PLACEHOLDER, "tools/call", {"name": tool, "arguments": dict(arguments)}).body
    return Request(_pieces(body), is_right)


def _pieces(body: bytes) -> tuple[bytes, ...]:
    return tuple((body + b"\n").split(str(_PLACEHOLDER).encode()))
