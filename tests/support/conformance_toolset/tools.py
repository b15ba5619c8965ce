"""The fixture tools of the conformance suite: each does the one thing that its scenario checks."""

from __future__ import annotations

import asyncio
import binascii
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

from signet.kernel.errors import MISSING_CAPABILITY, Code, Fault
from signet.kernel.tools import Context, Tool, tool

__all__ = ["TOOLS"]

Arguments = dict[str, Any]


def _fixture(name: str, slug: str) -> Callable[[Callable[[Any, Context], Any]], Tool]:
    """Return the decorator of a fixture tool, whose result holds its content blocks."""
    return tool(name=name, slug=f"conformance.{slug}", title=name, to_content=lambda result: result["content"])


def _content(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _resource(uri: str, mime_type: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def _base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _png() -> bytes:
    """Return a picture of one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """Return a sound of eight silent samples."""
    samples = b"\x80" * 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI", b"RIFF", 4 + len(form) + len(data)) + b"WAVE" + form + data


IMAGE: Final = {"type": "image", "data": _base64(_png()), "mimeType": "image/png"}
AUDIO: Final = {"type": "audio", "data": _base64(_wav()), "mimeType": "audio/wav"}


@_fixture("test_simple_text", "simple_text")
def simple_text(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with one text."""
    return _content(_text("This is a simple text response for testing."))


@_fixture("test_image_content", "image_content")
def image_content(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with one picture."""
    return _content(IMAGE)


@_fixture("test_audio_content", "audio_content")
def audio_content(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with one sound."""
    return _content(AUDIO)


@_fixture("test_embedded_resource", "embedded_resource")
def embedded_resource(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with one embedded resource."""
    return _content(_resource("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@_fixture("test_multiple_content_types", "multiple_content_types")
def multiple_content_types(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with a text, a picture and a resource."""
    resource = _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return _content(_text("Multiple content types test:"), IMAGE, resource)


@_fixture("test_error_handling", "error_handling")
def error_handling(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers with an error that the model is told."""
    raise Fault(Code.INVALID_INPUT, "This tool intentionally returns an error for testing")


@_fixture("test_tool_with_progress", "progress")
async def with_progress(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Tells its progress three times before it answers."""
    for done in (0, 50, 100):
        ctx.progress(done, 100, None)
        await asyncio.sleep(0.05)
    return _content(_text("Done."))


@_fixture("json_schema_2020_12_tool", "json_schema_2020_12")
def json_schema(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Has a contract that uses much of JSON Schema 2020-12."""
    return _content(_text("ok"))


@_fixture("test_x_mcp_header", "x_mcp_header")
def mirrored_argument(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Has an argument that clients repeat in a header."""
    return _content(_text("ok"))


@_fixture("test_missing_capability", "missing_capability")
def missing_capability(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Refuses a client that cannot sample."""
    if "sampling" not in ctx.capabilities:
        raise Fault(
            Code.INVALID_INPUT,
            "This tool needs a client that declares the sampling capability",
            as_tool_result=False,
            mcp_code=MISSING_CAPABILITY,
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return _content(_text("ok"))


@_fixture("test_logging_tool", "logging")
def logging_tool(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers without a word of log."""
    return _content(_text("ok"))


@_fixture("test_streaming_elicitation", "streaming_elicitation")
def streaming_elicitation(args: Arguments, ctx: Context) -> dict[str, Any]:
    """Answers without asking back."""
    return _content(_text("ok"))


TOOLS: Final = (
    simple_text,
    image_content,
    audio_content,
    embedded_resource,
    multiple_content_types,
    error_handling,
    with_progress,
    json_schema,
    mirrored_argument,
    missing_capability,
    logging_tool,
    streaming_elicitation,
)
