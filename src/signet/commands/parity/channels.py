"""The eight ways in: what each starts, how a call is written for it, how its answer is read."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from signet.kernel.envelope import INVOKE
from signet.kernel.headers import METHOD, NAME, VERSION
from signet.kernel.protocol import CAPABILITIES_KEY, HANDSHAKE_VERSIONS, MODERN_VERSIONS, VERSION_KEY
from signet.kernel.schemas import PREFIX

from .corpus import CorpusCall
from .parsed_reply import ID, Reader, read_envelope, read_line, read_mcp, read_rest

__all__ = ["CHANNELS", "Channel", "ChannelMessage"]

HANDSHAKE: Final = HANDSHAKE_VERSIONS[-1]
MODERN: Final = MODERN_VERSIONS[-1]
JSON: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class ChannelMessage(NamedTuple):
    """What is sent: a line on a pipe, or a body with its path and headers."""

    body: bytes
    path: str = "/mcp"
    headers: dict[str, str] = JSON
    answered: bool = True
    """Whether an answer is owed on a pipe."""


class Channel(NamedTuple):
    """One way in."""

    name: str
    command: str
    """Which of the command lines is started: `stdio`, `serve` or `call`."""
    write: Callable[[CorpusCall], ChannelMessage]
    read: Reader
    greeting: tuple[ChannelMessage, ...] = ()
    """What a client says before its first call."""


def _rpc(method: str, params: dict[str, Any], **more: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **more, "method": method, "params": params})


def _handshake(asked: CorpusCall) -> ChannelMessage:
    body = _rpc("tools/call", {"name": asked.tool, "arguments": asked.arguments}, id=ID)
    return ChannelMessage(body, headers={**JSON, VERSION: HANDSHAKE})


def _modern(asked: CorpusCall) -> ChannelMessage:
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    body = _rpc("tools/call", {"name": asked.tool, "arguments": asked.arguments, "_meta": meta}, id=ID)
    return ChannelMessage(body, headers={**JSON, VERSION: MODERN, METHOD: "tools/call", NAME: _header(asked.tool)})


def _header(text: str) -> str:
    """Write a value that may not fit a header as MCP has it."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?"):
        return text
    return f"=?base64?{binascii.b2a_base64(text.encode(), newline=False).decode()}?="


def _rest(asked: CorpusCall) -> ChannelMessage:
    return ChannelMessage(msgspec.json.encode(asked.arguments), f"/api/tools/{quote(asked.tool, safe='')}")


def _envelope(asked: CorpusCall) -> ChannelMessage:
    body = _rpc(INVOKE, {"tool": PREFIX + asked.slug, "input": asked.arguments}, id=ID)
    return ChannelMessage(body, f"/mcp/tool/{quote(asked.slug, safe='')}")


def _line(asked: CorpusCall) -> ChannelMessage:
    return ChannelMessage(msgspec.json.encode([asked.tool, msgspec.json.encode(asked.arguments).decode()]))


def _hello() -> tuple[ChannelMessage, ...]:
    client = {"name": "signet parity", "version": "1"}
    opening = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client}
    return (
        ChannelMessage(_rpc("initialize", opening, id=0)),
        ChannelMessage(_rpc("notifications/initialized", {}), headers={**JSON, VERSION: HANDSHAKE}, answered=False),
    )


CHANNELS: Final = (
    Channel(f"stdio {HANDSHAKE}", "stdio", _handshake, read_mcp, _hello()),
    Channel(f"stdio {MODERN}", "stdio", _modern, read_mcp),
    Channel(f"HTTP {HANDSHAKE}", "serve", _handshake, read_mcp, _hello()),
    Channel(f"HTTP {MODERN}", "serve", _modern, read_mcp),
    Channel("REST", "serve", _rest, read_rest),
    Channel("envelope stdio", "stdio", _envelope, read_envelope),
    Channel("envelope HTTP", "serve", _envelope, read_envelope),
    Channel("command line", "call", _line, read_line),
)
