"""HTTP/1.1 messages as values: requests, and responses to write; pure, no I/O."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

import msgspec

__all__ = [
    "Clock",
    "Handler",
    "Sandbox",
    "SandboxRequest",
    "SandboxResponse",
    "json_response",
    "problem_response",
    "response_head",
    "utc_now",
]

BODILESS: Final = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
"""Statuses that carry neither a body nor a content-length."""

REASONS: Final = {status.value: status.phrase for status in HTTPStatus}


class SandboxRequest(msgspec.Struct, frozen=True):
    """A request as the client sent it: the target is raw, header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str] = {}
    version: str = "HTTP/1.1"
    body: bytes = b""

    @property
    def path(self) -> str:
        """The raw target before its question mark."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The raw target after its question mark."""
        return self.target.partition("?")[2]

    @property
    def keep_alive(self) -> bool:
        """True if the client wants to reuse the connection."""
        connection = self.headers.get("connection", "").lower()
        return connection == "keep-alive" if self.version == "HTTP/1.0" else connection != "close"


class SandboxResponse(msgspec.Struct, frozen=True):
    """A response to send; `type` None sends no content-type, `chunked` replaces the content-length."""

    status: int = 200
    body: bytes = b""
    type: str | None = "application/json"
    headers: dict[str, str] = {}
    chunked: bool = False


def json_response(value: object, status: int = 200) -> SandboxResponse:
    """Return a response with a value as JSON."""
    return SandboxResponse(status, msgspec.json.encode(value))


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None) -> SandboxResponse:
    """Return an RFC 7807 problem with the status's usual title."""
    problem = {"type": "about:blank", "title": REASONS.get(status, "Unknown"), "status": status, "detail": detail}
    return SandboxResponse(status, msgspec.json.encode(problem), "application/problem+json", headers or {})


def response_head(response: SandboxResponse, length: int | None, *, keep_alive: bool) -> bytes:
    """Write the status line and the headers; `length` is the content-length to declare, None declares none."""
    fields = dict(response.headers)
    if response.type is not None:
        fields["content-type"] = response.type
    if response.chunked:
        fields["transfer-encoding"] = "chunked"
    elif length is not None and response.status not in BODILESS:
        fields["content-length"] = str(length)
    if not keep_alive:
        fields["connection"] = "close"
    reason = REASONS.get(response.status, "Unknown")
    lines = [f"HTTP/1.1 {response.status} {reason}", *(f"{n}: {v}" for n, v in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


Handler = Callable[[SandboxRequest], SandboxResponse]
Clock = Callable[[], datetime]


class Sandbox(msgspec.Struct, frozen=True):
    """An upstream to serve: its name, the handler of its requests, and the description under `/_sandbox`."""

    name: str
    handler: Handler
    about: dict[str, Any] = {}


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)
