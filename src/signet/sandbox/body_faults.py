"""The base of all fault rules, and the faults that change, cut or pad the normal response."""

from __future__ import annotations

import gzip
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from .exchange import LAST_CHUNK, ResponseWriter
from .message import SandboxResponse

__all__ = ["BodyFault", "FaultRule", "Status"]

NOT_JSON: Final = b"{this is not JSON"
PADDING: Final = b"x" * 65_536
MAX_SIZE_BYTES: Final = 1 << 30

Status = Annotated[int, msgspec.Meta(ge=200, le=599)]
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE_BYTES)]
PositiveSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE_BYTES)]


class FaultRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="fault"):
    """A fault for every request whose raw target contains `match`, `times` times or until cleared."""

    match: str | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None

    @property
    def name(self) -> str:
        """The name of the fault."""
        return str(self.__struct_config__.tag)

    async def apply(self, writer: ResponseWriter) -> None:
        """Respond as the fault describes; the base rule sends the normal response."""
        await writer.send(writer.normal())


class ResponseFault(FaultRule, frozen=True):
    """A fault that changes the normal response; `status` replaces its status."""

    status: Status | None = None

    def normal(self, writer: ResponseWriter) -> SandboxResponse:
        response = writer.normal()
        return response if self.status is None else replace(response, status=self.status)

    def change(self, response: SandboxResponse) -> SandboxResponse:
        return response

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.send(self.change(self.normal(writer)))


class WrongType(ResponseFault, frozen=True, tag="wrong_type"):
    """Send the normal body under another content type."""

    type: str = "text/plain"

    def change(self, response: SandboxResponse) -> SandboxResponse:
        return replace(response, type=self.type)


class NoType(ResponseFault, frozen=True, tag="no_type"):
    """Send the normal body without a content type."""

    def change(self, response: SandboxResponse) -> SandboxResponse:
        return replace(response, type=None)


class InvalidUtf8(ResponseFault, frozen=True, tag="invalid_utf8"):
    """Put two bytes that are not UTF-8 into the first string value."""

    def change(self, response: SandboxResponse) -> SandboxResponse:
        response = _uncompressed(response)
        body = response.body if b':"' in response.body else b'{"spoilt":""}'
        return replace(response, body=body.replace(b':"', b':"\xc3\x28', 1))


class NotJson(ResponseFault, frozen=True, tag="not_json"):
    """Send a body that is not JSON as application/json."""

    def change(self, response: SandboxResponse) -> SandboxResponse:
        return replace(_uncompressed(response), body=NOT_JSON, type="application/json")


class Empty(ResponseFault, frozen=True, tag="empty"):
    """Send an empty body as application/json."""

    def change(self, response: SandboxResponse) -> SandboxResponse:
        return replace(_uncompressed(response), body=b"", type="application/json")


class Cut(ResponseFault, frozen=True, tag="cut"):
    """Declare the full length, send a part of the body, close."""

    at: Size | None = None

    async def apply(self, writer: ResponseWriter) -> None:
        response = self.normal(writer)
        writer.close()
        await writer.begin(replace(response, chunked=False), len(response.body))
        await writer.write(_cut(response.body, self.at))


class CutChunked(ResponseFault, frozen=True, tag="cut_chunked"):
    """Begin a chunk of the full length, send a part of it, close."""

    at: Size | None = None

    async def apply(self, writer: ResponseWriter) -> None:
        response = self.normal(writer)
        writer.close()
        await writer.begin(replace(response, chunked=True), None)
        await writer.write_raw(b"%x\r\n" % len(response.body))
        await writer.write(_cut(response.body, self.at))


class ShortLength(ResponseFault, frozen=True, tag="short_length"):
    """Declare less than the full length, send the whole body, close."""

    by: PositiveSize = 1

    async def apply(self, writer: ResponseWriter) -> None:
        response = self.normal(writer)
        writer.close()
        await writer.begin(replace(response, chunked=False), max(0, len(response.body) - self.by))
        await writer.write(response.body)


class Huge(ResponseFault, frozen=True, tag="huge"):
    """Add a key with padding to the normal JSON object, without holding the body in memory."""

    size: PositiveSize = 2 * 1024 * 1024
    chunked: bool = False

    async def apply(self, writer: ResponseWriter) -> None:
        response = replace(_uncompressed(self.normal(writer)), chunked=self.chunked)
        is_object = response.body.startswith(b"{") and response.body.endswith(b"}")
        start = response.body[:-1] if is_object else b"{"
        start += b'"padding":"' if start == b"{" else b',"padding":"'
        padding = max(0, self.size - len(start) - 2)
        await writer.begin(response, len(start) + padding + 2)
        await writer.write(start, chunked=self.chunked)
        for offset in range(0, padding, len(PADDING)):
            await writer.write(PADDING[: padding - offset], chunked=self.chunked)
        await writer.write(b'"}', chunked=self.chunked)
        if self.chunked:
            await writer.write_raw(LAST_CHUNK)


class Chunked(FaultRule, frozen=True, tag="chunked"):
    """Send the normal response in chunks."""

    size: PositiveSize = 1024

    async def apply(self, writer: ResponseWriter) -> None:
        await writer.send(replace(writer.normal(), chunked=True), chunk_bytes=self.size)


BodyFault = WrongType | NoType | InvalidUtf8 | NotJson | Empty | Cut | CutChunked | ShortLength | Huge | Chunked


def _uncompressed(response: SandboxResponse) -> SandboxResponse:
    """Return a response without gzip, for a change that compressed bytes would hide."""
    if response.headers.get("content-encoding") != "gzip":
        return response
    headers = {name: value for name, value in response.headers.items() if name != "content-encoding"}
    return replace(response, body=gzip.decompress(response.body), headers=headers)


def _cut(body: bytes, at: int | None) -> bytes:
    """Return the first `at` bytes, half of the body if None, and never all of it."""
    return body[: len(body) // 2 if at is None else min(at, len(body) - 1)]
