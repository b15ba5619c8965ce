"""The PlantUML tool: spec 4's rules, codes and texts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from signet.kernel.errors import Code, Fault
from signet.kernel.tools import Context, tool

from .encoding import encode_bytes

__all__ = ["TOOLS"]

MAX_CODE_BYTES: Final = 51_200
"""Spec 4's 50 KB, measured on the code as it came, in UTF-8."""

OFFLOAD_BYTES: Final = 32_768
"""From this size on a deflate leaves the event loop: it takes half a millisecond of plain text, three of hostile."""

NOT_ENCODED: Final = "Failed to encode PlantUML code"
VIEWER: Final = "https://www.plantuml.com/plantuml/svg/"

BLANK: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What spec 4's `trim` removes; `str.strip()` has another opinion."""


class EncodeIn(Struct, frozen=True):
    """The diagram to encode."""

    plantumlCode: Annotated[  # noqa: N815 - spec 4's name
        str, Meta(description="Valid PlantUML diagram code (must start with @startuml and end with @enduml)")
    ]


class EncodeOut(Struct, frozen=True):
    """The diagram's link."""

    url: str
    encoded: str
    format: Literal["svg"] = "svg"


def _empty() -> Fault:
    return Fault(Code.INVALID_INPUT, "plantumlCode is required and cannot be empty", name="EMPTY_CODE")


def _too_large() -> Fault:
    message = "PlantUML code exceeds maximum size of 50KB"
    return Fault(Code.INVALID_INPUT, message, name="CODE_TOO_LARGE", status=413)


def _not_encodable() -> Fault:
    return Fault(Code.INVALID_INPUT, NOT_ENCODED, name="ENCODING_FAILED", status=500)


def _failed(cause: BaseException) -> Fault:
    fault = Fault(Code.INTERNAL_ERROR, NOT_ENCODED, name="ENCODING_FAILED")
    fault.__cause__ = cause
    return fault


def _spec_4(fault: Fault) -> Fault:
    """Give the pipeline's and the door's faults the codes and texts of spec 4."""
    if fault.code is Code.INTERNAL_ERROR and fault.__cause__ is not None:
        # A bug, and encoding is all that is done here.
        return _failed(fault.__cause__)
    faces = {Code.INVALID_INPUT.value: _empty, "REQUEST_TOO_LARGE": _too_large, "NOT_UNICODE": _not_encodable}
    face = faces.get(fault.name)
    return face() if face else fault


@tool(
    name="encodePlantUML",
    slug="plantuml.encode",
    title="Encode a PlantUML diagram",
    example={"plantumlCode": "@startuml\nA --> B\n@enduml"},
    public=True,
    adapt_fault=_spec_4,
    rest_errors=(("EMPTY_CODE", 400), ("CODE_TOO_LARGE", 413), ("ENCODING_FAILED", 500)),
)
def encode_plantuml(args: EncodeIn, ctx: Context) -> EncodeOut | Awaitable[EncodeOut]:
    """Encodes PlantUML diagram code into a shareable URL for viewing on plantuml.com"""
    if not args.plantumlCode.strip(BLANK):
        raise _empty()
    data = args.plantumlCode.encode()
    if len(data) > MAX_CODE_BYTES:
        raise _too_large()
    return _link(data) if len(data) < OFFLOAD_BYTES else ctx.offload(_link, data)


def _link(data: bytes) -> EncodeOut:
    encoded = encode_bytes(data)
    return EncodeOut(VIEWER + encoded, encoded)


TOOLS: Final = (encode_plantuml,)
