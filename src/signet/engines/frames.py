"""The messages between Signet and the child process of an engine: a length in four bytes, then MessagePack. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["LENGTH_BYTES", "MAX_FRAME_BYTES", "Answer", "Order", "Start", "length_of", "pack", "unpack"]

LENGTH_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 33_554_432
"""The longest message: a picture of a diagram is a few megabytes at most."""


class Start(msgspec.Struct, frozen=True, tag=True):
    """What the child is told first: where its files are."""

    shim: str
    scripts: str
    """The folder with the engine's scripts."""
    fonts: dict[str, str]
    """The font of each face: sans, sans-bold, mono, mono-bold."""
    drawing: list[str]
    """All fonts that pictures are drawn with."""


class Order(msgspec.Struct, frozen=True, tag=True):
    """One thing to do: make the SVG of a diagram, or the PNG of an SVG."""

    text: str
    timeout_s: float
    dark: bool = False
    to_png: int = 0
    """Make a PNG of an SVG, with so many pixels for each of its pixels in both directions."""
    background: str = ""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of it."""

    svg: str = ""
    png: bytes = b""
    error: str = ""
    """What the engine says against the diagram."""
    too_slow: bool = False
    """Whether the time was over: the child ends after this answer."""


def pack(message: msgspec.Struct) -> bytes:
    """Return a message with its length."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def length_of(head: bytes) -> int:
    """Return the length of the message behind these four bytes.

    Raises:
        ValueError: it is longer than any message.
    """
    length = int.from_bytes(head, "big")
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a message of {length} bytes is too long")
    return length


def unpack(body: bytes) -> Start | Order | Answer:
    """Return the message of a body; raise msgspec.ValidationError for any other bytes."""
    try:
        return msgspec.msgpack.decode(body, type=Start | Order)
    except msgspec.ValidationError:
        return msgspec.msgpack.decode(body, type=Answer)
