"""Faults that change, cut or pad the normal response; each keeps its status unless the rule gives another one."""

from __future__ import annotations

import gzip
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from .exchange import LAST_CHUNK, ResponseWriter
from .message import SandboxResponse

__all__ = ["BODY_FAULTS", "Status"]

NOT_JSON: Final = b"{this is not JSON"
PADDING: Final = b"x" * 65_536
MAX_SIZE_BYTES: Final = 1 << 30

Status = Annotated[int, msgspec.Meta(ge=200, le=599)]
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE_BYTES)]
PositiveSize = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE_BYTES)]


async def wrong_type(writer: ResponseWriter, *, status: Status | None = None, content_type: str = "text/plain") -> None:
    """Send the normal body under another content type."""
    await writer.send(replace(_normal(writer, status), type=content_type))


async def no_type(writer: ResponseWriter, *, status: Status | None = None) -> None:
    """Send the normal body without a content type."""
    await writer.send(replace(_normal(writer, status), type=None))


async def invalid_utf8(writer: ResponseWriter, *, status: Status | None = None) -> None:
    """Send the normal body with two bytes in its first string that are not UTF-8."""
    response = _uncompressed(_normal(writer, status))
    body = response.body if b':"' in response.body else b'{"spoilt":""}'
    await writer.send(replace(response, body=body.replace(b':"', b':"\xc3\x28', 1)))


async def not_json(writer: ResponseWriter, *, status: Status | None = None) -> None:
    """Send a body that is not JSON as application/json."""
    await writer.send(replace(_uncompressed(_normal(writer, status)), body=NOT_JSON, type="application/json"))


async def empty(writer: ResponseWriter, *, status: Status | None = None) -> None:
    """Send an empty body as application/json."""
    await writer.send(replace(_uncompressed(_normal(writer, status)), body=b"", type="application/json"))


async def cut(writer: ResponseWriter, *, status: Status | None = None, at: Size | None = None) -> None:
    """Declare the full length, send `at` bytes of the body (half of it if null), close."""
    response = _normal(writer, status)
    writer.keep_alive = False
    await writer.begin(replace(response, chunked=False), len(response.body))
    await writer.write(_cut(response.body, at))


async def cut_chunked(writer: ResponseWriter, *, status: Status | None = None, at: Size | None = None) -> None:
    """Begin a chunk of the full length, send `at` bytes of it (half of it if null), close."""
    response = _normal(writer, status)
    writer.keep_alive = False
    await writer.begin(replace(response, chunked=True), None)
    await writer.write_raw(b"%x\r\n" % len(response.body))
    await writer.write(_cut(response.body, at))


async def short_length(writer: ResponseWriter, *, status: Status | None = None, by: PositiveSize = 1) -> None:
    """Declare a length that is short by that much, send the whole body, close: valid HTTP carries truncated JSON."""
    response = _normal(writer, status)
    writer.keep_alive = False
    await writer.begin(replace(response, chunked=False), max(0, len(response.body) - by))
    await writer.write(response.body)


async def huge(
    writer: ResponseWriter,
    *,
    status: Status | None = None,
    size: PositiveSize = 2 * 1024 * 1024,
    chunked: bool = False,
) -> None:
    """Pad the normal JSON object to `size` bytes with one more key, without holding the body in memory."""
    response = replace(_uncompressed(_normal(writer, status)), chunked=chunked)
    is_object = response.body.startswith(b"{") and response.body.endswith(b"}")
    start = response.body[:-1] if is_object else b"{"
    start += b'"padding":"' if start == b"{" else b',"padding":"'
    padding = max(0, size - len(start) - 2)
    await writer.begin(response, len(start) + padding + 2)
    await writer.write(start, chunked=chunked)
    for offset in range(0, padding, len(PADDING)):
        await writer.write(PADDING[: padding - offset], chunked=chunked)
    await writer.write(b'"}', chunked=chunked)
    if chunked:
        await writer.write_raw(LAST_CHUNK)


async def chunked(writer: ResponseWriter, *, size: PositiveSize = 1024) -> None:
    """Send the normal response in chunks of `size` bytes, which is valid HTTP."""
    await writer.send(replace(writer.normal(), chunked=True), chunk_bytes=size)


BODY_FAULTS: Final = (
    wrong_type, no_type, invalid_utf8, not_json, empty, cut, cut_chunked, short_length, huge, chunked,
)  # fmt: skip


def _normal(writer: ResponseWriter, status: int | None) -> SandboxResponse:
    """Return the normal response, under another status if one is given."""
    response = writer.normal()
    return response if status is None else replace(response, status=status)


def _uncompressed(response: SandboxResponse) -> SandboxResponse:
    """Return a response without gzip, for a change that compressed bytes would hide."""
    if response.headers.get("content-encoding") != "gzip":
        return response
    headers = {name: value for name, value in response.headers.items() if name != "content-encoding"}
    return replace(response, body=gzip.decompress(response.body), headers=headers)


def _cut(body: bytes, at: int | None) -> bytes:
    """Return the first `at` bytes, half of the body if None, and never all of it."""
    return body[: len(body) // 2 if at is None else min(at, len(body) - 1)]
