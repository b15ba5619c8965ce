"""A running server, asked over MCP: its tools and its results, and what is wrong in a sentence with its address."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from signet.kernel.wire import ProtocolError
from signet.mcp.blocking import BlockingSession, ListedTool
from signet.mcp.negotiation import Introduction
from signet.mcp.plain_http import PlainHttp, PlainHttpLink, StatusError
from signet.settings.usage import UsageError
from signet.system.advice import advise
from signet.system.text import printable

__all__ = ["RemoteServer"]

T = TypeVar("T")

MARGIN_S: Final = 5.0
"""How much longer than a call may take its answer is waited for, so that the server's own error arrives."""
MAX_REASON_CHARS: Final = 200
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
FORM: Final = "write --url http://HOST:PORT"


class RemoteServer:
    """An MCP server at an address."""

    def __init__(self, url: str, token: str | None, timeout_s: float) -> None:
        """Set the address; raise UsageError if it is none."""
        self.url = _endpoint(url)
        self.shown = self.url.partition("?")[0]
        """The address for people: a query may hold a key."""
        self._token = token
        self._timeout_s = timeout_s
        http = PlainHttp(self.url, timeout_s=timeout_s + MARGIN_S, token=token)
        how = Introduction(only="handshake", capabilities={})
        self._session = BlockingSession(lambda: PlainHttpLink(http), how, timeout_s=timeout_s + MARGIN_S)

    @property
    def is_secured(self) -> bool:
        """Whether requests carry a token."""
        return self._token is not None

    def list_tools(self) -> list[ListedTool]:
        """Return the tools that the server lists.

        Raises:
            UsageError: it cannot be reached, is not an MCP server, or its answer cannot be used.
        """
        return self._ask(self._session.list_tools)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a call.

        Raises:
            ProtocolError: the server answers with an error.
            UsageError: it cannot be reached, is not an MCP server, or its answer cannot be used.
        """

        def call() -> dict[str, Any]:
            result = self._session.request("tools/call", {"name": name, "arguments": arguments})
            return msgspec.json.decode(result, type=dict[str, Any])

        return self._ask(call, errors=True)

    def _ask(self, request: Callable[[], T], *, errors: bool = False) -> T:
        try:
            return request()
        except StatusError as error:
            raise UsageError(self._refusal(error)) from None
        except TimeoutError:
            raise UsageError(f"{self.shown} did not answer within {self._timeout_s + MARGIN_S:g} s") from None
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason or "no TLS connection"
            raise UsageError(f"{self.shown} cannot be trusted or speaks no TLS ({why}); check the address") from None
        except EOFError:
            raise self._not_mcp("it closed the connection") from None
        except OSError as error:
            why = printable(error.strerror or str(error) or "no connection")
            serve = advise("serve")
            message = f"no server answers at {self.shown} ({why}); start one with '{serve}', or check the address"
            raise UsageError(message) from None
        except ProtocolError as error:
            if errors:
                raise
            raise self._not_mcp(str(error)) from None
        except (ValueError, RecursionError) as error:
            raise self._not_mcp(str(error)) from None

    def _refusal(self, error: StatusError) -> str:
        """Return the sentence for a status that is an error."""
        if error.status == UNAUTHORIZED and self._token is None:
            return f"{self.shown} asks for a token: set SIGNET_TOKEN"
        if error.status == UNAUTHORIZED:
            return (
                f"{self.shown} does not accept the token in SIGNET_TOKEN: set the one that its server was started with"
            )
        if error.status == FORBIDDEN:
            return (
                f"{self.shown} refuses the request ({error}); a Signet server needs --allowed-hosts for this host name"
            )
        return str(self._not_mcp(str(error)))

    def _not_mcp(self, why: str) -> UsageError:
        why = printable(why)[:MAX_REASON_CHARS]
        if self._session.is_open:
            return UsageError(f"an answer of {self.shown} cannot be used: {why}")
        return UsageError(
            f"{self.shown} does not answer as an MCP server ({why}); {FORM}, and the path unless it is /mcp"
        )


def _endpoint(url: str) -> str:
    """Return the address of a server's MCP door: an address without a path gets `/mcp`.

    Raises:
        UsageError: it is no address; a password in it is not repeated.
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"--url is no address of a server; {FORM}, with or without /mcp")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--url holds a name or a password; leave it out and set SIGNET_TOKEN")
    path = parts.path.rstrip("/") or "/mcp"
    return SplitResult(parts.scheme, parts.netloc, path, parts.query, "").geturl()
