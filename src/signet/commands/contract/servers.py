"""Running servers: the tools that one lists, asked over HTTP or over the pipes of a process.

The handshake of the older eras is spoken, because every server knows it. Answers are bounded in size and time;
redirects are not followed, so that a token goes nowhere but to the host that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, Final

import msgspec

from signet import __version__
from signet.kernel.protocol import HANDSHAKE_VERSIONS
from signet.settings import UsageError

__all__ = ["listing_of"]

PATIENCE_S: Final = 30.0
MAX_BYTES: Final = 16 << 20
MAX_PAGES: Final = 100
MAX_CHARS: Final = 300

RpcMessage = dict[str, Any]
Exchange = Callable[[RpcMessage], RpcMessage | None]
"""Sends one message; gives the answer to a request and None to a notification.

Raises:
    ValueError, OSError: there is none, or none that can be read.
"""


class _Tool(msgspec.Struct):
    name: str
    inputSchema: dict[str, Any]  # noqa: N815 - as the protocol has it
    outputSchema: dict[str, Any] | None = None  # noqa: N815 - as the protocol has it


class _Page(msgspec.Struct):
    tools: list[_Tool]
    nextCursor: str | None = None  # noqa: N815 - as the protocol has it


def listing_of(source: str, token: str | None) -> list[dict[str, Any]]:
    """Ask a server for its tools.

    Raises:
        UsageError: it does not answer as a server does.
    """
    from http.client import HTTPException
    from urllib.error import URLError

    try:
        if source.startswith("stdio:"):
            from .stdio_client import opened

            with opened(source.removeprefix("stdio:"), PATIENCE_S) as ask:
                return _conversation(ask)
        return _conversation(_over_http(source, token))
    except (OSError, ValueError, HTTPException, RecursionError) as error:
        # urllib wraps what the network said into an error that says less.
        said = getattr(error, "reason", None) if type(error) is URLError else None
        message = f"{source} gives no list of tools ({_one_line(said or str(error) or type(error).__name__)})"
        raise UsageError(message) from None


def _one_line(said: object) -> str:
    """Take what a server may have written for what it is: text, and not too much of it."""
    return "".join(sign if sign.isprintable() else " " for sign in str(said))[:MAX_CHARS]


def _conversation(ask: Exchange) -> list[dict[str, Any]]:
    """Shake hands, then read the list page by page."""
    client = {"name": "signet", "version": __version__}
    hello = {"protocolVersion": HANDSHAKE_VERSIONS[-1], "capabilities": {}, "clientInfo": client}
    _result(ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
    ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools: list[_Tool] = []
    params: dict[str, str] = {}
    for number in range(1, MAX_PAGES + 1):
        answer = ask({"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": params})
        page = msgspec.convert(_result(answer), _Page)
        tools += page.tools
        if page.nextCursor is None:
            return [msgspec.to_builtins(tool) for tool in tools]
        params = {"cursor": page.nextCursor}
    message = f"its list has more than {MAX_PAGES} pages"
    raise ValueError(message)


def _result(answer: RpcMessage | None) -> Any:
    if answer is None or "result" not in answer:
        error = (answer or {}).get("error")
        message = error.get("message", error) if isinstance(error, dict) else "it does not answer"
        raise ValueError(message)
    return answer["result"]


def _over_http(url: str, token: str | None) -> Exchange:
    """Speak over HTTP: one POST for each message, in the session that the server opens if it does."""
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    opener = build_opener(Stay)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    def ask(message: RpcMessage) -> RpcMessage | None:
        request = Request(url, msgspec.json.encode(message), headers)  # noqa: S310 - http and https alone come here
        try:
            response = opener.open(request, timeout=PATIENCE_S)
        except HTTPError as error:
            error.close()
            raise
        with response:
            session = response.headers.get("Mcp-Session-Id")
            streamed = response.headers.get_content_type() == "text/event-stream"
            texts = _events(_lines(response)) if streamed else (b"".join(_lines(response)),)
            answer = _answer_in(texts, message["id"]) if "id" in message else None
        if message["method"] == "initialize":
            headers["MCP-Protocol-Version"] = _version(_result(answer))
            headers.update({"Mcp-Session-Id": session} if session else {})
        return answer

    return ask


def _version(hello: Any) -> str:
    version = hello.get("protocolVersion") if isinstance(hello, dict) else None
    if not isinstance(version, str):
        raise ValueError("it does not say which protocol it speaks")  # noqa: TRY004 - an answer, not an argument
    return version


def _lines(response: IO[bytes]) -> Iterator[bytes]:
    left = MAX_BYTES
    while line := response.readline(left + 1):
        left -= len(line)
        if left < 0:
            message = f"its answer is longer than {MAX_BYTES} bytes"
            raise ValueError(message)
        yield line


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Take the data out of a stream of events, one by one: a stream may stay open behind the answer."""
    data: list[bytes] = []
    for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line.strip() and data:
            yield b"\n".join(data)
            data = []


def _answer_in(texts: Iterable[bytes], wanted: int) -> RpcMessage | None:
    """Find the answer to a request among what was sent."""
    for text in texts:
        message = msgspec.json.decode(text, type=dict[str, Any])
        if message.get("id") == wanted and "method" not in message:
            return message
    return None
