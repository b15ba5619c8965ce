"""Faults of the body: the real answer, changed, cut, stretched or sent in pieces."""

from __future__ import annotations

import gzip
from typing import Annotated, Final

import msgspec

from .exchange import ResponseWriter
from .fault_rule import FaultRule, Status
from .message import SandboxResponse

__all__ = [
    "Chunked",
    "Cut",
    "CutChunked",
    "Empty",
    "Huge",
    "InvalidUtf8",
    "NoType",
    "NotJson",
    "ShortLength",
    "WrongType",
]

NOT_JSON: Final = b"{this is not JSON"
BLOCK: Final = b"x" * 65_536
MAX_SIZE_BYTES: Final = 1 << 30

Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE_BYTES)]
Some = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE_BYTES)]


class Changed(FaultRule, frozen=True):
    """A fault that changes the real answer."""

    status: Status | None = None

    def real(self, exchange: ResponseWriter) -> SandboxResponse:
        """Give the real answer under the status that was ordered, if one was."""
        real = exchange.real()
        return real if self.status is None else msgspec.structs.replace(real, status=self.status)

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Give what is sent in its place."""
        return real

    async def play(self, exchange: ResponseWriter) -> None:
        """Send what has become of the real answer."""
        await exchange.send(self.change(self.real(exchange)))


class WrongType(Changed, frozen=True, tag="wrong_type"):
    """The real body, called something else."""

    type: str = "text/plain"

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Call it so."""
        return msgspec.structs.replace(real, type=self.type)


class NoType(Changed, frozen=True, tag="no_type"):
    """The real body, called nothing."""

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Take the name away."""
        return msgspec.structs.replace(real, type=None)


class InvalidUtf8(Changed, frozen=True, tag="invalid_utf8"):
    """JSON but for two bytes."""

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Spoil the first string that is a value."""
        real = _unpacked(real)
        body = real.body if b':"' in real.body else b'{"spoilt":""}'
        return msgspec.structs.replace(real, body=body.replace(b':"', b':"\xc3\x28', 1))


class NotJson(Changed, frozen=True, tag="not_json"):
    """A body that is not what its type says."""

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Put another body in."""
        return msgspec.structs.replace(_unpacked(real), body=NOT_JSON, type="application/json")


class Empty(Changed, frozen=True, tag="empty"):
    """No body."""

    def change(self, real: SandboxResponse) -> SandboxResponse:
        """Take the body out."""
        return msgspec.structs.replace(_unpacked(real), body=b"", type="application/json")


class Cut(Changed, frozen=True, tag="cut"):
    """Less than was promised."""

    at: Size | None = None

    async def play(self, exchange: ResponseWriter) -> None:
        """Promise all, send some, leave."""
        real = self.real(exchange)
        exchange.drop()
        await exchange.begin(msgspec.structs.replace(real, chunked=False), len(real.body))
        await exchange.write(_part(real.body, self.at))


class CutChunked(Changed, frozen=True, tag="cut_chunked"):
    """A chunk that is not ended."""

    at: Size | None = None

    async def play(self, exchange: ResponseWriter) -> None:
        """Begin a chunk of all, send some, leave."""
        real = self.real(exchange)
        exchange.drop()
        await exchange.begin(msgspec.structs.replace(real, chunked=True), None)
        await exchange.frame(b"%x\r\n" % len(real.body))
        await exchange.write(_part(real.body, self.at))


class ShortLength(Changed, frozen=True, tag="short_length"):
    """More than was promised."""

    by: Some = 1

    async def play(self, exchange: ResponseWriter) -> None:
        """Promise some, send all, leave."""
        real = self.real(exchange)
        exchange.drop()
        await exchange.begin(msgspec.structs.replace(real, chunked=False), max(0, len(real.body) - self.by))
        await exchange.write(real.body)


class Huge(Changed, frozen=True, tag="huge"):
    """The real answer, and padding."""

    size: Some = 2 * 1024 * 1024
    chunked: bool = False

    async def play(self, exchange: ResponseWriter) -> None:
        """Send the real object with one more key in it, without ever holding it whole."""
        real = msgspec.structs.replace(_unpacked(self.real(exchange)), chunked=self.chunked)
        body = real.body[:-1] if real.body.startswith(b"{") and real.body.endswith(b"}") else b"{"
        opening = body + (b'"padding":"' if body == b"{" else b',"padding":"')
        padding = max(0, self.size - len(opening) - 2)
        await exchange.begin(real, len(opening) + padding + 2)
        await exchange.write(opening, chunked=self.chunked)
        for start in range(0, padding, len(BLOCK)):
            await exchange.write(BLOCK[: padding - start], chunked=self.chunked)
        await exchange.write(b'"}', chunked=self.chunked)
        if self.chunked:
            await exchange.frame(b"0\r\n\r\n")


class Chunked(FaultRule, frozen=True, tag="chunked"):
    """The real answer, its length untold."""

    size: Some = 1024

    async def play(self, exchange: ResponseWriter) -> None:
        """Send it in chunks."""
        real = msgspec.structs.replace(exchange.real(), chunked=True)
        await exchange.begin(real, None)
        await exchange.write(real.body, chunked=True, piece=self.size)
        await exchange.frame(b"0\r\n\r\n")


def _unpacked(real: SandboxResponse) -> SandboxResponse:
    """Give an answer as plain bytes, for a change that would be lost in packed ones."""
    if real.headers.get("content-encoding") != "gzip":
        return real
    headers = {name: value for name, value in real.headers.items() if name != "content-encoding"}
    return msgspec.structs.replace(real, body=gzip.decompress(real.body), headers=headers)


def _part(body: bytes, at: int | None) -> bytes:
    """Give what is sent of a body that is cut: never all of it."""
    return body[: len(body) // 2 if at is None else min(at, len(body) - 1)]
